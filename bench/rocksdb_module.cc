// Built with RocksDB's headers and flags; of Sluice it knows rocksdb_module.h and its service, which is
// built the same way.

#include "bench/rocksdb_module.h"

#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/table_properties_collectors.h>
#include <rocksdb/version.h>
#include <rocksdb/write_batch.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sluice_rocksdb.h"

namespace {

// Costs a call per table, unlike rocksdb::Statistics, which costs some with every Get.
class Counter : public rocksdb::EventListener {
 public:
  void OnTableFileCreated(const rocksdb::TableFileCreationInfo& info) override {
    table_bytes_written += info.file_size;
  }
  void OnBlobFileCreated(const rocksdb::BlobFileCreationInfo& info) override {
    table_bytes_written += info.total_blob_bytes;
  }
  void OnCompactionCompleted(rocksdb::DB*, const rocksdb::CompactionJobInfo& info) override {
    // A trivial move reads nothing.
    if (info.stats.num_output_files > 0 || info.stats.num_input_records > 0) {
      background_bytes_read += info.stats.total_input_bytes;
    }
  }

  std::atomic<uint64_t> table_bytes_written{0};
  std::atomic<uint64_t> background_bytes_read{0};
};

struct Database {
  std::shared_ptr<Counter> counter = std::make_shared<Counter>();
  bool log = true;
  std::shared_ptr<sluice::SluiceCompactionService> service;  // or null
  std::unique_ptr<rocksdb::DB> db;
};

struct Session {
  rocksdb::DB* db;
  rocksdb::ReadOptions read;
  rocksdb::WriteOptions write;
  rocksdb::WriteBatch batch;
  rocksdb::PinnableSlice value;
  std::vector<rocksdb::Slice> keys;
  std::vector<rocksdb::PinnableSlice> values;
  std::vector<rocksdb::Status> statuses;
};

struct Iterator {
  std::string lower;
  std::string upper;
  rocksdb::Slice lower_slice;
  rocksdb::Slice upper_slice;
  std::unique_ptr<rocksdb::Iterator> at;
};

Database& Db(void* db) { return *static_cast<Database*>(db); }
Session& In(void* session) { return *static_cast<Session*>(session); }
rocksdb::Iterator& At(void* iterator) { return *static_cast<Iterator*>(iterator)->at; }
rocksdb::Slice ToSlice(RocksDbBytes bytes) { return {bytes.data, bytes.size}; }

const char* Outcome(const rocksdb::Status& status) {
  if (status.ok()) {
    return nullptr;
  }
  thread_local std::string message;
  message = status.ToString();
  return message.c_str();
}

// The defaults, but for what all engines are given alike.
rocksdb::Options MakeOptions(const RocksDbSettings& settings) {
  rocksdb::BlockBasedTableOptions table;
  // What RocksDB recommends; it sizes itself.
  table.block_cache =
      rocksdb::HyperClockCacheOptions(settings.cache_bytes, /*_estimated_entry_charge=*/0)
          .MakeSharedCache();
  if (settings.bloom_bits > 0) {
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(settings.bloom_bits));
  }
  if (settings.block_bytes > 0) {
    table.block_size = settings.block_bytes;
  }
  rocksdb::Options options;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.create_if_missing = settings.create;
  if (settings.prefix_bytes > 0) {
    options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(settings.prefix_bytes));
    options.memtable_prefix_bloom_size_ratio = 0.1;
  }
  options.write_buffer_size = settings.write_buffer_bytes;
  options.max_write_buffer_number = 3;
  options.max_background_jobs = 2;
  if (settings.table_bytes > 0) {
    options.target_file_size_base = settings.table_bytes;
  }
  if (settings.compactions_alone) {
    options.disable_auto_compactions = true;
    options.level0_slowdown_writes_trigger = 1000;
    options.level0_stop_writes_trigger = 1000;
    options.max_subcompactions = 1;
    options.avoid_flush_during_shutdown = true;
  }
  options.compression = static_cast<rocksdb::CompressionType>(settings.compression);
  if (settings.dictionary_bytes > 0) {
    options.bottommost_compression = options.compression;
    options.bottommost_compression_opts.enabled = true;
    options.bottommost_compression_opts.max_dict_bytes = settings.dictionary_bytes;
    options.bottommost_compression_opts.zstd_max_train_bytes = 64 * settings.dictionary_bytes;
  }
  options.enable_blob_files = settings.blob_bytes > 0;
  options.min_blob_size = settings.blob_bytes;
  options.enable_blob_garbage_collection = settings.blob_bytes > 0;
  options.use_direct_reads = settings.direct_io;
  options.use_direct_io_for_flush_and_compaction = settings.direct_io;
  options.enable_pipelined_write = settings.pipelined_write;
  options.unordered_write = settings.unordered_write;
  if (settings.many_tombstones) {
    // A table in which half of some 128 entries in a row are deletions is compacted, and a memtable
    // is flushed once an iterator passes over so many.
    options.table_properties_collector_factories.push_back(
        rocksdb::NewCompactOnDeletionCollectorFactory(128, 64));
    options.memtable_op_scan_flush_trigger = 1000;
  }
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  return options;
}

const char* Open(const RocksDbSettings* settings, const char* directory, void** db) {
  auto opened = std::make_unique<Database>();
  rocksdb::Options options = MakeOptions(*settings);
  options.listeners.push_back(opened->counter);
  opened->log = !settings->compactions_alone;
  if (settings->compaction_service) {
    opened->service = sluice::NewSluiceCompactionService({});
    opened->service->AddTo(&options);
  }
  rocksdb::DB* raw = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(options, directory, &raw);
  opened->db.reset(raw);
  *db = status.ok() ? opened.release() : nullptr;
  return Outcome(status);
}

