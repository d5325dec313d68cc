// A job of the unit's fuzzer: a merge task laid out in device memory by hand, wherever the ABI
// allows it, and the areas that it names.

#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/rtlsim/axi_memory.h"
#include "hw/dv/common/testbench.h"
#include "merge/outputs.h"
#include "sluice_abi.h"
#include "table/block.h"
#include "table/filter.h"
#include "table/stored_block.h"

namespace sluice::dv {

struct Area {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// What each direction of each port may touch.
class NamedAreas {
 public:
  void Add(bool data, bool write, uint64_t address, uint64_t bytes) {
    if (bytes > 0) {
      lists_[data][write].push_back({address, address + bytes});
    }
  }

  // Empty if the access lies within one area, but for what its first and last beat have beyond it.
  std::string Check(const rtlsim::Access& access) const {
    const uint64_t mask = ~(uint64_t{access.beat_bytes} - 1);
    const uint64_t first = access.address & mask;
    for (const Area& area : lists_[access.port != "index"][access.write]) {
      if (first >= (area.begin & mask) &&
          first + access.bytes <= ((area.end + access.beat_bytes - 1) & mask)) {
        return {};
      }
    }
    return fmt::format("port {} {} {} bytes at {:#x}, which the job does not name", access.port,
                       access.write ? "writes" : "reads", access.bytes, access.address);
  }

  Area Random(std::mt19937_64& rng) const {
    const std::vector<Area>* list;
    do {
      list = &lists_[rng() % 2][rng() % 2];
    } while (list->empty());
    return (*list)[rng() % list->size()];
  }

 private:
  std::vector<Area> lists_[2][2];
};

// The output areas as the unit must leave them, made of the tables that it must write.
struct OutputAreas {
  OutputAreas() = default;
  explicit OutputAreas(const std::vector<OwnedOutput>& outputs) {
    for (const OwnedOutput& output : outputs) {
      const uint64_t words[] = {data.size(),    output.data().size(),
                                index.size(),   output.index_block().size(),
                                output.entries, output.tombstones};
      data += output.data();
      data.resize((data.size() + 63) & ~63ull, '\0');
      index += output.index_block();
      index.resize((index.size() + 7) & ~7ull, '\0');
      for (const std::string_view filter : output.filters) {
        filters += filter;
        AppendBlockTrailer(filter, Compression::kNone, &filters);
        most_filter_bytes = std::max<uint64_t>(most_filter_bytes, filter.size() - 1);
      }
      for (const uint64_t word : words) {
        PutFixed64(&index, word);
      }
      Count(output);
    }
    filters.resize((filters.size() + 7) & ~7ull, '\0');
  }

  std::string data;
  std::string index;
  std::string filters;
  uint64_t most_filter_bytes = 0;  // of a block
  uint64_t most_restarts = 0;      // of a block
  uint64_t most_blocks = 0;        // of a table

 private:
  void Count(const OwnedOutput& output) {
    Block blocks;
    if (!Block::Parse(output.index_block().substr(0, output.index.size), &blocks).ok()) {
      return;
    }
    most_blocks = std::max<uint64_t>(most_blocks, blocks.restarts());
    BlockIterator entry(blocks);
    for (entry.SeekToFirst(); entry.Valid(); entry.Next()) {
      BlockHandle handle;
      std::string_view value = entry.value();
      Block block;
      if (handle.ReadFrom(&value) &&
          Block::Parse(output.data().substr(handle.offset, handle.size), &block).ok()) {
        most_restarts = std::max<uint64_t>(most_restarts, block.restarts());
      }
    }
  }
};

struct JobResult {
  MergeStatus status = MergeStatus::kOk;
  MergeFault fault;  // offsets in the table
  MergeStats stats;
  uint64_t data_used = 0;
  uint64_t index_used = 0;
  uint64_t filter_used = 0;
  std::string data;  // the output areas
  std::string index;
  std::string filters;
};

class PlacedJob {
 public:
  static constexpr char kFill = '\x6d';

  PlacedJob() = default;
  // `expected`: null if nothing is known of what comes out.
  PlacedJob(std::mt19937_64& rng, const DeviceInfo& info, const MergeTask& task,
            const OutputAreas* expected);

  // The statuses that areas below what is needed can lead to.
  std::set<MergeStatus> TooSmall(const OutputAreas& expected) const {
    std::set<MergeStatus> statuses;
    if (data_bytes_ < expected.data.size()) {
      statuses.insert(MergeStatus::kDataFull);
    }
    if (index_bytes_ < expected.index.size()) {
      statuses.insert(MergeStatus::kIndexFull);
    }
    if (filter_bytes_ < expected.filters.size()) {
      statuses.insert(MergeStatus::kLimit);
    }
    return statuses;
  }
  // Makes a descriptor of it that must be refused.
  void Spoil(std::mt19937_64& rng);

