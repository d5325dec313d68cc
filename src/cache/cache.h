// A cache of byte strings within a budget of memory (X-Engine 3.1.2), with CLOCK replacement.
//
//   const EpochGuard guard;
//   const Cache::Entry* entry = cache.Lookup(key, hash);
//   if (entry == nullptr) {
//     Cache::Entry* const read = Cache::NewEntry(key, bytes);
//     ... fill read->data() ...
//     entry = cache.Insert(read, hash);
//   }
//   ... use entry->value() while the guard is held ...
//
// A lookup takes no lock and writes nothing but its entry's mark, if that is not set yet, and a
// counter of its thread; it costs three cache misses at most (bucket, entry, a long key or value)
// when the table is as full as expected. Changes lock one of the shards that the hashes are divided
// over. An entry never changes once it is in the cache: one is replaced by another.
//
// Memory: entries are counted with their key, value, header, malloc's rounding, and their share of
// bucket and clock. What is evicted is freed once no reader looks at it any more (util/epoch.h),
// and is not counted until then; nor is what holders of references keep.
//
// Thread-safe. `hash` is Hash64 of the key, or another hash of it whose bits are all good, always
// the same one.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "util/epoch.h"
#include "util/mutex.h"

namespace sluice {

class Cache {
 public:
  class Entry {
   public:
    std::string_view key() const { return {bytes(), key_bytes_}; }
    std::string_view value() const { return {bytes() + key_bytes_, value_bytes_}; }
    uint64_t tag() const { return tag_; }  // the user's

    // The value, to be filled in before the entry is inserted.
    char* data() { return reinterpret_cast<char*>(this + 1) + key_bytes_; }

    // Keeps the entry beyond the guard. REQUIRES: the caller found it under a guard that it still
    // holds, or has a reference.
    void Ref() const { references_.fetch_add(1, std::memory_order_relaxed); }
    void Unref() const;

   private:
    friend class Cache;

    Entry(std::string_view key, size_t value_bytes, uint64_t tag);
    const char* bytes() const { return reinterpret_cast<const char*>(this + 1); }
    // Counted against the budget.
    size_t charge() const;
    bool marked() const { return (place_.load(std::memory_order_relaxed) & 1) != 0; }
    void Mark() const {
      if (const uint32_t place = place_.load(std::memory_order_relaxed); (place & 1) == 0) {
        place_.store(place | 1, std::memory_order_relaxed);
      }
    }

    std::atomic<Entry*> next_{nullptr};  // in the bucket's chain
    uint64_t hash_ = 0;
    const uint64_t tag_;
    const uint32_t key_bytes_;
    const uint32_t value_bytes_;
    mutable std::atomic<uint32_t> references_{1};
    // Place in the shard's clock << 1 | mark. The place stays while the entry is in the cache, so
    // readers may store both.
    mutable std::atomic<uint32_t> place_{0};
  };

  struct Stats {
    uint64_t hits = 0;
    uint64_t misses = 0;
    uint64_t inserts = 0;    // replacements too
    uint64_t evictions = 0;  // to make room; not erased, not replaced
    uint64_t bytes = 0;
    uint64_t entries = 0;
  };

  // `expected_entry_bytes`, of key and value, decides how many buckets there are; a wrong guess
  // costs memory or time. A capacity of 0 holds nothing; one that is larger than the machine's memory
  // is no limit.
  Cache(size_t capacity_bytes, size_t expected_entry_bytes);
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;
  ~Cache();  // entries with references stay until they are dropped

  // What may ever be in a cache of this capacity: at most as much as the machine has memory.
  static size_t Attainable(size_t capacity_bytes);

  // The entry with this key, or nullptr; valid while the caller's guard is held. REQUIRES: a guard.
  const Entry* Lookup(std::string_view key, uint64_t hash) const {
    return LookupIf(hash, [key](const Entry& entry) { return entry.key() == key; });
  }
  // As Lookup, but leaves no trace in marks and counters: this is no use of the entry.
  const Entry* Find(std::string_view key, uint64_t hash) const {
    return FindIf(hash, [key](const Entry& entry) { return entry.key() == key; });
  }
  // Both, for a key that does not lie in one piece: `is(entry)` says whether the entry has it.
  template <typename Is>
  const Entry* LookupIf(uint64_t hash, const Is& is) const {
    const Entry* const entry = FindIf(hash, is);
    if (entry != nullptr) {
      entry->Mark();
    }
    Count(entry != nullptr);
    return entry;
  }
  template <typename Is>
  const Entry* FindIf(uint64_t hash, const Is& is) const;

  // Prefetch what a lookup is going to read: first where the entry would stand, then, once that is
  // there, the entry, but for the middle of its value, which is taken to have so many bytes.
  void PrefetchPlace(uint64_t hash) const { __builtin_prefetch(&BucketOf(hash)); }
  void PrefetchEntry(uint64_t hash, size_t value_bytes) const;

