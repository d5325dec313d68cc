#include "device/device_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "device/contract.h"
#include "device/filter_area.h"
#include "device/model/cycle_model.h"
#include "merge/output_checker.h"
#include "sluice_abi.h"
#include "table/block.h"
#include "table/filter.h"
#include "table/recode.h"
#include "table/stored_block.h"

namespace sluice {

namespace {

void PutWord(std::string* structure, size_t offset, uint64_t value) {
  EncodeFixed64(structure->data() + offset, value);
}

uint64_t Field(uint64_t value, unsigned shift, uint64_t mask) { return (value & mask) << shift; }
uint64_t GetField(uint64_t word, unsigned shift, uint64_t mask) { return word >> shift & mask; }

// What the index of a table says of its data blocks. Of a malformed one it does not matter: the
// device finds the fault.
struct Blocks {
  bool compressed = false;  // one of them is
  bool foreign = false;     // one of them, or the index, is in a way that executors do not read
  uint64_t bytes = 0;       // of all, trailers counted
  uint64_t raw_bytes = 0;   // what they hold, likewise: at most, if they are damaged
  std::string index;        // the index block if it is compressed: raw, with its trailer
};

// What a block that Snappy has compressed says that it holds; but no block holds more than its
// elements can make, 64 bytes of three each.
uint64_t UncompressedBytes(std::string_view block) {
  const uint64_t most = 22 * uint64_t{block.size()};
  uint32_t bytes = 0;
  return GetVarint32(&block, &bytes) ? std::min<uint64_t>(bytes, most) : 0;
}

// Which blocks of a table are looked at to see whether they are compressed. Each costs a cache
// miss, and all of them together take the host longer than the CRCs of what comes back. If there is
// one where it has not looked, the unit says so.
enum class Look { kSome, kAll };
constexpr uint64_t kSomeOf = 64;  // one of so many

Blocks ScanIndex(const MergeTable& table, Look look) {
  Blocks blocks;
  std::string buffer;
  std::string_view contents;
  Block index;
  Compression stored_as;
  if (!ReadStoredBlock(table.image, table.index, &buffer, &contents, &stored_as).ok() ||
      !Block::Parse(contents, &index).ok()) {
    return blocks;
  }
  blocks.foreign = stored_as > Compression::kSnappy;
  if (stored_as == Compression::kSnappy) {
    blocks.index = contents;
    AppendBlockTrailer(contents, Compression::kNone, &blocks.index);
  }
  BlockIterator entry(index);
  uint64_t block = 0;
  for (entry.SeekToFirst(); entry.Valid(); entry.Next(), ++block) {
    BlockHandle handle;
    std::string_view value = entry.value();
    if (!handle.ReadFrom(&value) || !HandleFits(handle, table.image.size())) {
      break;
    }
    blocks.bytes += handle.size + kBlockTrailerBytes;
    if (look == Look::kSome && block % kSomeOf != 0) {
      blocks.raw_bytes += handle.size + kBlockTrailerBytes;
      continue;
    }
    const auto type = Compression{static_cast<uint8_t>(table.image[handle.offset + handle.size])};
    if (look == Look::kSome && type != Compression::kNone) {
      return ScanIndex(table, Look::kAll);
    }
    blocks.compressed = blocks.compressed || type != Compression::kNone;
    blocks.foreign = blocks.foreign || type > Compression::kSnappy;
    blocks.raw_bytes += kBlockTrailerBytes +
                        (type == Compression::kNone
                             ? handle.size
                             : UncompressedBytes(table.image.substr(handle.offset, handle.size)));
  }
  return blocks;
}

// A table as the device is given it.
struct DeviceTable {
  std::string_view image;
  BlockHandle index;            // in the image, or right behind it:
  std::string_view apart;       // the index block, if the image has none that is raw
  uint64_t offset_on_host = 0;  // of the index
  uint32_t checksum_base = 0;
};

// What a table record says of a table.
struct OutputTable {
  std::shared_ptr<char> bytes;  // data, then index, so that the table can be kept as it is
  uint64_t data_address = 0;    // in device memory
  uint64_t data_bytes = 0;
  uint64_t index_bytes = 0;
  uint64_t entries = 0;
  uint64_t tombstones = 0;

  char* index() const { return bytes.get() + data_bytes; }
};

// Where things stand in device memory, for one attempt at a task.
struct Layout {
  std::vector<std::vector<uint64_t>> images;  // by run and table
  uint64_t data_addr = 0;
  uint64_t data_bytes = 0;
  uint64_t index_addr = 0;
  uint64_t index_bytes = 0;
  uint64_t filter_addr = 0;
  uint64_t filter_bytes = 0;
  uint64_t control_addr = 0;  // of what follows:
  // descriptor | completion record | begin key | end key | table descriptors
  std::string control;

