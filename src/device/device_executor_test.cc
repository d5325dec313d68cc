// What an executor over a device does with the tables of a task.

#include "device/device_executor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

#include "device/testing.h"
#include "merge/cpu_executor.h"
#include "merge/outputs.h"
#include "merge/table_image.h"
#include "util/testing.h"

namespace sluice {
namespace {

class CountingDevice : public FaultDevice {
 public:
  explicit CountingDevice(std::unique_ptr<Device> device) : FaultDevice(std::move(device), {}) {}
  Status Start(uint64_t descriptor) override {
    ++jobs_;
    return FaultDevice::Start(descriptor);
  }
  int jobs() { return std::exchange(jobs_, 0); }

 private:
  int jobs_ = 0;
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

}  // namespace
}  // namespace sluice
