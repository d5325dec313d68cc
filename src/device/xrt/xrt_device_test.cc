// The XRT backend with XRT's own libraries, over a simulated card: their lower layer is
// simulated_hal.h's.

#include "device/xrt/xrt_device.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "device/card_fixture.h"
#include "device/device_executor.h"
#include "device/executors.h"
#include "device/xrt/simulated_hal.h"
#include "sluice/conformance.h"
#include "sluice/device.h"

namespace sluice {
namespace {

// The simulated card is a thousand times slower than a card.
constexpr XrtDeviceOptions kPatient = {
    .memory_bytes = xrtsim::kBankBytes, .patience_seconds = 600, .stall_seconds = 300};

class XrtTest : public CardTest {
 protected:
  static void SetUpTestSuite() {
    ::setenv("XILINX_XRT", SLUICE_XRT_EMULATION, 1);
    ::setenv("XCL_EMULATION_MODE", "hw_emu", 1);
  }

  void MakeCard(const xrtsim::CardOptions& options = {}) {
    card_.reset();  // there is one at a time
    card_ = std::make_unique<xrtsim::Card>(options);
  }
  std::string Xclbin(const xrtsim::CardOptions& options = {}) {
    std::string path = dir_.File("test.xclbin");
    xrtsim::Card::WriteXclbin(path, options);
    return path;
  }
  Devices OpenDevices(const XrtDeviceOptions& options = kPatient) {
    Devices devices;
    const Status status = MakeXrtDevices(Xclbin(), options, &devices);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return devices;
  }
  void OpenUnits(const XrtDeviceOptions& options = kPatient) { OpenDriver(OpenDevices(options)); }

