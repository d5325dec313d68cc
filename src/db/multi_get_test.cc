// MultiGet where blocks must be read: what it finds, how it reads, and what errors do to it.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "db/fixture.h"
#include "sluice/env.h"
#include "util/io_queue.h"

namespace sluice {
namespace {

using Model = std::map<std::string, std::string>;

size_t OpenDescriptors() {
  const auto in = std::filesystem::directory_iterator("/proc/self/fd");
  return std::distance(begin(in), end(in));
}

// The real file system, counting reads of data files that are not queued in the kernel. Some fail.
class CountingEnv final : public Env {
 public:
  std::atomic<bool> queues{true};  // whether reads may be queued
  std::atomic<int> reads{0};
  std::atomic<int> failing{0};            // so many fail from now on
  std::atomic<uint64_t> bad{UINT64_MAX};  // the offset of what cannot be read

  Status NewDataFile(const std::string& path, std::unique_ptr<DataFile>* file) override {
    std::unique_ptr<DataFile> base;
    SLUICE_RETURN_IF_ERROR(base_.NewDataFile(path, &base));
    *file = std::make_unique<File>(this, std::move(base));
    return {};
  }

#define FORWARD(call, ...) return base_.call(__VA_ARGS__)
  Status NewWritableFile(const std::string& path, std::unique_ptr<WritableFile>* file) override {
    FORWARD(NewWritableFile, path, file);
  }
  Status NewReservedFile(const std::string& path, uint64_t most,
                         std::unique_ptr<ReservedFile>* file) override {
    FORWARD(NewReservedFile, path, most, file);
  }
  Status NewRandomAccessFile(const std::string& path,
                             std::unique_ptr<RandomAccessFile>* file) override {
    std::unique_ptr<RandomAccessFile> base;
    SLUICE_RETURN_IF_ERROR(base_.NewRandomAccessFile(path, &base));
    *file = std::make_unique<ReadableFile>(this, std::move(base));
    return {};
  }
  Status ReadFile(const std::string& path, std::string* bytes) override {
    FORWARD(ReadFile, path, bytes);
  }
  Status MapFile(const std::string& path, MappedFile* file) override {
    FORWARD(MapFile, path, file);
  }
  Status GetChildren(const std::string& dir, std::vector<std::string>* names) override {
    FORWARD(GetChildren, dir, names);
  }
  Status FileExists(const std::string& path) override { FORWARD(FileExists, path); }
  Status GetFileSize(const std::string& path, uint64_t* bytes) override {
    FORWARD(GetFileSize, path, bytes);
  }
  Status GetFileId(const std::string& path, std::string* id) override {
    FORWARD(GetFileId, path, id);
  }
  Status RemoveFile(const std::string& path) override { FORWARD(RemoveFile, path); }
  Status RenameFile(const std::string& from, const std::string& to) override {
    FORWARD(RenameFile, from, to);
  }
  Status CreateDir(const std::string& dir) override { FORWARD(CreateDir, dir); }
  Status RemoveDir(const std::string& dir) override { FORWARD(RemoveDir, dir); }
  Status SyncDir(const std::string& dir) override { FORWARD(SyncDir, dir); }
  Status LockFile(const std::string& path, std::unique_ptr<FileLock>* lock) override {
    FORWARD(LockFile, path, lock);
  }
  Status LockFileShared(const std::string& path, std::unique_ptr<FileLock>* lock) override {
    FORWARD(LockFileShared, path, lock);
  }
#undef FORWARD

 private:
  class File final : public DataFile {
   public:
    File(CountingEnv* env, std::unique_ptr<DataFile> base) : env_(*env), base_(std::move(base)) {}

    Status Read(uint64_t offset, size_t n, char* out) const override {
      ++env_.reads;
      if (offset <= env_.bad && env_.bad < offset + n) {
        return Status::IoError("bad sector");
      }
      if (env_.failing > 0) {
        --env_.failing;
        return Status::IoError("injected");
      }
      return base_->Read(offset, n, out);
    }
    Status Write(uint64_t offset, std::string_view bytes) override {
      return base_->Write(offset, bytes);
    }
    Status Sync() override { return base_->Sync(); }
    Status Discard(uint64_t offset, uint64_t bytes) override {
      return base_->Discard(offset, bytes);
    }
    Status Truncate(uint64_t bytes) override { return base_->Truncate(bytes); }
    Status GetDiskBytes(uint64_t* bytes) const override { return base_->GetDiskBytes(bytes); }
    Status BypassPageCache() override { return base_->BypassPageCache(); }
    const std::string& path() const override { return base_->path(); }
    IoDescriptor read_descriptor() const override {
      return env_.queues ? base_->read_descriptor() : IoDescriptor();
    }

