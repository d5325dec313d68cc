#include "input_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "table/block_builder.h"
#include "table/key_scan.h"

namespace sluice::rocks {

Status InputTable::Open(Env* env, const std::string& path, const RocksViewRange& range) {
  path_ = path;
  SLUICE_RETURN_IF_ERROR(RocksTable::Open(env, path, &table_));
  BlockBuilder index(1);
  std::string encoded;
  const Status status =
      ForEachBlockInRange(*table_, range, [&](const std::string& key, const BlockHandle& handle) {
        encoded.clear();
        handle.AppendTo(&encoded);
        index.Add(key, encoded);
        blocks_.push_back(handle);
        stored_bytes_ += handle.size + kBlockTrailerBytes;
        last_ = key;
        return Status();
      });
  SLUICE_RETURN_IF_ERROR(status.WithContext(path));
  index_ = index.Finish();
  if (blocks_.empty()) {
    return {};
  }
  SLUICE_RETURN_IF_ERROR(FindFirst().WithContext(path));
  return EstimateRawBytes().WithContext(path);
}

Status InputTable::FindFirst() {
  Block block;
  std::string_view contents;
  std::string_view first;
  SLUICE_RETURN_IF_ERROR(ReadBlock(blocks_.front(), &contents));
  SLUICE_RETURN_IF_ERROR(Block::Parse(contents, &block));
  SLUICE_RETURN_IF_ERROR(KeyScanner::FirstKey(block, &first));
  first_ = first;
  return {};
}

Status InputTable::CheckTypes() {
  KeyScanner keys;
  for (const BlockHandle& handle : blocks_) {
    Block block;
    std::string_view contents;
    uint8_t last_type = 0;
    const auto look = [&](std::string_view key, bool) {
      last_type = std::max(last_type, TrailerType(Trailer(key)));
    };
    if (!ReadBlock(handle, &contents).ok() || !Block::Parse(contents, &block).ok() ||
        !keys.Scan(block, look).ok()) {
      return {};  // the executor says what is wrong
    }
    if (last_type > static_cast<uint8_t>(RecordType::kValue)) {
      return CheckOtherRocksType(last_type).WithContext(
          fmt::format("{}, offset {}", path_, handle.offset));
    }
  }
  return {};
}

// From some of the blocks.
Status InputTable::EstimateRawBytes() {
  constexpr size_t kSamples = 16;
  const size_t step = std::max<size_t>(1, blocks_.size() / kSamples);
  uint64_t stored = 0;
  uint64_t raw = 0;
  for (size_t i = 0; i < blocks_.size(); i += step) {
    std::string_view contents;
    SLUICE_RETURN_IF_ERROR(ReadBlock(blocks_[i], &contents));
    stored += blocks_[i].size;
    raw += contents.size();
  }
  raw_bytes_ = stored == 0
                   ? 0
                   : static_cast<uint64_t>(static_cast<double>(stored_bytes_) *
                                           static_cast<double>(raw) / static_cast<double>(stored));
  return {};
}

}  // namespace sluice::rocks
