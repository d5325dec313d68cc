// A unit that compresses what it writes: four kinds of data, in blocks of any length, read by the
// real Snappy library; how small and how fast.
//
// Built with CHECKED_MODEL, the model class that has assertions on.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <snappy.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>

#include "device/check_executor.h"
#include "device/device_executor.h"
#include "device/model/pipeline.h"
#include "device/rtlsim/rtl_device_impl.h"
#include "hw/dv/snappy/samples.h"
#include "hw/dv/unit/checked_device.h"
#include "hw/dv/unit/unit_bench.h"
#include "merge/outputs.h"
#include "merge/table_image.h"
#include "table/internal_key.h"

namespace sluice {
namespace {

using dv::Kind;

// Runs of one table each, of records dealt out at random; keys of 16 bytes, as db_bench has them.
struct SampleTask {
  SampleTask(std::mt19937_64* rng, size_t runs, size_t bytes, Kind kind, Compression compression,
             size_t value_bytes) {
    std::vector<TableImageBuilder> builders;
    for (size_t r = 0; r < runs; ++r) {
      builders.emplace_back(TableImageOptions{.compression = compression});
    }
    size_t made = 0;
    for (size_t i = 0; made < bytes; ++i) {
      const size_t size = value_bytes != 0 ? value_bytes : (*rng)() % 600;
      builders[(*rng)() % runs].Add(
          MakeInternalKey(fmt::format("{:016}", i), 1 + i, RecordType::kValue),
          dv::Sample(kind, size, rng));
      made += 24 + size;
    }
    for (TableImageBuilder& builder : builders) {
      images.push_back(builder.Finish());
    }
    for (const TableImage& image : images) {
      task.runs.push_back({{image.file, image.index}});
    }
    task.compress = true;
  }

  std::vector<TableImage> images;
  MergeTask task;
};

// How blocks came out.
struct Sizes {
  size_t raw = 0;      // before compression
  size_t stored = 0;   // afterwards
  size_t library = 0;  // as the library stores them, by the same rule
  size_t compressed = 0;
  size_t blocks = 0;
};

void Measure(const std::vector<OwnedOutput>& outputs, Sizes* sizes) {
  for (const OwnedOutput& output : outputs) {
    const Status status = ForEachBlock(output.AsOutput(), [&](const OutputBlock& block) {
      const std::string_view stored =
          block.stored.substr(0, block.stored.size() - kBlockTrailerBytes);
      ++sizes->blocks;
      sizes->raw += block.contents.size();
      sizes->stored += stored.size();
      std::string bytes;
      if (block.compressed()) {
        ++sizes->compressed;
        EXPECT_TRUE(snappy::Uncompress(stored.data(), stored.size(), &bytes));
        EXPECT_TRUE(bytes == block.contents);
      }
      snappy::Compress(block.contents.data(), block.contents.size(), &bytes);
      const size_t raw = block.contents.size();
      sizes->library += bytes.size() < raw - raw / 8 ? bytes.size() : raw;
      return Status();
    });
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
}

class UnitCompress : public testing::Test {
 protected:
  const uint64_t seed_ = dv::TestSeed();
  std::mt19937_64 rng_{seed_};
};

TEST_F(UnitCompress, WritesWhatTheCpuWrites) {
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed_));
  Sizes sizes;
  for (int card = 0; card < 4; ++card) {
    auto owned = std::make_unique<DeviceExecutor>(dv::MakeCheckedDevice(dv::RandomMemory(rng_)));
    const DeviceInfo info = owned->device().info();
    ASSERT_GT(info.compressors, 0u);
    CheckExecutor check(std::move(owned), dv::MakeReference(info));
    for (const Kind kind : dv::kKinds) {
      SCOPED_TRACE(dv::KindName(kind));
      SampleTask sample(&rng_, 1 + rng_() % info.ways, 60'000, kind,
                        rng_() % 2 == 0 ? Compression::kSnappy : Compression::kNone, 0);
      // Also such as hold one record, and such as are too long.
      sample.task.block_bytes = std::array{1, 300, 4096, 4096, 8100, 20000}[rng_() % 6];
      sample.task.table_bytes = std::array{1, 10'000, 2 << 20}[rng_() % 3];
      sample.task.compress = rng_() % 8 != 0;
      std::vector<OwnedOutput> outputs;
      const MergeResult result = check.Run(sample.task, CollectInto(&outputs));
      ASSERT_TRUE(result.ok()) << result.error.ToString();
      EXPECT_GT(result.stats.output_records, 0u);
      Measure(outputs, &sizes);
    }
  }
  EXPECT_GT(sizes.compressed, 20u);
  EXPECT_GT(sizes.blocks, sizes.compressed);
}

// Bytes per cycle of what blocks hold before compression, and how small they become. The unit keeps
// up with its datapath where the rate is what it is without compression.
TEST_F(UnitCompress, HowFastItIs) {
  rng_.seed(1);
  std::cout << "| data | stored / raw | of the library's | raw B/cycle | without | model |\n";
  for (const Kind kind : dv::kKinds) {
    // The difference of two jobs has neither start nor end.
    double raw = 0, error = 0;
    std::array<double, 2> cycles{};  // without, with
    Sizes sizes;
    for (const int sign : {-1, 1}) {
      SampleTask sample(&rng_, 2, sign < 0 ? 60'000 : 360'000, kind, Compression::kNone, 400);
      // What is read is raw, so that nothing but the encoders can be in the way.
      for (const bool compress : {false, true}) {
        sample.task.compress = compress;
        DeviceExecutor unit(dv::MakeCheckedDevice({}));
        std::vector<OwnedOutput> outputs;
        const MergeResult result = unit.Run(sample.task, CollectInto(&outputs));
        ASSERT_TRUE(result.ok()) << result.error.ToString();
        cycles[compress ? 1 : 0] += sign * static_cast<double>(result.stats.cycles);
        model::CycleEstimate estimate;
        const model::UnitShape shape =
            model::ShapeOf(unit.device().info(), RtlDeviceOptions().memory.latency);
        ASSERT_TRUE(model::EstimateTask(shape, sample.task, &estimate).ok());
        error = static_cast<double>(estimate.cycles) / static_cast<double>(result.stats.cycles) - 1;
        EXPECT_LE(std::abs(error), 0.05) << dv::KindName(kind) << (compress ? "" : ", raw");
        if (!compress) {
          raw += sign * static_cast<double>(result.stats.output_bytes);
        } else if (sign > 0) {
          Measure(outputs, &sizes);
        }
      }
    }
    const double ratio = static_cast<double>(sizes.stored) / static_cast<double>(sizes.library);
    std::cout << fmt::format("| {} | {:.2f} | {:.2f} | {:.1f} | {:.1f} | {:+.1f} % |\n",
                             dv::KindName(kind),
                             static_cast<double>(sizes.stored) / static_cast<double>(sizes.raw),
                             ratio, raw / cycles[1], raw / cycles[0], 100 * error);
    EXPECT_LE(ratio, 1.1) << dv::KindName(kind);
    EXPECT_GE(raw / cycles[1], std::min(14.0, 0.95 * raw / cycles[0])) << dv::KindName(kind);
  }
}

}  // namespace
}  // namespace sluice
