// A unit that decodes Snappy, with tables that the real LevelDB wrote: four kinds of data, blocks
// compressed and raw, whole and damaged, job after job under random memory. And how fast it is.
//
// Built with CHECKED_MODEL, the model class that has assertions on.

#include <gtest/gtest.h>
#include <snappy.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "device/check_executor.h"
#include "device/device_executor.h"
#include "device/model/pipeline.h"
#include "device/rtlsim/rtl_device_impl.h"
#include "hw/dv/snappy/samples.h"
#include "hw/dv/unit/guarded_device.h"
#include "hw/dv/unit/unit_bench.h"
#include "merge/cpu_executor.h"
#include "table/block.h"
#include "tests/interop/real_table.h"
#include "util/crc32c.h"

#define STRING_OF(x) #x
#define HEADER_OF(model) STRING_OF(model.h)
#include HEADER_OF(CHECKED_MODEL)

namespace sluice {
namespace {

using dv::Kind;

MergeSink Discard() {
  return [](const MergeOutput&) { return Status(); };
}

std::unique_ptr<Device> MakeDevice(const RtlDeviceOptions& options) {
  return std::make_unique<dv::GuardedDevice>(
      std::make_unique<rtlsim::RtlDevice<CHECKED_MODEL>>("checked", options));
}

struct RealTable {
  std::string file;
  BlockHandle index;
};

RealTable Write(const std::vector<TestEntry>& entries, const TableOptions& options) {
  const interop::RealOptions real(options);
  interop::MemoryWritable file;
  leveldb::TableBuilder builder(real.options(), &file);
  for (const TestEntry& entry : entries) {
    builder.Add(entry.key, entry.value);
  }
  EXPECT_TRUE(builder.Finish().ok());
  Footer footer;
  EXPECT_TRUE(Footer::Parse(std::string_view(file.contents).substr(file.contents.size() - 48),
                            file.contents.size(), &footer)
                  .ok());
  return {std::move(file.contents), footer.index};
}

// Runs of one table each, of records dealt out at random; keys of 16 bytes, as db_bench has them.
struct RealTask {
  RealTask(std::mt19937_64* rng, size_t runs, size_t bytes, Kind kind,
           const std::vector<TableOptions>& options, size_t value_bytes) {
    std::vector<std::vector<TestEntry>> entries(runs);
    size_t made = 0;
    for (size_t i = 0; made < bytes; ++i) {
      const size_t size = value_bytes != 0 ? value_bytes : (*rng)() % 600;
      entries[(*rng)() % runs].push_back(
          {InternalKey(fmt::format("{:016}", i), 1 + i), dv::Sample(kind, size, rng)});
      made += 24 + size;
    }
    for (size_t r = 0; r < runs; ++r) {
      tables.push_back(Write(entries[r], options[r % options.size()]));
    }
    Refer();
  }
  void Refer() {
    task.runs.clear();
    for (const RealTable& table : tables) {
      task.runs.push_back({{table.file, table.index}});
    }
  }

