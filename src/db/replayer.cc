#include "db/replayer.h"

#include <algorithm>

#include "db/apply_write.h"
#include "util/coding.h"
#include "write/batch_format.h"

namespace sluice {

Status CheckRecord(std::string_view payload, LogPosition begin, LoggedTransactions* prepared) {
  SequenceNumber sequence;
  if (!GetVarint64(&payload, &sequence)) {
    return Status::Corruption("no sequence number");
  }
  for (BatchEntry entry; !payload.empty();) {
    if (!ReadEntry(&payload, &entry)) {
      return Status::Corruption("malformed write");
    }
    if (entry.type == EntryType::kPrepared) {
      std::string_view entries = entry.value;
      for (BatchEntry inner; !entries.empty();) {
        if (!ReadEntry(&entries, &inner) || inner.type == EntryType::kPrepared ||
            inner.type == EntryType::kResolved || inner.type == EntryType::kRangeDeletion) {
          return Status::Corruption("malformed prepared transaction");
        }
      }
      (*prepared)[std::string(entry.key)] = {begin, std::string(entry.value)};
    } else if (entry.type == EntryType::kResolved) {
      prepared->erase(std::string(entry.key));
    }
  }
  return {};
}

Replayer::Replayer(const std::map<uint32_t, Target>* targets) : targets_(*targets) {}

Replayer::Replayer(const std::map<uint32_t, Target>* targets, size_t threads) : Replayer(targets) {
  done_.resize(threads);
  for (size_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this, i, threads] { Work(i, threads); });
  }
}

Replayer::~Replayer() {
  {
    const MutexLock lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void Replayer::Add(std::string_view payload) {
  MutexLock lock(mutex_);
  while (queued_bytes_ >= kMostQueuedBytes) {
    changed_.wait(lock);
  }
  records_.push_back(std::make_shared<const std::string>(payload));
  queued_bytes_ += payload.size();
  changed_.notify_all();
}

SequenceNumber Replayer::Drain() {
  MutexLock lock(mutex_);
  while (!records_.empty()) {
    changed_.wait(lock);
  }
  return last_;
}

void Replayer::Work(size_t self, size_t threads) {
  MutexLock lock(mutex_);
  for (;;) {
    while (!ended_ && done_[self] >= first_ + records_.size()) {
      changed_.wait(lock);
    }
    if (done_[self] == first_ + records_.size()) {
      return;
    }
    const std::shared_ptr<const std::string> record = records_[done_[self] - first_];
    lock.unlock();
    SequenceNumber last = 0;
    Replay(*record, self, threads, &last);
    lock.lock();
    ++done_[self];
    last_ = std::max(last_, last);
    while (!records_.empty() && *std::min_element(done_.begin(), done_.end()) > first_) {
      queued_bytes_ -= records_.front()->size();
      records_.pop_front();
      ++first_;
    }
    changed_.notify_all();
  }
}

void Replayer::Replay(std::string_view payload, size_t self, size_t threads,
                      SequenceNumber* last) const {
  SequenceNumber sequence = 0;
  (void)GetVarint64(&payload, &sequence);  // CheckRecord has
  for (BatchWrite write; ReadWrite(&payload, &write); ++sequence) {
    const auto target = targets_.find(write.subtable);
    if (write.subtable % threads == self && target != targets_.end() &&
        sequence > target->second.flushed) {
      ApplyWrite(sequence, write, target->second.memtable);
    }
  }
  *last = sequence - 1;
}

}  // namespace sluice
