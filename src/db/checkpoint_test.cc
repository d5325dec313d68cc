// Checkpoints where the file system can share space between files, and where it cannot.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "sluice/db.h"
#include "util/fault_env.h"
#include "util/testing.h"
#include "util/xfs_mount.h"

namespace sluice {
namespace {

using Records = std::map<std::string, std::string>;

std::string Key(int i) { return fmt::format("{:06}", i); }

Options Small(Env* env) {
  Options options;
  options.env = env;
  options.create_if_missing = true;
  options.automatic_compactions = false;
  options.memtable_bytes = 64 << 10;
  options.extent_bytes = 64 << 10;
  options.log_segment_bytes = 64 << 10;
  options.separate_value_bytes = 2000;
  return options;
}

Status Put(DB* db, int begin, int end, char fill, Records* records) {
  for (int i = begin; i < end; ++i) {
    std::string value(i % 7 == 0 ? 3000 : 100, fill);
    SLUICE_RETURN_IF_ERROR(db->Put({}, Key(i), value));
    (*records)[Key(i)] = std::move(value);
  }
  return {};
}

// Levels, slices, value extents, and a log.
Status Fill(DB* db, Records* records) {
  SLUICE_RETURN_IF_ERROR(Put(db, 0, 2000, 'a', records));
  SLUICE_RETURN_IF_ERROR(db->CompactRange(nullptr, {}, {}));
  SLUICE_RETURN_IF_ERROR(Put(db, 500, 520, 'b', records));
  SLUICE_RETURN_IF_ERROR(db->CompactRange(nullptr, Key(505), Key(515)));
  SLUICE_RETURN_IF_ERROR(db->Flush(nullptr));
  return Put(db, 1000, 1010, 'c', records);
}

void ExpectRecords(const Options& options, const std::string& path, const Records& records) {
  std::unique_ptr<DB> db;
  const Status status = DB::Open(options, path, &db);
  ASSERT_TRUE(status.ok()) << path << ": " << status.ToString();
  const Status verified = db->Verify(nullptr);
  EXPECT_TRUE(verified.ok()) << path << ": " << verified.ToString();
  const std::unique_ptr<Iterator> at = db->NewIterator({});
  auto expected = records.begin();
  for (at->SeekToFirst(); at->Valid(); at->Next(), ++expected) {
    ASSERT_TRUE(expected != records.end());
    ASSERT_EQ(at->key(), expected->first);
    ASSERT_EQ(at->value(), expected->second);
  }
  EXPECT_TRUE(at->status().ok()) << at->status().ToString();
  EXPECT_TRUE(expected == records.end());
}

class CheckpointTest : public testing::TestWithParam<bool> {};

// The copy outlives what the original's pages become. What is shared is not read.
TEST_P(CheckpointTest, IsADatabaseOfItsOwn) {
  FaultEnv env;
  env.SetClones(GetParam());
  Records records;
  std::unique_ptr<DB> db;
  ASSERT_TRUE(DB::Open(Small(&env), "db", &db).ok());
  ASSERT_TRUE(Fill(db.get(), &records).ok());
  ASSERT_TRUE(db->Flush(nullptr).ok());  // no log to be read
  const Records then = records;
  const uint64_t reads = env.reads();
  const Status status = db->CreateCheckpoint("copy");
  ASSERT_TRUE(status.ok()) << status.ToString();
  const uint64_t extents = db->GetStatistics().data_file_bytes / (64 << 10);
  if (GetParam()) {
    EXPECT_LT(env.reads() - reads, extents);
  } else {
    EXPECT_GT(env.reads() - reads, extents);
  }
  // A checkpoint of the checkpoint, and the first one, are as they were when the original has
  // written all its pages again, and is gone.
  {
    std::unique_ptr<DB> copy;
    ASSERT_TRUE(DB::Open(Small(&env), "copy", &copy).ok());
    ASSERT_TRUE(copy->CreateCheckpoint("second").ok());
  }
  for (const char fill : {'d', 'e', 'f'}) {
    ASSERT_TRUE(Put(db.get(), 0, 2000, fill, &records).ok());
    ASSERT_TRUE(db->CompactRange(nullptr, {}, {}).ok());
  }
  db.reset();
  ExpectRecords(Small(&env), "db", records);
  ASSERT_TRUE(DB::Destroy(Small(&env), "db").ok());
  ExpectRecords(Small(&env), "copy", then);
  ExpectRecords(Small(&env), "second", then);
}

// After a loss of power or a kill at each operation of it, or after a failure of one, the copy is
// whole or no database; whole if it is said to be there. What is left of it can be destroyed, and the
// next checkpoint goes to the same directory.
TEST_P(CheckpointTest, IsWholeOrNothing) {
  FileImage before;
  Records records;
  {
    FaultEnv env;
    std::unique_ptr<DB> db;
    ASSERT_TRUE(DB::Open(Small(&env), "db", &db).ok());
    ASSERT_TRUE(Fill(db.get(), &records).ok());
    ASSERT_TRUE(db->Flush(nullptr).ok());
    db.reset();
    before = env.Survivors(CrashKind::kProcess, 1);
  }
  enum class End { kDone, kCrash, kKill, kError };
  const auto life = [&](End end, uint64_t* at, FileImage* after, bool* made) {
    FaultEnv env(before);
    env.SetClones(GetParam());
    std::unique_ptr<DB> db;
    ASSERT_TRUE(DB::Open(Small(&env), "db", &db).ok());
    const uint64_t opened = env.operations();
    if (end == End::kCrash || end == End::kKill) {
      env.CrashAt(opened + *at, *at);
    } else if (end == End::kError) {
      env.FailAt(opened + *at, EIO, *at);
    }
    const Status status = db->CreateCheckpoint("copy");
    *made = status.ok();
    *after = env.Survivors(end == End::kKill ? CrashKind::kProcess : CrashKind::kPower, *at);
    if (end == End::kDone) {
      *at = env.operations() - opened;
    }
  };
  uint64_t operations = 0;
  FileImage after;
  bool made = false;
  ASSERT_NO_FATAL_FAILURE(life(End::kDone, &operations, &after, &made));
  ASSERT_TRUE(made);
  FaultEnv done(after);
  ExpectRecords(Small(&done), "copy", records);
  for (uint64_t at = 0; at < operations; at += 1 + operations / 100) {
    for (const End end : {End::kCrash, End::kKill, End::kError}) {
      SCOPED_TRACE(fmt::format("{} of {}, {}", at, operations, static_cast<int>(end)));
      uint64_t k = at;
      ASSERT_NO_FATAL_FAILURE(life(end, &k, &after, &made));
      FaultEnv env(after);
      ExpectRecords(Small(&env), "db", records);
      Options options = Small(&env);
      options.create_if_missing = false;
      std::unique_ptr<DB> copy;
      const Status opened = DB::Open(options, "copy", &copy);
      copy.reset();
      EXPECT_TRUE(opened.ok() || !made) << opened.ToString();
      if (opened.ok()) {
        ExpectRecords(options, "copy", records);
        continue;
      }
      const Status destroyed = DB::Destroy(options, "copy");
      EXPECT_TRUE(destroyed.ok()) << destroyed.ToString();
      for (const auto& [name, contents] : env.Survivors(CrashKind::kProcess, at)) {
        EXPECT_FALSE(name.starts_with("copy/")) << name;
      }
      std::unique_ptr<DB> db;
      ASSERT_TRUE(DB::Open(options, "db", &db).ok());
      const Status again = db->CreateCheckpoint("copy");
      EXPECT_TRUE(again.ok()) << again.ToString();
    }
  }
}

TEST(CheckpointRaceTest, RefusesADirectoryThatBecomesAnothersMeanwhile) {
  class Meanwhile final : public FaultEnv {
   public:
    Status CreateDir(const std::string& dir) override {
      if (dir == "copy" && std::exchange(waits_, false)) {
        std::unique_ptr<DB> other;
        SLUICE_RETURN_IF_ERROR(DB::Open(Small(this), dir, &other));
        SLUICE_RETURN_IF_ERROR(other->Put({.sync = true}, "mine", "precious"));
      }
      return FaultEnv::CreateDir(dir);
    }

   private:
    bool waits_ = true;
  };
  Meanwhile env;
  std::unique_ptr<DB> db;
  ASSERT_TRUE(DB::Open(Small(&env), "db", &db).ok());
  ASSERT_TRUE(db->Put({}, "whose", "of the checkpoint").ok());
  const Status status = db->CreateCheckpoint("copy");
  EXPECT_EQ(status.code(), Status::Code::kInvalidArgument) << status.ToString();
  ExpectRecords(Small(&env), "copy", {{"mine", "precious"}});
  EXPECT_TRUE(db->CreateCheckpoint("another").ok());
}

INSTANTIATE_TEST_SUITE_P(Clones, CheckpointTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Shared" : "Copied"; });

uint64_t FreeBytes(const std::string& path) {
  struct statvfs info {};
  EXPECT_EQ(::statvfs(path.c_str(), &info), 0);
  return uint64_t{info.f_bfree} * info.f_frsize;
}

TEST(CheckpointOnXfs, TakesNoSpace) {
  const XfsMount xfs;
  if (!xfs.error().empty()) {
    GTEST_SKIP() << xfs.error();
  }
  for (const bool direct : {false, true}) {
    SCOPED_TRACE(direct);
    Options options = Small(Env::Posix());
    options.memtable_bytes = 1 << 20;
    options.extent_bytes = 1 << 20;
    options.log_segment_bytes = 1 << 20;
    options.direct_io = direct;
    const std::string path = xfs.path() + "/db";
    const std::string copy = xfs.path() + "/copy";
    std::unique_ptr<DB> db;
    const Status opened = DB::Open(options, path, &db);
    ASSERT_TRUE(opened.ok()) << opened.ToString();
    Records records;
    ASSERT_TRUE(Put(db.get(), 0, 20'000, 'a', &records).ok());
    ASSERT_TRUE(db->CompactRange(nullptr, {}, {}).ok());
    ASSERT_TRUE(Put(db.get(), 100, 200, 'b', &records).ok());
    const uint64_t bytes = db->GetStatistics().data_file_bytes;
    ASSERT_GT(bytes, 8u << 20);
    const uint64_t before = FreeBytes(xfs.path());
    const Status copied = db->CreateCheckpoint(copy);
    ASSERT_TRUE(copied.ok()) << copied.ToString();
    EXPECT_LT(before, FreeBytes(xfs.path()) + bytes / 4);
    Records later = records;
    for (const char fill : {'c', 'd'}) {
      ASSERT_TRUE(Put(db.get(), 0, 20'000, fill, &later).ok());
      ASSERT_TRUE(db->CompactRange(nullptr, {}, {}).ok());
    }
    db.reset();
    ExpectRecords(options, path, later);
    ExpectRecords(options, copy, records);
    ASSERT_TRUE(DB::Destroy(options, path).ok());
    ExpectRecords(options, copy, records);
    ASSERT_TRUE(DB::Destroy(options, copy).ok());
  }
}

}  // namespace
}  // namespace sluice
