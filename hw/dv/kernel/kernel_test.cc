// What the Vitis kernel (hw/kernel) adds to a unit: a card's registers around it, a window, and
// register slices that cost no throughput. unit_test.cc is built with the kernel as well.

#include <Vkernel_tiny_checked.h>
#include <Vunit_tiny.h>
#include <gtest/gtest.h>

#include "device/device_executor.h"
#include "device/rtlsim/rtl_device_impl.h"
#include "hw/dv/card/misled_device.h"
#include "hw/dv/unit/unit_bench.h"
#include "sluice_abi.h"

namespace sluice {
namespace {

using Card = rtlsim::RtlCard<Vkernel_tiny_checked, 1>;
using Kernel = rtlsim::RtlDevice<Vkernel_tiny_checked, 1>;
using BareUnit = rtlsim::RtlDevice<Vunit_tiny, 1>;

constexpr uint64_t kWindow = 64 << 20;

Status Discard(const MergeOutput&) { return {}; }

GeneratedTask SomeTask(uint64_t seed, uint64_t records = 300) {
  GeneratorOptions shape;
  shape.seed = seed;
  shape.records = records;
  shape.value_bytes = {100, 100};
  return GenerateTask(shape);
}

TEST(Kernel, HasTheRegistersOfACardOfOneUnit) {
  Card card({});
  EXPECT_EQ(card.Read(0, abi::capability::kId), abi::kMagic << 16 | abi::kVersion);
  EXPECT_EQ(card.Read(0, abi::card::kUnits), 1u);
  EXPECT_EQ(card.Read(0, abi::card::kReset), 0u);
  EXPECT_EQ(card.Read(0, abi::control::kCtrl),
            1u << abi::control::kCtrlIdleShift | 1u << abi::control::kCtrlReadyShift);
  // Of these, which kernel.xml calls data_in and data_out, only a linker takes notice.
  for (const size_t offset : {0x20, 0x24, 0x28, 0x2c}) {
    card.Write(0, offset, 0xffff'ffff);
    EXPECT_EQ(card.Read(0, offset), 0u);
  }
}

TEST(Kernel, AsksForMemoryAsVitisDemands) {
  VerilatedContext context;
  Vkernel_tiny_checked kernel(&context);
  kernel.eval();
  constexpr int kModifiableBufferable = 3;
  EXPECT_EQ(kernel.m_axi_index_arcache, kModifiableBufferable);
  EXPECT_EQ(kernel.m_axi_index_awcache, kModifiableBufferable);
  EXPECT_EQ(kernel.m_axi_in_arcache, kModifiableBufferable);
  EXPECT_EQ(kernel.m_axi_out_awcache, kModifiableBufferable);
  EXPECT_EQ(kernel.m_axi_index_arlock | kernel.m_axi_index_arprot | kernel.m_axi_index_arqos, 0);
  EXPECT_EQ(kernel.m_axi_index_awlock | kernel.m_axi_index_awprot | kernel.m_axi_index_awqos, 0);
  EXPECT_EQ(kernel.m_axi_in_arlock | kernel.m_axi_in_arprot | kernel.m_axi_in_arqos, 0);
  EXPECT_EQ(kernel.m_axi_out_awlock | kernel.m_axi_out_awprot | kernel.m_axi_out_awqos, 0);
}

// The memory behind the window is there, so that only the window can keep the unit out.
TEST(Kernel, DoesNotReachBeyondItsWindow) {
  const uint64_t seed = dv::TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 rng(seed);
  RtlDeviceOptions options = dv::RandomMemory(rng, 3 * kWindow);
  uint64_t strays = 0;
  options.memory.watch = [&](const rtlsim::Access& access) {
    strays += access.address + access.bytes > kWindow;
  };
  auto card = std::make_shared<Card>(options);
  auto owned = std::make_unique<dv::MisledDevice<Kernel>>("kernel", options, card, 0);
  dv::MisledDevice<Kernel>& device = *owned;
  card->SetWindow(0, 0, kWindow);
  DeviceExecutor unit(std::move(owned));
  const GeneratedTask generated = SomeTask(seed);
  for (const dv::Misleading& misled : dv::kMisleadings) {
    SCOPED_TRACE(fmt::format("{} {:#x}", misled.in_table, misled.offset));
    device.in_table = misled.in_table;
    device.offset = misled.offset;
    device.add = kWindow;
    const MergeResult bad = unit.Run(generated.task, Discard);
    EXPECT_EQ(MergeStatusText(bad.status), MergeStatusText(misled.status));
    const MergeResult good = unit.Run(generated.task, Discard);
    EXPECT_TRUE(good.ok()) << good.error.ToString();
  }
  EXPECT_EQ(strays, 0u);
}

// Gives its first job up some cycles after its start. The executor then resets the unit.
class Impatient : public Kernel {
 public:
  Impatient(const RtlDeviceOptions& options, std::shared_ptr<Card> card, uint64_t cycles)
      : Kernel("kernel", options, card, 0), card_(std::move(card)), cycles_(cycles) {}

  Status Wait(uint64_t cycles, uint8_t* status) override {
    if (std::exchange(done_, true)) {
      return Kernel::Wait(cycles, status);
    }
    for (const uint64_t start = card_->cycle(); card_->cycle() - start < cycles_;) {
      (void)card_->Read(0, abi::control::kCtrl);  // which lets time pass
    }
    within = (card_->Read(0, abi::control::kCtrl) >> abi::control::kCtrlDoneShift & 1) == 0;
    return Status::IoError("impatient");
  }

  bool within = false;  // the job had not ended

 private:
  std::shared_ptr<Card> card_;
  uint64_t cycles_;
  bool done_ = false;
};

TEST(Kernel, ResetsByItsRegisterInTheMiddleOfAJob) {
  const uint64_t seed = dv::TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 rng(seed);
  const GeneratedTask generated = SomeTask(seed);
  int within = 0;
  for (int round = 0; round < 10; ++round) {
    const RtlDeviceOptions options = dv::RandomMemory(rng);
    const uint64_t cycles = rng() % 4000;
    auto owned = std::make_unique<Impatient>(options, std::make_shared<Card>(options), cycles);
    Impatient& device = *owned;
    DeviceExecutor unit(std::move(owned));
    EXPECT_EQ(unit.Run(generated.task, Discard).status, MergeStatus::kDevice);
    within += device.within;
    const MergeResult good = unit.Run(generated.task, Discard);
    ASSERT_TRUE(good.ok()) << good.error.ToString() << ": round " << round << ", reset after "
                           << cycles << " cycles";
  }
  EXPECT_GT(within, 5);
}

// The slices make answers come later by a few cycles, and move as many beats in the same time.
TEST(Kernel, IsAsFastAsABareUnit) {
  const GeneratedTask generated = SomeTask(1, 4000);
  const auto cycles = [&](std::unique_ptr<Device> device) {
    DeviceExecutor unit(std::move(device));
    const MergeResult result = unit.Run(generated.task, Discard);
    EXPECT_TRUE(result.ok()) << result.error.ToString();
    return result.stats.cycles;
  };
  const uint64_t bare = cycles(std::make_unique<BareUnit>("unit", RtlDeviceOptions{}));
  const uint64_t kernel = cycles(std::make_unique<Kernel>("kernel", RtlDeviceOptions{}));
  EXPECT_LE(kernel, bare + bare / 100) << "bare: " << bare;
}

}  // namespace
}  // namespace sluice
