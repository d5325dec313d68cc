// Executors of a user's own that do not do what they say: compactions do without them, and writes go on.

#include "lying_executor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "db/fixture.h"
#include "sluice/db.h"

namespace sluice {
namespace {

class LyingExecutorTest : public DbFixture {
 protected:
  LyingExecutorTest() {
    options_.automatic_compactions = false;
    options_.always_offload = true;
  }

  // Three runs, a fifth of whose records are gone or replaced by the next.
  void Fill() {
    for (int run = 0; run < 3; ++run) {
      for (int i = 0; i < 3000; ++i) {
        const std::string key = fmt::format("{:05}", i * (run + 1) % 4000);
        if (i % 10 == run) {
          ASSERT_TRUE(db_->Delete({}, key).ok());
          model_.erase(key);
        } else {
          ASSERT_TRUE(db_->Put({}, key, std::string(50, static_cast<char>('a' + i % 20))).ok());
          model_[key] = std::string(50, static_cast<char>('a' + i % 20));
        }
      }
      ASSERT_TRUE(db_->Flush(nullptr).ok());
    }
  }
  void ExpectAll() {
    const auto at = db_->NewIterator({}, nullptr);
    auto expected = model_.begin();
    for (at->SeekToFirst(); at->Valid(); at->Next(), ++expected) {
      ASSERT_NE(expected, model_.end());
      ASSERT_EQ(at->key(), expected->first);
      ASSERT_EQ(at->value(), expected->second);
    }
    EXPECT_EQ(expected, model_.end());
    EXPECT_TRUE(at->status().ok());
    const Status verified = db_->Verify(nullptr);
    EXPECT_TRUE(verified.ok()) << verified.ToString();
  }

  std::map<std::string, std::string> model_;
};

TEST_F(LyingExecutorTest, NoLieStopsWrites) {
  for (const Lie& lie : Lies()) {
    SCOPED_TRACE(lie.name);
    model_.clear();
    const auto liar = std::make_shared<LyingExecutor>(lie);
    options_.executors = {liar};
    ASSERT_NO_FATAL_FAILURE(Open(lie.name));
    ASSERT_NO_FATAL_FAILURE(Fill());
    const Status compacted = db_->CompactRange(nullptr, "", "");
    EXPECT_TRUE(compacted.ok()) << compacted.ToString();
    EXPECT_GT(liar->lies, 0u);
    ASSERT_NO_FATAL_FAILURE(ExpectAll());
    // As many as were told are failures of the unit, and the CPU does the task.
    EXPECT_EQ(db_->GetStatistics().offload.retries + db_->GetStatistics().compactions_abandoned,
              liar->lies);
    const Status written = db_->Put({}, "another", "value");
    EXPECT_TRUE(written.ok()) << written.ToString();
  }
}

// What balances by itself, though records are missing, only the metadata's counts show.
TEST_F(LyingExecutorTest, ARunLeftOutStopsNothingEither) {
  class Forgetful : public Executor {
   public:
    std::string_view name() const override { return "forgetful"; }
    size_t max_runs() const override { return 16; }
    size_t max_snapshots() const override { return SIZE_MAX; }
    MergeResult Run(const MergeTask& task, const MergeSink& sink) override {
      MergeTask less = task;
      less.runs.pop_back();
      return CpuExecutor().Run(less, sink);
    }
  };
  options_.executors = {std::make_shared<Forgetful>()};
  Open();
  ASSERT_NO_FATAL_FAILURE(Fill());
  const Status compacted = db_->CompactRange(nullptr, "", "");
  EXPECT_TRUE(compacted.ok()) << compacted.ToString();
  EXPECT_GT(db_->GetStatistics().compactions_abandoned, 0u);
  ASSERT_NO_FATAL_FAILURE(ExpectAll());
  EXPECT_TRUE(db_->Put({}, "another", "value").ok());
}

}  // namespace
}  // namespace sluice
