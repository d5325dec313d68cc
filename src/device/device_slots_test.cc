// Tasks in flight together on one device: what overlaps, and what happens to the others when one of
// them fails.

#include "device/device_slots.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "device/card_device.h"
#include "device/device_executor.h"
#include "device/testing.h"
#include "merge/cpu_executor.h"
#include "merge/outputs.h"
#include "sluice_abi.h"
#include "util/testing.h"

namespace sluice {
namespace {

// Runs `tasks` tasks on each of `threads` threads; of those that seem to succeed the tables must be
// the CPU's. How many failed.
int RunTogether(Executor* unit, std::mt19937_64* rng, int threads, int tasks) {
  std::atomic<int> failed = 0;
  std::vector<std::thread> callers;
  for (int t = 0; t < threads; ++t) {
    callers.emplace_back([&, seed = (*rng)()] {
      std::mt19937_64 own(seed);
      for (int i = 0; i < tasks; ++i) {
        const GeneratedTask input = RandomTask(own);
        std::vector<OwnedOutput> expected;
        std::vector<OwnedOutput> actual;
        const MergeResult cpu = CpuExecutor().Run(input.task, CollectInto(&expected));
        const MergeResult result = unit->Run(input.task, CollectInto(&actual));
        if (!result.ok()) {
          ++failed;
          continue;
        }
        const Status same = CompareOutputs(actual, expected);
        EXPECT_TRUE(same.ok()) << same.ToString();
        EXPECT_EQ(result.stats.output_checksum, cpu.stats.output_checksum);
        EXPECT_EQ(result.stats.input_records, cpu.stats.input_records);
      }
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  return failed;
}

// Whether all memory is there again.
void ExpectAllFree(Device* device) {
  uint64_t address = 0;
  EXPECT_TRUE(device->Allocate(99, device->info().memory_bytes - 4096, &address).ok());
  device->Free(99);
}

class DeviceSlotsTest : public testing::Test {
 protected:
  const uint64_t seed_ = TestSeed();
  std::mt19937_64 rng_{seed_};
};

// Each job lasts until what shall overlap with it has happened: were the executor to wait for its
// end, it would last for ever.
TEST_F(DeviceSlotsTest, UploadsRunsAndDownloadsOverlap) {
  class Waits : public FaultDevice {
   public:
    Waits() : FaultDevice(InstantUnit(), {}) {}
    Status Write(uint64_t address, std::string_view bytes) override {
      SLUICE_RETURN_IF_ERROR(FaultDevice::Write(address, bytes));
      const MutexLock lock(mutex_);
      loaded_ +=
          bytes.size() >= abi::job::kBytes && DecodeFixed32(bytes.data()) % 0x10000 == abi::kMagic;
      changed_.notify_all();
      return {};
    }
    Status Read(uint64_t address, uint64_t bytes, char* out) override {
      SLUICE_RETURN_IF_ERROR(FaultDevice::Read(address, bytes, out));
      const MutexLock lock(mutex_);
      ++reads_;
      changed_.notify_all();
      return {};
    }
    Status Wait(uint64_t cycles, uint8_t* status) override {
      {
        MutexLock lock(mutex_);
        // While the first job runs the second is loaded, while the second runs the third, and
        // outputs of the first are read: its record, its indexes and its tables.
        while (loaded_ < std::min(3, jobs_ + 2) || reads_ < std::min(3, 3 * jobs_)) {
          changed_.wait(lock);
        }
        ++jobs_;
      }
      return FaultDevice::Wait(cycles, status);
    }

   private:
    Mutex mutex_;
    CondVar changed_;
    int jobs_ = 0;
    int loaded_ = 0;
    int reads_ = 0;
  };
  DeviceExecutor unit(std::make_unique<CardDevice>(std::make_unique<Waits>()));
  const GeneratedTask input = GenerateTask({});
  std::vector<std::thread> callers;
  for (int t = 0; t < 3; ++t) {
    callers.emplace_back([&] {
      const MergeResult result = unit.Run(input.task, [](const MergeOutput&) { return Status(); });
      EXPECT_TRUE(result.ok()) << result.error.ToString();
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  ExpectAllFree(&unit.device());
}

// One job goes wrong, whichever it is and however: that task ends with an error, no other.
TEST_F(DeviceSlotsTest, AFaultIsOneTasks) {
  for (const FaultRates& rates : {FaultRates{.hang = 1}, FaultRates{.lost_interrupt = 1},
                                  FaultRates{.late = 1}, FaultRates{.bus_error = 1}}) {
    DeviceExecutor unit(std::make_unique<FaultDevice>(
        InstantUnit(), FaultOptions{.rates = rates, .jobs = 5, .seed = seed_}));
    EXPECT_EQ(RunTogether(&unit, &rng_, 6, 10), 5);
    ExpectAllFree(&unit.device());
  }
}

// A card that went away takes no uploads until it is reset, which makes its driver open it again.
TEST_F(DeviceSlotsTest, AFailedUploadIsFollowedByAReset) {
  class Away : public FaultDevice {
   public:
    Away() : FaultDevice(InstantUnit(), {}) {}
    Status Write(uint64_t address, std::string_view bytes) override {
      return away_ ? Status::IoError("away") : FaultDevice::Write(address, bytes);
    }
    Status Reset() override {
      away_ = false;
      return FaultDevice::Reset();
    }

   private:
    bool away_ = true;
  };
  DeviceExecutor unit(std::make_unique<Away>());
  EXPECT_EQ(RunTogether(&unit, &rng_, 1, 5), 1);
  ExpectAllFree(&unit.device());
}

TEST_F(DeviceSlotsTest, NothingWrongGetsThrough) {
  for (const bool card : {false, true}) {
    std::unique_ptr<Device> device = InstantUnit();
    if (card) {
      device = std::make_unique<CardDevice>(std::move(device));
    }
    auto faulty = std::make_unique<FaultDevice>(
        std::move(device),
        FaultOptions{.rates = AllFaults(0.5), .stuck_reset = 0.2, .seed = seed_});
    FaultDevice* const faults = faulty.get();
    DeviceExecutor unit(std::move(faulty));
    const int failed = RunTogether(&unit, &rng_, 6, 60);
    EXPECT_GT(failed, 50);
    EXPECT_LT(failed, 350);
    EXPECT_GT(faults->injected(), 50u);
  }
}

// More tasks than there is memory for: one waits until another has left.
TEST_F(DeviceSlotsTest, TasksWaitForMemory) {
  static constexpr uint64_t kBytes = 3 << 20;  // of which the output of each task takes 1.3 MiB
  class Small : public FaultDevice {
   public:
    Small() : FaultDevice(InstantUnit(), {}) {
      info_ = FaultDevice::info();
      info_.memory_bytes = kBytes;
      uint64_t unused;
      EXPECT_TRUE(
          FaultDevice::Allocate(98, FaultDevice::info().memory_bytes - kBytes, &unused).ok());
    }
    const DeviceInfo& info() const override { return info_; }
    Status Allocate(uint32_t slot, uint64_t bytes, uint64_t* address) override {
      Status status = FaultDevice::Allocate(slot, bytes, address);
      const MutexLock lock(mutex_);
      refused_ = refused_ || !status.ok();
      changed_.notify_all();
      return status;
    }
    // The first job lasts until there was no memory for another one.
    Status Wait(uint64_t cycles, uint8_t* status) override {
      {
        MutexLock lock(mutex_);
        while (!refused_) {
          changed_.wait(lock);
        }
      }
      return FaultDevice::Wait(cycles, status);
    }

   private:
    DeviceInfo info_;
    Mutex mutex_;
    CondVar changed_;
    bool refused_ = false;
  };
  DeviceExecutor unit(std::make_unique<Small>());
  EXPECT_EQ(RunTogether(&unit, &rng_, 4, 10), 0);
  // What does not fit alone is refused, whatever else is in flight.
  GeneratorOptions large;
  large.records = 3000;
  large.value_bytes = {1000, 1000};
  large.table_bytes = 64 << 20;
  const GeneratedTask input = GenerateTask(large);
  std::thread beside([&] { EXPECT_EQ(RunTogether(&unit, &rng_, 3, 10), 0); });
  for (int i = 0; i < 3; ++i) {
    const MergeResult result = unit.Run(input.task, [](const MergeOutput&) { return Status(); });
    EXPECT_EQ(result.status, MergeStatus::kDataFull) << result.error.ToString();
    EXPECT_TRUE(result.error.IsNotSupported());
  }
  beside.join();
  ExpectAllFree(&unit.device());
}

// Its first job is late, and while it is stuck no reset ends that.
class StuckDevice : public FaultDevice {
 public:
  StuckDevice() : FaultDevice(InstantUnit(), {.rates = {.late = 1}, .jobs = 1}) {}
  Status Reset() override { return stuck ? Status::IoError("still busy") : FaultDevice::Reset(); }
  bool stuck = true;
};

struct Job {
  uint32_t slot = 99;
  uint64_t address = 0;
};

Status Load(DeviceSlots* slots, Device* device, Job* job) {
  return slots->Upload(job->slot, [=] {
    SLUICE_RETURN_IF_ERROR(device->Allocate(job->slot, 100'000, &job->address));
    return device->Write(job->address, "descriptor");
  });
}

// A job that no reset has ended keeps its memory, and no task begins until one has.
TEST_F(DeviceSlotsTest, WhatTheUnitMayStillWriteToIsNotUsed) {
  StuckDevice device;
  DeviceSlots slots(&device);
  const auto load = [&](Job* job) { return Load(&slots, &device, job); };
  Job late;
  Job beside;
  Job later;
  uint8_t status = 0;
  ASSERT_TRUE(slots.Enter(&late.slot).ok());
  ASSERT_TRUE(slots.Enter(&beside.slot).ok());
  ASSERT_TRUE(load(&late).ok());
  EXPECT_EQ(slots.Run(late.slot, late.address, 1000, &status).code(), Status::Code::kIoError);
  slots.Leave(late.slot);
  EXPECT_EQ(slots.Enter(&later.slot).code(), Status::Code::kIoError);
  ASSERT_TRUE(load(&beside).ok());
  EXPECT_NE(beside.address, late.address);
  EXPECT_EQ(slots.Run(beside.slot, beside.address, 1000, &status).code(), Status::Code::kIoError);
  device.stuck = false;
  EXPECT_TRUE(slots.Run(beside.slot, beside.address, 1000, &status).ok());
  slots.Leave(beside.slot);
  ASSERT_TRUE(slots.Enter(&later.slot).ok());
  ASSERT_TRUE(load(&later).ok());
  EXPECT_EQ(later.address, late.address);
  slots.Leave(later.slot);
  ExpectAllFree(&device);
}

// A reset gives a lost job's memory back, but its slot remains its task's until that leaves: two
// tasks would have one slot.
TEST_F(DeviceSlotsTest, ALostSlotIsItsTasksUntilThatLeaves) {
  StuckDevice device;
  DeviceSlots slots(&device);
  Job late;
  Job later;
  uint8_t status = 0;
  ASSERT_TRUE(slots.Enter(&late.slot).ok());
  ASSERT_TRUE(Load(&slots, &device, &late).ok());
  EXPECT_EQ(slots.Run(late.slot, late.address, 1000, &status).code(), Status::Code::kIoError);
  device.stuck = false;
  ASSERT_TRUE(slots.Enter(&later.slot).ok());
  EXPECT_NE(later.slot, late.slot);
  ASSERT_TRUE(Load(&slots, &device, &later).ok());
  slots.Leave(late.slot);
  Job last;
  ASSERT_TRUE(slots.Enter(&last.slot).ok());
  ASSERT_TRUE(Load(&slots, &device, &last).ok());
  EXPECT_NE(last.slot, later.slot);
  EXPECT_NE(last.address, later.address);
  EXPECT_TRUE(slots.Run(later.slot, later.address, 1000, &status).ok());
  slots.Leave(later.slot);
  slots.Leave(last.slot);
  ExpectAllFree(&device);
}

}  // namespace
}  // namespace sluice
