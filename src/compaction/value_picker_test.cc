// Which values are moved, and what the compaction that moves them may drop.

#include "compaction/value_picker.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "table/testing.h"
#include "tree/metadata.h"
#include "tree/value_extent.h"
#include "tree/version.h"

namespace sluice {
namespace {

constexpr uint32_t kSubtable = 1;
constexpr RunId kUpper{1, 5};
constexpr RunId kLower{kLastLevel, 0};
constexpr RunId kAside{kAsideLevel, 9};
constexpr uint32_t kMiB = 1 << 20;

class ValuePickerTest : public testing::Test {
 protected:
  ValuePickerTest() {
    options_.extent_bytes = 64 << 10;
    options_.max_space_amplification = 0;
    edit_.created.push_back({kSubtable, "default"});
  }

  static ValueExtentPtr Values(uint64_t number, uint32_t bytes = kMiB) {
    Extent pages;
    pages.number = number;
    pages.address.page = number * 1000;
    pages.bytes = bytes;
    return std::make_shared<const ValueExtent>(pages);
  }
  // An extent with keys from `first` to `last` that refers to so many bytes of `values`.
  void Add(const RunId& run, const std::string& first, const std::string& last,
           const std::vector<ValueShares::Share>& values) {
    Extent extent;
    extent.number = ++last_number_;
    extent.bytes = 4096;
    extent.entries = 10;
    extent.smallest = InternalKey(first, 1);
    extent.largest = InternalKey(last, 1);
    if (!values.empty()) {
      extent.values = std::make_shared<const ValueShares>(ValueShares{values});
    }
    edit_.added.push_back({kSubtable, run, extent});
  }
  std::optional<CompactionPick> Pick() {
    Metadata metadata;
    EXPECT_TRUE(metadata.Apply(edit_).ok());
    auto* const version = new Version;
    version->SetRuns(metadata.subtables.at(kSubtable), {});
    std::optional<CompactionPick> pick = PickValues(*version, options_, /*device_full=*/false);
    version->Unref();
    return pick;
  }

  Options options_;
  MetadataEdit edit_;
  uint64_t last_number_ = 0;
};

TEST_F(ValuePickerTest, TombstonesGoFromTheLastLevel) {
  Add(kUpper, "a", "f", {});
  Add(kLower, "a", "f", {{Values(100), kMiB / 5}});
  Add(kAside, "x", "z", {});
  const std::optional<CompactionPick> pick = Pick();
  ASSERT_TRUE(pick);
  EXPECT_EQ(pick->relocate, std::vector<uint64_t>{100});
  EXPECT_EQ(pick->output, kLower);
  EXPECT_TRUE(pick->bottommost);
}

TEST_F(ValuePickerTest, TombstonesStayAboveWhatTheyHide) {
  Add(kUpper, "a", "f", {{Values(100), kMiB / 5}});
  Add(kLower, "a", "f", {});
  const std::optional<CompactionPick> pick = Pick();
  ASSERT_TRUE(pick);
  EXPECT_EQ(pick->output, kUpper);
  EXPECT_FALSE(pick->bottommost);
}

TEST_F(ValuePickerTest, TombstonesStayWhereSomethingIsSetAside) {
  Add(kLower, "a", "f", {{Values(100), kMiB / 5}});
  Add(kAside, "c", "d", {});
  const std::optional<CompactionPick> pick = Pick();
  ASSERT_TRUE(pick);
  EXPECT_EQ(pick->output, kLower);
  EXPECT_FALSE(pick->bottommost);
}

// Or a compaction would move them for ever, each to an extent of its own again.
TEST_F(ValuePickerTest, HeadersAreNoGarbage) {
  constexpr uint32_t kValue = 20;
  std::vector<ValueShares::Share> values;
  for (uint64_t number = 100; number < 4000; ++number) {
    values.push_back({Values(number, kValueExtentHeaderBytes + kValue), kValue});
  }
  Add(kLower, "a", "f", values);
  EXPECT_FALSE(Pick());
}

// What no compaction can free makes neither itself nor others go.
TEST_F(ValuePickerTest, ValuesThatAreHeldAsideOrDamagedCountForNothing) {
  const ValueExtentPtr held = Values(100);
  const ValueExtentPtr damaged = Values(101);
  damaged->damaged = true;
  Add(kAside, "c", "d", {{held, kMiB / 10}});
  Add(kLower, "a", "f", {{held, kMiB / 10}, {damaged, kMiB / 10}, {Values(102), kMiB / 10 * 9}});
  EXPECT_FALSE(Pick());
  Add(kLower, "g", "h", {{Values(103), kMiB / 10}});
  const std::optional<CompactionPick> pick = Pick();
  ASSERT_TRUE(pick);
  EXPECT_EQ(pick->relocate, std::vector<uint64_t>{103});
  ASSERT_EQ(pick->inputs.size(), 1u);
  ASSERT_EQ(pick->inputs[0].extents.size(), 1u);
  EXPECT_EQ(UserKey(pick->inputs[0].extents[0]->smallest), "g");
}

}  // namespace
}  // namespace sluice
