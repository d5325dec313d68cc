// What flushes and compactions keep for snapshots: what each of them sees, and little else.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "db/fixture.h"
#include "db/snapshots.h"
#include "device/test_units.h"
#include "merge/cpu_executor.h"
#include "merge/outputs.h"
#include "merge/reference_merge.h"
#include "merge/task_generator.h"
#include "sluice/db.h"
#include "table/testing.h"
#include "util/testing.h"

namespace sluice {
namespace {

using Model = std::map<std::string, std::string>;

class SnapshotVersionsTest : public DbFixture {
 protected:
  SnapshotVersionsTest() {
    options_.extent_bytes = 32 << 10;
    options_.block_bytes = 2048;
    options_.row_cache_bytes = 0;
    options_.l1_bytes = 256 << 10;
    options_.log_segment_bytes = 256 << 10;
  }
  void CompactAll() {
    ASSERT_TRUE(db_->Flush(nullptr).ok());
    const Status status = db_->CompactRange(nullptr, "", "");
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  uint64_t Records() {
    uint64_t records = 0;
    const Statistics statistics = db_->GetStatistics();
    for (const LevelStatistics& level : statistics.subtables[0].levels) {
      records += level.records;
    }
    return records;
  }
  void ExpectReads(const Snapshot* snapshot, const Model& model) {
    Model found;
    const auto at = db_->NewIterator({.snapshot = snapshot}, nullptr);
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      found[std::string(at->key())] = at->value();
    }
    ASSERT_TRUE(at->status().ok()) << at->status().ToString();
    ASSERT_EQ(found, model);
  }
};

// With units, too.
class OneSnapshotTest : public SnapshotVersionsTest,
                        public testing::WithParamInterface<const char*> {};

TEST_P(OneSnapshotTest, TwoVersionsUnderOneSnapshot) {
  constexpr int kKeys = 500;
  constexpr int kRounds = 100;
  options_.executors = TestUnits(GetParam());
  options_.always_offload = true;
  Open();
  const auto write_all = [&](int round) {
    for (int key = 0; key < kKeys; ++key) {
      ASSERT_TRUE(db_->Put({}, fmt::format("{:08}", key),
                           fmt::format("{:04}", round) + std::string(500, 'v'))
                      .ok());
    }
  };
  write_all(0);
  const Snapshot* const snapshot = db_->GetSnapshot();
  for (int round = 1; round <= kRounds; ++round) {
    write_all(round);
  }
  CompactAll();
  EXPECT_LE(Records(), 2u * kKeys);
  std::string value;
  ASSERT_TRUE(db_->Get({.snapshot = snapshot}, nullptr, "00000007", &value).ok());
  EXPECT_EQ(value.substr(0, 4), "0000");
  ASSERT_TRUE(db_->Get({}, nullptr, "00000007", &value).ok());
  EXPECT_EQ(value.substr(0, 4), fmt::format("{:04}", kRounds));
  db_->ReleaseSnapshot(snapshot);
}

INSTANTIATE_TEST_SUITE_P(, OneSnapshotTest, testing::Values("cpu", "model"));

TEST(SnapshotsForMerges, LeavesOutWhatKeepsLittle) {
  using List = std::vector<SequenceNumber>;
  const List all = {100, 150, 200};
  for (const SequenceNumber newest : {SequenceNumber{200}, kMaxSequence}) {
    EXPECT_EQ(SnapshotsForMerges(all, newest, 0, 3), all);
    EXPECT_EQ(SnapshotsForMerges(all, newest, 800, SIZE_MAX), all);
    EXPECT_EQ(SnapshotsForMerges(all, newest, 800, 1), (List{100}));
    EXPECT_EQ(SnapshotsForMerges(all, newest, 799, 1), all);
    EXPECT_EQ(SnapshotsForMerges(all, newest, 400, 2), (List{100, 150}));
    EXPECT_EQ(SnapshotsForMerges(all, newest, 399, 2), all);
  }
  // Of those that see all of the inputs, one is enough; and no more than these is kept.
  EXPECT_EQ(SnapshotsForMerges(all, 150, 0, SIZE_MAX), (List{100, 150}));
  EXPECT_EQ(SnapshotsForMerges(all, 151, 0, SIZE_MAX), all);
  EXPECT_EQ(SnapshotsForMerges(all, 0, 0, SIZE_MAX), (List{100}));
  EXPECT_EQ(SnapshotsForMerges(all, 108, 64, 1), (List{100}));
  EXPECT_EQ(SnapshotsForMerges(all, 108, 63, 1), (List{100, 150}));
}

// What a read at `snapshot` finds in the records, which come in internal key order.
Model Seen(const std::vector<PlainRecord>& records, SequenceNumber snapshot) {
  Model seen;
  std::set<std::string> met;
  for (const PlainRecord& record : records) {
    if (TrailerSequence(record.trailer) <= snapshot && met.insert(record.user_key).second &&
        TrailerType(record.trailer) == static_cast<uint8_t>(RecordType::kValue)) {
      seen[record.user_key] = record.value;
    }
  }
  return seen;
}

std::vector<PlainRecord> RecordsOf(const std::vector<OwnedOutput>& tables) {
  std::vector<PlainRecord> records;
  for (const OwnedOutput& table : tables) {
    for (PlainRecord& record : DecodePlainTable(table.image, table.index)) {
      records.push_back(std::move(record));
    }
  }
  return records;
}

std::vector<OwnedOutput> Merge(const MergeTask& task) {
  std::vector<OwnedOutput> outputs;
  const MergeResult result = CpuExecutor().Run(task, CollectInto(&outputs));
  EXPECT_TRUE(result.ok()) << result.error.ToString();
  return outputs;
}

// Merges with fewer snapshots against those with all: the same tables where none was left out but
// those that see all inputs, the same reads always, and few records more.
TEST(SnapshotsForMerges, ServesEveryReader) {
  TestRandom random(TestSeed());
  for (int round = 0; round < 200; ++round) {
    GeneratorOptions options;
    options.seed = random();
    options.runs = static_cast<uint32_t>(Uniform(&random, 1, 4));
    options.records = Uniform(&random, 1, 400);
    options.value_bytes = {0, 20};
    options.duplicate_percent = 60;
    options.delete_percent = 20;
    options.bottommost = Uniform(&random, 0, 1) != 0;
    GeneratedTask input = GenerateTask(options);
    // As if writes had gone on since the inputs were written; or not, for half of them.
    const SequenceNumber visible = options.records * Uniform(&random, 1, 2);
    const std::vector<SequenceNumber> all = DrawSnapshots(random, Uniform(&random, 1, 12), visible);
    input.task.snapshots = all;
    const std::vector<OwnedOutput> with_all = Merge(input.task);
    const std::vector<PlainRecord> wanted = RecordsOf(with_all);

    input.task.snapshots = SnapshotsForMerges(all, options.records, options.records, SIZE_MAX);
    ASSERT_LE(input.task.snapshots.size(), all.size());
    ASSERT_TRUE(CompareOutputs(Merge(input.task), with_all).ok());

    const size_t most = Uniform(&random, 1, 4);
    input.task.snapshots = SnapshotsForMerges(all, options.records, options.records, most);
    const std::vector<PlainRecord> found = RecordsOf(Merge(input.task));
    for (const SequenceNumber snapshot : all) {
      ASSERT_EQ(Seen(found, snapshot), Seen(wanted, snapshot));
    }
    ASSERT_EQ(Seen(found, kMaxSequence), Seen(wanted, kMaxSequence));
    ASSERT_LE(found.size(), wanted.size() + options.records / 8);
  }
}

// A young snapshot, such as a transaction's, keeps no merge from the units.
TEST_F(SnapshotVersionsTest, UnitsMergeUnderYoungSnapshots) {
  options_.executors = TestUnits("model");
  options_.always_offload = true;
  options_.automatic_compactions = false;
  Open();
  const auto write = [&](int records) {
    for (int i = 0; i < records; ++i) {
      ASSERT_TRUE(db_->Put({}, fmt::format("{:08}", i * 7919 % 10000), "v").ok());
    }
    ASSERT_TRUE(db_->Flush(nullptr).ok());
  };
  write(2000);
  write(2000);
  const Snapshot* const snapshot = db_->GetSnapshot();
  write(100);
  ASSERT_TRUE(db_->CompactRange(nullptr, "", "").ok());
  const Statistics statistics = db_->GetStatistics();
  EXPECT_GT(statistics.offload.device_tasks, 0u);
  EXPECT_EQ(statistics.offload.cpu_tasks, 0u);
  EXPECT_GT(statistics.offload.card_cpu_microseconds, 0u);
  EXPECT_GT(statistics.HostCpuPerMegabyte(), 0);
  EXPECT_EQ(Records(), 2100u);
  db_->ReleaseSnapshot(snapshot);
}

// Nor do any number of them that are younger than all that is merged, whatever was written since.
TEST_F(SnapshotVersionsTest, UnitsMergeBesideManySnapshots) {
  options_.executors = TestUnits("model");
  options_.always_offload = true;
  options_.automatic_compactions = false;
  Open();
  const auto write = [&](char first, int records) {
    for (int i = 0; i < records; ++i) {
      ASSERT_TRUE(db_->Put({}, fmt::format("{}{:08}", first, i * 7919 % 10000), "v").ok());
    }
  };
  for (int run = 0; run < 2; ++run) {
    write('a', 2000);
    ASSERT_TRUE(db_->Flush(nullptr).ok());
  }
  std::vector<const Snapshot*> snapshots;
  for (int i = 0; i < 20; ++i) {
    snapshots.push_back(db_->GetSnapshot());
    write('z', 100);
  }
  ASSERT_TRUE(db_->CompactRange(nullptr, "a", "b").ok());
  const Statistics statistics = db_->GetStatistics();
  EXPECT_GT(statistics.offload.device_tasks, 0u);
  EXPECT_EQ(statistics.offload.cpu_tasks, 0u);
  for (const Snapshot* const snapshot : snapshots) {
    db_->ReleaseSnapshot(snapshot);
  }
}

// Merges as the CPU does, but calls `meanwhile` first, once.
class Interrupted final : public Executor {
 public:
  explicit Interrupted(std::function<void()> meanwhile) : meanwhile_(std::move(meanwhile)) {}
  std::string_view name() const override { return "interrupted"; }
  size_t max_runs() const override { return 16; }
  size_t max_snapshots() const override { return 4; }
  MergeResult Run(const MergeTask& task, const MergeSink& sink) override {
    std::call_once(called_, meanwhile_);
    snapshots = task.snapshots;
    return CpuExecutor().Run(task, sink);
  }