  std::vector<RealTable> tables;
  MergeTask task;
};

TableOptions Options(Compression compression, uint32_t block_bytes = 4096) {
  TableOptions options;
  options.compression = compression;
  options.block_bytes = block_bytes;
  return options;
}

// Puts a raw copy of the index behind the table, as the host does for the unit.
void AppendRawIndex(RealTable* table) {
  std::string buffer;
  std::string_view contents;
  EXPECT_TRUE(ReadStoredBlock(table->file, table->index, &buffer, &contents).ok());
  const std::string index(contents);
  table->index = {table->file.size(), index.size()};
  table->file += index;
  AppendBlockTrailer(index, Compression::kNone, &table->file);
}

// The blocks of a table, as its index names them.
std::vector<BlockHandle> BlocksOf(const RealTable& table) {
  std::string buffer;
  std::string_view contents;
  sluice::Block index;
  EXPECT_TRUE(ReadStoredBlock(table.file, table.index, &buffer, &contents).ok());
  EXPECT_TRUE(sluice::Block::Parse(contents, &index).ok());
  std::vector<BlockHandle> blocks;
  BlockIterator entry(index);
  for (entry.SeekToFirst(); entry.Valid(); entry.Next()) {
    std::string_view value = entry.value();
    EXPECT_TRUE(blocks.emplace_back().ReadFrom(&value));
  }
  return blocks;
}

// A table of one block, as Snappy is to find it; `key` is its last one.
TableImage OneBlock(const std::string& key, const std::string& block) {
  TableImage image;
  image.file = block;
  AppendBlockTrailer(block, Compression::kSnappy, &image.file);
  std::string handle;
  BlockHandle{0, block.size()}.AppendTo(&handle);
  BlockImageBuilder index(1);
  index.Add(key, handle);
  image.ReplaceIndex(index.Finish());
  return image;
}

// What the unit is given: LevelDB's tables, as they are.
class WatchedDevice : public dv::GuardedDevice {
 public:
  using GuardedDevice::GuardedDevice;
  Status Write(uint64_t address, std::string_view bytes) override {
    written.emplace_back(bytes);
    return GuardedDevice::Write(address, bytes);
  }
  std::vector<std::string> written;
};

class UnitSnappy : public testing::Test {
 protected:
  const uint64_t seed_ = dv::TestSeed();
  std::mt19937_64 rng_{seed_};
};

TEST_F(UnitSnappy, MergesWhatLevelDbWrote) {
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed_));
  for (int card = 0; card < 3; ++card) {
    auto owned = std::make_unique<WatchedDevice>(
        std::make_unique<rtlsim::RtlDevice<CHECKED_MODEL>>("checked", dv::RandomMemory(rng_)));
    WatchedDevice& device = *owned;
    const DeviceInfo info = device.info();
    ASSERT_TRUE(info.snappy);
    CheckExecutor check(std::make_unique<DeviceExecutor>(std::move(owned)),
                        dv::MakeReference(info));
    for (const Kind kind : dv::kKinds) {
      SCOPED_TRACE(dv::KindName(kind));
      const auto blocks = [&] {
        return static_cast<uint32_t>(std::array{600, 4096, 4096, 30000}[rng_() % 4]);
      };
      RealTask real(&rng_, 1 + rng_() % info.ways, 40'000, kind,
                    {Options(Compression::kSnappy, blocks()), Options(Compression::kNone, blocks()),
                     Options(Compression::kSnappy, blocks())},
                    0);
      device.written.clear();
      const MergeResult result = check.Run(real.task, Discard());
      ASSERT_TRUE(result.ok()) << result.error.ToString();
      EXPECT_GT(result.stats.output_records, 0u);
      for (const RealTable& table : real.tables) {
        EXPECT_TRUE(std::count(device.written.begin(), device.written.end(), table.file) == 1)
            << "the unit was given something else";
      }
    }
  }
}

// Some bytes of one compressed block are changed, under a CRC that is right again: what Snappy or
// LevelDB does not allow is found, and what both allow is merged, both as the CPU does.
TEST_F(UnitSnappy, FindsWhatSnappyDoesNotAllow) {
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed_));
  DeviceExecutor unit(MakeDevice(dv::RandomMemory(rng_)));
  const auto reference = dv::MakeReference(unit.device().info());
  int corrupt = 0;
  for (int job = 0; job < 60; ++job) {
    SCOPED_TRACE("job " + std::to_string(job));
    RealTask real(&rng_, 1 + rng_() % 2, 12'000, dv::kKinds[rng_() % 4],
                  {Options(Compression::kSnappy, 2000)}, 0);
    RealTable& table = real.tables[rng_() % real.tables.size()];
    const std::vector<BlockHandle> blocks = BlocksOf(table);
    const BlockHandle at = blocks[rng_() % blocks.size()];
    char* const block = table.file.data() + at.offset;
    for (uint64_t changes = 1 + rng_() % 3; changes > 0; --changes) {
      block[rng_() % (rng_() % 2 == 0 ? std::min<size_t>(8, at.size) : at.size)] =
          static_cast<char>(rng_());
    }
    EncodeFixed32(block + at.size + 1, MaskCrc(Crc32c({block, at.size + 1})));
    real.Refer();
    const MergeResult found = unit.Run(real.task, Discard());
    const MergeResult expected = reference->Run(real.task, Discard());
    SCOPED_TRACE(found.error.ToString() + " / reference: " + expected.error.ToString());
    EXPECT_TRUE(SameFault(found, expected));
    if (expected.ok()) {
      EXPECT_EQ(found.stats.output_checksum, expected.stats.output_checksum);
    } else {
      EXPECT_EQ(found.fault, expected.fault);
    }
    corrupt += expected.status == MergeStatus::kBlockCorrupt;
  }
  EXPECT_GT(corrupt, 20);
}

// A block that promises a value of 200 MB and breaks off in it: the unit must not wait for the rest,
// nor make it up.
TEST_F(UnitSnappy, StopsWhereABlockBreaksOff) {
  constexpr uint32_t kPromised = 200'000'000;
  const std::string key = MakeInternalKey("key", 1, RecordType::kValue);
  std::string held = {0, static_cast<char>(key.size())};
  PutVarint(&held, kPromised - 100);
  held += key + std::string(30, 'v');
  std::string block;
  PutVarint(&block, kPromised);
  block += static_cast<char>((held.size() - 1) << 2);
  block += held;
  const TableImage image = OneBlock(key, block);
  MergeTask task;
  task.runs = {{{image.file, image.index}}};
  DeviceExecutor unit(MakeDevice({}));
  const MergeResult found = unit.Run(task, Discard());
  EXPECT_EQ(MergeStatusText(found.status), MergeStatusText(MergeStatus::kBlockCorrupt));
  EXPECT_LT(found.stats.cycles, 5000u);
  EXPECT_TRUE(SameFault(found, CpuExecutor().Run(task, Discard())));
}

