// The memory of a simulated card: DRAM contents, and AXI4 ports with latency and back-pressure. The
// benches of single modules use it, too.
//
// A port works on pointers to the model's signals, whatever their width. In every cycle: Drive()
// sets what the memory says, from its own state alone; the model settles; Sample() looks at the
// handshakes that the coming clock edge completes. While a beat or a response is not valid, its
// signals are noise. Protocol faults of the unit (a burst over a 4 KiB border, a misplaced wlast, a
// withdrawn valid) are kept in fault() as a sentence. The strobes of a beat must all be set, or none,
// as in the rest of a burst whose unit is reset; unless partial_strobes says that any may.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "util/status.h"

namespace sluice::rtlsim {

// A burst.
struct Access {
  std::string_view port;
  bool write = false;
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint32_t beat_bytes = 0;
};

struct MemoryOptions {
  uint64_t bytes = 1ull << 30;
  uint32_t latency = 30;            // cycles from an accepted address to its first beat or response
  uint32_t jitter = 0;              // up to this many cycles more, at random
  uint32_t take_stall_percent = 0;  // of cycles in which a port takes no address, or no data
  uint32_t give_stall_percent = 0;  // of cycles in which it gives nothing
  bool data_first = false;          // data to write is taken whether its address was or not
  bool partial_strobes = false;     // others than the unit write, too
  uint64_t seed = 1;
  // Accesses that touch one of these [begin, end) are answered with SLVERR, and no data.
  std::vector<std::pair<uint64_t, uint64_t>> poison = {};
  // Cycles of the card's in which no port takes or gives anything.
  uint64_t mute_begin = 0;
  uint64_t mute_end = 0;
  // Sees every burst as it is accepted; may be empty.
  std::function<void(const Access&)> watch = {};
};

// Bytes from address `base` on, zero, that cost nothing until written.
class Dram {
 public:
  explicit Dram(uint64_t bytes, uint64_t base = 0);
  ~Dram();
  Dram(const Dram&) = delete;
  Dram& operator=(const Dram&) = delete;

  char* data() { return data_; }
  char* At(uint64_t address) const { return data_ + (address - base_); }
  uint64_t base() const { return base_; }
  uint64_t size() const { return size_; }
  bool Contains(uint64_t address, uint64_t bytes) const {
    return address >= base_ && address - base_ <= size_ && bytes <= size_ - (address - base_);
  }

 private:
  char* data_;
  uint64_t size_;
  uint64_t base_;
};

// The address channel of a port.
struct AxiAddressSignals {
  const uint64_t* addr;
  const uint8_t* len;
  const uint8_t* size;
  const uint8_t* burst;
  const uint8_t* valid;
  uint8_t* ready;
};

// What read and write ports have in common.
class AxiPort {
 public:
  const std::string& fault() const { return fault_; }
  uint64_t bursts() const { return accepted_; }
  uint64_t outstanding() const { return outstanding_; }  // bursts not answered yet
  uint64_t beats() const { return beats_; }

 protected:
  AxiPort(std::string name, Dram* dram, const MemoryOptions& options, uint32_t beat_bytes,
          const AxiAddressSignals& address)
      : name_(std::move(name)),
        dram_(dram),
        options_(options),
        beat_bytes_(beat_bytes),
        rng_(options.seed ^ std::hash<std::string>{}(name_)),
        address_(address) {}