   private:
    CountingEnv& env_;
    const std::unique_ptr<DataFile> base_;
  };

  class ReadableFile final : public RandomAccessFile {
   public:
    ReadableFile(CountingEnv* env, std::unique_ptr<RandomAccessFile> base)
        : env_(*env), base_(std::move(base)) {}

    Status Read(uint64_t offset, size_t n, char* out) const override {
      ++env_.reads;
      return base_->Read(offset, n, out);
    }
    Status BypassPageCache() override { return base_->BypassPageCache(); }
    IoDescriptor read_descriptor() const override {
      return env_.queues ? base_->read_descriptor() : IoDescriptor();
    }

   private:
    CountingEnv& env_;
    const std::unique_ptr<RandomAccessFile> base_;
  };

  Env& base_ = *Env::Posix();
};

struct Caches {
  bool direct;
  size_t bytes;
};

class MultiGetTest : public DbFixture, public testing::WithParamInterface<Caches> {
 protected:
  MultiGetTest() {
    options_.env = &env_;
    options_.block_bytes = 1500;
    options_.extent_bytes = 64 << 10;
    options_.row_cache_bytes = options_.block_cache_bytes = GetParam().bytes;
    options_.automatic_compactions = false;
    options_.direct_io = GetParam().direct;
  }
  ~MultiGetTest() override { db_.reset(); }  // before its Env

  // A tree of several runs, with tombstones; some rows are in the memtable. False: not here.
  bool Fill() {
    if (DB::Open(options_, dir_.File("db"), &db_).IsNotSupported()) {
      return false;
    }
    for (int run = 0; run < 5; ++run) {
      for (int i = 0; i < 1500; ++i) {
        const std::string key = fmt::format("{:05}", Uniform(&random_, 0, 9999));
        if (Uniform(&random_, 0, 9) == 0) {
          EXPECT_TRUE(db_->Delete({}, nullptr, key).ok());
          model_.erase(key);
          continue;
        }
        std::string value(Uniform(&random_, 0, 100) == 0 ? Uniform(&random_, 0, 30'000)
                                                         : Uniform(&random_, 0, 300),
                          static_cast<char>('a' + run));
        value += key;
        EXPECT_TRUE(db_->Put({}, nullptr, key, value).ok());
        model_[key] = value;
      }
      if (run == 0) {
        EXPECT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
      } else if (run < 4) {
        EXPECT_TRUE(db_->Flush(nullptr).ok());
      }
    }
    EXPECT_TRUE(
        db_->WaitForBackgroundWork().ok());  // it may bring extents whose heads are not read
    return true;
  }

  // Afterwards all heads are in memory.
  void ReadAll() {
    std::vector<std::string> keys(10'000);
    for (size_t i = 0; i < keys.size(); ++i) {
      keys[i] = fmt::format("{:05}", i);
    }
    EXPECT_TRUE(Expect(db_.get(), keys).empty());
    const std::unique_ptr<Iterator> at = db_->NewIterator({}, nullptr);
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
    }
    EXPECT_TRUE(at->status().ok());
  }

  std::vector<std::string> DrawKeys(size_t n) {
    std::vector<std::string> keys(n);
    for (std::string& key : keys) {
      key = fmt::format("{:05}", Uniform(&random_, 0, 9999));
    }
    return keys;
  }

  // Asks for them in one call. What is found must be right; returns the statuses that are errors.
  std::vector<Status> Expect(DB* db, const std::vector<std::string>& keys, bool fill_cache = true) {
    std::vector<std::string> values;
    const std::vector<Status> statuses =
        db->MultiGet({.fill_cache = fill_cache}, nullptr, {keys.begin(), keys.end()}, &values);
    EXPECT_EQ(statuses.size(), keys.size());
    std::vector<Status> errors;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (!statuses[i].ok() && !statuses[i].IsNotFound()) {
        errors.push_back(statuses[i]);
        std::string value;  // a Get says the same
        EXPECT_EQ(db->Get({}, nullptr, keys[i], &value).ToString(), statuses[i].ToString());
        continue;
      }
      const auto expected = model_.find(keys[i]);
      EXPECT_EQ(statuses[i].ok(), expected != model_.end()) << keys[i];
      EXPECT_TRUE(!statuses[i].ok() || values[i] == expected->second) << keys[i];
    }
    return errors;
  }

