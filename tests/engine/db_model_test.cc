// Random operations against a model, in random configurations: every configuration gives the
// model's answers, whatever flushes, compactions and restarts come in between.
//
// SLUICE_ROUNDS=N tries N times as many databases. Database i of a run with seed S is the first one
// of a run with seed S + i.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/workload.h"
#include "sluice/db.h"
#include "sluice/ingestion.h"
#include "table/testing.h"
#include "util/testing.h"

namespace sluice {
namespace {

// Values are shared between the model's states, of which every snapshot and iterator has one.
using Value = std::shared_ptr<const std::string>;
using Records = std::map<std::string, Value>;  // of a sub-table
using Model = std::map<std::string, Records>;  // of all, by name

constexpr size_t kMostWalks = 3;

class ModelTest {
 public:
  explicit ModelTest(uint64_t seed)
      : random_(seed), options_(RandomOptions(&random_)), values_(&random_, size_t{1} << 20) {
    if (Uniform(&random_, 0, 3) == 0) {
      options_.level_paths = {"", dir_.File("warm"), dir_.File("cold")};
    }
    keys_.emplace(kDefaultSubtable, KeySpace(&random_));
    model_.emplace(kDefaultSubtable, Records());
    // Some databases compact a little all the time, others much at once.
    waits_ = Uniform(&random_, 0, 2) == 0;
    deletes_in_100_ = Uniform(&random_, 0, 1) != 0 ? 25 : 3;
    // What a flush makes of range deletions depends on whether snapshots are held.
    most_snapshots_ = Uniform(&random_, 0, 1) != 0 ? 6 : 0;
    ingests_in_1000_ = Uniform(&random_, 0, 2) == 0 ? 30 : 0;
  }
  ~ModelTest() { LetGo(); }

  void Run(int operations) {
    Open();
    for (int i = 0; i < operations && !testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE(testing::Message() << "operation " << i);
      Step();
    }
    CheckAll();
    Verify();
  }
  // Many small ingestions most of the time, and level 0 often waits for reads.
  void RunIngestions(int operations) {
    ingests_in_1000_ = 800;
    options_.l0_compaction_runs = Uniform(&random_, 3, 5);
    options_.l1_bytes = 1 << 20;
    Run(operations);
  }

 private:
  struct Held {
    const Snapshot* snapshot;
    Model model;
  };
  // An iterator, what it walks over, and where it must be.
  struct Walk {
    std::optional<std::string> lower;
    std::optional<std::string> upper;
    Records model;
    std::unique_ptr<Iterator> it;
    Records::const_iterator expected;
    const KeySpace* keys;
  };

  void Open() {
    const Status status = DB::Open(options_, dir_.File("db"), &db_);
    ASSERT_TRUE(status.ok()) << status.ToString();
    subtables_ = db_->ListSubtables();
  }
  void ReleaseSnapshots() {
    for (const Held& held : snapshots_) {
      db_->ReleaseSnapshot(held.snapshot);
    }
    snapshots_.clear();
  }
  void LetGo() {
    AbandonIngestion();
    walks_.clear();
    ReleaseSnapshots();
  }
  Subtable* AnySubtable() { return subtables_[Uniform(&random_, 0, subtables_.size() - 1)]; }
  KeySpace* KeysOf(Subtable* subtable) { return &keys_.at(subtable->name()); }
  std::string AnyKey(Subtable* subtable) { return KeysOf(subtable)->Any(&random_); }

