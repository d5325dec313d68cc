// The driver over the unit's RTL while everything goes wrong that can: every result is the CPU's,
// and no job is waited for beyond its limit.

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <random>
#include <thread>
#include <vector>

#include "device/contract.h"
#include "device/device_executor.h"
#include "device/executors.h"
#include "device/testing.h"
#include "merge/outputs.h"
#include "sluice_abi.h"
#include "util/testing.h"

namespace sluice {
namespace {

constexpr std::string_view kConfig = "tiny";

std::unique_ptr<Device> Rtl(const RtlDeviceOptions& options = {}) {
  std::unique_ptr<Device> device;
  EXPECT_TRUE(MakeRtlDevice(kConfig, options, &device).ok());
  return device;
}

class DriverRtlFaultTest : public testing::Test {
 protected:
  void RunOne(OffloadDriver* driver, const MergeTask& task) {
    std::vector<OwnedOutput> expected;
    std::vector<OwnedOutput> actual;
    EXPECT_TRUE(CpuExecutor().Run(task, CollectInto(&expected)).ok());
    const MergeResult result = driver->Run(task, CollectInto(&actual));
    EXPECT_TRUE(result.ok()) << result.error.ToString();
    const Status same = CompareOutputs(actual, expected);
    EXPECT_TRUE(same.ok()) << same.ToString();
  }