  std::vector<SequenceNumber> snapshots;  // of the last task; there is one at a time

 private:
  std::once_flag called_;
  const std::function<void()> meanwhile_;
};

// Snapshots that are taken, and transactions that are committed, while a compaction is under way
// that has left younger snapshots out.
TEST_F(SnapshotVersionsTest, SnapshotsTakenDuringACompaction) {
  std::vector<std::pair<const Snapshot*, Model>> held;
  Model model;
  const auto put = [&](const std::string& key, const std::string& value) {
    model[key] = value;
    return db_->Put({}, key, value);
  };
  const auto hold = [&] { held.emplace_back(db_->GetSnapshot(), model); };
  std::unique_ptr<Transaction> prepared;
  const auto unit = std::make_shared<Interrupted>([&] {
    hold();
    model["b"] = "prepared";
    ASSERT_TRUE(prepared->Commit().ok());
    hold();
    ASSERT_TRUE(put("a", "meanwhile").ok());
    hold();
    ASSERT_TRUE(db_->Delete({}, "c").ok());
    model.erase("c");
    hold();
  });
  options_.executors = {unit};
  options_.always_offload = true;
  options_.automatic_compactions = false;
  Open();
  for (const char* version : {"0", "1", "2"}) {
    for (const char* key : {"a", "b", "c", "d"}) {
      ASSERT_TRUE(put(key, version).ok());
      if (std::string_view(key) == "b") {
        hold();  // between the sequence numbers of what is merged
      }
    }
    ASSERT_TRUE(db_->Flush(nullptr).ok());
  }
  ASSERT_TRUE(db_->Delete({}, "d").ok());
  model.erase("d");
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  prepared = db_->BeginTransaction({}, {});
  ASSERT_TRUE(prepared->Put(nullptr, "b", "prepared").ok());
  ASSERT_TRUE(prepared->Prepare("prepared").ok());
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(db_->Put({}, "e", std::to_string(i)).ok());
    model["e"] = std::to_string(i);
    hold();
  }
  ASSERT_TRUE(db_->CompactRange(nullptr, "a", "dd").ok());
  // Three see different parts of the inputs, and one all of them.
  EXPECT_EQ(unit->snapshots.size(), 4u);
  const auto check = [&] {
    for (const auto& [snapshot, seen] : held) {
      ExpectReads(snapshot, seen);
    }
    ExpectReads(nullptr, model);
  };
  check();
  CompactAll();
  check();
  for (const auto& [snapshot, seen] : held) {
    db_->ReleaseSnapshot(snapshot);
  }
}

// Within one memtable, too.
TEST_F(SnapshotVersionsTest, AFlushKeepsOneVersionForEachSnapshot) {
  options_.memtable_bytes = 4 << 20;
  Open();
  std::vector<const Snapshot*> snapshots;
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(db_->Put({}, "key", std::to_string(i)).ok());
    if (i % 100 == 50) {
      snapshots.push_back(db_->GetSnapshot());
    }
  }
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  EXPECT_EQ(Records(), 4u);
  std::string value;
  for (size_t i = 0; i < snapshots.size(); ++i) {
    ASSERT_TRUE(db_->Get({.snapshot = snapshots[i]}, nullptr, "key", &value).ok());
    EXPECT_EQ(value, std::to_string(100 * i + 50));
    db_->ReleaseSnapshot(snapshots[i]);
  }
}

