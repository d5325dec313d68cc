#include "table_options.h"

#include <string>

// server.h comes first.
#include "create_options.h"
#include "partition_info.h"
#include "sql_partition.h"

namespace sluice::mariadb {

namespace {

// By their numbers in storage_options, of which 0 is none.
constexpr Compression kCompressions[] = {
    {}, Compression::kNone, Compression::kSnappy, Compression::kLz4, Compression::kZstd};
constexpr uint kUnit = 2;
// A digit for each level: the level whose directory it has. Behind the default all of them in order.
constexpr char kLevelTiers[] =
    "default,000,001,002,010,011,012,020,021,022,100,101,102,110,111,112,120,121,122,"
    "200,201,202,210,211,212,220,221,222";
constexpr ulonglong kLeastBlockSize = 512;
constexpr ulonglong kMostBlockSize = 1 << 20;

void Take(const StorageOptions* from, SubtableOptions* options) {
  if (from == nullptr) {
    return;
  }
  if (from->compression != 0) {
    options->compression = kCompressions[from->compression];
  }
  if (from->block_size != 0) {
    options->block_bytes = static_cast<uint32_t>(from->block_size);
  }
  if (from->executor != 0) {
    options->offload = from->executor == kUnit;
  }
  if (from->level_tiers != 0) {
    const uint32_t number = from->level_tiers - 1;  // of base 3
    options->level_tiers = {number / 9, number / 3 % 3, number % 3};
  }
}

// The partition that the engine knows as the table `name`, or that it is a part of; null if it is none.
partition_element* FindPartition(const TABLE& table, std::string_view name) {
  const size_t begin = name.find("#P#");
  if (table.part_info == nullptr || begin == std::string_view::npos) {
    return nullptr;
  }
  const std::string path(name.substr(0, begin));
  char found[FN_REFLEN + 1];
  List_iterator<partition_element> partitions(table.part_info->partitions);
  while (partition_element* const partition = partitions++) {
    if (create_partition_name(found, sizeof(found), path.c_str(), partition->partition_name,
                              NORMAL_PART_NAME, true) != 0 ||
        !name.starts_with(found)) {
      continue;
    }
    // "#SP#" and a part's name may follow, and "#TMP#" while partitions are reorganized.
    const std::string_view rest = name.substr(std::string_view(found).size());
    if (rest.empty() || rest.front() == '#') {
      return partition;
    }
  }
  return nullptr;
}

// What is said of the partition alone. True if the client was told what is wrong with it.
bool Parse(THD* thd, partition_element* partition, bool tell, const StorageOptions** said) {
  return parse_option_list(thd, static_cast<void*>(said), &partition->option_list, storage_options,
                           !tell, thd->mem_root);
}

}  // namespace

ha_create_table_option storage_options[] = {
    HA_xOPTION_ENUM("COMPRESSION", StorageOptions, compression, "default,none,snappy,lz4,zstd", 0),
    HA_xOPTION_NUMBER("BLOCK_SIZE", StorageOptions, block_size, 0, kLeastBlockSize, kMostBlockSize,
                      1),
    HA_xOPTION_ENUM("EXECUTOR", StorageOptions, executor, "default,cpu,unit", 0),
    HA_xOPTION_ENUM("LEVEL_TIERS", StorageOptions, level_tiers, kLevelTiers, 0), HA_xOPTION_END};

bool CheckPartitionOptions(THD* thd, const TABLE& table, std::string_view name) {
  partition_element* const partition = FindPartition(table, name);
  const StorageOptions* said = nullptr;
  return partition == nullptr || !Parse(thd, partition, true, &said);
}

SubtableOptions OptionsOf(THD* thd, const TABLE& table, std::string_view name, uint index) {
  SubtableOptions options;
  Take(table.s->option_struct, &options);
  if (partition_element* const partition = FindPartition(table, name); partition != nullptr) {
    const StorageOptions* said = nullptr;
    Parse(thd, partition, false, &said);
    Take(said, &options);
  }
  if (index != MAX_KEY) {
    Take(table.key_info[index].option_struct, &options);
  }
  return options;
}

}  // namespace sluice::mariadb
