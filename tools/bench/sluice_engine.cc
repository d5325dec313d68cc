// Sluice itself, through its public interface.

#include "bench/engine.h"
#include "sluice/db.h"

namespace sluice::bench {

namespace {

// The table cache takes every index and filter, as the peers keep theirs.
constexpr size_t kTableCacheBytes = size_t{4} << 30;

class SluiceIterator : public EngineIterator {
 public:
  explicit SluiceIterator(DB* db) : it_(db->NewIterator({})) {}

  bool SeekToFirst() override { return it_->SeekToFirst(), it_->Valid(); }
  bool SeekToLast() override { return it_->SeekToLast(), it_->Valid(); }
  bool Seek(std::string_view key) override { return it_->Seek(key), it_->Valid(); }
  bool Next() override { return it_->Next(), it_->Valid(); }
  bool Prev() override { return it_->Prev(), it_->Valid(); }
  size_t record_bytes() const override { return it_->key().size() + it_->value().size(); }
  Status status() const override { return it_->status(); }

 private:
  const std::unique_ptr<Iterator> it_;
};

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

  std::unique_ptr<EngineIterator> NewIterator() override {
    return std::make_unique<SluiceIterator>(db_);
  }

 private:
  DB* const db_;
  const WriteOptions options_;
  WriteBatch batch_;
  std::string value_;
};

class SluiceEngine : public Engine {
 public:
  SluiceEngine(std::unique_ptr<DB> db, bool sync) : db_(std::move(db)), sync_(sync) {}

  std::string version() const override { return "Sluice"; }
  std::unique_ptr<EngineSession> NewSession() override {
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
        .background_bytes_read = statistics.compaction_bytes_read};
  }

 private:
  const std::unique_ptr<DB> db_;
  const bool sync_;
};

}  // namespace

Status OpenSluice(const EngineSettings& settings, const std::string& directory, bool create,
                  std::unique_ptr<Engine>* engine) {
  Options options;
  options.create_if_missing = create;
  options.memtable_bytes = settings.write_buffer_bytes;
  options.max_waiting_memtables = 3;
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
  options.compression = settings.snappy ? Compression::kSnappy : Compression::kNone;
  options.bloom_bits_per_key = settings.bloom_bits;
  options.offload.executor = settings.executor;
  if (!settings.config.empty()) {
    options.offload.configuration = settings.config;
  }
  std::unique_ptr<DB> db;
  SLUICE_RETURN_IF_ERROR(DB::Open(options, directory, &db));
  *engine = std::make_unique<SluiceEngine>(std::move(db), settings.sync);
  return {};
}

}  // namespace sluice::bench
