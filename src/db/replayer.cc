#include "db/replayer.h"

#include <algorithm>
#include <utility>

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

Replayer::Replayer(const std::map<uint32_t, Target>* targets, size_t most_queued_bytes)
    : targets_(*targets),
      most_queued_bytes_(std::clamp(most_queued_bytes, size_t{1}, kMostQueuedBytes)),
      chunk_bytes_(std::min(most_queued_bytes_ / kLeastChunks, kChunkBytes)) {}

Replayer::Replayer(const std::map<uint32_t, Target>* targets, size_t threads,
                   size_t most_queued_bytes)
    : Replayer(targets, most_queued_bytes) {
  for (size_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { Work(); });
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
  filling_.bytes.append(payload);
  filling_.ends.push_back(filling_.bytes.size());
  if (filling_.bytes.size() >= chunk_bytes_) {
    Enqueue();
  }
}

void Replayer::Enqueue() {
  MutexLock lock(mutex_);
  while (queued_bytes_ >= most_queued_bytes_) {
    changed_.wait(lock);
  }
  queued_bytes_ += filling_.bytes.size();
  waiting_.push_back(std::exchange(filling_, {}));
  changed_.notify_all();
}

SequenceNumber Replayer::Drain() {
  if (!filling_.ends.empty()) {
    Enqueue();
  }
  MutexLock lock(mutex_);
  while (queued_bytes_ > 0) {
    changed_.wait(lock);
  }
  return last_;
}

void Replayer::Work() {
  MutexLock lock(mutex_);
  for (;;) {
    while (!ended_ && waiting_.empty()) {
      changed_.wait(lock);
    }
    if (waiting_.empty()) {
      return;
    }
    const Chunk chunk = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    const SequenceNumber last = ReplayChunk(chunk);
    lock.lock();
    last_ = std::max(last_, last);
    queued_bytes_ -= chunk.bytes.size();
    changed_.notify_all();
  }
}

SequenceNumber Replayer::ReplayChunk(const Chunk& chunk) const {
  SequenceNumber last = 0;
  size_t begin = 0;
  WriteApplier applier;
  for (const size_t end : chunk.ends) {
    const std::string_view record = std::string_view(chunk.bytes).substr(begin, end - begin);
    last = std::max(last, ReplayRecord(record, &applier));
    begin = end;
  }
  applier.Flush();
  return last;
}

SequenceNumber Replayer::ReplayRecord(std::string_view payload, WriteApplier* applier) const {
  SequenceNumber sequence = 0;
  (void)GetVarint64(&payload, &sequence);  // CheckRecord has
  for (BatchWrite write; ReadWrite(&payload, &write); ++sequence) {
    const auto target = targets_.find(write.subtable);
    if (target != targets_.end() && sequence > target->second.flushed) {
      applier->Apply(sequence, write, target->second.memtable);
    }
  }
  return sequence - 1;
}

}  // namespace sluice