  static constexpr uint64_t kCompletion = (abi::job::kBytes + 63) & ~63ull;
  static constexpr uint64_t kKeys = (kCompletion + abi::completion::kBytes + 63) & ~63ull;
};

// One Run.
class DeviceRun {
 public:
  DeviceRun(Device* device, DeviceCommon* common, uint32_t slot, const MergeTask& task)
      : device_(*device),
        common_(*common),
        slot_(slot),
        task_(task),
        checker_(task.snapshots, task.compress, {task.checksum, task.checksum_base}) {}

  ~DeviceRun() { ForgetTables(); }
  DeviceRun(const DeviceRun&) = delete;
  DeviceRun& operator=(const DeviceRun&) = delete;

  MergeResult Run(const MergeSink& sink);

 private:
  MergeResult Fail(MergeStatus status, Status error) {
    result_.status = status;
    result_.error = std::move(error);
    return std::move(result_);
  }
  // What the device has done is not to be believed.
  MergeResult Distrust(Status error) {
    common_.slots.Distrust();
    return Fail(MergeStatus::kDevice, std::move(error));
  }

  // InvalidArgument if it is no task, NotSupported if the unit is not built for it.
  Status CheckLimits() const;
  // Every index must stand in its table, and have a size that the unit can be told: it has no bounds
  // of its own for where it is told to read one. False: result_ says which does not, as the CPU executor would.
  bool CheckIndexes();
  // 0 in a task without XXH3.
  uint32_t SumBase(const MergeTable& table) const {
    return task_.checksum == BlockChecksum::kXxh3 ? table.checksum_base : 0;
  }
  // Makes tables_ of the task's tables, and counts.
  void Prepare(Look look);
  void ForgetTables();
  // After a job that met a compressed block: whether it was one that the host has decompressed now.
  bool PrepareAgain();
  // For output: as large as input, and somewhat more.
  uint64_t FirstRoom() const { return input_bytes_ + input_bytes_ / 4 + (1 << 20); }
  // Sets aside output areas for `data_bytes` of data blocks and uploads everything.
  Status Upload(uint64_t data_bytes);
  Status Allocate(uint64_t data_bytes);
  void FillControl();
  std::string Descriptor(uint64_t tables_addr) const;
  // Takes the completion record and, as no CRC covers it, what the unit was told to do.
  Status ReadCompletion(uint8_t unit_status);
  Status DescribeFault() const;
  Status Deliver(const MergeSink& sink);
  // Makes `*table` of its record, with its index. `indexes`: the area for them, as far as it is used.
  Status FindTable(std::string_view record, std::string_view indexes, OutputTable* table);
  // Reads the data of all, and their filters.
  Status ReadTables(const std::vector<OutputTable>& tables);
  Status DeliverTable(const OutputTable& table, const MergeSink& sink);

