// The two ends of a valid/ready stream, and an AXI4 write memory, for benches of the write side.

#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../common/testbench.h"

namespace sluice::dv {

// A beat of a chunk or word stream.
struct Beat {
  std::string data;
  bool last = false;
  uint8_t token = 0;

  bool operator==(const Beat&) const = default;
};

inline constexpr uint8_t kTableEnd = 1;
inline constexpr uint8_t kTaskEnd = 2;

// Offers its items one by one: in each cycle with a probability, and until taken once offered.
template <typename Item>
class Source {
 public:
  void Push(Item item) { items_.push_back(std::move(item)); }
  bool empty() const { return items_.empty(); }
  const Item& front() const { return items_.front(); }

  bool Offer(std::mt19937_64& rng, unsigned percent) {
    offered_ = offered_ || (!items_.empty() && Chance(rng, percent));
    return offered_;
  }
  void Taken() {
    items_.pop_front();
    offered_ = false;
  }

 private:
  std::deque<Item> items_;
  bool offered_ = false;
};

// Takes items, each cycle with a probability, and sees that one offered stays as it is until taken.
template <typename Item>
class Sink {
 public:
  bool Drive(std::mt19937_64& rng, unsigned percent) { return ready_ = Chance(rng, percent); }

  void Sample(bool valid, Item item) {
    stable_ = stable_ && (!waiting_ || (valid && item == last_));
    waiting_ = valid && !ready_;
    last_ = item;
    if (valid && ready_) {
      items_.push_back(std::move(item));
    }
  }

  const std::vector<Item>& items() const { return items_; }
  bool stable() const { return stable_; }

 private:
  std::vector<Item> items_;
  Item last_{};
  bool ready_ = false;
  bool waiting_ = false;
  bool stable_ = true;
};

// A bench's random choices: SLUICE_SEED replays them.
class Randomised {
 public:
  std::string Trace(int round) const {
    return "SLUICE_SEED=" + std::to_string(seed_) + " round " + std::to_string(round);
  }
  // Percent of cycles in which an end of a stream is willing.
  unsigned Pressure() {
    const unsigned percents[] = {100, 100, 80, 50, 20};
    return percents[rng_() % std::size(percents)];
  }
  std::string Bytes(size_t n) {
    std::string bytes(n, '\0');
    for (char& byte : bytes) byte = static_cast<char>(rng_());
    return bytes;
  }

 protected:
  uint64_t seed_ = TestSeed();
  std::mt19937_64 rng_{seed_};
};

// `bytes` cut into beats of `width`; at least one.
inline std::vector<std::string> Beats(const std::string& bytes, size_t width) {
  std::vector<std::string> beats;
  for (size_t at = 0; at == 0 || at < bytes.size(); at += width) {
    beats.push_back(bytes.substr(at, width));
  }
  return beats;
}

// One AXI4 write port's memory. Checks what a master must keep to; Problem() says what it did not.
// Address and data are taken independently, answers come late.
class AxiMemory {
 public:
  AxiMemory(uint64_t base, uint64_t bytes, size_t bus_bytes)
      : base_(base), bytes_(bytes, '\xee'), bus_bytes_(bus_bytes) {}

  unsigned ready_percent = 100;
  unsigned delay = 0;            // of answers, cycles at most
  uint64_t error_burst = ~0ull;  // this one is answered with an error

  const std::string& bytes() const { return bytes_; }
  const std::string& problem() const { return problem_; }
  uint64_t bursts() const { return answered_ + Pending(); }
  uint64_t Pending() const { return addresses_.size() + answers_.size(); }

  // What the memory does in this cycle.
  bool awready = false;
  bool wready = false;
  bool bvalid = false;
  uint8_t bresp = 0;

  void Drive(std::mt19937_64& rng) {
    awready = Chance(rng, ready_percent);
    wready = Chance(rng, ready_percent);
    if (!bvalid && !answers_.empty() && answers_.front() <= cycle_) {
      bvalid = true;
      bresp = answered_ == error_burst ? 2 : 0;
    }
    rng_delay_ = delay == 0 ? 0 : rng() % delay;
  }

  struct Address {
    uint64_t address;
    unsigned length, size, burst;
  };