  const uint64_t seed_ = TestSeed();
  std::mt19937_64 rng_{seed_};
};

// A model needs none, and what Verilator's would do as they begin races with the next model's making.
TEST(RtlDeviceTest, StartsNoThreads) {
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  const auto before = threads();
  const std::unique_ptr<Device> device = Rtl();
  EXPECT_EQ(threads(), before);
}

TEST_F(DriverRtlFaultTest, Faults) {
  for (const double rate : {0.0, 0.2, 1.0}) {
    ExecutorOptions options;
    options.fault = {.rates = AllFaults(rate), .stuck_reset = rate / 4, .seed = seed_};
    std::unique_ptr<OffloadDriver> driver;
    ASSERT_TRUE(MakeDriver("rtl", kConfig, options,
                           {.pool = {.probe_after = {}, .probe_after_most = {}}}, &driver)
                    .ok());
    const int tasks = rate == 0 ? 3 : 12;
    for (int i = 0; i < tasks; ++i) {
      RunOne(driver.get(), RandomTask(rng_, 4).task);
    }
    if (rate == 0) {
      EXPECT_EQ(driver->stats().on_units, 3u);
    }
    // And with several tasks in flight.
    std::vector<std::thread> callers;
    for (int t = 0; t < 4; ++t) {
      callers.emplace_back([&, seed = rng_()] {
        std::mt19937_64 rng(seed);
        for (int i = 0; i < tasks / 3; ++i) {
          RunOne(driver.get(), RandomTask(rng, 4).task);
        }
      });
    }
    for (std::thread& caller : callers) {
      caller.join();
    }
    if (rate == 0) {
      EXPECT_EQ(driver->stats().on_units, 7u);
    }
  }
}

// A stray bit makes one table's index a gigabyte long: the unit reads on and on.
TEST_F(DriverRtlFaultTest, AJobWithoutAnEnd) {
  class StrayBit : public FaultDevice {
   public:
    StrayBit() : FaultDevice(Rtl(), {}) {}
    Status Write(uint64_t address, std::string_view bytes) override {
      std::string changed(bytes);
      if (struck_ == 0 && bytes.size() > abi::table_descriptor::kBytes &&
          DecodeFixed32(bytes.data()) % 0x10000 == abi::kMagic) {  // the job, its tables at the end
        changed[bytes.size() - abi::table_descriptor::kBytes + abi::table_descriptor::kIndexBytes +
                3] ^= 0x40;
        ++struck_;
      }
      return FaultDevice::Write(address, changed);
    }
    int struck() const { return struck_; }

   private:
    int struck_ = 0;
  };
  auto device = std::make_unique<StrayBit>();
  const StrayBit& stray = *device;
  std::vector<std::shared_ptr<Executor>> units;
  units.push_back(std::make_unique<DeviceExecutor>(std::move(device)));
  OffloadDriver driver(std::move(units), {});
  GeneratorOptions options;
  options.records = 20;
  const GeneratedTask input = GenerateTask(options);
  RunOne(&driver, input.task);
  EXPECT_EQ(stray.struck(), 1);
  EXPECT_EQ(driver.stats().retried, 1u);
  EXPECT_EQ(driver.stats().units[0].failures, 1u);
  RunOne(&driver, input.task);
  EXPECT_EQ(driver.stats().on_units, 1u);
}

TEST_F(DriverRtlFaultTest, TheLimitIsTheDevices) {
  // Ends the wait for its first job long before that is done.
  class Impatient : public FaultDevice {
   public:
    Impatient() : FaultDevice(Rtl(), {}) {}
    Status Wait(uint64_t cycles, uint8_t* status) override {
      EXPECT_LT(cycles, uint64_t{1} << 40);
      const bool first = std::exchange(first_, false);
      return FaultDevice::Wait(first ? 100 : cycles, status);
    }

   private:
    bool first_ = true;
  };
  DeviceExecutor unit(std::make_unique<Impatient>());
  const GeneratedTask input = GenerateTask({});
  std::vector<OwnedOutput> outputs;
  const MergeResult given_up = unit.Run(input.task, CollectInto(&outputs));
  EXPECT_EQ(given_up.status, MergeStatus::kDevice);
  EXPECT_NE(given_up.error.message().find("no answer in 100 cycles"), std::string::npos)
      << given_up.error.ToString();
  const MergeResult next = unit.Run(input.task, CollectInto(&outputs));
  EXPECT_TRUE(next.ok()) << next.error.ToString();
}

// What costs the unit most for its bytes, on a slow memory.
TEST_F(DriverRtlFaultTest, NoHealthyJobComesNearItsLimit) {
  RtlDeviceOptions slow;
  slow.memory.latency = 200;
  slow.memory.take_stall_percent = slow.memory.give_stall_percent = 30;
  slow.memory.seed = seed_;
  DeviceExecutor unit(Rtl(slow));
  const auto run = [&](std::string_view what, const TableImageOptions& table, size_t key_bytes,
                       int keys, uint64_t table_bytes) {
    std::vector<TableImage> images;
    TableImageBuilder builder(table);
    for (int i = 0; i < keys; ++i) {
      if (builder.finished_bytes() >= table_bytes) {
        images.push_back(builder.Finish());
      }
      std::string key(key_bytes, 'k');
      key[key_bytes - 2] = static_cast<char>(i / 256);
      key[key_bytes - 1] = static_cast<char>(i % 256);
      builder.Add(MakeInternalKey(key, 7, RecordType::kValue), "");
    }
    images.push_back(builder.Finish());
    MergeTask task;
    task.runs.resize(1);
    uint64_t bytes = 0;
    for (const TableImage& image : images) {
      task.runs[0].push_back({image.file, image.index});
      bytes += image.file.size();
    }
    std::vector<OwnedOutput> outputs;
    const MergeResult result = unit.Run(task, CollectInto(&outputs));
    ASSERT_TRUE(result.ok()) << what << ": " << result.error.ToString();
    EXPECT_LT(2 * result.stats.cycles, JobCycleLimit(unit.device().info(), bytes))
        << what << ": " << bytes << " bytes";
  };
  run("long keys of one byte each", {.restart_interval = 1000, .block_bytes = 16384}, 1022, 6000,
      UINT64_MAX);
  run("blocks of one entry", {.block_bytes = 1}, 4, 2000, UINT64_MAX);
  run("tables of one entry", {.block_bytes = 1}, 4, 200, 1);
  run("one entry", {}, 2, 1, UINT64_MAX);
}

}  // namespace
}  // namespace sluice
