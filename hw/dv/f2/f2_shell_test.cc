// The custom logic for F2 by the shell's rules (f2_shell.h, which fails on every breach), with the
// host's Device. unit_test.cc is built with it as well.

#include "hw/dv/f2/f2_shell.h"

#include <Vf2_tiny2.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "device/card_device.h"
#include "device/device_executor.h"
#include "device/f2/f2_device.h"
#include "hw/dv/unit/unit_bench.h"
#include "sluice_abi.h"

namespace sluice {
namespace {

using Shell = dv::F2Shell<Vf2_tiny2>;

constexpr unsigned kUnits = 2;
constexpr uint64_t kMemory = 256 << 20;

std::string RandomBytes(std::mt19937_64& rng, size_t n) {
  std::string bytes(n, '\0');
  for (char& c : bytes) {
    c = static_cast<char>(rng());
  }
  return bytes;
}

class F2Test : public testing::Test {
 protected:
  void MakeCard(dv::ShellOptions options = {}) {
    if (options.memory.bytes > kMemory) {
      options.memory.bytes = kMemory;
    }
    shell_ = std::make_shared<Shell>(options);
  }
  // With quick and slow memory, and a hasty and a slow shell.
  void MakeRandomCard() {
    MakeCard({.memory = dv::RandomMemory(rng_).memory,
              .stall_percent = static_cast<uint32_t>(std::array{0, 20, 60}[rng_() % 3])});
  }
  std::vector<std::unique_ptr<Device>> OpenDevices() {
    std::vector<std::unique_ptr<Device>> devices;
    const Status status =
        MakeF2Devices("card", shell_, dv::SimulatedCard(kMemory / kUnits), &devices);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return devices;
  }
  std::string Read(uint64_t address, uint64_t bytes) {
    std::string read(bytes, '\0');
    shell_->ReadMemory(address, bytes, read.data());
    return read;
  }
  // Writes and reads are in no order. A word is written behind those that are to arrive first; it
  // is lost while the memory is not ready.
  void Flush() {
    const std::string word = RandomBytes(rng_, 8);
    do {
      shell_->WriteMemory(0, word);
    } while (Read(0, 8) != word && shell_->Fault().empty());
  }
  void TearDown() override { EXPECT_EQ(shell_->Fault(), ""); }

