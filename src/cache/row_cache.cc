#include "cache/row_cache.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <new>

#include "util/hash.h"

namespace sluice {

namespace {

// A guess: a short key and a row of a few columns.
constexpr size_t kExpectedEntryBytes = 128;

uint64_t RowHash(uint32_t subtable, uint64_t key_hash) {
  return key_hash ^ subtable * 0x9e3779b97f4a7c15;  // a bijection of good bits, for each sub-table
}

// The sub-table's number, then the user key: what an entry is made with.
class RowKey {
 public:
  RowKey(uint32_t subtable, std::string_view user_key) {
    const size_t bytes = sizeof(subtable) + user_key.size();
    char* data = inline_;
    if (bytes > sizeof(inline_)) {
      long_ = std::make_unique_for_overwrite<char[]>(bytes);
      data = long_.get();
    }
    std::memcpy(data, &subtable, sizeof(subtable));
    std::copy(user_key.begin(), user_key.end(), data + sizeof(subtable));
    bytes_ = {data, bytes};
    hash_ = RowHash(subtable, Hash64(user_key));
  }

  std::string_view bytes() const { return bytes_; }
  uint64_t hash() const { return hash_; }

 private:
  char inline_[128];
  std::unique_ptr<char[]> long_;
  std::string_view bytes_;
  uint64_t hash_;
};

Cache::Entry* NewRow(const RowKey& key, uint64_t trailer, std::string_view value) {
  Cache::Entry* const entry = Cache::NewEntry(key.bytes(), value.size(), trailer);
  std::copy(value.begin(), value.end(), entry->data());
  return entry;
}

}  // namespace

RowCache::RowCache(size_t capacity_bytes)
    : cache_(capacity_bytes, kExpectedEntryBytes),
      mark_mask_(std::bit_ceil(Cache::Attainable(capacity_bytes) / kExpectedEntryBytes / 16 + 1) -
                 1),
      // Zero, and where that is much, memory that is not used yet costs nothing.
      marks_(static_cast<std::atomic<uint64_t>*>(
          std::calloc(mark_mask_ + 1, sizeof(std::atomic<uint64_t>)))) {
  if (marks_ == nullptr) {
    throw std::bad_alloc();
  }
}

// Some calls of several threads may be lost to each other.
bool RowCache::SeenBefore(uint64_t hash) {
  // Other bits than those that the cache uses.
  std::atomic<uint64_t>& word = marks_[(hash >> 16) & mark_mask_];
  const uint64_t bit = uint64_t{1} << (hash >> 58);
  const uint64_t marks = word.load(std::memory_order_relaxed);
  if ((marks & bit) != 0) {
    return true;
  }
  word.store(marks | bit, std::memory_order_relaxed);
  // At a quarter of the bits, few are marked by chance.
  if (marked_.fetch_add(1, std::memory_order_relaxed) == 16 * (mark_mask_ + 1)) {
    for (size_t i = 0; i <= mark_mask_; ++i) {
      marks_[i].store(0, std::memory_order_relaxed);
    }
    marked_.store(0, std::memory_order_relaxed);
  }
  return false;
}

const Cache::Entry* RowCache::Get(uint32_t subtable, std::string_view user_key, uint64_t key_hash,
                                  SequenceNumber snapshot) const {
  // Not as a RowKey, whose making would cost more than all the rest.
  const auto is = [&](const Cache::Entry& entry) {
    const std::string_view key = entry.key();
    return key.substr(sizeof(subtable)) == user_key &&
           std::memcmp(key.data(), &subtable, sizeof(subtable)) == 0;
  };
  const Cache::Entry* const entry = cache_.LookupIf(RowHash(subtable, key_hash), is);
  return entry != nullptr && TrailerSequence(entry->tag()) <= snapshot ? entry : nullptr;
}

void RowCache::Fill(uint32_t subtable, std::string_view user_key, uint64_t trailer,
                    std::string_view value, const std::atomic<uint64_t>& flushes,
                    uint64_t flushes_seen) {
  if (cache_.capacity_bytes() == 0 || flushes.load(std::memory_order_relaxed) != flushes_seen) {
    return;
  }
  const RowKey key(subtable, user_key);
  if (cache_.full() && !SeenBefore(key.hash())) {
    return;
  }
  Cache::Entry* const entry = NewRow(key, trailer, value);
  Cache::Slot slot(&cache_, key.bytes(), key.hash());
  if (slot.entry() == nullptr && flushes.load(std::memory_order_relaxed) == flushes_seen) {
    slot.Put(entry);
  } else {
    entry->Unref();
  }
}

bool RowCache::BeginFlush(std::atomic<uint64_t>* flushes) {
  flushes->fetch_add(1, std::memory_order_acq_rel);
  return cache_.stats().entries > 0;
}

void RowCache::Flushed(uint32_t subtable, std::string_view user_key, uint64_t trailer,
                       std::string_view value) {
  const RowKey key(subtable, user_key);
  {
    const EpochGuard guard;
    if (cache_.Find(key.bytes(), key.hash()) == nullptr) {
      return;
    }
  }
  const bool deletion = TrailerType(trailer) == static_cast<uint8_t>(RecordType::kDeletion);
  Cache::Entry* const entry = deletion ? nullptr : NewRow(key, trailer, value);
  Cache::Slot slot(&cache_, key.bytes(), key.hash());
  if (slot.entry() == nullptr || slot.entry()->tag() >= trailer) {  // evicted, or flushes overlap
    if (entry != nullptr) {
      entry->Unref();
    }
  } else if (deletion) {
    slot.Erase();
  } else {
    slot.Put(entry);
  }
}

void RowCache::FlushedRanges(uint32_t subtable, const RangeDeletions& deletions) {
  cache_.EraseAll([&](const Cache::Entry& entry) {
    const std::string_view key = entry.key();
    return std::memcmp(key.data(), &subtable, sizeof(subtable)) == 0 &&
           TrailerSequence(entry.tag()) <
               deletions.Covering(key.substr(sizeof(subtable)), kMaxSequence);
  });
}

}  // namespace sluice