  void Step() {
    switch (Uniform(&random_, 0, 1200)) {
      case 0:
        Reopen();
        break;
      case 1:
      case 2:
      case 3:
      case 4:
        EXPECT_TRUE(db_->Flush(AnySubtable()).ok());
        break;
      case 5:
      case 6:
      case 7:
        Compact();
        break;
      case 8:
        ChangeSubtables();
        break;
      case 29:
      case 30:
        ChangeOptions();
        break;
      case 9:
      case 10:
      case 11:
        if (snapshots_.size() < most_snapshots_) {
          snapshots_.push_back({db_->GetSnapshot(), model_});
        }
        break;
      case 12:
        LetGo();
        break;
      case 13:
      case 18:
      case 19:
      case 20:
      case 21:
      case 22:
        DeleteRange();
        break;
      case 23:
      case 24:
      case 25:
      case 26:
      case 27:
      case 28:
        Ingest();
        break;
      case 14:
      case 15:
        CheckAll();
        break;
      case 16:
        CheckCheckpoint();
        break;
      case 17:
        if (waits_) {
          const Status status = db_->WaitForBackgroundWork();
          EXPECT_TRUE(status.ok()) << status.ToString();
        }
        break;
      default:
        if (Uniform(&random_, 0, 999) < ingests_in_1000_) {
          if (Uniform(&random_, 0, 1) != 0) {
            Ingest();
          } else {
            IngestBetweenWrites();
          }
          break;
        }
        switch (Uniform(&random_, 0, 9)) {
          case 0:
          case 1:
            CheckGet();
            break;
          case 2:
            CheckIterator();
            break;
          default:
            WriteSome();
        }
    }
  }

  // Perhaps with other sizes: what is there keeps its format.
  void Reopen() {
    LetGo();
    Verify();
    db_.reset();
    if (Uniform(&random_, 0, 1) != 0) {
      std::vector<std::string> paths = std::move(options_.level_paths);
      options_ = RandomOptions(&random_);
      options_.level_paths = std::move(paths);
    }
    Open();
  }

  void Compact() {
    Subtable* const subtable = AnySubtable();
    std::string begin = AnyKey(subtable);
    std::string end = AnyKey(subtable);
    if (end < begin) {
      std::swap(begin, end);
    }
    switch (Uniform(&random_, 0, 3)) {
      case 0:
        begin.clear();
        break;
      case 1:
        end.clear();
        break;
      case 2:
        begin.clear();
        end.clear();
        break;
      default:
        break;
    }
    const Status status = db_->CompactRange(subtable, begin, end);
    EXPECT_TRUE(status.ok()) << status.ToString();
    CheckState(db_.get(), nullptr, model_);
  }

  void WriteSome() {
    WriteBatch batch;
    const uint64_t count = Uniform(&random_, 0, 4) == 0 ? Uniform(&random_, 1, 30) : 1;
    for (uint64_t i = 0; i < count; ++i) {
      Subtable* const subtable = AnySubtable();
      Records* const records = &model_.at(subtable->name());
      if (Uniform(&random_, 0, 199) == 0) {
        const auto [begin, end] = AnyRange(subtable);
        batch.DeleteRange(subtable, begin, end);
        EraseRange(records, begin, end);
      } else if (Uniform(&random_, 0, 99) < deletes_in_100_) {
        const std::string key = AnyKey(subtable);
        batch.Delete(subtable, key);
        records->erase(key);
      } else {
        const std::string key = KeysOf(subtable)->Next(&random_);
        auto value = std::make_shared<const std::string>(values_.Next(&random_));
        batch.Put(subtable, key, *value);
        (*records)[key] = std::move(value);
      }
    }
    const WriteOptions options{.sync = Uniform(&random_, 0, 50) == 0};
    const Status status = Uniform(&random_, 0, 3) != 0 ? db_->Write(options, batch)
                                                       : db_->WriteAsync(options, batch).get();
    EXPECT_TRUE(status.ok()) << status.ToString();
  }

