#include "policy.h"

#include <fmt/format.h>
#include <rocksdb/comparator.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/flush_block_policy.h>

#include <algorithm>
#include <cmath>

namespace ROCKSDB_NAMESPACE {

// The one thing that RocksDB's public headers lack: a handle of a column family by its number, with
// which the options of any family can be asked for while the database is open. Of 7.8 and 10 alike;
// the library exports it.
class DBImpl : public DB {
 public:
  std::unique_ptr<ColumnFamilyHandle> GetColumnFamilyHandleUnlocked(uint32_t id);
};

}  // namespace ROCKSDB_NAMESPACE

namespace sluice::rocks {

namespace {

using TableOptions = rocksdb::BlockBasedTableOptions;

// The thousandths of a bit per key of a filter policy that is the Bloom filter we write; 0: another.
uint32_t BloomMillibits(const rocksdb::FilterPolicy& policy) {
  const std::string id = policy.GetId();
  constexpr std::string_view kPrefix = "bloomfilter:";
  if (!std::string_view(id).starts_with(kPrefix)) {
    return 0;
  }
  const double bits = std::atof(id.c_str() + kPrefix.size());
  // RocksDB rounds to thousandths, and takes less than one bit for none.
  return bits >= 1 && bits <= 100 ? static_cast<uint32_t>(std::lround(bits * 1000)) : 0;
}

std::string CheckTableOptions(const TableOptions& table) {
  if (table.format_version < kLeastRocksFormatVersion ||
      table.format_version > kMostRocksFormatVersion) {
    return fmt::format("format_version {}", table.format_version);
  }
  if (table.index_type != TableOptions::kBinarySearch) {
    return "index_type";
  }
  if (table.data_block_index_type != TableOptions::kDataBlockBinarySearch) {
    return "data_block_index_type";
  }
#if ROCKSDB_MAJOR >= 10
  if (!table.use_delta_encoding) {
    return "use_delta_encoding";
  }
#endif
  if (table.block_align) {
    return "block_align";
  }
  if (static_cast<uint8_t>(table.checksum) > static_cast<uint8_t>(RocksChecksum::kXxh3)) {
    return "checksum";
  }
  if (table.filter_policy != nullptr &&
      (table.partition_filters || !table.whole_key_filtering || table.format_version < 5 ||
       BloomMillibits(*table.filter_policy) == 0)) {
    return "filter_policy";
  }
  if (table.flush_block_policy_factory != nullptr &&
      std::string_view(table.flush_block_policy_factory->Name()) !=
          "FlushBlockBySizePolicyFactory") {
    return "flush_block_policy_factory";
  }
  return "";
}

// An open database has at least one path, its own if no other was given.
bool IsItsOwn(const std::vector<rocksdb::DbPath>& paths, const rocksdb::DB& db) {
  return paths.empty() || (paths.size() == 1 && paths[0].path == db.GetName());
}

std::string CheckFamily(const rocksdb::DB& db, const rocksdb::ColumnFamilyOptions& options) {
  if (options.comparator != rocksdb::BytewiseComparator()) {
    return "comparator";
  }
  if (options.merge_operator != nullptr) {
    return "merge_operator";
  }
  if (options.compaction_filter != nullptr || options.compaction_filter_factory != nullptr) {
    return "compaction_filter";
  }
  if (options.compaction_style != rocksdb::kCompactionStyleLevel) {
    return "compaction_style";
  }
  if (options.sst_partitioner_factory != nullptr) {
    return "sst_partitioner_factory";
  }
  if (options.prefix_extractor != nullptr) {
    return "prefix_extractor";
  }
  if (!options.table_properties_collector_factories.empty()) {
    return "table_properties_collector_factories";
  }
  if (!IsItsOwn(options.cf_paths, db)) {
    return "cf_paths";
  }
  if (options.enable_blob_files) {
    return "enable_blob_files";
  }
  if (options.paranoid_file_checks) {
    return "paranoid_file_checks";
  }
  if (options.preclude_last_level_data_seconds != 0) {
    return "preclude_last_level_data_seconds";
  }
  if (options.preserve_internal_time_seconds != 0) {
    return "preserve_internal_time_seconds";
  }
  if (options.last_level_temperature != rocksdb::Temperature::kUnknown) {
    return "last_level_temperature";
  }
#if ROCKSDB_MAJOR < 8
  if (options.bottommost_temperature != rocksdb::Temperature::kUnknown) {
    return "last_level_temperature";
  }
#endif
#if ROCKSDB_MAJOR >= 10
  if (options.default_write_temperature != rocksdb::Temperature::kUnknown) {
    return "default_write_temperature";
  }
  if (options.compression_manager != nullptr) {
    return "compression_manager";
  }
#endif
  if (options.compression_opts.max_dict_bytes != 0 ||
      options.bottommost_compression_opts.max_dict_bytes != 0) {
    return "max_dict_bytes";
  }
  if (options.bottommost_compression_opts.enabled) {
    return "bottommost_compression_opts";
  }
  if (!options.table_factory->IsInstanceOf(rocksdb::TableFactory::kBlockBasedTableName())) {
    return "table_factory";
  }
  const auto* const table = options.table_factory->GetOptions<TableOptions>();
  return table == nullptr ? "table_factory" : CheckTableOptions(*table);
}

RocksIndexShortening Shortening(TableOptions::IndexShorteningMode mode) {
  switch (mode) {
    case TableOptions::IndexShorteningMode::kNoShortening:
      return RocksIndexShortening::kNone;
    case TableOptions::IndexShorteningMode::kShortenSeparators:
      return RocksIndexShortening::kSeparators;
    case TableOptions::IndexShorteningMode::kShortenSeparatorsAndSuccessor:
      return RocksIndexShortening::kSeparatorsAndSuccessor;
  }
  return RocksIndexShortening::kSeparators;
}

// Sets how data blocks are compressed. False if there is no such compression here.
bool SetCompression(rocksdb::CompressionType type, const rocksdb::ColumnFamilyOptions& options,
                    Codec* codec) {
  switch (type) {
    case rocksdb::kNoCompression:
      codec->type = Compression::kNone;
      return true;
    case rocksdb::kSnappyCompression:
      codec->type = Compression::kSnappy;
      return true;
    case rocksdb::kLZ4Compression:
      codec->type = Compression::kLz4;
      return true;
    case rocksdb::kZSTD: {
      codec->type = Compression::kZstd;
      const int level = options.compression_opts.level;
      codec->zstd_level =
          level == rocksdb::CompressionOptions::kDefaultCompressionLevel ? 3 : level;
      return true;
    }
    default:
      return false;
  }
}

std::string CheckDatabase(const rocksdb::DB& db, const rocksdb::DBOptions& options,
                          const Opening& opening) {
  if (!opening.declined.empty()) {
    return opening.declined;
  }
  if (options.env != rocksdb::Env::Default()) {
    return "env";
  }
  if (!IsItsOwn(options.db_paths, db)) {
    return "db_paths";
  }
  if (options.allow_ingest_behind) {
    return "allow_ingest_behind";
  }
  // The other policies of transactions put records into tables that are not committed yet, and
  // RocksDB does not tell which. All transactions set this option.
  if (options.allow_2pc && !opening.write_committed_only) {
    return "allow_2pc";
  }
  if (options.two_write_queues || options.unordered_write) {
    return "two_write_queues or unordered_write";
  }
  if (options.file_checksum_gen_factory != nullptr) {
    return "file_checksum_gen_factory";
  }
  return "";
}

// About how large files of a level become, as RocksDB has it: levels above the first with data, where
// that is chosen by the data's size, have no multiple; nor do sizes of more than 64 bits.
uint64_t FileBytes(const rocksdb::ColumnFamilyOptions& options, int level, int base_level) {
  const bool from_base = options.level_compaction_dynamic_level_bytes && level >= base_level;
  const auto multiplier = static_cast<uint64_t>(std::max(0, options.target_file_size_multiplier));
  uint64_t bytes = options.target_file_size_base;
  for (int i = from_base ? base_level + 1 : 1; i < level; ++i) {
    if (multiplier <= 1 || bytes <= UINT64_MAX / multiplier) {
      bytes *= multiplier;
    }
  }
  return bytes;
}

}  // namespace

Opening MakeOpening(const rocksdb::DBOptions& options, bool write_committed_only) {
  Opening opening{.declined = "", .write_committed_only = write_committed_only};
  // An open database always has one.
  if (options.sst_file_manager != nullptr) {
    opening.declined = "sst_file_manager";
  }
  return opening;
}

Policy MakePolicy(rocksdb::DB* db, const rocksdb::CompactionJobInfo& info, const Opening& opening) {
  Policy policy;
  // The end of a handle is told to the program's listeners: none is made where one is at hand.
  std::unique_ptr<rocksdb::ColumnFamilyHandle> made;
  rocksdb::ColumnFamilyHandle* family = db->DefaultColumnFamily();
  if (family->GetID() != info.cf_id) {
    made = static_cast<rocksdb::DBImpl*>(db)->GetColumnFamilyHandleUnlocked(info.cf_id);
    family = made.get();
  }
  if (family == nullptr) {
    policy.declined = "a column family that is gone";
    return policy;
  }
  const rocksdb::Options options = db->GetOptions(family);
  policy.declined = CheckDatabase(*db, options, opening);
  if (policy.declined.empty()) {
    policy.declined = CheckFamily(*db, options);
  }
  if (policy.declined.empty() && !SetCompression(info.compression, options, &policy.format.codec)) {
    policy.declined = "compression";
  }
  if (!policy.declined.empty()) {
    return policy;
  }
  const TableOptions& table = *options.table_factory->GetOptions<TableOptions>();
  policy.block_bytes = static_cast<uint32_t>(
      std::min<uint64_t>(std::max<uint64_t>(1, table.block_size), kMaxMergeBlockBytes));
  policy.restart_interval = static_cast<uint32_t>(std::max(1, table.block_restart_interval));
  uint64_t base_level = 1;
  (void)db->GetIntProperty(family, rocksdb::DB::Properties::kBaseLevel, &base_level);
  policy.file_bytes = FileBytes(options, info.output_level, static_cast<int>(base_level));
  policy.format.format_version = table.format_version;
  policy.format.checksum = RocksChecksum{static_cast<uint8_t>(table.checksum)};
  policy.format.compress_index = table.enable_index_compression;
  policy.format.index_restart_interval =
      static_cast<uint32_t>(std::max(1, table.index_block_restart_interval));
  policy.format.index_shortening = Shortening(table.index_shortening);
  const bool last_level = info.output_level == options.num_levels - 1;
  if (table.filter_policy != nullptr && !(options.optimize_filters_for_hits && last_level)) {
    policy.format.bloom_millibits_per_key = BloomMillibits(*table.filter_policy);
  }
  policy.rate_limiter = options.rate_limiter;
  return policy;
}

}  // namespace sluice::rocks
