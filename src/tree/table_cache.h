// The table cache (X-Engine 3.1.2): heads of extents, within a budget of memory.
//
// A head hangs on its extent's place, so finding it costs a load; only reading one in, and giving
// one up (CLOCK), take a lock. Thread-safe. The cache outlives the places of all extents that were
// looked up in it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sluice/statistics.h"
#include "tree/extent.h"
#include "tree/table_head.h"
#include "util/mutex.h"
#include "util/status.h"

namespace sluice {

class TableCache {
 public:
  // The budget is kept but for the head read last.
  explicit TableCache(size_t capacity_bytes) : capacity_bytes_(capacity_bytes) {}
  TableCache(const TableCache&) = delete;
  TableCache& operator=(const TableCache&) = delete;

  // `*head` is valid as long as an EpochGuard that the caller holds, or as a reference taken under
  // it. Errors name file and offset.
  Status Find(const Extent& extent, TableHead** head) {
    *head = FindInMemory(extent);
    return *head != nullptr ? Status() : ReadIn(extent, head);
  }
  // Null if it would have to be read in.
  static TableHead* FindInMemory(const Extent& extent) {
    TableHead* const found = extent.place->head_.load(std::memory_order_acquire);
    if (found != nullptr && !found->used_.load(std::memory_order_relaxed)) {
      found->used_.store(true, std::memory_order_relaxed);
    }
    return found;
  }

  CacheStatistics statistics() const;

 private:
  friend class ExtentPlace;

  // To be called as a place is destroyed; `head` is null if it has none.
  static void Forget(TableHead* head);

  Status ReadIn(const Extent& extent, TableHead** head);
  void Unlink(TableHead* head) SLUICE_REQUIRES(mutex_);
  // The caller retires the heads given up without the mutex: retiring may delete other objects,
  // which may call the cache.
  std::vector<TableHead*> Evict() SLUICE_REQUIRES(mutex_);

  const size_t capacity_bytes_;
  mutable Mutex mutex_;
  std::vector<TableHead*> heads_ SLUICE_GUARDED_BY(mutex_);
  size_t hand_ SLUICE_GUARDED_BY(mutex_) = 0;
  size_t used_bytes_ SLUICE_GUARDED_BY(mutex_) = 0;
  uint64_t reads_ SLUICE_GUARDED_BY(mutex_) = 0;
  uint64_t evictions_ SLUICE_GUARDED_BY(mutex_) = 0;
};

}  // namespace sluice
