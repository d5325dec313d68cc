#include "tree/table_cache.h"

#include "util/epoch.h"

namespace sluice {

namespace {

// The cache's reference, given up once no guard is held that saw the head.
void Retire(TableHead* head) {
  EpochRetire(
      head, [](void* retired) { static_cast<TableHead*>(retired)->Unref(); }, head->memory_bytes());
}

}  // namespace

Status TableCache::ReadIn(const Extent& extent, TableHead** head) {
  TableHead* read;
  SLUICE_RETURN_IF_ERROR(TableHead::Read(extent, &read));
  std::vector<TableHead*> evicted;
  {
    const MutexLock lock(mutex_);
    ++reads_;
    if (TableHead* const other = extent.place->head_.load(std::memory_order_acquire)) {
      read->Unref();
      *head = other;
      return {};
    }
    read->cache_ = this;
    read->place_ = extent.place.get();
    read->slot_ = heads_.size();
    heads_.push_back(read);
    used_bytes_ += read->memory_bytes();
    extent.place->head_.store(read, std::memory_order_release);
    evicted = Evict();
  }
  *head = read;
  for (TableHead* const gone : evicted) {
    Retire(gone);
  }
  return {};
}

std::vector<TableHead*> TableCache::Evict() {
  std::vector<TableHead*> evicted;
  while (used_bytes_ > capacity_bytes_ && heads_.size() > 1) {
    hand_ = hand_ < heads_.size() ? hand_ : 0;
    TableHead* const head = heads_[hand_];
    if (head->used_.exchange(false, std::memory_order_relaxed)) {
      ++hand_;
      continue;
    }
    head->place_->head_.store(nullptr, std::memory_order_release);
    Unlink(head);
    ++evictions_;
    evicted.push_back(head);
  }
  return evicted;
}

void TableCache::Unlink(TableHead* head) {
  used_bytes_ -= head->memory_bytes();
  heads_[head->slot_] = heads_.back();
  heads_[head->slot_]->slot_ = head->slot_;
  heads_.pop_back();
  head->place_ = nullptr;
}

void TableCache::Forget(TableHead* head) {
  if (head == nullptr) {
    return;
  }
  {
    const MutexLock lock(head->cache_->mutex_);
    if (head->place_ == nullptr) {
      return;  // evicted meanwhile
    }
    head->cache_->Unlink(head);
  }
  Retire(head);
}

CacheStatistics TableCache::statistics() const {
  const MutexLock lock(mutex_);
  return {.misses = reads_,
          .evictions = evictions_,
          .entries = heads_.size(),
          .used_bytes = used_bytes_,
          .capacity_bytes = capacity_bytes_};
}

}  // namespace sluice
