// What an executor over a device does with the tables of a task, and what it says such a task takes.

#include "device/device_executor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "device/testing.h"
#include "merge/cpu_executor.h"
#include "merge/outputs.h"
#include "merge/table_image.h"
#include "merge/task_generator.h"
#include "offload/dispatch.h"
#include "table/format.h"
#include "util/crc32c.h"
#include "util/testing.h"

namespace sluice {
namespace {

class CountingDevice : public FaultDevice {
 public:
  explicit CountingDevice(std::unique_ptr<Device> device) : FaultDevice(std::move(device), {}) {}
  Status WriteAll(std::span<const Source> pieces) override {
    ++writes_;
    return FaultDevice::WriteAll(pieces);
  }
  Status Read(uint64_t address, uint64_t bytes, char* out) override {
    reads_ += !in_list_;
    return FaultDevice::Read(address, bytes, out);
  }
  Status ReadAll(std::span<const Target> pieces) override {
    ++reads_;
    in_list_ = true;
    const Status status = FaultDevice::ReadAll(pieces);
    in_list_ = false;
    return status;
  }
  Status Start(uint64_t descriptor) override {
    ++jobs_;
    return FaultDevice::Start(descriptor);
  }
  // Since they were asked for last.
  int jobs() { return std::exchange(jobs_, 0); }
  int writes() { return std::exchange(writes_, 0); }
  int reads() { return std::exchange(reads_, 0); }

 private:
  int jobs_ = 0;
  int writes_ = 0;
  int reads_ = 0;
  bool in_list_ = false;
};

// Of `blocks` blocks of one record each, those from `compressible` on compressed.
TableImage MixedTable(int blocks, int compressible, std::mt19937_64* rng) {
  TableImageOptions options;
  options.compression = Compression::kSnappy;
  TableImageBuilder table(options);
  for (int i = 0; i < blocks; ++i) {
    std::string value(300, 'v');
    if (i < compressible) {
      std::generate(value.begin(), value.end(), [&] { return static_cast<char>((*rng)()); });
    }
    table.Add(MakeInternalKey(fmt::format("{:08}", i), 7, RecordType::kValue), value);
    table.EndBlock();
  }
  return table.Finish();
}

// The host looks at a few blocks of each table. Where it sees none that is compressed and there are
// some, the unit finds them, once for all tasks to come.
TEST(DeviceExecutorTest, UnitsFindCompressedBlocks) {
  std::mt19937_64 rng(TestSeed());
  auto owned = std::make_unique<CountingDevice>(InstantUnit());
  CountingDevice& device = *owned;
  DeviceExecutor unit(std::move(owned));
  const auto run = [&](const TableImage& table, bool damaged) {
    MergeTask task;
    task.runs = {{{table.file, table.index}}};
    std::vector<OwnedOutput> expected;
    std::vector<OwnedOutput> actual;
    const MergeResult cpu = CpuExecutor().Run(task, CollectInto(&expected));
    const MergeResult result = unit.Run(task, CollectInto(&actual));
    ASSERT_EQ(result.ok(), !damaged) << result.error.ToString();
    ASSERT_EQ(cpu.ok(), !damaged);
    if (damaged) {
      EXPECT_TRUE(IsInputFault(result.status));
      return;
    }
    EXPECT_TRUE(CompareOutputs(actual, expected).ok());
  };
  run(MixedTable(50, 50, &rng), false);
  EXPECT_EQ(device.jobs(), 1);
  run(MixedTable(50, 0, &rng), false);  // seen at once
  EXPECT_EQ(device.jobs(), 1);
  // What cannot be decompressed is the unit's to report.
  TableImage damaged = MixedTable(50, 10, &rng);
  damaged.file[damaged.blocks[40].offset + 2] ^= 1;
  run(damaged, true);
  EXPECT_EQ(device.jobs(), 1);
  for (const int jobs : {2, 1, 1}) {
    run(MixedTable(50, 10, &rng), false);
    EXPECT_EQ(device.jobs(), jobs);
  }
}

// Of a table that cannot be decompressed, the unit is given an index that it can read all the same.
TEST(DeviceExecutorTest, ADamagedBlockIsNoFaultOfTheIndex) {
  std::mt19937_64 rng(TestSeed());
  DeviceExecutor unit(InstantUnit());
  TableImage table = MixedTable(50, 0, &rng);
  ASSERT_EQ(Compression{static_cast<uint8_t>(table.file[table.index.offset + table.index.size])},
            Compression::kSnappy);
  table.file[table.blocks[0].offset + 2] ^= 1;
  MergeTask task;
  task.runs = {{{table.file, table.index}}};
  const MergeResult result = unit.Run(task, [](const MergeOutput&) { return Status(); });
  EXPECT_EQ(result.status, MergeStatus::kBlockChecksum) << result.error.ToString();
  EXPECT_EQ(result.fault.offset, table.blocks[0].offset);
}

// Each call costs the host a sleep, and the link its latency; tables, however many, cost no more.
TEST(DeviceExecutorTest, TablesCrossTheLinkTogether) {
  for (const uint32_t bloom_bits : {0, 10}) {
    auto owned = std::make_unique<CountingDevice>(InstantUnit(1024, bloom_bits > 0));
    CountingDevice& device = *owned;
    DeviceExecutor unit(std::move(owned));
    GeneratorOptions options;
    options.records = 2000;
    options.table_bytes = 20'000;
    options.table.compression = Compression::kSnappy;  // a few of the indexes, too
    GeneratedTask input = GenerateTask(options);
    input.task.bloom_bits_per_key = bloom_bits;
    std::vector<OwnedOutput> expected;
    std::vector<OwnedOutput> actual;
    ASSERT_TRUE(CpuExecutor().Run(input.task, CollectInto(&expected)).ok());
    const MergeResult result = unit.Run(input.task, CollectInto(&actual));
    ASSERT_TRUE(result.ok()) << result.error.ToString();
    ASSERT_TRUE(CompareOutputs(actual, expected).ok());
    ASSERT_GT(actual.size(), 5u);
    EXPECT_EQ(device.writes(), 1);
    EXPECT_EQ(device.reads(), 3);  // the job's record, index blocks, tables
  }
}

// Of a unit that compresses, in which a bit strays of bytes that keys share, on their way into a
// block.
class StrayDevice : public FaultDevice {
 public:
  StrayDevice(std::unique_ptr<Device> device, std::string_view bytes)
      : FaultDevice(std::move(device), {}), bytes_(bytes) {}
  Status ReadAll(std::span<const Target> pieces) override {
    SLUICE_RETURN_IF_ERROR(FaultDevice::ReadAll(pieces));
    // One table of one block.
    const size_t size = pieces[0].bytes - kBlockTrailerBytes;
    char* const block = pieces[0].out;
    compressed_ = Compression{static_cast<uint8_t>(block[size])} == Compression::kSnappy;
    const size_t at = std::string_view(block, size).find(bytes_);
    found_ = at != std::string_view::npos;
    if (found_ && strays) {
      block[at] ^= 1;
      EncodeBlockTrailer(block + size, Compression::kSnappy, Crc32c({block, size}));
    }
    return {};
  }
  bool struck() const { return compressed_ && found_; }
  bool strays = false;

