// What the Compaction Unit promises (docs/hardware.md, "Cycle budget").

#pragma once

#include <cstdint>

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

}  // namespace sluice
