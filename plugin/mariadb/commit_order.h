// Commits whose place in the server's order is fixed (handlerton::commit_ordered), and that are not
// done yet.
//
// Each is done by its own connection's thread, soon. Who needs a state that has all whose place is
// fixed waits here for them; and the binary log, which does again after a crash what the engine had
// not committed, is told here when it need not know of them any more.
//
// Thread-safe.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace sluice::mariadb {

class CommitOrder {
 public:
  // The place of a commit is fixed: returns its number, for Leave.
  uint64_t Enter() {
    const std::lock_guard guard(mutex_);
    under_way_.insert(under_way_.end(), ++last_);
    return last_;
  }
  // It is done. Returns the cookies of checkpoints that have waited for nothing else.
  std::vector<void*> Leave(uint64_t number) {
    const std::lock_guard guard(mutex_);
    under_way_.erase(number);
    left_.notify_all();
    std::vector<void*> reached;
    std::erase_if(checkpoints_, [this, &reached](const std::pair<uint64_t, void*>& checkpoint) {
      const bool all = DoneUpTo(checkpoint.first);
      if (all) {
        reached.push_back(checkpoint.second);
      }
      return all;
    });
    return reached;
  }
  // Whether all that have a place are done. If not, some Leave returns the cookie.
  bool Checkpoint(void* cookie) {
    const std::lock_guard guard(mutex_);
    if (under_way_.empty()) {
      return true;
    }
    checkpoints_.emplace_back(last_, cookie);
    return false;
  }
  // Returns when all that have a place now are done.
  void Await() {
    std::unique_lock lock(mutex_);
    AwaitUpTo(&lock, last_);
  }
  // Returns when those are done whose numbers are not above this one.
  void AwaitUpTo(uint64_t number) {
    std::unique_lock lock(mutex_);
    AwaitUpTo(&lock, number);
  }

 private:
  void AwaitUpTo(std::unique_lock<std::mutex>* lock, uint64_t number) {
    left_.wait(*lock, [this, number] { return DoneUpTo(number); });
  }
  bool DoneUpTo(uint64_t last) const { return under_way_.empty() || *under_way_.begin() > last; }

  std::mutex mutex_;
  std::condition_variable left_;
  uint64_t last_ = 0;
  std::set<uint64_t> under_way_;
  std::vector<std::pair<uint64_t, void*>> checkpoints_;  // the last number when they were asked for
};

}  // namespace sluice::mariadb