// A copy from further back than the unit remembers, which the library never writes but reads: not
// corrupt, and not for this unit.
TEST_F(UnitSnappy, RefusesCopiesFromTooFar) {
  BlockImageBuilder builder(16);
  const std::string key = MakeInternalKey("key", 1, RecordType::kValue);
  builder.Add(key, dv::Sample(Kind::kRandom, 70'000, &rng_) + std::string(100, 'v'));
  const std::string held = builder.Finish();
  for (const uint32_t offset : {65536u, 65537u}) {
    // One literal, a copy of 60 bytes, and a literal.
    const size_t at = 66'000;
    std::string block;
    PutVarint(&block, held.size());
    const auto literal = [&block](std::string_view bytes) {
      block += static_cast<char>(62 << 2);
      PutFixed32(&block, static_cast<uint32_t>(bytes.size() - 1));
      block.pop_back();
      block += bytes;
    };
    std::string bytes = held;
    bytes.replace(at, 60, held.substr(at - offset, 60));
    literal(std::string_view(bytes).substr(0, at));
    block += static_cast<char>(59 << 2 | 3);
    PutFixed32(&block, offset);
    literal(std::string_view(bytes).substr(at + 60));
    std::string check;
    ASSERT_TRUE(snappy::Uncompress(block.data(), block.size(), &check));
    ASSERT_TRUE(check == bytes);

    const TableImage image = OneBlock(key, block);
    MergeTask task;
    task.runs = {{{image.file, image.index}}};
    DeviceExecutor unit(MakeDevice({}));
    const MergeResult found = unit.Run(task, Discard());
    EXPECT_EQ(MergeStatusText(found.status),
              MergeStatusText(offset > 65536 ? MergeStatus::kBlockType : MergeStatus::kOk));
    EXPECT_EQ(found.error.IsNotSupported(), offset > 65536);
    EXPECT_TRUE(CpuExecutor().Run(task, Discard()).ok());
  }
}

// Bytes per cycle of what the blocks hold, of one run and of four, and of what is stored. One way
// keeps up 6.6 of them at least (docs/hardware.md), and the cycle model knows how long it takes.
TEST_F(UnitSnappy, HowFastItIs) {
  rng_.seed(1);
  std::cout << "| data | runs | stored / raw | in B/cycle | out B/cycle | model |\n";
  for (const Kind kind : dv::kKinds) {
    for (const size_t runs : {size_t{1}, size_t{4}}) {
      // The difference of two jobs has neither start nor end.
      double in = 0, out = 0, cycles = 0, error = 0;
      for (const int sign : {-1, 1}) {
        RealTask real(&rng_, runs, sign < 0 ? 60'000 : 260'000, kind,
                      {Options(Compression::kSnappy)}, 400);
        DeviceExecutor unit(MakeDevice({}));
        std::for_each(real.tables.begin(), real.tables.end(),
                      [](RealTable& table) { AppendRawIndex(&table); });
        real.Refer();
        const MergeResult result = unit.Run(real.task, Discard());
        ASSERT_TRUE(result.ok()) << result.error.ToString();
        model::CycleEstimate estimate;
        const model::UnitShape shape =
            model::ShapeOf(unit.device().info(), RtlDeviceOptions().memory.latency);
        ASSERT_TRUE(model::EstimateTask(shape, real.task, &estimate).ok());
        error = static_cast<double>(estimate.cycles) / static_cast<double>(result.stats.cycles) - 1;
        // A job of 4,500 cycles is much of a start, where the model does not know exactly whose
        // blocks come first.
        EXPECT_LE(std::abs(error), sign < 0 ? 0.2 : 0.05) << dv::KindName(kind) << ", " << runs;
        in += sign * static_cast<double>(result.stats.input_bytes);
        out += sign * static_cast<double>(result.stats.output_bytes);
        cycles += sign * static_cast<double>(result.stats.cycles);
      }
      std::cout << fmt::format("| {} | {} | {:.2f} | {:.1f} | {:.1f} | {:+.1f} % |\n",
                               dv::KindName(kind), runs, in / out, in / cycles, out / cycles,
                               100 * error);
      EXPECT_GE(out / cycles, 6.6) << dv::KindName(kind) << ", " << runs;
    }
  }
}

}  // namespace
}  // namespace sluice
