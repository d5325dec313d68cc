#include "device/model/model_job.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "device/model/cycle_model.h"
#include "device/model/pipeline.h"
#include "device/model/snappy_cycles.h"
#include "merge/cpu_executor.h"
#include "sluice_abi.h"
#include "table/filter.h"
#include "table/stored_block.h"
#include "util/coding.h"

namespace sluice::model {

namespace {

constexpr uint64_t kTableAlign = 64;

uint64_t Field(uint64_t word, unsigned shift, uint64_t mask) { return word >> shift & mask; }
uint64_t RoundUp(uint64_t n, uint64_t unit) { return (n + unit - 1) / unit * unit; }

class Job {
 public:
  Job(const DeviceInfo& info, const UnitShape& unit, const Memory& memory)
      : info_(info), unit_(unit), memory_(memory) {}

  JobOutcome Run(uint64_t descriptor);

 private:
  uint64_t Word(uint64_t address) const { return DecodeFixed64(memory_.data + address); }
  void PutWord(uint64_t address, uint64_t word) const {
    EncodeFixed64(memory_.data + address, word);
  }

  // The steps of cu_job_control; anything but kOk ends the job.
  MergeStatus ReadDescriptor(uint64_t descriptor);
  MergeStatus ReadRangeKey(bool has, uint64_t address, uint64_t bytes, std::string* key) const;
  MergeStatus ReadRuns(uint64_t descriptor);
  MergeStatus ReadTable(uint64_t address, MergeTable* table);
  // A unit takes raw blocks only, and those that Snappy's library makes if it is built for them, and
  // reads all of them; the CPU executor would take others, and pass over those outside the range.
  // Counts block_bytes_.
  bool AllReadable(MergeResult* result);
  Status Store(const MergeOutput& output);
  MergeStatus StoreFilters(const MergeOutput& output);
  MergeStatus CheckBlocks(const RawTable& table) const;
  uint64_t ContentSum(const RawTable& table) const;
  void WriteCompletion(const MergeResult& result, uint64_t cycles) const;

  const DeviceInfo& info_;
  const UnitShape& unit_;
  const Memory memory_;

  bool trusted_ = false;  // the descriptor is one
  uint64_t completion_ = 0;
  uint64_t runs_ = 0;
  uint64_t data_addr_ = 0;
  uint64_t data_bytes_ = 0;
  uint64_t index_addr_ = 0;
  uint64_t index_bytes_ = 0;
  uint64_t filter_addr_ = 0;
  uint64_t filter_bytes_ = 0;
  MergeTask task_;
  std::deque<std::string> apart_;                   // tables whose index is not within their image
  std::vector<std::vector<uint64_t>> index_addrs_;  // by run and table

