// What LevelDB promises must hold whatever the unit does: flushes go on while it works, a database can
// be closed, what cannot be done exactly is left to LevelDB, and no trouble is the database's.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <leveldb/c.h>
#include <leveldb/filter_policy.h>
#include <leveldb/write_batch.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "faulty_unit.h"
#include "support.h"
#include "util/testing.h"

#ifdef __SANITIZE_THREAD__
// Debian's LevelDB is not built for ThreadSanitizer, which does not see how it hands memtables from one
// thread to the other.
extern "C" const char* __tsan_default_suppressions() {
  return "race:leveldb::MemTable\n"
         "race:leveldb::InternalKeyComparator::Compare\n"
         "race:BytewiseComparatorImpl\n";
}
#endif

namespace sluice {

namespace {

class BehaviourTest : public DatabaseTest {
 protected:
  int Level0Files() {
    std::string files;
    EXPECT_TRUE(db_->GetProperty("leveldb.num-files-at-level0", &files));
    return std::stoi(files);
  }
  // Overwrites until level 0 has so many tables that they are merged, and the unit has them. No more
  // than that: with twelve tables writers would wait for the unit.
  void FillUntilTask(GatedUnit* unit) {
    constexpr int kDue = 4;
    for (int i = 0; !unit->HasTask();) {
      if (Level0Files() >= kDue) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        continue;
      }
      ASSERT_LT(i, 100'000) << "no compaction is due";
      const std::string value = Noise(&random_, 300);
      model_[NumberedKey(i % 700)] = value;
      ExpectOk(db_->Put({}, NumberedKey(i % 700), value));
      ++i;
    }
  }
};

TEST_F(BehaviourTest, FlushesGoOnWhileTheUnitWorks) {
  const auto unit = std::make_shared<GatedUnit>();
  SetLevelDbExecutors({unit});
  Open();
  ASSERT_NO_FATAL_FAILURE(FillUntilTask(unit.get()));
  // Two memtables more: a writer that no flush helps would wait for ever.
  for (int i = 0, most = Level0Files() + 2; Level0Files() < most; ++i) {
    const std::string value = Noise(&random_, 1000);
    model_[NumberedKey(i % 800)] = value;
    ExpectOk(db_->Put({}, NumberedKey(i % 800), value));
  }
  ExpectContents();
  unit->Open();
  ExpectAlive();
}

TEST_F(BehaviourTest, IsClosedWhileTheUnitWorks) {
  const auto unit = std::make_shared<GatedUnit>();
  SetLevelDbExecutors({unit});
  Open();
  const uint64_t closed = Left("closing");
  ASSERT_NO_FATAL_FAILURE(FillUntilTask(unit.get()));
  std::thread closer([&] { db_.reset(); });
  // Nothing tells that it has begun to close.
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  unit->Open();
  closer.join();
  EXPECT_EQ(Left("closing"), closed + 1);
  Open();
  ExpectContents();
  db_->CompactRange(nullptr, nullptr);
  ExpectContents();
  EXPECT_EQ(TableFiles(), TablesInUse());
}

TEST_F(BehaviourTest, LeavesWhatItCannotDo) {
  class Impostor : public leveldb::FilterPolicy {
   public:
    const char* Name() const override { return "leveldb.BuiltinBloomFilter2"; }
    void CreateFilter(const leveldb::Slice*, int, std::string* filter) const override {
      filter->append("all");
    }
    bool KeyMayMatch(const leveldb::Slice&, const leveldb::Slice&) const override { return true; }
  };
  class Other : public Impostor {
   public:
    const char* Name() const override { return "Other"; }
  };
  // As that of LevelDB's documentation: it makes the filters of LevelDB's, for keys without spaces at
  // the end, and so for most keys.
  class Wrapping : public leveldb::FilterPolicy {
   public:
    const char* Name() const override { return base_->Name(); }
    void CreateFilter(const leveldb::Slice* keys, int n, std::string* filter) const override {
      std::vector<leveldb::Slice> trimmed;
      for (int i = 0; i < n; ++i) {
        trimmed.push_back(Trim(keys[i]));
      }
      base_->CreateFilter(trimmed.data(), n, filter);
    }
    bool KeyMayMatch(const leveldb::Slice& key, const leveldb::Slice& filter) const override {
      return base_->KeyMayMatch(Trim(key), filter);
    }

   private:
    static leveldb::Slice Trim(const leveldb::Slice& key) {
      const std::string_view text(key.data(), key.size());
      return {key.data(), text.find_last_not_of(' ') + 1};
    }
    const std::unique_ptr<const leveldb::FilterPolicy> base_{leveldb::NewBloomFilterPolicy(10)};
  };
  const Impostor impostor;
  const Other other;
  const Wrapping wrapping;
  const OwnComparator comparator;
  const std::unique_ptr<const leveldb::FilterPolicy> no_bits(leveldb::NewBloomFilterPolicy(0));
  const leveldb::Options usual = options_;
  int number = 0;
  const auto expect_left = [&](const std::string& reason) {
    const uint64_t left = Left(reason);
    const uint64_t done = GetLevelDbStatistics().compactions;
    std::filesystem::remove_all(dir_.File("db"));
    model_.clear();
    Open();
    Fill(1000, 2);
    db_->CompactRange(nullptr, nullptr);
    EXPECT_GT(Left(reason), left) << number;
    EXPECT_EQ(GetLevelDbStatistics().compactions, done) << number;
    ExpectAlive();
    db_.reset();
    options_ = usual;
    ++number;
  };
  options_.comparator = &comparator;
  expect_left("comparator");
  options_.filter_policy = &impostor;
  expect_left("filter_policy");
  options_.filter_policy = &other;
  expect_left("filter_policy");
  options_.filter_policy = &wrapping;
  expect_left("filter_policy");
  options_.filter_policy = no_bits.get();
  expect_left("filter_policy");
}

// Tables that Sluice made have the filters that LevelDB would have made: byte for byte in
// internals_test.cc, and here by what LevelDB finds with them.
TEST_F(BehaviourTest, MakesFiltersThatLevelDbUses) {
  const std::unique_ptr<const leveldb::FilterPolicy> policy(leveldb::NewBloomFilterPolicy(10));
  leveldb_filterpolicy_t* const of_c = leveldb_filterpolicy_create_bloom(10);
  for (const auto* one : {policy.get(), reinterpret_cast<const leveldb::FilterPolicy*>(of_c)}) {
    options_.filter_policy = one;
    const uint64_t done = GetLevelDbStatistics().compactions;
    Open();
    Fill(3000, 2);
    db_->CompactRange(nullptr, nullptr);
    EXPECT_GT(GetLevelDbStatistics().compactions, done);
    for (const auto& [key, value] : model_) {
      std::string found;
      ExpectOk(db_->Get({}, key, &found));
      EXPECT_EQ(found, value);
    }
    db_.reset();
  }
  leveldb_filterpolicy_destroy(of_c);
}

// An environment whose table files fail, as long as they are made on another thread than LevelDB's.
class HalfBrokenEnv : public leveldb::EnvWrapper {
 public:
  HalfBrokenEnv() : EnvWrapper(leveldb::Env::Default()) {}
  enum Fault { kNone, kCreate, kAppend, kSync, kRead, kDamage };

