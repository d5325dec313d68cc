// Inputs of compactions, made of given records, and compactions of them.

#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "compaction/compaction_job.h"
#include "compaction/compaction_picker.h"
#include "compaction/compaction_planner.h"
#include "offload/driver.h"
#include "tree/extent_writer.h"
#include "tree/testing.h"
#include "tree/value_extent.h"

namespace sluice {

class CompactionFixture : public testing::Test, protected ExtentFixture<> {
 protected:
  // An extent of these blocks. `find_values` is as ExtentBuilder's.
  ExtentPtr Make(const TestBlocks& blocks, FindValueExtent find_values = {}) {
    return std::make_shared<const Extent>(
        WriteTestExtent(blocks, space_.get(), &next_, format_, std::move(find_values)));
  }
  // An extent whose blocks hold these keys, of three digits.
  ExtentPtr Numbers(const std::vector<std::vector<int>>& blocks, SequenceNumber sequence) {
    TestBlocks entries;
    for (const std::vector<int>& block : blocks) {
      std::vector<TestEntry>& list = entries.emplace_back();
      for (const int key : block) {
        list.push_back({InternalKey(fmt::format("{:03}", key), sequence), "v"});
      }
    }
    return Make(entries);
  }
  Status Run(const CompactionPick& pick, const PlanOptions& plan,
             const CompactionJobOptions& options, CompactionResult* result,
             OffloadDriver* driver = nullptr) {
    ExtentWriter writer(space_.get(), 0, &next_);
    const std::atomic<bool> stop{false};
    return RunCompaction(pick, {}, plan, options, driver != nullptr ? driver : &driver_, &reader_,
                         &writer, &stop, result);
  }

  ExtentFormat format_;  // of the inputs
  OffloadDriver driver_{{}, {}};
};

}  // namespace sluice
