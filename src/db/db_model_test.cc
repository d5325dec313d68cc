// Random operations against a model, in random configurations: every configuration gives the
// model's answers, whatever flushes, compactions and restarts come in between.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/db.h"
#include "table/testing.h"
#include "util/testing.h"

namespace sluice {
namespace {

// Sub-table and key to value; a copy is a snapshot.
using Model = std::map<std::pair<std::string, std::string>, std::string>;

class ModelTest {
 public:
  explicit ModelTest(uint64_t seed) : random_(seed) {
    options_.create_if_missing = true;
    options_.memtable_bytes = 16384 << Uniform(&random_, 0, 5);
    options_.max_waiting_memtables = Uniform(&random_, 1, 4);
    options_.row_cache_bytes = Uniform(&random_, 0, 2) * 16384;
    options_.block_cache_bytes = Uniform(&random_, 0, 3) * 65536;
    options_.write_queues = Uniform(&random_, 1, 3);
    options_.table_cache_bytes = Uniform(&random_, 0, 1) * 65536;
    options_.extent_bytes = 8192 << Uniform(&random_, 0, 6);
    options_.block_bytes = 256 << Uniform(&random_, 0, 5);
    options_.restart_interval = static_cast<uint32_t>(1 << Uniform(&random_, 0, 5));
    options_.compression = Uniform(&random_, 0, 1) != 0 ? Compression::kSnappy : Compression::kNone;
    options_.bloom_bits_per_key = Uniform(&random_, 0, 1) != 0 ? 10 : 0;
    options_.l0_compaction_runs = Uniform(&random_, 2, 5);
    options_.l0_slowdown_runs = 8;
    options_.l0_stop_runs = 12;
    options_.l1_bytes = 32768 << Uniform(&random_, 0, 6);
    options_.major_extents = Uniform(&random_, 1, 50);
    options_.task_bytes = 16384 << Uniform(&random_, 0, 6);
    options_.compaction_threads = Uniform(&random_, 1, 2);
    options_.log_segment_bytes = 65536;
    if (Uniform(&random_, 0, 3) == 0) {
      options_.offload.executor = "model";
      options_.offload.configuration = "tiny";
      options_.offload.fault_rate = Uniform(&random_, 0, 1) != 0 ? 0.3 : 0;
      options_.offload.fault_seed = random_();
    }
    if (Uniform(&random_, 0, 3) == 0) {
      options_.level_paths = {"", dir_.File("warm"), dir_.File("cold")};
    }
    letters_ = static_cast<unsigned>(Uniform(&random_, 2, 30));
    most_key_bytes_ = Uniform(&random_, 1, 12);
  }
  ~ModelTest() { ReleaseSnapshots(); }

  void Run(int operations) {
    Open();
    for (int i = 0; i < operations && !testing::Test::HasFailure(); ++i) {
      Step();
    }
    CheckAll();
    const Status status = db_->Verify({});
    EXPECT_TRUE(status.ok()) << status.ToString();
  }

 private:
  struct Held {
    const Snapshot* snapshot;
    Model model;
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
  std::string Key() {
    std::string key(Uniform(&random_, 0, most_key_bytes_), ' ');
    for (char& c : key) {
      c = static_cast<char>('a' + Uniform(&random_, 0, letters_ - 1));
    }
    return key;
  }
  std::string Value() {
    std::string value(SkewedSize(&random_, 3000), ' ');
    for (char& c : value) {
      c = static_cast<char>('A' + Uniform(&random_, 0, 3));
    }
    return value;
  }
  Subtable* AnySubtable() { return subtables_[Uniform(&random_, 0, subtables_.size() - 1)]; }

  void Step() {
    switch (Uniform(&random_, 0, 1000)) {
      case 0:
        ReleaseSnapshots();
        db_.reset();
        Open();
        break;
      case 1:
      case 2:
        EXPECT_TRUE(db_->Flush(AnySubtable()).ok());
        break;
      case 3: {
        std::string begin = Key();
        std::string end = Key();
        const Status status = db_->CompactRange(AnySubtable(), std::min(begin, end),
                                                Uniform(&random_, 0, 1) != 0 ? "" : end);
        EXPECT_TRUE(status.ok()) << status.ToString();
        break;
      }
      case 4:
        ChangeSubtables();
        break;
      case 5:
      case 6:
      case 7:
        snapshots_.push_back({db_->GetSnapshot(), model_});
        break;
      case 8:
      case 9:
        ReleaseSnapshots();
        break;
      case 10:
        DeleteRange();
        break;
      case 11:
        CheckAll();
        break;
      case 12:
        CheckCheckpoint();
        break;
      default:
        switch (Uniform(&random_, 0, 9)) {
          case 0:
          case 1:
          case 2:
            CheckGet();
            break;
          case 3:
            CheckIterator();
            break;
          default:
            WriteSome();
        }
    }
  }

