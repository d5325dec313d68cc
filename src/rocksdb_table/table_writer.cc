#include "rocksdb_table/table_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "rocksdb_table/bloom.h"
#include "rocksdb_table/stored_block.h"
#include "table/block_builder.h"
#include "table/index_walk.h"
#include "table/internal_key.h"
#include "table/key_scan.h"
#include "table/stored_block.h"

namespace sluice {

namespace {

// The trailer that takes the place of `trailer`.
uint64_t ZeroTrailer(uint64_t trailer, SequenceNumber zero_up_to) {
  const bool zero = TrailerSequence(trailer) <= zero_up_to &&
                    TrailerType(trailer) == static_cast<uint8_t>(RecordType::kValue);
  return zero ? MakeTrailer(0, RecordType::kValue) : trailer;
}

void ReplaceTrailer(std::string_view internal_key, SequenceNumber zero_up_to, std::string* out) {
  out->assign(UserKey(internal_key));
  PutFixed64(out, ZeroTrailer(Trailer(internal_key), zero_up_to));
}

std::string_view CompressionProperty(Compression compression) {
  switch (compression) {
    case Compression::kNone:
      return "NoCompression";
    case Compression::kSnappy:
      return "Snappy";
    case Compression::kZstd:
      return "ZSTD";
    case Compression::kLz4:
      return "LZ4";
  }
  return "";
}

// What is written at once.
constexpr size_t kWriteBytes = 256 << 10;

Status CheckOptions(const RocksTableOptions& options) {
  return options.format_version < kLeastRocksFormatVersion ||
                 options.format_version > kMostRocksFormatVersion ||
                 options.index_restart_interval == 0 ||
                 (options.format_version >= 6 && options.checksum_base == 0)
             ? Status::InvalidArgument("no such format of RocksDB's tables")
             : Status();
}

}  // namespace

RocksTableWriter::RocksTableWriter(RocksTableOptions options, Append append)
    : options_(std::move(options)),
      append_(std::move(append)),
      index_(options_.format_version, options_.index_restart_interval, options_.index_shortening) {
  footer_.checksum = options_.checksum;
  footer_.format_version = options_.format_version;
  footer_.checksum_base = options_.format_version >= 6 ? options_.checksum_base : 0;
  if (options_.bloom_millibits_per_key != 0) {
    bloom_.emplace(options_.bloom_millibits_per_key);
  }
  bytes_.reserve(kWriteBytes + (64 << 10));
}

void RocksTableWriter::Totals::Add(uint64_t key_size, uint64_t value_size, uint64_t trailer) {
  const SequenceNumber sequence = TrailerSequence(trailer);
  ++entries;
  deletions += TrailerType(trailer) == static_cast<uint8_t>(RecordType::kDeletion);
  key_bytes += key_size;
  value_bytes += value_size;
  smallest_sequence = std::min(smallest_sequence, sequence);
  largest_sequence = std::max(largest_sequence, sequence);
}

Status RocksTableWriter::AddEntries(const Block& block, char* entries) {
  const char* const begin = block.entries().data();
  const char* fault = nullptr;
  Totals totals = totals_;
  SLUICE_RETURN_IF_ERROR(keys_.Scan(
      block, [&](std::string_view key, bool same, std::string_view value, uint32_t unshared) {
        const uint64_t trailer = ZeroTrailer(Trailer(key), options_.zero_up_to);
        if (unshared >= kTrailerBytes) [[likely]] {
          EncodeFixed64(entries + (value.data() - begin) - kTrailerBytes, trailer);
        } else if (trailer != Trailer(key)) {
          fault = value.data();
        }
        totals.Add(key.size(), value.size(), trailer);
        if (bloom_ && !same) {
          bloom_->Add(UserKey(key));
        }
      }));
  totals_ = totals;
  return fault == nullptr ? Status()
                          : Status::Corruption(fmt::format(
                                "key in front of byte {} of the block has no trailer of its own",
                                fault - begin));
}

BlockHandle RocksTableWriter::AddStored(std::string_view contents, const Codec& codec) {
  return AppendRocksBlock(contents, footer_, codec, &scratch_, written_, &bytes_);
}

Status RocksTableWriter::Write() {
  written_ += bytes_.size();
  const Status status = append_(bytes_);
  bytes_.clear();
  return status;
}

Status RocksTableWriter::AddBlocks(const RocksTableParts& parts) {
  OpenIndex index;
  SLUICE_RETURN_IF_ERROR(OpenIndex::Apart(parts.index_block, &index));
  std::string buffer;
  uint64_t end = 0;
  return index.ForEachBlock([&](std::string_view key, const BlockHandle& handle) {
    std::string_view contents;
    SLUICE_RETURN_IF_ERROR(ReadStoredBlock(parts.data, handle, &buffer, &contents));
    SLUICE_RETURN_IF_ERROR(CheckFollows(handle, &end));
    return AddBlock(contents, key).WithContext(fmt::format("offset {}", handle.offset));
  });
}

Status RocksTableWriter::AddBlock(std::string_view contents, std::string_view last_key) {
  SLUICE_RETURN_IF_ERROR(CheckOptions(options_));
  // A copy, in which sequence numbers become 0: in the file, unless the block is to be compressed.
  const bool plain = options_.codec.type == Compression::kNone;
  std::string& copy = plain ? bytes_ : block_;
  const size_t begin = plain ? bytes_.size() : 0;
  copy.resize(begin);
  copy.append(contents);
  contents = std::string_view(copy).substr(begin);
  Block block;
  SLUICE_RETURN_IF_ERROR(Block::Parse(contents, &block));
  std::string_view first_key;
  SLUICE_RETURN_IF_ERROR(KeyScanner::FirstKey(block, &first_key));
  SLUICE_RETURN_IF_ERROR(AddEntries(block, copy.data() + begin));
  ReplaceTrailer(last_key, options_.zero_up_to, &last_key_);
  index_.Add(first_key, last_key_,
             plain ? EndRocksBlock(begin, footer_, written_, &bytes_)
                   : AddStored(contents, options_.codec));
  ++blocks_;
  return bytes_.size() < kWriteBytes ? Status() : Write();
}

BlockHandle RocksTableWriter::AddNamed(std::string_view name, std::string_view contents) {
  const BlockHandle handle = AddStored(contents, {});
  named_.emplace_back(name, handle);
  return handle;
}

Status RocksTableWriter::Finish(RocksTableSummary* summary) {
  SLUICE_RETURN_IF_ERROR(CheckOptions(options_));
  *summary = {.properties = options_.properties,
              .entries = totals_.entries,
              .smallest_sequence = totals_.smallest_sequence,
              .largest_sequence = totals_.largest_sequence};
  RocksProperties& properties = summary->properties;
  const uint64_t data_bytes = written_ + bytes_.size();
  uint64_t filter_bytes = 0;
  if (bloom_ && bloom_->keys() != 0) {
    filter_bytes =
        AddNamed(std::string(kRocksFullFilterPrefix).append(kRocksBloomName), bloom_->Finish())
            .size;
    properties.SetText(kRocksFilterPolicy, kRocksBloomPolicy);
  }
  const std::string index = index_.Finish();
  footer_.index = AddStored(index, options_.compress_index ? options_.codec : Codec());
  if (options_.format_version >= 6) {
    named_.emplace_back(kRocksIndexBlock, footer_.index);
  }
  for (const std::string_view none : {"rocksdb.merge.operator", "rocksdb.prefix.extractor.name"}) {
    properties.SetText(none, "nullptr");
  }
  properties.SetText("rocksdb.property.collectors", "[]");
  properties.SetText(kRocksComparator, kRocksBytewiseComparator);
  properties.SetText(kRocksIndexType, std::string(4, '\0'));  // RocksIndexType::kBinarySearch
  properties.SetText("rocksdb.block.based.table.whole.key.filtering", "1");
  properties.SetText("rocksdb.block.based.table.prefix.filtering", "0");
  properties.SetText("rocksdb.compression", CompressionProperty(options_.codec.type));
  properties.SetNumber(kRocksDataSize, data_bytes);
  properties.SetNumber(kRocksIndexSize, index.size() + kBlockTrailerBytes);  // before compression
  properties.SetNumber(kRocksFilterSize, filter_bytes);
  properties.SetNumber(kRocksFilterEntries, bloom_ ? bloom_->keys() : 0);
  properties.SetNumber(kRocksUserIndexKeys, index_.format().user_keys ? 1 : 0);
  properties.SetNumber(kRocksDeltaIndexValues, index_.format().delta_values ? 1 : 0);
  properties.SetNumber(kRocksEntries, totals_.entries);
  properties.SetNumber(kRocksRawKeySize, totals_.key_bytes);
  properties.SetNumber(kRocksRawValueSize, totals_.value_bytes);
  properties.SetNumber(kRocksDataBlocks, blocks_);
  properties.SetNumber(kRocksDeletions, totals_.deletions);
  properties.SetNumber(kRocksMergeOperands, 0);
  properties.SetNumber(kRocksRangeDeletions, 0);
  AddNamed(kRocksPropertiesBlock, properties.Encode());
  std::sort(named_.begin(), named_.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  BlockBuilder metaindex(1);
  for (const auto& [name, handle] : named_) {
    std::string encoded;
    handle.AppendTo(&encoded);
    metaindex.Add(name, encoded);
  }
  footer_.metaindex = AddStored(metaindex.Finish(), {});
  footer_.AppendTo(written_ + bytes_.size(), &bytes_);
  return Write();
}

std::string ZeroSequence(std::string_view internal_key, SequenceNumber zero_up_to) {
  std::string key;
  ReplaceTrailer(internal_key, zero_up_to, &key);
  return key;
}

}  // namespace sluice
