// The table cache (X-Engine 3.1.2): what is needed to read extents besides their data blocks, within
// a budget of memory, in units: tops, parts of heads, whole indexes and dictionaries.
//
// A top hangs on its extent's place and the other units on the top, so finding one costs a load or
// two; only reading one in, and giving one up (CLOCK), take a lock. A top stays as long as units hang
// on it. Thread-safe. The cache outlives the places of all extents that were looked up in it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sluice/statistics.h"
#include "tree/block_reads.h"
#include "tree/extent.h"
#include "tree/extent_space.h"
#include "tree/head_unit.h"
#include "tree/table_top.h"
#include "util/mutex.h"
#include "util/status.h"

namespace sluice {

class TableCache {
 public:
  // The budget is kept but for the unit read last, and its top.
  explicit TableCache(size_t capacity_bytes) : capacity_bytes_(capacity_bytes) {}
  TableCache(const TableCache&) = delete;
  TableCache& operator=(const TableCache&) = delete;

  // What these find is valid as long as an EpochGuard that the caller holds, or as a reference taken
  // under it. Errors name file and offset. Where there is a `reads`, which may be null, it may want
  // what is not in memory: then nothing is found as yet.
  Status FindTop(const Extent& extent, BlockReads* reads, TableTop** top) {
    *top = TopInMemory(extent);
    return *top != nullptr ? Status() : ReadTop(extent, reads, top);
  }
  Status FindPart(const Extent& extent, TableTop* top, size_t part, BlockReads* reads,
                  TableHead** head) {
    *head = PartInMemory(top, part);
    return *head != nullptr ? Status() : ReadParts(extent, top, part, part + 1, reads, head);
  }
  // As FindPart, for who is going to need the parts behind it, too, below `end`: where it reads, it
  // reads them as well.
  Status FindParts(const Extent& extent, TableTop* top, size_t part, size_t end, TableHead** head) {
    *head = PartInMemory(top, part);
    return *head != nullptr ? Status() : ReadParts(extent, top, part, end, nullptr, head);
  }
  // All of the extent's index.
  Status FindIndex(const Extent& extent, TableHead** index);
  // REQUIRES: there is one.
  Status FindDictionary(const Extent& extent, TableTop* top, BlockReads* reads,
                        const HeadDictionary** dictionary);

  // Null if it would have to be read in.
  static TableTop* TopInMemory(const Extent& extent) {
    return static_cast<TableTop*>(extent.place->top_.load(std::memory_order_acquire));
  }
  static TableHead* PartInMemory(TableTop* top, size_t part) {
    return static_cast<TableHead*>(InMemory(top->part_slot(part)));
  }

  CacheStatistics statistics() const;

 private:
  friend class ExtentPlace;

  using Slot = std::atomic<HeadUnit*>;
  // A unit in the cache; `top` is null if it is one itself.
  struct Place {
    HeadUnit* unit;
    Slot* slot;
    TableTop* top;
  };

  // To be called as a place is destroyed; `top` is null if it has none.
  static void Forget(HeadUnit* top);

  static HeadUnit* InMemory(const Slot* slot) {
    HeadUnit* const found = slot->load(std::memory_order_acquire);
    if (found != nullptr && !found->used_.load(std::memory_order_relaxed)) {
      found->used_.store(true, std::memory_order_relaxed);
    }
    return found;
  }

  Status ReadTop(const Extent& extent, BlockReads* reads, TableTop** top);
  // Reads the parts from `first` on, and below `end` as far as one read goes, and finds the first.
  Status ReadParts(const Extent& extent, TableTop* top, size_t first, size_t end, BlockReads* reads,
                   TableHead** head);
  // Takes a unit that was read. The caller finds what this returns in its stead, if another thread
  // was faster. `used`: as if it had been found.
  HeadUnit* Hang(HeadUnit* unit, Slot* slot, TableTop* top, bool used);
  void Unlink(HeadUnit* unit) SLUICE_REQUIRES(mutex_);
  // The caller retires the units given up without the mutex: retiring may delete other objects,
  // which may call the cache.
  void Evict(std::vector<HeadUnit*>* evicted) SLUICE_REQUIRES(mutex_);

  const size_t capacity_bytes_;
  mutable Mutex mutex_;
  std::vector<Place> units_ SLUICE_GUARDED_BY(mutex_);
  size_t hand_ SLUICE_GUARDED_BY(mutex_) = 0;
  size_t used_bytes_ SLUICE_GUARDED_BY(mutex_) = 0;
  uint64_t reads_ SLUICE_GUARDED_BY(mutex_) = 0;
  uint64_t evictions_ SLUICE_GUARDED_BY(mutex_) = 0;
};

}  // namespace sluice