  TempDir dir_;
  std::unique_ptr<xrtsim::Card> card_;
};

TEST_F(XrtTest, UnitsKeepTheRulesOfExecutors) {
  for (const bool interrupts : {true, false}) {
    SCOPED_TRACE(interrupts);
    MakeCard({.interrupts = interrupts});
    Devices devices = OpenDevices();
    ASSERT_EQ(devices.size(), xrtsim::kUnits);
    EXPECT_EQ(devices[0]->info().name, "tiny");
    EXPECT_EQ(devices[0]->info().units, xrtsim::kUnits);
    EXPECT_EQ(devices[0]->info().ways, 2u);
    EXPECT_EQ(devices[0]->info().clock_mhz, 200);
    DeviceExecutor executor(std::move(devices[0]));
    const Status status = CheckExecutor(&executor, {.seed = seed_, .tasks = 3});
    EXPECT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(card_->interrupts_waited() != 0, interrupts);
  }
}

TEST_F(XrtTest, AllUnitsAtOnce) {
  MakeCard();
  OpenUnits();
  RunTogether(/*threads=*/6, /*tasks=*/3, /*max_runs=*/4);
  const OffloadStats stats = driver_->stats();
  EXPECT_EQ(stats.on_units, 18u);
  for (const UnitStats& unit : stats.units) {
    EXPECT_GT(unit.tasks, 0u);
  }
}

TEST_F(XrtTest, ALostInterruptIsMadeUpFor) {
  MakeCard();
  OpenUnits();
  card_->LoseInterrupts(true);
  EXPECT_TRUE(UnitsDoATask());
  EXPECT_EQ(card_->interrupts_waited(), 0u);
}

TEST_F(XrtTest, ACardThatVanishes) {
  MakeCard();
  OpenUnits();
  EXPECT_TRUE(UnitsDoATask());
  card_->Unplug();
  for (int i = 0; i < 12; ++i) {
    EXPECT_FALSE(UnitsDoATask());
  }
  for (const UnitStats& unit : driver_->stats().units) {
    EXPECT_FALSE(unit.in_service);
  }
  card_->PlugIn();
  ExpectThatUnitsComeBack();
}

TEST_F(XrtTest, ACardThatOthersReset) {
  MakeCard();
  OpenUnits();
  EXPECT_TRUE(UnitsDoATask());
  card_->ResetFromOutside();
  EXPECT_FALSE(UnitsDoATask());
  for (int i = 0; i < 3; ++i) {
    ExpectThatUnitsComeBack();
    card_->ResetFromOutside();
  }
}

TEST_F(XrtTest, AJobThatHangs) {
  MakeCard();
  XrtDeviceOptions options = kPatient;
  options.stall_seconds = 2;
  OpenUnits(options);
  card_->LoseStarts(true);
  EXPECT_FALSE(UnitsDoATask());
  card_->LoseStarts(false);
  ExpectThatUnitsComeBack();
}

// It may still write to memory, so nobody else gets that.
TEST_F(XrtTest, AUnitThatDoesNotComeOutOfItsReset) {
  MakeCard();
  XrtDeviceOptions options = kPatient;
  options.stall_seconds = 2;
  OpenUnits(options);
  card_->HoldResets(true);
  card_->LoseStarts(true);
  EXPECT_FALSE(UnitsDoATask());
  card_->LoseStarts(false);
  for (int i = 0; i < 6; ++i) {
    UnitsDoATask();
  }
  uint64_t failures = 0;
  for (const UnitStats& unit : driver_->stats().units) {
    failures += unit.failures;
    EXPECT_TRUE(unit.failures == 0 || unit.tasks == 0);
  }
  EXPECT_GT(failures, 0u);
  card_->HoldResets(false);
  ExpectThatUnitsComeBack();
}

// What is uploaded when a card is opened again is lost, but its memory is not another task's.
TEST_F(XrtTest, MemoryStaysItsOwners) {
  MakeCard();
  const Devices devices = OpenDevices();
  Device& device = *devices[0];
  uint64_t before = 0;
  uint64_t after = 0;
  ASSERT_TRUE(device.Allocate(0, 10'000, &before).ok());
  card_->ResetFromOutside();
  EXPECT_EQ(device.Write(before, "lost").code(), Status::Code::kIoError);
  ASSERT_TRUE(device.Reset().ok());
  EXPECT_TRUE(device.Write(before, "not lost").ok());
  ASSERT_TRUE(device.Allocate(1, 10'000, &after).ok());
  EXPECT_NE(after, before);
  device.Free(0);
  ASSERT_TRUE(device.Allocate(2, 10'000, &after).ok());
  EXPECT_EQ(after, before);
}

// Tasks that are in flight when the card is opened again have nothing of each other.
TEST_F(XrtTest, ResetsBesideTasks) {
  MakeCard();
  OpenUnits();
  std::atomic<bool> done = false;
  std::thread other([&] {
    while (!done) {
      card_->ResetFromOutside();
      now_ += 100'000;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  RunTogether(/*threads=*/6, /*tasks=*/10, /*max_runs=*/4);
  done = true;
  other.join();
  ExpectThatUnitsComeBack();
}

TEST_F(XrtTest, WhatCannotBeOpened) {
  using Code = Status::Code;
  MakeCard();
  Devices devices;
  const auto open = [&](const std::string& what, const XrtDeviceOptions& options = {}) {
    return MakeXrtDevices(what, options, &devices).code();
  };
  EXPECT_EQ(open(dir_.File("none.xclbin")), Code::kNotFound);
  std::ofstream(dir_.File("text")) << "no xclbin";
  EXPECT_EQ(open(dir_.File("text")), Code::kIoError);
  EXPECT_EQ(open(Xclbin({.kernel = "other"})), Code::kInvalidArgument);
  EXPECT_EQ(open(Xclbin() + "@7"), Code::kIoError);
  // More memory than the bank has.
  EXPECT_EQ(open(Xclbin(), {.memory_bytes = 2 * xrtsim::kBankBytes}), Code::kIoError);
  EXPECT_TRUE(devices.empty());
  // By name, as programs do.
  MergeUnits units;
  EXPECT_TRUE(sluice::OpenUnits("xrt:" + dir_.File("none.xclbin"), &units).IsNotFound());
}

}  // namespace
}  // namespace sluice
