#include "offload/dispatch.h"

#include <algorithm>
#include <optional>

#include "table/block.h"
#include "table/format.h"

namespace sluice {

namespace {

// Records of a block.
struct Sample {
  uint64_t records = 0;
  uint64_t bytes = 0;  // of the block
  uint64_t user_key_bytes = 0;
  uint64_t value_bytes = 0;
};

// The contents of a raw block, whose CRC others check; nothing if it is compressed or nowhere.
std::optional<Block> RawBlock(std::string_view image, const BlockHandle& at) {
  Block block;
  if (!HandleFits(at, image.size()) ||
      Compression{static_cast<uint8_t>(image[at.offset + at.size])} != Compression::kNone ||
      !Block::Parse(image.substr(at.offset, at.size), &block).ok()) {
    return {};
  }
  return block;
}

// Adds those of the block in the middle of `table`, as far as it can be read.
void SampleTable(const MergeTable& table, Sample* sample) {
  const std::optional<Block> index = RawBlock(table.image, table.index);
  if (!index.has_value()) {
    return;
  }
  // In an index every entry is a restart.
  const char* const index_end = index->entries().data() + index->entries().size();
  const uint32_t offset = index->restart(index->restarts() / 2);
  EntryHeader header;
  const char* p = offset < index->entries().size()
                      ? DecodeEntryHeader(index->entries().data() + offset, index_end, &header)
                      : nullptr;
  if (p == nullptr ||
      uint64_t{header.unshared} + header.value_bytes > static_cast<size_t>(index_end - p)) {
    return;
  }
  std::string_view value(p + header.unshared, header.value_bytes);
  BlockHandle handle;
  std::optional<Block> block;
  if (!handle.ReadFrom(&value) || !(block = RawBlock(table.image, handle)).has_value()) {
    return;
  }
  sample->bytes += handle.size;
  p = block->entries().data();
  for (const char* const end = p + block->entries().size(); p < end;) {
    p = DecodeEntryHeader(p, end, &header);
    if (p == nullptr ||
        uint64_t{header.unshared} + header.value_bytes > static_cast<size_t>(end - p)) {
      return;
    }
    p += header.unshared + header.value_bytes;
    ++sample->records;
    sample->user_key_bytes +=
        std::max<uint64_t>(uint64_t{header.shared} + header.unshared, kTrailerBytes) -
        kTrailerBytes;
    sample->value_bytes += header.value_bytes;
  }
}

}  // namespace

TaskShape ShapeOf(const MergeTask& task) {
  TaskShape shape;
  Sample sample;
  for (const MergeRun& run : task.runs) {
    uint64_t bytes = 0;
    for (const MergeTable& table : run) {
      bytes += table.image.size();
    }
    shape.bytes += bytes;
    shape.longest_run = std::max(shape.longest_run, bytes);
    if (!run.empty()) {
      SampleTable(run[run.size() / 2], &sample);
    }
  }
  if (sample.records == 0) {  // compressed: as in db_bench
    sample = {.records = 1, .bytes = 100, .user_key_bytes = 16, .value_bytes = 100};
  }
  shape.records =
      static_cast<uint64_t>(static_cast<double>(sample.records) /
                            static_cast<double>(sample.bytes) * static_cast<double>(shape.bytes));
  shape.user_key_bytes = static_cast<uint32_t>(sample.user_key_bytes / sample.records);
  shape.value_bytes = static_cast<uint32_t>(sample.value_bytes / sample.records);
  return shape;
}

void LearnedCost::Learn(const TaskShape& task, double seconds) {
  constexpr double kWeight = 1.0 / 8;
  constexpr double kMost = 16;  // whatever a clock says once
  scale_ += kWeight * (std::clamp(seconds / Unscaled(task), 1 / kMost, kMost) - scale_);
}

Place Choose(const DispatchCosts& costs) {
  if (costs.drive >= costs.merge) {
    return Place::kSmall;
  }
  const double sooner = kMarkedly * costs.merge;
  if (costs.idle_cores < 1 || sooner >= costs.ahead + costs.unit) {
    return Place::kUnit;
  }
  return sooner < costs.unit ? Place::kSlow : Place::kQueue;
}

}  // namespace sluice
