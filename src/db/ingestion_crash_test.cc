// Ingestions where the last operation of the file system can be any, or any can fail: what is there
// again is a state that there was, with all that was acknowledged.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "sluice/db.h"
#include "util/fault_env.h"
#include "util/testing.h"

namespace sluice {
namespace {

constexpr char kCounter[] = "~";
constexpr char kOther[] = "other";

std::string Key(int i) { return fmt::format("{:06}", i); }

// A database of two sub-tables, and a model of it: each step writes both, and the number of the step.
class Life {
 public:
  using Records = std::map<std::string, std::string>;
  struct State {
    Records first;
    Records other;
  };

  explicit Life(FaultEnv* env) {
    options_.env = env;
    options_.create_if_missing = true;
    options_.automatic_compactions = false;
    options_.extent_bytes = 16 << 10;
    options_.block_bytes = 1024;
    options_.log_segment_bytes = 64 << 10;
    options_.compaction_bytes = 64 << 10;
    options_.separate_value_bytes = 2000;
  }

  Status Run() {
    SLUICE_RETURN_IF_ERROR(DB::Open(options_, "db", &db_));
    SLUICE_RETURN_IF_ERROR(db_->CreateSubtable(kOther, &other_));
    SLUICE_RETURN_IF_ERROR(Ingest(0, 1500, "loaded"));
    SLUICE_RETURN_IF_ERROR(Put(500, 600, "written"));
    SLUICE_RETURN_IF_ERROR(Ingest(1500, 2000, "behind"));
    SLUICE_RETURN_IF_ERROR(db_->Flush(nullptr));
    SLUICE_RETURN_IF_ERROR(Put(550, 650, "again", /*sync=*/false));
    SLUICE_RETURN_IF_ERROR(Ingest(560, 1000, "over"));
    SLUICE_RETURN_IF_ERROR(Put(100, 1800, {}));  // deletes
    SLUICE_RETURN_IF_ERROR(Ingest(300, 900, "after a deletion"));
    SLUICE_RETURN_IF_ERROR(db_->CompactRange(nullptr, {}, {}));
    {  // abandoned
      std::unique_ptr<Ingestion> ingestion;
      SLUICE_RETURN_IF_ERROR(db_->NewIngestion(&ingestion));
      for (int i = 0; i < 600; ++i) {
        SLUICE_RETURN_IF_ERROR(ingestion->Add(nullptr, Key(i), "never"));
      }
    }
    SLUICE_RETURN_IF_ERROR(Ingest(0, 3000, "last"));
    SLUICE_RETURN_IF_ERROR(Put(700, 710, "end"));
    return {};
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
        for (Subtable* const subtable : db->ListSubtables()) {
          status = db->CompactRange(subtable, {}, {});
          ASSERT_TRUE(status.ok()) << status.ToString();
        }
      }
      ExpectOneOfTheStates(db.get());
      status = db->Verify(nullptr);
      ASSERT_TRUE(status.ok()) << status.ToString();
    }
  }
  void ExpectHere() const { ExpectOneOfTheStates(db_.get()); }
  DB* db() const { return db_.get(); }
  const Options& options() const { return options_; }
  size_t acknowledged() const { return acknowledged_; }

