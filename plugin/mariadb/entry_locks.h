// Whether entries of indexes are locked when they are written.
//
// An entry that has its row's key in it is written only by whoever has locked the row, so it needs
// no lock of its own, and most servers never take one. But a transaction that locks a range of an
// index, so that nothing new comes into it, must meet those who write entries there. From the first
// such transaction on, all that begin lock the entries that they write; and it waits for those that
// have begun without.
//
// Thread-safe.

#pragma once

#include <sluice/db.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace sluice::mariadb {

class EntryLocks {
 public:
  // A transaction that begins to write entries asks whether it may do so without locks. If so, it
  // calls Leave when its writes are seen, or undone, or when the database knows it as prepared.
  bool EnterWithout() {
    without_.fetch_add(1);
    if (!required_.load()) {
      return true;
    }
    without_.fetch_sub(1);
    return false;
  }
  void Leave() { without_.fetch_sub(1); }

  // All that enter from now on need locks. Returns whether all that there are have them: if not, call
  // it again, after a while, before a range is locked.
  bool Require(DB* db) {
    if (all_.load(std::memory_order_acquire)) {
      return true;
    }
    required_.store(true);
    if (without_.load() != 0) {
      return false;
    }
    const std::vector<std::string> prepared = db->ListPrepared();
    const std::lock_guard guard(mutex_);
    if (!listed_) {
      // Any of them may have begun without, even before the server was started.
      listed_ = true;
      prepared_ = prepared;
    }
    std::erase_if(prepared_, [&prepared](const std::string& name) {
      return std::find(prepared.begin(), prepared.end(), name) == prepared.end();
    });
    if (prepared_.empty()) {
      all_.store(true, std::memory_order_release);
    }
    return prepared_.empty();
  }

 private:
  std::atomic<int64_t> without_ = 0;  // transactions
  std::atomic<bool> required_ = false;
  std::atomic<bool> all_ = false;
  std::mutex mutex_;  // guards what follows
  bool listed_ = false;
  std::vector<std::string> prepared_;  // that may have begun without
};

}  // namespace sluice::mariadb
