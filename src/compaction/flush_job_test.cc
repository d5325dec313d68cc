// Flushes account for every record of their memtables.

#include "compaction/flush_job.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tree/testing.h"
#include "util/fault_env.h"

namespace sluice {
namespace {

// Calls `on_write` before each write to a data file.
class WatchedEnv final : public FaultEnv {
 public:
  std::function<void()> on_write = [] {};

  Status NewDataFile(const std::string& path, std::unique_ptr<DataFile>* file) override {
    std::unique_ptr<DataFile> base;
    SLUICE_RETURN_IF_ERROR(FaultEnv::NewDataFile(path, &base));
    *file = std::make_unique<WatchedFile>(&on_write, std::move(base));
    return {};
  }

 private:
  class WatchedFile final : public DataFile {
   public:
    WatchedFile(const std::function<void()>* on_write, std::unique_ptr<DataFile> base)
        : on_write_(*on_write), base_(std::move(base)) {}

    Status Read(uint64_t offset, size_t n, char* out) const override {
      return base_->Read(offset, n, out);
    }
    Status Write(uint64_t offset, std::string_view bytes) override {
      on_write_();
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
    const std::function<void()>& on_write_;
    const std::unique_ptr<DataFile> base_;
  };
};

class FlushJobTest : public testing::Test, protected ExtentFixture<WatchedEnv> {
 protected:
  MemtablePtr NewMemtable() { return std::make_shared<MemtableInfo>(1 << 20, nullptr); }
  Status Flush(const std::vector<MemtablePtr>& memtables,
               const std::vector<SequenceNumber>& snapshots) {
    ExtentWriter writer(space_.get(), 0, &next_);
    result_ = {};
    return FlushMemtables(memtables, snapshots, {.extent = {.extent_bytes = 64 << 10}}, &writer,
                          &result_);
  }

  FlushResult result_;
};

TEST_F(FlushJobTest, CountsWhatNoSnapshotSees) {
  const MemtablePtr older = NewMemtable();
  const MemtablePtr newer = NewMemtable();
  older->table.Add(1, RecordType::kValue, "a", "1");
  older->table.Add(2, RecordType::kValue, "a", "2");
  older->table.Add(3, RecordType::kDeletion, "a", "");
  older->table.Add(4, RecordType::kValue, "b", "4");
  newer->table.Add(5, RecordType::kValue, "a", "5");
  newer->table.Add(6, RecordType::kValue, "a", "6");
  ASSERT_TRUE(Flush({newer, older}, {6}).ok());
  EXPECT_EQ(result_.input_records, 6u);
  EXPECT_EQ(result_.output_records, 2u);
  EXPECT_EQ(result_.shadowed, 4u);
  ASSERT_TRUE(Flush({newer, older}, {2, 5, 6}).ok());
  EXPECT_EQ(result_.output_records, 4u);
  EXPECT_EQ(result_.shadowed, 2u);
}

TEST_F(FlushJobTest, IsRefusedIfItMeetsOtherRecordsThanWereAdded) {
  const MemtablePtr memtable = NewMemtable();
  for (int i = 0; i < 1000; ++i) {
    memtable->table.Add(i + 1, RecordType::kValue, fmt::format("{:04}", i), std::string(1000, 'v'));
  }
  ASSERT_TRUE(Flush({memtable}, {1000}).ok());
  EXPECT_GT(result_.extents.size(), 2u);
  SequenceNumber sequence = 1000;
  env_.on_write = [&] { memtable->table.Add(++sequence, RecordType::kValue, "zzzz", ""); };
  const Status status = Flush({memtable}, {1000});
  EXPECT_TRUE(status.IsCorruption()) << status.ToString();
  EXPECT_TRUE(result_.extents.empty());
}

}  // namespace
}  // namespace sluice
