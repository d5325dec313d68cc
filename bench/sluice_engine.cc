// Sluice itself, through its public interface.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "bench/engine.h"
#include "device/executors.h"
#include "sluice/db.h"

namespace sluice::bench {

namespace {

// The table cache takes every index and filter, as the peers keep theirs.
constexpr size_t kTableCacheBytes = size_t{4} << 30;

class SluiceIterator : public EngineIterator {
 public:
  SluiceIterator(DB* db, const IteratorBounds& bounds)
      : lower_(bounds.lower),
        upper_(bounds.upper),
        it_(db->NewIterator({.lower_bound = lower_.empty() ? nullptr : &lower_,
                             .upper_bound = upper_.empty() ? nullptr : &upper_})) {}

  bool SeekToFirst() override { return it_->SeekToFirst(), it_->Valid(); }
  bool SeekToLast() override { return it_->SeekToLast(), it_->Valid(); }
  bool Seek(std::string_view key) override { return it_->Seek(key), it_->Valid(); }
  bool Next() override { return it_->Next(), it_->Valid(); }
  bool Prev() override { return it_->Prev(), it_->Valid(); }
  std::string_view key() const override { return it_->key(); }
  size_t record_bytes() const override { return it_->key().size() + it_->value().size(); }
  Status status() const override { return it_->status(); }

 private:
  const std::string lower_;
  const std::string upper_;
  const std::unique_ptr<Iterator> it_;
};

// So many puts of a thread are under way at most, if they are asynchronous.
constexpr size_t kAsyncWindow = 1000;

class SluiceSession : public EngineSession {
 public:
  SluiceSession(DB* db, bool sync) : db_(db), options_{.sync = sync} {}

  Status Put(std::span<const Record> records) override {
    if (records.size() == 1) {
      return db_->Put(options_, records[0].key, records[0].value);
    }
    batch_.Clear();
    for (const Record& record : records) {
      batch_.Put(record.key, record.value);
    }
    return db_->Write(options_, batch_);
  }

  Status Delete(std::string_view key) override { return db_->Delete(options_, key); }

  Status Get(std::string_view key, std::string_view* value, bool* found) override {
    Status status = db_->Get({}, key, &value_);
    *value = value_;
    *found = status.ok();
    return status.IsNotFound() ? Status() : status;
  }

  Status MultiGet(std::span<const std::string> keys, uint64_t* found, uint64_t* bytes) override {
    keys_.assign(keys.begin(), keys.end());
    const std::vector<Status> statuses = db_->MultiGet({}, nullptr, keys_, &values_);
    for (size_t i = 0; i < keys_.size(); ++i) {
      if (statuses[i].ok()) {
        ++*found;
        *bytes += keys_[i].size() + values_[i].size();
      } else if (!statuses[i].IsNotFound()) {
        return statuses[i];
      }
    }
    return {};
  }

  std::unique_ptr<EngineIterator> NewIterator(const IteratorBounds& bounds) override {
    return std::make_unique<SluiceIterator>(db_, bounds);
  }

 protected:
  DB* const db_;
  const WriteOptions options_;
  WriteBatch batch_;

 private:
  std::string value_;
  std::vector<std::string_view> keys_;
  std::vector<std::string> values_;
};

class AsyncSluiceSession : public SluiceSession {
 public:
  using SluiceSession::SluiceSession;
  ~AsyncSluiceSession() override { (void)Drain(); }

  bool PutAsync(std::span<const Record> records, Histogram* latency, Status* status) override {
    *status = Submit(records, latency);
    return true;
  }
  Status Drain() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return under_way_ == 0; });
    return error_;
  }

 private:
  Status Submit(std::span<const Record> records, Histogram* latency) {
    batch_.Clear();
    for (const Record& record : records) {
      batch_.Put(record.key, record.value);
    }
    {
      std::unique_lock lock(mutex_);
      // When half of them are done: waking up costs more than a put.
      if (under_way_ == kAsyncWindow) {
        changed_.wait(lock, [this] { return under_way_ <= kAsyncWindow / 2; });
      }
      SLUICE_RETURN_IF_ERROR(error_);
      ++under_way_;
    }
    const auto begin = std::chrono::steady_clock::now();
    db_->WriteAsync(options_, batch_, [this, begin, latency](const Status& status) {
      const std::chrono::nanoseconds taken = std::chrono::steady_clock::now() - begin;
      const std::lock_guard lock(mutex_);
      latency->Add(static_cast<uint64_t>(taken.count()));
      if (!status.ok() && error_.ok()) {
        error_ = status;
      }
      if (--under_way_ == kAsyncWindow / 2 || under_way_ == 0) {
        changed_.notify_one();
      }
    });
    return {};
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  size_t under_way_ = 0;
  Status error_;
};