  // Mostly small, so that something stays; now and then without bounds, or empty.
  std::pair<std::string, std::string> AnyRange(Subtable* subtable) {
    const Records& records = model_.at(subtable->name());
    std::string begin = AnyKey(subtable);
    std::string end = AnyKey(subtable);
    const uint64_t way = Uniform(&random_, 0, 39);
    if (auto last = records.lower_bound(begin); last != records.end() && way > 5) {
      for (uint64_t n = SkewedSize(&random_, 300); n > 0 && std::next(last) != records.end(); --n) {
        ++last;
      }
      end = last->first;
    }
    if (end < begin && way != 0) {
      std::swap(begin, end);
    }
    if (way == 1) {
      begin.clear();
    } else if (way == 2) {
      end.clear();
    }
    return {begin, end};
  }
  static void EraseRange(Records* records, const std::string& begin, const std::string& end) {
    if (end.empty() || begin < end) {
      records->erase(records->lower_bound(begin),
                     end.empty() ? records->end() : records->lower_bound(end));
    }
  }

  void DeleteRange() {
    Subtable* const subtable = AnySubtable();
    const auto [begin, end] = AnyRange(subtable);
    const Status status = db_->DeleteRange({}, subtable, begin, end);
    EXPECT_TRUE(status.ok()) << status.ToString();
    EraseRange(&model_.at(subtable->name()), begin, end);
  }

  // Sometimes of neighbours only, which level 0 may not have between what it has.
  Records AnyIngested(Subtable* subtable) {
    Records records;
    for (uint64_t n = 1 + SkewedSize(&random_, 500); n > 0; --n) {
      records[KeysOf(subtable)->Next(&random_)] =
          std::make_shared<const std::string>(values_.Next(&random_));
    }
    if (Uniform(&random_, 0, 1) != 0) {
      auto begin = std::next(records.begin(), Uniform(&random_, 0, records.size() - 1));
      records.erase(records.begin(), begin);
      records.erase(std::next(begin, std::min(records.size(), 1 + SkewedSize(&random_, 30))),
                    records.end());
    }
    return records;
  }

  // Begins an ingestion, or ends the one that is under way: what came in between is older.
  void Ingest() {
    if (ingestion_ == nullptr) {
      ASSERT_TRUE(db_->NewIngestion(&ingestion_).ok());
      for (Subtable* const subtable : subtables_) {
        if (Uniform(&random_, 0, 2) != 0) {
          AddIngested(subtable, AnyIngested(subtable));
        }
      }
      return;
    }
    std::unique_ptr<Ingestion> second;
    EXPECT_EQ(db_->NewIngestion(&second).code(), Status::Code::kBusy);
    if (Uniform(&random_, 0, 4) != 0) {
      CommitIngestion();
    }
    AbandonIngestion();
    CheckAll();
  }
  void AddIngested(Subtable* subtable, Records records) {
    for (const auto& [key, value] : records) {
      const Status status = ingestion_->Add(subtable, key, *value);
      ASSERT_TRUE(status.ok()) << status.ToString();
    }
    ingested_[subtable->name()] = std::move(records);
  }
  void CommitIngestion() {
    const bool dropped = std::any_of(ingested_.begin(), ingested_.end(), [&](const auto& part) {
      return !model_.contains(part.first);
    });
    const Status status = ingestion_->Commit();
    EXPECT_EQ(status.code(), dropped ? Status::Code::kInvalidArgument : Status::Code::kOk)
        << status.ToString();
    if (status.ok()) {
      for (const auto& [name, records] : ingested_) {
        for (const auto& [key, value] : records) {
          model_.at(name)[key] = value;
        }
      }
    }
  }

