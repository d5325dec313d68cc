// Hostile use: several databases at once, closed and destroyed in the midst of compactions, damaged
// tables, no threads. What comes of it is what comes of it in LevelDB.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <leveldb/filter_policy.h>
#include <leveldb/write_batch.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "faulty_unit.h"
#include "support.h"
#include "util/testing.h"

namespace sluice {

namespace {

namespace fs = std::filesystem;

class HostileTest : public DatabaseTest {};

// Makes three tables of each task, the last of them damaged, and says that all is well.
class DamagesLastTable : public FaultyUnit {
 public:
  DamagesLastTable() : FaultyUnit(0, 1) {}
  MergeResult Run(const MergeTask& task, const MergeSink& sink) override {
    uint64_t tables = 0;
    return FaultyUnit::Run(task, [&](const MergeOutput& output) {
      if (++tables != 3) {
        return sink(output);
      }
      std::string data(output.data);
      data[data.size() / 2] = static_cast<char>(data[data.size() / 2] ^ 4);
      MergeOutput damaged = output;
      damaged.data = data;
      return sink(damaged);
    });
  }
};

// Tables that are gone, but that this process has open or mapped.
size_t RemovedTablesInUse() {
  size_t count = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    count += line.ends_with(".ldb (deleted)");
  }
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    count += fs::read_symlink(entry, ignored).string().ends_with(".ldb (deleted)");
  }
  return count;
}

TEST_F(HostileTest, TablesMadeInVainAreNotKeptOpen) {
  Open();
  Fill(20000, 1);
  db_->CompactRange(nullptr, nullptr);
  SetLevelDbExecutors({std::make_shared<DamagesLastTable>()});
  const LevelDbStatistics before = GetLevelDbStatistics();
  Fill(20000, 1);
  db_->CompactRange(nullptr, nullptr);
  const LevelDbStatistics after = GetLevelDbStatistics();
  EXPECT_GT(after.unit_failures, before.unit_failures);
  EXPECT_EQ(after.left, before.left);
  EXPECT_EQ(RemovedTablesInUse(), 0u);
  ExpectAlive();
}

// LevelDB counts what it has compressed, and may want files of a gigabyte; an executor counts what it
// has in memory.
TEST_F(HostileTest, OutputsThatCompressWellStaySmallInMemory) {
  class Watcher : public FaultyUnit {
   public:
    Watcher() : FaultyUnit(0, 1) {}
    MergeResult Run(const MergeTask& task, const MergeSink& sink) override {
      most = std::max(most.load(), task.table_bytes);
      return FaultyUnit::Run(task, sink);
    }
    std::atomic<uint64_t> most = 0;
  };
  const auto unit = std::make_shared<Watcher>();
  SetLevelDbExecutors({unit});
  for (const uint64_t file_bytes : {uint64_t{1} << 20, uint64_t{1} << 30}) {
    options_.max_file_size = file_bytes;
    Open();
    for (int i = 0; i < 20000; ++i) {
      const std::string key = NumberedKey(Uniform(&random_, 0, 1000));
      model_[key] = std::string(1000, static_cast<char>('a' + i % 26));
      ASSERT_TRUE(db_->Put({}, key, model_[key]).ok());
    }
    unit->most = 0;
    db_->CompactRange(nullptr, nullptr);
    ExpectAlive();
    // More than a file, so that it is as large when compressed, but not by much if that is large.
    EXPECT_GT(unit->most, file_bytes - 1);
    EXPECT_LE(unit->most, std::max(file_bytes, uint64_t{256} << 20));
    if (file_bytes == uint64_t{1} << 20) {
      EXPECT_GT(unit->most, 4 * file_bytes);
    }
  }
}

