// The F2 backend over a simulated card: hw/f2 behind a shell (hw/dv/f2).

#include "device/f2/f2_device.h"

#include <Vf2_tiny2.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "device/card_fixture.h"
#include "device/device_executor.h"
#include "device/executors.h"
#include "device/f2/mapped_bars.h"
#include "hw/dv/f2/f2_shell.h"
#include "sluice/conformance.h"
#include "sluice/device.h"
#include "sluice_abi.h"

namespace sluice {
namespace {

constexpr unsigned kUnits = 2;
constexpr uint64_t kMemory = 64 << 20;  // of a unit

// And what may happen to a card.
class Card : public F2Bars {
 public:
  uint32_t Read(uint32_t offset) override {
    if (gone) {
      return 0xffff'ffff;
    }
    const uint32_t value = shell_.Read(offset);
    return offset == abi::card::kReset && hold_resets ? 0xff : value;
  }
  void Write(uint32_t offset, uint32_t value) override {
    const bool starts = offset % abi::card::kUnitStride == abi::control::kCtrl &&
                        offset < abi::card::kUnits && value == 1;
    if (!gone && !(starts && lose_starts)) {
      shell_.Write(offset, value);
    }
  }
  uint64_t memory_bytes() const override { return shell_.memory_bytes(); }
  void WriteMemory(uint64_t address, std::string_view bytes) override {
    if (!gone) {
      shell_.WriteMemory(address, bytes);
    }
  }
  void ReadMemory(uint64_t address, uint64_t bytes, char* out) override {
    if (gone) {
      std::fill_n(out, bytes, '\xff');
    } else {
      shell_.ReadMemory(address, bytes, out);
    }
  }
  void LoadImage() { shell_.LoadImage(); }
  std::string Fault() { return shell_.Fault(); }

  std::atomic<bool> gone = false;
  std::atomic<bool> lose_starts = false;  // units do not hear that a job is to be started
  std::atomic<bool> hold_resets = false;  // resets do not end

 private:
  dv::F2Shell<Vf2_tiny2> shell_{{.memory = {.bytes = kUnits * kMemory}}};
};

class F2DeviceTest : public CardTest {
 protected:
  Devices OpenDevices(const F2DeviceOptions& options = dv::SimulatedCard(kMemory)) {
    Devices devices;
    const Status status = MakeF2Devices("card", card_, options, &devices);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return devices;
  }
  void OpenUnits(const F2DeviceOptions& options = dv::SimulatedCard(kMemory)) {
    OpenDriver(OpenDevices(options));
  }
  static F2DeviceOptions Impatient() {
    F2DeviceOptions options = dv::SimulatedCard(kMemory);
    options.stall_seconds = 2;
    options.flush_seconds = 2;
    return options;
  }
  void TearDown() override { EXPECT_EQ(card_->Fault(), ""); }