  void Fault(const std::string& what);
  bool Stalls(uint64_t cycle, uint32_t percent) {
    return (cycle >= options_.mute_begin && cycle < options_.mute_end) ||
           (percent != 0 && rng_() % 100 < percent);
  }
  bool Takes(uint64_t cycle) { return !Stalls(cycle, options_.take_stall_percent); }
  bool Gives(uint64_t cycle) { return !Stalls(cycle, options_.give_stall_percent); }
  // The first cycle in which a burst is answered.
  uint64_t Due(uint64_t cycle) { return cycle + options_.latency + rng_() % (options_.jitter + 1); }
  static uint64_t Noise(uint64_t cycle) { return cycle * 0x9e37'79b9'7f4a'7c15; }
  void DriveAddress(uint64_t cycle);
  // True if the coming clock edge takes a burst.
  bool SampleAddress(bool write);
  // To an access to the beat at `address`.
  uint8_t Response(uint64_t address) const;
  void ResetAddress();

  static constexpr uint8_t kOkay = 0;
  static constexpr uint8_t kSlaveError = 2;
  static constexpr uint8_t kDecodeError = 3;

  std::string name_;
  Dram* dram_;
  const MemoryOptions& options_;
  uint32_t beat_bytes_;
  uint64_t outstanding_ = 0;
  uint64_t beats_ = 0;

 private:
  static constexpr uint64_t kMaxOutstanding = 64;

  std::mt19937_64 rng_;
  AxiAddressSignals address_;
  std::string fault_;
  bool asked_ = false;  // valid was up without ready
  uint64_t asked_address_ = 0;
  uint64_t accepted_ = 0;
};

struct AxiReadSignals {
  AxiAddressSignals ar;
  void* rdata;
  uint8_t* rresp;
  uint8_t* rlast;
  uint8_t* rvalid;
  const uint8_t* rready;
};

class AxiReadPort : public AxiPort {
 public:
  AxiReadPort(std::string name, Dram* dram, const MemoryOptions& options, uint32_t beat_bytes,
              const AxiReadSignals& signals)
      : AxiPort(std::move(name), dram, options, beat_bytes, signals.ar), s_(signals) {}

  void Drive(uint64_t cycle);
  void Sample(uint64_t cycle);
  void Reset();

 private:
  struct Burst {
    uint64_t address;
    uint32_t beats_left;
    uint64_t ready_cycle;
  };

  AxiReadSignals s_;
  std::deque<Burst> bursts_;
  bool holding_ = false;  // rvalid is up and must stay up until taken
};

struct AxiWriteSignals {
  AxiAddressSignals aw;
  const void* wdata;
  const void* wstrb;
  const uint8_t* wlast;
  const uint8_t* wvalid;
  uint8_t* wready;
  uint8_t* bresp;
  uint8_t* bvalid;
  const uint8_t* bready;
};

class AxiWritePort : public AxiPort {
 public:
  AxiWritePort(std::string name, Dram* dram, const MemoryOptions& options, uint32_t beat_bytes,
               const AxiWriteSignals& signals)
      : AxiPort(std::move(name), dram, options, beat_bytes, signals.aw), s_(signals) {}

  void Drive(uint64_t cycle);
  void Sample(uint64_t cycle);
  void Reset();

 private:
  struct Burst {
    uint64_t address;
    uint32_t beats_left;
    uint8_t response;
  };
  struct Beat {
    std::string data;
    uint64_t strobes;
    bool last;
  };
  struct Answer {
    uint64_t ready_cycle;
    uint8_t response;
  };

  void TakeBeat();
  // Into memory: the first beat of the first burst.
  void Store(uint64_t cycle);

  AxiWriteSignals s_;
  std::deque<Burst> bursts_;  // addresses taken, data not complete
  std::deque<Beat> data_;     // taken, address not
  std::deque<Answer> answers_;
  bool holding_ = false;
};

}  // namespace sluice::rtlsim

// The signals of a port of `dut`, called PREFIXaddrSUFFIX and so on. Suffixes may be empty.
#define SLUICE_AXI_ADDRESS(dut, prefix, in, out)                                          \
  {                                                                                       \
    &(dut)->prefix##addr##out, &(dut)->prefix##len##out, &(dut)->prefix##size##out,       \
        &(dut)->prefix##burst##out, &(dut)->prefix##valid##out, &(dut)->prefix##ready##in \
  }
#define SLUICE_AXI_READ(dut, prefix, in, out)                                             \
  sluice::rtlsim::AxiReadSignals {                                                        \
    SLUICE_AXI_ADDRESS(dut, prefix##ar, in, out), &(dut)->prefix##rdata##in,              \
        &(dut)->prefix##rresp##in, &(dut)->prefix##rlast##in, &(dut)->prefix##rvalid##in, \
        &(dut)->prefix##rready##out                                                       \
  }
#define SLUICE_AXI_WRITE(dut, prefix, in, out)                                               \
  sluice::rtlsim::AxiWriteSignals {                                                          \
    SLUICE_AXI_ADDRESS(dut, prefix##aw, in, out), &(dut)->prefix##wdata##out,                \
        &(dut)->prefix##wstrb##out, &(dut)->prefix##wlast##out, &(dut)->prefix##wvalid##out, \
        &(dut)->prefix##wready##in, &(dut)->prefix##bresp##in, &(dut)->prefix##bvalid##in,   \
        &(dut)->prefix##bready##out                                                          \
  }
