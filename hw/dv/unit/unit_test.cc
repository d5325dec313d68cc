// The whole unit against the CPU executor: random tasks byte for byte, and corrupt inputs status
// for status, under random memory latency and back-pressure, job after job without a reset.
//
// Built once per configuration, with what makes a device of it (checked_device.h).

#include <gtest/gtest.h>

#include "device/check_executor.h"
#include "device/device_executor.h"
#include "hw/dv/unit/checked_device.h"
#include "hw/dv/unit/guarded_device.h"
#include "hw/dv/unit/unit_bench.h"
#include "merge/cpu_executor.h"
#include "sluice_abi.h"
#include "util/crc32c.h"

namespace sluice {
namespace {

std::unique_ptr<Device> MakeDevice(const RtlDeviceOptions& options) {
  return std::make_unique<dv::GuardedDevice>(dv::MakeCheckedDevice(options));
}

MergeSink Discard() {
  return [](const MergeOutput&) { return Status(); };
}

unsigned Rounds(unsigned by_default) {
  const char* text = std::getenv("SLUICE_ROUNDS");
  return text != nullptr ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : by_default;
}

TEST(Unit, MergesLikeTheReference) {
  const uint64_t seed = dv::TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 rng(seed);
  for (unsigned round = 0; round < Rounds(5); ++round) {
    auto device = MakeDevice(dv::RandomMemory(rng));
    const DeviceInfo info = device->info();
    CheckExecutor check(std::make_unique<DeviceExecutor>(std::move(device)),
                        dv::MakeReference(info));
    for (int job = 0; job < 15; ++job) {
      SCOPED_TRACE("round " + std::to_string(round) + ", job " + std::to_string(job));
      GeneratedTask generated = GenerateTask(dv::RandomShape(rng, info.ways, info.max_key_bytes));
      MergeTask& task = generated.task;
      dv::RandomOutput(rng, generated, info.max_key_bytes, &task);
      task.bloom_bits_per_key = info.bloom ? dv::RandomFilterBits(rng) : 0;
      task.compress = info.compressors > 0 && rng() % 4 != 0;
      if (info.xxh3 && rng() % 4 != 0) {
        generated.UseXxh3(rng);
      }
      const MergeResult result = check.Run(task, Discard());
      ASSERT_TRUE(result.ok()) << MergeStatusText(result.status) << ": " << result.error.ToString();
    }
  }
}

// One bit of one table flipped, with or without mending the block's CRC afterwards, so that the
// fault is met by the CRC or by what reads the content.
struct Damage {
  bool in_index;
  bool mended;
};

bool DamageOne(std::mt19937_64& rng, GeneratedTask* generated, Damage* damage) {
  TableImage* const table = dv::RandomTable(rng, generated).first;
  if (table == nullptr) {
    return false;
  }
  *damage = {dv::Chance(rng, 30), dv::Chance(rng, 70)};
  const BlockHandle at =
      damage->in_index ? table->index : table->blocks[rng() % table->blocks.size()];
  const size_t bytes = at.size + (damage->mended ? 1 : kBlockTrailerBytes);
  table->file[at.offset + rng() % bytes] ^= static_cast<char>(1 << rng() % 8);
  if (damage->mended) {
    const uint32_t crc = Crc32c(std::string_view(table->file).substr(at.offset, at.size + 1));
    EncodeFixed32(table->file.data() + at.offset + at.size + 1, MaskCrc(crc));
  }
  generated->Refer();
  return true;
}

TEST(Unit, NamesEveryFaultAndGoesOn) {
  const uint64_t seed = dv::TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 rng(seed);
  unsigned mended = 0;
  unsigned named_alike = 0;
  for (unsigned round = 0; round < Rounds(5); ++round) {
    const RtlDeviceOptions memory = dv::RandomMemory(rng);
    DeviceExecutor unit(MakeDevice(memory));
    const DeviceInfo& info = unit.device().info();
    const auto reference = dv::MakeReference(info);
    for (int job = 0; job < 15; ++job) {
      SCOPED_TRACE("round " + std::to_string(round) + ", job " + std::to_string(job));
      GeneratedTask generated = GenerateTask(dv::RandomShape(rng, info.ways, info.max_key_bytes));
      Damage damage;
      if (!DamageOne(rng, &generated, &damage)) {
        continue;
      }
      const MergeResult found = unit.Run(generated.task, Discard());
      const MergeResult expected = reference->Run(generated.task, Discard());
      SCOPED_TRACE(found.error.ToString() + " / reference: " + expected.error.ToString());
      uint64_t input_bytes = 0;
      for (const auto& run : generated.images) {
        for (const TableImage& table : run) {
          input_bytes += table.file.size();
        }
      }
      EXPECT_LT(found.stats.cycles, 30'000 + 50 * input_bytes);
      if (damage.in_index && damage.mended && !expected.ok()) {
        // One flipped bit of an index can lead to several faults, and which of them is met first
        // depends on how far the blocks before have come.
        EXPECT_FALSE(found.ok());
        EXPECT_TRUE(found.status == expected.status || dv::IsIndexFault(found.status) ||
                    dv::IsIndexFault(expected.status));
      } else if (damage.mended) {
        ASSERT_TRUE(SameFault(found, expected));
        EXPECT_EQ(found.fault.offset, expected.fault.offset);
        ++mended;
        named_alike += found.status == expected.status;
      } else {
        ASSERT_EQ(MergeStatusText(found.status), MergeStatusText(expected.status));
        EXPECT_EQ(found.fault.offset, expected.fault.offset);
      }
      if (!expected.ok()) {
        EXPECT_EQ(found.fault.run, expected.fault.run);
        EXPECT_EQ(found.fault.table, expected.fault.table);
      }
      ASSERT_NE(found.status, MergeStatus::kDevice);
    }
  }
  // One flipped bit seldom makes several faults at once, in 2 of 1,000 cases.
  EXPECT_GE(named_alike + 2 + mended / 20, mended);
}

// Moves everything that a job uses up in device memory, so that a poisoned range falls where the
// test wants it.
class ShiftedDevice : public dv::GuardedDevice {
 public:
  using GuardedDevice::GuardedDevice;

  void Free(uint32_t slot) override {
    GuardedDevice::Free(slot);
    between_jobs_ = true;
  }
  Status Allocate(uint32_t slot, uint64_t bytes, uint64_t* address) override {
    if (std::exchange(between_jobs_, false)) {
      regions.clear();
      uint64_t unused;
      SLUICE_RETURN_IF_ERROR(device().Allocate(slot, shift, &unused));
    }
    SLUICE_RETURN_IF_ERROR(GuardedDevice::Allocate(slot, bytes, address));
    regions.push_back(*address);
    return {};
  }

  uint64_t shift = 0;             // bytes, a multiple of 4 KiB
  std::vector<uint64_t> regions;  // of the last job: input images, data, index, control

 private:
  bool between_jobs_ = true;
};

TEST(Unit, BusErrorsEndTheJobAndNotTheUnit) {
  const uint64_t seed = dv::TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 rng(seed);
  constexpr uint64_t kPoison = 64 << 20;
  RtlDeviceOptions options = dv::RandomMemory(rng);
  options.memory.poison = {{kPoison, kPoison + 4096}};
  auto owned = std::make_unique<ShiftedDevice>(dv::MakeCheckedDevice(options));
  ShiftedDevice& device = *owned;
  DeviceExecutor unit(std::move(owned));

  GeneratorOptions shape;
  shape.seed = seed;
  shape.runs = 2;
  shape.records = 300;
  shape.table_bytes = 8 << 20;
  const GeneratedTask generated = GenerateTask(shape);
  const MergeResult good = unit.Run(generated.task, Discard());
  ASSERT_TRUE(good.ok()) << good.error.ToString();
  ASSERT_EQ(device.regions.size(), 5u) << "two images, data, index, control";
  const std::vector<uint64_t> regions = device.regions;

  const struct {
    const char* what;
    size_t region;
    MergeStatus status;
  } cases[] = {
      {"the second run's blocks", 1, MergeStatus::kReadError},
      {"the output's data", 2, MergeStatus::kWriteError},
      {"the output's index", 3, MergeStatus::kWriteError},
      // No descriptor, no completion record: the status register alone tells.
      {"the job descriptor", 4, MergeStatus::kReadError},
  };
  for (const auto& poisoned : cases) {
    SCOPED_TRACE(poisoned.what);
    device.shift = kPoison - regions[poisoned.region];
    const MergeResult bad = unit.Run(generated.task, Discard());
    EXPECT_EQ(MergeStatusText(bad.status), MergeStatusText(poisoned.status));
    if (poisoned.region == 1) {
      EXPECT_EQ(bad.fault.run, 1u);
    }
    device.shift = 0;
    const MergeResult again = unit.Run(generated.task, Discard());
    EXPECT_TRUE(again.ok()) << again.error.ToString();
    EXPECT_EQ(again.stats.output_checksum, good.stats.output_checksum);
  }
}

// Changes bytes of the next job descriptor on its way to the unit, and back when the job has ended:
// the executor checks that what it wrote still stands there.
class PatchedDevice : public dv::GuardedDevice {
 public:
  using GuardedDevice::GuardedDevice;

  Status Start(uint64_t descriptor) override {
    address_ = descriptor + offset;
    const uint64_t job = descriptor + std::exchange(shift, 0);
    original_.resize(bytes.size());
    SLUICE_RETURN_IF_ERROR(device().Read(address_, original_.size(), original_.data()));
    SLUICE_RETURN_IF_ERROR(device().Write(address_, std::exchange(bytes, "")));
    return GuardedDevice::Start(job);
  }
  Status Wait(uint64_t cycles, uint8_t* status) override {
    SLUICE_RETURN_IF_ERROR(GuardedDevice::Wait(cycles, status));
    return device().Write(address_, std::exchange(original_, ""));
  }

  uint64_t offset = 0;
  std::string bytes;   // to stand at `offset`
  uint64_t shift = 0;  // of the address that the unit is told

 private:
  uint64_t address_ = 0;
  std::string original_;
};

TEST(Unit, RefusesDescriptorsAndAsksForRoomInTheIndex) {
  std::mt19937_64 rng(1);
  auto owned = std::make_unique<PatchedDevice>(dv::MakeCheckedDevice(dv::RandomMemory(rng)));
  PatchedDevice& device = *owned;
  DeviceExecutor unit(std::move(owned));
  GeneratorOptions shape;
  shape.records = 100;
  shape.table.block_bytes = 512;
  const GeneratedTask generated = GenerateTask(shape);
  const auto run = [&](uint64_t offset, const std::string& bytes) {
    device.offset = offset;
    device.bytes = bytes;
    return unit.Run(generated.task, Discard()).status;
  };
  namespace job = abi::job;
  EXPECT_EQ(run(job::kHead, "X"), MergeStatus::kBadDescriptor) << "magic";
  EXPECT_EQ(run(job::kHead + job::kHeadVersionShift / 8, "\x7f"), MergeStatus::kBadDescriptor);
  EXPECT_EQ(run(job::kHead + job::kHeadRunsShift / 8, "\x7f"), MergeStatus::kBadDescriptor);
  // 64 bytes: less than an index block and its record. The executor then asks for more.
  EXPECT_EQ(run(job::kIndexBytes, std::string("\x40\0\0\0\0\0\0\0", 8)), MergeStatus::kOk);
  EXPECT_EQ(run(0, ""), MergeStatus::kOk);
  const auto word = [](uint64_t value) {
    std::string text(8, '\0');
    EncodeFixed64(text.data(), value);
    return text;
  };
  EXPECT_EQ(run(job::kBlock, word(uint64_t{abi::kBlockBytesLimit} + 1).substr(0, 4)),
            MergeStatus::kBadDescriptor);
  const bool bloom = unit.device().info().bloom;
  const std::string filters =
      word(4096 | 16ull << job::kBlockRestartIntervalShift | 10ull << job::kBlockBloomBitsShift |
           6ull << job::kBlockBloomProbesShift);
  EXPECT_EQ(run(job::kBlock, filters), bloom ? MergeStatus::kLimit : MergeStatus::kBadDescriptor)
      << "filters, without an area for them";
  if (unit.device().info().compressors == 0) {
    EXPECT_EQ(run(job::kHead + job::kHeadCompressShift / 8,
                  std::string(1, 1 << job::kHeadCompressShift % 8)),
              MergeStatus::kBadDescriptor);
  }
  for (const char low : {'\1', '\4'}) {
    EXPECT_EQ(run(job::kRun, std::string(1, low)), MergeStatus::kBadDescriptor) << "tables";
  }
  for (const uint64_t shift : {1, 4, 8, 32}) {
    device.shift = shift;
    EXPECT_EQ(run(0, ""), MergeStatus::kBadDescriptor) << "JOB_ADDR";
  }
  EXPECT_EQ(run(0, ""), MergeStatus::kOk);
}

// Ports that no longer answer: the unit says so on its own, and is as good as new after a reset.
TEST(Unit, EndsAJobWhoseMemoryIsGone) {
  RtlDeviceOptions options;
  options.hang_cycles = 20'000'000;
  options.memory.mute_begin = 3000;
  options.memory.mute_end = UINT64_MAX;
  DeviceExecutor unit(MakeDevice(options));
  GeneratorOptions shape;
  shape.records = 1000;
  const GeneratedTask generated = GenerateTask(shape);
  const MergeResult result = unit.Run(generated.task, Discard());
  EXPECT_EQ(result.status, MergeStatus::kDevice);
  EXPECT_EQ(result.error.message(), MergeStatusText(MergeStatus::kDevice));
}

// What the unit has no room for is refused by name, so that the CPU can do it instead.
TEST(Unit, NamesItsLimits) {
  std::mt19937_64 rng(1);
  DeviceExecutor unit(MakeDevice(dv::RandomMemory(rng)));
  const DeviceInfo& info = unit.device().info();
  const auto make = [](const std::string& suffix, int records) {
    TableImageBuilder table;
    for (int i = 0; i < records; ++i) {
      table.Add(MakeInternalKey(fmt::format("{:08}", i) + suffix, 1, RecordType::kValue), "v");
    }
    return table.Finish();
  };
  const TableImage small = make("", static_cast<int>(info.max_restarts) + 2);
  const TableImage long_keys = make(std::string(info.max_key_bytes - 7, 'k'), 3);
  const auto run = [&](const TableImage& image, uint32_t block_bytes, uint32_t restart_interval) {
    MergeTask task;
    task.runs = {{{image.file, image.index}}};
    task.block_bytes = block_bytes;
    task.restart_interval = restart_interval;
    task.table_bytes = 1 << 30;
    return unit.Run(task, Discard()).status;
  };
  EXPECT_EQ(run(small, 1 << 30, 1), MergeStatus::kLimit) << "restarts in a block";
  EXPECT_EQ(run(small, 1, 16), MergeStatus::kLimit) << "blocks in a table";
  EXPECT_EQ(run(long_keys, 4096, 16), MergeStatus::kKeyTooLong);
  EXPECT_EQ(run(small, 4096, 16), MergeStatus::kOk);

  MergeTask filters;
  filters.runs = {{{small.file, small.index}}};
  filters.bloom_bits_per_key = 10;
  const MergeStatus with_filters = info.bloom ? MergeStatus::kOk : MergeStatus::kBadDescriptor;
  EXPECT_EQ(unit.Run(filters, Discard()).status, with_filters);
  filters.block_bytes = 1 << 20;  // with more keys than a filter may have
  filters.restart_interval = 128;
  EXPECT_EQ(unit.Run(filters, Discard()).status,
            info.bloom ? MergeStatus::kLimit : MergeStatus::kBadDescriptor);

  MergeTask compressed;
  compressed.runs = {{{small.file, small.index}}};
  compressed.compress = true;
  EXPECT_EQ(unit.Run(compressed, Discard()).status,
            info.compressors > 0 ? MergeStatus::kOk : MergeStatus::kBadDescriptor);

  TableImage hashed = small;
  hashed.Reseal({BlockChecksum::kXxh3, 7});
  MergeTask xxh3;
  xxh3.runs = {{{hashed.file, hashed.index, 7}}};
  xxh3.checksum = BlockChecksum::kXxh3;
  EXPECT_EQ(unit.Run(xxh3, Discard()).status,
            info.xxh3 ? MergeStatus::kOk : MergeStatus::kBadDescriptor);

  MergeTask too_many;
  too_many.runs.resize(info.ways + 1, {{small.file, small.index}});
  EXPECT_EQ(unit.Run(too_many, Discard()).status, MergeStatus::kBadDescriptor);
  MergeTask none;
  EXPECT_EQ(unit.Run(none, Discard()).status, MergeStatus::kOk) << "nothing to merge";
}

// LevelDB's reader leaves room in index values for later formats.
TEST(Unit, PassesOverBytesAfterAHandle) {
  std::mt19937_64 rng(1);
  CheckExecutor check(std::make_unique<DeviceExecutor>(MakeDevice(dv::RandomMemory(rng))),
                      std::make_unique<CpuExecutor>());
  for (size_t extra = 0; extra < 20; ++extra) {
    TableImageBuilder table;
    for (int i = 0; i < 3; ++i) {
      table.Add(MakeInternalKey(std::to_string(i), 1, RecordType::kValue), "v");
      table.EndBlock();
    }
    TableImage image = table.Finish();
    BlockImageBuilder index(1);
    for (int i = 0; i < 3; ++i) {
      std::string value;
      image.blocks[i].AppendTo(&value);
      index.Add(MakeInternalKey(std::to_string(i), 1, RecordType::kValue),
                value + std::string(extra, 'x'));
    }
    image.ReplaceIndex(index.Finish());
    MergeTask task;
    task.runs = {{{image.file, image.index}}};
    const MergeResult result = check.Run(task, Discard());
    EXPECT_TRUE(result.ok()) << extra << ": " << result.error.ToString();
    EXPECT_EQ(result.stats.output_records, 3u);
  }
}

TEST(Unit, RefusesHandlesThatLeaveTheirTable) {
  std::mt19937_64 rng(1);
  DeviceExecutor unit(MakeDevice(dv::RandomMemory(rng)));
  TableImageBuilder table;
  table.Add(MakeInternalKey("key", 1, RecordType::kValue), "value");
  TableImage image = table.Finish();
  std::string handle;
  BlockHandle{1 << 30, 9}.AppendTo(&handle);
  BlockImageBuilder index(1);
  index.Add(MakeInternalKey("key", 1, RecordType::kValue), handle);
  image.ReplaceIndex(index.Finish());
  MergeTask task;
  task.runs = {{{image.file, image.index}}};
  EXPECT_EQ(MergeStatusText(unit.Run(task, Discard()).status),
            MergeStatusText(MergeStatus::kBadHandle));
}

// A block of nothing but restarts holds no record, so that any number of index entries could name
// it, and none would be out of order.
TEST(Unit, ReadsNoBlockTwice) {
  std::mt19937_64 rng(1);
  RtlDeviceOptions options;
  options.memory.seed = rng();
  DeviceExecutor unit(MakeDevice(options));
  const auto reference = dv::MakeReference(unit.device().info());
  std::string empty(60'000, '\0');
  PutFixed32(&empty, static_cast<uint32_t>(empty.size() / 4));
  TableImageBuilder table;
  table.AddRawBlock(empty, MakeInternalKey("a", 1, RecordType::kValue));
  TableImage image = table.Finish();
  for (const uint64_t step : {uint64_t{0}, kBlockTrailerBytes - 1}) {
    BlockImageBuilder index(1);
    for (uint64_t i = 0; i < 1000; ++i) {
      std::string value;
      const BlockHandle& block = image.blocks[0];
      (i == 0 ? block : BlockHandle{block.size * (step != 0) + step, 8}).AppendTo(&value);
      index.Add(MakeInternalKey(fmt::format("{:04}", i), 1, RecordType::kValue), value);
    }
    image.ReplaceIndex(index.Finish());
    MergeTask task;
    task.runs = {{{image.file, image.index}}};
    const MergeResult found = unit.Run(task, Discard());
    EXPECT_EQ(MergeStatusText(found.status), MergeStatusText(MergeStatus::kBadHandle));
    EXPECT_EQ(found.fault, (MergeFault{0, 0, image.index.offset}));
    EXPECT_LT(found.stats.cycles, 30'000 + image.file.size());
    const MergeResult expected = reference->Run(task, Discard());
    EXPECT_TRUE(SameFault(found, expected)) << expected.error.ToString();
    EXPECT_EQ(found.fault, expected.fault);
  }
}

// Nor does the unit ever hear of an index outside its table, for it would read one anywhere.
TEST(Unit, IndexesOutsideTheirTablesAreRefused) {
  std::mt19937_64 rng(1);
  DeviceExecutor unit(MakeDevice(dv::RandomMemory(rng)));
  TableImageBuilder table;
  table.Add(MakeInternalKey("key", 1, RecordType::kValue), "value");
  const TableImage image = table.Finish();
  for (const BlockHandle& index :
       {BlockHandle{image.file.size(), 30}, BlockHandle{image.index.offset, 1ull << 32 | 30},
        BlockHandle{UINT64_MAX, UINT64_MAX}}) {
    MergeTask task;
    task.runs = {{{image.file, image.index}}, {{image.file, index}}};
    const MergeResult found = unit.Run(task, Discard());
    const MergeResult expected = CpuExecutor().Run(task, Discard());
    EXPECT_TRUE(SameFault(found, expected));
    EXPECT_EQ(found.fault, expected.fault);
    EXPECT_TRUE(found.error.IsCorruption()) << found.error.ToString();
  }
}

// Blocks and tables of one record each make more index than data: the index side is what everything
// waits for.
TEST(Unit, WaitsForItsIndex) {
  const uint64_t seed = dv::TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 rng(seed);
  for (const uint32_t stall_percent : {0, 20, 50}) {
    RtlDeviceOptions options;
    options.memory.take_stall_percent = options.memory.give_stall_percent = stall_percent;
    options.memory.seed = rng();
    CheckExecutor check(std::make_unique<DeviceExecutor>(MakeDevice(options)),
                        std::make_unique<CpuExecutor>());
    for (const size_t longest_key : {5, 24, 64}) {
      TableImageBuilder table;
      for (int i = 0; i < 500; ++i) {
        const std::string key =
            fmt::format("{:04}", i) + std::string(rng() % (longest_key - 3), 'k');
        table.Add(MakeInternalKey(key, 1, RecordType::kValue), std::string(rng() % 40, 'v'));
      }
      const TableImage image = table.Finish();
      for (const uint64_t table_bytes : {1, 300, 3000, 1 << 30}) {
        MergeTask task;
        task.runs = {{{image.file, image.index}}};
        task.block_bytes = 1;
        task.table_bytes = table_bytes;
        const MergeResult result = check.Run(task, Discard());
        EXPECT_TRUE(result.ok()) << longest_key << ", " << table_bytes << ": "
                                 << result.error.ToString();
      }
    }
  }
}

TEST(Unit, AsksForMoreRoomWhenTheOutputOutgrowsTheInput) {
  // Long keys that share all but a few bytes, and an output that must not share any.
  std::mt19937_64 rng(1);
  RtlDeviceOptions options = dv::RandomMemory(rng);
  auto device = MakeDevice(options);
  const DeviceInfo info = device->info();
  TableImageBuilder table({.restart_interval = 1000});
  for (int i = 0; i < 4000; ++i) {
    table.Add(MakeInternalKey(fmt::format("{:0>1000}", i), 1, RecordType::kValue), "v");
  }
  const TableImage image = table.Finish();
  MergeTask task;
  task.runs = {{{image.file, image.index}}};
  task.restart_interval = 1;
  CheckExecutor check(std::make_unique<DeviceExecutor>(std::move(device)), dv::MakeReference(info));
  const MergeResult result = check.Run(task, Discard());
  EXPECT_TRUE(result.ok()) << result.error.ToString();
  EXPECT_GT(result.stats.output_bytes, 2 * image.file.size() + (1 << 20));
}

}  // namespace
}  // namespace sluice
