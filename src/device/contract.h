// What the Compaction Unit promises (docs/hardware.md, "Cycle budget").

#pragma once

#include <algorithm>
#include <cstdint>

#include "device/device.h"

namespace sluice {

// Cycles that a record may cost in the steady state. Keys are internal, lengths in bytes;
// `datapath_bytes` is V.
inline uint64_t ContractCycles(uint64_t key_bytes, uint64_t value_bytes, uint32_t datapath_bytes) {
  const auto beats = [&](uint64_t bytes) { return (bytes + datapath_bytes - 1) / datapath_bytes; };
  return 2 + beats(key_bytes) + beats(value_bytes);
}

// And an output table: its last word, which may be partial, and the token that ends it. At 2 MiB
// and V = 64 that is one cycle in 16,000.
inline constexpr uint64_t kContractTableCycles = 2;

// Cycles of start-up that a whole job may take beyond its records', at the default latency.
inline constexpr uint64_t kContractStartUpCycles = 300;

// With values of at least kLongValueBeats * V bytes, and nothing dropped, V * kContractOutput bytes
// leave in each cycle.
inline constexpr uint64_t kLongValueBeats = 32;
inline constexpr double kContractOutput = 0.9;

// Cycles after which a job of `input_bytes` of tables hangs, whatever is in them: twice the worst
// case, by the stages of model/cycle_model.h.
//  * An entry of the longest key takes decoder, tree or encoder a cycle per V bytes of it, and
//  three;
//    but if it shares all its key except a byte it has only five bytes. Values cost less per byte.
//  * Of the memory at 200 cycles of latency eight cycles per byte: 25 for a block of one entry and
//    its index entry, some 30 bytes, as eight blocks are asked for ahead; 600 for a table of a
//    hundred bytes, whose descriptor, index and data are asked for one after the other.
inline uint64_t JobCycleLimit(const DeviceInfo& unit, uint64_t input_bytes) {
  const uint64_t key_beats =
      (unit.max_key_bytes + 8 + unit.value_bytes - 1) / std::max(1u, unit.value_bytes);
  constexpr uint64_t kStart = 100'000;
  return kStart + 2 * input_bytes * ((3 + key_beats) / 5 + 8);
}

}  // namespace sluice
