// A device that merges: what any card, real or simulated, must be able to do, and nothing more.
// Everything above this table of calls is shared by all backends, so that simulator and card cannot
// drift apart.
//
// One device has one compaction unit and its memory. Device addresses are in bytes. Memory belongs
// to slots, one for each task that is in flight: while the unit runs the job of one, the inputs of
// the next are written and the outputs of the one before are read.
//
// Start, Wait and Reset are called by one thread at a time, everything else by any thread at any
// time. Where several units share a card, each is a device with a part of the card's memory.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "util/status.h"

namespace sluice {

// What the unit was built with (abi: capability registers).
struct DeviceInfo {
  std::string name;    // of the configuration
  uint32_t units = 1;  // on the card, this one counted
  uint32_t ways = 0;
  uint32_t value_bytes = 0;  // datapath width per cycle
  uint32_t in_bytes = 0;     // of a beat of the data read port
  uint32_t out_bytes = 0;    // of a beat of the data write port
  uint32_t max_key_bytes = 0;
  uint32_t max_value_bytes = 0;
  uint32_t max_restarts = 0;
  uint32_t max_blocks = 0;
  bool snappy = false;       // input data blocks may be compressed with it; index blocks never
  bool bloom = false;        // jobs may ask for a filter of each output block
  uint32_t compressors = 0;  // and for blocks compressed with Snappy, unless 0
  bool xxh3 = false;         // data blocks of a job may have checksums by XXH3
  uint64_t memory_bytes = 0;
  double clock_mhz = 0;
};

class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const = 0;

  // Reserves `bytes` of device memory for `slot`, 4 KiB aligned; NotSupported if there is not enough
  // left in one piece.
  virtual Status Allocate(uint32_t slot, uint64_t bytes, uint64_t* address) = 0;
  // Gives back everything that was allocated for `slot`.
  virtual void Free(uint32_t slot) = 0;
  // After an IoError of these two, as after one of Start and Wait, Reset is needed.
  virtual Status Write(uint64_t address, std::string_view bytes) = 0;
  virtual Status Read(uint64_t address, uint64_t bytes, char* out) = 0;

  // As Write or Read of one piece after the other, in one call: what a DMA engine does that takes a
  // list (scatter-gather), and the host waits for once.
  struct Source {
    uint64_t address;
    std::string_view bytes;
  };
  struct Target {
    uint64_t address;
    uint64_t bytes;
    char* out;
  };
  virtual Status WriteAll(std::span<const Source> pieces) {
    for (const Source& piece : pieces) {
      SLUICE_RETURN_IF_ERROR(Write(piece.address, piece.bytes));
    }
    return {};
  }
  virtual Status ReadAll(std::span<const Target> pieces) {
    for (const Target& piece : pieces) {
      SLUICE_RETURN_IF_ERROR(Read(piece.address, piece.bytes, piece.out));
    }
    return {};
  }

  // Starts the job whose descriptor stands at `descriptor`. One job at a time.
  virtual Status Start(uint64_t descriptor) = 0;
  // Returns when the job is complete; `*status` is the unit's own word (abi MergeStatus). An
  // IoError means that it did not answer within `cycles` of its clock since Start, or has stopped
  // moving data: Reset is needed. Simulated and modelled devices count their own cycles, however
  // fast they run; a card has nothing but time on the wall, of which it must allow ten times what
  // so many cycles take, and ten seconds at least.
  virtual Status Wait(uint64_t cycles, uint8_t* status) = 0;
  // Brings the unit back to the state after power-up, whatever it does; memory keeps its content,
  // and other units on the card go on.
  virtual Status Reset() = 0;

  // How long a call that transfers so many bytes takes, if nothing else is on the link. Nothing:
  // there is no telling.
  virtual std::optional<double> TransferSeconds(uint64_t) const { return {}; }

  // CPU time of this process, so far, that stands for the card's own work: of a simulation or a
  // model. From any thread.
  virtual double CardCpuSeconds() { return 0; }
};

}  // namespace sluice
