// A card of several units against the CPU executor: all units at work at once, each from a thread
// of its own, on different tasks, byte for byte; with faults, bus errors and resets in some of
// them.
//
// Built once per card with CARD_MODEL, a model class that has assertions on, and CARD_UNITS. The
// first jobs of all units start in the same cycles for the same seed; later ones when their threads
// come to it.

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "device/check_executor.h"
#include "device/device_executor.h"
#include "device/rtlsim/rtl_device_impl.h"
#include "hw/dv/card/misled_device.h"
#include "hw/dv/card/start_together.h"
#include "hw/dv/unit/guarded_device.h"
#include "hw/dv/unit/unit_bench.h"
#include "merge/cpu_executor.h"
#include "sluice_abi.h"

#define STRING_OF(x) #x
#define HEADER_OF(model) STRING_OF(model.h)
#include HEADER_OF(CARD_MODEL)

namespace sluice {
namespace {

using Card = rtlsim::RtlCard<CARD_MODEL, CARD_UNITS>;
using Unit = rtlsim::RtlDevice<CARD_MODEL, CARD_UNITS>;
using MisledUnit = dv::MisledDevice<Unit>;
using Executors = std::vector<std::unique_ptr<DeviceExecutor>>;

constexpr unsigned kUnits = CARD_UNITS;
constexpr uint64_t kUnitMemory = 64 << 20;
constexpr uint64_t kCardMemory = kUnits * kUnitMemory;

Status Discard(const MergeOutput&) { return {}; }

// Runs `work(unit)` for every unit, each in a thread.
void ForEachUnit(const std::function<void(unsigned)>& work) {
  std::vector<std::thread> threads;
  for (unsigned unit = 0; unit < kUnits; ++unit) {
    threads.emplace_back(work, unit);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

// Executors on the units of `card`, with guards around their memory, that start together.
Executors Crew(const RtlDeviceOptions& options, const std::shared_ptr<Card>& card) {
  auto gate = std::make_shared<dv::StartGate>(kUnits);
  Executors crew;
  for (unsigned unit = 0; unit < kUnits; ++unit) {
    auto guarded =
        std::make_unique<dv::GuardedDevice>(std::make_unique<Unit>("card", options, card, unit));
    crew.push_back(std::make_unique<DeviceExecutor>(
        std::make_unique<dv::StartTogether>(std::move(guarded), gate, unit)));
  }
  return crew;
}

// A task for each unit's `job`th turn, made from the seed alone.
GeneratedTask RandomTask(uint64_t seed, unsigned unit, int job, const DeviceInfo& info) {
  std::seed_seq sequence{seed, uint64_t{unit}, static_cast<uint64_t>(job)};
  std::mt19937_64 rng(sequence);
  GeneratedTask generated = GenerateTask(dv::RandomShape(rng, info.ways, info.max_key_bytes));
  dv::RandomOutput(rng, generated, info.max_key_bytes, &generated.task);
  if (dv::Chance(rng, 30)) {  // blocks that fail their CRC, if there are any
    for (TableImage& table : generated.images[rng() % generated.images.size()]) {
      const BlockHandle at = table.blocks[rng() % table.blocks.size()];
      table.file[at.offset + rng() % at.size] ^= static_cast<char>(1 << rng() % 8);
    }
    generated.Refer();
    // The reference does not read past the end of the range, and would not see it there.
    generated.task.has_begin = generated.task.has_end = false;
  }
  return generated;
}

TEST(Card, EveryUnitMergesLikeTheReference) {
  const uint64_t seed = dv::TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 rng(seed);
  std::atomic<int> faults = 0;
  for (int round = 0; round < 12; ++round) {
    const RtlDeviceOptions options = dv::RandomMemory(rng, kCardMemory);
    const uint64_t tasks = rng();
    Executors crew = Crew(options, std::make_shared<Card>(options));
    ForEachUnit([&](unsigned unit) {
      const DeviceInfo info = crew[unit]->device().info();
      CheckExecutor check(std::move(crew[unit]), dv::MakeReference(info));
      for (int job = 0; job < 4; ++job) {
        GeneratedTask generated = RandomTask(tasks, unit, job, info);
        const MergeResult result = check.Run(generated.task, Discard);
        // Right or wrong, it is what the reference says: else the executor makes it END_TO_END.
        faults += result.status == MergeStatus::kBlockChecksum;
        EXPECT_TRUE(result.ok() || result.status == MergeStatus::kBlockChecksum)
            << "SLUICE_SEED=" << seed << ", round " << round << ", unit " << unit << ", job " << job
            << ": " << MergeStatusText(result.status) << ": " << result.error.ToString();
      }
    });
    if (HasFailure()) {
      return;
    }
  }
  EXPECT_GT(faults, 0);
}

// One task, for all units, in the tests below.
class CardTroubles : public testing::Test {
 protected:
  CardTroubles() {
    GeneratorOptions shape;
    shape.seed = rng_();
    shape.records = 200;
    shape.value_bytes = {0, 400};
    generated_ = GenerateTask(shape);
  }

  void ExpectGood(unsigned unit, std::unique_ptr<DeviceExecutor> executor) {
    CheckExecutor check(std::move(executor), std::make_unique<CpuExecutor>());
    const MergeResult result = check.Run(generated_.task, Discard);
    EXPECT_TRUE(result.ok()) << "SLUICE_SEED=" << seed_ << ", unit " << unit << ": "
                             << MergeStatusText(result.status) << ": " << result.error.ToString();
  }

  const uint64_t seed_ = dv::TestSeed();
  std::mt19937_64 rng_{seed_};
  GeneratedTask generated_;
};

// A page of one unit's memory answers with errors: inputs, outputs or descriptor, as it falls.
TEST_F(CardTroubles, BusErrorsOfOneUnitAreNoOthers) {
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed_));
  std::atomic<int> errors = 0;
  for (int round = 0; round < 12; ++round) {
    RtlDeviceOptions options = dv::RandomMemory(rng_, kCardMemory);
    const uint64_t page = kUnitMemory + 4096 * (1 + rng_() % 60);
    options.memory.poison = {{page, page + 4096}};
    Executors crew = Crew(options, std::make_shared<Card>(options));
    ForEachUnit([&](unsigned unit) {
      if (unit != 1) {
        ExpectGood(unit, std::move(crew[unit]));
        return;
      }
      const MergeStatus status = crew[unit]->Run(generated_.task, Discard).status;
      EXPECT_TRUE(status == MergeStatus::kOk || status == MergeStatus::kReadError ||
                  status == MergeStatus::kWriteError)
          << MergeStatusText(status);
      errors += status != MergeStatus::kOk;
    });
    if (HasFailure()) {
      return;
    }
  }
  EXPECT_GT(errors, 0);
}

// Resets its unit some cycles into the first job, while the others run.
class Interrupted : public dv::StartTogether {
 public:
  Interrupted(std::unique_ptr<Device> device, std::shared_ptr<dv::StartGate> gate, unsigned unit,
              Card* card, uint64_t cycles)
      : StartTogether(std::move(device), std::move(gate), unit),
        card_(card),
        unit_(unit),
        cycles_(cycles) {}

