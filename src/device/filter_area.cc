#include "device/filter_area.h"

#include <fmt/format.h>

#include "table/filter.h"
#include "table/stored_block.h"

namespace sluice {

uint64_t FilterRoom(const MergeTask& task, uint64_t data_bytes) {
  if (task.bloom_bits_per_key == 0) {
    return 0;
  }
  // An entry has a header of three bytes and a trailer of eight at least. Of all blocks of a table
  // but the last, each has block_bytes; and of all tables but the last, each has table_bytes.
  constexpr uint64_t kLeastEntryBytes = 11;
  const uint64_t keys = data_bytes / kLeastEntryBytes + 1;
  const uint64_t blocks = data_bytes / (uint64_t{task.block_bytes} + kBlockTrailerBytes) +
                          data_bytes / task.table_bytes + 2;
  // A filter of few keys has 8 bytes; any is rounded up to bytes, and has its probes and a trailer.
  constexpr uint64_t kBlockBytes = 8 + 1 + kBlockTrailerBytes;
  return keys * task.bloom_bits_per_key / 8 + blocks * kBlockBytes + 64;
}

Status FilterArea::Take(const std::vector<OutputChecker::BlockKeys>& blocks,
                        std::vector<std::string_view>* filters) {
  for (const OutputChecker::BlockKeys& block : blocks) {
    const BlockHandle handle{0, BloomFilterBytes(block.records, bits_per_key_)};
    if (!HandleFits(handle, left_.size())) {
      return Status::IoError("fewer filters than blocks");
    }
    std::string_view filter;
    Compression stored_as;
    SLUICE_RETURN_IF_ERROR(
        ReadStoredBlock(left_, handle, &buffer_, &filter, &stored_as).WithContext("a filter"));
    if (stored_as != Compression::kNone || !block.MayHave(filter, bits_per_key_)) {
      return Status::IoError("a filter that is not its block's");
    }
    filters->push_back(filter);
    left_.remove_prefix(handle.size + kBlockTrailerBytes);
  }
  return {};
}

Status FilterArea::Finish() const {
  return left_.size() < sizeof(uint64_t)
             ? Status()
             : Status::IoError(fmt::format("{} bytes behind the filters", left_.size()));
}

}  // namespace sluice