  Device& device_;
  DeviceCommon& common_;
  const uint32_t slot_;
  const MergeTask& task_;
  std::vector<std::vector<DeviceTable>> tables_;  // by run: with blocks that the unit decodes
  std::deque<RecodedTable> recoded_;
  std::deque<std::string> indexes_;
  Look look_ = Look::kAll;    // with which tables_ were made
  uint64_t input_bytes_ = 0;  // of tables_, if all blocks were raw
  uint64_t block_bytes_ = 0;  // of data blocks that an index names, as stored, trailers counted
  Layout layout_;
  MergeResult result_;
  uint64_t data_used_ = 0;
  uint64_t index_used_ = 0;
  uint64_t filter_used_ = 0;
  uint64_t content_sum_ = 0;
  OutputChecker checker_;
  std::shared_ptr<const char> filter_bytes_;
  std::optional<FilterArea> filters_;  // in these, if the task asks for them
};

Status DeviceRun::CheckLimits() const {
  SLUICE_RETURN_IF_ERROR(CheckTask(task_));
  const DeviceInfo& info = device_.info();
  if (task_.runs.size() > info.ways) {
    return Status::NotSupported(
        fmt::format("{} runs, but {} merges {}", task_.runs.size(), info.name, info.ways));
  }
  if (task_.snapshots.size() > abi::job::kSnapshotCount) {
    return Status::NotSupported(fmt::format("{} snapshots", task_.snapshots.size()));
  }
  if (std::max(task_.begin.size(), task_.end.size()) > info.max_key_bytes) {
    return Status::NotSupported(fmt::format("range key longer than {} bytes", info.max_key_bytes));
  }
  if (task_.block_bytes == 0 || task_.block_bytes > kMaxMergeBlockBytes || task_.table_bytes == 0 ||
      task_.restart_interval > abi::job::kBlockRestartIntervalMask) {
    return Status::NotSupported(fmt::format("block size {}, table size {}, restart interval {}",
                                            task_.block_bytes, task_.table_bytes,
                                            task_.restart_interval));
  }
  if (task_.bloom_bits_per_key > 0 && !info.bloom) {
    return Status::NotSupported(fmt::format("filters, which {} does not make", info.name));
  }
  if (task_.compress && info.compressors == 0) {
    return Status::NotSupported(fmt::format("compression, which {} does not do", info.name));
  }
  if (task_.checksum == BlockChecksum::kXxh3 && !info.xxh3) {
    return Status::NotSupported(fmt::format("XXH3, which {} does not have", info.name));
  }
  for (const MergeRun& run : task_.runs) {
    if (run.size() > abi::job::kRunCountMask) {
      return Status::NotSupported(fmt::format("{} tables in a run", run.size()));
    }
  }
  return {};
}

bool DeviceRun::CheckIndexes() {
  for (uint32_t r = 0; r < task_.runs.size(); ++r) {
    for (uint32_t t = 0; t < task_.runs[r].size(); ++t) {
      const MergeTable& table = task_.runs[r][t];
      if (!HandleFits(table.index, table.image.size())) {
        result_.status = MergeStatus::kBadHandle;
        result_.fault = {r, t, table.index.offset};
        result_.error = Status::Corruption(fmt::format(
            "run {}, table {}, offset {}: an index block of {} bytes does not fit in a table of {}",
            r, t, table.index.offset, table.index.size, table.image.size()));
        return false;
      }
      // Its size shares a word with the base of checksums.
      if (table.index.size > abi::table_descriptor::kIndexBytesBytesMask) {
        result_.status = MergeStatus::kIndexCorrupt;
        result_.fault = {r, t, table.index.offset};
        result_.error = DescribeFault();
        return false;
      }
    }
  }
  return true;
}

void DeviceRun::Prepare(Look look) {
  ForgetTables();
  look_ = look;
  for (const MergeRun& run : task_.runs) {
    std::vector<DeviceTable>& tables = tables_.emplace_back();
    for (const MergeTable& given : run) {
      DeviceTable table{given.image, given.index, {}, given.index.offset, SumBase(given)};
      Blocks blocks = ScanIndex(given, look);
      uint64_t bytes = blocks.bytes;
      uint64_t raw_bytes = std::max(table.image.size(), blocks.raw_bytes);
      bool is_recoded = false;
      if (blocks.compressed && !blocks.foreign && !device_.info().snappy) {
        RecodedTable& recoded = recoded_.emplace_back(common_.TakeRecoded());
        // What cannot be decompressed goes to the device as it is, which then says where the fault
        // is, or passes it over if it is not in the range.
        is_recoded = RecodeTable(given.image, given.index, Compression::kNone, &recoded, nullptr,
                                 {task_.checksum, given.checksum_base})
                         .ok();
        if (is_recoded) {
          table.image = recoded.image;
          table.index = recoded.index;
          bytes = recoded.data().size();
          raw_bytes = recoded.image.size();
        } else {
          recoded_.pop_back();
        }
      }
      if (!is_recoded && !blocks.index.empty()) {
        table.apart = indexes_.emplace_back(std::move(blocks.index));
        table.index = {table.image.size(), table.apart.size() - kBlockTrailerBytes};
        raw_bytes += table.apart.size();
      }
      tables.push_back(table);
      input_bytes_ += raw_bytes;
      block_bytes_ += bytes;
    }
  }
}

bool DeviceRun::PrepareAgain() {
  if (look_ == Look::kAll) {
    return false;
  }
  const size_t before = recoded_.size();
  Prepare(Look::kAll);
  if (recoded_.size() == before) {
    return false;
  }
  common_.looks_at_all = true;
  return true;
}

void DeviceRun::ForgetTables() {
  for (RecodedTable& table : recoded_) {
    common_.PutRecoded(std::move(table));
  }
  recoded_.clear();
  indexes_.clear();
  tables_.clear();
  input_bytes_ = block_bytes_ = 0;
}

Status DeviceRun::Allocate(uint64_t data_bytes) {
  layout_ = {};
  size_t tables = 0;
  for (const std::vector<DeviceTable>& run : tables_) {
    std::vector<uint64_t>& addresses = layout_.images.emplace_back();
    for (const DeviceTable& table : run) {
      SLUICE_RETURN_IF_ERROR(device_.Allocate(slot_, table.image.size() + table.apart.size(),
                                              &addresses.emplace_back()));
    }
    tables += run.size();
  }
  layout_.data_bytes = (data_bytes + 255) & ~255ull;
  layout_.index_bytes = layout_.data_bytes / 4 + 65536;
  SLUICE_RETURN_IF_ERROR(device_.Allocate(slot_, layout_.data_bytes, &layout_.data_addr));
  SLUICE_RETURN_IF_ERROR(device_.Allocate(slot_, layout_.index_bytes, &layout_.index_addr));
  if (task_.bloom_bits_per_key > 0) {
    layout_.filter_bytes = FilterRoom(task_, layout_.data_bytes) & ~63ull;
    SLUICE_RETURN_IF_ERROR(device_.Allocate(slot_, layout_.filter_bytes, &layout_.filter_addr));
  }
  layout_.control.assign(Layout::kKeys + 2 * uint64_t{device_.info().max_key_bytes} +
                             tables * abi::table_descriptor::kBytes,
                         '\0');
  return device_.Allocate(slot_, layout_.control.size(), &layout_.control_addr);
}

std::string DeviceRun::Descriptor(uint64_t tables_addr) const {
  namespace job = abi::job;
  std::string words(job::kBytes, '\0');
  PutWord(
      &words, job::kHead,
      Field(abi::kMagic, job::kHeadMagicShift, job::kHeadMagicMask) |
          Field(abi::kVersion, job::kHeadVersionShift, job::kHeadVersionMask) |
          Field(std::max<size_t>(1, task_.runs.size()), job::kHeadRunsShift, job::kHeadRunsMask) |
          Field(task_.bottommost, job::kHeadBottommostShift, job::kHeadBottommostMask) |
          Field(task_.has_begin, job::kHeadHasBeginShift, job::kHeadHasBeginMask) |
          Field(task_.has_end, job::kHeadHasEndShift, job::kHeadHasEndMask) |
          Field(task_.compress, job::kHeadCompressShift, job::kHeadCompressMask) |
          Field(task_.checksum == BlockChecksum::kXxh3, job::kHeadXxh3Shift, job::kHeadXxh3Mask));
  PutWord(&words, job::kChecksumBase, task_.checksum_base);
  const uint32_t bloom_bits = task_.bloom_bits_per_key;
  const int probes = bloom_bits > 0 ? BloomProbes(static_cast<int>(bloom_bits)) : 0;
  PutWord(&words, job::kBlock,
          Field(task_.block_bytes, job::kBlockBlockBytesShift, job::kBlockBlockBytesMask) |
              Field(task_.restart_interval, job::kBlockRestartIntervalShift,
                    job::kBlockRestartIntervalMask) |
              Field(bloom_bits, job::kBlockBloomBitsShift, job::kBlockBloomBitsMask) |
              Field(probes, job::kBlockBloomProbesShift, job::kBlockBloomProbesMask));
  PutWord(&words, job::kTableBytes, task_.table_bytes);
  for (size_t s = 0; s < job::kSnapshotCount; ++s) {
    PutWord(&words, job::kSnapshot + 8 * s,
            task_.snapshots[std::min(s, task_.snapshots.size() - 1)]);
  }
  PutWord(&words, job::kRange,
          Field(task_.begin.size(), job::kRangeBeginBytesShift, job::kRangeBeginBytesMask) |
              Field(task_.end.size(), job::kRangeEndBytesShift, job::kRangeEndBytesMask));
  const uint64_t begin_addr = tables_addr - 2 * uint64_t{device_.info().max_key_bytes};
  PutWord(&words, job::kBeginAddr, begin_addr);
  PutWord(&words, job::kEndAddr, begin_addr + device_.info().max_key_bytes);
  PutWord(&words, job::kDataAddr, layout_.data_addr);
  PutWord(&words, job::kDataBytes, layout_.data_bytes);
  PutWord(&words, job::kIndexAddr, layout_.index_addr);
  PutWord(&words, job::kIndexBytes, layout_.index_bytes);
  PutWord(&words, job::kFilterAddr, layout_.filter_addr);
  PutWord(&words, job::kFilterBytes, layout_.filter_bytes);
  PutWord(&words, job::kCompletionAddr, layout_.control_addr + Layout::kCompletion);
  uint64_t tables = tables_addr;
  for (size_t r = 0; r < task_.runs.size(); ++r) {
    PutWord(&words, job::kRun + 8 * r,
            Field(tables, job::kRunAddrShift, job::kRunAddrMask) |
                Field(task_.runs[r].size(), job::kRunCountShift, job::kRunCountMask));
    tables += task_.runs[r].size() * abi::table_descriptor::kBytes;
  }
  return words;
}

void DeviceRun::FillControl() {
  const uint64_t key_room = device_.info().max_key_bytes;
  std::string& control = layout_.control;
  const auto put = [&control](std::string_view bytes, uint64_t at) {
    std::copy(bytes.begin(), bytes.end(), control.begin() + static_cast<ptrdiff_t>(at));
  };
  uint64_t tables = Layout::kKeys + 2 * key_room;
  put(Descriptor(layout_.control_addr + tables), 0);
  put(task_.begin, Layout::kKeys);
  put(task_.end, Layout::kKeys + key_room);
  for (size_t r = 0; r < task_.runs.size(); ++r) {
    for (size_t t = 0; t < task_.runs[r].size(); ++t) {
      namespace td = abi::table_descriptor;
      const DeviceTable& table = tables_[r][t];
      const uint64_t image = layout_.images[r][t];
      PutWord(&control, tables + td::kIndexAddr, image + table.index.offset);
      PutWord(&control, tables + td::kIndexBytes,
              Field(table.index.size, td::kIndexBytesBytesShift, td::kIndexBytesBytesMask) |
                  Field(table.checksum_base, td::kIndexBytesChecksumBaseShift,
                        td::kIndexBytesChecksumBaseMask));
      PutWord(&control, tables + td::kDataAddr, image);
      PutWord(&control, tables + td::kDataBytes, table.image.size());
      tables += td::kBytes;
    }
  }
}

Status DeviceRun::Upload(uint64_t data_bytes) {
  SLUICE_RETURN_IF_ERROR(Allocate(data_bytes));
  std::vector<Device::Source> pieces;
  for (size_t r = 0; r < tables_.size(); ++r) {
    for (size_t t = 0; t < tables_[r].size(); ++t) {
      const DeviceTable& table = tables_[r][t];
      const uint64_t image = layout_.images[r][t];
      pieces.push_back({image, table.image});
      if (!table.apart.empty()) {
        pieces.push_back({image + table.image.size(), table.apart});
      }
    }
  }
  FillControl();
  pieces.push_back({layout_.control_addr, layout_.control});
  return device_.WriteAll(pieces);
}

Status DeviceRun::ReadCompletion(uint8_t unit_status) {
  namespace c = abi::completion;
  std::string control(layout_.control.size(), '\0');
  SLUICE_RETURN_IF_ERROR(device_.Read(layout_.control_addr, control.size(), control.data()));
  const std::string words = control.substr(Layout::kCompletion, c::kBytes);
  control.replace(Layout::kCompletion, c::kBytes, c::kBytes, '\0');
  if (control != layout_.control) {
    return Status::IoError("job descriptor that is not what was written");
  }
  const auto word = [&](size_t offset) { return DecodeFixed64(words.data() + offset); };

  const uint64_t head = word(c::kStatus);
  const uint64_t status = GetField(head, c::kStatusStatusShift, c::kStatusStatusMask);
  if (GetField(head, c::kStatusMagicShift, c::kStatusMagicMask) != abi::kMagic) {
    if (unit_status == 0 || unit_status >= kMergeStatuses) {
      return Status::IoError("no completion record, and no status that says why");
    }
    result_.status = static_cast<MergeStatus>(unit_status);
    return {};
  }
  if (status != unit_status || status >= kMergeStatuses) {
    return Status::IoError(
        fmt::format("completion record says status {}, the unit {}", status, unit_status));
  }
  result_.status = static_cast<MergeStatus>(status);
  result_.fault.run = static_cast<uint32_t>(GetField(head, c::kStatusRunShift, c::kStatusRunMask));
  result_.fault.table =
      static_cast<uint32_t>(GetField(head, c::kStatusTableShift, c::kStatusTableMask));
  result_.fault.offset = word(c::kFaultOffset);
  MergeStats& stats = result_.stats;
  stats.cycles = word(c::kCycles);
  common_.cycles += stats.cycles;
  stats.input_records = word(c::kInputRecords);
  stats.output_records = word(c::kOutputRecords);
  stats.dropped_records = word(c::kDroppedRecords);
  stats.dropped_shadowed = task_.bottommost ? 0 : stats.dropped_records;
  stats.input_bytes = word(c::kInputBytes);
  stats.output_tables = word(c::kTables);
  stats.input_checksum = word(c::kInputChecksum);
  stats.output_checksum = word(c::kOutputChecksum);
  stats.dropped_checksum = word(c::kDroppedChecksum);
  for (size_t i = 0; i < stats.stalls.size(); ++i) {
    stats.stalls[i] = word(c::kStalls + 8 * i);
  }
  data_used_ = word(c::kDataBytes);
  index_used_ = word(c::kIndexBytes);
  filter_used_ = word(c::kFilterBytes);
  content_sum_ = word(c::kContentSum);
  if (data_used_ > layout_.data_bytes || index_used_ > layout_.index_bytes ||
      filter_used_ > layout_.filter_bytes) {
    return Status::IoError(fmt::format(
        "completion record of {}, {} and {} bytes of output, where there is room for {}, {} and {}",
        data_used_, index_used_, filter_used_, layout_.data_bytes, layout_.index_bytes,
        layout_.filter_bytes));
  }
  if (result_.status == MergeStatus::kOk) {
    // A run that ended too early, or a block that was passed over, shows here alone.
    if (stats.input_bytes != block_bytes_) {
      return Status::IoError(fmt::format("completion record of {} bytes of input, which has {}",
                                         stats.input_bytes, block_bytes_));
    }
    SLUICE_RETURN_IF_ERROR(CheckBalance(stats));
  }
  // Index faults are told by address.
  if (result_.status == MergeStatus::kIndexChecksum ||
      result_.status == MergeStatus::kIndexCorrupt || result_.status == MergeStatus::kBadHandle ||
      result_.status == MergeStatus::kReadError) {
    const MergeFault& at = result_.fault;
    if (at.run < layout_.images.size() && at.table < layout_.images[at.run].size() &&
        at.offset >= layout_.images[at.run][at.table]) {
      const DeviceTable& table = tables_[at.run][at.table];
      result_.fault.offset -= layout_.images[at.run][at.table];
      if (!table.apart.empty() && at.offset == table.index.offset) {
        result_.fault.offset = table.offset_on_host;
      }
    }
  }
  return {};
}

Status DeviceRun::DescribeFault() const {
  const std::string_view text = MergeStatusText(result_.status);
  const MergeFault& at = result_.fault;
  switch (result_.status) {
    case MergeStatus::kIndexChecksum:
    case MergeStatus::kIndexCorrupt:
    case MergeStatus::kBadHandle:
    case MergeStatus::kBlockChecksum:
    case MergeStatus::kBlockCorrupt:
    case MergeStatus::kRecordType:
    case MergeStatus::kUnsorted:
      return Status::Corruption(
          fmt::format("run {}, table {}, offset {}: {}", at.run, at.table, at.offset, text));
    case MergeStatus::kBlockType:
    case MergeStatus::kKeyTooLong:
    case MergeStatus::kValueTooLong:
      return Status::NotSupported(
          fmt::format("run {}, table {}, offset {}: {}", at.run, at.table, at.offset, text));
    case MergeStatus::kBadDescriptor:
    case MergeStatus::kDataFull:
    case MergeStatus::kIndexFull:
    case MergeStatus::kLimit:
      return Status::NotSupported(std::string(text));
    case MergeStatus::kEndToEnd: {
      const MergeStats& s = result_.stats;
      return Status::IoError(
          fmt::format("{}: {} in, {} out, {} dropped; checksums {:016x}, {:016x}, {:016x}", text,
                      s.input_records, s.output_records, s.dropped_records, s.input_checksum,
                      s.output_checksum, s.dropped_checksum));
    }
    default:
      return Status::IoError(std::string(text));
  }
}

Status DeviceRun::FindTable(std::string_view record, std::string_view indexes, OutputTable* table) {
  namespace tr = abi::table_record;
  const auto word = [&](size_t offset) { return DecodeFixed64(record.data() + offset); };
  const BlockHandle data{word(tr::kDataOffset), word(tr::kDataBytes)};
  const BlockHandle index{word(tr::kIndexOffset), word(tr::kIndexBytes)};
  const auto within = [](const BlockHandle& at, uint64_t used) {
    return at.offset <= used && at.size <= used - at.offset;
  };
  if (!within(data, data_used_) || !within(index, index_used_)) {
    return Status::IoError("table record that points outside the output areas");
  }
  *table = {.bytes = common_.buffers.Take(data.size + index.size),
            .data_address = layout_.data_addr + data.offset,
            .data_bytes = data.size,
            .index_bytes = index.size,
            .entries = word(tr::kEntries),
            .tombstones = word(tr::kTombstones)};
  std::memcpy(table->index(), indexes.data() + index.offset, index.size);
  return {};
}

Status DeviceRun::ReadTables(const std::vector<OutputTable>& tables) {
  std::vector<Device::Target> pieces;
  pieces.reserve(tables.size() + 1);
  for (const OutputTable& table : tables) {
    pieces.push_back({table.data_address, table.data_bytes, table.bytes.get()});
  }
  if (task_.bloom_bits_per_key > 0) {
    const std::shared_ptr<char> bytes = common_.buffers.Take(filter_used_);
    pieces.push_back({layout_.filter_addr, filter_used_, bytes.get()});
    filter_bytes_ = bytes;
    filters_.emplace(std::string_view(bytes.get(), filter_used_), task_.bloom_bits_per_key);
  }
  return device_.ReadAll(pieces);
}

Status DeviceRun::DeliverTable(const OutputTable& table, const MergeSink& sink) {
  MergeOutput output;
  SLUICE_RETURN_IF_ERROR(
      checker_
          .Check({table.bytes.get(), table.data_bytes}, {table.index(), table.index_bytes}, &output)
          .WithContext("table from the device"));
  output.hold = table.bytes;
  if (filters_.has_value()) {
    SLUICE_RETURN_IF_ERROR(filters_->Take(checker_.block_keys(), &output.filters));
    using Bytes = std::shared_ptr<const char>;
    output.hold = std::make_shared<std::pair<Bytes, Bytes>>(table.bytes, filter_bytes_);
  }
  if (output.entries != table.entries || output.tombstones != table.tombstones) {
    return Status::IoError("table record with other counts than its table");
  }
  result_.stats.output_bytes += table.data_bytes + table.index_bytes;
  if (Status status = sink(output); !status.ok()) {
    result_.status = MergeStatus::kSink;
    return status;
  }
  return {};
}

Status DeviceRun::Deliver(const MergeSink& sink) {
  const std::shared_ptr<char> index_area = common_.buffers.Take(index_used_);
  SLUICE_RETURN_IF_ERROR(device_.Read(layout_.index_addr, index_used_, index_area.get()));
  const std::string_view indexes(index_area.get(), index_used_);
  // Each record says where its index block starts, which is where the record before ends.
  std::vector<std::string_view> records;  // the last one first
  uint64_t end = index_used_;
  for (uint64_t t = 0; t < result_.stats.output_tables; ++t) {
    constexpr uint64_t kBytes = abi::table_record::kBytes;
    if (end < kBytes) {
      return Status::IoError("fewer table records than tables");
    }
    const std::string_view record = indexes.substr(end - kBytes, kBytes);
    const uint64_t index_offset = DecodeFixed64(record.data() + abi::table_record::kIndexOffset);
    if (index_offset >= end) {
      return Status::IoError("table record that points past itself");
    }
    end = index_offset;
    records.push_back(record);
  }
  if (end != 0) {
    return Status::IoError("more table records than tables");
  }
  std::vector<OutputTable> tables;
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    SLUICE_RETURN_IF_ERROR(FindTable(*record, indexes, &tables.emplace_back()));
  }
  SLUICE_RETURN_IF_ERROR(ReadTables(tables));
  for (const OutputTable& table : tables) {
    SLUICE_RETURN_IF_ERROR(DeliverTable(table, sink));
  }
  if (filters_.has_value()) {
    SLUICE_RETURN_IF_ERROR(filters_->Finish());
  }
  if (checker_.records() != result_.stats.output_records ||
      checker_.checksum() != result_.stats.output_checksum) {
    return Status::IoError(fmt::format(
        "tables of {} records, checksum {:016x}, but {} written, {:016x}", checker_.records(),
        checker_.checksum(), result_.stats.output_records, result_.stats.output_checksum));
  }
  if (task_.compress && checker_.content_sum() != content_sum_) {
    return Status::IoError(
        fmt::format("compressed blocks whose contents have checksum {:016x}, but "
                    "{:016x} was compressed",
                    checker_.content_sum(), content_sum_));
  }
  return {};
}

MergeResult DeviceRun::Run(const MergeSink& sink) {
  if (Status status = CheckLimits(); !status.ok()) {
    return Fail(MergeStatus::kBadDescriptor, std::move(status));
  }
  if (!CheckIndexes()) {
    return std::move(result_);
  }
  // Of a unit with Snappy, the host must know what all blocks hold.
  const bool all = device_.info().snappy || common_.looks_at_all;
  Prepare(all ? Look::kAll : Look::kSome);
  for (uint64_t room = FirstRoom();;) {
    result_ = {};
    if (Status status = common_.slots.Upload(slot_, [&] { return Upload(room); }); !status.ok()) {
      return status.IsNotSupported() ? Fail(MergeStatus::kDataFull, std::move(status))
                                     : Distrust(std::move(status));
    }
    uint8_t unit_status = 0;
    if (Status status = common_.slots.Run(
            slot_, layout_.control_addr, JobCycleLimit(device_.info(), input_bytes_), &unit_status);
        !status.ok()) {
      return Fail(MergeStatus::kDevice, std::move(status));
    }
    if (Status status = ReadCompletion(unit_status); !status.ok()) {
      return Distrust(std::move(status));
    }
    // Output is as large as input unless restarts or blocks are much smaller than the inputs',
    // which only the unit finds out: then it is asked again with more room.
    if (result_.status == MergeStatus::kDataFull || result_.status == MergeStatus::kIndexFull) {
      room *= 4;
    } else if (result_.status == MergeStatus::kBlockType && PrepareAgain()) {
      room = FirstRoom();
    } else {
      break;
    }
  }
  if (result_.status != MergeStatus::kOk) {
    return result_.status == MergeStatus::kDevice ? Distrust(DescribeFault())
                                                  : Fail(result_.status, DescribeFault());
  }
  if (Status status = Deliver(sink); !status.ok()) {
    return result_.status == MergeStatus::kSink ? Fail(MergeStatus::kSink, std::move(status))
                                                : Distrust(std::move(status));
  }
  return std::move(result_);
}

}  // namespace