  // An entry outside of the cache, its value uninitialised. The caller hands it to a cache or drops
  // it with Unref. REQUIRES: key and value are shorter than 4 GiB. Throws std::bad_alloc.
  static Entry* NewEntry(std::string_view key, size_t value_bytes, uint64_t tag = 0);

  // Takes the entry over and returns it, valid while the caller's guard is held. It replaces one
  // with the same key. An entry that is larger than a shard's budget is not kept.
  const Entry* Insert(Entry* entry, uint64_t hash);
  // Whether there was one.
  bool Erase(std::string_view key, uint64_t hash);
  // Erases all entries of which `is(entry)` says so. Costs a look at each.
  void EraseAll(const std::function<bool(const Entry&)>& is);
  // If `key` is here, puts `entry` in its stead, as much in use as that was; otherwise drops
  // `entry` (X-Engine 3.1.4: merged blocks take the place of the blocks they came from). Whether it
  // did.
  bool Replace(std::string_view key, uint64_t hash, Entry* entry, uint64_t entry_hash);

  // Locks every shard once: sections that began before are over, and those that begin later see all
  // that the caller wrote before.
  Stats stats() const;
  size_t capacity_bytes() const { return capacity_bytes_; }
  // Whether something ever had to go to make room.
  bool full() const { return full_.load(std::memory_order_relaxed); }

 private:
  struct Shard;

 public:
  // What stands at one key, with the lock of its shard held: to look and change in one step.
  class Slot {
   public:
    // REQUIRES: the thread has no other slot, and key stays valid.
    Slot(Cache* cache, std::string_view key, uint64_t hash) SLUICE_NO_THREAD_SAFETY_ANALYSIS;
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    ~Slot();  // unlocks

    const Entry* entry() const { return entry_; }  // nullptr: none
    // As Insert. REQUIRES: `entry` has the slot's key.
    void Put(Entry* entry);
    void Erase();

   private:
    void MakeRoom(size_t bytes);

    Cache* const cache_;
    Shard& shard_;
    const uint64_t hash_;
    Entry* entry_;
    std::vector<Entry*> removed_;  // to be retired after the lock is released
  };

 private:
  // A pointer to the chain's first entry, and in the upper 16 bits which of 16 classes of hashes
  // are in the chain: most misses end here.
  using Bucket = std::atomic<uint64_t>;
  struct Unmap {
    size_t bytes;
    void operator()(Bucket* buckets) const;
  };
  // Looked up by one thread each, but for the last.
  struct alignas(64) Tally {
    std::atomic<uint64_t> hits{0};
    std::atomic<uint64_t> misses{0};
  };
  static constexpr unsigned kFilterShift = 48;

  static Entry* First(uint64_t head) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the upper bits are taken off
    return reinterpret_cast<Entry*>(head & ((uint64_t{1} << kFilterShift) - 1));
  }
  static unsigned FilterBit(uint64_t hash) { return kFilterShift + (hash >> 60); }
  static void SetFirst(Bucket& bucket, Entry* first);

  Bucket& BucketOf(uint64_t hash) const { return buckets_.get()[hash & bucket_mask_]; }
  Shard& ShardOf(uint64_t hash) const;
  void Count(bool hit) const;
  // Takes `entry` out of its chain, or has `successor` take its place.
  void Unlink(Entry* entry, Entry* successor);

  const size_t capacity_bytes_;
  size_t shard_mask_;
  size_t bucket_mask_;  // covers shard_mask_: a bucket belongs to one shard
  size_t shard_capacity_bytes_;
  std::atomic<bool> full_{false};
  std::unique_ptr<Bucket, Unmap> buckets_;
  std::unique_ptr<Shard[]> shards_;
  mutable std::array<Tally, 128> tallies_;
};

template <typename Is>
const Cache::Entry* Cache::FindIf(uint64_t hash, const Is& is) const {
  const uint64_t head = BucketOf(hash).load(std::memory_order_acquire);
  if ((head >> FilterBit(hash) & 1) == 0) {
    return nullptr;
  }
  for (const Entry* entry = First(head); entry != nullptr;
       entry = entry->next_.load(std::memory_order_acquire)) {
    if (entry->hash_ == hash && is(*entry)) {
      return entry;
    }
  }
  return nullptr;
}

inline void Cache::PrefetchEntry(uint64_t hash, size_t value_bytes) const {
  const uint64_t head = BucketOf(hash).load(std::memory_order_relaxed);
  if ((head >> FilterBit(hash) & 1) != 0) {
    const char* const entry = reinterpret_cast<const char*>(First(head));
    __builtin_prefetch(entry);
    __builtin_prefetch(entry + sizeof(Entry) + value_bytes);
  }
}

inline void Cache::Count(bool hit) const {
  const size_t thread = EpochThreadNumber();
  const bool shared = thread >= tallies_.size() - 1;
  Tally& tally = tallies_[shared ? tallies_.size() - 1 : thread];
  std::atomic<uint64_t>& counter = hit ? tally.hits : tally.misses;
  if (shared) {
    counter.fetch_add(1, std::memory_order_relaxed);
  } else {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
}

}  // namespace sluice