  // Fills memory and runs the job. Not ok: the unit hangs, or broke the rules of a port.
  Status Run(Device* device, JobResult* result);

  NamedAreas areas;
  uint64_t input_bytes = 0;

 private:
  // A place for `bytes`, anywhere behind what was placed before.
  uint64_t Place(std::mt19937_64& rng, uint64_t bytes, uint64_t align) {
    next_ += Chance(rng, 50) ? rng() % 300 : rng() % 5000;
    next_ = (next_ + align - 1) / align * align;
    const uint64_t at = next_;
    next_ += bytes;
    return at;
  }
  uint64_t Put(std::mt19937_64& rng, std::string_view bytes, uint64_t align) {
    const uint64_t at = Place(rng, bytes.size(), align);
    memory_.resize(next_ - kBase, '\x33');
    std::copy(bytes.begin(), bytes.end(), memory_.begin() + static_cast<ptrdiff_t>(at - kBase));
    return at;
  }
  void PutTables(std::mt19937_64& rng, const MergeTask& task, std::vector<uint64_t>* runs);
  void PutDescriptor(std::mt19937_64& rng, const DeviceInfo& info, const MergeTask& task,
                     const std::vector<uint64_t>& runs);
  void SetWord(uint64_t address, uint64_t word) {
    EncodeFixed64(memory_.data() + (address - kBase), word);
  }
  uint64_t Word(uint64_t address) const {
    return DecodeFixed64(memory_.data() + (address - kBase));
  }
  void TakeCompletion(std::string_view record, JobResult* result) const;

  static constexpr uint64_t kBase = 64 << 10;