  // Few keys: some are written and flushed, others ingested, over and over, and all are read. Runs of
  // level 0 then have one or two keys, so what is ingested often overlaps older runs only; and it becomes
  // one run with these while level 0 still waits for reads to pay for its compaction.
  void IngestBetweenWrites() {
    AbandonIngestion();
    Subtable* const subtable = AnySubtable();
    Records* const records = &model_.at(subtable->name());
    std::vector<std::string> keys(Uniform(&random_, 2, 5));
    std::generate(keys.begin(), keys.end(), [&] { return AnyKey(subtable); });
    const size_t written = Uniform(&random_, 1, keys.size() - 1);
    for (uint64_t n = Uniform(&random_, 1, 60); n > 0; --n) {
      const size_t first = Uniform(&random_, 0, 9) == 0 ? 0 : written;
      const std::string& key = keys[Uniform(&random_, 0, written - 1)];
      const std::string& ingested = keys[Uniform(&random_, first, keys.size() - 1)];
      auto value = std::make_shared<const std::string>(std::to_string(random_()));
      Status status;
      switch (Uniform(&random_, 0, 15)) {
        case 0:
        case 1:
        case 2:
          status = db_->Put({}, subtable, key, *value);
          (*records)[key] = std::move(value);
          break;
        case 3:
          status = db_->Delete({}, subtable, key);
          records->erase(key);
          break;
        case 4:
        case 5:
        case 6:
          status = db_->Flush(subtable);
          break;
        case 7:
        case 8:
          ReadOften(subtable, keys);
          break;
        default:
          ASSERT_TRUE(db_->NewIngestion(&ingestion_).ok());
          AddIngested(subtable, {{ingested, std::move(value)}});
          CommitIngestion();
          AbandonIngestion();
      }
      EXPECT_TRUE(status.ok()) << status.ToString();
    }
    ReadOften(subtable, keys);
    CheckAll();
  }
  // Until reads have paid for what makes runs fewer, perhaps. Gets tell a wrong order of runs, which
  // iterators do not go by.
  void ReadOften(Subtable* subtable, const std::vector<std::string>& keys) {
    for (uint64_t n = Uniform(&random_, 0, 20); n > 0; --n) {
      db_->NewIterator({}, subtable)->Seek(keys.front());
    }
    const Status status = db_->WaitForBackgroundWork();
    EXPECT_TRUE(status.ok()) << status.ToString();
    CheckKeys({.fill_cache = false}, subtable, model_.at(subtable->name()), keys);
  }
  void AbandonIngestion() {
    ingestion_.reset();
    ingested_.clear();
  }

  void ChangeSubtables() {
    if (subtables_.size() > 1 && Uniform(&random_, 0, 1) != 0) {
      // A snapshot of the model has the dropped sub-table still; the database's has not.
      ReleaseSnapshots();
      Subtable* const last = subtables_.back();
      model_.erase(last->name());
      EXPECT_TRUE(db_->DropSubtable(last).ok());
    } else if (subtables_.size() < 4) {
      Subtable* made;
      const std::string name = fmt::format("t{}", random_());
      own_options_[name] = RandomSubtableOptions(&random_, options_);
      ASSERT_TRUE(db_->CreateSubtable(own_options_[name], name, &made).ok());
      // Snapshots that are older than a sub-table read it as empty.
      for (Held& held : snapshots_) {
        held.model.emplace(name, Records());
      }
      keys_.emplace(name, KeySpace(&random_));
      model_.emplace(name, Records());
    }
    subtables_ = db_->ListSubtables();
  }

  void ChangeOptions() {
    Subtable* const subtable = AnySubtable();
    SubtableOptions own = RandomSubtableOptions(&random_, options_);
    const Status status = db_->SetSubtableOptions(subtable, own);
    EXPECT_TRUE(status.ok()) << status.ToString();
    own_options_[subtable->name()] = std::move(own);
  }

  // A state to look at: the newest, or that of a snapshot.
  const Model& AnyState(ReadOptions* options) {
    options->fill_cache = Uniform(&random_, 0, 3) != 0;
    if (snapshots_.empty() || Uniform(&random_, 0, 1) != 0) {
      return model_;
    }
    const Held& held = snapshots_[Uniform(&random_, 0, snapshots_.size() - 1)];
    options->snapshot = held.snapshot;
    return held.model;
  }