  std::shared_ptr<Card> card_ = std::make_shared<Card>();
};

TEST_F(F2DeviceTest, UnitsKeepTheRulesOfExecutors) {
  Devices devices = OpenDevices();
  ASSERT_EQ(devices.size(), kUnits);
  for (const std::unique_ptr<Device>& device : devices) {
    EXPECT_EQ(device->info().name, "card");
    EXPECT_EQ(device->info().units, kUnits);
    EXPECT_EQ(device->info().ways, 2u);
    EXPECT_EQ(device->info().memory_bytes, kMemory);
  }
  DeviceExecutor executor(std::move(devices.back()));
  const Status status = CheckExecutor(&executor, {.seed = seed_, .tasks = 1});
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST_F(F2DeviceTest, AllUnitsAtOnce) {
  OpenUnits();
  RunTogether(/*threads=*/4, /*tasks=*/3, /*max_runs=*/4);
  const OffloadStats stats = driver_->stats();
  EXPECT_EQ(stats.on_units, 12u);
  for (const UnitStats& unit : stats.units) {
    EXPECT_GT(unit.tasks, 0u);
  }
}

TEST_F(F2DeviceTest, ACardThatVanishes) {
  OpenUnits(Impatient());
  EXPECT_TRUE(UnitsDoATask());
  card_->gone = true;
  for (int i = 0; i < 12; ++i) {
    EXPECT_FALSE(UnitsDoATask());
  }
  for (const UnitStats& unit : driver_->stats().units) {
    EXPECT_FALSE(unit.in_service);
  }
  card_->LoadImage();
  card_->gone = false;
  ExpectThatUnitsComeBack();
}

TEST_F(F2DeviceTest, AnImageThatIsLoadedAgain) {
  OpenUnits();
  EXPECT_TRUE(UnitsDoATask());
  for (int i = 0; i < 3; ++i) {
    card_->LoadImage();
    EXPECT_FALSE(UnitsDoATask());
    ExpectThatUnitsComeBack();
  }
}

// A unit that has forgotten its window could write anywhere.
TEST_F(F2DeviceTest, NoJobStartsOnAUnitThatOthersHaveReset) {
  Devices devices = OpenDevices();
  Device& device = *devices[1];
  uint64_t address = 0;
  ASSERT_TRUE(device.Allocate(0, 4096, &address).ok());
  ASSERT_TRUE(device.Write(address, "lost").ok());
  card_->LoadImage();
  EXPECT_EQ(device.Start(address).code(), Status::Code::kIoError);
  ASSERT_TRUE(device.Reset().ok());
  char found[4];
  ASSERT_TRUE(device.Write(address, "kept").ok());
  ASSERT_TRUE(device.Read(address, sizeof(found), found).ok());
  EXPECT_EQ(std::string(found, sizeof(found)), "kept");
}

// But memory that is in use is not lost by a reset of the unit.
TEST_F(F2DeviceTest, MemoryOfANewImageIsCleared) {
  F2DeviceOptions options = dv::SimulatedCard(40 << 10);
  options.clear_memory = true;
  card_->LoadImage();
  Devices devices = OpenDevices(options);
  const uint64_t end = kUnits * options.memory_bytes;
  std::string found(2 * end, '\0');
  const auto read = [&] {
    card_->ReadMemory(0, found.size(), found.data());
    found.replace(0, 64, 64, '\0');  // lines for the devices themselves
    found.replace(options.memory_bytes, 64, 64, '\0');
    return found;
  };
  EXPECT_EQ(read(), std::string(end, '\0') + std::string(end, '\x55'));
  ASSERT_TRUE(devices[0]->Write(8192, "kept").ok());
  for (std::unique_ptr<Device>& device : devices) {
    ASSERT_TRUE(device->Reset().ok());
  }
  EXPECT_EQ(read().substr(8192, 4), "kept");
}

TEST_F(F2DeviceTest, AJobThatHangs) {
  OpenUnits(Impatient());
  card_->lose_starts = true;
  EXPECT_FALSE(UnitsDoATask());
  card_->lose_starts = false;
  ExpectThatUnitsComeBack();
}

TEST_F(F2DeviceTest, AUnitThatDoesNotComeOutOfItsReset) {
  OpenUnits(Impatient());
  card_->hold_resets = true;
  card_->lose_starts = true;
  EXPECT_FALSE(UnitsDoATask());
  card_->lose_starts = false;
  uint64_t failures = 0;
  for (const UnitStats& unit : driver_->stats().units) {
    failures += unit.failures;
  }
  EXPECT_GT(failures, 0u);
  card_->hold_resets = false;
  ExpectThatUnitsComeBack();
}

TEST_F(F2DeviceTest, WhatCannotBeOpened) {
  using Code = Status::Code;
  Devices devices;
  EXPECT_EQ(MakeF2Devices("card", card_, dv::SimulatedCard(2 * kMemory), &devices).code(),
            Code::kInvalidArgument);
  card_->gone = true;
  EXPECT_EQ(MakeF2Devices("card", card_, {}, &devices).code(), Code::kIoError);
  EXPECT_TRUE(devices.empty());
  // By name, as programs do.
  MergeUnits units;
  EXPECT_TRUE(sluice::OpenUnits("f2:none", &units).IsNotFound());
  card_->gone = false;
}

// Files in place of what the kernel shows of a card.
class MappedBarsTest : public testing::Test {
 protected:
  void Make(const std::string& name, uint64_t bytes) {
    std::ofstream(dir_.File(name)) << std::string(bytes, '\0');
  }
  std::string Contents(const std::string& name) {
    std::ifstream file(dir_.File(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::shared_ptr<F2Bars> Map() {
    std::shared_ptr<F2Bars> bars;
    const Status status = MapF2Bars(dir_.path(), 2 << 20, &bars);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return bars;
  }

  TempDir dir_;
};

TEST_F(MappedBarsTest, LeadToRegistersAndMemory) {
  Make("resource0", 64 << 10);
  for (const char* const memory : {"resource4", "resource4_wc"}) {
    Make(memory, 1 << 20);
    const std::shared_ptr<F2Bars> bars = Map();
    EXPECT_EQ(bars->memory_bytes(), uint64_t{1} << 20);
    bars->Write(0x8004, 0x1234'5678);
    EXPECT_EQ(bars->Read(0x8004), 0x1234'5678u);
    EXPECT_EQ(Contents("resource0").substr(0x8004, 4), "\x78\x56\x34\x12");
    for (const uint64_t address : {0, 1, 60, 64, 8191}) {
      for (const size_t n : {1, 3, 64, 65, 200}) {
        const std::string bytes(n, static_cast<char>('a' + n % 26));
        bars->WriteMemory(address, bytes);
        std::string read(n + 2, '\0');
        bars->ReadMemory(address, n + 2, read.data());
        EXPECT_EQ(read.substr(0, n), bytes);
        EXPECT_EQ(Contents(memory).substr(address, n + 2), read);
      }
    }
  }
}

TEST_F(MappedBarsTest, BelongToOneAtATime) {
  std::shared_ptr<F2Bars> second;
  EXPECT_TRUE(MapF2Bars(dir_.File("none"), 1 << 20, &second).IsNotFound());
  EXPECT_EQ(MapF2Bars(dir_.path(), 1 << 20, &second).code(), Status::Code::kIoError);
  Make("resource0", 64 << 10);
  Make("resource4", 1 << 20);
  std::shared_ptr<F2Bars> first = Map();
  const Status status = MapF2Bars(dir_.path(), 1 << 20, &second);
  EXPECT_NE(status.ToString().find("in use by another process"), std::string::npos);
  first.reset();
  EXPECT_NE(Map(), nullptr);
}

}  // namespace
}  // namespace sluice
