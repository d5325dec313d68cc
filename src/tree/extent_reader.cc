#include "tree/extent_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "table/stored_block.h"
#include "util/epoch.h"
#include "util/kept_buffer.h"
#include "util/thread_owned.h"

namespace sluice {

namespace {

Status CheckHandle(const Extent& extent, const BlockHandle& handle) {
  return HandleFits(handle, extent.bytes)
             ? Status()
             : Status::Corruption(
                   fmt::format("{}: the index names a block of {} bytes, which reaches "
                               "past the extent's end",
                               ExtentReader::Describe(extent, handle.offset), handle.size));
}

Status ReadBytes(const Extent& extent, uint64_t offset, uint64_t bytes, std::string* out) {
  out->resize(bytes);
  return extent.place->file()->Read(extent.place->offset() + offset, bytes, out->data());
}

// `*contents` views `stored` or `*buffer`.
Status Decode(const Extent& extent, const BlockHandle& handle, std::string_view stored,
              const ZstdDictionary* dictionary, std::string* buffer, std::string_view* contents) {
  const Status status = ReadStoredBlock(stored, {0, handle.size}, buffer, contents, dictionary);
  return status.ok() ? status : status.WithContext(ExtentReader::Describe(extent, handle.offset));
}

}  // namespace

void ReadAhead::Seek() {
  if (has_read_ && reach_ != nullptr) {
    reach_->Note(walked_);
  }
  walked_ = 0;
  first_ = true;
  has_read_ = false;
}

void ReadAhead::Aim(const TableHead* head, size_t block, size_t end, bool more) {
  const bool backward = head == head_ && block < block_;
  walked_ += first_ || backward ? 0 : head->block(block).size;
  head_ = head;
  block_ = block;
  end_ = end;
  more_ = more;
  first_ = false;
}

uint64_t ReadAhead::PieceBytes(const Extent& extent, uint64_t wanted, bool beyond) const {
  const uint64_t offset = head_->block(block_).offset;
  uint64_t piece = head_->block(block_).size + kBlockTrailerBytes;
  for (size_t i = block_ + 1; i < end_; ++i) {
    const BlockHandle next = head_->block(i);
    const uint64_t longer = piece + next.size + kBlockTrailerBytes;
    if (longer > wanted || next.offset != offset + piece || !HandleFits(next, extent.bytes)) {
      return piece;
    }
    piece = longer;
  }
  const uint64_t most = extent.bytes - std::min<uint64_t>(offset, extent.bytes);
  return beyond && more_ ? std::max(piece, std::min(wanted, most)) : piece;
}

Status ReadAhead::Read(const Extent& extent, BlockReads* reads, std::string_view* stored) {
  const BlockHandle handle = head_->block(block_);
  const uint64_t bytes = handle.size + kBlockTrailerBytes;
  if (extent.number != extent_ || handle.offset < offset_ ||
      handle.offset + bytes > offset_ + bytes_.size()) {
    const bool follows = extent.number == extent_ ? handle.offset == next_ : handle.offset == 0;
    const uint64_t in_order = follows ? in_order_ + 1 : 0;
    uint64_t wanted =
        in_order < kFirstPiece ? 0 : kLeastBytes << std::min(in_order - kFirstPiece, kDoublings);
    wanted = std::max(wanted, least_);
    const uint64_t reach = reach_ == nullptr || has_read_ ? 0 : reach_->bytes();
    const bool reaches = reach > bytes / 8;
    if (reaches) {
      // To the end of the block that the mean lies in: a longer read costs less than one more.
      wanted = std::max(wanted, bytes + reach + bytes);
    }
    const uint64_t piece = PieceBytes(extent, wanted, /*beyond=*/reaches);
    if (const std::string_view read =
            reads == nullptr ? std::string_view() : reads->Find(extent, handle.offset, bytes);
        !read.empty()) {
      bytes_.assign(read);
    } else if (reads != nullptr && reads->Want(extent, handle.offset, piece)) {
      *stored = {};
      return {};
    } else {
      extent_ = 0;  // until it is read
      Status status = ReadBytes(extent, handle.offset, piece, &bytes_);
      if (!status.ok() && piece > bytes) {
        status = ReadBytes(extent, handle.offset, bytes, &bytes_);  // it may be another's error
      }
      SLUICE_RETURN_IF_ERROR(status);
    }
    in_order_ = in_order;
    extent_ = extent.number;
    offset_ = handle.offset;
    has_read_ = true;
  }
  next_ = handle.offset + bytes;
  *stored = std::string_view(bytes_).substr(handle.offset - offset_, bytes);
  return {};
}

Status ExtentReader::ReadStored(const Extent& extent, const BlockHandle& handle,
                                const ZstdDictionary* dictionary, ReadAhead* ahead,
                                std::string* contents) {
  SLUICE_RETURN_IF_ERROR(CheckHandle(extent, handle));
  std::string_view stored;
  SLUICE_RETURN_IF_ERROR(ahead->Read(extent, /*reads=*/nullptr, &stored));
  std::string_view view;
  SLUICE_RETURN_IF_ERROR(Decode(extent, handle, stored, dictionary, contents, &view));
  if (view.data() != contents->data()) {
    contents->assign(view);
  }
  return {};
}

Status ExtentReader::FindBlock(const Extent& extent, const BlockHandle& handle, bool fill_cache,
                               ReadAhead* ahead, BlockReads* reads, const Cache::Entry** entry) {
  const BlockKey key = KeyOf(extent, handle);
  const uint64_t stored_bytes = handle.size + kBlockTrailerBytes;
  // The lookup that wanted to have it read was the one that counts.
  const bool was_read =
      reads != nullptr && !reads->Find(extent, handle.offset, stored_bytes).empty();
  *entry =
      was_read ? blocks_.Find(key.bytes(), key.hash()) : blocks_.Lookup(key.bytes(), key.hash());
  if (*entry != nullptr) {
    return {};
  }
  TableTop* top = nullptr;
  SLUICE_RETURN_IF_ERROR(tables_.FindTop(extent, nullptr, &top));
  SLUICE_RETURN_IF_ERROR(CheckHandle(extent, handle));
  const ZstdDictionary* dictionary = nullptr;
  if (top->has_dictionary()) {
    const HeadDictionary* found = nullptr;
    SLUICE_RETURN_IF_ERROR(tables_.FindDictionary(extent, top, reads, &found));
    if (found == nullptr) {
      return {};
    }
    dictionary = found->dictionary().get();
  }
  thread_local ThreadOwned<std::string> kept_stored;
  KeptBuffer stored_here(&*kept_stored);
  std::string_view stored;
  SLUICE_RETURN_IF_ERROR(ahead != nullptr ? ahead->Read(extent, reads, &stored)
                                          : ReadPiece(extent, handle.offset, stored_bytes, reads,
                                                      &*stored_here, &stored));
  if (stored.empty()) {
    return {};
  }
  thread_local ThreadOwned<std::string> kept;
  KeptBuffer buffer(&*kept);
  std::string_view contents;
  SLUICE_RETURN_IF_ERROR(Decode(extent, handle, stored, dictionary, &*buffer, &contents));
  Cache::Entry* const made = Cache::NewEntry(key.bytes(), contents.size());
  std::memcpy(made->data(), contents.data(), contents.size());
  *entry = made;
  if (fill_cache) {
    *entry = blocks_.Insert(made, key.hash());
  } else {
    EpochRetire(
        made, [](void* unused) { static_cast<Cache::Entry*>(unused)->Unref(); }, contents.size());
  }
  return {};
}

Status ExtentReader::OpenHead(const Extent& extent, TableHeadRef* head) {
  const EpochGuard guard;
  TableHead* found = nullptr;
  SLUICE_RETURN_IF_ERROR(tables_.FindIndex(extent, &found));
  head->Reset(found);
  return {};
}

Status ExtentReader::FindPart(const Extent& extent, std::string_view internal_key,
                              BlockReads* reads, PartPlace* place) {
  *place = {};
  TableTop* top = nullptr;
  SLUICE_RETURN_IF_ERROR(tables_.FindTop(extent, reads, &top));
  if (top == nullptr) {
    return {};
  }
  place->parts = top->parts();
  place->prefix_bytes = top->prefix_bytes();
  place->number = top->Find(internal_key);
  return place->number < place->parts
             ? tables_.FindPart(extent, top, place->number, reads, &place->head)
             : Status();
}

Status ExtentReader::OpenPart(const Extent& extent, std::string_view internal_key,
                              BlockReads* reads, HeadPart* part) {
  const EpochGuard guard;
  PartPlace place;
  SLUICE_RETURN_IF_ERROR(FindPart(extent, internal_key, reads, &place));
  part->Hold(place);
  return {};
}

Status ExtentReader::OpenPart(const Extent& extent, size_t number, bool walk,
                              std::string_view walk_end, HeadPart* part) {
  const EpochGuard guard;
  TableTop* top = nullptr;
  SLUICE_RETURN_IF_ERROR(tables_.FindTop(extent, nullptr, &top));
  PartPlace place{.number = std::min(number, top->parts() - 1),
                  .parts = top->parts(),
                  .prefix_bytes = top->prefix_bytes()};
  const size_t end = !walk              ? place.number + 1
                     : walk_end.empty() ? place.parts
                                        : std::min(top->Find(walk_end) + 1, place.parts);
  SLUICE_RETURN_IF_ERROR(tables_.FindParts(extent, top, place.number, end, &place.head));
  part->Hold(place);
  return {};
}

Status ExtentReader::FindSpan(const Extent& extent, std::string_view internal_key,
                              BlockSpan* span) {
  const EpochGuard guard;
  TableTop* top = nullptr;
  TableHead* part = nullptr;
  SLUICE_RETURN_IF_ERROR(tables_.FindTop(extent, nullptr, &top));
  const size_t number = std::min(top->Find(internal_key), top->parts() - 1);
  SLUICE_RETURN_IF_ERROR(tables_.FindPart(extent, top, number, nullptr, &part));
  const size_t i = std::min(part->Find(internal_key), part->blocks() - 1);
  const BlockHandle handle = part->block(i);
  span->begin = handle.offset;
  span->end = handle.offset + handle.size + kBlockTrailerBytes;
  span->all = top->has_dictionary() ? top->dictionary().offset : top->index().offset;
  span->low = UserKey(i > 0        ? part->last_key(i - 1)
                      : number > 0 ? top->last_key(number - 1)
                                   : std::string_view(extent.smallest));
  span->high = UserKey(part->last_key(i));
  return {};
}

Status ExtentReader::ReadBlock(const Extent& extent, const BlockHandle& handle, bool fill_cache,
                               BlockRef* contents, Block* block, ReadAhead* ahead,
                               BlockReads* reads) {
  const EpochGuard guard;
  const Cache::Entry* entry = nullptr;
  SLUICE_RETURN_IF_ERROR(FindBlock(extent, handle, fill_cache, ahead, reads, &entry));
  contents->Reset(entry);
  if (entry == nullptr) {
    return {};
  }
  if (fill_cache) {
    CountAccess(extent);
  }
  // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): found, since the status is ok
  const Status status = Block::Parse(entry->value(), block);
  return status.ok() ? status : status.WithContext(Describe(extent, handle.offset));
}

void ExtentReader::Prepare(std::span<Lookup> lookups, std::string_view internal_key,
                           uint32_t hash) const {
  for (Lookup& lookup : lookups) {
    lookup.top = TableCache::TopInMemory(*lookup.extent);
    __builtin_prefetch(lookup.top);
  }
  for (Lookup& lookup : lookups) {
    if (lookup.top == nullptr) {
      continue;
    }
    if (const size_t part = lookup.top->Find(internal_key); part < lookup.top->parts()) {
      lookup.head = TableCache::PartInMemory(lookup.top, part);
    }
  }
  for (Lookup& lookup : lookups) {
    if (lookup.head != nullptr) {
      lookup.block = lookup.head->Find(internal_key);
      lookup.head->PrefetchPlace(lookup.block);
    }
  }
  for (const Lookup& lookup : lookups) {
    if (lookup.head != nullptr) {
      lookup.head->PrefetchFilter(lookup.block, hash);
    }
  }
}

Status ExtentReader::Get(const Lookup& lookup, std::string_view internal_key, uint32_t hash,
                         bool fill_cache, BlockReads* reads, BlockMatch* match) {
  *match = {};
  const Extent& extent = *lookup.extent;
  TableHead* head = lookup.head;
  size_t i = lookup.block;
  if (head == nullptr) {
    PartPlace place;
    SLUICE_RETURN_IF_ERROR(FindPart(extent, internal_key, reads, &place));
    if (place.head == nullptr) {
      return {};
    }
    head = place.head;
    i = head->Find(internal_key);
  }
  if (!head->MayHold(i, hash)) {
    return {};
  }
  const Cache::Entry* entry = nullptr;
  SLUICE_RETURN_IF_ERROR(
      FindBlock(extent, head->block(i), fill_cache, /*ahead=*/nullptr, reads, &entry));
  if (entry == nullptr) {
    return {};
  }
  if (fill_cache) {
    CountAccess(extent);
  }
  Block block;
  // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): found, since the status is ok
  Status status = Block::Parse(entry->value(), &block);
  if (status.ok()) {
    status = SearchBlock(block, internal_key, match);
  }
  return status.ok() ? status : status.WithContext(Describe(extent, head->block(i).offset));
}

}  // namespace sluice
