#include <fmt/format.h>

#include "bench/engine.h"
#include "bench/rocksdb_library.h"

namespace sluice::bench {

namespace {

RocksDbBytes ToBytes(std::string_view text) { return {text.data(), text.size()}; }

class RocksDbIterator : public EngineIterator {
 public:
  RocksDbIterator(const RocksDbCalls& calls, void* session, const IteratorBounds& bounds)
      : calls_(calls),
        it_(calls.NewIterator(session, ToBytes(bounds.lower), ToBytes(bounds.upper))) {}
  RocksDbIterator(const RocksDbIterator&) = delete;
  RocksDbIterator& operator=(const RocksDbIterator&) = delete;
  ~RocksDbIterator() override { calls_.DeleteIterator(it_); }

  bool SeekToFirst() override { return calls_.SeekToFirst(it_); }
  bool SeekToLast() override { return calls_.SeekToLast(it_); }
  bool Seek(std::string_view key) override { return calls_.Seek(it_, ToBytes(key)); }
  bool Next() override { return calls_.Next(it_); }
  bool Prev() override { return calls_.Prev(it_); }
  std::string_view key() const override {
    const RocksDbBytes key = calls_.Key(it_);
    return {key.data, key.size};
  }
  size_t record_bytes() const override { return calls_.RecordBytes(it_); }
  Status status() const override { return RocksDbStatus(calls_.IteratorError(it_)); }

 private:
  const RocksDbCalls& calls_;
  void* const it_;
};

class RocksDbSession : public EngineSession {
 public:
  RocksDbSession(const RocksDbCalls& calls, void* db, bool sync)
      : calls_(calls), session_(calls.NewSession(db, sync)) {}
  RocksDbSession(const RocksDbSession&) = delete;
  RocksDbSession& operator=(const RocksDbSession&) = delete;
  ~RocksDbSession() override { calls_.DeleteSession(session_); }

  Status Put(std::span<const Record> records) override {
    records_.clear();
    for (const Record& record : records) {
      records_.push_back({ToBytes(record.key), ToBytes(record.value)});
    }
    return RocksDbStatus(calls_.Put(session_, records_.data(), records_.size()));
  }

  Status Delete(std::string_view key) override {
    return RocksDbStatus(calls_.Delete(session_, ToBytes(key)));
  }

  Status Get(std::string_view key, std::string_view* value, bool* found) override {
    RocksDbBytes bytes{};
    const char* const error = calls_.Get(session_, ToBytes(key), &bytes);
    *value = std::string_view(bytes.data, bytes.size);
    *found = bytes.data != nullptr;
    return RocksDbStatus(error);
  }

  Status MultiGet(std::span<const std::string> keys, uint64_t* found, uint64_t* bytes) override {
    keys_.clear();
    for (const std::string& key : keys) {
      keys_.push_back(ToBytes(key));
    }
    values_.resize(keys.size());
    SLUICE_RETURN_IF_ERROR(
        RocksDbStatus(calls_.MultiGet(session_, keys_.data(), keys.size(), values_.data())));
    for (size_t i = 0; i < keys.size(); ++i) {
      if (values_[i].data != nullptr) {
        ++*found;
        *bytes += keys_[i].size + values_[i].size;
      }
    }
    return {};
  }

  std::unique_ptr<EngineIterator> NewIterator(const IteratorBounds& bounds) override {
    return std::make_unique<RocksDbIterator>(calls_, session_, bounds);
  }

 private:
  const RocksDbCalls& calls_;
  void* const session_;
  std::vector<RocksDbRecord> records_;
  std::vector<RocksDbBytes> keys_;
  std::vector<RocksDbBytes> values_;
};

class RocksDbEngine : public Engine {
 public:
  RocksDbEngine(const RocksDbCalls& calls, void* db, bool sync)
      : calls_(calls), db_(db), sync_(sync) {}
  RocksDbEngine(const RocksDbEngine&) = delete;
  RocksDbEngine& operator=(const RocksDbEngine&) = delete;
  ~RocksDbEngine() override { calls_.Close(db_); }

  std::string version() const override { return fmt::format("RocksDB {}", calls_.Version()); }
  std::unique_ptr<EngineSession> NewSession() override {
    return std::make_unique<RocksDbSession>(calls_, db_, sync_);
  }
  Status Flush() override { return RocksDbStatus(calls_.Flush(db_)); }
  Status Compact() override { return RocksDbStatus(calls_.Compact(db_)); }
  Status WaitForBackgroundWork() override { return RocksDbStatus(calls_.Wait(db_)); }

  EngineCounts Counts() override {
    const RocksDbCounts counts = calls_.Counts(db_);
    return {.log_bytes_written = counts.log_bytes_written,
            .table_bytes_written = counts.table_bytes_written,
            .background_bytes_read = counts.background_bytes_read,
            .stall_microseconds = counts.stall_microseconds,
            .cpu_tasks = counts.service_jobs,
            .merges_left = counts.service_jobs_left};
  }

 private:
  const RocksDbCalls& calls_;
  void* const db_;
  const bool sync_;
};

int RocksDbNumber(Compression compression) {
  return compression == Compression::kZstd ? 7 : static_cast<int>(compression);
}

}  // namespace

Status OpenRocksDb(const EngineSettings& settings, const std::string& directory, bool create,
                   std::unique_ptr<Engine>* engine) {
  const RocksDbCalls* calls = nullptr;
  SLUICE_RETURN_IF_ERROR(LoadRocksDb(&calls));
  const RocksDbSettings given = {.cache_bytes = settings.cache_bytes,
                                 .write_buffer_bytes = settings.write_buffer_bytes,
                                 .block_bytes = settings.block_bytes,
                                 .bloom_bits = settings.bloom_bits,
                                 .prefix_bytes = settings.prefix_bytes,
                                 .compression = RocksDbNumber(settings.compression),
                                 .dictionary_bytes = settings.dictionary_bytes,
                                 .table_bytes = 0,
                                 .blob_bytes = settings.separate_bytes,
                                 .direct_io = settings.direct_io,
                                 .compactions_alone = false,
                                 .compaction_service = settings.compaction_service,
                                 .create = create,
                                 .pipelined_write = settings.pipelined_write,
                                 .unordered_write = settings.unordered_write,
                                 .many_tombstones = settings.many_tombstones};
  void* db = nullptr;
  SLUICE_RETURN_IF_ERROR(RocksDbStatus(calls->Open(&given, directory.c_str(), &db)));
  *engine = std::make_unique<RocksDbEngine>(*calls, db, settings.sync);
  return {};
}

}  // namespace sluice::bench
