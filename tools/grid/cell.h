// One cell of a grid: a configuration of the unit on one shape of input, measured on the RTL.
//
// The steady state is the difference between two jobs of the same shape, one three times as long:
// what starting and ending cost falls out, and is told apart. Nothing is random but the input,
// which a fixed seed makes: the cycles are the same on every machine.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "merge/task_generator.h"
#include "util/status.h"

namespace sluice::grid {

enum class Shape {
  kRandom,       // every record in any run
  kOneRunFirst,  // runs that do not overlap
  kDuplicates,   // 90 of 100 records are one more version of another's key, and are dropped
  kDeletions,    // every other record is a tombstone, and is dropped
  kThesis,       // two runs of 50 and 30 records that share keys (thesis.h); start-up included
};

std::string_view ShapeName(Shape shape);

struct Cell {
  std::string config;
  Shape shape = Shape::kRandom;
  LengthRange key_bytes;  // of user keys
  LengthRange value_bytes;
  uint32_t latency = 30;  // of the simulated memory, in cycles
};

// "wide/random/k16/v128/l30": what names the cell in baselines.
std::string CellName(const Cell& cell);
// "16", or "3-10".
std::string LengthText(const LengthRange& range);

// Sums over one or more jobs.
struct Totals {
  uint64_t records = 0;
  uint64_t raw_bytes = 0;        // of internal keys and values, uncompressed
  uint64_t contract_cycles = 0;  // of the records
  uint64_t tables = 0;           // written
  uint64_t cycles = 0;
  uint64_t dropped_records = 0;
  uint64_t read_bytes = 0;     // of data blocks
  uint64_t read_beats = 0;     // of the read port, for data blocks
  uint64_t read_chunks = 0;    // of V bytes, for the decoders
  uint64_t written_bytes = 0;  // of data blocks
};

struct Measurement {
  Cell cell;
  DeviceInfo info;
  std::vector<uint64_t> job_cycles;  // of each job, the shorter one first
  // The difference of the jobs; of Shape::kThesis the one job, its contract with
  // kContractStartUpCycles.
  Totals steady;
  double start_up = 0;  // cycles of the shorter job beyond the steady state's

  double CyclesPerRecord() const { return PerRecord(steady.cycles); }
  double Contract() const { return PerRecord(steady.contract_cycles); }
  // What the bytes alone take: through the ports, the decoders that have work, the one encoder.
  // Blocks are read apart, in whole beats and chunks: what holds the end of one and the beginning
  // of the next passes twice.
  double Limit() const { return LimitCycles() / static_cast<double>(steady.records); }
  // Bytes of merged records that leave per cycle, prefix compression undone; 0 if the contract asks
  // for no rate.
  double OutputRate() const;
  // Where the bytes alone take longer than the contract's records, in as much as those.
  bool MeetsContract() const;

 private:
  double LimitCycles() const;
  double PerRecord(uint64_t total) const {
    return static_cast<double>(total) / static_cast<double>(steady.records);
  }
};

// Errors: NotFound if the configuration is not built in; what the unit says of a job that failed.
// Thread-safe: each call has a unit and a memory of its own.
Status Measure(const Cell& cell, Measurement* measurement);

}  // namespace sluice::grid
