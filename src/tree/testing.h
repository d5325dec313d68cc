// Extents of given records, and a fixture to make and read them in.

#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "table/block_builder.h"
#include "table/testing.h"
#include "tree/extent_builder.h"
#include "tree/extent_reader.h"
#include "tree/extent_space.h"
#include "tree/extent_writer.h"
#include "tree/order_check.h"
#include "tree/run_index.h"
#include "tree/version.h"
#include "util/epoch.h"
#include "util/fault_env.h"

namespace sluice {

// Records by block, none empty.
using TestBlocks = std::vector<std::vector<TestEntry>>;

// An extent of these blocks; its number is taken from `*next_number`. `find_values` is as
// ExtentBuilder's.
inline Extent WriteTestExtent(const TestBlocks& blocks, ExtentSpace* space,
                              std::atomic<uint64_t>* next_number, const ExtentFormat& format = {},
                              FindValueExtent find_values = {}) {
  ExtentWriter writer(space, 0, next_number);
  ExtentBuilder builder(
      format, [&](BuiltExtent* built) { return writer.Write(built, writer.TakeNumber()); },
      std::move(find_values));
  for (const std::vector<TestEntry>& entries : blocks) {
    BlockBuilder block(4);
    for (const TestEntry& entry : entries) {
      block.Add(entry.key, entry.value);
    }
    EXPECT_TRUE(builder.AddBlock(block.Finish()).ok());
  }
  EXPECT_TRUE(builder.EndExtent().ok());
  std::vector<Extent> extents;
  EXPECT_TRUE(writer.Finish(&extents).ok());
  return extents.at(0);
}

// Calls `on_read` and `on_write` before each read and write of a data file; a read fails as `on_read`
// does.
class WatchedEnv final : public FaultEnv {
 public:
  std::function<Status(uint64_t offset, size_t bytes)> on_read = [](uint64_t, size_t) {
    return Status();
  };
  std::function<void()> on_write = [] {};

  Status NewDataFile(const std::string& path, std::unique_ptr<DataFile>* file) override {
    std::unique_ptr<DataFile> base;
    SLUICE_RETURN_IF_ERROR(FaultEnv::NewDataFile(path, &base));
    *file = std::make_unique<WatchedFile>(this, std::move(base));
    return {};
  }

 private:
  class WatchedFile final : public DataFile {
   public:
    WatchedFile(const WatchedEnv* env, std::unique_ptr<DataFile> base)
        : env_(*env), base_(std::move(base)) {}

    Status Read(uint64_t offset, size_t n, char* out) const override {
      SLUICE_RETURN_IF_ERROR(env_.on_read(offset, n));
      return base_->Read(offset, n, out);
    }
    Status Write(uint64_t offset, std::string_view bytes) override {
      env_.on_write();
      return base_->Write(offset, bytes);
    }
    Status Sync() override { return base_->Sync(); }
    Status Discard(uint64_t offset, uint64_t bytes) override {
      return base_->Discard(offset, bytes);
    }
    Status Truncate(uint64_t bytes) override { return base_->Truncate(bytes); }
    Status GetDiskBytes(uint64_t* bytes) const override { return base_->GetDiskBytes(bytes); }
    const std::string& path() const override { return base_->path(); }

   private:
    const WatchedEnv& env_;
    const std::unique_ptr<DataFile> base_;
  };
};

// An extent space in memory, and a reader of its extents.
template <typename TestEnv = FaultEnv>
class ExtentFixture {
 protected:
  ExtentFixture() {
    EXPECT_TRUE(env_.CreateDir("db").ok());
    EXPECT_TRUE(ExtentSpace::Open(&env_, {{"db", 1}}, &space_).ok());
  }
  ~ExtentFixture() { EpochDrain(); }

  // Checks a tree with one run on level 0 and one on level 2.
  Status CheckOrder(const std::vector<ExtentPtr>& upper, const std::vector<ExtentPtr>& lower) {
    const std::shared_ptr<Version> version(new Version, [](Version* held) { held->Unref(); });
    version->levels[0].resize(1);
    version->levels[2].resize(1);
    EXPECT_TRUE(RunIndex().Edit({}, upper, &version->levels[0][0].index).ok());
    EXPECT_TRUE(RunIndex().Edit({}, lower, &version->levels[2][0].index).ok());
    return CheckRunOrder(*version, &reader_, nullptr);
  }

  TestEnv env_;
  TableCache tables_{1 << 20};
  Cache blocks_{1 << 20, 4096};
  std::unique_ptr<ExtentSpace> space_;
  ExtentReader reader_{&tables_, &blocks_};
  std::atomic<uint64_t> next_{1};  // extent number
};

}  // namespace sluice