  void CheckGet() {
    ReadOptions options;
    const Model& state = AnyState(&options);
    Subtable* const subtable = AnySubtable();
    const Records& model = state.at(subtable->name());
    std::vector<std::string> keys;
    for (uint64_t i = Uniform(&random_, 0, 1) != 0 ? 1 : Uniform(&random_, 0, 20); i > 0; --i) {
      keys.push_back(AnyKey(subtable));
      // One that is there, as likely.
      const auto near = model.lower_bound(keys.back());
      if (near != model.end() && Uniform(&random_, 0, 1) != 0) {
        keys.back() = near->first;
      }
    }
    CheckKeys(options, subtable, model, keys);
  }
  void CheckKeys(const ReadOptions& options, Subtable* subtable, const Records& model,
                 const std::vector<std::string>& keys) {
    std::vector<std::string> values(1);
    std::vector<Status> statuses;
    if (keys.size() == 1) {
      statuses.push_back(db_->Get(options, subtable, keys[0], values.data()));
    } else {
      statuses = db_->MultiGet(options, subtable, {keys.begin(), keys.end()}, &values);
    }
    ASSERT_EQ(statuses.size(), keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto expected = model.find(keys[i]);
      if (expected == model.end()) {
        EXPECT_TRUE(statuses[i].IsNotFound()) << keys[i] << ": " << statuses[i].ToString();
      } else {
        EXPECT_TRUE(statuses[i].ok()) << keys[i] << ": " << statuses[i].ToString();
        EXPECT_TRUE(values[i] == *expected->second) << "another value of " << keys[i];
      }
    }
  }

  // Goes some steps on an iterator that is new, or was left somewhere; then leaves it there.
  void CheckIterator() {
    size_t which;
    if (!walks_.empty() && Uniform(&random_, 0, 1) != 0) {
      which = Uniform(&random_, 0, walks_.size() - 1);
    } else {
      which = walks_.size() < kMostWalks ? walks_.size() : Uniform(&random_, 0, kMostWalks - 1);
      if (which == walks_.size()) {
        walks_.emplace_back();
      }
      StartWalk(&walks_[which]);
    }
    StepWalk(walks_[which].get());
  }

  void StartWalk(std::unique_ptr<Walk>* slot) {
    ReadOptions options;
    const Model& state = AnyState(&options);
    Subtable* const subtable = AnySubtable();
    auto walk = std::make_unique<Walk>();
    walk->model = state.at(subtable->name());
    if (Uniform(&random_, 0, 2) == 0) {
      walk->lower = AnyKey(subtable);
      options.lower_bound = &*walk->lower;
      walk->model.erase(walk->model.begin(), walk->model.lower_bound(*walk->lower));
    }
    if (Uniform(&random_, 0, 2) == 0) {
      walk->upper = AnyKey(subtable);
      options.upper_bound = &*walk->upper;
      walk->model.erase(walk->model.lower_bound(*walk->upper), walk->model.end());
    }
    walk->it = db_->NewIterator(options, subtable);
    walk->expected = walk->model.end();
    walk->keys = KeysOf(subtable);
    *slot = std::move(walk);
  }

  void StepWalk(Walk* walk) {
    const Records& model = walk->model;
    Records::const_iterator& expected = walk->expected;
    Iterator* const it = walk->it.get();
    for (uint64_t step = Uniform(&random_, 1, 20); step > 0; --step) {
      const std::string key = walk->keys->Any(&random_);
      switch (Uniform(&random_, 0, 7)) {
        case 0:
          it->SeekToFirst();
          expected = model.begin();
          break;
        case 1:
          it->SeekToLast();
          expected = model.empty() ? model.end() : std::prev(model.end());
          break;
        case 2:
          it->Seek(key);
          expected = model.lower_bound(key);
          break;
        case 3:
          it->SeekForPrev(key);
          expected = model.upper_bound(key);
          expected = expected == model.begin() ? model.end() : std::prev(expected);
          break;
        case 4:
        case 5:
          if (expected == model.end()) {
            continue;
          }
          it->Next();
          ++expected;
          break;
        default:
          if (expected == model.end()) {
            continue;
          }
          it->Prev();
          expected = expected == model.begin() ? model.end() : std::prev(expected);
      }
      ASSERT_TRUE(it->status().ok()) << it->status().ToString();
      ASSERT_EQ(it->Valid(), expected != model.end());
      if (it->Valid()) {
        ASSERT_EQ(it->key(), expected->first);
        ASSERT_TRUE(it->value() == *expected->second) << "another value of " << it->key();
      }
    }
  }

