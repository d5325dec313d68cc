// RocksDB's tables for tests and fuzzers, with what our own writer has no use for: partitioned
// indexes, indexes with first keys, hash indexes, any properties and blocks.

#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rocksdb_table/bloom.h"
#include "rocksdb_table/format.h"
#include "rocksdb_table/properties.h"
#include "rocksdb_table/stored_block.h"
#include "rocksdb_table/table_writer.h"
#include "table/block_builder.h"
#include "table/testing.h"

namespace sluice {

struct TestRocksOptions {
  uint32_t format_version = 5;
  RocksChecksum checksum = RocksChecksum::kXxh3;
  Codec codec = {};
  uint32_t block_bytes = 512;
  uint32_t restart_interval = 4;
  RocksIndexType index_type = RocksIndexType::kBinarySearch;
  bool delta_values = false;
  uint32_t index_restart_interval = 1;
  size_t partition_blocks = 3;  // data blocks of an index partition
  bool hash_index = false;
  bool filter = false;
  std::map<std::string, std::string> properties = {};  // more, or others
  std::map<std::string, std::string> blocks = {};      // more of them, by name
};

inline TestRocksOptions RandomRocksOptions(TestRandom* random) {
  TestRocksOptions options;
  options.format_version = static_cast<uint32_t>(Uniform(random, 2, 6));
  options.checksum = RocksChecksum{static_cast<uint8_t>(Uniform(random, 0, 4))};
  options.codec.type = RandomCompression(random);
  options.block_bytes = static_cast<uint32_t>(Uniform(random, 1, 600));
  options.restart_interval = static_cast<uint32_t>(Uniform(random, 1, 20));
  constexpr RocksIndexType kTypes[] = {RocksIndexType::kBinarySearch, RocksIndexType::kTwoLevel,
                                       RocksIndexType::kBinarySearchWithFirstKey};
  options.index_type = kTypes[Uniform(random, 0, 2)];
  options.delta_values = Uniform(random, 0, 1) != 0;
  options.index_restart_interval = static_cast<uint32_t>(Uniform(random, 1, 5));
  options.hash_index = Uniform(random, 0, 2) == 0;
  options.filter = Uniform(random, 0, 1) != 0;
  return options;
}

// Index blocks entry by entry, right or wrong.
class TestRocksIndexBlock {
 public:
  explicit TestRocksIndexBlock(const TestRocksOptions& options) : options_(&options) {}

  void Add(std::string_view key, const BlockHandle& handle, std::string_view first_key) {
    const bool restart = count_++ % options_->index_restart_interval == 0;
    if (restart) {
      restarts_.push_back(static_cast<uint32_t>(block_.size()));
    }
    const size_t shared = restart ? 0 : CommonPrefix(last_key_, key);
    std::string value;
    if (options_->delta_values && shared != 0) {
      const auto delta = static_cast<int64_t>(handle.size - last_.size);
      PutVarint(&value, static_cast<uint64_t>(delta) << 1 ^ static_cast<uint64_t>(delta >> 63));
    } else {
      handle.AppendTo(&value);
    }
    if (options_->index_type == RocksIndexType::kBinarySearchWithFirstKey) {
      PutLengthPrefixed(&value, first_key);
    }
    PutVarint(&block_, shared);
    PutVarint(&block_, key.size() - shared);
    if (!options_->delta_values) {
      PutVarint(&block_, value.size());
    }
    block_.append(key.substr(shared)).append(value);
    last_key_ = key;
    last_ = handle;
  }

  size_t count() const { return count_; }
  const std::string& last_key() const { return last_key_; }

  std::string Finish() {
    std::string block = block_;
    for (const uint32_t restart : restarts_) {
      PutFixed32(&block, restart);
    }
    if (restarts_.empty()) {
      PutFixed32(&block, 0);
    }
    PutFixed32(&block, std::max<uint32_t>(1, restarts_.size()));
    return block;
  }

 private:
  const TestRocksOptions* options_;
  std::string block_;
  std::vector<uint32_t> restarts_;
  size_t count_ = 0;
  std::string last_key_;
  BlockHandle last_;
};

// Builds one table. The index has internal keys if a user key stands in two blocks, else user keys.
class TestRocksTable {
 public:
  explicit TestRocksTable(const TestRocksOptions& options) : options_(options) {
    footer_.format_version = options.format_version;
    footer_.checksum = options.checksum;
    footer_.checksum_base = options.format_version >= 6 ? 0x12345678 : 0;
  }

  std::string Build(const std::vector<TestEntry>& entries) {
    AddData(entries);
    if (options_.filter && !entries.empty()) {
      RocksBloomBuilder bloom(10000);
      for (const TestEntry& entry : entries) {
        bloom.Add(UserKey(entry.key));
      }
      AddNamed(std::string(kRocksFullFilterPrefix) + std::string(kRocksBloomName), bloom.Finish());
    }
    AddIndex();
    for (const auto& [name, contents] : options_.blocks) {
      AddNamed(name, contents);
    }
    AddProperties(entries);
    BlockBuilder metaindex(1);
    for (const auto& [name, handle] : named_) {
      std::string encoded;
      handle.AppendTo(&encoded);
      metaindex.Add(name, encoded);
    }
    footer_.metaindex = Add(metaindex.Finish(), {});
    footer_.AppendTo(image_.size(), &image_);
    return image_;
  }