const char* Wait(void* db) { return Outcome(Db(db).db->WaitForCompact({})); }

RocksDbCounts Counts(void* db) {
  std::map<std::string, std::string> properties;
  Db(db).db->GetMapProperty(rocksdb::DB::Properties::kDBStats, &properties);
  const auto number = [&](const char* name) {
    return std::strtoull(properties[name].c_str(), nullptr, 10);
  };
  const sluice::SluiceCompactionStatistics service = Db(db).service == nullptr
                                                         ? sluice::SluiceCompactionStatistics()
                                                         : Db(db).service->statistics();
  return {number("db.wal_bytes_written"),
          Db(db).counter->table_bytes_written + service.output_bytes,
          Db(db).counter->background_bytes_read,
          number("db.user_write_stall_micros"),
          service.jobs,
          service.jobs_left};
}

void* NewSession(void* db, bool sync) {
  auto session = std::make_unique<Session>();
  session->db = Db(db).db.get();
  session->write.sync = sync;
  session->write.disableWAL = !Db(db).log;
  return session.release();
}

const char* Put(void* session, const RocksDbRecord* records, size_t count) {
  Session& in = In(session);
  if (count == 1) {
    return Outcome(in.db->Put(in.write, ToSlice(records->key), ToSlice(records->value)));
  }
  in.batch.Clear();
  for (size_t i = 0; i < count; ++i) {
    const rocksdb::Status status = in.batch.Put(ToSlice(records[i].key), ToSlice(records[i].value));
    if (!status.ok()) {
      return Outcome(status);
    }
  }
  return Outcome(in.db->Write(in.write, &in.batch));
}

const char* Get(void* session, RocksDbBytes key, RocksDbBytes* value) {
  Session& in = In(session);
  in.value.Reset();
  const rocksdb::Status status =
      in.db->Get(in.read, in.db->DefaultColumnFamily(), ToSlice(key), &in.value);
  if (status.IsNotFound()) {
    *value = {nullptr, 0};
    return nullptr;
  }
  *value = {in.value.data(), in.value.size()};
  return Outcome(status);
}

const char* MultiGet(void* session, const RocksDbBytes* keys, size_t count, RocksDbBytes* values) {
  Session& in = In(session);
  in.keys.clear();
  for (size_t i = 0; i < count; ++i) {
    in.keys.push_back(ToSlice(keys[i]));
  }
  in.values.clear();  // a value must be empty
  in.values.resize(count);
  in.statuses.assign(count, {});
  in.db->MultiGet(in.read, in.db->DefaultColumnFamily(), count, in.keys.data(), in.values.data(),
                  in.statuses.data());
  for (size_t i = 0; i < count; ++i) {
    if (!in.statuses[i].ok() && !in.statuses[i].IsNotFound()) {
      return Outcome(in.statuses[i]);
    }
    values[i] = {nullptr, 0};
    if (in.statuses[i].ok()) {
      values[i] = {in.values[i].data(), in.values[i].size()};
    }
  }
  return nullptr;
}

void* NewIterator(void* session, RocksDbBytes lower, RocksDbBytes upper) {
  auto made = std::make_unique<Iterator>();
  rocksdb::ReadOptions options = In(session).read;
  if (lower.size > 0) {
    made->lower_slice = made->lower.assign(lower.data, lower.size);
    options.iterate_lower_bound = &made->lower_slice;
  }
  if (upper.size > 0) {
    made->upper_slice = made->upper.assign(upper.data, upper.size);
    options.iterate_upper_bound = &made->upper_slice;
    options.prefix_same_as_start = true;
  } else {
    options.total_order_seek = true;
  }
  made->at.reset(In(session).db->NewIterator(options));
  return made.release();
}

const RocksDbCalls kCalls = {
    /*Version=*/[] {
      static const std::string version = std::to_string(ROCKSDB_MAJOR) + "." +
                                         std::to_string(ROCKSDB_MINOR) + "." +
                                         std::to_string(ROCKSDB_PATCH);
      return version.c_str();
    },
    Open,
    /*Close=*/[](void* db) { delete &Db(db); },
    /*Flush=*/[](void* db) { return Outcome(Db(db).db->Flush({})); },
    /*Compact=*/[](void* db) { return Outcome(Db(db).db->CompactRange({}, nullptr, nullptr)); },
    Wait,
    Counts,
    NewSession,
    /*DeleteSession=*/[](void* session) { delete &In(session); },
    Put,
    /*Delete=*/
    [](void* session, RocksDbBytes key) {
      return Outcome(In(session).db->Delete(In(session).write, ToSlice(key)));
    },
    Get,
    MultiGet,
    NewIterator,
    /*DeleteIterator=*/[](void* iterator) { delete static_cast<Iterator*>(iterator); },
    /*SeekToFirst=*/[](void* it) { return At(it).SeekToFirst(), At(it).Valid(); },
    /*SeekToLast=*/[](void* it) { return At(it).SeekToLast(), At(it).Valid(); },
    /*Seek=*/
    [](void* it, RocksDbBytes key) { return At(it).Seek(ToSlice(key)), At(it).Valid(); },
    /*Next=*/[](void* it) { return At(it).Next(), At(it).Valid(); },
    /*Prev=*/[](void* it) { return At(it).Prev(), At(it).Valid(); },
    /*Key=*/
    [](void* it) {
      const rocksdb::Slice key = At(it).key();
      return RocksDbBytes{key.data(), key.size()};
    },
    /*RecordBytes=*/[](void* it) { return At(it).key().size() + At(it).value().size(); },
    /*IteratorError=*/[](void* it) { return Outcome(At(it).status()); },
};

}  // namespace

const RocksDbCalls* SluiceRocksDbCalls() { return &kCalls; }
