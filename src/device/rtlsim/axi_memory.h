// The memory of a simulated card: DRAM contents, and AXI4 ports with latency and back-pressure.
//
// A port works on pointers to the model's signals, whatever their width. In every cycle: Drive()
// sets what the memory says, from its own state alone; the model settles; Sample() looks at the
// handshakes that the coming clock edge completes. Protocol faults of the unit (a burst over a 4
// KiB border, a misplaced wlast, a withdrawn valid) are kept in fault() as a sentence.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <string_view>

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
  uint32_t latency = 30;       // cycles from an accepted address to its first beat or response
  uint32_t stall_percent = 0;  // of cycles in which a port takes or gives nothing
  uint64_t seed = 1;
  // Accesses that touch [poison_begin, poison_end) are answered with SLVERR, and no data.
  uint64_t poison_begin = 0;
  uint64_t poison_end = 0;
  // Cycles of the card's in which no port takes or gives anything.
  uint64_t mute_begin = 0;
  uint64_t mute_end = 0;
  // Sees every burst as it is accepted; may be empty.
  std::function<void(const Access&)> watch;
};

// Zero-filled bytes that cost nothing until written.
class Dram {
 public:
  explicit Dram(uint64_t bytes);
  ~Dram();
  Dram(const Dram&) = delete;
  Dram& operator=(const Dram&) = delete;

  char* data() { return data_; }
  uint64_t size() const { return size_; }
  bool Contains(uint64_t address, uint64_t bytes) const {
    return address <= size_ && bytes <= size_ - address;
  }

 private:
  char* data_;
  uint64_t size_;
};

// What read and write ports have in common.
class AxiPort {
 public:
  const std::string& fault() const { return fault_; }

 protected:
  AxiPort(std::string name, Dram* dram, const MemoryOptions& options, uint32_t beat_bytes)
      : name_(std::move(name)),
        dram_(dram),
        options_(options),
        beat_bytes_(beat_bytes),
        rng_(options.seed ^ std::hash<std::string>{}(name_)) {}

  bool Stalls(uint64_t cycle) {
    return (cycle >= options_.mute_begin && cycle < options_.mute_end) ||
           (options_.stall_percent != 0 && rng_() % 100 < options_.stall_percent);
  }
  void Fault(const std::string& what);
  void CheckBurst(bool write, uint64_t address, uint8_t len, uint8_t size, uint8_t burst);
  bool Answers(uint64_t address) const;

  static constexpr uint8_t kOkay = 0;
  static constexpr uint8_t kSlaveError = 2;
  static constexpr uint8_t kDecodeError = 3;

  std::string name_;
  Dram* dram_;
  const MemoryOptions& options_;
  uint32_t beat_bytes_;
  std::mt19937_64 rng_;
  std::string fault_;
};

struct AxiReadSignals {
  const uint64_t* araddr;
  const uint8_t* arlen;
  const uint8_t* arsize;
  const uint8_t* arburst;
  const uint8_t* arvalid;
  uint8_t* arready;
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
      : AxiPort(std::move(name), dram, options, beat_bytes), s_(signals) {}

  void Drive(uint64_t cycle);
  void Sample(uint64_t cycle);
  void Reset();
  uint64_t beats() const { return beats_; }

 private:
  struct Burst {
    uint64_t address;
    uint32_t beats_left;
    uint64_t ready_cycle;
  };
  static constexpr size_t kMaxOutstanding = 64;

  AxiReadSignals s_;
  std::deque<Burst> bursts_;
  bool holding_ = false;  // rvalid is up and must stay up until taken
  bool asked_ = false;    // arvalid was up without arready
  uint64_t asked_address_ = 0;
  uint64_t beats_ = 0;
};

struct AxiWriteSignals {
  const uint64_t* awaddr;
  const uint8_t* awlen;
  const uint8_t* awsize;
  const uint8_t* awburst;
  const uint8_t* awvalid;
  uint8_t* awready;
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
      : AxiPort(std::move(name), dram, options, beat_bytes), s_(signals) {}

  void Drive(uint64_t cycle);
  void Sample(uint64_t cycle);
  void Reset();
  uint64_t beats() const { return beats_; }

 private:
  struct Burst {
    uint64_t address;
    uint32_t beats_left;
    uint8_t response;
  };
  struct Response {
    uint64_t ready_cycle;
    uint8_t response;
  };
  static constexpr size_t kMaxOutstanding = 64;

  void TakeBeat(uint64_t cycle);

  AxiWriteSignals s_;
  std::deque<Burst> bursts_;  // addresses taken, data not complete
  std::deque<Response> responses_;
  bool holding_ = false;
  bool asked_ = false;
  uint64_t asked_address_ = 0;
  uint64_t beats_ = 0;
};

}  // namespace sluice::rtlsim
