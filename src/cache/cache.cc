#include "cache/cache.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

#include "util/heap.h"

namespace sluice {

namespace {

constexpr size_t kMaxShards = 64;
// A shard has room for so many entries of the expected size, so that the shards' shares of the
// entries do not differ by much.
constexpr size_t kMinShardEntries = 64;
// Beside its allocation an entry costs malloc's header, a bucket or two, and a place in the clock.
constexpr size_t kOverheadBytes = 8 + 12 + 8;
// The hand passes over at most so many marked entries at once: a bound for the time that the shard
// is locked.
constexpr int kMaxSpared = 64;

}  // namespace

struct alignas(64) Cache::Shard {
  mutable Mutex mutex;
  std::vector<Entry*> clock SLUICE_GUARDED_BY(mutex);  // nullptr: a free place
  std::vector<uint32_t> free_places SLUICE_GUARDED_BY(mutex);
  size_t hand SLUICE_GUARDED_BY(mutex) = 0;
  size_t bytes SLUICE_GUARDED_BY(mutex) = 0;
  uint64_t inserts SLUICE_GUARDED_BY(mutex) = 0;
  uint64_t evictions SLUICE_GUARDED_BY(mutex) = 0;

  // The entry to evict, which is not `spare`. REQUIRES: there is another one.
  Entry* Victim(const Entry* spare) SLUICE_REQUIRES(mutex);
  void Remove(Entry* entry) SLUICE_REQUIRES(mutex);
  // For slots, which hold the mutex as long as they live.
  void AssertHeld() const SLUICE_ASSERT_CAPABILITY(mutex) {}
};

Cache::Entry::Entry(std::string_view key, size_t value_bytes, uint64_t tag)
    : tag_(tag),
      key_bytes_(static_cast<uint32_t>(key.size())),
      value_bytes_(static_cast<uint32_t>(value_bytes)) {
  std::copy(key.begin(), key.end(), reinterpret_cast<char*>(this + 1));
}

Cache::Entry* Cache::NewEntry(std::string_view key, size_t value_bytes, uint64_t tag) {
  void* const memory = MallocAhead(sizeof(Entry) + key.size() + value_bytes);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return new (memory) Entry(key, value_bytes, tag);
}

void Cache::Entry::Unref() const {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    std::free(const_cast<Entry*>(this));
  }
}

size_t Cache::Entry::charge() const {
  return ::malloc_usable_size(const_cast<Entry*>(this)) + kOverheadBytes;
}

void Cache::Unmap::operator()(Bucket* buckets) const { ::munmap(buckets, bytes); }

size_t Cache::Attainable(size_t capacity_bytes) {
  return std::min(capacity_bytes, static_cast<size_t>(::sysconf(_SC_PHYS_PAGES)) *
                                      static_cast<size_t>(::sysconf(_SC_PAGESIZE)));
}

Cache::Cache(size_t capacity_bytes, size_t expected_entry_bytes) : capacity_bytes_(capacity_bytes) {
  const size_t expected =
      Attainable(capacity_bytes) / (sizeof(Entry) + expected_entry_bytes + kOverheadBytes);
  const size_t shards =
      std::clamp(std::bit_floor(expected / kMinShardEntries), size_t{1}, kMaxShards);
  const size_t buckets = std::bit_ceil(std::max(expected, shards));
  shard_mask_ = shards - 1;
  bucket_mask_ = buckets - 1;
  shard_capacity_bytes_ = capacity_bytes / shards;
  shards_ = std::make_unique<Shard[]>(shards);
  for (size_t i = 0; i < shards; ++i) {
    shards_[i].clock.reserve(expected / shards);
  }
  // Zero, which is an empty bucket; memory that is not used yet costs nothing.
  const size_t bytes = buckets * sizeof(Bucket);
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  ::madvise(memory, bytes, MADV_HUGEPAGE);  // a hint: nothing depends on it
  buckets_ = {static_cast<Bucket*>(memory), Unmap{bytes}};
}

Cache::~Cache() {
  for (size_t i = 0; i <= shard_mask_; ++i) {
    for (const Entry* const entry : shards_[i].clock) {
      if (entry != nullptr) {
        entry->Unref();
      }
    }
  }
}

Cache::Shard& Cache::ShardOf(uint64_t hash) const { return shards_[hash & shard_mask_]; }

void Cache::SetFirst(Bucket& bucket, Entry* first) {
  uint64_t head = reinterpret_cast<uint64_t>(first);
  for (const Entry* entry = first; entry != nullptr;
       entry = entry->next_.load(std::memory_order_relaxed)) {
    head |= uint64_t{1} << FilterBit(entry->hash_);
  }
  bucket.store(head, std::memory_order_release);
}

// Readers may stand on the entry that goes: its own link stays, and leads back into the chain. What
// it leads to may be unlinked in turn, but not before the entry was, so it lives as long as this
// one.
void Cache::Unlink(Entry* entry, Entry* successor) {
  Bucket& bucket = BucketOf(entry->hash_);
  Entry* to = entry->next_.load(std::memory_order_relaxed);
  if (successor != nullptr) {
    successor->next_.store(to, std::memory_order_relaxed);
    to = successor;
  }
  Entry* first = First(bucket.load(std::memory_order_relaxed));
  if (first == entry) {
    first = to;
  } else {
    Entry* before = first;
    while (before->next_.load(std::memory_order_relaxed) != entry) {
      before = before->next_.load(std::memory_order_relaxed);
    }
    before->next_.store(to, std::memory_order_release);
  }
  SetFirst(bucket, first);
}

