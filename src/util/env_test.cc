#include "sluice/env.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "util/files.h"
#include "util/testing.h"

namespace sluice {
namespace {

// What an Env of the real file system does beyond what CheckEnv (sluice/conformance.h) asks for.
class EnvTest : public testing::Test {
 protected:
  // Locks `path` in a child process and returns the code.
  Status::Code LockInChild(const std::string& path) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);  // rather than to hang
      std::unique_ptr<FileLock> lock;
      ::_exit(static_cast<int>(env_->LockFile(path, &lock).code()));
    }
    int outcome = 0;
    EXPECT_EQ(::waitpid(child, &outcome, 0), child);
    EXPECT_TRUE(WIFEXITED(outcome));
    return static_cast<Status::Code>(WEXITSTATUS(outcome));
  }

  Env* const env_ = Env::Posix();
  TempDir dir_;
};

// A full disk is an error of Reserve, which leaves what was reserved and may be repeated. The limit
// on the size of files stands for the disk; a child has it for itself.
TEST_F(EnvTest, WhatCannotBeReservedIsAnError) {
  const std::string path = dir_.File("f");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1 << 20, 2 << 20};
    std::unique_ptr<ReservedFile> file;
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0 ||
        !env_->NewReservedFile(path, 4 << 20, &file).ok() || !file->Reserve(300'000).ok() ||
        !file->Write(299'995, "start").ok()) {
      ::_exit(1);
    }
    const Status status = file->Reserve(2 << 20);
    uint64_t bytes = 0;
    if (status.ok() || status.message().find(path + ": cannot reserve") != 0 ||
        !env_->GetFileSize(path, &bytes).ok() || bytes != 300'000) {
      ::_exit(2);
    }
    const rlimit more{2 << 20, 2 << 20};
    if (::setrlimit(RLIMIT_FSIZE, &more) != 0 || !file->Reserve(2 << 20).ok() ||
        !file->Write((2 << 20) - 3, "end").ok()) {
      ::_exit(3);
    }
    ::_exit(0);
  }
  int status;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  std::string contents;
  ASSERT_TRUE(env_->ReadFile(path, &contents).ok());
  EXPECT_EQ(contents,
            std::string(299'995, '\0') + "start" + std::string((2 << 20) - 300'003, '\0') + "end");
}

TEST_F(EnvTest, AFullDeviceIsNoOtherError) {
  EXPECT_TRUE(Status::FromErrno("x", ENOSPC).IsNoSpace());
  EXPECT_TRUE(Status::FromErrno("x", EDQUOT).IsNoSpace());
  EXPECT_FALSE(Status::FromErrno("x", EIO).IsNoSpace());
  const Status status = WriteFileSynced(env_, "/dev/full", "a");
  EXPECT_TRUE(status.IsNoSpace());
  EXPECT_TRUE(status.ToString().starts_with("no space: /dev/full: cannot write: "))
      << status.ToString();
}

TEST_F(EnvTest, NamesOfDirectories) {
  EXPECT_EQ(DirName("a/b/c"), "a/b");
  EXPECT_EQ(DirName("/c"), "/");
  EXPECT_EQ(DirName("c"), ".");
}

TEST_F(EnvTest, ErrorsNameThePath) {
  const std::string path = dir_.File("missing/f");
  std::unique_ptr<WritableFile> writable;
  std::unique_ptr<RandomAccessFile> readable;
  std::unique_ptr<FileLock> lock;
  MappedFile map;
  std::string contents;
  std::vector<std::string> names;
  uint64_t size;
  for (const Status& status :
       {env_->NewWritableFile(path, &writable), env_->NewRandomAccessFile(path, &readable),
        env_->ReadFile(path, &contents), env_->MapFile(path, &map), env_->GetFileSize(path, &size),
        env_->GetChildren(path, &names), env_->RemoveFile(path),
        env_->RenameFile(path, dir_.File("x")), env_->CreateDir(path), env_->SyncDir(path),
        env_->LockFile(path, &lock), env_->FileExists(path)}) {
    EXPECT_TRUE(status.IsNotFound()) << status.ToString();
    EXPECT_NE(status.message().find(path), std::string::npos) << status.ToString();
    EXPECT_NE(status.message().find("No such file"), std::string::npos) << status.ToString();
  }
}