 private:
  static std::string Value(int i, const std::string& value) {
    return value + std::string(i % 100 == 0 ? 3000 : 50, '.');
  }
  // The next state; every third key is other's, too.
  State* Begin(int begin, int end, const std::string& value) {
    states_.push_back(states_.back());
    State& state = states_.back();
    state.first[kCounter] = state.other[kCounter] = std::to_string(states_.size() - 1);
    for (int i = begin; i < end; ++i) {
      for (Records* const records : {&state.first, i % 3 == 0 ? &state.other : nullptr}) {
        if (records != nullptr && value.empty()) {
          records->erase(Key(i));
        } else if (records != nullptr) {
          (*records)[Key(i)] = Value(i, value);
        }
      }
    }
    return &state;
  }
  Status Put(int begin, int end, const std::string& value, bool sync = true) {
    const State& state = *Begin(begin, end, value);
    WriteBatch batch;
    for (const auto& [subtable, records] :
         {std::pair{static_cast<Subtable*>(nullptr), &state.first},
          std::pair{other_, &state.other}}) {
      if (value.empty()) {
        batch.DeleteRange(subtable, Key(begin), Key(end));
      }
      for (auto at = records->lower_bound(Key(begin)); at != records->lower_bound(Key(end)); ++at) {
        batch.Put(subtable, at->first, at->second);
      }
      batch.Put(subtable, kCounter, records->at(kCounter));
    }
    SLUICE_RETURN_IF_ERROR(db_->Write({.sync = sync}, batch));
    acknowledged_ = sync ? states_.size() - 1 : acknowledged_;
    return {};
  }
  Status Ingest(int begin, int end, const std::string& value) {
    const State& state = *Begin(begin, end, value);
    std::unique_ptr<Ingestion> ingestion;
    SLUICE_RETURN_IF_ERROR(db_->NewIngestion(&ingestion));
    for (const auto& [subtable, records] :
         {std::pair{static_cast<Subtable*>(nullptr), &state.first},
          std::pair{other_, &state.other}}) {
      for (auto at = records->lower_bound(Key(begin)); at != records->lower_bound(Key(end)); ++at) {
        SLUICE_RETURN_IF_ERROR(ingestion->Add(subtable, at->first, at->second));
      }
      SLUICE_RETURN_IF_ERROR(ingestion->Add(subtable, kCounter, records->at(kCounter)));
    }
    SLUICE_RETURN_IF_ERROR(ingestion->Commit());
    acknowledged_ = states_.size() - 1;
    return {};
  }
  static Records FoundIn(DB* db, Subtable* subtable) {
    Records found;
    const auto at = db->NewIterator({}, subtable);
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      found.emplace(at->key(), at->value());
    }
    EXPECT_TRUE(at->status().ok()) << at->status().ToString();
    return found;
  }
  void ExpectOneOfTheStates(DB* db) const {
    const Records found = FoundIn(db, nullptr);
    const auto counter = found.find(kCounter);
    const size_t count = counter == found.end() ? 0 : std::stoul(counter->second);
    ASSERT_GE(count, acknowledged_);
    ASSERT_LT(count, states_.size());
    EXPECT_EQ(found.size(), states_[count].first.size()) << "after " << count << " steps";
    EXPECT_TRUE(found == states_[count].first) << "after " << count << " steps";
    Subtable* const other = db->FindSubtable(kOther);
    ASSERT_TRUE(other != nullptr || count == 0);
    EXPECT_TRUE(other == nullptr || FoundIn(db, other) == states_[count].other)
        << "after " << count << " steps";
  }

  Options options_;
  std::vector<State> states_{1};
  size_t acknowledged_ = 0;
  std::unique_ptr<DB> db_;
  Subtable* other_ = nullptr;
};

uint64_t OperationsOfALife() {
  FaultEnv env;
  Life life(&env);
  const Status status = life.Run();
  EXPECT_TRUE(status.ok()) << status.ToString();
  life.ExpectHere();
  return env.operations();
}

TEST(IngestionCrash, EveryOperationCanBeTheLast) {
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

TEST(IngestionCrash, EveryOperationCanFail) {
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

// The device is full for some operations. What is refused is not there, and what was taken is; then
// ingestions succeed again.
TEST(IngestionCrash, TheDeviceCanBeFull) {
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
      status = life.db()->Flush(nullptr);
    }
    EXPECT_TRUE(status.ok()) << status.ToString();
    life.ExpectHere();
    life.Close();
    life.ExpectIn(&env, "db");
  }
}

// A commit that finds no space for its metadata, but has all its extents, can be tried again.
TEST(IngestionCrash, ACommitCanBeRepeated) {
  const uint64_t seed = TestSeed();
  bool repeated = false;
  for (uint64_t ahead = 0; ahead < 20; ++ahead) {
    FaultEnv env;
    Options options;
    options.env = &env;
    options.create_if_missing = true;
    options.extent_bytes = 16 << 10;
    options.compression = Compression::kNone;
    std::unique_ptr<DB> db;
    ASSERT_TRUE(DB::Open(options, "db", &db).ok());
    std::unique_ptr<Ingestion> ingestion;
    ASSERT_TRUE(db->NewIngestion(&ingestion).ok());
    const std::string end(1000,
                          'k');  // the metadata has long keys, too, more than fit in its reserve
    for (int i = 0; i < 1500; ++i) {
      ASSERT_TRUE(ingestion->Add(nullptr, Key(i) + end, "v").ok());
    }
    env.FillUp(env.operations() + ahead, UINT64_MAX, seed);
    Status status = ingestion->Commit();
    ASSERT_TRUE(status.ok() || status.IsNoSpace()) << status.ToString();
    std::string value;
    EXPECT_EQ(db->Get({}, Key(1) + end, &value).ok(), status.ok());
    env.FillUp(UINT64_MAX, UINT64_MAX, 0);
    if (!status.ok()) {
      status = ingestion->Commit();
      repeated = repeated || status.ok();
      // Where records that were in memory still had found no space, it says so.
      ASSERT_TRUE(status.ok() || status.code() == Status::Code::kInvalidArgument)
          << status.ToString();
    }
    EXPECT_EQ(db->Get({}, Key(1499) + end, &value).ok(), status.ok());
  }
  EXPECT_TRUE(repeated);
}

}  // namespace
}  // namespace sluice