  std::string memory_;  // from kBase on, as the unit finds it
  uint64_t next_ = kBase;
  uint64_t job_ = 0;
  uint64_t told_ = 0;  // to the unit: job_, unless spoilt
  uint64_t completion_ = 0;
  uint64_t data_ = 0;
  uint64_t data_bytes_ = 0;
  uint64_t index_ = 0;
  uint64_t index_bytes_ = 0;
  uint64_t filter_ = 0;
  uint64_t filter_bytes_ = 0;
  uint64_t runs_ = 0;
  bool bloom_ = false;                       // the unit makes filters,
  bool xxh3_ = false;                        // and takes XXH3
  std::vector<std::vector<Area>> index_at_;  // by run and table: in memory; .end: in the table
};

inline PlacedJob::PlacedJob(std::mt19937_64& rng, const DeviceInfo& info, const MergeTask& task,
                            const OutputAreas* expected) {
  std::vector<uint64_t> runs;
  PutTables(rng, task, &runs);
  PutDescriptor(rng, info, task, runs);
  const auto room = [&](uint64_t need) -> uint64_t {
    const uint64_t exact = (need + 63) & ~63ull;
    if (expected == nullptr || Chance(rng, 60)) {
      return (2 * input_bytes + (1 << 20)) & ~63ull;
    }
    const uint64_t choices[] = {exact, exact, exact + 64, exact - std::min<uint64_t>(exact, 64),
                                exact / 2 & ~63ull};
    return choices[rng() % std::size(choices)];
  };
  data_bytes_ = room(expected == nullptr ? 0 : expected->data.size());
  index_bytes_ = room(expected == nullptr ? 0 : expected->index.size());
  if (task.bloom_bits_per_key > 0) {
    filter_bytes_ = room(expected == nullptr ? 0 : expected->filters.size());
  }
  data_ = Place(rng, data_bytes_, 64);
  index_ = Place(rng, index_bytes_, 64);
  filter_ = Place(rng, filter_bytes_, 64);
  completion_ = Place(rng, abi::completion::kBytes, 64);
  memory_.resize(next_ - kBase, kFill);
  std::fill_n(memory_.begin() + static_cast<ptrdiff_t>(data_ - kBase), data_bytes_, kFill);
  std::fill_n(memory_.begin() + static_cast<ptrdiff_t>(index_ - kBase), index_bytes_, kFill);
  std::fill_n(memory_.begin() + static_cast<ptrdiff_t>(filter_ - kBase), filter_bytes_, kFill);
  std::fill_n(memory_.begin() + static_cast<ptrdiff_t>(completion_ - kBase),
              abi::completion::kBytes, '\0');
  namespace job = abi::job;
  SetWord(job_ + job::kDataAddr, data_);
  SetWord(job_ + job::kDataBytes, data_bytes_);
  SetWord(job_ + job::kIndexAddr, index_);
  SetWord(job_ + job::kIndexBytes, index_bytes_);
  SetWord(job_ + job::kFilterAddr, filter_);
  SetWord(job_ + job::kFilterBytes, filter_bytes_);
  SetWord(job_ + job::kCompletionAddr, completion_);
  areas.Add(true, true, data_, data_bytes_);
  areas.Add(false, true, index_, index_bytes_);
  areas.Add(false, true, filter_, filter_bytes_);
  areas.Add(false, true, completion_, abi::completion::kBytes);
}

inline void PlacedJob::PutTables(std::mt19937_64& rng, const MergeTask& task,
                                 std::vector<uint64_t>* runs) {
  namespace td = abi::table_descriptor;
  for (const MergeRun& run : task.runs) {
    std::string list;
    index_at_.emplace_back();
    for (const MergeTable& table : run) {
      const uint64_t image = Put(rng, table.image, 1);
      const uint64_t stored = table.index.size + kBlockTrailerBytes;
      uint64_t index = image + table.index.offset;
      if (Chance(rng, 30)) {
        index = Put(rng, table.image.substr(table.index.offset, stored), 1);
      }
      input_bytes += table.image.size() + stored + td::kBytes;
      areas.Add(true, false, image, table.image.size());
      areas.Add(false, false, index, stored);
      index_at_.back().push_back({index, table.index.offset});
      const size_t at = list.size();
      list.resize(at + td::kBytes, '\0');
      EncodeFixed64(list.data() + at + td::kIndexAddr, index);
      const uint64_t base = task.checksum == BlockChecksum::kXxh3 ? table.checksum_base : 0;
      EncodeFixed64(list.data() + at + td::kIndexBytes,
                    table.index.size | base << td::kIndexBytesChecksumBaseShift);
      EncodeFixed64(list.data() + at + td::kDataAddr, image);
      EncodeFixed64(list.data() + at + td::kDataBytes, table.image.size());
    }
    runs->push_back(Put(rng, list, 8));
    areas.Add(false, false, runs->back(), list.size());
  }
}

// What the word BLOCK has of filters.
inline uint64_t FilterField(uint64_t bits_per_key) {
  const int probes = bits_per_key > 0 ? BloomProbes(static_cast<int>(bits_per_key)) : 0;
  return bits_per_key << abi::job::kBlockBloomBitsShift | static_cast<uint64_t>(probes)
                                                              << abi::job::kBlockBloomProbesShift;
}

inline void PlacedJob::PutDescriptor(std::mt19937_64& rng, const DeviceInfo& info,
                                     const MergeTask& task, const std::vector<uint64_t>& runs) {
  namespace job = abi::job;
  const uint64_t begin = Put(rng, task.begin, 8);
  const uint64_t end = Put(rng, task.end, 8);
  // Ranges are read in whole words.
  areas.Add(false, false, begin, task.has_begin ? task.begin.size() : 0);
  areas.Add(false, false, end, task.has_end ? task.end.size() : 0);
  std::string words(job::kBytes, '\0');
  job_ = told_ = Put(rng, words, 64);
  runs_ = std::max<size_t>(1, runs.size());
  SetWord(job_ + job::kHead,
          uint64_t{abi::kMagic} << job::kHeadMagicShift |
              uint64_t{abi::kVersion} << job::kHeadVersionShift | runs_ << job::kHeadRunsShift |
              uint64_t{task.bottommost} << job::kHeadBottommostShift |
              uint64_t{task.has_begin} << job::kHeadHasBeginShift |
              uint64_t{task.has_end} << job::kHeadHasEndShift |
              uint64_t{task.compress} << job::kHeadCompressShift |
              uint64_t{task.checksum == BlockChecksum::kXxh3} << job::kHeadXxh3Shift);
  SetWord(job_ + job::kChecksumBase, task.checksum_base);
  SetWord(job_ + job::kBlock,
          task.block_bytes | uint64_t{task.restart_interval} << job::kBlockRestartIntervalShift |
              FilterField(task.bloom_bits_per_key));
  bloom_ = info.bloom;
  xxh3_ = info.xxh3;
  SetWord(job_ + job::kTableBytes, task.table_bytes);
  for (size_t s = 0; s < job::kSnapshotCount; ++s) {
    SetWord(job_ + job::kSnapshot + 8 * s, task.snapshots[std::min(s, task.snapshots.size() - 1)]);
  }
  SetWord(job_ + job::kRange, task.begin.size() | task.end.size() << job::kRangeEndBytesShift);
  SetWord(job_ + job::kBeginAddr, begin);
  SetWord(job_ + job::kEndAddr, end);
  for (size_t r = 0; r < runs.size(); ++r) {
    SetWord(job_ + job::kRun + 8 * r,
            runs[r] | uint64_t{task.runs[r].size()} << job::kRunCountShift);
  }
  areas.Add(false, false, job_, job::kRun + 8 * info.ways);
}

inline void PlacedJob::Spoil(std::mt19937_64& rng) {
  namespace job = abi::job;
  const auto add = [&](size_t offset, uint64_t n) {
    SetWord(job_ + offset, Word(job_ + offset) + n);
  };
  switch (rng() % 11) {
    case 0:
      told_ = job_ + 1 + rng() % 63;
      break;
    case 1:
      add(job::kHead, 1 << job::kHeadMagicShift);
      break;
    case 2:
      add(job::kHead, (255 - runs_) << job::kHeadRunsShift);
      break;
    case 3:
      SetWord(job_ + job::kBlock, Word(job_ + job::kBlock) | 0x8000'0000);
      break;
    case 4:
      SetWord(job_ + job::kTableBytes, 0);
      break;
    case 9:
      if (!xxh3_) {
        SetWord(job_ + job::kHead, Word(job_ + job::kHead) | 1ull << job::kHeadXxh3Shift);
        break;
      }
      [[fallthrough]];
    case 5:
      add(job::kRun + 8 * (rng() % runs_), 1 + rng() % 7);
      break;
    case 6: {
      constexpr size_t kAligned[] = {job::kDataAddr, job::kDataBytes, job::kIndexAddr,
                                     job::kIndexBytes, job::kCompletionAddr};
      add(kAligned[rng() % std::size(kAligned)], 1 + rng() % 63);
      break;
    }
    case 7:
      add(rng() % 2 == 0 ? job::kBeginAddr : job::kEndAddr, 1 + rng() % 7);
      break;
    case 8: {
      // Filters of a unit that makes none, or with too many probes.
      const uint64_t probes = bloom_ ? job::kBlockBloomProbesMask : 6;
      SetWord(job_ + job::kBlock, Word(job_ + job::kBlock) | 1ull << job::kBlockBloomBitsShift |
                                      probes << job::kBlockBloomProbesShift);
      break;
    }
    default:
      add(job::kRange, uint64_t{0xf000} << (rng() % 2 == 0 ? 0 : job::kRangeEndBytesShift));
      break;
  }
}

inline Status PlacedJob::Run(Device* device, JobResult* result) {
  SLUICE_RETURN_IF_ERROR(device->Write(kBase, memory_));
  SLUICE_RETURN_IF_ERROR(device->Start(told_));
  uint8_t status = 0;
  SLUICE_RETURN_IF_ERROR(device->Wait(UINT64_MAX, &status));
  std::string after(memory_.size(), '\0');
  SLUICE_RETURN_IF_ERROR(device->Read(kBase, after.size(), after.data()));
  const auto part = [&](uint64_t address, uint64_t bytes) {
    return after.substr(address - kBase, bytes);
  };
  result->status = static_cast<MergeStatus>(status);
  TakeCompletion(part(completion_, abi::completion::kBytes), result);
  result->data = part(data_, data_bytes_);
  result->index = part(index_, index_bytes_);
  result->filters = part(filter_, filter_bytes_);
  return {};
}

inline void PlacedJob::TakeCompletion(std::string_view record, JobResult* result) const {
  namespace c = abi::completion;
  const auto word = [&](size_t offset) { return DecodeFixed64(record.data() + offset); };
  const auto field = [&](unsigned shift, uint64_t mask) {
    return word(c::kStatus) >> shift & mask;
  };
  result->fault.run = static_cast<uint32_t>(field(c::kStatusRunShift, c::kStatusRunMask));
  result->fault.table = static_cast<uint32_t>(field(c::kStatusTableShift, c::kStatusTableMask));
  result->fault.offset = word(c::kFaultOffset);
  if (result->fault.run < index_at_.size() &&
      result->fault.table < index_at_[result->fault.run].size()) {
    const Area& index = index_at_[result->fault.run][result->fault.table];
    if (result->fault.offset == index.begin) {
      result->fault.offset = index.end;
    }
  }
  MergeStats& stats = result->stats;
  stats.cycles = word(c::kCycles);
  stats.input_records = word(c::kInputRecords);
  stats.output_records = word(c::kOutputRecords);
  stats.dropped_records = word(c::kDroppedRecords);
  stats.input_bytes = word(c::kInputBytes);
  stats.output_tables = word(c::kTables);
  stats.input_checksum = word(c::kInputChecksum);
  stats.output_checksum = word(c::kOutputChecksum);
  stats.dropped_checksum = word(c::kDroppedChecksum);
  result->data_used = word(c::kDataBytes);
  result->index_used = word(c::kIndexBytes);
  result->filter_used = word(c::kFilterBytes);
}

}  // namespace sluice::dv
