#include "bench/worker.h"

#include <pthread.h>

#include <algorithm>
#include <thread>

#include "util/cpu_clock.h"
#include "util/seconds_since.h"

namespace sluice::bench {

namespace {

// Operations that a thread takes at a time, so that threads seldom meet at the counter.
constexpr uint64_t kBlock = 64;
// A wave's defaults.
constexpr double kCalm = 1000;  // puts per second
constexpr double kWaveSeconds = 30;
// Seconds that a writer with a rate sleeps at most before it looks whether the others are done.
constexpr double kNap = 0.01;

}  // namespace

RunState::RunState(const BenchSettings& settings_in, const Workload& workload_in, Engine* engine_in,
                   uint64_t stream, std::atomic<uint64_t>* inserted_in)
    : settings(settings_in),
      workload(workload_in),
      seed(Mix(settings_in.seed) + Mix(stream)),
      engine(engine_in),
      inserted(inserted_in),
      next_key(inserted_in->load()),
      timed(settings_in.duration > 0 && !workload_in.each_key_once() &&
            (!workload_in.fresh || workload_in.overload)),
      operations(timed                                              ? UINT64_MAX
                 : workload_in.fresh || workload_in.each_key_once() ? settings_in.num
                                                                    : settings_in.operations()),
      wave((settings_in.write_rate > 0 ? settings_in.write_rate : kCalm) / settings_in.threads,
           settings_in.duration > 0 ? settings_in.duration : kWaveSeconds),
      chooser(workload_in.own_distribution
                  ? *workload_in.distribution
                  : settings_in.distribution.value_or(
                        workload_in.distribution.value_or(DistributionSpec())),
              inserted_in->load(), settings_in.seed),
      shuffle(settings_in.num, settings_in.seed) {}

Worker::Worker(RunState* run, uint64_t index, bool writer)
    : run_(*run),
      writer_(writer),
      random_(run->seed + index),
      values_(run->settings.min_value_bytes, run->settings.max_value_bytes, run->seed + ~index) {
  for (auto& latency : latency_) {
    latency = std::make_unique<Histogram>();
  }
  keys_.resize(run->settings.batch);
}

void Worker::Prepare() {
  ::pthread_setname_np(::pthread_self(), "bench");
  session_ = run_.engine->NewSession();
}

Status Worker::Run() {
  cpu_seconds_ = ThreadCpuSeconds();
  file_bytes_read_ = session_->BytesRead();
  now_ = Clock::now();
  if (writer_) {
    return RunWriter();
  }
  if (run_.workload.wave) {
    return RunWave();
  }
  const uint64_t block = std::max<uint64_t>(kBlock, run_.settings.batch);
  while (!run_.stop.load(std::memory_order_relaxed) && !walk_ended_) {
    const uint64_t first = run_.claimed.fetch_add(block, std::memory_order_relaxed);
    if (first >= run_.operations ||
        (run_.timed &&
         std::chrono::duration<double>(now_ - run_.begin).count() >= run_.settings.duration)) {
      break;
    }
    SLUICE_RETURN_IF_ERROR(DoBlock(first, std::min(block, run_.operations - first)));
  }
  return session_->Drain();
}

Status Worker::RunWriter() {
  const double rate = run_.settings.write_rate;
  do {  // writes once at least
    if (rate > 0) {
      const double due = static_cast<double>(done()) / rate;
      const double early = due - SecondsSince(run_.begin);
      if (early > 0) {
        std::this_thread::sleep_for(std::chrono::duration<double>(std::min(early, kNap)));
        continue;
      }
    }
    SLUICE_RETURN_IF_ERROR(Put(0, run_.settings.batch));
    done_.fetch_add(run_.settings.batch, std::memory_order_relaxed);
  } while (!run_.stop.load(std::memory_order_relaxed));
  return session_->Drain();
}

Status Worker::RunWave() {
  for (uint64_t number = 0; !run_.stop.load(std::memory_order_relaxed); ++number) {
    const double due = run_.wave.DueAt(number);
    if (due >= run_.wave.seconds()) {
      break;
    }
    const Clock::time_point at = run_.begin + std::chrono::duration_cast<Clock::duration>(
                                                  std::chrono::duration<double>(due));
    if (at > Clock::now()) {
      std::this_thread::sleep_until(at);
    }
    SetKey(PickKey(number), &key_);
    SLUICE_RETURN_IF_ERROR(Write({.key = key_, .value = values_.Next()}));
    const std::chrono::nanoseconds taken = Clock::now() - at;
    latency_[static_cast<size_t>(Op::kPut)]->Add(static_cast<uint64_t>(taken.count()));
    responses_.Add(due, static_cast<double>(taken.count()) / 1e3);
    done_.fetch_add(1, std::memory_order_relaxed);
  }
  return {};
}

void Worker::Finish() {
  walk_.reset();
  cpu_seconds_ = ThreadCpuSeconds() - cpu_seconds_;
  if (const std::optional<uint64_t> read = session_->BytesRead(); read && file_bytes_read_) {
    file_bytes_read_ = *read - *file_bytes_read_;
  }
  session_.reset();
}

void Worker::AddTo(RunResult* result) const {
  for (size_t i = 0; i < kOps; ++i) {
    result->latency[i].Merge(*latency_[i]);
  }
  if (!writer_) {
    result->by_second.Merge(by_second_);
  }
  result->responses.Merge(responses_);
  result->operations += writer_ ? 0 : done();
  result->gets += gets_;
  result->found += found_;
  result->user_bytes_written += bytes_written_;
  result->user_bytes_read += bytes_read_;
  result->cpu.foreground += cpu_seconds_;
  if (file_bytes_read_ && !writer_) {
    result->foreground_bytes_read = result->foreground_bytes_read.value_or(0) + *file_bytes_read_;
  }
}

Status Worker::DoBlock(uint64_t first, uint64_t count) {
  const uint64_t end = first + count;
  for (uint64_t number = first; number < end && !walk_ended_;) {
    const Op op = Choose();
    const bool batched = op == Op::kPut || op == Op::kMultiGet;
    const uint64_t n = batched ? std::min<uint64_t>(run_.settings.batch, end - number) : 1;
    SLUICE_RETURN_IF_ERROR(Do(op, number, n));
    number += n;
    if (!walk_ended_) {
      done_.fetch_add(n, std::memory_order_relaxed);
    }
  }
  return {};
}

Status Worker::Do(Op op, uint64_t number, uint64_t count) {
  switch (op) {
    case Op::kGet:
      return Get(number);
    case Op::kMultiGet:
      return MultiGet(number, count);
    case Op::kPut:
      return Put(number, count);
    case Op::kInsert:
      return Insert();
    case Op::kReadModifyWrite:
      return ReadModifyWrite(number);
    case Op::kScan:
      return Scan(number);
    case Op::kDelete:
      return Delete(number);
    case Op::kPop:
      return Pop();
    case Op::kNext:
    case Op::kPrev:
      return Step(op);
  }
  return {};
}

Op Worker::Choose() {
  const auto& percent = run_.workload.percent;
  int draw = -1;
  for (size_t i = 0; i < kOps; ++i) {
    if (percent[i] == 100) {
      return static_cast<Op>(i);
    }
    if (percent[i] > 0) {
      draw = draw < 0 ? static_cast<int>(random_.Below(100)) : draw;
      if (draw < percent[i]) {
        return static_cast<Op>(i);
      }
      draw -= percent[i];
    }
  }
  return Op::kGet;  // not reached: the shares make up 100
}

uint64_t Worker::PickKey(uint64_t number) {
  if (writer_) {
    return random_.Below(run_.settings.num);
  }
  switch (run_.workload.keys) {
    case Workload::Keys::kInOrder:
      return number;
    case Workload::Keys::kShuffled:
      return run_.shuffle(number);
    case Workload::Keys::kDrawn:
    case Workload::Keys::kMissing:
      break;
  }
  return run_.chooser.Draw(&random_, run_.inserted->load(std::memory_order_relaxed));
}

void Worker::SetKey(uint64_t key, std::string* text) const {
  MakeKey(key, run_.workload.order, run_.settings.key_bytes, text);
}

template <typename Call>
Status Worker::Timed(Op op, const Call& call) {
  return TimedFrom(Clock::now(), op, call);
}

template <typename Call>
Status Worker::TimedFrom(Clock::time_point begin, Op op, const Call& call) {
  Status status = call();
  now_ = Clock::now();
  const auto ns = static_cast<uint64_t>(std::chrono::nanoseconds(now_ - begin).count());
  latency_[static_cast<size_t>(op)]->Add(ns);
  by_second_.Add(now_ - run_.begin, ns);
  return status;
}

Status Worker::Get(uint64_t number) {
  SetKey(PickKey(number), &key_);
  if (run_.workload.keys == Workload::Keys::kMissing) {
    key_ += '.';
  }
  std::string_view value;
  bool found = false;
  Status status = Timed(Op::kGet, [&] { return session_->Get(key_, &value, &found); });
  ++gets_;
  if (found) {
    ++found_;
    bytes_read_ += key_.size() + value.size();
  }
  return status;
}

Status Worker::MultiGet(uint64_t number, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    SetKey(PickKey(number + i), &keys_[i]);
  }
  gets_ += count;
  return Timed(Op::kMultiGet, [&] {
    return session_->MultiGet({keys_.data(), count}, &found_, &bytes_read_);
  });
}