  const uint64_t seed_ = dv::TestSeed();
  std::mt19937_64 rng_{seed_};
  std::shared_ptr<Shell> shell_;
};

TEST_F(F2Test, HasTheRegistersOfACardInBar0) {
  MakeCard();
  for (unsigned unit = 0; unit < kUnits; ++unit) {
    EXPECT_EQ(shell_->Read(unit * abi::card::kUnitStride + abi::capability::kId),
              abi::kMagic << 16 | abi::kVersion);
  }
  EXPECT_EQ(shell_->Read(abi::card::kUnits), kUnits);
  for (int i = 0; i < 200; ++i) {
    const auto value = static_cast<uint32_t>(rng_());
    shell_->Write(abi::control::kJobAddrLo, value);
    shell_->Write(abi::card::kUnitStride + abi::control::kJobAddrLo, ~value);
    EXPECT_EQ(shell_->Read(abi::control::kJobAddrLo), value);
    EXPECT_EQ(shell_->Read(abi::card::kUnitStride + abi::control::kJobAddrLo), ~value);
  }
}

TEST_F(F2Test, HasTheMemoryInBar4) {
  for (int round = 0; round < 6; ++round) {
    MakeRandomCard();
    Flush();
    constexpr uint64_t kBase = 4096;
    std::string expected(20'000, '\0');
    for (int i = 0; i < 30; ++i) {
      for (int writes = rng_() % 8; writes >= 0; --writes) {
        const uint64_t at = rng_() % expected.size();
        const uint64_t most = rng_() % 4 == 0 ? 9000 : 200;
        const uint64_t n = 1 + rng_() % std::min(most, expected.size() - at);
        const std::string bytes = RandomBytes(rng_, n);
        shell_->WriteMemory(kBase + at, bytes);
        expected.replace(at, n, bytes);
      }
      Flush();
      const uint64_t at = rng_() % expected.size();
      const uint64_t n = 1 + rng_() % (expected.size() - at);
      const std::string read = Read(kBase + at, n);
      const auto differs = std::mismatch(read.begin(), read.end(), expected.begin() + at).first;
      ASSERT_EQ(differs - read.begin(), n) << "round " << round << ", " << i << ": from " << at;
    }
    ASSERT_TRUE(std::string(shell_->dram().data() + kBase, expected.size()) == expected);
  }
}

// Nobody is there: behind the DIMM, and where the simulation ends before.
TEST_F(F2Test, AnswersWhereNoMemoryIs) {
  MakeRandomCard();
  Flush();
  for (const uint64_t address : {kMemory, uint64_t{1} << 36, uint64_t{1} << 36 | 4095}) {
    shell_->WriteMemory(address - 100, std::string(300, 'x'));
    EXPECT_EQ(Read(address, 200), std::string(200, '\xff'));
  }
  Flush();
  EXPECT_EQ(Read(kMemory - 100, 200), std::string(100, 'x') + std::string(100, '\xff'));
}

TEST_F(F2Test, AnswersBeforeTheMemoryIsReady) {
  constexpr uint64_t kReady = 50'000;
  MakeCard({.ready_cycle = kReady});
  while (shell_->cycle() < kReady - 5000) {
    shell_->WriteMemory(rng_() % 10'000, std::string(rng_() % 5000, 'x'));
    EXPECT_EQ(Read(rng_() % 10'000, 100), std::string(100, '\xff'));
    EXPECT_EQ(shell_->Read(abi::card::kUnits), kUnits);
  }
  // Who opens the card waits until it is.
  EXPECT_EQ(OpenDevices().size(), kUnits);
  EXPECT_GT(shell_->cycle(), kReady);
  EXPECT_EQ(Read(4096, 100), std::string(100, '\0'));
}

// The shell is answered in time whatever the units do, and they go on whatever the host does.
TEST_F(F2Test, UnitsAndHostDoNotHoldEachOtherUp) {
  MakeCard({.stall_percent = 60});
  GeneratorOptions shape;
  shape.records = 1000;
  shape.value_bytes = {100, 100};
  const GeneratedTask generated = GenerateTask(shape);
  std::vector<std::unique_ptr<Device>> devices = OpenDevices();
  DeviceExecutor unit(std::move(devices[0]));
  const auto cycles = [&] {
    const MergeResult result =
        unit.Run(generated.task, [](const MergeOutput&) { return Status(); });
    EXPECT_TRUE(result.ok()) << result.error.ToString();
    return result.stats.cycles;
  };
  const uint64_t alone = cycles();
  std::atomic<bool> done = false;
  std::vector<std::thread> others;
  for (const bool writes : {true, false}) {
    others.emplace_back([&, writes] {
      std::string bytes(10'000, 'x');
      while (!done) {
        if (writes) {
          shell_->WriteMemory(kMemory / 2 + 4096, bytes);
        } else {
          shell_->ReadMemory(kMemory / 2 + 4096, bytes.size(), bytes.data());
        }
      }
    });
  }
  const uint64_t together = cycles();
  done = true;
  for (std::thread& other : others) {
    other.join();
  }
  EXPECT_LE(together, 2 * alone);
  std::cout << alone << " cycles alone, " << together << " beside a busy host; it waited "
            << shell_->longest() << " at most\n";
}

// Remembers where the last job's memory was.
class Recorded : public CardDevice {
 public:
  using CardDevice::CardDevice;
  Status Allocate(uint32_t slot, uint64_t bytes, uint64_t* address) override {
    SLUICE_RETURN_IF_ERROR(CardDevice::Allocate(slot, bytes, address));
    regions.push_back(*address);
    return {};
  }

  std::vector<uint64_t> regions;  // of all jobs: input images, data, index, control of each
};

TEST_F(F2Test, BusErrorsEndTheJobAndNotTheUnit) {
  MakeCard();
  auto owned = std::make_unique<Recorded>(std::move(OpenDevices().back()));
  Recorded& device = *owned;
  DeviceExecutor unit(std::move(owned));
  GeneratorOptions shape;
  shape.seed = seed_;
  shape.runs = 2;
  shape.records = 100;
  const GeneratedTask generated = GenerateTask(shape);
  const auto run = [&] {
    return unit.Run(generated.task, [](const MergeOutput&) { return Status(); }).status;
  };
  ASSERT_EQ(run(), MergeStatus::kOk);
  ASSERT_EQ(device.regions.size(), 5u) << "two images, data, index, control";
  const std::vector<uint64_t> regions = device.regions;
  const std::pair<size_t, MergeStatus> cases[] = {
      {1, MergeStatus::kReadError}, {2, MergeStatus::kWriteError}, {3, MergeStatus::kWriteError}};
  for (const auto& [region, status] : cases) {
    shell_->memory().poison = {{regions[region], regions[region] + 64}};
    EXPECT_EQ(MergeStatusText(run()), MergeStatusText(status)) << region;
    shell_->memory().poison = {};
    EXPECT_EQ(run(), MergeStatus::kOk);
  }
}

// Memory that stops: the shell gives up, and says so.
TEST_F(F2Test, TheShellsPatienceEnds) {
  dv::ShellOptions options;
  options.memory.mute_begin = 3000;
  options.memory.mute_end = UINT64_MAX;
  MakeCard(options);
  while (shell_->Fault().empty() && shell_->cycle() < 20'000) {
    shell_->WriteMemory(4096, "x");
    (void)Read(4096, 1);
  }
  EXPECT_NE(shell_->Fault().find("no answer on PCIS within 8 us"), std::string::npos);
  EXPECT_EQ(shell_->Read(abi::card::kUnits), 0xffff'ffff);
  MakeCard();
}

}  // namespace
}  // namespace sluice
