// Filters of merged blocks: those that executors make stand in extents, if they can be right.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compaction/testing.h"
#include "merge/cpu_executor.h"
#include "table/filter.h"

namespace sluice {
namespace {

// The CPU, but for what `change` does to the filters of each table.
class FilterMaker final : public Executor {
 public:
  using Change = std::function<void(std::vector<std::string>*)>;
  explicit FilterMaker(Change change) : change_(std::move(change)) {}
  std::string_view name() const override { return "filters"; }
  size_t max_runs() const override { return SIZE_MAX; }
  size_t max_snapshots() const override { return SIZE_MAX; }
  bool checks_outputs() const override { return true; }  // as it says
  bool makes_filters() const override { return true; }
  MergeResult Run(const MergeTask& task, const MergeSink& sink) override {
    return cpu_.Run(task, [&](const MergeOutput& output) {
      std::vector<std::string> filters(output.filters.begin(), output.filters.end());
      change_(&filters);
      MergeOutput changed = output;
      changed.filters.assign(filters.begin(), filters.end());
      return sink(changed);
    });
  }

 private:
  const Change change_;
  CpuExecutor cpu_;
};

class FilterCompactionTest : public CompactionFixture {
 protected:
  // Merges two extents on an executor that makes these filters.
  Status Merge(FilterMaker::Change change, const ExtentFormat& format, CompactionResult* result) {
    OffloadDriver driver({std::make_shared<FilterMaker>(std::move(change))}, {});
    CompactionPick pick;
    pick.inputs = {{{1, 0}, {Numbers({{1, 3}, {5, 7}, {9, 20}}, 9)}},
                   {{2, 0}, {Numbers({{2, 4}, {6, 19}}, 1)}}};
    pick.output = {2, 0};
    return Run(pick, {}, {.extent = format, .block_bytes = 60, .snapshots = {kMaxSequence}}, result,
               &driver);
  }
  static std::string BytesOf(const Extent& extent) {
    std::string bytes(extent.bytes, '\0');
    EXPECT_TRUE(
        extent.place->file()->Read(extent.place->offset(), bytes.size(), bytes.data()).ok());
    return bytes;
  }
};

// The host does not hash keys again: what an executor has made stands in the extent.
TEST_F(FilterCompactionTest, AreTheExecutors) {
  std::string all_ones(8, '\xff');
  all_ones += static_cast<char>(BloomProbes(10));
  size_t made = 0;
  const auto change = [&](std::vector<std::string>* filters) {
    made += filters->size();
    std::fill(filters->begin(), filters->end(), all_ones);
  };
  // Where blocks are held back until there is a dictionary, their filters are, too.
  for (const uint32_t dictionary_bytes : {0, 8}) {
    made = 0;
    CompactionResult result;
    const Codec codec{.type = dictionary_bytes == 0 ? Compression::kNone : Compression::kZstd,
                      .dictionary_bytes = dictionary_bytes};
    const Status status = Merge(change, {.codec = codec}, &result);
    ASSERT_TRUE(status.ok()) << status.ToString();
    ASSERT_EQ(result.added.size(), 1u);
    const std::string bytes = BytesOf(result.added[0]);
    size_t found = 0;
    for (size_t at = 0; (at = bytes.find(all_ones, at)) != std::string::npos; ++at) {
      ++found;
    }
    EXPECT_GE(made, 3u);
    EXPECT_EQ(found, made);
  }
}

TEST_F(FilterCompactionTest, AreNotAskedForWithPrefixesOrWithoutBits) {
  size_t made = 0;
  const auto count = [&](std::vector<std::string>* filters) { made += filters->size(); };
  for (const ExtentFormat& format :
       {ExtentFormat{.bloom_bits_per_key = 0}, ExtentFormat{.prefix_bytes = 2}}) {
    CompactionResult result;
    const Status status = Merge(count, format, &result);
    EXPECT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(result.added.size(), 1u);
  }
  EXPECT_EQ(made, 0u);
}

// LevelDB's filters, which units make, count every version of a key; where no unit merges, each key
// counts once, and extents are no larger than they must be.
TEST_F(FilterCompactionTest, WithoutUnitsVersionsCountOnce) {
  constexpr int kKeys = 30;
  std::vector<std::vector<int>> keys(1);
  std::vector<uint32_t> hashes;
  for (int key = 0; key < kKeys; ++key) {
    keys[0].push_back(key);
    hashes.push_back(BloomHash(fmt::format("{:03}", key)));
  }
  std::string once;
  AppendBloomFilter(hashes, 10, &once);
  hashes.insert(hashes.end(), hashes.begin(), hashes.end());
  std::string twice;
  AppendBloomFilter(hashes, 10, &twice);
  CompactionPick pick;
  pick.inputs = {{{1, 0}, {Numbers(keys, 9)}}, {{2, 0}, {Numbers(keys, 1)}}};
  pick.output = {2, 0};
  OffloadDriver units({std::make_shared<FilterMaker>([](std::vector<std::string>*) {})}, {});
  for (const bool offload : {false, true}) {
    for (OffloadDriver* const driver : {&driver_, &units}) {
      CompactionResult result;
      const Status status =
          Run(pick, {}, {.extent = {}, .snapshots = {5, kMaxSequence}, .offload = offload}, &result,
              driver);
      ASSERT_TRUE(status.ok()) << status.ToString();
      ASSERT_EQ(result.added.size(), 1u);
      ASSERT_EQ(result.added[0].entries, 2u * kKeys);
      const bool by_unit = offload && driver == &units;
      EXPECT_NE(BytesOf(result.added[0]).find(by_unit ? twice : once), std::string::npos);
    }
  }
}

TEST_F(FilterCompactionTest, OfOtherBlocksAreNotInstalled) {
  using Filters = std::vector<std::string>;
  const std::pair<const char*, FilterMaker::Change> changes[] = {
      {"one less", [](Filters* filters) { filters->pop_back(); }},
      {"one more", [](Filters* filters) { filters->push_back(filters->back()); }},
      {"another's", [](Filters* filters) { std::swap(filters->front(), filters->back()); }},
      {"of no key", [](Filters* filters) { filters->front().replace(0, 8, 8, '\0'); }},
      {"longer",
       [](Filters* filters) { filters->front().insert(filters->front().begin(), '\xff'); }},
      {"of other probes", [](Filters* filters) { filters->back().back() ^= 1; }},
  };
  for (const auto& [name, change] : changes) {
    CompactionResult result;
    const Status status = Merge(change, {}, &result);
    EXPECT_TRUE(status.IsCorruption()) << name << ": " << status.ToString();
  }
}

}  // namespace
}  // namespace sluice