 private:
  const std::string bytes_;
  bool compressed_ = false;
  bool found_ = false;
};

// Both records change by the same bit of their checksums, which is 0 in one and 1 in the other: the
// sum stays the same, and so do the order of keys, and the block's last one.
TEST(DeviceExecutorTest, StrayBitsInSharedBytesOfCompressedKeys) {
  const auto key = [](char shared, int i, SequenceNumber sequence) {
    return MakeInternalKey(fmt::format("prefix{}{}", shared, i), sequence, RecordType::kValue);
  };
  const std::string value(500, 'v');
  const auto sum = [&](char shared, SequenceNumber second) {
    uint64_t sum = 0;
    for (const std::string& k : {key(shared, 1, 7), key(shared, 2, second)}) {
      sum += RecordChecksum(UserKey(k), Trailer(k), value);
    }
    return sum;
  };
  SequenceNumber second = 1;
  while (sum('P', second) != sum('Q', second)) {
    ASSERT_LT(second <<= 1, kMaxSequence);
  }
  TableImageBuilder table(TableImageOptions{});
  table.Add(key('P', 1, 7), value);
  table.Add(key('P', 2, second), value);
  table.Add(MakeInternalKey("q", 7, RecordType::kValue), value);
  table.EndBlock();
  const TableImage image = table.Finish();
  MergeTask task;
  task.runs = {{{image.file, image.index}}};
  task.compress = true;

  auto owned = std::make_unique<StrayDevice>(InstantUnit(1024, false, 4), "P1");
  StrayDevice& device = *owned;
  DeviceExecutor unit(std::move(owned));
  const auto run = [&] { return unit.Run(task, [](const MergeOutput&) { return Status(); }); };
  ASSERT_TRUE(run().ok());
  ASSERT_TRUE(device.struck());
  device.strays = true;
  const MergeResult result = run();
  ASSERT_TRUE(device.struck());
  EXPECT_EQ(result.status, MergeStatus::kDevice);
  EXPECT_NE(result.error.message().find("compressed blocks whose contents"), std::string::npos)
      << result.error.ToString();
}

DeviceInfo Info(bool snappy, uint32_t compressors) {
  DeviceInfo info = InstantUnit(1024, false, compressors)->info();
  info.snappy = snappy;
  return info;
}

// Compressed inputs cross the link as they are if the unit takes them, and are the host's to
// decompress if not; so are compressed outputs, for the host to check them.
TEST(DeviceExecutorTest, EstimatesTakeSnappyIntoAccount) {
  const ModelDeviceOptions options;
  const auto estimate = [&](const DeviceInfo& info, const TaskShape& shape) {
    return DeviceExecutor(MakeModelDevice(info, options)).Estimate(shape).value();
  };
  const TaskShape raw{.bytes = 8'000'000,
                      .longest_run = 4'000'000,
                      .records = 50'000,
                      .user_key_bytes = 16,
                      .value_bytes = 136};
  TaskShape packed = raw;
  packed.bytes = packed.packed_bytes = 2'000'000;
  packed.longest_run = 1'000'000;
  packed.unpacked_bytes = 8'000'000;
  const UnitTime of_raw = estimate(Info(false, 0), raw);
  const UnitTime by_host = estimate(Info(false, 0), packed);
  const UnitTime by_unit = estimate(Info(true, 0), packed);
  EXPECT_EQ(of_raw.unpacked_bytes, 0u);
  EXPECT_DOUBLE_EQ(by_host.alone, of_raw.alone);
  EXPECT_EQ(by_host.unpacked_bytes, 8'000'000u);
  EXPECT_EQ(by_unit.unpacked_bytes, 0u);
  EXPECT_LT(by_unit.alone, by_host.alone);
  TaskShape to_pack = packed;
  to_pack.compress = true;
  const UnitTime packing = estimate(Info(true, 4), to_pack);
  EXPECT_EQ(packing.unpacked_bytes, 8'000'000u);
  EXPECT_LT(packing.alone, by_unit.alone);
  // One encoder takes four bytes per cycle, less than the rest of the unit.
  EXPECT_GE(estimate(Info(true, 1), to_pack).paced, 2'000'000 / 200e6);
  // Nothing is known to be as small as nothing.
  EXPECT_GT(estimate(Info(true, 4), {}).alone, 0);
}

// The estimate beside what the modelled unit takes, of tasks with Snappy and without.
TEST(DeviceExecutorTest, EstimatesAreAboutRight) {
  for (const bool snappy : {false, true}) {
    for (const Compression input : {Compression::kNone, Compression::kSnappy}) {
      for (const bool compress : {false, true}) {
        GeneratorOptions options;
        options.records = 20'000;
        options.value_bytes = {200, 200};
        options.table.compression = input;
        GeneratedTask task = GenerateTask(options);
        task.task.compress = compress;
        ModelDeviceOptions no_link = Instant();
        no_link.clock_mhz = 200;
        const DeviceInfo info = Info(snappy, compress ? 4 : 0);
        const MergeResult result =
            DeviceExecutor(MakeModelDevice(info, no_link)).Run(task.task, [](const MergeOutput&) {
              return Status();
            });
        ASSERT_TRUE(result.ok()) << result.error.ToString();
        // Transfers that take next to nothing.
        const ModelDeviceOptions fast{.link = {.generation = 5, .lanes = 1000}, .transfer_us = 0};
        const double job =
            DeviceExecutor(MakeModelDevice(info, fast)).Estimate(ShapeOf(task.task))->alone;
        EXPECT_NEAR(job * 200e6 / static_cast<double>(result.stats.cycles), 1,
                    input == Compression::kNone && !compress ? 0.1 : 0.35)
            << fmt::format("snappy {}, input {}, compress {}", snappy, static_cast<int>(input),
                           compress);
      }
    }
  }
}

}  // namespace
}  // namespace sluice