TEST_F(HostileTest, IsLeftToLevelDbWithoutThreads) {
  Open();
  Fill(1000, 2);
  pthread_attr_t usual;
  ASSERT_EQ(pthread_getattr_default_np(&usual), 0);
  pthread_attr_t too_large;
  pthread_attr_init(&too_large);
  ASSERT_EQ(pthread_attr_setstacksize(&too_large, size_t{1} << 50), 0);
  ASSERT_EQ(pthread_setattr_default_np(&too_large), 0);
  const uint64_t left = Left("failed");
  const LevelDbStatistics before = GetLevelDbStatistics();
  db_->CompactRange(nullptr, nullptr);
  ASSERT_EQ(pthread_setattr_default_np(&usual), 0);
  EXPECT_EQ(GetLevelDbStatistics().compactions, before.compactions);
  EXPECT_GT(Left("failed"), left);
  ExpectAlive();
}

// Opens, writes, closes and destroys a database again and again.
void LiveManyLives(uint64_t seed) {
  TestRandom random(seed);
  const TempDir dir;
  const std::unique_ptr<const leveldb::FilterPolicy> policy(leveldb::NewBloomFilterPolicy(10));
  Contents model;
  for (int life = 0; life < 12; ++life) {
    leveldb::Options options;
    options.create_if_missing = true;
    options.paranoid_checks = true;
    options.write_buffer_size = 64 << 10;
    options.max_file_size = 1 << 20;
    options.max_open_files = 74;
    options.block_size = size_t{1} << Uniform(&random, 10, 15);
    options.compression =
        Uniform(&random, 0, 1) == 0 ? leveldb::kNoCompression : leveldb::kSnappyCompression;
    options.filter_policy = Uniform(&random, 0, 1) == 0 ? policy.get() : nullptr;
    leveldb::DB* opened = nullptr;
    ExpectOk(leveldb::DB::Open(options, dir.File("db"), &opened));
    ASSERT_NE(opened, nullptr);
    std::unique_ptr<leveldb::DB> db(opened);
    EXPECT_TRUE(Read(db.get(), nullptr) == model);
    for (uint64_t i = Uniform(&random, 0, 4000); i > 0; --i) {
      const std::string key = NumberedKey(Uniform(&random, 0, 2000));
      if (Uniform(&random, 0, 4) == 0) {
        model.erase(key);
        ExpectOk(db->Delete({}, key));
      } else {
        model[key] = Noise(&random, Uniform(&random, 0, 300));
        ExpectOk(db->Put({}, key, model[key]));
      }
    }
    if (Uniform(&random, 0, 3) == 0) {
      db->CompactRange(nullptr, nullptr);
    }
    if (Uniform(&random, 0, 3) == 0) {
      EXPECT_FALSE(leveldb::DestroyDB(dir.File("db"), options).ok()) << "it is open";
    }
    const bool destroy = Uniform(&random, 0, 3) == 0;
    db.reset();
    if (destroy) {
      ExpectOk(leveldb::DestroyDB(dir.File("db"), options));
      EXPECT_FALSE(fs::exists(dir.File("db")));
      model.clear();
    }
  }
}

TEST_F(HostileTest, SeveralDatabasesAreClosedAndDestroyed) {
  SetLevelDbExecutors({std::make_shared<FaultyUnit>(10, 1), std::make_shared<FaultyUnit>(10, 2)});
  const LevelDbStatistics before = GetLevelDbStatistics();
  for (int round = 0; round < TestRounds(2); ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back(LiveManyLives, random_());
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }
  EXPECT_GT(GetLevelDbStatistics().compactions, before.compactions);
}

class DamageTest : public HostileTest {
 protected:
  struct Outcome {
    std::string compacted;                    // what a write answers after it
    std::map<std::string, std::string> read;  // what each key has, or why it cannot be read
    bool operator==(const Outcome&) const = default;
  };

