// Range deletions where the last operation of the file system can be any, or any can fail: what is
// there again is a state that there was, with all that was acknowledged.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sluice/db.h"
#include "util/fault_env.h"
#include "util/testing.h"

namespace sluice {
namespace {

constexpr int kKeys = 3000;
constexpr char kCounter[] = "~";

std::string Key(int i) { return fmt::format("{:06}", i); }

// A database whose range deletions become cuts and tombstones, and a model of it.
class Life {
 public:
  using State = std::map<std::string, std::string>;

  explicit Life(FaultEnv* env) {
    options_.env = env;
    options_.create_if_missing = true;
    options_.automatic_compactions = false;
    options_.extent_bytes = 16 << 10;
    options_.block_bytes = 1024;
    options_.log_segment_bytes = 64 << 10;
    options_.compaction_bytes = 64 << 10;
  }

  Status Run() {
    SLUICE_RETURN_IF_ERROR(DB::Open(options_, "db", &db_));
    SLUICE_RETURN_IF_ERROR(Step([&](WriteBatch* batch) { Fill(0, kKeys, "first", batch); }));
    SLUICE_RETURN_IF_ERROR(db_->CompactRange(nullptr, {}, {}));
    SLUICE_RETURN_IF_ERROR(Step([&](WriteBatch* batch) { Fill(500, 1500, "second", batch); }));
    SLUICE_RETURN_IF_ERROR(db_->Flush(nullptr));
    // A cut through both runs, with something new within it.
    SLUICE_RETURN_IF_ERROR(Step([&](WriteBatch* batch) {
      Delete(Key(700), Key(2500), batch);
      Fill(1000, 1010, "third", batch);
    }));
    SLUICE_RETURN_IF_ERROR(FlushAndWait());
    // Few keys; and a cut with an open end, which waits as another one comes.
    SLUICE_RETURN_IF_ERROR(Step([&](WriteBatch* batch) { Delete(Key(100), Key(103), batch); }));
    SLUICE_RETURN_IF_ERROR(db_->Flush(nullptr));
    SLUICE_RETURN_IF_ERROR(Step([&](WriteBatch* batch) { Delete(Key(2600), {}, batch); }));
    SLUICE_RETURN_IF_ERROR(db_->Flush(nullptr));
    SLUICE_RETURN_IF_ERROR(Step([&](WriteBatch* batch) {
      Fill(2700, 2750, "fourth", batch);
      Delete({}, Key(50), batch);
    }));
    SLUICE_RETURN_IF_ERROR(FlushAndWait());
    SLUICE_RETURN_IF_ERROR(db_->CompactRange(nullptr, {}, {}));
    SLUICE_RETURN_IF_ERROR(Step([&](WriteBatch* batch) { Delete(Key(0), Key(600), batch); }));
    SLUICE_RETURN_IF_ERROR(FlushAndWait());
    cuts_ = db_->GetStatistics().range_cuts;
    return {};
  }
  Status FlushAndWait() {
    SLUICE_RETURN_IF_ERROR(db_->Flush(nullptr));
    return db_->WaitForBackgroundWork();
  }
  void Close() { db_.reset(); }

  // In another database, which this one became, there must be what was acknowledged here.
  void ExpectIn(Env* env, const std::string& path) const {
    Options options = options_;
    options.env = env;
    options.create_if_missing = acknowledged_ == 0;
    for (const bool compacted : {false, true}) {
      std::unique_ptr<DB> db;
      Status status = DB::Open(options, path, &db);
      ASSERT_TRUE(status.ok()) << status.ToString();
      if (compacted) {
        status = db->CompactRange(nullptr, {}, {});
        ASSERT_TRUE(status.ok()) << status.ToString();
      }
      ExpectOneOfTheStates(FoundIn(db.get()));
      status = db->Verify(nullptr);
      ASSERT_TRUE(status.ok()) << status.ToString();
    }
  }
  void ExpectHere() const { ExpectOneOfTheStates(FoundIn(db_.get())); }
  DB* db() const { return db_.get(); }
  const Options& options() const { return options_; }
  size_t acknowledged() const { return acknowledged_; }
  uint64_t cuts() const { return cuts_; }