  Status Wait(uint64_t cycles, uint8_t* status) override {
    if (std::exchange(interrupted_, true)) {
      return StartTogether::Wait(cycles, status);
    }
    for (const uint64_t start = card_->cycle(); card_->cycle() - start < cycles_;) {
      (void)card_->Read(unit_, abi::control::kCtrl);  // which lets time pass
    }
    done_ = (card_->Read(unit_, abi::control::kCtrl) >> abi::control::kCtrlDoneShift & 1) != 0;
    return Status::IoError("interrupted");  // upon which the executor calls Reset
  }
  bool done() const { return done_; }

 private:
  Card* card_;
  unsigned unit_;
  uint64_t cycles_;
  bool interrupted_ = false;
  bool done_ = false;
};

TEST_F(CardTroubles, AResetOfOneUnitIsNoOthers) {
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed_));
  int within = 0;
  for (int round = 0; round < 15; ++round) {
    const RtlDeviceOptions options = dv::RandomMemory(rng_, kCardMemory);
    auto card = std::make_shared<Card>(options);
    auto gate = std::make_shared<dv::StartGate>(kUnits);
    const uint64_t cycles = rng_() % 4000;
    Executors crew;
    Interrupted* interrupted = nullptr;
    for (unsigned unit = 0; unit < kUnits; ++unit) {
      auto device = std::make_unique<Unit>("card", options, card, unit);
      std::unique_ptr<dv::StartTogether> together;
      if (unit == 0) {
        together = std::make_unique<Interrupted>(std::move(device), gate, unit, card.get(), cycles);
        interrupted = static_cast<Interrupted*>(together.get());
      } else {
        together = std::make_unique<dv::StartTogether>(std::move(device), gate, unit);
      }
      crew.push_back(std::make_unique<DeviceExecutor>(std::move(together)));
    }
    ForEachUnit([&](unsigned unit) {
      if (unit == 0) {
        EXPECT_EQ(crew[0]->Run(generated_.task, Discard).status, MergeStatus::kDevice);
      }
      ExpectGood(unit, std::move(crew[unit]));
    });
    within += !interrupted->done();
    ASSERT_FALSE(HasFailure()) << "round " << round << ", reset after " << cycles << " cycles";
  }
  EXPECT_GT(within, 5);  // fell before the job's end
}

