#include "policy.h"

#include <fmt/format.h>
#include <rocksdb/comparator.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/flush_block_policy.h>

#include <charconv>
#include <cmath>

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
  if (table.index_shortening != TableOptions::IndexShorteningMode::kShortenSeparators) {
    return "index_shortening";
  }
  if (table.data_block_index_type != TableOptions::kDataBlockBinarySearch) {
    return "data_block_index_type";
  }
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

std::string CheckFamily(const rocksdb::ColumnFamilyOptions& options) {
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
  if (!options.cf_paths.empty()) {
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
#if ROCKSDB_MAJOR >= 8
  if (options.preserve_internal_time_seconds != 0) {
    return "preserve_internal_time_seconds";
  }
#endif
  if (options.compression_opts.max_dict_bytes != 0 ||
      options.bottommost_compression_opts.max_dict_bytes != 0) {
    return "max_dict_bytes";
  }
  if (!options.table_factory->IsInstanceOf(rocksdb::TableFactory::kBlockBasedTableName())) {
    return "table_factory";
  }
  return CheckTableOptions(*options.table_factory->GetOptions<TableOptions>());
}

}  // namespace

std::string CheckDatabase(const std::string& path, const rocksdb::DBOptions& options) {
  if (options.env != rocksdb::Env::Default()) {
    return "env";
  }
  if (!options.db_paths.empty() &&
      (options.db_paths.size() > 1 || options.db_paths[0].path != path)) {
    return "db_paths";
  }
  if (options.allow_ingest_behind) {
    return "allow_ingest_behind";
  }
  if (options.two_write_queues || options.unordered_write) {
    return "two_write_queues or unordered_write";
  }
  if (options.file_checksum_gen_factory != nullptr) {
    return "file_checksum_gen_factory";
  }
  if (options.sst_file_manager != nullptr) {
    return "sst_file_manager";
  }
  return "";
}

uint64_t FamilyPolicy::FileBytes(int level) const {
  uint64_t bytes = options.target_file_size_base;
  for (int i = 1; i < level; ++i) {
    bytes *= static_cast<uint64_t>(options.target_file_size_multiplier);
  }
  return bytes;
}

FamilyPolicy MakeFamilyPolicy(const rocksdb::ColumnFamilyOptions& options) {
  FamilyPolicy policy;
  policy.options = options;
  policy.declined = CheckFamily(options);
  if (!policy.declined.empty()) {
    return policy;
  }
  const TableOptions& table = *options.table_factory->GetOptions<TableOptions>();
  policy.block_bytes = static_cast<uint32_t>(
      std::min<uint64_t>(std::max<uint64_t>(1, table.block_size), kMaxMergeBlockBytes));
  policy.restart_interval = static_cast<uint32_t>(std::max(1, table.block_restart_interval));
  policy.filter_on_last_level = !options.optimize_filters_for_hits;
  policy.format.format_version = table.format_version;
  policy.format.checksum = RocksChecksum{static_cast<uint8_t>(table.checksum)};
  policy.format.compress_index = table.enable_index_compression;
  policy.format.index_restart_interval =
      static_cast<uint32_t>(std::max(1, table.index_block_restart_interval));
  if (table.filter_policy != nullptr) {
    policy.format.bloom_millibits_per_key = BloomMillibits(*table.filter_policy);
  }
  return policy;
}

std::string CheckFamilyFields(const Fields& fields) {
  constexpr std::pair<std::string_view, std::string_view> kExpected[] = {
      {"comparator", "leveldb.BytewiseComparator"},
      {"merge_operator", "nullptr"},
      {"compaction_filter", "nullptr"},
      {"compaction_filter_factory", "nullptr"},
      {"sst_partitioner_factory", "nullptr"},
      {"prefix_extractor", "nullptr"},
      {"compaction_style", "kCompactionStyleLevel"},
      {"enable_blob_files", "false"},
      {"paranoid_file_checks", "false"}};
  for (const auto& [name, value] : kExpected) {
    const auto found = fields.find(name);
    if (found != fields.end() && found->second != value) {
      return fmt::format("{}, now {}", name, found->second);
    }
  }
  return "";
}

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

}  // namespace sluice::rocks