  // Opens `name`, has all of it compacted, writes and reads it.
  Outcome Use(const std::string& name, const leveldb::Comparator* comparator) {
    leveldb::Options options = options_;
    options.comparator = comparator;
    leveldb::DB* opened = nullptr;
    Outcome outcome;
    const leveldb::Status status = leveldb::DB::Open(options, dir_.File(name), &opened);
    const std::unique_ptr<leveldb::DB> db(opened);
    if (db == nullptr) {
      outcome.compacted = "cannot be opened";
      return outcome;
    }
    db->CompactRange(nullptr, nullptr);
    outcome.compacted = db->Put({}, "after", "it").ok() ? "works" : "takes no writes";
    leveldb::ReadOptions read;
    read.verify_checksums = true;
    for (const auto& [key, value] : model_) {
      std::string found;
      const leveldb::Status got = db->Get(read, key, &found);
      outcome.read[key] = got.ok() ? found : got.IsNotFound() ? "nothing" : "an error";
    }
    return outcome;
  }

  // Damages one table of each copy in the same way.
  void Damage(const std::vector<std::string>& names) {
    std::vector<fs::path> tables;
    for (const auto& entry : fs::directory_iterator(dir_.File(names[0]))) {
      if (entry.path().extension() == ".ldb") {
        tables.push_back(entry.path().filename());
      }
    }
    std::sort(tables.begin(), tables.end());
    ASSERT_FALSE(tables.empty());
    const fs::path table = tables[Uniform(&random_, 0, tables.size() - 1)];
    const uint64_t bytes = fs::file_size(dir_.File(names[0]) / table);
    const uint64_t kind = Uniform(&random_, 0, 5);
    // Some of it in the footer, in the index and in the filter, which are at the end.
    const uint64_t at = Uniform(&random_, 0, 1) == 0
                            ? Uniform(&random_, 0, bytes - 1)
                            : bytes - 1 - Uniform(&random_, 0, std::min<uint64_t>(bytes, 2000) - 1);
    const int bit = static_cast<int>(Uniform(&random_, 0, 7));
    for (const std::string& name : names) {
      const fs::path path = dir_.File(name) / table;
      switch (kind) {
        case 0:
          fs::resize_file(path, at);
          break;
        case 1:
          fs::rename(path, fs::path(path).replace_extension(".sst"));
          break;
        case 2:
          fs::resize_file(path, bytes + 100);
          break;
        default: {
          std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
          file.seekg(static_cast<int64_t>(at));
          const int byte = file.get();
          file.seekp(static_cast<int64_t>(at));
          file.put(static_cast<char>(byte ^ (1 << bit)));
        }
      }
    }
    what_ = fmt::format("{}: kind {}, {} of {}, bit {}", table.string(), kind, at, bytes, bit);
  }

  std::string what_;
};

TEST_F(DamageTest, HasTheOutcomeThatItHasInLevelDb) {
  const OwnComparator comparator;
  const std::unique_ptr<const leveldb::FilterPolicy> policy(leveldb::NewBloomFilterPolicy(10));
  std::map<std::string, int> outcomes;
  for (int round = 0; round < TestRounds(30) && !HasFailure(); ++round) {
    options_ = {};
    options_.create_if_missing = true;
    options_.paranoid_checks = true;
    options_.write_buffer_size = 64 << 10;
    options_.max_file_size = 1 << 20;
    options_.filter_policy = Uniform(&random_, 0, 1) == 0 ? policy.get() : nullptr;
    options_.compression =
        Uniform(&random_, 0, 1) == 0 ? leveldb::kNoCompression : leveldb::kSnappyCompression;
    fs::remove_all(dir_.path());
    fs::create_directory(dir_.path());
    model_.clear();
    Open();
    Fill(500, 3);
    db_.reset();
    fs::copy(dir_.File("db"), dir_.File("theirs"));
    ASSERT_NO_FATAL_FAILURE(Damage({"db", "theirs"}));
    SCOPED_TRACE(what_);
    const Outcome ours = Use("db", leveldb::BytewiseComparator());
    const Outcome theirs = Use("theirs", &comparator);
    EXPECT_EQ(ours.compacted, theirs.compacted);
    EXPECT_TRUE(ours.read == theirs.read);
    ++outcomes[ours.compacted];
  }
  for (const auto& [outcome, count] : outcomes) {
    std::cout << count << " times: " << outcome << std::endl;
  }
}

}  // namespace

}  // namespace sluice