// However few bytes they have: of many sub-tables that are emptied under a snapshot they would add up.
TEST_F(SnapshotVersionsTest, DeletedRecordsGoWithTheSnapshot) {
  Open();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(db_->Put({}, std::to_string(i), "value").ok());
  }
  const Snapshot* const snapshot = db_->GetSnapshot();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(db_->Delete({}, std::to_string(i)).ok());
  }
  CompactAll();
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  EXPECT_EQ(Records(), 40u);
  db_->ReleaseSnapshot(snapshot);
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  EXPECT_EQ(Records(), 0u);
}

// Random writes, deletions of ranges among them, snapshots that come and go, flushes and
// compactions, against a map for each.
TEST_F(SnapshotVersionsTest, ManySnapshotsReadWhatTheySaw) {
  TestRandom random(TestSeed());
  options_.memtable_bytes = 16384;
  options_.extent_bytes = 8192;
  options_.block_bytes = 512;
  options_.l1_bytes = 65536;
  options_.l0_compaction_runs = 2;
  options_.row_cache_bytes = Uniform(&random, 0, 1) * 16384;
  if (Uniform(&random, 0, 1) != 0) {
    options_.executors = TestUnits("model");
    options_.always_offload = true;
  }
  Open();
  Model model;
  std::vector<std::pair<const Snapshot*, Model>> held;
  for (int i = 0; i < 20000; ++i) {
    const std::string key = fmt::format("{:03}", Uniform(&random, 0, 150));
    if (Uniform(&random, 0, 49) == 0) {
      const bool has_end = Uniform(&random, 0, 9) != 0;
      const std::string end =
          has_end ? fmt::format("{:03}", std::stoi(key) + SkewedSize(&random, 100)) : "";
      ASSERT_TRUE(db_->DeleteRange({}, key, end).ok());
      model.erase(model.lower_bound(key), has_end ? model.lower_bound(end) : model.end());
    } else if (Uniform(&random, 0, 3) == 0) {
      ASSERT_TRUE(db_->Delete({}, key).ok());
      model.erase(key);
    } else {
      const size_t bytes = Uniform(&random, 0, Uniform(&random, 0, 99) != 0 ? 60 : 3000);
      const std::string value = fmt::format("{}", i) + std::string(bytes, 'v');
      ASSERT_TRUE(db_->Put({}, key, value).ok());
      model[key] = value;
    }
    if (held.size() < 40 && Uniform(&random, 0, 99) == 0) {
      held.emplace_back(db_->GetSnapshot(), model);
    }
    if (!held.empty() && Uniform(&random, 0, 149) == 0) {
      const size_t at = Uniform(&random, 0, held.size() - 1);
      ExpectReads(held[at].first, held[at].second);
      db_->ReleaseSnapshot(held[at].first);
      held.erase(held.begin() + static_cast<ptrdiff_t>(at));
    }
    if (Uniform(&random, 0, 999) == 0) {
      CompactAll();
      for (const auto& [snapshot, seen] : held) {
        ExpectReads(snapshot, seen);
      }
      ExpectReads(nullptr, model);
    }
  }
  for (const auto& [snapshot, seen] : held) {
    ExpectReads(snapshot, seen);
    db_->ReleaseSnapshot(snapshot);
  }
  CompactAll();
  ExpectReads(nullptr, model);
}