  uint64_t block_bytes_ = 0;  // of all data blocks, trailers counted
  uint64_t data_used_ = 0;
  uint64_t index_used_ = 0;
  uint64_t filter_used_ = 0;
  uint64_t content_sum_ = 0;
  std::vector<RawTable> outputs_;
  MergeStatus store_status_ = MergeStatus::kOk;
};

MergeStatus Job::ReadDescriptor(uint64_t descriptor) {
  namespace job = abi::job;
  if (descriptor % 64 != 0) {
    return MergeStatus::kBadDescriptor;
  }
  if (!memory_.Contains(descriptor, job::kBytes)) {
    return MergeStatus::kReadError;
  }
  const auto word = [&](size_t offset) { return Word(descriptor + offset); };
  const uint64_t head = word(job::kHead);
  completion_ = word(job::kCompletionAddr);
  trusted_ = Field(head, job::kHeadMagicShift, job::kHeadMagicMask) == abi::kMagic &&
             Field(head, job::kHeadVersionShift, job::kHeadVersionMask) == abi::kVersion &&
             completion_ % 64 == 0 && memory_.Contains(completion_, abi::completion::kBytes);
  if (!trusted_) {
    return MergeStatus::kBadDescriptor;
  }
  runs_ = Field(head, job::kHeadRunsShift, job::kHeadRunsMask);
  task_.bottommost = Field(head, job::kHeadBottommostShift, job::kHeadBottommostMask) != 0;
  task_.has_begin = Field(head, job::kHeadHasBeginShift, job::kHeadHasBeginMask) != 0;
  task_.has_end = Field(head, job::kHeadHasEndShift, job::kHeadHasEndMask) != 0;
  task_.compress = Field(head, job::kHeadCompressShift, job::kHeadCompressMask) != 0;
  const bool xxh3 = Field(head, job::kHeadXxh3Shift, job::kHeadXxh3Mask) != 0;
  if (xxh3) {
    task_.checksum = BlockChecksum::kXxh3;
    task_.checksum_base = static_cast<uint32_t>(word(job::kChecksumBase));
  }
  const uint64_t block = word(job::kBlock);
  task_.block_bytes =
      static_cast<uint32_t>(Field(block, job::kBlockBlockBytesShift, job::kBlockBlockBytesMask));
  task_.restart_interval = static_cast<uint32_t>(
      Field(block, job::kBlockRestartIntervalShift, job::kBlockRestartIntervalMask));
  task_.table_bytes = word(job::kTableBytes);
  task_.snapshots.clear();
  for (size_t s = 0; s < job::kSnapshotCount; ++s) {
    task_.snapshots.push_back(word(job::kSnapshot + 8 * s) & kMaxSequence);
  }
  task_.snapshots.erase(std::unique(task_.snapshots.begin(), task_.snapshots.end()),
                        task_.snapshots.end());
  const uint64_t range = word(job::kRange);
  const uint64_t begin = Field(range, job::kRangeBeginBytesShift, job::kRangeBeginBytesMask);
  const uint64_t end = Field(range, job::kRangeEndBytesShift, job::kRangeEndBytesMask);
  const uint64_t begin_addr = word(job::kBeginAddr);
  const uint64_t end_addr = word(job::kEndAddr);
  data_addr_ = word(job::kDataAddr);
  data_bytes_ = word(job::kDataBytes);
  index_addr_ = word(job::kIndexAddr);
  index_bytes_ = word(job::kIndexBytes);
  task_.bloom_bits_per_key =
      static_cast<uint32_t>(Field(block, job::kBlockBloomBitsShift, job::kBlockBloomBitsMask));
  filter_addr_ = word(job::kFilterAddr);
  filter_bytes_ = word(job::kFilterBytes);
  if (task_.bloom_bits_per_key > 0) {
    // The unit believes the number of probes, where the model knows it.
    const uint64_t probes = Field(block, job::kBlockBloomProbesShift, job::kBlockBloomProbesMask);
    if (!info_.bloom || (filter_addr_ | filter_bytes_) % 64 != 0 ||
        probes != static_cast<uint64_t>(BloomProbes(static_cast<int>(task_.bloom_bits_per_key)))) {
      return MergeStatus::kBadDescriptor;
    }
  }
  if ((task_.compress && info_.compressors == 0) || (xxh3 && !info_.xxh3) || runs_ < 1 ||
      runs_ > info_.ways || task_.block_bytes == 0 || task_.block_bytes > kMaxMergeBlockBytes ||
      task_.restart_interval == 0 || task_.table_bytes == 0 ||
      std::max(begin, end) > info_.max_key_bytes ||
      (data_addr_ | data_bytes_ | index_addr_ | index_bytes_) % 64 != 0 ||
      (begin_addr | end_addr) % 8 != 0) {
    return MergeStatus::kBadDescriptor;
  }
  if (const MergeStatus status = ReadRangeKey(task_.has_begin, begin_addr, begin, &task_.begin);
      status != MergeStatus::kOk) {
    return status;
  }
  return ReadRangeKey(task_.has_end, end_addr, end, &task_.end);
}

MergeStatus Job::ReadRangeKey(bool has, uint64_t address, uint64_t bytes, std::string* key) const {
  if (has) {
    if (!memory_.Contains(address, bytes)) {
      return MergeStatus::kReadError;
    }
    *key = memory_.View(address, bytes);
  }
  return MergeStatus::kOk;
}

MergeStatus Job::ReadRuns(uint64_t descriptor) {
  namespace job = abi::job;
  for (uint64_t r = 0; r < runs_; ++r) {
    const uint64_t word = Word(descriptor + job::kRun + 8 * r);
    const uint64_t tables = Field(word, job::kRunAddrShift, job::kRunAddrMask);
    const uint64_t count = Field(word, job::kRunCountShift, job::kRunCountMask);
    if (tables % 8 != 0) {
      return MergeStatus::kBadDescriptor;
    }
    MergeRun& run = task_.runs.emplace_back();
    index_addrs_.emplace_back();
    for (uint64_t t = 0; t < count; ++t) {
      const MergeStatus status =
          ReadTable(tables + t * abi::table_descriptor::kBytes, &run.emplace_back());
      if (status != MergeStatus::kOk) {
        return status;
      }
    }
  }
  return MergeStatus::kOk;
}

MergeStatus Job::ReadTable(uint64_t address, MergeTable* table) {
  namespace td = abi::table_descriptor;
  if (!memory_.Contains(address, td::kBytes)) {
    return MergeStatus::kReadError;
  }
  const uint64_t index_addr = Word(address + td::kIndexAddr);
  uint64_t index_bytes = Word(address + td::kIndexBytes);
  if (task_.checksum == BlockChecksum::kXxh3) {
    table->checksum_base = static_cast<uint32_t>(
        Field(index_bytes, td::kIndexBytesChecksumBaseShift, td::kIndexBytesChecksumBaseMask));
    index_bytes = Field(index_bytes, td::kIndexBytesBytesShift, td::kIndexBytesBytesMask);
  }
  const uint64_t data_addr = Word(address + td::kDataAddr);
  const uint64_t data_bytes = Word(address + td::kDataBytes);
  const uint64_t stored = index_bytes + kBlockTrailerBytes;
  index_addrs_.back().push_back(index_addr);
  if (index_bytes > UINT32_MAX) {
    return MergeStatus::kIndexCorrupt;
  }
  if (!memory_.Contains(data_addr, data_bytes) || !memory_.Contains(index_addr, stored)) {
    return MergeStatus::kReadError;
  }
  table->image = memory_.View(data_addr, data_bytes);
  if (index_addr >= data_addr && index_addr + stored <= data_addr + data_bytes) {
    table->index = {index_addr - data_addr, index_bytes};
    return MergeStatus::kOk;
  }
  std::string& image = apart_.emplace_back(table->image);
  image += memory_.View(index_addr, stored);
  table->image = image;
  table->index = {data_bytes, index_bytes};
  return MergeStatus::kOk;
}

bool Job::AllReadable(MergeResult* result) {
  std::string buffer;
  std::string_view contents;
  Compression stored_as;
  for (uint32_t r = 0; r < task_.runs.size(); ++r) {
    bool sound = true;  // so far: of several faults in a run the first one counts
    for (uint32_t t = 0; t < task_.runs[r].size(); ++t) {
      const MergeTable& table = task_.runs[r][t];
      const auto refuse = [&](MergeStatus status, uint64_t offset) {
        result->status = status;
        result->fault = {r, t, offset};
        return false;
      };
      Block index;
      // Other faults are the executor's to find.
      if (!ReadStoredBlock(table.image, table.index, &buffer, &contents, &stored_as).ok()) {
        continue;
      }
      if (stored_as != Compression::kNone) {
        return refuse(MergeStatus::kIndexCorrupt, table.index.offset);
      }
      if (!Block::Parse(contents, &index).ok()) {
        continue;
      }
      BlockIterator entry(index);
      uint64_t end = 0;
      for (entry.SeekToFirst(); entry.Valid(); entry.Next()) {
        BlockHandle handle;
        std::string_view value = entry.value();
        if (!handle.ReadFrom(&value) || handle.offset < end ||
            !HandleFits(handle, table.image.size())) {
          sound = false;
          break;
        }
        sound = sound && ReadStoredBlock(table.image, handle, &buffer, &contents, &stored_as,
                                         nullptr, {task_.checksum, table.checksum_base})
                             .ok();
        const bool readable =
            stored_as == Compression::kNone ||
            (info_.snappy && stored_as == Compression::kSnappy &&
             !SnappyReachesTooFar(table.image.substr(handle.offset, handle.size)));
        if (sound && !readable) {
          return refuse(MergeStatus::kBlockType, handle.offset);
        }
        end = handle.offset + handle.size + kBlockTrailerBytes;
        block_bytes_ += handle.size + kBlockTrailerBytes;
      }
    }
  }
  return true;
}

// What the unit has room for only in so many restarts and blocks.
MergeStatus Job::CheckBlocks(const RawTable& table) const {
  uint64_t blocks = 0;
  for (TableWalk walk({table}); walk.Valid(); walk.NextBlock()) {
    if (walk.restarts() > info_.max_restarts || ++blocks > info_.max_blocks) {
      return MergeStatus::kLimit;
    }
  }
  return MergeStatus::kOk;
}

// What a unit with compressors sums up of a table.
uint64_t Job::ContentSum(const RawTable& table) const {
  uint64_t sum = 0;
  if (info_.compressors > 0) {
    for (TableWalk walk({table}); walk.Valid(); walk.NextBlock()) {
      sum += RawBlockCrc(walk.held());
    }
  }
  return sum;
}

// Behind those of the tables before.
MergeStatus Job::StoreFilters(const MergeOutput& output) {
  const uint64_t most = std::min(kMaxFilterBytes, kMaxFilterKeys * task_.bloom_bits_per_key / 8);
  for (const std::string_view filter : output.filters) {
    if (filter.size() - 1 > most ||
        filter.size() + kBlockTrailerBytes > filter_bytes_ - filter_used_ ||
        !memory_.Contains(filter_addr_, filter_used_ + filter.size() + kBlockTrailerBytes)) {
      return MergeStatus::kLimit;
    }
    std::string stored(filter);
    AppendBlockTrailer(filter, Compression::kNone, &stored);
    std::memcpy(memory_.data + filter_addr_ + filter_used_, stored.data(), stored.size());
    filter_used_ += stored.size();
  }
  return MergeStatus::kOk;
}

// Puts a table where the unit puts it.
Status Job::Store(const MergeOutput& output) {
  namespace tr = abi::table_record;
  const uint64_t data_bytes = RoundUp(output.data.size(), kTableAlign);
  const uint64_t index_bytes = RoundUp(output.index.size(), 8);
  if (data_bytes > data_bytes_ - data_used_ ||
      !memory_.Contains(data_addr_, data_used_ + data_bytes)) {
    store_status_ = MergeStatus::kDataFull;
  } else if (index_bytes + tr::kBytes > index_bytes_ - index_used_ ||
             !memory_.Contains(index_addr_, index_used_ + index_bytes + tr::kBytes)) {
    store_status_ = MergeStatus::kIndexFull;
  } else {
    store_status_ = CheckBlocks(OutputTable(output.data, output.index));
  }
  if (store_status_ == MergeStatus::kOk) {
    store_status_ = StoreFilters(output);
  }
  if (store_status_ != MergeStatus::kOk) {
    return Status::NotSupported(std::string(MergeStatusText(store_status_)));
  }
  char* const data = memory_.data + data_addr_ + data_used_;
  std::memcpy(data, output.data.data(), output.data.size());
  std::memset(data + output.data.size(), 0, data_bytes - output.data.size());
  char* const index = memory_.data + index_addr_ + index_used_;
  std::memcpy(index, output.index.data(), output.index.size());
  std::memset(index + output.index.size(), 0, index_bytes - output.index.size());
  const uint64_t record = index_addr_ + index_used_ + index_bytes;
  PutWord(record + tr::kDataOffset, data_used_);
  PutWord(record + tr::kDataBytes, output.data.size());
  PutWord(record + tr::kIndexOffset, index_used_);
  PutWord(record + tr::kIndexBytes, output.index.size());
  PutWord(record + tr::kEntries, output.entries);
  PutWord(record + tr::kTombstones, output.tombstones);
  outputs_.push_back(OutputTable({data, output.data.size()}, {index, output.index.size()}));
  content_sum_ += ContentSum(outputs_.back());
  data_used_ += data_bytes;
  index_used_ += index_bytes + tr::kBytes;
  return {};
}

void Job::WriteCompletion(const MergeResult& result, uint64_t cycles) const {
  namespace c = abi::completion;
  uint64_t offset = result.fault.offset;
  switch (result.status) {
    // These are told by the index block's address.
    case MergeStatus::kIndexChecksum:
    case MergeStatus::kIndexCorrupt:
    case MergeStatus::kBadHandle:
      offset = index_addrs_[result.fault.run][result.fault.table];
      break;
    default:
      break;
  }
  std::memset(memory_.data + completion_, 0, c::kBytes);
  const auto put = [&](size_t at, uint64_t word) { PutWord(completion_ + at, word); };
  put(c::kStatus, static_cast<uint64_t>(result.status) << c::kStatusStatusShift |
                      uint64_t{result.fault.run} << c::kStatusRunShift |
                      uint64_t{result.fault.table} << c::kStatusTableShift |
                      uint64_t{abi::kMagic} << c::kStatusMagicShift);
  put(c::kFaultOffset, offset);
  put(c::kCycles, cycles);
  put(c::kInputRecords, result.stats.input_records);
  put(c::kOutputRecords, result.stats.output_records);
  put(c::kDroppedRecords, result.stats.dropped_records);
  put(c::kInputBytes, block_bytes_);
  put(c::kDataBytes, data_used_);
  put(c::kIndexBytes, index_used_);
  put(c::kTables, result.stats.output_tables);
  put(c::kInputChecksum, result.stats.input_checksum);
  put(c::kOutputChecksum, result.stats.output_checksum);
  put(c::kDroppedChecksum, result.stats.dropped_checksum);
  put(c::kFilterBytes, RoundUp(filter_used_, sizeof(uint64_t)));
  put(c::kContentSum, content_sum_);
}

JobOutcome Job::Run(uint64_t descriptor) {
  MergeResult result;
  result.status = ReadDescriptor(descriptor);
  if (result.status == MergeStatus::kOk) {
    result.status = ReadRuns(descriptor);
  }
  uint64_t cycles = 0;
  if (result.status == MergeStatus::kOk && AllReadable(&result)) {
    const RecordLimits limits{info_.max_key_bytes, info_.max_value_bytes};
    result = CpuExecutor(limits).Run(task_, [&](const MergeOutput& o) { return Store(o); });
    if (result.status == MergeStatus::kSink) {
      result.status = store_status_;
    }
  }
  if (result.status == MergeStatus::kOk) {
    cycles = Estimate(unit_, task_, outputs_).cycles;
  } else {
    const CycleEstimate none = Estimate(unit_, {}, {});
    cycles = none.fill + none.drain;
  }
  if (trusted_) {
    WriteCompletion(result, cycles);
  }
  return {result.status, cycles};
}

}  // namespace

JobOutcome RunJob(const DeviceInfo& info, const UnitShape& unit, const Memory& memory,
                  uint64_t descriptor) {
  return Job(info, unit, memory).Run(descriptor);
}

}  // namespace sluice::model