  CountingEnv env_;
  TestRandom random_{TestSeed()};
  Model model_;
};

INSTANTIATE_TEST_SUITE_P(Caches, MultiGetTest,
                         testing::Values(Caches{false, 0}, Caches{false, 20'000}, Caches{true, 0},
                                         Caches{true, 20'000}, Caches{true, 64 << 20}),
                         [](const auto& info) {
                           return fmt::format("{}{}", info.param.direct ? "Direct" : "Buffered",
                                              info.param.bytes);
                         });

#define FILL()                     \
  if (!Fill()) {                   \
    GTEST_SKIP() << "no O_DIRECT"; \
  }

TEST_P(MultiGetTest, FindsWhatIsThere) {
  FILL();
  for (const bool queues : {true, false}) {
    env_.queues = queues;
    for (const size_t n :
         {size_t{0}, size_t{1}, size_t{2}, size_t{31}, size_t{32}, size_t{33}, size_t{10'000}}) {
      EXPECT_TRUE(Expect(db_.get(), DrawKeys(n), n % 2 == 0).empty());
    }
    EXPECT_TRUE(Expect(db_.get(), std::vector<std::string>(100, model_.begin()->first)).empty());
    const std::unique_ptr<Iterator> at = db_->NewIterator({}, nullptr);
    for (int i = 0; i < 100; ++i) {
      const std::string key = DrawKeys(1)[0];
      at->Seek(key);
      auto expected = model_.lower_bound(key);
      for (int step = 0; step < 30; ++step) {
        ASSERT_EQ(at->Valid(), expected != model_.end());
        if (!at->Valid()) {
          break;
        }
        ASSERT_EQ(at->key(), expected->first);
        ASSERT_EQ(at->value(), expected->second);
        at->Next();
        ++expected;
      }
    }
  }
}

TEST_P(MultiGetTest, ReadsTogether) {
  if (!IoQueue::New(1)->asynchronous()) {
    GTEST_SKIP() << "no io_uring";
  }
  std::unique_ptr<DataFile> file;
  ASSERT_TRUE(Env::Posix()->NewDataFile(dir_.File("file"), &file).ok());
  if (file->read_descriptor().fd < 0) {
    GTEST_SKIP() << "files are in memory";
  }
  FILL();
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  for (const bool read_only : {false, true}) {
    if (read_only) {
      // Heads are read as blocks are: together. What is read alone is read at once: how often that is
      // depends on the keys.
      options_.read_only = true;
      const std::vector<std::string> keys = DrawKeys(32);
      std::map<bool, int> reads;
      for (const bool queues : {false, true}) {
        ASSERT_TRUE(db_->Close().ok());
        env_.queues = queues;
        ASSERT_TRUE(DB::Open(options_, dir_.File("db"), &db_).ok());
        env_.reads = 0;
        Expect(db_.get(), keys, /*fill_cache=*/false);
        reads[queues] = env_.reads;
      }
      EXPECT_LT(2 * reads[true], reads[false]);
      ASSERT_TRUE(db_->Close().ok());
      ASSERT_TRUE(DB::Open(options_, dir_.File("db"), &db_).ok());
      env_.reads = 0;
      std::unique_ptr<Iterator> first = db_->NewIterator({.fill_cache = false}, nullptr);
      first->Seek(DrawKeys(1)[0]);
      EXPECT_TRUE(first->status().ok());
      first.reset();
      EXPECT_LT(env_.reads, 5);
    }
    ReadAll();
    env_.reads = 0;
    for (int i = 0; i < 10; ++i) {
      Expect(db_.get(), DrawKeys(200), /*fill_cache=*/false);
    }
    // But for single ones, where one key is left that a filter was wrong about.
    EXPECT_LT(env_.reads, 200);
    env_.reads = 0;
    const std::unique_ptr<Iterator> at = db_->NewIterator({.fill_cache = false}, nullptr);
    for (const std::string& key : DrawKeys(100)) {
      at->Seek(key);
    }
    EXPECT_TRUE(at->status().ok());
    EXPECT_LT(env_.reads, 50);
  }
}

TEST_P(MultiGetTest, ReadsABlockOnce) {
  FILL();
  env_.queues = false;
  const std::string key = model_.begin()->first;
  ReadAll();
  env_.reads = 0;
  Expect(db_.get(), std::vector<std::string>(30, key), /*fill_cache=*/false);
  EXPECT_LE(env_.reads, 2);
}

TEST_P(MultiGetTest, AnErrorIsThatOfItsKeys) {
  FILL();
  ReadAll();
  env_.queues = false;
  // Reads that fail once are tried again.
  for (int i = 0; i < 20; ++i) {
    env_.failing = 1;
    EXPECT_TRUE(Expect(db_.get(), DrawKeys(32), /*fill_cache=*/false).empty());
    env_.failing = 0;
  }
  if (GetParam().bytes > 1 << 20) {
    return;  // all is cached
  }
  const uint64_t bytes = std::filesystem::file_size(dir_.File("db/000001.data"));
  size_t errors = 0;
  for (int i = 0; i < 20; ++i) {
    env_.bad = Uniform(&random_, 0, bytes - 1);
    for (const Status& status : Expect(db_.get(), DrawKeys(1000), /*fill_cache=*/false)) {
      EXPECT_EQ(status.code(), Status::Code::kIoError);
      ++errors;
    }
  }
  EXPECT_GT(errors, 0u);
  EXPECT_LT(errors, 20u * 500);
}

TEST_P(MultiGetTest, DamageIsThatOfItsKeys) {
  FILL();
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  ASSERT_TRUE(db_->Close().ok());
  db_.reset();
  const std::string path = dir_.File("db/000001.data");
  const uint64_t bytes = std::filesystem::file_size(path);
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    for (int i = 0; i < 30; ++i) {
      const uint64_t at = Uniform(&random_, 0, bytes - 1);
      file.seekg(static_cast<std::streamoff>(at));
      const int byte = file.get();
      file.seekp(static_cast<std::streamoff>(at));
      file.put(static_cast<char>(byte ^ 1));
    }
  }
  ASSERT_TRUE(DB::Open(options_, dir_.File("db"), &db_).ok());
  size_t errors = 0;
  for (int i = 0; i < 5; ++i) {
    for (const Status& status : Expect(db_.get(), DrawKeys(1000))) {
      EXPECT_EQ(status.code(), Status::Code::kCorruption) << status.ToString();
      ++errors;
    }
  }
  EXPECT_GT(errors, 0u);
}

#ifndef __SANITIZE_ADDRESS__  // whose checks open pipes
TEST_P(MultiGetTest, WorksWithoutARing) {
  FILL();
  ReadAll();
  const auto keys = DrawKeys(300);
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  std::thread([&] {
    rlimit none = before;
    none.rlim_cur = 0;
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    EXPECT_TRUE(Expect(db_.get(), keys, /*fill_cache=*/false).empty());
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  }).join();
}
#endif

TEST_P(MultiGetTest, ThreadsTakeTheirRingsAlong) {
  FILL();
  ReadAll();
  const auto keys = DrawKeys(100);
  const size_t before = OpenDescriptors();
  for (int round = 0; round < 10; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] { EXPECT_TRUE(Expect(db_.get(), keys, false).empty()); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }
  EXPECT_EQ(OpenDescriptors(), before);
}

#ifndef __SANITIZE_THREAD__  // which lets no child of many threads have threads
TEST_P(MultiGetTest, AChildHasARingOfItsOwn) {
  FILL();
  ASSERT_TRUE(db_->Flush(nullptr).ok());
  ASSERT_TRUE(db_->Close().ok());
  options_.read_only = true;
  ASSERT_TRUE(DB::Open(options_, dir_.File("db"), &db_).ok());
  EXPECT_TRUE(Expect(db_.get(), DrawKeys(1000), false).empty());
  db_.reset();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  ASSERT_TRUE(DB::Open(options_, dir_.File("db"), &db_).ok());
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(Expect(db_.get(), DrawKeys(100), false).empty());
  }
  db_.reset();
  if (child == 0) {
    ::_exit(HasFailure() ? 1 : 0);
  }
  int outcome = 0;
  ASSERT_EQ(::waitpid(child, &outcome, 0), child);
  EXPECT_TRUE(WIFEXITED(outcome) && WEXITSTATUS(outcome) == 0) << outcome;
}
#endif

TEST_P(MultiGetTest, GoesOnBesideCompactions) {
  FILL();
  std::atomic<bool> stop{false};
  std::thread upkeep([&] {
    while (!stop) {
      EXPECT_TRUE(db_->Put({}, nullptr, "z", "z").ok());
      EXPECT_TRUE(db_->Flush(nullptr).ok());
      EXPECT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
    }
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(Expect(db_.get(), DrawKeys(500), i % 2 == 0).empty());
  }
  stop = true;
  upkeep.join();
}

}  // namespace
}  // namespace sluice