  void WriteSome() {
    WriteBatch batch;
    const uint64_t count = Uniform(&random_, 0, 4) == 0 ? Uniform(&random_, 1, 30) : 1;
    for (uint64_t i = 0; i < count; ++i) {
      Subtable* const subtable = AnySubtable();
      const std::string key = Key();
      if (Uniform(&random_, 0, 3) == 0) {
        batch.Delete(subtable, key);
        model_.erase({subtable->name(), key});
      } else {
        const std::string value = Value();
        batch.Put(subtable, key, value);
        model_[{subtable->name(), key}] = value;
      }
    }
    const WriteOptions options{.sync = Uniform(&random_, 0, 50) == 0};
    const Status status = Uniform(&random_, 0, 3) != 0 ? db_->Write(options, batch)
                                                       : db_->WriteAsync(options, batch).get();
    EXPECT_TRUE(status.ok()) << status.ToString();
  }

  void DeleteRange() {
    Subtable* const subtable = AnySubtable();
    const std::string a = Key();
    const std::string b = Key();
    EXPECT_TRUE(db_->DeleteRange({}, subtable, std::min(a, b), std::max(a, b)).ok());
    model_.erase(model_.lower_bound({subtable->name(), std::min(a, b)}),
                 model_.lower_bound({subtable->name(), std::max(a, b)}));
  }

  void ChangeSubtables() {
    if (subtables_.size() > 1 && Uniform(&random_, 0, 1) != 0) {
      // No snapshot outlives the drop in the model either: the names are used again.
      ReleaseSnapshots();
      Subtable* const last = subtables_.back();
      EXPECT_TRUE(db_->DropSubtable(last).ok());
      std::erase_if(model_, [&](const auto& entry) { return entry.first.first == last->name(); });
    } else if (subtables_.size() < 4) {
      Subtable* made;
      EXPECT_TRUE(db_->CreateSubtable(fmt::format("t{}", random_()), &made).ok());
    }
    subtables_ = db_->ListSubtables();
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
    const Model& model = AnyState(&options);
    Subtable* const subtable = AnySubtable();
    std::vector<std::string> keys;
    for (uint64_t i = Uniform(&random_, 1, 3); i > 0; --i) {
      keys.push_back(Key());
    }
    std::vector<std::string> values(1);
    std::vector<Status> statuses;
    if (keys.size() == 1) {
      statuses.push_back(db_->Get(options, subtable, keys[0], values.data()));
    } else {
      statuses = db_->MultiGet(options, subtable, {keys.begin(), keys.end()}, &values);
    }
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto expected = model.find({subtable->name(), keys[i]});
      if (expected == model.end()) {
        EXPECT_TRUE(statuses[i].IsNotFound()) << keys[i] << ": " << statuses[i].ToString();
      } else {
        EXPECT_TRUE(statuses[i].ok()) << keys[i] << ": " << statuses[i].ToString();
        EXPECT_EQ(values[i], expected->second) << keys[i];
      }
    }
  }

  void CheckIterator() {
    ReadOptions options;
    const Model& state = AnyState(&options);
    Subtable* const subtable = AnySubtable();
    const std::string lower = Key();
    const std::string upper = Key();
    options.lower_bound = Uniform(&random_, 0, 2) == 0 ? &lower : nullptr;
    options.upper_bound = Uniform(&random_, 0, 2) == 0 ? &upper : nullptr;
    std::map<std::string, std::string> model;
    for (auto at = state.lower_bound({subtable->name(), ""});
         at != state.end() && at->first.first == subtable->name(); ++at) {
      if (!(options.lower_bound != nullptr && at->first.second < lower) &&
          !(options.upper_bound != nullptr && at->first.second >= upper)) {
        model.emplace(at->first.second, at->second);
      }
    }
    const auto it = db_->NewIterator(options, subtable);
    auto expected = model.end();
    for (uint64_t step = Uniform(&random_, 1, 20); step > 0; --step) {
      const std::string key = Key();
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
        ASSERT_EQ(it->value(), expected->second);
      }
    }
  }

  void CheckState(DB* db, const Snapshot* snapshot, const Model& model) {
    Model seen;
    for (Subtable* const subtable : db->ListSubtables()) {
      const auto at = db->NewIterator({.snapshot = snapshot}, subtable);
      for (at->SeekToFirst(); at->Valid(); at->Next()) {
        seen[{subtable->name(), std::string(at->key())}] = at->value();
      }
      EXPECT_TRUE(at->status().ok()) << at->status().ToString();
    }
    EXPECT_TRUE(seen == model) << seen.size() << " records, expected " << model.size();
  }
  void CheckAll() {
    CheckState(db_.get(), nullptr, model_);
    for (const Held& held : snapshots_) {
      CheckState(db_.get(), held.snapshot, held.model);
    }
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
  unsigned letters_;
  size_t most_key_bytes_;
  std::unique_ptr<DB> db_;
  std::vector<Subtable*> subtables_;
  Model model_;
  std::vector<Held> snapshots_;
};

TEST(DbModel, EveryConfigurationGivesTheModelsAnswers) {
  TestRandom seeds(TestSeed());
  for (int i = 0; i < 6 && !testing::Test::HasFailure(); ++i) {
    const uint64_t seed = seeds();
    SCOPED_TRACE(testing::Message() << "configuration " << i);
    ModelTest(seed).Run(5000);
  }
}

}  // namespace
}  // namespace sluice