Status Worker::Put(uint64_t number, uint64_t count) {
  records_.clear();
  for (uint64_t i = 0; i < count; ++i) {
    SetKey(PickKey(number + i), &keys_[i]);
    records_.push_back({.key = keys_[i], .value = values_.Next()});
    bytes_written_ += records_.back().key.size() + records_.back().value.size();
  }
  if (Status status;
      session_->PutAsync(records_, latency_[static_cast<size_t>(Op::kPut)].get(), &status)) {
    now_ = Clock::now();
    return status;
  }
  return Timed(Op::kPut, [&] { return session_->Put(records_); });
}

Status Worker::Insert() {
  SetKey(run_.next_key.fetch_add(1, std::memory_order_relaxed), &key_);
  Status status = Timed(Op::kInsert, [&] { return Write({.key = key_, .value = values_.Next()}); });
  run_.inserted->fetch_add(1, std::memory_order_relaxed);
  return status;
}

Status Worker::Write(const Record& record) {
  bytes_written_ += record.key.size() + record.value.size();
  return session_->Put({&record, 1});
}

Status Worker::ReadModifyWrite(uint64_t number) {
  SetKey(PickKey(number), &key_);
  std::string_view value;
  bool found = false;
  Status status = Timed(Op::kReadModifyWrite, [&] {
    SLUICE_RETURN_IF_ERROR(session_->Get(key_, &value, &found));
    if (found) {
      bytes_read_ += key_.size() + value.size();
    }
    return Write({.key = key_, .value = values_.Next()});
  });
  ++gets_;
  found_ += found ? 1 : 0;
  return status;
}

