// Writers in line: the one in front writes for a group of those behind it (group commit).
//
// Whoever is in front is alone with what only it may touch, until it leaves. Thread-safe.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string_view>
#include <vector>

#include "util/status.h"

namespace sluice {

class WriteQueue {
 public:
  struct Writer {
    std::string_view batch;  // batch_format.h
    uint32_t count = 0;      // of its writes
    bool sync = false;
    bool alone = false;  // in no group: comes to the front for something else than writing

    // The queue's.
    bool done = false;
    Status status;
    std::condition_variable turn;
  };

  // Returns the group that the caller is to write, itself first; or, with `writer->status` set,
  // none, because somebody else did.
  std::vector<Writer*> Join(Writer* writer) {
    std::unique_lock lock(mutex_);
    writers_.push_back(writer);
    writer->turn.wait(lock, [&] { return writer->done || writers_.front() == writer; });
    if (writer->done) {
      return {};
    }
    std::vector<Writer*> group;
    size_t bytes = 0;
    for (Writer* const candidate : writers_) {
      // One that does not ask for a sync does not wait for somebody else's.
      if (candidate != writer &&
          (writer->alone || candidate->alone || candidate->sync != writer->sync ||
           bytes + candidate->batch.size() > kGroupBytes)) {
        break;
      }
      bytes += candidate->batch.size();
      group.push_back(candidate);
    }
    return group;
  }
  // The group of the caller is written.
  void Leave(const std::vector<Writer*>& group, const Status& status) {
    const std::lock_guard lock(mutex_);
    for (Writer* const writer : group) {
      writers_.pop_front();
      if (writer != group.front()) {
        writer->status = status;
        writer->done = true;
        writer->turn.notify_one();
      }
    }
    if (!writers_.empty()) {
      writers_.front()->turn.notify_one();
    }
  }

 private:
  static constexpr size_t kGroupBytes = size_t{1} << 20;

  std::mutex mutex_;
  std::deque<Writer*> writers_;
};

// In front, alone, as long as it lives.
class InFront {
 public:
  explicit InFront(WriteQueue* queue) : queue_(*queue) {
    writer_.alone = true;
    group_ = queue_.Join(&writer_);
  }
  InFront(const InFront&) = delete;
  InFront& operator=(const InFront&) = delete;
  ~InFront() { queue_.Leave(group_, {}); }

 private:
  WriteQueue& queue_;
  WriteQueue::Writer writer_;
  std::vector<WriteQueue::Writer*> group_;
};

}  // namespace sluice
