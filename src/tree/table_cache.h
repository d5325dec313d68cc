// The table cache (X-Engine 3.1.2): heads of extents, within a budget of memory.
//
// A head hangs on its extent's place, so finding it costs a load; only reading one in, and giving
// one up (CLOCK), take a lock. Thread-safe. The cache outlives the places of all extents that were
// looked up in it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "sluice/statistics.h"
#include "tree/extent.h"
#include "tree/table_head.h"
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
    TableHead* const found = extent.place->head_.load(std::memory_order_acquire);
    if (found == nullptr) [[unlikely]] {
      return ReadIn(extent, head);
    }
    if (!found->used_.load(std::memory_order_relaxed)) {
      found->used_.store(true, std::memory_order_relaxed);
    }
    *head = found;
    return {};
  }

  CacheStatistics statistics() const;

 private:
  friend class ExtentPlace;

  // The place is going; null if it has no head.
  static void Forget(TableHead* head);

  Status ReadIn(const Extent& extent, TableHead** head);
  // With mutex_ held; the heads given up are to be retired without it, because what else is due for
  // deletion then may come here.
  void Unlink(TableHead* head);
  std::vector<TableHead*> Evict();

  const size_t capacity_bytes_;
  mutable std::mutex mutex_;
  std::vector<TableHead*> heads_;
  size_t hand_ = 0;
  size_t used_bytes_ = 0;
  uint64_t reads_ = 0;
  uint64_t evictions_ = 0;
};

}  // namespace sluice