Cache::Entry* Cache::Shard::Victim(const Entry* spare) {
  int spared = 0;
  while (true) {
    hand = hand + 1 < clock.size() ? hand + 1 : 0;
    Entry* const entry = clock[hand];
    if (entry == nullptr || entry == spare) {
      continue;
    }
    if (!entry->marked() || ++spared > kMaxSpared) {
      return entry;
    }
    entry->place_.store(static_cast<uint32_t>(hand << 1), std::memory_order_relaxed);
  }
}

void Cache::Shard::Remove(Entry* entry) {
  const uint32_t place = entry->place_.load(std::memory_order_relaxed) >> 1;
  clock[place] = nullptr;
  free_places.push_back(place);
  bytes -= entry->charge();
}

Cache::Slot::Slot(Cache* cache, std::string_view key, uint64_t hash)
    : cache_(cache), shard_(cache->ShardOf(hash)), hash_(hash) {
  shard_.mutex.lock();
  entry_ = const_cast<Entry*>(cache->Find(key, hash));
}

Cache::Slot::~Slot() {
  shard_.AssertHeld();
  shard_.mutex.unlock();
  for (Entry* const entry : removed_) {
    EpochRetire(
        entry, [](void* retired) { static_cast<Entry*>(retired)->Unref(); }, entry->charge());
  }
}

void Cache::Slot::MakeRoom(size_t bytes) {
  shard_.AssertHeld();
  while (shard_.bytes + bytes > cache_->shard_capacity_bytes_) {
    Entry* const victim = shard_.Victim(entry_);
    cache_->Unlink(victim, nullptr);
    shard_.Remove(victim);
    ++shard_.evictions;
    if (!cache_->full_.load(std::memory_order_relaxed)) {
      cache_->full_.store(true, std::memory_order_relaxed);
    }
    removed_.push_back(victim);
  }
}

void Cache::Slot::Put(Entry* entry) {
  shard_.AssertHeld();
  const size_t bytes = entry->charge();
  if (bytes > cache_->shard_capacity_bytes_) {
    Erase();
    removed_.push_back(entry);
    return;
  }
  entry->hash_ = hash_;
  ++shard_.inserts;
  if (entry_ != nullptr) {
    shard_.bytes -= entry_->charge();
    MakeRoom(bytes);
    const uint32_t place = entry_->place_.load(std::memory_order_relaxed);
    entry->place_.store(place, std::memory_order_relaxed);
    shard_.clock[place >> 1] = entry;
    cache_->Unlink(entry_, entry);
    removed_.push_back(entry_);
  } else {
    MakeRoom(bytes);
    if (shard_.free_places.empty()) {
      shard_.free_places.push_back(static_cast<uint32_t>(shard_.clock.size()));
      shard_.clock.push_back(nullptr);
    }
    const uint32_t place = shard_.free_places.back();
    shard_.free_places.pop_back();
    entry->place_.store(place << 1 | (entry->marked() ? 1 : 0), std::memory_order_relaxed);
    shard_.clock[place] = entry;
    Bucket& bucket = cache_->BucketOf(hash_);
    entry->next_.store(First(bucket.load(std::memory_order_relaxed)), std::memory_order_relaxed);
    SetFirst(bucket, entry);
  }
  shard_.bytes += bytes;
  entry_ = entry;
}

void Cache::Slot::Erase() {
  shard_.AssertHeld();
  if (entry_ != nullptr) {
    cache_->Unlink(entry_, nullptr);
    shard_.Remove(entry_);
    removed_.push_back(std::exchange(entry_, nullptr));
  }
}

const Cache::Entry* Cache::Insert(Entry* entry, uint64_t hash) {
  Slot(this, entry->key(), hash).Put(entry);
  return entry;
}

bool Cache::Erase(std::string_view key, uint64_t hash) {
  Slot slot(this, key, hash);
  const bool found = slot.entry() != nullptr;
  slot.Erase();
  return found;
}

void Cache::EraseAll(const std::function<bool(const Entry&)>& is) {
  for (size_t i = 0; i <= shard_mask_; ++i) {
    Shard& shard = shards_[i];
    std::vector<Entry*> erased;  // as a slot's
    {
      const MutexLock lock(shard.mutex);
      std::copy_if(shard.clock.begin(), shard.clock.end(), std::back_inserter(erased),
                   [&](const Entry* entry) { return entry != nullptr && is(*entry); });
      for (Entry* const entry : erased) {
        Unlink(entry, nullptr);
        shard.Remove(entry);
      }
    }
    for (Entry* const entry : erased) {
      EpochRetire(
          entry, [](void* retired) { static_cast<Entry*>(retired)->Unref(); }, entry->charge());
    }
  }
}

bool Cache::Replace(std::string_view key, uint64_t hash, Entry* entry, uint64_t entry_hash) {
  {
    Slot slot(this, key, hash);
    if (slot.entry() == nullptr) {
      entry->Unref();
      return false;
    }
    if (slot.entry()->marked()) {
      entry->Mark();
    }
    slot.Erase();  // first, so that nothing else must go to make room
  }
  Insert(entry, entry_hash);
  return true;
}

Cache::Stats Cache::stats() const {
  Stats stats;
  for (const Tally& tally : tallies_) {
    stats.hits += tally.hits.load(std::memory_order_relaxed);
    stats.misses += tally.misses.load(std::memory_order_relaxed);
  }
  for (size_t i = 0; i <= shard_mask_; ++i) {
    const Shard& shard = shards_[i];
    const MutexLock lock(shard.mutex);
    stats.inserts += shard.inserts;
    stats.evictions += shard.evictions;
    stats.bytes += shard.bytes;
    stats.entries += shard.clock.size() - shard.free_places.size();
  }
  return stats;
}

}  // namespace sluice
