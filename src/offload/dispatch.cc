#include "offload/dispatch.h"

#include <algorithm>
#include <optional>

#include "table/block.h"
#include "table/codec.h"
#include "table/format.h"

namespace sluice {

namespace {

// Records of a block.
struct Sample {
  uint64_t records = 0;
  uint64_t bytes = 0;           // of the block, as it is,
  uint64_t unpacked_bytes = 0;  // and decompressed; 0: it is raw
  uint64_t user_key_bytes = 0;
  uint64_t shared_bytes = 0;  // of these, those that entries leave out
  uint64_t value_bytes = 0;
};

// A block, decompressed into `*buffer` if it must be; others check its CRC. Nothing if it is
// nowhere, or makes no sense.
std::optional<Block> ReadBlock(std::string_view image, const BlockHandle& at, std::string* buffer) {
  if (!HandleFits(at, image.size())) {
    return {};
  }
  std::string_view contents = image.substr(at.offset, at.size);
  const Compression type{static_cast<uint8_t>(image[at.offset + at.size])};
  if (type != Compression::kNone) {
    if (type != Compression::kSnappy || !Uncompress(type, contents, buffer).ok()) {
      return {};
    }
    contents = *buffer;
  }
  Block block;
  if (!Block::Parse(contents, &block).ok()) {
    return {};
  }
  return block;
}

// The handle of the block in the middle of `table`, as far as its index can be read.
bool FindMiddle(const MergeTable& table, BlockHandle* handle) {
  std::string buffer;
  const std::optional<Block> index = ReadBlock(table.image, table.index, &buffer);
  if (!index.has_value()) {
    return false;
  }
  // In an index every entry is a restart.
  const char* const end = index->entries().data() + index->entries().size();
  const uint32_t offset = index->restart(index->restarts() / 2);
  EntryHeader header;
  const char* const p = offset < index->entries().size()
                            ? DecodeEntryHeader(index->entries().data() + offset, end, &header)
                            : nullptr;
  if (p == nullptr ||
      uint64_t{header.unshared} + header.value_bytes > static_cast<size_t>(end - p)) {
    return false;
  }
  std::string_view value(p + header.unshared, header.value_bytes);
  return handle->ReadFrom(&value);
}

// That block, as far as it can be read.
Sample SampleOf(const MergeTable& table) {
  Sample sample;
  BlockHandle handle;
  std::string buffer;
  std::optional<Block> block;
  if (!FindMiddle(table, &handle) ||
      !(block = ReadBlock(table.image, handle, &buffer)).has_value()) {
    return sample;
  }
  sample.bytes = handle.size;
  sample.unpacked_bytes = buffer.size();
  const char* p = block->entries().data();
  for (const char* const end = p + block->entries().size(); p < end;) {
    EntryHeader header;
    p = DecodeEntryHeader(p, end, &header);
    if (p == nullptr ||
        uint64_t{header.unshared} + header.value_bytes > static_cast<size_t>(end - p)) {
      break;
    }
    p += header.unshared + header.value_bytes;
    ++sample.records;
    const uint64_t user_bytes =
        std::max<uint64_t>(uint64_t{header.shared} + header.unshared, kTrailerBytes) -
        kTrailerBytes;
    sample.user_key_bytes += user_bytes;
    sample.shared_bytes += std::min<uint64_t>(header.shared, user_bytes);
    sample.value_bytes += header.value_bytes;
  }
  return sample;
}

double Ratio(uint64_t a, uint64_t b) { return static_cast<double>(a) / static_cast<double>(b); }

}  // namespace

TaskShape ShapeOf(const MergeTask& task) {
  TaskShape shape{.compress = task.compress};
  Sample all;
  for (const MergeRun& run : task.runs) {
    uint64_t bytes = 0;
    for (const MergeTable& table : run) {
      bytes += table.image.size();
    }
    shape.bytes += bytes;
    shape.longest_run = std::max(shape.longest_run, bytes);
    if (run.empty()) {
      continue;
    }
    const Sample sample = SampleOf(run[run.size() / 2]);
    if (sample.unpacked_bytes > 0) {
      shape.packed_bytes += bytes;
      shape.unpacked_bytes += static_cast<uint64_t>(Ratio(sample.unpacked_bytes, sample.bytes) *
                                                    static_cast<double>(bytes));
    }
    all.records += sample.records;
    all.bytes += sample.bytes;
    all.user_key_bytes += sample.user_key_bytes;
    all.shared_bytes += sample.shared_bytes;
    all.value_bytes += sample.value_bytes;
  }
  if (all.records == 0) {  // unreadable: as in db_bench
    all = {.records = 1, .bytes = 100, .user_key_bytes = 16, .value_bytes = 100};
  }
  shape.records =
      static_cast<uint64_t>(Ratio(all.records, all.bytes) * static_cast<double>(shape.bytes));
  shape.user_key_bytes = static_cast<uint32_t>(all.user_key_bytes / all.records);
  shape.value_bytes = static_cast<uint32_t>(all.value_bytes / all.records);
  shape.shared_bytes = static_cast<uint32_t>(all.shared_bytes / all.records);
  return shape;
}

TaskShape PartOf(const TaskShape& task, double part) {
  const auto of = [part](uint64_t all) {
    return static_cast<uint64_t>(part * static_cast<double>(all));
  };
  TaskShape shape = task;
  for (uint64_t* const figure : {&shape.bytes, &shape.longest_run, &shape.records,
                                 &shape.packed_bytes, &shape.unpacked_bytes}) {
    *figure = of(*figure);
  }
  return shape;
}

double LearnedCost::Unscaled(const TaskShape& task, const CodecBytes& codec) const {
  return terms_.task + terms_.record * static_cast<double>(task.records) +
         terms_.byte * static_cast<double>(task.raw_bytes()) +
         kUnpackCost * static_cast<double>(codec.unpacked) +
         kPackCost * static_cast<double>(codec.packed);
}

void LearnedCost::Learn(const TaskShape& task, const CodecBytes& codec, double seconds) {
  constexpr double kMost = 16;  // whatever a clock says once
  scale_ += weight_ * (std::clamp(seconds / Unscaled(task, codec), 1 / kMost, kMost) - scale_);
  weight_ = kWeight;
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
