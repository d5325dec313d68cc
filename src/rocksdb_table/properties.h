// A RocksDB table's properties: names and values in a block of their own. Numbers are varints.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "table/block.h"
#include "util/status.h"

namespace sluice {

// The metaindex's names of blocks.
inline constexpr std::string_view kRocksPropertiesBlock = "rocksdb.properties";
inline constexpr std::string_view kRocksIndexBlock = "rocksdb.index";  // from version 6 on
inline constexpr std::string_view kRocksDictionaryBlock = "rocksdb.compression_dict";
inline constexpr std::string_view kRocksRangeDeletionBlock = "rocksdb.range_del";
inline constexpr std::string_view kRocksFullFilterPrefix = "fullfilter.";

// The only comparator that is understood.
inline constexpr std::string_view kRocksBytewiseComparator = "leveldb.BytewiseComparator";

class RocksProperties {
 public:
  // Corruption if an entry is malformed or not in order.
  static Status Parse(const Block& block, RocksProperties* properties);

  bool Has(std::string_view name) const { return values_.find(name) != values_.end(); }
  // Empty if there is none.
  std::string_view Text(std::string_view name) const;
  // 0 if there is none, or if it is no number.
  uint64_t Number(std::string_view name) const;

  void SetText(std::string_view name, std::string_view value);
  void SetNumber(std::string_view name, uint64_t value);

  // The contents of the block.
  std::string Encode() const;
  const std::map<std::string, std::string, std::less<>>& values() const { return values_; }

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

// How the index is searched, which is a fixed32 as a property.
inline constexpr std::string_view kRocksIndexType = "rocksdb.block.based.table.index.type";
enum class RocksIndexType : uint32_t {
  kBinarySearch = 0,
  kHashSearch = 1,
  kTwoLevel = 2,
  kBinarySearchWithFirstKey = 3
};

inline constexpr std::string_view kRocksComparator = "rocksdb.comparator";
inline constexpr std::string_view kRocksEntries = "rocksdb.num.entries";
inline constexpr std::string_view kRocksDeletions = "rocksdb.deleted.keys";
inline constexpr std::string_view kRocksMergeOperands = "rocksdb.merge.operands";
inline constexpr std::string_view kRocksRangeDeletions = "rocksdb.num.range-deletions";
inline constexpr std::string_view kRocksDataBlocks = "rocksdb.num.data.blocks";
inline constexpr std::string_view kRocksDataSize = "rocksdb.data.size";
inline constexpr std::string_view kRocksIndexSize = "rocksdb.index.size";
inline constexpr std::string_view kRocksFilterSize = "rocksdb.filter.size";
inline constexpr std::string_view kRocksFilterEntries = "rocksdb.num.filter_entries";
inline constexpr std::string_view kRocksFilterPolicy = "rocksdb.filter.policy";
inline constexpr std::string_view kRocksRawKeySize = "rocksdb.raw.key.size";
inline constexpr std::string_view kRocksRawValueSize = "rocksdb.raw.value.size";
inline constexpr std::string_view kRocksUserIndexKeys = "rocksdb.index.key.is.user.key";
inline constexpr std::string_view kRocksDeltaIndexValues = "rocksdb.index.value.is.delta.encoded";
inline constexpr std::string_view kRocksExternalVersion = "rocksdb.external_sst_file.version";
// A fixed64, which RocksDB writes over when it ingests the file.
inline constexpr std::string_view kRocksExternalSequence = "rocksdb.external_sst_file.global_seqno";

}  // namespace sluice