RecodedTable DeviceCommon::TakeRecoded() {
  RecodedTable table;
  const MutexLock lock(mutex_);
  if (!idle_.empty()) {
    table = std::move(idle_.back());
    idle_.pop_back();
    idle_bytes_ -= table.image.capacity();
  }
  return table;
}

void DeviceCommon::PutRecoded(RecodedTable table) {
  const MutexLock lock(mutex_);
  if (table.image.capacity() <= kMostIdleBytes - idle_bytes_) {
    idle_bytes_ += table.image.capacity();
    idle_.push_back(std::move(table));
  }
}

namespace {

// Of its V bytes per cycle, what a decoder of Snappy makes of LevelDB's tables, about: 0.45 to 0.93
// (docs/hardware.md, Snappy).
constexpr double kSnappyShare = 0.65;

double Share(uint64_t part, uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

}  // namespace

size_t DeviceExecutor::max_snapshots() const { return abi::job::kSnapshotCount; }

MergeResult DeviceExecutor::Run(const MergeTask& task, const MergeSink& sink) {
  uint32_t slot;
  if (Status status = common_.slots.Enter(&slot); !status.ok()) {
    MergeResult result;
    result.status = MergeStatus::kDevice;
    result.error = std::move(status);
    return result;
  }
  MergeResult result = DeviceRun(device_.get(), &common_, slot, task).Run(sink);
  common_.slots.Leave(slot);
  return result;
}

std::optional<UnitTime> DeviceExecutor::Estimate(const TaskShape& task) const {
  const DeviceInfo& info = device_->info();
  const uint64_t raw_bytes = task.raw_bytes();
  // Outputs shrink as inputs have.
  const double packed =
      task.compress && task.unpacked_bytes > 0 ? Share(task.packed_bytes, task.unpacked_bytes) : 1;
  const std::optional<double> up = device_->TransferSeconds(info.snappy ? task.bytes : raw_bytes);
  const std::optional<double> down =
      device_->TransferSeconds(static_cast<uint64_t>(packed * static_cast<double>(raw_bytes)));
  const std::optional<double> call = device_->TransferSeconds(0);
  if (!up.has_value() || !down.has_value() || !call.has_value()) {
    return {};
  }
  // The job's record and the index blocks come down by themselves, everything else in one call.
  const double upload = *up;
  const double download = *down + 2 * *call;
  const model::UnitShape unit{.ways = info.ways, .value_bytes = info.value_bytes};
  const double records = static_cast<double>(task.records);
  // Runs that have a decoder each share the work of decoding as evenly as they share the records.
  double decode = records * static_cast<double>(
                                model::DecodeCycles(unit, task.user_key_bytes, task.value_bytes));
  if (info.snappy) {
    decode = std::max(decode,
                      static_cast<double>(task.unpacked_bytes) / (kSnappyShare * info.value_bytes));
  }
  decode *= Share(task.longest_run, task.bytes);
  double encode =
      records * static_cast<double>(model::EncodeCycles(
                    unit, task.user_key_bytes, std::min(task.shared_bytes, task.user_key_bytes),
                    task.value_bytes));
  if (task.compress && info.compressors > 0) {
    encode = std::max(encode, model::CompressCycles(raw_bytes, true) / info.compressors);
  }
  const double job = 1e-6 / info.clock_mhz * (kContractStartUpCycles + std::max(decode, encode));
  // Both ways have a DMA engine, so that up and down overlap with each other, and with jobs.
  return UnitTime{
      .alone = upload + job + download,
      .paced = std::max({upload, job, download}),
      .unpacked_bytes = (info.snappy ? 0 : task.unpacked_bytes) + (task.compress ? raw_bytes : 0)};
}

}  // namespace sluice
