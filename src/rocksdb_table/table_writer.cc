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

// Rewrites the trailers of a block's entries in place.
Status ZeroSequences(const Block& block, SequenceNumber zero_up_to, char* entries) {
  char* p = entries;
  const char* const limit = p + block.entries().size();
  while (p < limit) {
    EntryHeader header;
    const char* const key = DecodeEntryHeader(p, limit, &header);
    if (key == nullptr || header.unshared < kTrailerBytes ||
        uint64_t{header.unshared} + header.value_bytes > static_cast<uint64_t>(limit - key)) {
      return Status::Corruption(
          fmt::format("entry at byte {} of the block has no trailer of its own", p - entries));
    }
    p += key - p + header.unshared;
    EncodeFixed64(p - kTrailerBytes, ZeroTrailer(DecodeFixed64(p - kTrailerBytes), zero_up_to));
    p += header.value_bytes;
  }
  return {};
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

Status RocksTableWriter::AddEntriesSlowly(const Block& block) {
  BlockIterator entry(block);
  for (entry.SeekToFirst(); entry.Valid(); entry.Next()) {
    totals_.Add(entry.key().size(), entry.value().size(), Trailer(entry.key()));
  }
  return entry.status();
}

Status RocksTableWriter::AddEntries(const Block& block) {
  const Totals before = totals_;
  const char* p = block.entries().data();
  const char* const limit = p + block.entries().size();
  while (p < limit) {
    EntryHeader header;
    p = DecodeEntryHeader(p, limit, &header);
    // Executors never share bytes of a trailer, so that it can be read without the key.
    if (p == nullptr || header.unshared < kTrailerBytes ||
        uint64_t{header.unshared} + header.value_bytes > static_cast<uint64_t>(limit - p)) {
      totals_ = before;
      return AddEntriesSlowly(block);
    }
    p += header.unshared;
    totals_.Add(uint64_t{header.shared} + header.unshared, header.value_bytes,
                DecodeFixed64(p - kTrailerBytes));
    p += header.value_bytes;
  }
  return {};
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
  Block block;
  SLUICE_RETURN_IF_ERROR(Block::Parse(contents, &block));
  std::string last;
  if (options_.zero_up_to != 0) {
    zeroed_.assign(contents);
    SLUICE_RETURN_IF_ERROR(ZeroSequences(block, options_.zero_up_to, zeroed_.data()));
    contents = zeroed_;
    SLUICE_RETURN_IF_ERROR(Block::Parse(contents, &block));
    last = ZeroSequence(last_key, options_.zero_up_to);
    last_key = last;
  }
  std::string_view first_key;
  SLUICE_RETURN_IF_ERROR(KeyScanner::FirstKey(block, &first_key));
  SLUICE_RETURN_IF_ERROR(AddEntries(block));
  if (bloom_) {
    SLUICE_RETURN_IF_ERROR(keys_.Scan(block, [&](std::string_view key, bool same) {
      if (!same) {
        bloom_->Add(UserKey(key));
      }
    }));
  }
  index_.Add(first_key, last_key, AddStored(contents, options_.codec));
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
  std::string key(UserKey(internal_key));
  PutFixed64(&key, ZeroTrailer(Trailer(internal_key), zero_up_to));
  return key;
}

}  // namespace sluice
