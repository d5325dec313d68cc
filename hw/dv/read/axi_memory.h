// The other end of an AXI4 read port: a memory with random latency, back-pressure and bus errors.
// Answers in order, as for a single ID.

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <random>
#include <set>
#include <string>

#include "../common/testbench.h"

namespace sluice::dv {

// Device memory: bytes from `base` on.
struct Memory {
  uint64_t base = 0;
  std::string bytes;

  uint64_t Append(std::string_view data) {
    const uint64_t address = base + bytes.size();
    bytes.append(data);
    return address;
  }
  void Align(size_t to) { bytes.resize((bytes.size() + to - 1) / to * to); }
  std::string Read(uint64_t address, size_t n) const {
    std::string out(n, '\0');
    for (size_t i = 0; i < n; ++i) {
      const uint64_t at = address + i - base;
      out[i] = at < bytes.size() ? bytes[at] : '\x5a';
    }
    return out;
  }
};

struct MemoryTiming {
  unsigned latency = 20;         // cycles from address to first beat
  unsigned jitter = 0;           // more, at random
  unsigned ready_percent = 100;  // of cycles in which an address is taken
  unsigned valid_percent = 100;  // of cycles in which a due beat is there
};

// RData is the type of the rdata port. Call Drive before Settle and Observe after it.
template <typename RData>
class AxiReadMemory {
 public:
  struct Port {
    const uint64_t& araddr;
    const uint8_t& arlen;
    const uint8_t& arvalid;
    uint8_t& arready;
    RData& rdata;
    uint8_t& rresp;
    uint8_t& rlast;
    uint8_t& rvalid;
    const uint8_t& rready;
  };

  AxiReadMemory(Port port, size_t bus_bytes, const Memory* memory)
      : port_(port), bus_bytes_(bus_bytes), memory_(memory) {}

  void set_timing(const MemoryTiming& timing) { timing_ = timing; }
  // The beat that holds `address` is answered with an error.
  void AddError(uint64_t address) { errors_.insert(address / bus_bytes_); }
  void Clear() {
    bursts_.clear();
    errors_.clear();
    offered_ = false;
  }

  uint64_t beats() const { return beats_; }
  size_t outstanding() const { return bursts_.size(); }

  void Drive(uint64_t cycle, std::mt19937_64& rng) {
    port_.arready = Chance(rng, timing_.ready_percent);
    if (!offered_) {
      offered_ =
          !bursts_.empty() && bursts_.front().due <= cycle && Chance(rng, timing_.valid_percent);
    }
    port_.rvalid = offered_;
    port_.rresp = 0;
    port_.rlast = 0;
    if (offered_) {
      const Burst& burst = bursts_.front();
      SetBytes(port_.rdata, memory_->Read(burst.address, bus_bytes_));
      port_.rlast = burst.beats == 1;
      port_.rresp = errors_.contains(burst.address / bus_bytes_) ? 2 : 0;
    } else {
      std::memset(&port_.rdata, static_cast<int>(rng()), sizeof(port_.rdata));
    }
  }

  void Observe(uint64_t cycle, std::mt19937_64& rng) {
    if (port_.rvalid && port_.rready) {
      Burst& burst = bursts_.front();
      burst.address += bus_bytes_;
      ++beats_;
      if (--burst.beats == 0) {
        bursts_.pop_front();
      }
      offered_ = false;
    }
    if (port_.arvalid && port_.arready) {
      const uint64_t beats = uint64_t{port_.arlen} + 1;
      EXPECT_EQ(port_.araddr % bus_bytes_, 0u);
      EXPECT_EQ(port_.araddr / 4096, (port_.araddr + beats * bus_bytes_ - 1) / 4096);
      const unsigned extra = timing_.jitter == 0 ? 0 : rng() % timing_.jitter;
      bursts_.push_back({port_.araddr, beats, cycle + timing_.latency + extra});
    }
  }

 private:
  struct Burst {
    uint64_t address;
    uint64_t beats;
    uint64_t due;
  };

  Port port_;
  size_t bus_bytes_;
  const Memory* memory_;
  MemoryTiming timing_;
  std::set<uint64_t> errors_;
  std::deque<Burst> bursts_;
  bool offered_ = false;
  uint64_t beats_ = 0;
};

}  // namespace sluice::dv