 private:
  struct DataBlock {
    std::string first;
    std::string last;
    BlockHandle handle;
  };

  BlockHandle Add(std::string_view contents, const Codec& codec) {
    return AppendRocksBlock(contents, footer_, codec, &scratch_, 0, &image_);
  }
  void AddNamed(const std::string& name, std::string_view contents) {
    named_[name] = Add(contents, {});
  }

  void AddData(const std::vector<TestEntry>& entries) {
    BlockBuilder block(options_.restart_interval);
    std::string first;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (block.empty()) {
        first = entries[i].key;
      }
      block.Add(entries[i].key, entries[i].value);
      if (block.bytes() < options_.block_bytes && i + 1 < entries.size()) {
        continue;
      }
      std::string contents(block.Finish());
      if (options_.hash_index && contents.size() < 60000) {
        const uint32_t restarts = DecodeFixed32(contents.data() + contents.size() - 4);
        contents.resize(contents.size() - 4);
        contents.append(7, '\xff').append("\x07\x00", 2);
        PutFixed32(&contents, restarts | 1u << 31);
      }
      if (!blocks_.empty() && UserKey(blocks_.back().last) == UserKey(first)) {
        user_keys_ = false;
      }
      blocks_.push_back({first, entries[i].key, Add(contents, options_.codec)});
      block.Reset();
    }
  }

  void AddIndex() {
    TestRocksIndexBlock top(options_);
    TestRocksIndexBlock partition(options_);
    const bool two_levels = options_.index_type == RocksIndexType::kTwoLevel;
    for (const DataBlock& block : blocks_) {
      const std::string_view key = user_keys_ ? UserKey(block.last) : std::string_view(block.last);
      TestRocksIndexBlock& to = two_levels ? partition : top;
      to.Add(key, block.handle, block.first);
      if (two_levels &&
          (partition.count() == options_.partition_blocks || &block == &blocks_.back())) {
        top.Add(key, Add(partition.Finish(), options_.codec), "");
        partition = TestRocksIndexBlock(options_);
      }
    }
    footer_.index = Add(top.Finish(), options_.codec);
    if (options_.format_version >= 6) {
      named_[std::string(kRocksIndexBlock)] = footer_.index;
    }
  }

  void AddProperties(const std::vector<TestEntry>& entries) {
    RocksProperties properties;
    uint64_t deletions = 0;
    uint64_t key_bytes = 0;
    uint64_t value_bytes = 0;
    for (const TestEntry& entry : entries) {
      deletions += TrailerType(Trailer(entry.key)) == 0;
      key_bytes += entry.key.size();
      value_bytes += entry.value.size();
    }
    properties.SetText(kRocksComparator, kRocksBytewiseComparator);
    properties.SetNumber(kRocksEntries, entries.size());
    properties.SetNumber(kRocksDeletions, deletions);
    properties.SetNumber(kRocksRawKeySize, key_bytes);
    properties.SetNumber(kRocksRawValueSize, value_bytes);
    properties.SetNumber(kRocksDataBlocks, blocks_.size());
    properties.SetNumber(kRocksUserIndexKeys, user_keys_ ? 1 : 0);
    properties.SetNumber(kRocksDeltaIndexValues, options_.delta_values ? 1 : 0);
    properties.SetText("rocksdb.block.based.table.whole.key.filtering", "1");
    std::string type;
    PutFixed32(&type, static_cast<uint32_t>(options_.index_type));
    properties.SetText(kRocksIndexType, type);
    for (const auto& [name, value] : options_.properties) {
      properties.SetText(name, value);
    }
    AddNamed(std::string(kRocksPropertiesBlock), properties.Encode());
  }

  const TestRocksOptions options_;
  RocksFooter footer_;
  std::string image_;
  std::string scratch_;
  bool user_keys_ = true;
  std::vector<DataBlock> blocks_;
  std::map<std::string, BlockHandle> named_;
};

// The whole file that RocksTableWriter makes of `parts`.
inline Status FinishRocksTable(const RocksTableParts& parts, const RocksTableOptions& options,
                               std::string* file, RocksTableSummary* summary = nullptr) {
  file->clear();
  RocksTableWriter writer(options, [file](std::string_view bytes) {
    file->append(bytes);
    return Status();
  });
  RocksTableSummary unused;
  SLUICE_RETURN_IF_ERROR(writer.AddBlocks(parts));
  return writer.Finish(summary == nullptr ? &unused : summary);
}

inline std::string WriteRocksTable(const std::vector<TestEntry>& entries,
                                   const TestRocksOptions& options) {
  return TestRocksTable(options).Build(entries);
}

}  // namespace sluice
