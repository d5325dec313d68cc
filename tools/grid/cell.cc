#include "grid/cell.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/contract.h"
#include "device/device_executor.h"
#include "device/rtlsim/rtl_device.h"
#include "grid/thesis.h"
#include "table/table_reader.h"

namespace sluice::grid {

namespace {

// The shorter job takes about kJobCycles for each run: several blocks where records are short.
// Within bounds, so that long records are enough to average over, and short ones do not take
// forever.
constexpr uint64_t kJobCycles = 2048;
constexpr uint64_t kMinRecords = 64;  // in all
constexpr uint64_t kMinRecordsOfRun = 4;
constexpr uint64_t kMaxRecordsOfRun = 512;
constexpr uint64_t kLongJob = 3;  // times as long
// Records per table, where each fills a block: both jobs then end with a full table, so that the
// end of the last index block, which nothing overlaps, is the same in both.
constexpr uint64_t kRecordsOfTable = 128;

uint64_t ShorterJob(const Cell& cell, const DeviceInfo& info) {
  const uint64_t cycles = ContractCycles(uint64_t{cell.key_bytes.max} + kTrailerBytes,
                                         cell.value_bytes.max, info.value_bytes);
  const uint64_t per_run = std::clamp(kJobCycles / cycles, kMinRecordsOfRun, kMaxRecordsOfRun);
  return std::max(kMinRecords, info.ways * per_run);
}

GeneratedTask MakeTask(const Cell& cell, const DeviceInfo& info, uint64_t times) {
  GeneratorOptions options;
  options.runs = info.ways;
  options.records = times * ShorterJob(cell, info);
  options.user_key_bytes = cell.key_bytes;
  options.value_bytes = cell.value_bytes;
  options.bottommost = true;
  const uint64_t record_bytes = uint64_t{cell.key_bytes.max} + kTrailerBytes + cell.value_bytes.max;
  if (record_bytes >= options.table.block_bytes) {
    options.records = (options.records + kRecordsOfTable - 1) / kRecordsOfTable * kRecordsOfTable;
    options.table_bytes = kRecordsOfTable * record_bytes;
  }
  if (cell.shape == Shape::kOneRunFirst) {
    options.interleave = Interleave::kOneRunFirst;
  } else if (cell.shape == Shape::kDuplicates) {
    options.duplicate_percent = 90;
  } else if (cell.shape == Shape::kDeletions) {
    options.delete_percent = 50;
  }
  return GenerateTask(options);
}

// Whole words of `width` bytes that a block with its trailer lies in. Tables begin with a word.
uint64_t Words(const BlockHandle& block, uint64_t width) {
  const uint64_t last = block.offset + block.size + kBlockTrailerBytes - 1;
  return last / width - block.offset / width + 1;
}

Status AddBlocks(const TableReader& table, const DeviceInfo& info, Totals* totals) {
  BlockIterator index(table.index());
  for (index.SeekToFirst(); index.Valid(); index.Next()) {
    BlockHandle block;
    SLUICE_RETURN_IF_ERROR(table.ReadHandle(index, &block));
    totals->read_beats += Words(block, info.in_bytes);
    totals->read_chunks += Words(block, info.value_bytes);
  }
  return index.status();
}

// Adds what the records of `task` are, and what the contract allows for them.
Status AddRecords(const GeneratedTask& task, const DeviceInfo& info, Totals* totals) {
  for (const auto& run : task.images) {
    for (const TableImage& image : run) {
      std::unique_ptr<TableReader> table;
      SLUICE_RETURN_IF_ERROR(TableReader::OpenImage(image.file, "generated table", &table));
      SLUICE_RETURN_IF_ERROR(AddBlocks(*table, info, totals));
      TableIterator record(table.get());
      for (record.SeekToFirst(); record.Valid(); record.Next()) {
        const uint64_t key = record.key().size();
        const uint64_t value = record.value().size();
        ++totals->records;
        totals->raw_bytes += key + value;
        totals->contract_cycles += ContractCycles(key, value, info.value_bytes);
      }
      SLUICE_RETURN_IF_ERROR(record.status());
    }
  }
  return {};
}

Status RunJob(DeviceExecutor* unit, const GeneratedTask& task, Totals* totals) {
  SLUICE_RETURN_IF_ERROR(AddRecords(task, unit->device().info(), totals));
  const MergeResult result = unit->Run(task.task, [&](const MergeOutput& table) {
    ++totals->tables;
    totals->written_bytes += table.data.size();
    return Status();
  });
  totals->cycles = result.stats.cycles;
  totals->dropped_records = result.stats.dropped_records;
  totals->read_bytes = result.stats.input_bytes;
  return result.error;
}

Totals Minus(const Totals& a, const Totals& b) {
  return {a.records - b.records,
          a.raw_bytes - b.raw_bytes,
          a.contract_cycles - b.contract_cycles,
          a.tables - b.tables,
          a.cycles - b.cycles,
          a.dropped_records - b.dropped_records,
          a.read_bytes - b.read_bytes,
          a.read_beats - b.read_beats,
          a.read_chunks - b.read_chunks,
          a.written_bytes - b.written_bytes};
}

}  // namespace

std::string_view ShapeName(Shape shape) {
  switch (shape) {
    case Shape::kRandom:
      return "random";
    case Shape::kOneRunFirst:
      return "one-run-first";
    case Shape::kDuplicates:
      return "duplicates";
    case Shape::kDeletions:
      return "deletions";
    case Shape::kThesis:
      return "thesis";
  }
  return "";
}

std::string LengthText(const LengthRange& range) {
  return range.min == range.max ? std::to_string(range.min)
                                : fmt::format("{}-{}", range.min, range.max);
}

std::string CellName(const Cell& cell) {
  return fmt::format("{}/{}/k{}/v{}/l{}", cell.config, ShapeName(cell.shape),
                     LengthText(cell.key_bytes), LengthText(cell.value_bytes), cell.latency);
}

double Measurement::LimitCycles() const {
  // Decoders take a chunk per cycle each; of runs that do not overlap one has work at a time.
  const uint32_t busy = cell.shape == Shape::kOneRunFirst ? 1 : info.ways;
  const uint32_t out = std::min(info.out_bytes, info.value_bytes);
  return std::max({static_cast<double>(steady.read_beats),
                   static_cast<double>(steady.read_chunks) / busy,
                   static_cast<double>(steady.written_bytes) / out});
}

double Measurement::OutputRate() const {
  const bool asked = cell.shape != Shape::kThesis && steady.dropped_records == 0 &&
                     cell.value_bytes.min >= kLongValueBeats * info.value_bytes;
  return asked ? static_cast<double>(steady.raw_bytes) / static_cast<double>(steady.cycles) : 0;
}

bool Measurement::MeetsContract() const {
  const double rate = OutputRate();
  const double records = std::max(static_cast<double>(steady.contract_cycles), LimitCycles());
  const auto tables = static_cast<double>(kContractTableCycles * steady.tables);
  return static_cast<double>(steady.cycles) <= records + tables &&
         (rate == 0 || rate >= kContractOutput * info.value_bytes);
}

Status Measure(const Cell& cell, Measurement* measurement) {
  RtlDeviceOptions options;
  options.memory.latency = cell.latency;
  std::unique_ptr<Device> device;
  SLUICE_RETURN_IF_ERROR(MakeRtlDevice(cell.config, options, &device));
  DeviceExecutor unit(std::move(device));
  Measurement& m = *measurement;
  m = {};
  m.cell = cell;
  m.info = unit.device().info();
  if (cell.shape == Shape::kThesis) {
    SLUICE_RETURN_IF_ERROR(RunJob(&unit, ThesisTask(cell.key_bytes, cell.value_bytes), &m.steady));
    m.start_up =
        static_cast<double>(m.steady.cycles) - static_cast<double>(m.steady.contract_cycles);
    m.steady.contract_cycles += kContractStartUpCycles;
    m.job_cycles = {m.steady.cycles};
    return {};
  }
  Totals shorter;
  Totals longer;
  SLUICE_RETURN_IF_ERROR(RunJob(&unit, MakeTask(cell, m.info, 1), &shorter));
  SLUICE_RETURN_IF_ERROR(RunJob(&unit, MakeTask(cell, m.info, kLongJob), &longer));
  m.job_cycles = {shorter.cycles, longer.cycles};
  m.steady = Minus(longer, shorter);
  // The shorter job's mix of kept and dropped records is not quite the difference's: by contract.
  m.start_up = static_cast<double>(shorter.cycles) -
               static_cast<double>(shorter.contract_cycles) * m.CyclesPerRecord() / m.Contract();
  return {};
}

}  // namespace sluice::grid
