// The real LevelDB.

#include <fmt/format.h>
#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>
#include <leveldb/write_batch.h>

#include "bench/counting_env.h"
#include "bench/engine.h"

namespace sluice::bench {

namespace {

leveldb::Slice ToSlice(std::string_view text) { return {text.data(), text.size()}; }

Status ToStatus(const leveldb::Status& status) {
  if (status.ok()) {
    return {};
  }
  const std::string message = "LevelDB: " + status.ToString();
  return status.IsCorruption()        ? Status::Corruption(message)
         : status.IsInvalidArgument() ? Status::InvalidArgument(message)
                                      : Status::IoError(message);
}

class LevelDbIterator : public EngineIterator {
 public:
  explicit LevelDbIterator(leveldb::Iterator* it) : it_(it) {}

  bool SeekToFirst() override { return it_->SeekToFirst(), it_->Valid(); }
  bool SeekToLast() override { return it_->SeekToLast(), it_->Valid(); }
  bool Seek(std::string_view key) override { return it_->Seek(ToSlice(key)), it_->Valid(); }
  bool Next() override { return it_->Next(), it_->Valid(); }
  bool Prev() override { return it_->Prev(), it_->Valid(); }
  std::string_view key() const override { return {it_->key().data(), it_->key().size()}; }
  size_t record_bytes() const override { return it_->key().size() + it_->value().size(); }
  Status status() const override { return ToStatus(it_->status()); }

 private:
  const std::unique_ptr<leveldb::Iterator> it_;
};

class LevelDbSession : public EngineSession {
 public:
  LevelDbSession(leveldb::DB* db, bool sync, bool verify_checksums) : db_(db) {
    options_.sync = sync;
    read_options_.verify_checksums = verify_checksums;
  }

  Status Put(std::span<const Record> records) override {
    batch_.Clear();
    for (const Record& record : records) {
      batch_.Put(ToSlice(record.key), ToSlice(record.value));
    }
    return ToStatus(db_->Write(options_, &batch_));
  }

  Status Delete(std::string_view key) override {
    return ToStatus(db_->Delete(options_, ToSlice(key)));
  }

  Status Get(std::string_view key, std::string_view* value, bool* found) override {
    const leveldb::Status status = db_->Get(read_options_, ToSlice(key), &value_);
    *value = value_;
    *found = status.ok();
    return status.IsNotFound() ? Status() : ToStatus(status);
  }

  std::unique_ptr<EngineIterator> NewIterator(const IteratorBounds& /*bounds*/) override {
    return std::make_unique<LevelDbIterator>(db_->NewIterator(read_options_));
  }

  // It maps its tables: the kernel's count knows little of them.
  std::optional<uint64_t> BytesRead() const override { return CountingEnv::ThreadBytesRead(); }

 private:
  leveldb::DB* const db_;
  leveldb::WriteOptions options_;
  leveldb::ReadOptions read_options_;
  leveldb::WriteBatch batch_;
  std::string value_;
};

class LevelDbEngine : public Engine {
 public:
  Status Open(const EngineSettings& settings, const std::string& directory, bool create) {
    cache_.reset(leveldb::NewLRUCache(settings.cache_bytes));
    if (settings.bloom_bits > 0) {
      filter_.reset(leveldb::NewBloomFilterPolicy(settings.bloom_bits));
    }
    if (settings.separate_bytes > 0) {
      return Status::NotSupported("LevelDB does not store values apart");
    }
    if (settings.direct_io) {
      return Status::NotSupported("LevelDB has no direct I/O");
    }
    if (settings.compression != Compression::kNone &&
        settings.compression != Compression::kSnappy) {
      return Status::NotSupported(
          fmt::format("LevelDB does not know {}", CompressionName(settings.compression)));
    }
    leveldb::Options options;
    options.create_if_missing = create;
    options.env = &env_;
    options.block_cache = cache_.get();
    options.filter_policy = filter_.get();
    options.write_buffer_size = settings.write_buffer_bytes;
    options.max_open_files = 50'000;
    options.compression = settings.compression == Compression::kSnappy ? leveldb::kSnappyCompression
                                                                       : leveldb::kNoCompression;
    if (settings.block_bytes > 0) {
      options.block_size = settings.block_bytes;
    }
    sync_ = settings.sync;
    verify_checksums_ = settings.verify_checksums;
    leveldb::DB* db = nullptr;
    const leveldb::Status status = leveldb::DB::Open(options, directory, &db);
    db_.reset(db);
    return ToStatus(status);
  }

  std::string version() const override {
    return fmt::format("LevelDB {}.{}", leveldb::kMajorVersion, leveldb::kMinorVersion);
  }
  std::unique_ptr<EngineSession> NewSession() override {
    return std::make_unique<LevelDbSession>(db_.get(), sync_, verify_checksums_);
  }

  // A compaction of keys that are not there flushes, and does nothing else.
  Status Flush() override {
    const std::string beyond(64, '\xff');
    const leveldb::Slice key(beyond);
    db_->CompactRange(&key, &key);
    return {};
  }

  Status Compact() override {
    db_->CompactRange(nullptr, nullptr);
    return {};
  }

  Status WaitForBackgroundWork() override {
    env_.WaitForBackgroundWork();
    return {};
  }

  EngineCounts Counts() override {
    return {.log_bytes_written = env_.log_bytes_written(),
            .table_bytes_written = env_.table_bytes_written(),
            .background_bytes_read = env_.background_bytes_read()};
  }

 private:
  // The database goes first: it uses the others.
  CountingEnv env_;
  std::unique_ptr<leveldb::Cache> cache_;
  std::unique_ptr<const leveldb::FilterPolicy> filter_;
  std::unique_ptr<leveldb::DB> db_;
  bool sync_ = false;
  bool verify_checksums_ = false;
};

}  // namespace

Status OpenLevelDb(const EngineSettings& settings, const std::string& directory, bool create,
                   std::unique_ptr<Engine>* engine) {
  auto opened = std::make_unique<LevelDbEngine>();
  SLUICE_RETURN_IF_ERROR(opened->Open(settings, directory, create));
  *engine = std::move(opened);
  return {};
}

}  // namespace sluice::bench
