// Options with the least and the largest values that their types have: each is refused by its name
// before anything is written, or the database works with it.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sluice/db.h"
#include "util/fault_env.h"
#include "util/testing.h"

namespace sluice {
namespace {

// 16 times the extents of a reserve of so many runs (DbState::PlanReserve) would be 0 bytes.
constexpr uint64_t kHuge = (uint64_t{1} << 46) - 6;

struct Setting {
  const char* name;
  std::string value;
  std::function<void(Options*)> apply;
};

template <typename T>
void AddValues(const char* name, T Options::*field, std::vector<Setting>* settings) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {T{0}, T{1}, T(Limits::max() / 2), T(Limits::max() / 2 + 1),
                           Limits::max()};
  if constexpr (std::is_floating_point_v<T>) {
    values = {0, 1, -1, Limits::max(), Limits::lowest(), Limits::infinity(), Limits::quiet_NaN()};
  } else if constexpr (std::is_signed_v<T>) {
    values.insert(values.end(), {T{-1}, Limits::min()});
  } else if constexpr (sizeof(T) == sizeof(uint64_t)) {
    values.push_back(T{kHuge});
  }
  for (const T value : values) {
    if (value == T{1} && std::string_view(name) == "background_bytes_per_second") {
      continue;  // works, for hours
    }
    settings->push_back(
        {name, fmt::format("{}", value), [=](Options* options) { options->*field = value; }});
  }
}

std::vector<Setting> AllSettings() {
  std::vector<Setting> all;
#define VALUES(field) AddValues(#field, &Options::field, &all)
  VALUES(memtable_bytes);
  VALUES(max_waiting_memtables);
  VALUES(write_buffer_bytes);
  VALUES(row_cache_bytes);
  VALUES(block_cache_bytes);
  VALUES(table_cache_bytes);
  VALUES(transaction_memory_bytes);
  VALUES(extent_bytes);
  VALUES(block_bytes);
  VALUES(restart_interval);
  VALUES(zstd_level);
  VALUES(zstd_dictionary_bytes);
  VALUES(bloom_bits_per_key);
  VALUES(prefix_bytes);
  VALUES(separate_value_bytes);
  VALUES(l0_compaction_runs);
  VALUES(l0_slowdown_runs);
  VALUES(l0_stop_runs);
  VALUES(l1_bytes);
  VALUES(max_space_amplification);
  VALUES(deletion_share);
  VALUES(write_queues);
  VALUES(compaction_threads);
  VALUES(flush_threads);
  VALUES(background_bytes_per_second);
  VALUES(log_segment_bytes);
  VALUES(max_log_bytes);
  VALUES(task_bytes);
  VALUES(compaction_bytes);
#undef VALUES
  return all;
}

class ExtremeOptions : public testing::Test {
 protected:
  static Options Small() {
    Options options;
    options.create_if_missing = true;
    options.memtable_bytes = 16 << 10;
    options.extent_bytes = 16 << 10;
    options.l1_bytes = 64 << 10;
    options.log_segment_bytes = 64 << 10;
    options.max_waiting_memtables = 8;
    return options;
  }

