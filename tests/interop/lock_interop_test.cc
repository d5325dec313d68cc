// A database that real LevelDB has open is locked to us, and the reverse.

#include <gtest/gtest.h>
#include <leveldb/db.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>

#include "sluice/env.h"
#include "util/testing.h"

namespace sluice::interop {
namespace {

// Record locks do not exclude within one process, so the parties need two.
int InChild(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(work());
  }
  int outcome = 0;
  EXPECT_EQ(::waitpid(child, &outcome, 0), child);
  EXPECT_TRUE(WIFEXITED(outcome));
  return WEXITSTATUS(outcome);
}

leveldb::Status OpenReal(const std::string& dir, std::unique_ptr<leveldb::DB>* db) {
  leveldb::Options options;
  options.create_if_missing = true;
  leveldb::DB* opened = nullptr;
  const leveldb::Status status = leveldb::DB::Open(options, dir, &opened);
  db->reset(opened);
  return status;
}

TEST(LockInterop, RealLevelDbKeepsUsOut) {
  const TempDir dir;
  std::unique_ptr<leveldb::DB> db;
  ASSERT_TRUE(OpenReal(dir.path(), &db).ok());
  const auto lock = [&] {
    std::unique_ptr<FileLock> held;
    return static_cast<int>(Env::Posix()->LockFile(dir.File("LOCK"), &held).code());
  };
  EXPECT_EQ(InChild(lock), static_cast<int>(Status::Code::kBusy));
  db.reset();
  EXPECT_EQ(InChild(lock), static_cast<int>(Status::Code::kOk));
}

TEST(LockInterop, WeKeepRealLevelDbOut) {
  const TempDir dir;
  std::unique_ptr<FileLock> held;
  ASSERT_TRUE(Env::Posix()->LockFile(dir.File("LOCK"), &held).ok());
  const auto open = [&] {
    std::unique_ptr<leveldb::DB> db;
    return OpenReal(dir.path(), &db).ok() ? 0 : 1;
  };
  EXPECT_EQ(InChild(open), 1);
  held.reset();
  EXPECT_EQ(InChild(open), 0);
}

}  // namespace
}  // namespace sluice::interop