TEST(CardRegisters, WindowsWithoutAUnitReadAsZero) {
  std::mt19937_64 rng(1);
  Card card(dv::RandomMemory(rng, kCardMemory));
  for (unsigned unit = 0; unit < abi::card::kUnitCount; ++unit) {
    EXPECT_EQ(card.Read(unit, abi::capability::kId),
              unit < kUnits ? abi::kMagic << 16 | abi::kVersion : 0u);
    card.Write(unit, abi::control::kGie, 1);
    EXPECT_EQ(card.Read(unit, abi::control::kGie), unit < kUnits ? 1u : 0u);
  }
  EXPECT_EQ(card.Read(0, abi::card::kUnits), kUnits);
  EXPECT_EQ(card.Read(0, abi::card::kReset), 0u);
}

// However soon a unit is asked that is being reset: it answers, if not always with what is there, and so
// do the others.
TEST(CardRegisters, AnswerBesideAReset) {
  std::mt19937_64 rng(1);
  Card card(dv::RandomMemory(rng, kCardMemory));
  for (int cycles = 0; cycles < 24; ++cycles) {
    SCOPED_TRACE(cycles);
    card.Write(0, abi::card::kReset, 1);
    for (const uint64_t start = card.cycle(); card.cycle() - start < uint64_t(cycles);) {
      (void)card.Read(0, abi::card::kUnits);  // which lets time pass
    }
    (void)card.Read(0, abi::capability::kId);
    card.Write(0, abi::control::kGie, 1);
    EXPECT_EQ(card.Read(1, abi::capability::kId), abi::kMagic << 16 | abi::kVersion);
    while (card.Read(0, abi::card::kReset) != 0) {
    }
    EXPECT_EQ(card.Read(0, abi::capability::kId), abi::kMagic << 16 | abi::kVersion);
  }
}

// A stray address bit leads to an error, not to the next unit's memory, on every port.
TEST(Card, NoUnitReachesBeyondItsWindow) {
  std::mt19937_64 rng(dv::TestSeed());
  RtlDeviceOptions options = dv::RandomMemory(rng, kCardMemory);
  uint64_t strays = 0;
  options.memory.watch = [&](const rtlsim::Access& access) {
    strays += access.address < kUnitMemory || access.address + access.bytes > 2 * kUnitMemory;
  };
  auto card = std::make_shared<Card>(options);
  auto owned = std::make_unique<MisledUnit>("card", options, card, 1);
  MisledUnit& device = *owned;
  DeviceExecutor unit(std::move(owned));
  Unit first("card", options, card, 0);  // sets its own window
  GeneratorOptions shape;
  shape.records = 300;
  const GeneratedTask generated = GenerateTask(shape);
  for (const dv::Misleading& misled : dv::kMisleadings) {
    for (const uint64_t add : {uint64_t{0} - kUnitMemory, kUnitMemory, uint64_t{1} << 45}) {
      SCOPED_TRACE(fmt::format("{} {:#x} + {:#x}", misled.in_table, misled.offset, add));
      if (misled.offset == abi::job::kRun && !misled.in_table && add > kUnitMemory) {
        continue;  // would reach into the count
      }
      device.in_table = misled.in_table;
      device.offset = misled.offset;
      device.add = add;
      const MergeResult bad = unit.Run(generated.task, Discard);
      EXPECT_EQ(MergeStatusText(bad.status), MergeStatusText(misled.status));
      const MergeResult good = unit.Run(generated.task, Discard);
      EXPECT_TRUE(good.ok()) << good.error.ToString();
    }
  }
  EXPECT_EQ(strays, 0u);
}

}  // namespace
}  // namespace sluice