// A run's versions of one key take as many extents as they need.
TEST_P(OneSnapshotTest, VersionsOfOneKeyInManyExtents) {
  TestRandom random(TestSeed());
  options_.memtable_bytes = 1 << 20;
  options_.extent_bytes = 8192;
  options_.row_cache_bytes = 4096;
  options_.executors = TestUnits(GetParam());
  options_.always_offload = true;
  Open();
  Model model{{"a", "first"}, {"z", "last"}};
  for (const auto& [key, value] : model) {
    ASSERT_TRUE(db_->Put({}, key, value).ok());
  }
  std::vector<std::pair<const Snapshot*, Model>> held;
  for (int i = 0; i < 400; ++i) {
    // Keys next to it share its extents at both ends.
    const std::string key = Uniform(&random, 0, 9) != 0 ? "hot" : fmt::format("hot{}", i % 2);
    model[key] = std::to_string(i) + std::string(1000, 'v');
    ASSERT_TRUE(db_->Put({}, key, model[key]).ok());
    if (i % 50 == 17) {
      model.erase("hot");
      ASSERT_TRUE(db_->Delete({}, "hot").ok());
    }
    held.emplace_back(db_->GetSnapshot(), model);
    if (i % 100 == 99) {
      ASSERT_TRUE(db_->Flush(nullptr).ok());
    }
  }
  const auto extents = [&] {
    uint64_t sum = 0;
    const Statistics statistics = db_->GetStatistics();
    for (const LevelStatistics& level : statistics.subtables[0].levels) {
      sum += level.extents;
    }
    return sum;
  };
  const auto check = [&] {
    ASSERT_TRUE(db_->Verify({}).ok());
    for (const auto& [snapshot, seen] : held) {
      ExpectReads(snapshot, seen);
      const auto at = db_->NewIterator({.snapshot = snapshot}, nullptr);
      at->SeekForPrev("hot");
      auto expected = seen.upper_bound("hot");
      for (; expected != seen.begin() && at->Valid(); at->Prev()) {
        --expected;
        ASSERT_EQ(at->key(), expected->first);
        ASSERT_EQ(at->value(), expected->second);
      }
      ASSERT_TRUE(at->status().ok());
      ASSERT_EQ(expected, seen.begin());
      ASSERT_FALSE(at->Valid());
      std::string value;
      const Status status = db_->Get({.snapshot = snapshot}, nullptr, "hot", &value);
      const auto hot = seen.find("hot");
      ASSERT_EQ(status.ok(), hot != seen.end()) << status.ToString();
      ASSERT_TRUE(hot == seen.end() || value == hot->second);
    }
  };
  check();
  while (!held.empty()) {
    ASSERT_TRUE(db_->CompactRange(nullptr, "hot", "hot0").ok());
    EXPECT_GE(extents(), held.size() / 10);
    check();
    // Nothing that a compaction could make smaller is left, so another one ends, too.
    ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
    for (size_t keep = held.size() / 2; held.size() > keep;) {
      const size_t at = Uniform(&random, 0, held.size() - 1);
      db_->ReleaseSnapshot(held[at].first);
      held.erase(held.begin() + static_cast<ptrdiff_t>(at));
    }
  }
  CompactAll();
  EXPECT_EQ(Records(), model.size());
  db_.reset();
  Open();
  ExpectReads(nullptr, model);
}

