// The write engine against a memory that checks AXI's rules: contents, padding, limits, halts, bus
// errors, jobs one after another, and how much of the bus it can use.

#include <gtest/gtest.h>

#include <optional>

#include "Vwrite_engine_16_64_64.h"
#include "Vwrite_engine_64_64_64.h"
#include "Vwrite_engine_8_64_64.h"
#include "Vwrite_engine_8_8_64.h"
#include "Vwrite_engine_8_8_8.h"
#include "streams.h"

namespace sluice::dv {
namespace {

template <typename M, size_t in, size_t bus, size_t align>
struct Shape {
  using Model = M;
  static constexpr size_t kIn = in;
  static constexpr size_t kBus = bus;
  static constexpr size_t kAlign = align;
};

template <typename S>
class WriteEngine : public testing::Test, protected Randomised {
 protected:
  WriteEngine() {
    dut_->start_i = dut_->halt_i = dut_->in_valid_i = 0;
    dut_.Reset();
  }

  struct Job {
    std::vector<Beat> words;
    std::string area;  // as it must end up
  };

  // The last table's end may come as the task's.
  Job Tables(size_t tables, size_t longest, bool merged_end) {
    Job job;
    for (size_t table = 0; table < tables; ++table) {
      const std::string bytes = Bytes(rng_() % (longest + 1));
      job.area += bytes;
      job.area.resize((job.area.size() + S::kAlign - 1) / S::kAlign * S::kAlign);
      const bool task = merged_end && table + 1 == tables;
      size_t at = 0;
      for (; at + S::kIn <= bytes.size(); at += S::kIn) {
        job.words.push_back({bytes.substr(at, S::kIn), false, 0});
      }
      // What is left goes with the token, which may also ride on the last full word.
      if (at == bytes.size() && at != 0 && rng_() % 2 == 0) {
        job.words.pop_back();
        at -= S::kIn;
      }
      job.words.push_back({bytes.substr(at), true, task ? kTaskEnd : kTableEnd});
    }
    if (!merged_end || tables == 0) job.words.push_back({"", true, kTaskEnd});
    return job;
  }

  // Into an area of `limit` bytes.
  void Start(const Job& job, uint64_t base, uint64_t limit) {
    memory_.emplace(base, limit, S::kBus, SLUICE_AXI_WRITE(dut_, m_axi_, _i, _o), rng_());
    memory_->port.Drive(dut_.cycle());
    source_ = {};
    for (const Beat& word : job.words) source_.Push(word);
    dut_->in_valid_i = 0;
    dut_->start_i = 1;
    dut_->addr_i = base;
    dut_->limit_i = limit;
    dut_.Settle();
    dut_.Tick();
    dut_->start_i = 0;
    dut_.Settle();
  }

  void Cycle(unsigned percent) {
    DriveBeat(dut_, source_, rng_, percent);
    memory_->port.Drive(dut_.cycle());
    dut_.Settle();
    memory_->port.Sample(dut_.cycle());
    if (dut_->in_valid_i && dut_->in_ready_o) source_.Taken();
    EXPECT_EQ(dut_->stall_o, (dut_->m_axi_wvalid_o && !dut_->m_axi_wready_i) ||
                                 (dut_->m_axi_awvalid_o && !dut_->m_axi_awready_i));
    dut_.Tick();
    dut_.Settle();
  }

  // Cycles until done, 0 if it never is.
  uint64_t Run(unsigned percent, uint64_t limit) {
    for (uint64_t n = 1; n <= limit; ++n) {
      Cycle(percent);
      if (dut_->done_o) return n;
    }
    return 0;
  }

  void RandomiseMemory() {
    memory_->options.take_stall_percent = 100 - Pressure();
    memory_->options.jitter = rng_() % 3 * 50;
  }

