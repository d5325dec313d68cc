// The write arbiter between random masters and a memory: every burst's beats under its own address,
// every answer to its own unit, in order; shares of the port; units cut off in the middle of a
// burst.

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "Vwrite_arbiter_3.h"
#include "Vwrite_arbiter_4.h"
#include "hw/dv/common/testbench.h"

namespace sluice::dv {
namespace {

constexpr size_t kBudget = 16;  // bursts per unit: the module's default

struct Burst {
  uint64_t address;
  unsigned beats;
};

uint64_t DataAt(uint64_t address) { return address * 0x9e37'79b9'7f4a'7c15; }
uint8_t StrobesAt(uint64_t address) { return static_cast<uint8_t>(DataAt(address) >> 40 | 1); }
uint8_t ResponseAt(uint64_t address) { return (DataAt(address) >> 60) < 4 ? 2 : 0; }

template <typename M, unsigned units>
struct Shape {
  using Model = M;
  static constexpr unsigned kUnits = units;
};

template <typename S>
class WriteArbiter : public testing::Test {
 protected:
  static constexpr unsigned kUnits = S::kUnits;

  struct Unit {
    std::deque<Burst> to_ask;
    std::deque<Burst> to_send;    // front: the rest of the burst being sent
    std::deque<Burst> to_settle;  // without an answer
    bool asking = false;
    bool sending = false;
    uint64_t bursts = 0;  // granted
    uint64_t beats = 0;
    unsigned ask_percent = 100;
    unsigned send_percent = 100;
    unsigned take_percent = 100;
  };
  struct Granted {
    unsigned unit;
    Burst burst;  // of the memory: the rest of it
    uint64_t address;
    uint64_t due = 0;
  };

  WriteArbiter() {
    dut_->isolate_i = 0;
    dut_->s_axi_awvalid_i = dut_->s_axi_wvalid_i = dut_->m_axi_bvalid_i = 0;
    dut_->m_axi_wready_i = 0;
    dut_.Reset();
  }

  void Refill(Unit* unit, unsigned shortest, unsigned longest) {
    while (unit->to_ask.size() < 4) {
      unit->to_ask.push_back(
          {rng_() & ~7ull, static_cast<unsigned>(shortest + rng_() % (longest - shortest + 1))});
    }
  }

  void DriveUnit(unsigned u) {
    Unit& unit = units_[u];
    unit.asking = unit.asking || (!unit.to_ask.empty() && Chance(rng_, unit.ask_percent));
    if (unit.asking) {
      std::memcpy(reinterpret_cast<char*>(&dut_->s_axi_awaddr_i) + 8 * u,
                  &unit.to_ask.front().address, 8);
      reinterpret_cast<uint8_t*>(&dut_->s_axi_awlen_i)[u] = unit.to_ask.front().beats - 1;
    }
    unit.sending = unit.sending || (!unit.to_send.empty() && Chance(rng_, unit.send_percent));
    if (unit.sending) {
      const Burst& burst = unit.to_send.front();
      const uint64_t data = DataAt(burst.address);
      std::memcpy(reinterpret_cast<char*>(&dut_->s_axi_wdata_i) + 8 * u, &data, 8);
      reinterpret_cast<uint8_t*>(&dut_->s_axi_wstrb_i)[u] = StrobesAt(burst.address);
      dut_->s_axi_wlast_i = (dut_->s_axi_wlast_i & ~(1u << u)) | (burst.beats == 1 ? 1u << u : 0);
    }
    const auto bit = [&](bool value) { return value ? 1u << u : 0; };
    dut_->s_axi_awvalid_i |= bit(unit.asking);
    dut_->s_axi_wvalid_i |= bit(unit.sending);
    dut_->s_axi_bready_i |= bit(Chance(rng_, unit.take_percent));
  }

  void SampleUnit(unsigned u) {
    Unit& unit = units_[u];
    const bool isolated = isolated_ >> u & 1;
    if (dut_->s_axi_awvalid_i & dut_->s_axi_awready_o & 1u << u) {
      ASSERT_FALSE(isolated);
      const Burst burst = unit.to_ask.front();
      unit.to_ask.pop_front();
      unit.to_send.push_back(burst);
      unit.to_settle.push_back(burst);
      asked_.push_back(burst);
      sent_.push_back({u, burst, burst.address});
      unit.asking = false;
      ++unit.bursts;
    }
    if (dut_->s_axi_wvalid_i & dut_->s_axi_wready_o & 1u << u) {
      ASSERT_FALSE(isolated);
      unit.sending = false;
      unit.to_send.front().address += 8;
      if (--unit.to_send.front().beats == 0) unit.to_send.pop_front();
    }
    unit.beats += dut_->beat_o >> u & 1;
    if (dut_->s_axi_bvalid_o & dut_->s_axi_bready_i & 1u << u) {
      ASSERT_FALSE(isolated);
      ASSERT_FALSE(unit.to_settle.empty());
      EXPECT_EQ(dut_->s_axi_bresp_o, ResponseAt(unit.to_settle.front().address));
    }
  }

  void SampleMemory() {
    if (dut_->m_axi_bvalid_i && dut_->m_axi_bready_o) {
      units_[answers_.front().unit].to_settle.pop_front();
      answers_.pop_front();
      offered_ = false;
    }
    if (dut_->m_axi_awvalid_o && dut_->m_axi_awready_i) {
      ASSERT_FALSE(asked_.empty());
      EXPECT_EQ(dut_->m_axi_awaddr_o, asked_.front().address);
      EXPECT_EQ(dut_->m_axi_awlen_o + 1u, asked_.front().beats);
      asked_.pop_front();
    }
    if (dut_->m_axi_wvalid_o && dut_->m_axi_wready_i) {
      ASSERT_FALSE(sent_.empty());
      Granted& front = sent_.front();
      if (dut_->m_axi_wstrb_o == 0) {
        ++made_up_;
      } else {
        EXPECT_EQ(dut_->m_axi_wdata_o, DataAt(front.burst.address));
        EXPECT_EQ(dut_->m_axi_wstrb_o, StrobesAt(front.burst.address));
      }
      EXPECT_EQ(dut_->m_axi_wlast_o, front.burst.beats == 1);
      front.burst.address += 8;
      ++beats_;
      if (--front.burst.beats == 0) {
        front.due = dut_.cycle() + latency_;
        answers_.push_back(front);
        sent_.pop_front();
      }
    }
  }

  void Cycle() {
    dut_->s_axi_awvalid_i = dut_->s_axi_wvalid_i = dut_->s_axi_bready_i = 0;
    for (unsigned u = 0; u < kUnits; ++u) DriveUnit(u);
    dut_->isolate_i = isolated_;
    dut_->m_axi_awready_i = Chance(rng_, memory_percent_);
    dut_->m_axi_wready_i = Chance(rng_, memory_percent_);
    offered_ = offered_ || (!answers_.empty() && answers_.front().due <= dut_.cycle() &&
                            Chance(rng_, memory_percent_));
    dut_->m_axi_bvalid_i = offered_;
    if (offered_) dut_->m_axi_bresp_i = ResponseAt(answers_.front().address);
    dut_.Settle();
    for (unsigned u = 0; u < kUnits; ++u) SampleUnit(u);
    SampleMemory();
    dut_.Tick();
    dut_.Settle();
    for (unsigned u = 0; u < kUnits; ++u) {
      EXPECT_LE(units_[u].to_settle.size(), kBudget);
      EXPECT_EQ(dut_->idle_o >> u & 1, units_[u].to_settle.empty());
    }
  }

  const uint64_t seed_ = TestSeed();
  std::mt19937_64 rng_{seed_};
  Testbench<typename S::Model> dut_;
  std::vector<Unit> units_{kUnits};
  std::deque<Burst> asked_;      // granted; addresses not yet at the memory
  std::deque<Granted> sent_;     // granted; data not complete at the memory
  std::deque<Granted> answers_;  // due
  bool offered_ = false;
  uint32_t isolated_ = 0;
  unsigned memory_percent_ = 100;
  uint64_t latency_ = 30;
  uint64_t beats_ = 0;
  uint64_t made_up_ = 0;  // beats without strobes
};

using Shapes = testing::Types<Shape<Vwrite_arbiter_3, 3>, Shape<Vwrite_arbiter_4, 4>>;
TYPED_TEST_SUITE(WriteArbiter, Shapes);

TYPED_TEST(WriteArbiter, DataAndAnswersGoWhereTheyBelong) {
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(this->seed_));
  for (int round = 0; round < 60; ++round) {
    this->memory_percent_ = 20 + this->rng_() % 81;
    this->latency_ = this->rng_() % 80;
    for (auto& unit : this->units_) {
      unit.ask_percent = this->rng_() % 3 == 0 ? 2 : 100;
      unit.send_percent = this->rng_() % 3 == 0 ? 50 : 100;
      unit.take_percent = this->rng_() % 3 == 0 ? 50 : 100;
    }
    for (int n = 0; n < 400; ++n) {
      for (auto& unit : this->units_) this->Refill(&unit, 1, 16);
      this->Cycle();
      if (this->HasFailure()) return;
    }
  }
  for (auto& unit : this->units_) {
    unit.to_ask.resize(unit.asking ? 1 : 0);
    unit.ask_percent = unit.send_percent = unit.take_percent = 100;
  }
  for (int n = 0; n < 50'000 && this->dut_->idle_o != (1u << this->kUnits) - 1; ++n) this->Cycle();
  for (auto& unit : this->units_) {
    EXPECT_GT(unit.bursts, 100u);
    EXPECT_TRUE(unit.to_send.empty() && unit.to_settle.empty());
  }
  EXPECT_EQ(this->made_up_, 0u);
}

TYPED_TEST(WriteArbiter, EqualSharesAndNoBubbles) {
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(this->seed_));
  for (const auto& [shortest, longest] : {std::pair{16u, 16u}, std::pair{1u, 16u}}) {
    for (int n = 0; n < 1000; ++n) {
      for (auto& unit : this->units_) this->Refill(&unit, shortest, longest);
      this->Cycle();
    }
    std::vector<uint64_t> before;
    for (auto& unit : this->units_) before.push_back(unit.beats);
    const uint64_t all = this->beats_;
    constexpr uint64_t kCycles = 60'000;
    for (uint64_t n = 0; n < kCycles; ++n) {
      for (auto& unit : this->units_) this->Refill(&unit, shortest, longest);
      this->Cycle();
    }
    for (unsigned u = 0; u < this->kUnits; ++u) {
      const double share = static_cast<double>(this->units_[u].beats - before[u]) / kCycles;
      std::cout << "bursts of " << shortest << " to " << longest << " beats, unit " << u << ": "
                << share << " of the port\n";
      EXPECT_NEAR(share * this->kUnits, 1.0, shortest == longest ? 0.002 : 0.06);
    }
    EXPECT_EQ(this->beats_ - all, kCycles);
  }
}

TYPED_TEST(WriteArbiter, CutsOffOneUnitAlone) {
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(this->seed_));
  for (int round = 0; round < 100; ++round) {
    this->memory_percent_ = 20 + this->rng_() % 81;
    this->latency_ = this->rng_() % 80;
    const unsigned victim = this->rng_() % this->kUnits;
    this->units_[victim].send_percent = this->rng_() % 3 == 0 ? 50 : 100;
    const uint64_t begin = this->rng_() % 300;
    for (uint64_t n = 0; n < begin; ++n) {
      for (auto& unit : this->units_) this->Refill(&unit, 1, 16);
      this->Cycle();
    }
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
    auto& unit = this->units_[victim];  // reset
    unit.asking = unit.sending = false;
    unit.to_ask.clear();
    unit.to_send.clear();
    unit.take_percent = unit.send_percent = 100;
    this->isolated_ = 0;
  }
  EXPECT_GT(this->made_up_, 0u);
}

}  // namespace
}  // namespace sluice::dv
