// The work that stands for a card has threads of its own, and its CPU time is nobody else's.

#include "device/card_device.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <latch>
#include <string>
#include <vector>

#include "device/device_executor.h"
#include "device/testing.h"
#include "merge/cpu_executor.h"
#include "merge/outputs.h"
#include "offload/driver.h"
#include "util/cpu_clock.h"
#include "util/testing.h"

namespace sluice {
namespace {

std::unique_ptr<DeviceExecutor> Unit(std::unique_ptr<Device> device) {
  return std::make_unique<DeviceExecutor>(std::make_unique<CardDevice>(std::move(device)));
}

double ProcessCpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST(CardDeviceTest, MergesAsTheCpuDoes) {
  std::mt19937_64 rng(TestSeed());
  const std::unique_ptr<DeviceExecutor> unit = Unit(InstantUnit());
  for (int i = 0; i < 50; ++i) {
    const GeneratedTask input = RandomTask(rng);
    std::vector<OwnedOutput> expected;
    std::vector<OwnedOutput> actual;
    ASSERT_TRUE(CpuExecutor().Run(input.task, CollectInto(&expected)).ok());
    const MergeResult result = unit->Run(input.task, CollectInto(&actual));
    ASSERT_TRUE(result.ok()) << result.error.ToString();
    ASSERT_TRUE(CompareOutputs(expected, actual).ok());
  }
  EXPECT_GT(unit->card_cpu_seconds(), 0);
}

// What a call to Start could not do, the Wait behind it says; and a reset takes the start back.
TEST(CardDeviceTest, StartsAsItIsWaitedFor) {
  class FailsToStart : public FaultDevice {
   public:
    FailsToStart() : FaultDevice(InstantUnit(), {}) {}
    Status Start(uint64_t /*descriptor*/) override { return Status::IoError("no start"); }
  };
  uint8_t status;
  CardDevice idle(std::make_unique<FailsToStart>());
  EXPECT_TRUE(idle.Start(4096).ok());
  EXPECT_EQ(idle.Wait(1000, &status).message(), "no start");

  uint64_t address;
  CardDevice card(InstantUnit());
  ASSERT_TRUE(card.Allocate(0, 4096, &address).ok());
  ASSERT_TRUE(card.Write(address, std::string(4096, '\0')).ok());
  EXPECT_TRUE(card.Start(address).ok());
  EXPECT_TRUE(card.Wait(1000, &status).ok());  // it is no job descriptor, as the unit finds
  EXPECT_NE(status, 0);
  EXPECT_TRUE(card.Start(address).ok());
  EXPECT_TRUE(card.Reset().ok());
  EXPECT_FALSE(card.Wait(1000, &status).ok());
}

// A fork takes no threads along.
TEST(CardDeviceTest, WorksInAChildThatWasForkedBefore) {
  const std::unique_ptr<DeviceExecutor> unit = Unit(InstantUnit());
  const GeneratedTask input = GenerateTask({});
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(60);
    const MergeResult result = unit->Run(input.task, [](const MergeOutput&) { return Status(); });
    ::_exit(result.ok() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// What the simulation takes is the card's, copies by its DMA engines included; the host only waits.
TEST(CardDeviceTest, TheHostDoesNotPayForTheCard) {
  static constexpr double kSeconds = 0.05;
  class Laborious : public FaultDevice {
   public:
    explicit Laborious(std::atomic<int>* calls) : FaultDevice(InstantUnit(), {}), calls_(*calls) {}
    Status Write(uint64_t address, std::string_view bytes) override {
      Burn();
      return FaultDevice::Write(address, bytes);
    }
    Status Read(uint64_t address, uint64_t bytes, char* out) override {
      Burn();
      return FaultDevice::Read(address, bytes, out);
    }
    Status Start(uint64_t descriptor) override {
      Burn();
      return FaultDevice::Start(descriptor);
    }
    Status Wait(uint64_t cycles, uint8_t* status) override {
      Burn();
      return FaultDevice::Wait(cycles, status);
    }

   private:
    void Burn() {
      ++calls_;
      for (const double begin = ThreadCpuSeconds(); ThreadCpuSeconds() - begin < kSeconds;) {
      }
    }

    std::atomic<int>& calls_;
  };
  std::atomic<int> calls = 0;
  OffloadDriver driver({Unit(std::make_unique<Laborious>(&calls))}, {.threads = 1});
  const GeneratedTask input = GenerateTask({});
  const double here = ThreadCpuSeconds();
  std::latch ended(1);
  driver.Submit(
      input.task, [](const MergeOutput&) { return Status(); },
      [&](const MergeResult& result) {
        EXPECT_TRUE(result.ok()) << result.error.ToString();
        ended.count_down();
      });
  ended.wait();
  const OffloadStats stats = driver.stats();
  EXPECT_GE(calls, 7);  // two tables and the job, Start, Wait, the record, indexes, a table
  EXPECT_GE(stats.card_cpu_seconds, calls * kSeconds);
  EXPECT_LT(stats.host_cpu_seconds, kSeconds);
  EXPECT_LT(ThreadCpuSeconds() - here, kSeconds);
}

// Host and card together are what the process has used, whatever else the machine does.
TEST(CardDeviceTest, PartsAddUpToTheProcess) {
  GeneratorOptions options;
  options.seed = TestSeed();
  options.runs = 4;
  options.records = 20'000;
  options.table_bytes = 1 << 20;
  const GeneratedTask input = GenerateTask(options);
  std::vector<std::shared_ptr<Executor>> units;
  for (int i = 0; i < 2; ++i) {
    units.push_back(Unit(InstantUnit()));
  }
  OffloadDriver driver(std::move(units), {});
  const OffloadStats before = driver.stats();
  const double process = ProcessCpuSeconds();
  const double here = ThreadCpuSeconds();
  constexpr int kTasks = 30;
  std::latch ended(kTasks);
  std::atomic<int> failed = 0;
  for (int i = 0; i < kTasks; ++i) {
    driver.Submit(
        input.task, [](const MergeOutput&) { return Status(); },
        [&](const MergeResult& result) {
          failed += !result.ok();
          ended.count_down();
        });
  }
  ended.wait();
  const OffloadStats after = driver.stats();
  const double all = ProcessCpuSeconds() - process;
  const double host = after.host_cpu_seconds - before.host_cpu_seconds + ThreadCpuSeconds() - here;
  const double card = after.card_cpu_seconds - before.card_cpu_seconds;
  EXPECT_EQ(failed, 0);
  EXPECT_GT(card, 0.1 * all);
  EXPECT_GT(host, 0.02 * all);
  EXPECT_NEAR(host + card, all, 0.05 * all) << "host " << host << ", card " << card;
}

}  // namespace
}  // namespace sluice