  leveldb::Status NewWritableFile(const std::string& path, leveldb::WritableFile** file) override {
    if (!Applies(path)) {
      return target()->NewWritableFile(path, file);
    }
    ++faults;
    if (fault == kCreate) {
      return leveldb::Status::IOError(path, "no");
    }
    leveldb::WritableFile* real = nullptr;
    const leveldb::Status status = target()->NewWritableFile(path, &real);
    *file = status.ok() ? new File(real, fault) : nullptr;
    return status;
  }
  leveldb::Status NewRandomAccessFile(const std::string& path,
                                      leveldb::RandomAccessFile** file) override {
    if (fault == kRead && Applies(path)) {
      ++faults;
      return leveldb::Status::IOError(path, "no");
    }
    return target()->NewRandomAccessFile(path, file);
  }
  // LevelDB's own thread.
  void Schedule(void (*function)(void*), void* argument) override {
    struct Call {
      HalfBrokenEnv* env;
      void (*function)(void*);
      void* argument;
    };
    target()->Schedule(
        [](void* raw) {
          const std::unique_ptr<Call> call(static_cast<Call*>(raw));
          call->env->background = std::this_thread::get_id();
          call->function(call->argument);
        },
        new Call{this, function, argument});
  }

  std::atomic<Fault> fault = kNone;
  std::atomic<int> faults = 0;
  std::atomic<std::thread::id> background;
  const std::thread::id main = std::this_thread::get_id();

