#include "tree/table_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "table/stored_block.h"
#include "util/epoch.h"
#include "util/kept_buffer.h"
#include "util/thread_owned.h"

namespace sluice {

namespace {

// Parts that are read at once.
constexpr uint64_t kMostPartsBytes = uint64_t{64} << 10;

// The cache's reference, given up once no guard is held that saw the unit.
void Retire(HeadUnit* unit) {
  EpochRetire(
      unit, [](void* retired) { static_cast<HeadUnit*>(retired)->Unref(); }, unit->memory_bytes());
}

// Part `i` out of what was read of the extent from `begin` on.
Status MakePart(const Extent& extent, const TableTop& top, size_t i, const TablePiece& read,
                TableHead** part) {
  const BlockHandle place = top.part(i);
  std::string buffer;
  std::string_view contents;
  Status status = read.ReadBlock(place, &buffer, &contents);
  if (status.ok()) {
    status = TableHead::Make(contents, top.last_key(i), part);
  }
  return status.ok() ? status : status.WithContext(DescribePlace(extent, place.offset));
}

}  // namespace

Status TableCache::ReadTop(const Extent& extent, BlockReads* reads, TableTop** top) {
  thread_local ThreadOwned<std::string> kept;
  KeptBuffer buffer(&*kept);
  *top = nullptr;
  if (extent.bytes < kFooterBytes) {
    return Status::Corruption(
        fmt::format("{}: extent of {} bytes", DescribePlace(extent, 0), extent.bytes));
  }
  uint64_t from = TablePiece::BeginOf(extent);
  for (;;) {
    TablePiece end{.begin = from, .bytes = {}};
    SLUICE_RETURN_IF_ERROR(
        ReadPiece(extent, from, extent.bytes - from, reads, &*buffer, &end.bytes));
    if (end.bytes.empty()) {
      return {};
    }
    TableTop* made = nullptr;
    if (const Status status = TableTop::Make(extent, end, &made, &from); !status.ok()) {
      return status.WithContext(DescribePlace(extent, end.begin));
    }
    if (made == nullptr) {
      continue;  // once or twice, as it begins earlier each time
    }
    *top = static_cast<TableTop*>(Hang(made, &extent.place->top_, nullptr, /*used=*/true));
    // A small extent's only part is here, too, as a rule.
    TableHead* part = nullptr;
    if ((*top)->parts() == 1 && end.Has((*top)->part(0)) &&
        MakePart(extent, **top, 0, end, &part).ok()) {
      Hang(part, (*top)->part_slot(0), *top, /*used=*/false);
    }
    return {};
  }
}

Status TableCache::ReadParts(const Extent& extent, TableTop* top, size_t first, size_t end,
                             BlockReads* reads, TableHead** head) {
  *head = nullptr;
  const uint64_t begin = top->part(first).offset;
  const uint64_t least = top->part(first).size + kBlockTrailerBytes;
  uint64_t bytes = least;
  size_t behind = first + 1;
  for (; behind < end; ++behind) {
    const BlockHandle next = top->part(behind);
    const uint64_t longer = next.offset + next.size + kBlockTrailerBytes - begin;
    if (next.offset < begin + bytes || longer > kMostPartsBytes) {
      break;
    }
    bytes = longer;
  }
  thread_local ThreadOwned<std::string> kept;
  KeptBuffer buffer(&*kept);
  TablePiece read{.begin = begin, .bytes = {}};
  Status status = ReadPiece(extent, begin, bytes, reads, &*buffer, &read.bytes);
  if (!status.ok() && bytes > least) {
    behind = first + 1;
    status = ReadPiece(extent, begin, least, reads, &*buffer, &read.bytes);  // it may be another's
  }
  if (!status.ok() || read.bytes.empty()) {
    return status;
  }
  TableHead* part = nullptr;
  SLUICE_RETURN_IF_ERROR(MakePart(extent, *top, first, read, &part));
  *head = static_cast<TableHead*>(Hang(part, top->part_slot(first), top, /*used=*/true));
  for (size_t i = first + 1; i < behind; ++i) {
    if (top->part_slot(i)->load(std::memory_order_relaxed) == nullptr &&
        MakePart(extent, *top, i, read, &part).ok()) {
      Hang(part, top->part_slot(i), top, /*used=*/false);
    }
  }
  return {};
}

Status TableCache::FindIndex(const Extent& extent, TableHead** index) {
  TableTop* top = nullptr;
  SLUICE_RETURN_IF_ERROR(FindTop(extent, nullptr, &top));
  // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): found, since the status is ok
  *index = static_cast<TableHead*>(InMemory(top->index_slot()));
  if (*index != nullptr) {
    return {};
  }
  std::shared_ptr<const ZstdDictionary> dictionary;
  if (top->has_dictionary()) {
    const HeadDictionary* found = nullptr;
    SLUICE_RETURN_IF_ERROR(FindDictionary(extent, top, nullptr, &found));
    dictionary = found->dictionary();
  }
  TablePiece read{.begin = top->index().offset, .bytes = {}};
  std::string stored;
  SLUICE_RETURN_IF_ERROR(ReadPiece(extent, read.begin, top->index().size + kBlockTrailerBytes,
                                   nullptr, &stored, &read.bytes));
  std::string buffer;
  std::string_view contents;
  TableHead* made = nullptr;
  Status status = read.ReadBlock(top->index(), &buffer, &contents);
  if (status.ok()) {
    status = TableHead::Make(contents, extent.last_of_table(), &made, std::move(dictionary));
  }
  if (!status.ok()) {
    return status.WithContext(DescribePlace(extent, read.begin));
  }
  // Who walks through extents keeps it as long as it takes: it need not stay in parts' stead.
  *index = static_cast<TableHead*>(Hang(made, top->index_slot(), top, /*used=*/false));
  return {};
}

Status TableCache::FindDictionary(const Extent& extent, TableTop* top, BlockReads* reads,
                                  const HeadDictionary** dictionary) {
  *dictionary = static_cast<const HeadDictionary*>(InMemory(top->dictionary_slot()));
  if (*dictionary != nullptr) {
    return {};
  }
  TablePiece read{.begin = top->dictionary().offset, .bytes = {}};
  std::string stored;
  SLUICE_RETURN_IF_ERROR(ReadPiece(extent, read.begin, top->dictionary().size + kBlockTrailerBytes,
                                   reads, &stored, &read.bytes));
  if (read.bytes.empty()) {
    return {};
  }
  std::string buffer;
  std::string_view contents;
  std::unique_ptr<const ZstdDictionary> parsed;
  Status status = read.ReadBlock(top->dictionary(), &buffer, &contents);
  if (status.ok()) {
    status = ZstdDictionary::Parse(contents, &parsed);
  }
  if (!status.ok()) {
    return status.WithContext(DescribePlace(extent, read.begin));
  }
  auto made = std::make_unique<HeadDictionary>(std::move(parsed));
  *dictionary = static_cast<const HeadDictionary*>(
      Hang(made.release(), top->dictionary_slot(), top, /*used=*/true));
  return {};
}

HeadUnit* TableCache::Hang(HeadUnit* unit, Slot* slot, TableTop* top, bool used) {
  std::vector<HeadUnit*> retired;
  {
    const MutexLock lock(mutex_);
    ++reads_;
    if (HeadUnit* const other = slot->load(std::memory_order_acquire)) {
      unit->Unref();
      return other;
    }
    if (top != nullptr && !top->is_in_cache_) {
      retired.push_back(unit);  // nobody would find it
    } else {
      unit->used_.store(used, std::memory_order_relaxed);
      unit->number_ = static_cast<uint32_t>(units_.size());
      units_.push_back({unit, slot, top});
      used_bytes_ += unit->memory_bytes();
      if (top != nullptr) {
        ++top->hanging_;
        top->used_.store(true, std::memory_order_relaxed);
      } else {
        static_cast<TableTop*>(unit)->cache_ = this;
        static_cast<TableTop*>(unit)->is_in_cache_ = true;
      }
      slot->store(unit, std::memory_order_release);
      Evict(&retired);
    }
  }
  for (HeadUnit* const gone : retired) {
    Retire(gone);
  }
  return unit;
}

void TableCache::Evict(std::vector<HeadUnit*>* evicted) {
  while (used_bytes_ > capacity_bytes_ && units_.size() > 1) {
    hand_ = hand_ < units_.size() ? hand_ : 0;
    const Place place = units_[hand_];
    if (place.unit->used_.exchange(false, std::memory_order_relaxed) ||
        (place.top == nullptr && static_cast<TableTop*>(place.unit)->hanging_ > 0)) {
      ++hand_;
      continue;
    }
    Unlink(place.unit);
    ++evictions_;
    evicted->push_back(place.unit);
  }
}

void TableCache::Unlink(HeadUnit* unit) {
  const Place place = units_[unit->number_];
  place.slot->store(nullptr, std::memory_order_release);
  if (place.top != nullptr) {
    --place.top->hanging_;
  } else {
    static_cast<TableTop*>(unit)->is_in_cache_ = false;
  }
  used_bytes_ -= unit->memory_bytes();
  units_[unit->number_] = units_.back();
  units_[unit->number_].unit->number_ = unit->number_;
  units_.pop_back();
}

void TableCache::Forget(HeadUnit* unit) {
  if (unit == nullptr) {
    return;
  }
  auto* const top = static_cast<TableTop*>(unit);
  TableCache& cache = *top->cache_;
  std::vector<HeadUnit*> retired;
  {
    const MutexLock lock(cache.mutex_);
    if (!top->is_in_cache_) {
      return;  // evicted meanwhile
    }
    for (size_t i = 0; i < top->slots(); ++i) {
      if (HeadUnit* const hung = top->slots_[i].load(std::memory_order_relaxed)) {
        cache.Unlink(hung);
        retired.push_back(hung);
      }
    }
    cache.Unlink(top);
    retired.push_back(top);
  }
  for (HeadUnit* const gone : retired) {
    Retire(gone);
  }
}

CacheStatistics TableCache::statistics() const {
  const MutexLock lock(mutex_);
  return {.misses = reads_,
          .evictions = evictions_,
          .entries = units_.size(),
          .used_bytes = used_bytes_,
          .capacity_bytes = capacity_bytes_};
}

}  // namespace sluice