// A pipe would wait for a writer, and of no other such file is there a length.
TEST_F(EnvTest, OnlyRegularFilesAreMapped) {
  const std::string pipe = dir_.File("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, dir_.path(), std::string("/dev/zero")}) {
    MappedFile map;
    const Status status = env_->MapFile(path, &map);
    EXPECT_EQ(status.code(), Status::Code::kInvalidArgument) << status.ToString();
    EXPECT_EQ(status.message(), path + ": not a regular file");
  }
}

TEST_F(EnvTest, LocksKeepOutThisProcessAndOthers) {
  const std::string path = dir_.File("LOCK");
  std::unique_ptr<FileLock> lock;
  ASSERT_TRUE(env_->LockFile(path, &lock).ok());
  std::unique_ptr<FileLock> second;
  EXPECT_EQ(env_->LockFile(path, &second).code(), Status::Code::kBusy);
  // By another name, too.
  EXPECT_EQ(env_->LockFile(dir_.path() + "/./LOCK", &second).code(), Status::Code::kBusy);
  // The refused attempts above must not have dropped the record lock that others see.
  EXPECT_EQ(LockInChild(path), Status::Code::kBusy);
  lock.reset();
  EXPECT_EQ(LockInChild(path), Status::Code::kOk);
  EXPECT_TRUE(env_->LockFile(path, &second).ok());
}