  // All records, forwards or backwards. What differs first is told by key.
  void CheckState(DB* db, const Snapshot* snapshot, const Model& model) {
    for (Subtable* const subtable : db->ListSubtables()) {
      EXPECT_EQ(db->GetSubtableOptions(subtable), own_options_[subtable->name()]);
      const Records& records = model.at(subtable->name());
      const auto at = db->NewIterator({.snapshot = snapshot}, subtable);
      if (Uniform(&random_, 0, 1) != 0) {
        at->SeekToFirst();
        CheckRecords(at.get(), records.begin(), records.end(), &Iterator::Next);
      } else {
        at->SeekToLast();
        CheckRecords(at.get(), records.rbegin(), records.rend(), &Iterator::Prev);
      }
    }
  }
  template <typename At>
  void CheckRecords(Iterator* it, At at, At end, void (Iterator::*go_on)()) {
    for (; it->Valid() && at != end; (it->*go_on)(), ++at) {
      ASSERT_EQ(it->key(), at->first);
      ASSERT_TRUE(it->value() == *at->second) << "another value of " << at->first;
    }
    ASSERT_TRUE(it->status().ok()) << it->status().ToString();
    ASSERT_TRUE(at == end) << "ends before " << at->first;
    ASSERT_FALSE(it->Valid()) << "goes on with " << it->key();
  }
  void CheckAll() {
    CheckState(db_.get(), nullptr, model_);
    for (const Held& held : snapshots_) {
      CheckState(db_.get(), held.snapshot, held.model);
    }
  }
  void Verify() {
    const Status status = db_->Verify({});
    EXPECT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(db_->GetStatistics().compactions_abandoned, 0u);
  }
  void CheckCheckpoint() {
    const Status status = db_->CreateCheckpoint(dir_.File("copy"));
    ASSERT_TRUE(status.ok()) << status.ToString();
    Options options = options_;
    options.level_paths.clear();
    std::unique_ptr<DB> copy;
    ASSERT_TRUE(DB::Open(options, dir_.File("copy"), &copy).ok());
    CheckState(copy.get(), nullptr, model_);
    copy.reset();
    ASSERT_TRUE(DB::Destroy(options, dir_.File("copy")).ok());
  }

  TestRandom random_;
  TempDir dir_;
  Options options_;
  ValueSpace values_;
  bool waits_;
  uint64_t deletes_in_100_;
  size_t most_snapshots_;
  uint64_t ingests_in_1000_;
  std::map<std::string, KeySpace, std::less<>> keys_;  // of each sub-table, by name
  std::unique_ptr<DB> db_;
  std::vector<Subtable*> subtables_;
  Model model_;
  std::map<std::string, SubtableOptions> own_options_;  // of each sub-table, by name
  std::vector<Held> snapshots_;
  std::vector<std::unique_ptr<Walk>> walks_;
  std::unique_ptr<Ingestion> ingestion_;
  Model ingested_;  // what it has
};

TEST(DbModel, EveryConfigurationGivesTheModelsAnswers) {
  const uint64_t seed = TestSeed();
  const int databases = TestRounds(20);
  for (int i = 0; i < databases && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(testing::Message() << "database " << i << ", first with SLUICE_SEED=" << seed + i);
    ModelTest(seed + i).Run(2500);
  }
}

TEST(DbModel, IngestionsGoWhereNothingNewerIsBelow) {
  const uint64_t seed = TestSeed();
  const int databases = TestRounds(40);
  for (int i = 0; i < databases && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(testing::Message() << "database " << i << ", first with SLUICE_SEED=" << seed + i);
    ModelTest(seed + i).RunIngestions(100);
  }
}

}  // namespace
}  // namespace sluice
