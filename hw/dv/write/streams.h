// The two ends of a valid/ready stream, and the memory behind a write port, for benches of the write
// side.

#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../common/testbench.h"
#include "device/rtlsim/axi_memory.h"

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
  size_t left() const { return items_.size(); }
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

// All that a write port may write to, filled with 0xee. Address and data are taken independently, and
// answered at once, unless `options` are changed.
struct WriteArea {
  WriteArea(uint64_t base, uint64_t bytes, uint32_t beat_bytes,
            const rtlsim::AxiWriteSignals& signals, uint64_t seed)
      : options{.latency = 0, .data_first = true, .seed = seed},
        dram(bytes, base),
        port("write", &dram, options, beat_bytes, signals) {
    std::fill_n(dram.data(), dram.size(), '\xee');
  }
  std::string_view bytes() { return {dram.data(), dram.size()}; }

  rtlsim::MemoryOptions options;
  rtlsim::Dram dram;
  rtlsim::AxiWritePort port;
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

}  // namespace sluice::dv
