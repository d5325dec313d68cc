// What every module bench needs: a clocked model, wide-signal access, and a coin for valid/ready.
//
// A cycle is: drive inputs; Settle(); look at outputs (handshakes that are about to happen);
// Tick(), which is the rising edge. Failing SystemVerilog assertions abort the test.

#pragma once

#include <verilated.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <string_view>

#include "device/rtlsim/coverage.h"
#include "util/testing.h"

namespace sluice::dv {

template <typename Model>
class Testbench {
 public:
  // What registers and memories hold before they are written: zeros, or what a seed other than 0
  // draws.
  explicit Testbench(int seed = 0) : model_(Make(&context_, seed)) {}
  ~Testbench() {
    model_->final();
    rtlsim::WriteCoverage(&context_);
  }

  Model* operator->() { return model_.get(); }
  uint64_t cycle() const { return cycle_; }
  VerilatedContext& context() { return context_; }

  // Lets combinational outputs follow the inputs.
  void Settle() {
    model_->clk_i = 0;
    model_->eval();
  }

  void Tick() {
    model_->clk_i = 1;
    model_->eval();
    context_.timeInc(1);
    ++cycle_;
  }

  void Reset() {
    model_->rst_ni = 0;
    for (int i = 0; i < 4; ++i) {
      Settle();
      Tick();
    }
    model_->rst_ni = 1;
    Settle();
  }

 private:
  static std::unique_ptr<Model> Make(VerilatedContext* context, int seed) {
    if (seed != 0) {
      context->randReset(2);
      context->randSeed(seed);
    }
    return std::make_unique<Model>(context);
  }

  VerilatedContext context_;
  std::unique_ptr<Model> model_;
  uint64_t cycle_ = 0;
};

// Any port as bytes, least significant first: Verilator makes wide ports arrays of words and
// narrow ones integers, both little-endian in memory.
template <typename Port>
void SetBytes(Port& port, std::string_view bytes) {
  std::memset(&port, 0, sizeof(port));
  std::memcpy(&port, bytes.data(), std::min(bytes.size(), sizeof(port)));
}

template <typename Port>
std::string GetBytes(const Port& port, size_t n, size_t offset = 0) {
  return std::string(reinterpret_cast<const char*>(&port) + offset, n);
}

using sluice::TestSeed;

// True with a probability of percent/100.
inline bool Chance(std::mt19937_64& rng, unsigned percent) { return rng() % 100 < percent; }

}  // namespace sluice::dv
