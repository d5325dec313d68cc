// Every fault that a FaultDevice knows: a DeviceExecutor either sees it, or it did no harm.

#include "device/fault_device.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "device/device_executor.h"
#include "device/testing.h"
#include "merge/cpu_executor.h"
#include "merge/outputs.h"
#include "util/testing.h"

namespace sluice {
namespace {

struct Count {
  int ok = 0;
  int failed = 0;
};

class FaultDeviceTest : public testing::Test {
 protected:
  void Open(const FaultOptions& options) {
    auto device = std::make_unique<FaultDevice>(InstantUnit(1024, true, 4, true), options);
    device_ = device.get();
    unit_ = std::make_unique<DeviceExecutor>(std::move(device));
  }

  // Runs `tasks`; of those that seem to succeed the result must be the CPU's.
  Count RunAll(int tasks) {
    Count count;
    for (int i = 0; i < tasks; ++i) {
      GeneratedTask input = RandomTask(rng_);
      input.task.bloom_bits_per_key = unit_->makes_filters() && rng_() % 2 == 0 ? 10 : 0;
      input.task.compress = unit_->compresses() && rng_() % 2 == 0;
      if (unit_->takes_xxh3() && rng_() % 2 == 0) {
        input.UseXxh3(rng_);
      }
      std::vector<OwnedOutput> expected;
      std::vector<OwnedOutput> actual;
      const MergeResult cpu = CpuExecutor().Run(input.task, CollectInto(&expected));
      const MergeResult result = unit_->Run(input.task, CollectInto(&actual));
      if (!result.ok()) {
        ++count.failed;
        continue;
      }
      ++count.ok;
      const Status same = CompareOutputs(actual, expected);
      EXPECT_TRUE(same.ok()) << same.ToString();
      EXPECT_EQ(result.stats.input_records, cpu.stats.input_records);
      EXPECT_EQ(result.stats.dropped_records, cpu.stats.dropped_records);
      EXPECT_EQ(result.stats.output_checksum, cpu.stats.output_checksum);
      EXPECT_EQ(result.stats.output_bytes, cpu.stats.output_bytes);
      EXPECT_EQ(result.stats.output_tables, cpu.stats.output_tables);
    }
    return count;
  }

  const uint64_t seed_ = TestSeed();
  std::mt19937_64 rng_{seed_};
  FaultDevice* device_ = nullptr;
  std::unique_ptr<DeviceExecutor> unit_;
};

TEST_F(FaultDeviceTest, WithoutFaultsIsTheDevice) {
  Open({});
  EXPECT_EQ(RunAll(20).failed, 0);
  EXPECT_EQ(device_->injected(), 0u);
}

TEST_F(FaultDeviceTest, SilenceIsSeenAndEndsWithAReset) {
  for (const FaultRates& rates :
       {FaultRates{.hang = 1}, FaultRates{.lost_interrupt = 1}, FaultRates{.late = 1}}) {
    Open({.rates = rates, .jobs = 3, .seed = seed_});
    EXPECT_EQ(RunAll(3).failed, 3);
    EXPECT_EQ(RunAll(10).failed, 0);
    EXPECT_EQ(device_->injected(), 3u);
  }
}

TEST_F(FaultDeviceTest, BusErrorsAreSeen) {
  Open({.rates = {.bus_error = 1}, .jobs = 10, .seed = seed_});
  EXPECT_EQ(RunAll(10).failed, 10);
  EXPECT_EQ(RunAll(10).failed, 0);
}

TEST_F(FaultDeviceTest, NoWrongResultGetsThrough) {
  Open({.rates = {.wrong_result = 1}, .seed = seed_});
  const Count count = RunAll(3000);
  EXPECT_GT(device_->injected(), 2000u);
  // Not every bit matters: footers, room that no output needs, what is read again.
  EXPECT_GT(count.failed, 1000);
  EXPECT_GT(count.ok, 100);
}

TEST_F(FaultDeviceTest, AllAtOnce) {
  Open(
      {.rates =
           {.hang = 0.1, .lost_interrupt = 0.1, .late = 0.1, .bus_error = 0.1, .wrong_result = 0.2},
       .stuck_reset = 0.2,
       .seed = seed_});
  const Count count = RunAll(500);
  EXPECT_GT(count.failed, 100);
  EXPECT_GT(count.ok, 100);
}

// Every wait has a limit of cycles in proportion to the input, also with jobs that take more room
// than they were given.
TEST_F(FaultDeviceTest, NoWaitIsWithoutALimit) {
  class Recorder : public FaultDevice {
   public:
    Recorder() : FaultDevice(InstantUnit(), {}) {}
    Status Wait(uint64_t cycles, uint8_t* status) override {
      EXPECT_LT(cycles, uint64_t{1} << 32);
      waits += 1;
      return FaultDevice::Wait(cycles, status);
    }
    int waits = 0;
  };
  auto device = std::make_unique<Recorder>();
  const Recorder& recorder = *device;
  unit_ = std::make_unique<DeviceExecutor>(std::move(device));
  EXPECT_EQ(RunAll(50).failed, 0);
  EXPECT_GE(recorder.waits, 50);
}

// A device that a reset does not bring back takes no task until one does.
class StuckDevice : public FaultDevice {
 public:
  explicit StuckDevice(int resets)
      : FaultDevice(InstantUnit(), {.rates = {.hang = 1}, .jobs = 1}), resets_(resets) {}
  Status Reset() override {
    return resets_-- > 0 ? Status::IoError("still busy") : FaultDevice::Reset();
  }

 private:
  int resets_;
};

TEST_F(FaultDeviceTest, ResetsThatFail) {
  unit_ = std::make_unique<DeviceExecutor>(std::make_unique<StuckDevice>(3));
  EXPECT_EQ(RunAll(3).failed, 3);
  EXPECT_EQ(RunAll(3).failed, 0);
}

}  // namespace
}  // namespace sluice
