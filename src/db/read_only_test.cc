// Options::read_only: all can be read, and nothing is written, whatever state the database was left
// in.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sluice/db.h"
#include "sluice/env.h"
#include "util/testing.h"

namespace sluice {
namespace {

class ReadOnlyTest : public testing::Test {
 protected:
  // Files and directories, with their contents and times.
  std::map<std::string, std::string> Tree() {
    std::map<std::string, std::string> tree;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_.path())) {
      std::string& contents = tree[entry.path()];
      if (entry.is_regular_file()) {
        EXPECT_TRUE(Env::Posix()->ReadFile(entry.path(), &contents).ok());
      }
      contents += std::to_string(entry.last_write_time().time_since_epoch().count());
    }
    return tree;
  }
  [[gnu::noinline]] Status Open(bool read_only, std::unique_ptr<DB>* db) {
    Options options;
    options.read_only = read_only;
    options.create_if_missing = !read_only;
    options.memtable_bytes = 64 << 10;
    options.extent_bytes = 16 << 10;
    options.block_bytes = 1024;
    options.level_paths = {"", "", dir_.File("cold")};
    return DB::Open(options, dir_.File("db"), db);
  }
  // Records in levels 0 and 2 and in the log, of two sub-tables.
  void Fill() {
    std::unique_ptr<DB> db;
    ASSERT_TRUE(Open(false, &db).ok());
    Subtable* other;
    ASSERT_TRUE(db->CreateSubtable("other", &other).ok());
    for (int i = 0; i < 600; ++i) {
      ASSERT_TRUE(
          db->Put({}, i % 3 == 0 ? other : nullptr, fmt::format("{:04}", i), std::string(100, 'x'))
              .ok());
      if (i == 200) {
        ASSERT_TRUE(db->CompactRange(nullptr, "", "").ok());
      }
      if (i == 400) {
        ASSERT_TRUE(db->Flush(other).ok());
      }
    }
    ASSERT_TRUE(db->Close().ok());
  }
  void ExpectAll(DB* db) {
    for (int i = 0; i < 600; ++i) {
      std::string value;
      Subtable* const subtable = i % 3 == 0 ? db->FindSubtable("other") : nullptr;
      ASSERT_TRUE(db->Get({}, subtable, fmt::format("{:04}", i), &value).ok()) << i;
      ASSERT_EQ(value, std::string(100, 'x'));
    }
    int records = 0;
    const auto at = db->NewIterator({});
    for (at->SeekToLast(); at->Valid(); at->Prev()) {
      ++records;
    }
    EXPECT_TRUE(at->status().ok());
    EXPECT_EQ(records, 400);
    const Status status = db->Verify(nullptr);
    EXPECT_TRUE(status.ok()) << status.ToString();
    EXPECT_TRUE(db->WaitForBackgroundWork().ok());
    EXPECT_GT(db->GetStatistics().data_file_bytes, 0u);
    std::string levels;
    EXPECT_TRUE(db->GetProperty("sluice.levelstats", &levels).ok());
  }

  TempDir dir_;
};

TEST_F(ReadOnlyTest, ReadsAllAndWritesNothing) {
  Fill();
  const auto before = Tree();
  std::unique_ptr<DB> db;
  const Status status = Open(true, &db);
  ASSERT_TRUE(status.ok()) << status.ToString();
  ExpectAll(db.get());
  Subtable* subtable = db->FindSubtable("other");
  WriteBatch batch;
  batch.Put("a", "b");
  const auto transaction = db->BeginTransaction({}, {});
  EXPECT_TRUE(transaction->Put(nullptr, "a", "b").ok());
  const auto prepared = db->BeginTransaction({}, {});
  EXPECT_TRUE(prepared->Put(nullptr, "b", "b").ok());
  const std::map<std::string, Status> refused = {
      {"put", db->Put({}, "a", "b")},
      {"delete", db->Delete({}, "a")},
      {"write", db->Write({}, batch)},
      {"sync", db->Write({.sync = true}, batch)},
      {"async", db->WriteAsync({}, batch).get()},
      {"range", db->DeleteRange({}, nullptr, "a", "b")},
      {"create", db->CreateSubtable("new", &subtable)},
      {"drop", db->DropSubtable(db->FindSubtable("other"))},
      {"flush", db->Flush(nullptr)},
      {"compact", db->CompactRange(nullptr, "", "")},
      {"checkpoint", db->CreateCheckpoint(dir_.File("copy"))},
      {"commit", transaction->Commit()},
      {"prepare", prepared->Prepare("name")},
  };
  for (const auto& [what, outcome] : refused) {
    EXPECT_EQ(outcome.code(), Status::Code::kInvalidArgument) << what << outcome.ToString();
    EXPECT_NE(outcome.message().find("read-only"), std::string::npos) << what;
  }
  ExpectAll(db.get());
  EXPECT_TRUE(prepared->Rollback().ok());
  EXPECT_TRUE(db->Close().ok());
  EXPECT_TRUE(Tree() == before);
}

