#include "offload/snapshot_classes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "merge/cpu_executor.h"
#include "merge/outputs.h"
#include "merge/table_image.h"
#include "merge/task_generator.h"
#include "table/testing.h"
#include "util/testing.h"

namespace sluice {
namespace {

using List = std::vector<SequenceNumber>;

// A table with a record of each of these sequence numbers.
TableImage TableOf(const List& sequences, RecordType type = RecordType::kValue) {
  TableImageBuilder table;
  int key = 100;
  for (const SequenceNumber sequence : sequences) {
    table.Add(MakeInternalKey(std::to_string(key++), sequence, type), "value");
  }
  table.EndBlock();
  return table.Finish();
}

std::optional<List> Matter(const List& records, List snapshots, size_t most, bool bottommost) {
  const TableImage table = TableOf(records);
  MergeTask task;
  task.runs = {{{table.file, table.index}}};
  task.snapshots = std::move(snapshots);
  task.bottommost = bottommost;
  return SnapshotsThatMatter(task, most);
}

TEST(SnapshotsThatMatterTest, ThoseBetweenRecords) {
  for (const bool bottommost : {false, true}) {
    // As drawn in snapshot_classes.h.
    EXPECT_EQ(Matter({10, 40, 41, 80, 120}, {20, 30, 50, 60, 70, 100}, 3, bottommost),
              (List{30, 70, 100}));
    EXPECT_EQ(Matter({10, 40, 41, 80, 120}, {20, 30, 50, 60, 70, 100}, 2, bottommost),
              std::nullopt);
    // All see all records.
    EXPECT_EQ(Matter({10, 20}, {20, 30, 40, 50}, 1, bottommost), (List{50}));
    // A record at a snapshot is seen by it.
    EXPECT_EQ(Matter({10, 20}, {19, 20, 21}, 2, bottommost), (List{19, 21}));
    EXPECT_EQ(Matter({kMaxSequence}, {1, 2, kMaxSequence - 1}, 1, bottommost),
              (List{kMaxSequence - 1}));
  }
  // Those that see nothing decide which tombstones stay.
  EXPECT_EQ(Matter({10, 20}, {1, 2, 3, 12, 30}, 3, true), (List{3, 12, 30}));
  EXPECT_EQ(Matter({10, 20}, {1, 2, 3, 12, 30}, 2, true), std::nullopt);
  EXPECT_EQ(Matter({10, 20}, {1, 2, 3, 12, 30}, 2, false), (List{12, 30}));
  EXPECT_EQ(Matter({10, 20}, {1, 2, 3}, 1, false), (List{3}));
}

TEST(SnapshotsThatMatterTest, WithoutRecordsOneIsEnough) {
  MergeTask task;
  task.snapshots = {1, 2, 3};
  EXPECT_EQ(SnapshotsThatMatter(task, 1), (List{3}));
}

TEST(SnapshotsThatMatterTest, WhatCannotBeReadIsNotAnswered) {
  TableImage table = TableOf({10, 20});
  MergeTask task;
  task.runs = {{{table.file, table.index}}};
  task.snapshots = {1, 2, 3};
  EXPECT_NE(SnapshotsThatMatter(task, 1), std::nullopt);
  task.runs[0][0].index.offset += 1;
  EXPECT_EQ(SnapshotsThatMatter(task, 1), std::nullopt);
  TestRandom random(TestSeed());
  for (int i = 0; i < 2000; ++i) {
    TableImage damaged = TableOf({10, 20, 30, 40});
    for (uint64_t flips = Uniform(&random, 1, 20); flips > 0; --flips) {
      damaged.file[Uniform(&random, 0, damaged.file.size() - 1)] = static_cast<char>(random());
    }
    task.runs = {{{damaged.file, damaged.index}}};
    const std::optional<List> matter = SnapshotsThatMatter(task, 1);
    EXPECT_TRUE(!matter || matter->size() == 1);
  }
}

// The tables are those of all snapshots, byte for byte.
TEST(SnapshotsThatMatterTest, TheMergeIsTheSame) {
  TestRandom random(TestSeed());
  int thinned = 0;
  int too_many = 0;
  for (int i = 0; i < 400; ++i) {
    GeneratorOptions options;
    options.seed = random();
    options.runs = static_cast<uint32_t>(Uniform(&random, 1, 4));
    options.records = Uniform(&random, 1, 60);
    options.user_key_bytes = {1, 3};
    options.value_bytes = {0, 20};
    options.duplicate_percent = static_cast<uint32_t>(Uniform(&random, 0, 90));
    options.delete_percent = static_cast<uint32_t>(Uniform(&random, 0, 60));
    options.key_shape = KeyShape::kRandom;
    options.table_bytes = Uniform(&random, 1, 500);
    options.bottommost = Uniform(&random, 0, 1) != 0;
    GeneratedTask input = GenerateTask(options);
    // Many in a small part of the sequence numbers, or among and beyond all of them.
    const SequenceNumber from = Uniform(&random, 0, 80);
    input.task.snapshots.clear();
    for (uint64_t n = Uniform(&random, 2, 30); n > 0; --n) {
      input.task.snapshots.push_back(from + Uniform(&random, 0, random() % 2 == 0 ? 4 : 80));
    }
    List& all = input.task.snapshots;
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    std::vector<OwnedOutput> expected;
    ASSERT_TRUE(CpuExecutor().Run(input.task, CollectInto(&expected)).ok());
    const size_t most = Uniform(&random, 1, 6);
    const std::optional<List> matter = SnapshotsThatMatter(input.task, most);
    too_many += !matter;
    if (matter) {
      ASSERT_LE(matter->size(), most);
      thinned += matter->size() < all.size();
      all = *matter;
      std::vector<OwnedOutput> actual;
      ASSERT_TRUE(CpuExecutor().Run(input.task, CollectInto(&actual)).ok());
      const Status same = CompareOutputs(actual, expected);
      ASSERT_TRUE(same.ok()) << same.ToString();
    }
  }
  EXPECT_GT(thinned, 40);
  EXPECT_GT(too_many, 40);
}

}  // namespace
}  // namespace sluice