// It stays known that a row was written since a transaction's snapshot, whatever versions were
// dropped meanwhile, deletions included.
TEST_F(SnapshotVersionsTest, TransactionsFindConflictsAfterCompactions) {
  Open();
  for (const char* key : {"deleted", "deleted twice", "overwritten", "untouched"}) {
    ASSERT_TRUE(db_->Put({}, key, "0").ok());
  }
  CompactAll();
  const auto transaction = db_->BeginTransaction({}, {});
  std::string value;
  ASSERT_TRUE(transaction->Get({}, nullptr, "untouched", &value).ok());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(db_->Put({}, "overwritten", std::to_string(i)).ok());
    ASSERT_TRUE(db_->Delete({}, "deleted twice").ok());
    CompactAll();
  }
  ASSERT_TRUE(db_->Delete({}, "deleted").ok());
  CompactAll();
  CompactAll();
  for (const char* key : {"deleted", "deleted twice", "overwritten"}) {
    ASSERT_TRUE(transaction->Get({}, nullptr, key, &value).ok());
    EXPECT_EQ(value, "0");
    EXPECT_EQ(transaction->Put(nullptr, key, "1").code(), Status::Code::kConflict) << key;
  }
  EXPECT_TRUE(transaction->Put(nullptr, "untouched", "1").ok());
  EXPECT_TRUE(transaction->Commit().ok());
}

}  // namespace
}  // namespace sluice