Status Worker::ScanPrefix(uint64_t number) {
  const uint64_t key = PickKey(number);
  SetKey(
      run_.workload.keys == Workload::Keys::kMissing ? key + run_.settings.num + kGroupKeys : key,
      &key_);
  key_.resize(kMinKeyBytes);
  std::string& end = keys_[0];
  end = key_;
  while (!end.empty() && end.back() == '\xff') {
    end.pop_back();
  }
  if (!end.empty()) {
    ++end.back();
  }
  return Timed(Op::kScan, [&] {
    const std::unique_ptr<EngineIterator> it = session_->NewIterator({key_, end});
    for (bool valid = it->Seek(key_); valid && (end.empty() || it->key() < end);
         valid = it->Next()) {
      bytes_read_ += it->record_bytes();
    }
    return it->status();
  });
}

Status Worker::Scan(uint64_t number) {
  if (run_.workload.prefix_scans) {
    return ScanPrefix(number);
  }
  SetKey(PickKey(number), &key_);
  const uint64_t records = run_.workload.short_scans ? 1 + random_.Below(run_.settings.max_scan)
                                                     : run_.settings.seek_nexts + 1;
  return Timed(Op::kScan, [&] {
    const std::unique_ptr<EngineIterator> it = session_->NewIterator({});
    bool valid = it->Seek(key_);
    for (uint64_t i = 1; valid; ++i) {
      bytes_read_ += it->record_bytes();
      valid = i < records && it->Next();
    }
    return it->status();
  });
}

Status Worker::Delete(uint64_t number) {
  const uint64_t key = PickKey(number);
  if (run_.workload.spared > 0 && key % run_.workload.spared == 0) {
    return {};
  }
  SetKey(key, &key_);
  bytes_written_ += key_.size();
  return Timed(Op::kDelete, [&] { return session_->Delete(key_); });
}

Status Worker::Pop() {
  std::string& first = keys_[0];
  SetKey(run_.next_key.fetch_add(1, std::memory_order_relaxed), &key_);
  const Record last{.key = key_, .value = values_.Next()};
  Status status = Timed(Op::kPop, [&] {
    {
      const std::unique_ptr<EngineIterator> it = session_->NewIterator({});
      first.clear();
      if (it->SeekToFirst()) {
        bytes_read_ += it->record_bytes();
        first = it->key();
      }
      SLUICE_RETURN_IF_ERROR(it->status());
    }
    if (!first.empty()) {
      bytes_written_ += first.size();
      SLUICE_RETURN_IF_ERROR(session_->Delete(first));
    }
    return Write(last);
  });
  run_.inserted->fetch_add(1, std::memory_order_relaxed);
  return status;
}

Status Worker::Step(Op op) {
  // From where the last one ended: reading the clock twice would take as long as a step.
  return TimedFrom(now_, op, [&] {
    bool valid;
    if (walk_ != nullptr) {
      valid = op == Op::kNext ? walk_->Next() : walk_->Prev();
    } else {
      walk_ = session_->NewIterator({});
      valid = op == Op::kNext ? walk_->SeekToFirst() : walk_->SeekToLast();
    }
    if (valid) {
      bytes_read_ += walk_->record_bytes();
      return Status();
    }
    walk_ended_ = true;
    return walk_->status();
  });
}

}  // namespace sluice::bench