  // Opens, writes, reads, compacts, opens again. `names`: those of which one is named if it is refused,
  // or what its range depends on.
  void Try(Options options, const std::vector<std::string>& names) {
    const std::string path = "db";
    FaultEnv env;
    options.env = &env;
    std::unique_ptr<DB> db;
    const Status status = DB::Open(options, path, &db);
    if (!status.ok()) {
      ASSERT_EQ(status.code(), Status::Code::kInvalidArgument) << status.ToString();
      bool named = false;
      for (const std::string& name : names) {
        const std::string by = name == "l0_slowdown_runs" ? "l0_stop_runs" : name;
        named = named || status.message().find("Options::" + by + " ") != std::string::npos;
      }
      EXPECT_TRUE(named) << status.ToString();
      EXPECT_EQ(env.operations(), 0u);
      return;
    }
    ++accepted_;
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < kRecords; ++i) {
        const Status put = db->Put({}, Key(i), Value(round, i));
        ASSERT_TRUE(put.ok()) << put.ToString();
      }
      ASSERT_TRUE(db->Flush(nullptr).ok());
    }
    auto transaction = db->BeginTransaction({}, {});
    const Status put = transaction->Put(nullptr, "transaction", "v");
    EXPECT_TRUE(put.ok() || put.code() == Status::Code::kTooLarge) << put.ToString();
    EXPECT_TRUE(transaction->Rollback().ok());
    transaction.reset();
    ASSERT_TRUE(db->CompactRange(nullptr, "", "").ok());
    ExpectRecords(db.get());
    ASSERT_TRUE(db->Close().ok());
    db.reset();
    ASSERT_TRUE(DB::Open(options, path, &db).ok());
    ExpectRecords(db.get());
  }

  int accepted_ = 0;

 private:
  static constexpr int kRecords = 300;

  static std::string Key(int i) { return fmt::format("{:08}", i * 7919 % kRecords); }
  static std::string Value(int round, int i) {
    return std::string(i % 50 == 0 ? 5000 : 100, static_cast<char>('a' + round));
  }
  static void ExpectRecords(DB* db) {
    std::string value;
    for (int i = 0; i < kRecords; ++i) {
      ASSERT_TRUE(db->Get({}, Key(i), &value).ok());
      ASSERT_EQ(value, Value(1, i));
    }
    int records = 0;
    const auto at = db->NewIterator({});
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      ++records;
    }
    EXPECT_TRUE(at->status().ok()) << at->status().ToString();
    EXPECT_EQ(records, kRecords);
  }
};

TEST_F(ExtremeOptions, OneByOne) {
  for (const Setting& setting : AllSettings()) {
    SCOPED_TRACE(fmt::format("{} = {}", setting.name, setting.value));
    Options options = Small();
    setting.apply(&options);
    Try(options, {setting.name});
  }
  EXPECT_GT(accepted_, 0);
}

TEST_F(ExtremeOptions, SeveralAtOnce) {
  TestRandom random(TestSeed());
  const std::vector<Setting> all = AllSettings();
  for (int round = TestRounds(60); round > 0; --round) {
    Options options = Small();
    std::string text;
    std::vector<std::string> names;
    for (uint64_t i = Uniform(&random, 2, 6); i > 0; --i) {
      const Setting& setting = all[Uniform(&random, 0, all.size() - 1)];
      setting.apply(&options);
      names.emplace_back(setting.name);
      text += fmt::format("{} = {} ", setting.name, setting.value);
    }
    SCOPED_TRACE(text);
    Try(options, names);
  }
}

// Sums and products that overflow would make small limits of them.
TEST_F(ExtremeOptions, HugeLimitsAreNone) {
  FaultEnv env;
  Options options = Small();
  options.env = &env;
  options.l1_bytes = std::numeric_limits<uint64_t>::max();
  std::unique_ptr<DB> db;
  ASSERT_TRUE(DB::Open(options, "level 1", &db).ok());
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_TRUE(db->Put({}, fmt::format("{:08}", i * 7919 % 20'000), std::string(100, 'v')).ok());
  }
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  EXPECT_GT(db->GetStatistics().subtables[0].levels[1].records, 0u);
  EXPECT_EQ(db->GetStatistics().subtables[0].levels[2].records, 0u);

  options = Small();
  options.env = &env;
  options.memtable_bytes = size_t{64} << 20;
  options.write_buffer_bytes = size_t{1} << 62;  // four times as much of the log
  options.max_log_bytes = 0;
  ASSERT_TRUE(DB::Open(options, "log", &db).ok());
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(db->Put({}, fmt::format("{:08}", i), std::string(10'000, 'v')).ok());
  }
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  const Statistics statistics = db->GetStatistics();
  for (const LevelStatistics& level : statistics.subtables[0].levels) {
    EXPECT_EQ(level.records, 0u);
  }
}

}  // namespace
}  // namespace sluice
