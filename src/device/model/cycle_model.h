// What a Compaction Unit takes for a merge, in closed form: the cycles that each stage is busy with
// a record and with a block, in the manner of FAST'20 section 3.4, and how stages add up to a task.
// docs/model.md derives every term from hw/rtl.
//
// All of it is arithmetic: thread-safe.

#pragma once

#include <algorithm>
#include <cstdint>

#include "device/device.h"

namespace sluice::model {

// What a unit was built with, and the memory that it stands at.
struct UnitShape {
  uint32_t ways = 2;
  uint32_t value_bytes = 16;  // V: datapath width
  uint32_t in_bytes = 64;     // W_in: beat of the data read port
  uint32_t out_bytes = 64;    // W_out: beat of the data write port
  uint32_t latency = 30;      // cycles from an accepted address to its first beat or response
  double memory_bytes = 0;    // per cycle, of all ports together; 0: as much as they ask for
  bool snappy = false;        // blocks may be compressed with it
  uint32_t compressors = 0;   // of output blocks, if the task asks for that
};

UnitShape ShapeOf(const DeviceInfo& info, uint32_t latency);

constexpr uint64_t Beats(uint64_t bytes, uint64_t beat) { return (bytes + beat - 1) / beat; }
// Beats from the one that holds `first` to the one that holds the last of `bytes` bytes.
constexpr uint64_t BeatsFrom(uint64_t first, uint64_t bytes, uint64_t beat) {
  return Beats(first % beat + bytes, beat);
}

// ------------------------------------------------------------------ a record, stage by stage

inline uint64_t DecodeCycles(const UnitShape& unit, uint64_t user_bytes, uint64_t value_bytes) {
  return 1 + Beats(user_bytes + 8, unit.value_bytes) + Beats(value_bytes, unit.value_bytes);
}

// The tree's root, which sees every record, and the verdict after it.
inline uint64_t MergeCycles(const UnitShape& unit, uint64_t user_bytes) {
  return std::max<uint64_t>(1, Beats(user_bytes, unit.value_bytes));
}

inline uint64_t TransferCycles(const UnitShape& unit, uint64_t value_bytes) {
  return std::max<uint64_t>(1, Beats(value_bytes, unit.value_bytes));
}

// `shared`: bytes that the entry leaves out of its user key. The trailer rides on the key's last
// beat if what is left of that leaves room for it.
inline uint64_t EncodeCycles(const UnitShape& unit, uint64_t user_bytes, uint64_t shared,
                             uint64_t value_bytes) {
  const uint64_t key_beats = MergeCycles(unit, user_bytes);
  const uint64_t last_begin = (key_beats - 1) * unit.value_bytes;
  const uint64_t last = user_bytes - std::max(shared, last_begin);
  return 1 + key_beats + (last + 8 > unit.value_bytes ? 1 : 0) +
         Beats(value_bytes, unit.value_bytes);
}

// ------------------------------------------------------------------ a block

// The decoder, after the block's records: it sees the restart array, which stands at `offset` in
// memory, and drops two chunks a cycle of the `bytes` from there to the trailer's end.
inline uint64_t DecodeEndCycles(const UnitShape& unit, uint64_t offset, uint64_t bytes) {
  return Beats(BeatsFrom(offset, bytes, unit.value_bytes), 2);
}

// The encoder: the restart array and its length, V / 4 words a cycle.
inline uint64_t EncodeEndCycles(const UnitShape& unit, uint64_t restarts) {
  return Beats(restarts + 1, unit.value_bytes / 4);
}

// The encoder at a table's end: one to see that it ends, one for the token.
inline constexpr uint64_t kTableEndCycles = 2;

// The index reader, which all ways share, for one entry: a turn, a byte of header and handle a
// cycle, a word of the key.
inline uint64_t IndexReadCycles(uint64_t entry_bytes, uint64_t key_bytes) {
  return 5 + entry_bytes - key_bytes + std::max<uint64_t>(1, Beats(key_bytes, 8));
}

// The same for a table's descriptor, and at an index block's end, beside the words there: the
// number of restarts and the trailer, byte by byte.
inline constexpr uint64_t kDescriptorReadCycles = 12;
inline constexpr uint64_t kIndexReadEndCycles = 20;

// The index encoder, for one entry: header, user key, trailer, and one or two for the handle.
inline uint64_t IndexEncodeCycles(uint64_t user_bytes, uint64_t handle_bytes) {
  return 2 + std::max<uint64_t>(1, Beats(user_bytes, 8)) + (handle_bytes > 8 ? 2 : 1);
}

// The index encoder at a table's end: restart array, two words a cycle, token, table record.
inline uint64_t IndexEndCycles(uint64_t blocks) { return Beats(blocks + 1, 2) + 9; }

// An encoder of Snappy, from a block's first word to the last that it makes: four bytes a cycle, and
// what is left in its stages then. Of a block that stays raw, a long literal is.
inline double CompressCycles(uint64_t raw_bytes, bool compressed) {
  return static_cast<double>(raw_bytes) / 4 + (compressed ? 20 : 84);
}

// ------------------------------------------------------------------ the unit's constants
// Depths of the FIFOs that let one stage run ahead of another (parameters of hw/rtl).

inline constexpr uint64_t kReadFifoBeats = 256;  // sluice_unit: InFifoBeats, per way
inline constexpr uint64_t kBurstBeats = 16;      // cu_read_engine, cu_write_engine
inline constexpr uint64_t kBlocksAhead = 8;      // cu_read_engine: Requests; cu_entry_decoder
inline constexpr uint64_t kValueFifoBeats = 64;  // sluice_unit: ValueFifoBeats, per way
inline constexpr uint64_t kWindowChunks = 4;     // cu_byte_window
inline constexpr uint64_t kSnappyChunks = 16;    // cu_snappy_history: Rows
inline constexpr uint64_t kKeyFifoBeats = 16;    // cu_entry_decoder: KeyFifo, per way
inline constexpr uint64_t kInfoFifo = 32;        // cu_entry_decoder: RecFifo, per way
inline constexpr uint64_t kQueuedKeys = 4;       // cu_key_queue: Keys
// sluice_unit: IndexFifoBeats, per way.
constexpr uint64_t IndexFifoBeats(uint64_t v) { return v > 16 ? 4 * v : 64; }
inline constexpr uint64_t kMaxKeyBytes = 1024;    // sluice_unit: MaxKeyBytes
inline constexpr uint64_t kVerdicts = 8;          // cu_visibility_filter: u_verdicts
inline constexpr uint64_t kTransferFifo = 16;     // cu_transfer: OutDepth, records and beats
inline constexpr uint64_t kWriteFifoBeats = 64;   // cu_write_engine: FifoBeats
inline constexpr uint64_t kBurstsAhead = 64;      // cu_read_engine: MaxBursts
inline constexpr uint64_t kBlocksBehind = 8;      // cu_index_encoder: ItemDepth
inline constexpr uint64_t kWriteBursts = 16;      // cu_write_engine: MaxOutstanding
inline constexpr uint64_t kCompressBytes = 8192;  // cu_compress_stage: BlockBytes
// cu_bloom_stage: MaxFilterKeys, MaxFilterBytes, of a block.
inline constexpr uint64_t kMaxFilterKeys = 2048;
inline constexpr uint64_t kMaxFilterBytes = 4096;

// From the room for a burst in a client's FIFO to its first beat there: the memory, and registers
// on the way there and back.
inline double RoundTrip(const UnitShape& unit) { return unit.latency + 12.0; }

}  // namespace sluice::model