  uint64_t Base() { return 0x1234'0000 + rng_() % 256 * 64; }

  Testbench<typename S::Model> dut_;
  std::optional<WriteArea> memory_;
  Source<Beat> source_;
};

using Shapes =
    testing::Types<Shape<Vwrite_engine_8_8_8, 8, 8, 8>, Shape<Vwrite_engine_8_8_64, 8, 8, 64>,
                   Shape<Vwrite_engine_8_64_64, 8, 64, 64>,
                   Shape<Vwrite_engine_16_64_64, 16, 64, 64>,
                   Shape<Vwrite_engine_64_64_64, 64, 64, 64>>;
TYPED_TEST_SUITE(WriteEngine, Shapes);

TYPED_TEST(WriteEngine, JobsOneAfterAnother) {
  for (int round = 0; round < 100; ++round) {
    SCOPED_TRACE(this->Trace(round));
    auto& rng = this->rng_;
    const auto job = this->Tables(rng() % 6, 64 << rng() % 8, rng() % 2 == 0);
    const uint64_t base = this->Base();
    this->Start(job, base, (job.area.size() + 63) / 64 * 64);
    this->RandomiseMemory();
    WriteArea& memory = *this->memory_;
    ASSERT_NE(this->Run(this->Pressure(), 1'000'000), 0u);
    EXPECT_EQ(memory.port.fault(), "");
    EXPECT_EQ(this->dut_->used_o, job.area.size());
    EXPECT_TRUE(memory.bytes().compare(0, job.area.size(), job.area) == 0);
    EXPECT_TRUE(this->dut_->idle_o && !this->dut_->full_o && !this->dut_->error_o);
    EXPECT_EQ(memory.port.outstanding(), 0u);
    for (int n = 0; n < 20; ++n) this->Cycle(100);
    EXPECT_TRUE(this->dut_->done_o);
    if (this->HasFailure()) return;
  }
}

TYPED_TEST(WriteEngine, NeverPastTheLimit) {
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(this->Trace(round));
    auto& rng = this->rng_;
    const auto job = this->Tables(1 + rng() % 6, 3000, rng() % 2 == 0);
    const uint64_t limit = rng() % (job.area.size() / 64 + 1) * 64;
    const uint64_t base = this->Base();
    this->Start(job, base, limit);
    this->RandomiseMemory();
    WriteArea& memory = *this->memory_;
    ASSERT_NE(this->Run(this->Pressure(), 1'000'000), 0u);
    EXPECT_EQ(memory.port.fault(), "");
    EXPECT_EQ(this->dut_->full_o, job.area.size() > limit);
    EXPECT_FALSE(this->dut_->error_o);
    EXPECT_EQ(this->dut_->used_o, std::min<uint64_t>(limit, job.area.size()));
    EXPECT_TRUE(memory.bytes().compare(0, this->dut_->used_o, job.area, 0, this->dut_->used_o) ==
                0);
    EXPECT_TRUE(this->source_.empty());
    if (this->HasFailure()) return;
  }
}

// Each beat's error is seen, whichever it is, and the job still ends.
TYPED_TEST(WriteEngine, BusErrors) {
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(this->Trace(round));
    const auto job = this->Tables(3, 3000, false);
    const uint64_t base = this->Base();
    this->Start(job, base, 16384);
    this->RandomiseMemory();
    const uint64_t bad = this->rng_() % (job.area.size() + 200);
    this->memory_->options.poison = {{base + bad, base + bad + 1}};
    ASSERT_NE(this->Run(this->Pressure(), 1'000'000), 0u);
    EXPECT_EQ(this->dut_->error_o, bad < job.area.size());
    if (this->HasFailure()) return;
  }
}

// Halted anywhere: bursts that were issued complete, no others follow, input is swallowed, and the
// next job is as good as new. A halted job is never done, even where nothing was left to issue: the
// words that follow are lost.
TYPED_TEST(WriteEngine, HaltAndStartAgain) {
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(this->Trace(round));
    auto& rng = this->rng_;
    const uint64_t base = this->Base();
    const auto job = this->Tables(4, 6000, false);
    this->Start(job, base, 32768);
    this->RandomiseMemory();
    WriteArea& memory = *this->memory_;
    const unsigned percent = this->Pressure();
    const uint64_t reach = round % 2 == 0 ? 500 : 20;
    for (uint64_t n = rng() % reach; n > 0 && !this->dut_->done_o; --n) this->Cycle(percent);
    this->dut_->halt_i = 1;
    this->Cycle(percent);
    this->dut_->halt_i = 0;
    const bool done = this->dut_->done_o;  // it came before the halt did
    for (int n = 0; n < 5000 && !this->dut_->idle_o; ++n) this->Cycle(percent);
    ASSERT_TRUE(this->dut_->idle_o);
    const uint64_t bursts = memory.port.bursts();
    for (int n = 0; n < 10000 && !this->source_.empty(); ++n) this->Cycle(100);
    EXPECT_TRUE(this->source_.empty());
    for (int n = 0; n < 20; ++n) this->Cycle(100);
    EXPECT_EQ(memory.port.bursts(), bursts);
    EXPECT_EQ(memory.port.outstanding(), 0u);
    EXPECT_EQ(memory.port.fault(), "");
    EXPECT_EQ(this->dut_->done_o, done);
    EXPECT_FALSE(this->dut_->error_o);

    const auto next = this->Tables(3, 2000, true);
    this->Start(next, base, 8192);
    ASSERT_NE(this->Run(100, 100'000), 0u);
    EXPECT_EQ(this->memory_->port.fault(), "");
    EXPECT_TRUE(this->memory_->bytes().compare(0, next.area.size(), next.area) == 0);
    if (this->HasFailure()) return;
  }
}

// A beat per cycle on the narrower of both sides, though answers take 40 cycles.
TYPED_TEST(WriteEngine, FullBandwidth) {
  typename TestFixture::Job job;
  job.area = this->Bytes(1 << 18);
  for (auto& beat : Beats(job.area, TypeParam::kIn)) job.words.push_back({beat, false, 0});
  job.words.push_back({"", true, kTaskEnd});
  this->Start(job, 0x4000'0000, job.area.size());
  this->memory_->options.latency = 40;
  const uint64_t cycles = this->Run(100, 1'000'000);
  EXPECT_TRUE(this->memory_->bytes() == job.area);
  EXPECT_LE(cycles, job.words.size() + 120);
  EXPECT_GE(cycles, job.words.size());
  // In whole bursts: from an aligned address none is shorter.
  EXPECT_EQ(this->memory_->port.bursts(), job.area.size() / (16 * TypeParam::kBus));
}

}  // namespace
}  // namespace sluice::dv