 private:
  void Fill(int begin, int end, const std::string& value, WriteBatch* batch) {
    for (int i = begin; i < end; ++i) {
      states_.back()[Key(i)] = value + std::string(50, '.');
      batch->Put(Key(i), states_.back()[Key(i)]);
    }
  }
  void Delete(const std::string& begin, const std::string& end, WriteBatch* batch) {
    batch->DeleteRange(begin, end.empty() ? kCounter : end);
    states_.back().erase(states_.back().lower_bound(begin), end.empty()
                                                                ? states_.back().find(kCounter)
                                                                : states_.back().lower_bound(end));
  }
  Status Step(const std::function<void(WriteBatch*)>& fill) {
    states_.push_back(states_.back());
    WriteBatch batch;
    states_.back()[kCounter] = std::to_string(states_.size() - 1);
    batch.Put(kCounter, states_.back()[kCounter]);
    fill(&batch);
    SLUICE_RETURN_IF_ERROR(db_->Write({.sync = true}, batch));
    acknowledged_ = states_.size() - 1;
    return {};
  }
  static State FoundIn(DB* db) {
    State forward;
    State backward;
    const auto at = db->NewIterator({});
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      forward.emplace(at->key(), at->value());
    }
    EXPECT_TRUE(at->status().ok()) << at->status().ToString();
    for (at->SeekToLast(); at->Valid(); at->Prev()) {
      backward.emplace(at->key(), at->value());
    }
    EXPECT_TRUE(at->status().ok()) << at->status().ToString();
    EXPECT_TRUE(forward == backward);
    for (int i = 0; i < kKeys; i += 7) {
      std::string value;
      const Status status = db->Get({}, Key(i), &value);
      const auto found = forward.find(Key(i));
      EXPECT_EQ(status.ok(), found != forward.end()) << Key(i) << status.ToString();
      EXPECT_TRUE(!status.ok() || value == found->second) << Key(i);
    }
    return forward;
  }
  void ExpectOneOfTheStates(const State& found) const {
    const auto counter = found.find(kCounter);
    const size_t count = counter == found.end() ? 0 : std::stoul(counter->second);
    ASSERT_GE(count, acknowledged_);
    ASSERT_LT(count, states_.size());
    EXPECT_EQ(found.size(), states_[count].size()) << "after " << count << " steps";
    EXPECT_TRUE(found == states_[count]) << "after " << count << " steps";
  }

  Options options_;
  std::vector<State> states_{{}};
  size_t acknowledged_ = 0;
  uint64_t cuts_ = 0;  // of a whole life
  std::unique_ptr<DB> db_;
};

uint64_t OperationsOfALife() {
  FaultEnv env;
  Life life(&env);
  const Status status = life.Run();
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_GE(life.cuts(), 2u);
  return env.operations();
}

TEST(RangeDeletionCrash, EveryOperationCanBeTheLast) {
  const uint64_t seed = TestSeed();
  const uint64_t operations = OperationsOfALife();
  const uint64_t step = 1 + operations / 150;
  for (uint64_t k = seed % step; k < operations && !testing::Test::HasFailure(); k += step) {
    FaultEnv env;
    env.CrashAt(k, seed + k);
    Life life(&env);
    (void)life.Run();
    for (const CrashKind kind : {CrashKind::kPower, CrashKind::kProcess}) {
      SCOPED_TRACE(testing::Message()
                   << "operation " << k << ", " << (kind == CrashKind::kPower ? "power" : "process")
                   << " lost");
      const FileImage left = env.Survivors(kind, seed + k);
      if (life.acknowledged() > 0) {
        FaultEnv repaired(left);
        Options options = life.options();
        options.env = &repaired;
        RepairReport report;
        const Status status = DB::Repair(options, "db", "repaired", &report);
        ASSERT_TRUE(status.ok()) << status.ToString();
        life.ExpectIn(&repaired, "repaired");
      }
      FaultEnv after(left);
      life.ExpectIn(&after, "db");
    }
  }
}

TEST(RangeDeletionCrash, EveryOperationCanFail) {
  const uint64_t seed = TestSeed();
  const uint64_t operations = OperationsOfALife();
  const uint64_t step = 1 + operations / 150;
  for (uint64_t k = seed % step; k < operations && !testing::Test::HasFailure(); k += step) {
    FaultEnv env;
    env.FailAt(k, EIO, seed + k);
    Life life(&env);
    const Status status = life.Run();
    SCOPED_TRACE(testing::Message() << env.failure() << ", and so " << status.ToString());
    env.FailAt(UINT64_MAX, EIO, 0);  // threads make lives differ: this one may have had fewer calls
    if (life.db() != nullptr && life.acknowledged() > 0) {
      life.ExpectHere();
    }
    life.Close();
    env.Restart(seed);
    life.ExpectIn(&env, "db");
  }
}

// The device is full for some operations. What is refused is refused; what was taken is there, and
// in the end the cuts are carried out.
TEST(RangeDeletionCrash, TheDeviceCanBeFull) {
  const uint64_t seed = TestSeed();
  const uint64_t operations = OperationsOfALife();
  const uint64_t step = 1 + operations / 150;
  TestRandom random(seed);
  for (uint64_t k = seed % step; k < operations && !testing::Test::HasFailure(); k += step) {
    FaultEnv env;
    env.FillUp(k, k + Uniform(&random, 1, 60), seed + k);
    Life life(&env);
    Status status = life.Run();
    SCOPED_TRACE(testing::Message() << env.failure() << ", and so " << status.ToString());
    ASSERT_TRUE(status.ok() || status.IsNoSpace()) << status.ToString();
    if (life.db() == nullptr) {
      continue;
    }
    env.FillUp(UINT64_MAX, UINT64_MAX, 0);  // there is space again
    for (int i = 0; i < 100 && !status.ok(); ++i) {
      status = life.FlushAndWait();
    }
    EXPECT_TRUE(status.ok()) << status.ToString();
    life.ExpectHere();
    life.Close();
    life.ExpectIn(&env, "db");
  }
}

}  // namespace
}  // namespace sluice
