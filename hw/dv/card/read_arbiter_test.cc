// The read arbiter between random masters and a memory that checks what it is asked: every burst
// answered to its own unit, in order, complete; shares of the port; units cut off while they have
// bursts under way.

#include <gtest/gtest.h>

#include <deque>
#include <numeric>
#include <vector>

#include "Vread_arbiter_3.h"
#include "Vread_arbiter_4.h"
#include "hw/dv/common/testbench.h"

namespace sluice::dv {
namespace {

constexpr size_t kBudget = 32;  // bursts per unit: the module's default

struct Burst {
  uint64_t address;
  unsigned beats;
};

// What the memory answers at an address, and how.
uint64_t DataAt(uint64_t address) { return address * 0x9e37'79b9'7f4a'7c15; }
uint8_t ResponseAt(uint64_t address) { return (DataAt(address) >> 60) == 0 ? 2 : 0; }

template <typename M, unsigned units>
struct Shape {
  using Model = M;
  static constexpr unsigned kUnits = units;
};

template <typename S>
class ReadArbiter : public testing::Test {
 protected:
  static constexpr unsigned kUnits = S::kUnits;

  struct Unit {
    std::deque<Burst> to_ask;
    std::deque<Burst> to_come;  // asked for; front: the rest of the burst being answered
    bool asking = false;
    uint64_t bursts = 0;  // granted
    uint64_t beats = 0;
    unsigned ask_percent = 100;
    unsigned take_percent = 100;
  };

  ReadArbiter() {
    dut_->isolate_i = 0;
    dut_->s_axi_arvalid_i = dut_->m_axi_rvalid_i = 0;
    dut_.Reset();
  }

  void Refill(Unit* unit, unsigned shortest, unsigned longest) {
    while (unit->to_ask.size() < 4) {
      unit->to_ask.push_back(
          {rng_() & ~7ull, static_cast<unsigned>(shortest + rng_() % (longest - shortest + 1))});
    }
  }

  // One clock cycle. The memory takes an address, and gives a beat that is due, in
  // `memory_percent_` of cycles.
  void Cycle() {
    uint32_t arvalid = 0;
    uint32_t rready = 0;
    for (unsigned u = 0; u < kUnits; ++u) {
      Unit& unit = units_[u];
      unit.asking = unit.asking || (!unit.to_ask.empty() && Chance(rng_, unit.ask_percent));
      arvalid |= unit.asking ? 1u << u : 0;
      rready |= Chance(rng_, unit.take_percent) ? 1u << u : 0;
      if (unit.asking) {
        std::memcpy(reinterpret_cast<char*>(&dut_->s_axi_araddr_i) + 8 * u,
                    &unit.to_ask.front().address, 8);
        reinterpret_cast<uint8_t*>(&dut_->s_axi_arlen_i)[u] = unit.to_ask.front().beats - 1;
      }
    }
    dut_->s_axi_arvalid_i = arvalid;
    dut_->s_axi_rready_i = rready;
    dut_->isolate_i = isolated_;
    dut_->m_axi_arready_i = Chance(rng_, memory_percent_);
    offered_ = offered_ || (!memory_.empty() && memory_.front().due <= dut_.cycle() &&
                            Chance(rng_, memory_percent_));
    dut_->m_axi_rvalid_i = offered_;
    if (offered_) {
      dut_->m_axi_rdata_i = DataAt(memory_.front().at.address);
      dut_->m_axi_rresp_i = ResponseAt(memory_.front().at.address);
      dut_->m_axi_rlast_i = memory_.front().at.beats == 1;
    }
    dut_.Settle();

    for (unsigned u = 0; u < kUnits; ++u) {
      Unit& unit = units_[u];
      if ((arvalid & dut_->s_axi_arready_o) >> u & 1) {
        ASSERT_FALSE(isolated_ >> u & 1);
        unit.to_come.push_back(unit.to_ask.front());
        order_.push_back({u, unit.to_ask.front()});
        unit.to_ask.pop_front();
        unit.asking = false;
        ++unit.bursts;
      }
      if ((dut_->s_axi_rvalid_o & rready) >> u & 1) {
        ASSERT_FALSE(unit.to_come.empty());
        Burst& burst = unit.to_come.front();
        EXPECT_EQ(dut_->s_axi_rdata_o, DataAt(burst.address));
        EXPECT_EQ(dut_->s_axi_rresp_o, ResponseAt(burst.address));
        EXPECT_EQ(dut_->s_axi_rlast_o, burst.beats == 1);
      }
      // A swallowed beat counts as moved, too.
      if (dut_->beat_o >> u & 1) {
        ASSERT_FALSE(unit.to_come.empty());
        Burst& burst = unit.to_come.front();
        ++unit.beats;
        burst.address += 8;
        if (--burst.beats == 0) unit.to_come.pop_front();
      }
      EXPECT_EQ(isolated_ >> u & dut_->s_axi_rvalid_o >> u & 1, 0u);
    }
    EXPECT_EQ(dut_->beat_o != 0, dut_->m_axi_rvalid_i && dut_->m_axi_rready_o);
    if (dut_->m_axi_rvalid_i && dut_->m_axi_rready_o) {
      memory_.front().at.address += 8;
      offered_ = false;
      if (--memory_.front().at.beats == 0) memory_.pop_front();
    }
    if (dut_->m_axi_arvalid_o && dut_->m_axi_arready_i) {
      ASSERT_FALSE(order_.empty());
      EXPECT_EQ(dut_->m_axi_araddr_o, order_.front().second.address);
      EXPECT_EQ(dut_->m_axi_arlen_o + 1u, order_.front().second.beats);
      memory_.push_back({order_.front().second, dut_.cycle() + latency_});
      order_.pop_front();
    }
    dut_.Tick();
    dut_.Settle();
    for (unsigned u = 0; u < kUnits; ++u) {
      EXPECT_LE(units_[u].to_come.size(), kBudget);
      EXPECT_EQ(dut_->idle_o >> u & 1, units_[u].to_come.empty());
    }
  }

  struct Due {
    Burst at;
    uint64_t due;
  };

  const uint64_t seed_ = TestSeed();
  std::mt19937_64 rng_{seed_};
  Testbench<typename S::Model> dut_;
  std::vector<Unit> units_{kUnits};
  std::deque<std::pair<unsigned, Burst>> order_;  // granted, not yet at the memory
  std::deque<Due> memory_;
  bool offered_ = false;
  uint32_t isolated_ = 0;
  unsigned memory_percent_ = 100;
  uint64_t latency_ = 30;
};

using Shapes = testing::Types<Shape<Vread_arbiter_3, 3>, Shape<Vread_arbiter_4, 4>>;
TYPED_TEST_SUITE(ReadArbiter, Shapes);

TYPED_TEST(ReadArbiter, AnswersGoWhereTheyBelong) {
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(this->seed_));
  for (int round = 0; round < 60; ++round) {
    this->memory_percent_ = 20 + this->rng_() % 81;
    this->latency_ = this->rng_() % 80;
    for (auto& unit : this->units_) {
      unit.ask_percent = this->rng_() % 3 == 0 ? 2 : 100;
      unit.take_percent = this->rng_() % 3 == 0 ? 50 : 100;
    }
    for (int n = 0; n < 400; ++n) {
      for (auto& unit : this->units_) this->Refill(&unit, 1, 16);
      this->Cycle();
      if (this->HasFailure()) return;
    }
  }
  // What has been asked for comes.
  for (auto& unit : this->units_) {
    unit.to_ask.resize(unit.asking ? 1 : 0);
    unit.ask_percent = unit.take_percent = 100;
  }
  for (int n = 0; n < 50'000 && this->dut_->idle_o != (1u << this->kUnits) - 1; ++n) this->Cycle();
  for (auto& unit : this->units_) {
    EXPECT_GT(unit.bursts, 100u);
    EXPECT_TRUE(unit.to_come.empty());
  }
}

// All ask all the time: the port never rests, and everyone has the same part of it.
TYPED_TEST(ReadArbiter, EqualSharesAndNoBubbles) {
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(this->seed_));
  for (const auto& [shortest, longest] : {std::pair{16u, 16u}, std::pair{1u, 16u}}) {
    for (int n = 0; n < 1000; ++n) {  // the pipe fills
      for (auto& unit : this->units_) this->Refill(&unit, shortest, longest);
      this->Cycle();
    }
    std::vector<uint64_t> before;
    for (auto& unit : this->units_) before.push_back(unit.beats);
    constexpr uint64_t kCycles = 60'000;
    for (uint64_t n = 0; n < kCycles; ++n) {
      for (auto& unit : this->units_) this->Refill(&unit, shortest, longest);
      this->Cycle();
    }
    uint64_t all = 0;
    for (unsigned u = 0; u < this->kUnits; ++u) {
      const double share = static_cast<double>(this->units_[u].beats - before[u]) / kCycles;
      std::cout << "bursts of " << shortest << " to " << longest << " beats, unit " << u << ": "
                << share << " of the port\n";
      EXPECT_NEAR(share * this->kUnits, 1.0, shortest == longest ? 0.002 : 0.06);
      all += this->units_[u].beats - before[u];
    }
    EXPECT_EQ(all, kCycles);
  }
}

// One whose bursts are long, or who has a whole budget waiting, cannot keep another from its turns.
TYPED_TEST(ReadArbiter, TurnsAreByBurst) {
  for (int n = 0; n < 20'000; ++n) {
    for (unsigned u = 0; u < this->kUnits; ++u) {
      this->Refill(&this->units_[u], u == 0 ? 1 : 16, u == 0 ? 1 : 16);
    }
    this->Cycle();
  }
  for (auto& unit : this->units_) {
    EXPECT_NEAR(static_cast<double>(unit.bursts), static_cast<double>(this->units_[0].bursts),
                kBudget);
  }
}

TYPED_TEST(ReadArbiter, CutsOffOneUnitAlone) {
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(this->seed_));
  for (int round = 0; round < 100; ++round) {
    this->memory_percent_ = 20 + this->rng_() % 81;
    this->latency_ = this->rng_() % 80;
    const unsigned victim = this->rng_() % this->kUnits;
    const uint64_t begin = this->rng_() % 300;
    for (uint64_t n = 0; n < begin; ++n) {
      for (auto& unit : this->units_) this->Refill(&unit, 1, 16);
      this->Cycle();
    }
    // It does not even take its answers any more.
    this->isolated_ = 1u << victim;
    this->units_[victim].take_percent = 0;
    bool idle = false;
    for (int n = 0; n < 20'000 && !idle; ++n) {
      for (auto& unit : this->units_) this->Refill(&unit, 1, 16);
      this->Cycle();
      if (this->HasFailure()) return;
      idle = this->dut_->idle_o >> victim & 1;
    }
    ASSERT_TRUE(idle) << "round " << round;
    this->units_[victim].asking = false;  // reset
    this->units_[victim].to_ask.clear();
    this->units_[victim].take_percent = 100;
    this->isolated_ = 0;
  }
}

}  // namespace
}  // namespace sluice::dv