TEST_F(ReadOnlyTest, ReadersShareAndKeepWritersOut) {
  Fill();
  std::unique_ptr<DB> one;
  std::unique_ptr<DB> two;
  std::unique_ptr<DB> writer;
  ASSERT_TRUE(Open(true, &one).ok());
  ASSERT_TRUE(Open(true, &two).ok());
  ExpectAll(one.get());
  ExpectAll(two.get());
  EXPECT_EQ(Open(false, &writer).code(), Status::Code::kBusy);
  one.reset();
  EXPECT_EQ(Open(false, &writer).code(), Status::Code::kBusy);
  two.reset();
  ASSERT_TRUE(Open(false, &writer).ok());
  EXPECT_EQ(Open(true, &one).code(), Status::Code::kBusy);
  ExpectAll(writer.get());
}

// They can be looked at and stay as they are, with what they have locked.
TEST_F(ReadOnlyTest, TellsOfPreparedTransactions) {
  using Names = std::vector<std::string>;
  std::unique_ptr<DB> db;
  ASSERT_TRUE(Open(false, &db).ok());
  for (const std::string name : {"one", "two"}) {
    const auto transaction = db->BeginTransaction({}, {});
    ASSERT_TRUE(transaction->Put(nullptr, name, "written").ok());
    ASSERT_TRUE(transaction->Prepare(name).ok());
  }
  db.reset();
  const auto before = Tree();
  ASSERT_TRUE(Open(true, &db).ok());
  EXPECT_EQ(db->ListPrepared(), (Names{"one", "two"}));
  EXPECT_GT(db->GetStatistics().transactions.prepared_log_bytes, 0u);
  std::string value;
  EXPECT_TRUE(db->Get({}, "one", &value).IsNotFound());
  for (const bool commit : {true, false}) {
    std::unique_ptr<Transaction> transaction;
    ASSERT_TRUE(db->ResumeTransaction("one", {}, &transaction).ok());
    const Status refused = commit ? transaction->Commit() : transaction->Rollback();
    EXPECT_EQ(refused.code(), Status::Code::kInvalidArgument) << refused.ToString();
    EXPECT_NE(refused.message().find("read-only"), std::string::npos) << refused.ToString();
    EXPECT_EQ(db->ListPrepared(), (Names{"one", "two"}));
  }
  auto reader = db->BeginTransaction({.lock_timeout = {}}, {});
  EXPECT_EQ(reader->GetForUpdate({}, nullptr, "two", &value).code(), Status::Code::kTimedOut);
  reader.reset();
  EXPECT_TRUE(db->Close().ok());
  EXPECT_TRUE(Tree() == before);
  ASSERT_TRUE(Open(false, &db).ok());
  EXPECT_EQ(db->ListPrepared(), (Names{"one", "two"}));
}

TEST_F(ReadOnlyTest, MakesNoDatabase) {
  std::unique_ptr<DB> db;
  EXPECT_TRUE(Open(true, &db).IsNotFound());
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path()));
}

TEST_F(ReadOnlyTest, AMissingLogIsToldOf) {
  Fill();
  std::filesystem::remove_all(dir_.File("db/log"));
  std::unique_ptr<DB> db;
  Status status = Open(true, &db);
  EXPECT_TRUE(status.IsCorruption() || status.IsNotFound()) << status.ToString();
  EXPECT_NE(status.message().find("db/log"), std::string::npos) << status.ToString();
}

TEST_F(ReadOnlyTest, WorksOnAReadOnlyMount) {
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("none", dir_.path().c_str(), "tmpfs", 0, "size=64m") != 0) {
    GTEST_SKIP() << "cannot mount: " << std::strerror(errno);
  }
  Fill();
  ASSERT_EQ(::mount("none", dir_.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0)
      << std::strerror(errno);
  std::unique_ptr<DB> db;
  EXPECT_FALSE(Open(false, &db).ok());
  const Status status = Open(true, &db);
  ASSERT_TRUE(status.ok()) << status.ToString();
  ExpectAll(db.get());
  db.reset();
  EXPECT_EQ(::umount2(dir_.path().c_str(), MNT_DETACH), 0);
}

}  // namespace
}  // namespace sluice