class SluiceEngine : public Engine {
 public:
  SluiceEngine(std::unique_ptr<DB> db, bool sync, bool async)
      : db_(std::move(db)), sync_(sync), async_(async) {}

  std::string version() const override { return "Sluice"; }
  std::unique_ptr<EngineSession> NewSession() override {
    if (async_) {
      return std::make_unique<AsyncSluiceSession>(db_.get(), sync_);
    }
    return std::make_unique<SluiceSession>(db_.get(), sync_);
  }
  Status Flush() override { return db_->Flush(nullptr); }
  Status Compact() override { return db_->CompactRange(nullptr, {}, {}); }
  Status WaitForBackgroundWork() override { return db_->WaitForBackgroundWork(); }

  EngineCounts Counts() override {
    const Statistics statistics = db_->GetStatistics();
    return {
        .log_bytes_written = statistics.log_bytes_written,
        .table_bytes_written = statistics.flush_bytes_written + statistics.compaction_bytes_written,
        .background_bytes_read = statistics.compaction_bytes_read,
        .stall_microseconds = statistics.stall_microseconds,
        .unit_microseconds = statistics.offload.unit_microseconds,
        .unit_busy_microseconds = statistics.offload.unit_busy_microseconds,
        .unit_tasks = statistics.offload.device_tasks,
        .cpu_tasks = statistics.offload.cpu_tasks,
        .cpu_tasks_small = statistics.offload.cpu_tasks_small,
        .cpu_tasks_queue = statistics.offload.cpu_tasks_queue,
        .cpu_tasks_slow = statistics.offload.cpu_tasks_slow};
  }

 private:
  const std::unique_ptr<DB> db_;
  const bool sync_;
  const bool async_;
};

}  // namespace

Status OpenSluice(const EngineSettings& settings, const std::string& directory, bool create,
                  std::unique_ptr<Engine>* engine) {
  Options options;
  options.create_if_missing = create;
  options.memtable_bytes = settings.write_buffer_bytes;
  options.max_waiting_memtables = 3;
  options.write_buffer_bytes = std::max<size_t>(
      options.write_buffer_bytes, (options.max_waiting_memtables + 1) * options.memtable_bytes);
  // In the proportion of their defaults.
  const double row_share = static_cast<double>(options.row_cache_bytes) /
                           static_cast<double>(options.row_cache_bytes + options.block_cache_bytes);
  options.row_cache_bytes =
      static_cast<size_t>(row_share * static_cast<double>(settings.cache_bytes));
  options.block_cache_bytes = settings.cache_bytes - options.row_cache_bytes;
  options.table_cache_bytes = kTableCacheBytes;
  if (settings.block_bytes > 0) {
    options.block_bytes = settings.block_bytes;
  }
  options.compression = settings.compression;
  options.zstd_dictionary_bytes = settings.dictionary_bytes;
  options.bloom_bits_per_key = settings.bloom_bits;
  options.prefix_bytes = settings.prefix_bytes;
  options.separate_value_bytes = settings.separate_bytes;
  options.direct_io = settings.direct_io;
  options.compaction_threads = settings.compaction_threads;
  options.flush_threads = settings.flush_threads;
  options.background_bytes_per_second = settings.background_bytes_per_second;
  options.max_space_amplification = settings.max_space_amplification;
  if (settings.write_queues > 0) {
    options.write_queues = settings.write_queues;
  }
  SLUICE_RETURN_IF_ERROR(
      MakeUnits(settings.executor,
                settings.config.empty() ? kDefaultConfiguration : std::string_view(settings.config),
                {.model = settings.model}, &options.executors));
  options.always_offload = settings.always_offload;
  std::unique_ptr<DB> db;
  SLUICE_RETURN_IF_ERROR(DB::Open(options, directory, &db));
  *engine = std::make_unique<SluiceEngine>(std::move(db), settings.sync, settings.async);
  return {};
}

}  // namespace sluice::bench