 private:
  class File : public leveldb::WritableFile {
   public:
    File(leveldb::WritableFile* real, Fault fault) : real_(real), fault_(fault) {}
    leveldb::Status Append(const leveldb::Slice& data) override {
      if (fault_ == kAppend) {
        return leveldb::Status::IOError("full");
      }
      std::string bytes = data.ToString();
      if (fault_ == kDamage && bytes.size() > 10) {
        bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 16);
      }
      return real_->Append(bytes);
    }
    leveldb::Status Close() override { return real_->Close(); }
    leveldb::Status Flush() override { return real_->Flush(); }
    leveldb::Status Sync() override {
      return fault_ == kSync ? leveldb::Status::IOError("sync") : real_->Sync();
    }

   private:
    const std::unique_ptr<leveldb::WritableFile> real_;
    const Fault fault_;
  };

  bool Applies(const std::string& path) const {
    const std::thread::id self = std::this_thread::get_id();
    return fault != kNone && path.ends_with(".ldb") && self != main && self != background.load();
  }
};

TEST_F(BehaviourTest, NoFailureOfItsIsTheDatabases) {
  HalfBrokenEnv env;
  options_.env = &env;
  Open();
  for (const HalfBrokenEnv::Fault fault :
       {HalfBrokenEnv::kCreate, HalfBrokenEnv::kAppend, HalfBrokenEnv::kSync, HalfBrokenEnv::kRead,
        HalfBrokenEnv::kDamage}) {
    SCOPED_TRACE(static_cast<int>(fault));
    env.fault = fault;
    env.faults = 0;
    const uint64_t left = GetLevelDbStatistics().left;
    Fill(1000, 2);
    db_->CompactRange(nullptr, nullptr);
    EXPECT_GT(env.faults, 0);
    EXPECT_GT(GetLevelDbStatistics().left, left);
    ExpectAlive();
  }
  env.fault = HalfBrokenEnv::kNone;
  const uint64_t done = GetLevelDbStatistics().compactions;
  Fill(1000, 2);
  db_->CompactRange(nullptr, nullptr);
  EXPECT_GT(GetLevelDbStatistics().compactions, done);
  ExpectAlive();
  EXPECT_EQ(TableFiles(), TablesInUse());
  db_.reset();
}

// Many threads at once, for ThreadSanitizer.
TEST_F(BehaviourTest, ServesManyThreads) {
  SetLevelDbExecutors({std::make_shared<FaultyUnit>(20, 1)});
  Open();
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([this, thread] {
      TestRandom random(thread);
      for (int i = 0; i < 3000; ++i) {
        const std::string key = fmt::format("{}-{}", thread, Uniform(&random, 0, 299));
        const std::string value = fmt::format("{}", i) + std::string(200, 'x');
        EXPECT_TRUE(db_->Put({}, key, value).ok());
        std::string found;
        EXPECT_TRUE(db_->Get({}, key, &found).ok());
        EXPECT_EQ(found, value);
        if (i % 500 == 0) {
          const leveldb::Snapshot* snapshot = db_->GetSnapshot();
          EXPECT_EQ(Read(db_.get(), snapshot).size(), Read(db_.get(), snapshot).size());
          db_->ReleaseSnapshot(snapshot);
        }
        if (i % 1000 == 999) {
          db_->CompactRange(nullptr, nullptr);
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  model_ = Read(db_.get(), nullptr);
  ExpectAlive();
}

}  // namespace

}  // namespace sluice