  void Sample(bool awvalid, Address address, bool wvalid, std::string wdata, bool full_strobe,
              bool wlast, bool bready) {
    ++cycle_;
    if (awvalid && awready) {
      TakeAddress(address);
    }
    if (wvalid && wready) {
      Check(full_strobe, "partial strobe");
      data_.emplace_back(std::move(wdata), wlast);
    }
    if (bvalid && bready) {
      bvalid = false;
      answers_.pop_front();
      ++answered_;
    }
    Complete();
  }

 private:
  void Check(bool good, const char* what) {
    if (!good && problem_.empty()) {
      problem_ = what;
    }
  }

  void TakeAddress(const Address& a) {
    const uint64_t size = (a.length + 1) * bus_bytes_;
    Check(a.burst == 1 && (1u << a.size) == bus_bytes_, "not a full-width incrementing burst");
    Check(a.address % bus_bytes_ == 0, "unaligned");
    Check(a.address / 4096 == (a.address + size - 1) / 4096, "burst crosses 4 KiB");
    Check(a.address >= base_ && a.address + size <= base_ + bytes_.size(), "outside the area");
    addresses_.push_back(a);
  }

  void Complete() {
    while (!addresses_.empty() && data_.size() > addresses_.front().length) {
      const Address a = addresses_.front();
      for (unsigned i = 0; i <= a.length; ++i) {
        const auto& [beat, last] = data_.front();
        Check(last == (i == a.length), "last beat not marked, or another");
        const uint64_t at = a.address - base_ + i * bus_bytes_;
        if (at + bus_bytes_ <= bytes_.size()) {
          bytes_.replace(at, bus_bytes_, beat);
        }
        data_.pop_front();
      }
      addresses_.pop_front();
      answers_.push_back(std::max(cycle_ + rng_delay_, answers_.empty() ? 0 : answers_.back()));
    }
  }

  uint64_t base_;
  std::string bytes_;
  size_t bus_bytes_;
  uint64_t cycle_ = 0;
  uint64_t rng_delay_ = 0;
  uint64_t answered_ = 0;
  std::deque<Address> addresses_;
  std::deque<std::pair<std::string, bool>> data_;
  std::deque<uint64_t> answers_;  // cycles from which they may be given
  std::string problem_;
};

// A module's stream input and output, of width `kBytes`.
template <typename Dut>
void DriveBeat(Dut& dut, Source<Beat>& source, std::mt19937_64& rng, unsigned percent) {
  dut->in_valid_i = source.Offer(rng, percent);
  if (dut->in_valid_i) {
    const Beat& beat = source.front();
    SetBytes(dut->in_data_i, beat.data);
    dut->in_bytes_i = beat.data.size();
    dut->in_last_i = beat.last;
    dut->in_token_i = beat.token;
  }
}

// The beat on the output: its valid bytes only; the modules assert that the rest is zero.
template <size_t kBytes, typename Dut>
Beat OutBeat(Dut& dut) {
  return {GetBytes(dut->out_data_o, std::min<size_t>(dut->out_bytes_o, kBytes)),
          dut->out_last_o != 0, dut->out_token_o};
}

// The ports of one AXI write master of `dut` that start with `p`, connected to `memory`.
#define SLUICE_AXI_DRIVE(dut, p, memory)    \
  do {                                      \
    (dut)->p##awready_i = (memory).awready; \
    (dut)->p##wready_i = (memory).wready;   \
    (dut)->p##bvalid_i = (memory).bvalid;   \
    (dut)->p##bresp_i = (memory).bresp;     \
  } while (false)
#define SLUICE_AXI_SAMPLE(dut, p, memory, bus)                                          \
  (memory).Sample(                                                                      \
      (dut)->p##awvalid_o,                                                              \
      {(dut)->p##awaddr_o, (dut)->p##awlen_o, (dut)->p##awsize_o, (dut)->p##awburst_o}, \
      (dut)->p##wvalid_o, GetBytes((dut)->p##wdata_o, (bus)),                           \
      GetBytes((dut)->p##wstrb_o, ((bus) + 7) / 8) == std::string((bus) / 8, '\xff'),   \
      (dut)->p##wlast_o, (dut)->p##bready_o)

}  // namespace sluice::dv