// Who destroys a database removes the file whose lock it holds.
TEST_F(EnvTest, TheLockOfARemovedFileKeepsOthersOut) {
  const std::string path = dir_.File("LOCK");
  const std::string alone = dir_.File("alone");
  const auto contend = [&]() -> bool {
    for (int i = 0; i < 10000; ++i) {
      std::unique_ptr<FileLock> lock;
      if (!env_->LockFile(path, &lock).ok()) {
        continue;
      }
      const int fd = ::open(alone.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
      if (fd < 0 || ::close(fd) != 0 || ::unlink(alone.c_str()) != 0 ||
          ::unlink(path.c_str()) != 0) {
        return false;
      }
    }
    return true;
  };
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    children.push_back(::fork());
    ASSERT_GE(children.back(), 0);
    if (children.back() == 0) {
      ::_exit(contend() ? 0 : 1);
    }
  }
  for (const pid_t child : children) {
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

// Whatever they do at that moment.
TEST_F(EnvTest, AChildLocksWhileThreadsOfItsParentDo) {
  std::atomic<bool> stop{false};
  std::thread parent([&] {
    for (std::unique_ptr<FileLock> lock; !stop; lock.reset()) {
      ASSERT_TRUE(env_->LockFile(dir_.File("parent"), &lock).ok());
    }
  });
  for (int round = 0; round < 200 && !HasFailure(); ++round) {
    EXPECT_EQ(LockInChild(dir_.File("child")), Status::Code::kOk) << round;
  }
  stop = true;
  parent.join();
}

TEST_F(EnvTest, ReadersShareALock) {
  const std::string path = dir_.File("LOCK");
  std::unique_ptr<FileLock> one;
  EXPECT_TRUE(env_->LockFileShared(path, &one).IsNotFound()) << "it makes no file";
  ASSERT_TRUE(WriteFileSynced(env_, path, "").ok());
  ASSERT_TRUE(env_->LockFileShared(path, &one).ok());
  std::unique_ptr<FileLock> two;
  ASSERT_TRUE(env_->LockFileShared(path, &two).ok());
  std::unique_ptr<FileLock> whole;
  EXPECT_EQ(env_->LockFile(path, &whole).code(), Status::Code::kBusy);
  EXPECT_EQ(LockInChild(path), Status::Code::kBusy);
  one.reset();
  EXPECT_EQ(LockInChild(path), Status::Code::kBusy);
  two.reset();
  EXPECT_EQ(LockInChild(path), Status::Code::kOk);
  ASSERT_TRUE(env_->LockFile(path, &whole).ok());
  EXPECT_EQ(env_->LockFileShared(path, &one).code(), Status::Code::kBusy);
}

TEST_F(EnvTest, GivesSpaceBack) {
  const std::string path = dir_.File("f");
  std::unique_ptr<DataFile> file;
  ASSERT_TRUE(env_->NewDataFile(path, &file).ok());
  constexpr uint64_t kPart = 1 << 20;
  ASSERT_TRUE(file->Write(0, std::string(3 * kPart, 'x')).ok());
  ASSERT_TRUE(file->Sync().ok());
  uint64_t whole;
  ASSERT_TRUE(file->GetDiskBytes(&whole).ok());
  EXPECT_GE(whole, 3 * kPart);
  const Status status = file->Discard(kPart, kPart);
  ASSERT_TRUE(status.ok() || status.IsNotSupported()) << status.ToString();
  uint64_t left;
  ASSERT_TRUE(file->GetDiskBytes(&left).ok());
  EXPECT_TRUE(left <= whole - kPart || !status.ok()) << left << " of " << whole;
  std::string read(kPart, '\0');
  for (const uint64_t at : {uint64_t{0}, 2 * kPart}) {
    ASSERT_TRUE(file->Read(at, kPart, read.data()).ok());
    EXPECT_EQ(read, std::string(kPart, 'x'));
  }
  ASSERT_TRUE(file->Truncate(kPart).ok());
  uint64_t size;
  ASSERT_TRUE(env_->GetFileSize(path, &size).ok());
  EXPECT_EQ(size, kPart);
  ASSERT_TRUE(file->GetDiskBytes(&left).ok());
  EXPECT_LE(left, kPart + (64 << 10));
}

// What this thread has read by system calls.
uint64_t BytesRead() {
  std::ifstream io("/proc/thread-self/io");
  std::string word;
  uint64_t bytes = 0;
  io >> word >> bytes;
  EXPECT_EQ(word, "rchar:");
  return bytes;
}

TEST_F(EnvTest, ReadsNoMoreThanTheDeviceAsksFor) {
  std::unique_ptr<DataFile> file;
  ASSERT_TRUE(env_->NewDataFile(dir_.File("f"), &file).ok());
  if (file->BypassPageCache().IsNotSupported()) {
    GTEST_SKIP() << "no O_DIRECT";
  }
  uint64_t alignment = 4096;
#ifdef STATX_DIOALIGN
  struct statx info;
  ASSERT_EQ(::statx(AT_FDCWD, dir_.File("f").c_str(), 0, STATX_DIOALIGN, &info), 0);
  if (info.stx_dio_offset_align != 0) {
    alignment = std::max(info.stx_dio_offset_align, info.stx_dio_mem_align);
  }
#endif
  std::string bytes(100'000, '\0');
  TestRandom random(TestSeed());
  std::generate(bytes.begin(), bytes.end(), [&] { return Uniform(&random, 0, 255); });
  ASSERT_TRUE(file->Write(0, bytes).ok());
  for (int i = 0; i < 200; ++i) {
    const size_t offset = Uniform(&random, 0, bytes.size() - 1);
    const size_t n = Uniform(&random, 1, std::min<size_t>(bytes.size() - offset, 9000));
    std::string found(n, '\0');
    const uint64_t nothing = BytesRead();  // but what asking takes
    const uint64_t before = BytesRead();
    ASSERT_TRUE(file->Read(offset, n, found.data()).ok());
    const uint64_t read = BytesRead() - before - (before - nothing);
    EXPECT_EQ(found, bytes.substr(offset, n));
    EXPECT_LT(read, n + 2 * alignment + 100) << n << " bytes at " << offset;
  }
}

TEST_F(EnvTest, TellsFilesApartHoweverTheyAreSpelt) {
  ASSERT_TRUE(WriteFileSynced(env_, dir_.File("f"), "").ok());
  std::filesystem::create_symlink(dir_.File("f"), dir_.File("link"));
  ASSERT_TRUE(env_->CreateDir(dir_.File("d")).ok());
  const auto id = [&](const std::string& path) {
    std::string id;
    EXPECT_TRUE(env_->GetFileId(path, &id).ok());
    return id;
  };
  EXPECT_EQ(id(dir_.File("f")), id(dir_.File("d/../link")));
  EXPECT_EQ(id(dir_.File("d")), id(dir_.File("d/.")));
  EXPECT_NE(id(dir_.File("d")), id(dir_.File("f")));
  EXPECT_FALSE(env_->RemoveDir(dir_.path()).ok()) << "it is not empty";
  EXPECT_TRUE(env_->RemoveDir(dir_.File("d")).ok());
  EXPECT_TRUE(env_->FileExists(dir_.File("d")).IsNotFound());
}

}  // namespace
}  // namespace sluice
