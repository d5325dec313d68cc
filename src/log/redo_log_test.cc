// The redo log against a list of records, over lives that end in crashes.

#include "log/redo_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "log/testing.h"
#include "util/fault_env.h"
#include "util/testing.h"

namespace sluice {
namespace {

constexpr LogPosition kUnknown = ~uint64_t{0};

// What a user of the log knows, over all lives.
struct Model {
  std::vector<LogRecord> records;
  LogPosition from = 0;  // where reading starts: kept elsewhere, durably
  size_t appended = 0;   // records that Append said ok to
  size_t synced = 0;     // and Sync
  uint64_t next_id = 0;
};

void CheckAndTruncate(const std::vector<LogRecord>& found, CrashKind kind, Model* model) {
  const auto needed =
      std::find_if(model->records.begin(), model->records.end(),
                   [&](const LogRecord& record) { return record.end > model->from; });
  const size_t first = needed - model->records.begin();
  const size_t must = std::max(kind == CrashKind::kPower ? model->synced : model->appended, first);
  ASSERT_GE(first + found.size(), must);
  ASSERT_LE(first + found.size(), model->records.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].payload, model->records[first + i].payload);
    model->records[first + i].end = found[i].end;
  }
  model->records.resize(first + found.size());
  model->appended = std::min(model->appended, model->records.size());
}

// One life: recovers, checks, works until the crash, or a fault.
void Live(FaultEnv* env, const RedoLogOptions& options, CrashKind last_crash, std::mt19937_64& rng,
          Model* model) {
  std::vector<LogRecord> found;
  LogContents contents;
  const Status read = ReadLog(env, "d", model->from, CollectInto(&found), &contents);
  if (env->crashed()) {
    return;
  }
  ASSERT_TRUE(read.ok()) << read.ToString();
  CheckAndTruncate(found, last_crash, model);
  if (testing::Test::HasFatalFailure()) {
    return;
  }
  // Until the log is open again, another crash may take what this one left.
  std::unique_ptr<RedoLog> log;
  if (!RedoLog::Open(env, "d", options, contents, &log).ok()) {
    ASSERT_TRUE(env->crashed() || !env->failure().empty());
    return;
  }
  model->appended = model->synced = model->records.size();
  // What was not known to be on disk is somewhere else now.
  found.clear();
  if (!ReadLog(env, "d", model->from, CollectInto(&found), &contents).ok()) {
    ASSERT_TRUE(env->crashed());
    return;
  }
  for (size_t i = 0; i < found.size(); ++i) {
    LogRecord& record = model->records[model->records.size() - found.size() + i];
    ASSERT_EQ(found[i].payload, record.payload);
    record.end = found[i].end;
  }
  while (true) {
    const uint64_t what = rng() % 20;
    if (what < 15) {
      const std::string payload = RandomPayload(rng, model->next_id++);
      LogPosition end = 0;
      if (!log->Append(payload, &end).ok()) {
        model->records.push_back({kUnknown, payload});  // the crash may have let it through
        break;
      }
      model->records.push_back({end, payload});
      model->appended = model->records.size();
    } else if (what < 19) {
      const size_t appended = model->appended;
      if (!log->Sync().ok()) {
        break;
      }
      model->synced = appended;
      EXPECT_EQ(log->durable(), log->end());
    } else if (model->synced > 0) {
      model->from = std::max(model->from, model->records[rng() % model->synced].end);
      if (!log->Release(model->from).ok()) {
        break;
      }
    }
  }
  ASSERT_TRUE(env->crashed() || !env->failure().empty());
}

void LiveAgainAndAgain(const RedoLogOptions& options) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 rng(seed);
  size_t survived_unsynced = 0;
  for (int round = 0; round < 300 && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    auto env = std::make_unique<FaultEnv>(FileImage{{"d/x", ""}});
    Model model;
    CrashKind kind = CrashKind::kProcess;
    for (int life = 0; life < 8 && !testing::Test::HasFailure(); ++life) {
      SCOPED_TRACE("life " + std::to_string(life));
      env->CrashAt(env->operations() + rng() % 400, rng());
      env->FailAt(rng() % 2 == 0 ? env->operations() + rng() % 200 : UINT64_MAX, EIO, rng());
      Live(env.get(), options, kind, rng, &model);
      kind = rng() % 2 == 0 ? CrashKind::kProcess : CrashKind::kPower;
      if (kind == CrashKind::kProcess) {
        env->Restart(rng());  // with what a failed sync dropped in the page cache
      } else {
        env = std::make_unique<FaultEnv>(env->Survivors(kind, rng()));
      }
      survived_unsynced += model.records.size() - model.synced;
    }
  }
  EXPECT_GT(survived_unsynced, 100u);
}

TEST(RedoLog, LosesNothingThatWasSynced) { LiveAgainAndAgain(kSmallLog); }

TEST(RedoLog, LosesNothingThatWasSyncedWhileAThreadReservesAhead) {
  LiveAgainAndAgain({.segment_bytes = 2000, .step_bytes = 100, .most_ahead_bytes = 1500});
}

class RedoLogTest : public testing::Test {
 protected:
  // Reads into records_, and opens.
  Status Open(const RedoLogOptions& options = kSmallLog) {
    log_.reset();
    records_.clear();
    SLUICE_RETURN_IF_ERROR(ReadLog(&env_, "d", from_, CollectInto(&records_), &contents_));
    return RedoLog::Open(&env_, "d", options, contents_, &log_);
  }

  FaultEnv env_{FileImage{{"d/x", ""}}};
  LogPosition from_ = 0;
  std::vector<LogRecord> records_;
  LogContents contents_;
  std::unique_ptr<RedoLog> log_;
  LogPosition end_ = 0;
};

TEST_F(RedoLogTest, SegmentsGrowInStepsAndGoWhenNobodyNeedsThem) {
  ASSERT_TRUE(Open({.segment_bytes = 1 << 20, .step_bytes = 4096}).ok());
  EXPECT_EQ(log_->file_bytes(), 4096u);
  ASSERT_TRUE(log_->Append(std::string(4000, 'x'), &end_).ok());
  EXPECT_EQ(log_->file_bytes(), 4096u);
  ASSERT_TRUE(log_->Append(std::string(100, 'x'), &end_).ok());
  EXPECT_EQ(log_->file_bytes(), 8192u);
  uint64_t bytes;
  ASSERT_TRUE(env_.GetFileSize("d/000001.log", &bytes).ok());
  EXPECT_EQ(bytes, 8192u);
  ASSERT_TRUE(Open().ok());
  LogPosition released = 0;
  uint64_t appended = 0;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(log_->Append(std::string(100, 'x'), &end_).ok());
    appended += 105;
    EXPECT_GE(log_->BytesFrom(released), 105u);
    EXPECT_LE(log_->BytesFrom(released), appended + 200 + 5 * 2000);
    if (i % 10 == 9) {
      ASSERT_TRUE(log_->Sync().ok());
      ASSERT_TRUE(log_->Release(end_).ok());
      released = end_;
      appended = 0;
      EXPECT_EQ(log_->BytesFrom(released), 0u);
    }
  }
  EXPECT_LE(log_->file_bytes(), 2 * kSmallLog.segment_bytes);
  EXPECT_GT(LogSegment(end_), 40u);
}

// So that what a large one has comes free while it is not full.
TEST_F(RedoLogTest, ASegmentEndsWhereItIsToldTo) {
  ASSERT_TRUE(Open({.segment_bytes = 8 << 20}).ok());
  const auto append = [&](size_t bytes) {
    ASSERT_TRUE(log_->Append(std::string(bytes, 'x'), &end_).ok());
  };
  append(100);
  log_->EndSegment();  // in vain: it has too little
  append(3 << 20);
  EXPECT_EQ(LogSegment(end_), 1u);
  log_->EndSegment();
  append(100);
  EXPECT_EQ(LogSegment(end_), 2u);
  ASSERT_TRUE(log_->Sync().ok());
  from_ = end_;
  ASSERT_TRUE(log_->Release(from_).ok());
  EXPECT_LT(log_->file_bytes(), 1u << 20);
  EXPECT_TRUE(env_.FileExists("d/000001.log").IsNotFound());
  append(200);
  ASSERT_TRUE(Open({.segment_bytes = 8 << 20}).ok());
  ASSERT_EQ(records_.size(), 1u);
  EXPECT_EQ(records_[0].payload.size(), 200u);
}

TEST_F(RedoLogTest, ReopeningWritesAnewWhatAFailedSyncMayHaveDropped) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    FaultEnv env(FileImage{{"d/x", ""}});
    const auto open = [&](std::vector<LogRecord>* found) {
      LogContents contents;
      EXPECT_TRUE(ReadLog(&env, "d", 0, CollectInto(found), &contents).ok());
      std::unique_ptr<RedoLog> log;
      EXPECT_TRUE(RedoLog::Open(&env, "d", kSmallLog, contents, &log).ok());
      return log;
    };
    std::vector<LogRecord> found;
    std::unique_ptr<RedoLog> log = open(&found);
    LogPosition end;
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(log->Append(std::to_string(i) + std::string(200, 'x'), &end).ok());
      if (i == 10) {
        ASSERT_TRUE(log->Sync().ok());
      }
    }
    env.FailAt(env.operations(), seed % 2 == 0 ? EIO : ENOSPC, seed);
    // Whatever the reason, the log goes on no more.
    EXPECT_EQ(log->Sync().code(), Status::Code::kIoError);
    EXPECT_EQ(log->Append("more", &end).code(), Status::Code::kIoError);
    log = open(&found);
    ASSERT_EQ(found.size(), 20u) << "the page cache has them";
    // Only what came since the sync that succeeded is copied.
    EXPECT_LT(LogOffset(log->end()), 9 * 206u + 100);
    ASSERT_TRUE(log->Append("20", &end).ok());
    ASSERT_TRUE(log->Sync().ok());
    FaultEnv after(env.Survivors(CrashKind::kPower, seed));
    LogContents contents;
    found.clear();
    const Status status = ReadLog(&after, "d", 0, CollectInto(&found), &contents);
    ASSERT_TRUE(status.ok()) << status.ToString();
    ASSERT_EQ(found.size(), 21u);
    for (int i = 0; i <= 20; ++i) {
      EXPECT_TRUE(found[i].payload.starts_with(std::to_string(i)));
    }
  }
}

// However often a log is opened, on a full device perhaps, it takes no more space for that.
TEST_F(RedoLogTest, OpeningAddsNoFiles) {
  const auto files = [&] {
    std::vector<std::string> names;
    EXPECT_TRUE(env_.GetChildren("d", &names).ok());
    return names.size();
  };
  ASSERT_TRUE(Open().ok());
  for (int round = 0; round < 3; ++round) {
    const size_t before = files();
    for (int i = 0; i < 10; ++i) {
      const Status opened = Open();
      ASSERT_TRUE(opened.ok()) << opened.ToString();
      ASSERT_EQ(records_.size(), from_ == 0 ? round : 0u);
      ASSERT_LE(files(), before + 1);
    }
    ASSERT_TRUE(log_->Append("record", &end_).ok());
    ASSERT_TRUE(log_->Sync().ok());
    if (round == 1) {
      ASSERT_TRUE(log_->Release(end_).ok());
      from_ = end_;
    }
  }
  FaultEnv after(env_.Survivors(CrashKind::kPower, 1));
  records_.clear();
  ASSERT_TRUE(ReadLog(&after, "d", from_, CollectInto(&records_), &contents_).ok());
  EXPECT_EQ(records_.size(), 1u);
}

// The file beside the log may be older than the log: it names a segment that was copied and removed.
TEST_F(RedoLogTest, AnOldMarkSaysNothingOfWhatWasCopiedSince) {
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(log_->Append("one", &end_).ok());
  ASSERT_TRUE(log_->Sync().ok());
  std::string mark;
  ASSERT_TRUE(env_.ReadFile("d/durable", &mark).ok());
  log_.reset();
  ASSERT_TRUE(env_.RemoveFile("d/durable").ok());
  ASSERT_TRUE(Open().ok());
  log_.reset();
  std::unique_ptr<WritableFile> file;
  ASSERT_TRUE(env_.NewWritableFile("d/durable", &file).ok());
  ASSERT_TRUE(file->Append(mark).ok());
  ASSERT_TRUE(file->Close().ok());
  for (int i = 0; i < 2; ++i) {
    const Status opened = Open();
    ASSERT_TRUE(opened.ok()) << opened.ToString();
    ASSERT_EQ(records_.size(), 1u);
    EXPECT_EQ(records_[0].payload, "one");
  }
}

// Each call of an Open finds no space, once. Where that is for the copy of what a failed sync may
// have dropped, it is written anew where it stands.
TEST_F(RedoLogTest, OpensOnAFullDisk) {
  int happened = 0;
  int opened = 0;
  bool failed = true;
  for (uint64_t k = 0; failed && !HasFailure(); ++k) {
    SCOPED_TRACE(k);
    FaultEnv env(FileImage{{"d/x", ""}});
    std::unique_ptr<RedoLog> log;
    LogContents contents;
    std::vector<LogRecord> found;
    const auto open = [&] {
      log.reset();
      found.clear();
      contents = {};
      const Status read = ReadLog(&env, "d", 0, CollectInto(&found), &contents);
      return read.ok() ? RedoLog::Open(&env, "d", kSmallLog, contents, &log) : read;
    };
    ASSERT_TRUE(open().ok());
    LogPosition end;
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(log->Append(std::to_string(i) + std::string(200, 'x'), &end).ok());
      if (i == 10) {
        ASSERT_TRUE(log->Sync().ok());
      }
    }
    env.FailAt(env.operations(), EIO, k);
    ASSERT_FALSE(log->Sync().ok());
    env.FailAt(env.operations() + k, ENOSPC, k);
    const std::string before = env.failure();
    Status status = open();
    failed = env.failure() != before;
    env.FailAt(UINT64_MAX, 0, 0);
    happened += failed ? 1 : 0;
    opened += failed && status.ok() ? 1 : 0;
    if (!status.ok()) {
      status = open();
    }
    ASSERT_TRUE(status.ok()) << status.ToString();
    ASSERT_EQ(found.size(), 20u);
    ASSERT_TRUE(log->Append("20", &end).ok());
    ASSERT_TRUE(log->Sync().ok());
    FaultEnv after(env.Survivors(CrashKind::kPower, k));
    found.clear();
    status = ReadLog(&after, "d", 0, CollectInto(&found), &contents);
    ASSERT_TRUE(status.ok()) << status.ToString();
    ASSERT_EQ(found.size(), 21u);
    for (int i = 0; i <= 20; ++i) {
      EXPECT_TRUE(found[i].payload.starts_with(std::to_string(i)));
    }
  }
  EXPECT_GT(happened, 10);
  EXPECT_GT(opened, 5);
}

// Each call that takes space fails once. That Append alone fails, and the log goes on.
TEST_F(RedoLogTest, AFullDiskFailsAnAppendAndNoMore) {
  std::mt19937_64 random(TestSeed());
  int failed = 0;
  for (uint64_t k = 0; k < 60; ++k) {
    FaultEnv env(FileImage{{"d/x", ""}});
    LogContents contents;
    std::vector<LogRecord> expected;
    std::vector<LogRecord> found;
    ASSERT_TRUE(ReadLog(&env, "d", 0, CollectInto(&found), &contents).ok());
    std::unique_ptr<RedoLog> log;
    ASSERT_TRUE(RedoLog::Open(&env, "d", kSmallLog, contents, &log).ok());
    env.FailAt(env.operations() + k, ENOSPC, k);
    for (uint64_t i = 0; i < 40; ++i) {
      LogRecord record{0, RandomPayload(random, i)};
      const Status status = log->Append(record.payload, &record.end);
      if (status.ok()) {
        expected.push_back(record);
      } else {
        EXPECT_TRUE(status.IsNoSpace()) << status.ToString();
        ++failed;
      }
    }
    env.FailAt(UINT64_MAX, 0, 0);
    ASSERT_TRUE(log->Sync().ok());
    FaultEnv after(env.Survivors(CrashKind::kPower, k));
    const Status status = ReadLog(&after, "d", 0, CollectInto(&found), &contents);
    ASSERT_TRUE(status.ok()) << status.ToString();
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].payload, expected[i].payload);
      EXPECT_EQ(found[i].end, expected[i].end);
    }
  }
  EXPECT_GT(failed, 40);
}

// What does not fit is cut off within its zeros: the file holds zeros there anyway.
TEST_F(RedoLogTest, ARecordThatFailedIsNoneThoughOnlyZerosAreMissing) {
  for (uint64_t k = 0; k < 20; ++k) {
    SCOPED_TRACE(k);
    FaultEnv env(FileImage{{"d/x", ""}});
    std::vector<LogRecord> found;
    LogContents contents;
    ASSERT_TRUE(ReadLog(&env, "d", 0, CollectInto(&found), &contents).ok());
    std::unique_ptr<RedoLog> log;
    ASSERT_TRUE(RedoLog::Open(&env, "d", kSmallLog, contents, &log).ok());
    LogPosition end;
    ASSERT_TRUE(log->Append("one", &end).ok());
    env.FailAt(env.operations(), ENOSPC, k);
    const Status failed = log->Append(std::string(500, '\0'), &end);
    ASSERT_TRUE(failed.IsNoSpace()) << failed.ToString();
    ASSERT_TRUE(log->Sync().ok());
    FaultEnv after(env.Survivors(CrashKind::kProcess, k));
    const Status status = ReadLog(&after, "d", 0, CollectInto(&found), &contents);
    ASSERT_TRUE(status.ok()) << status.ToString();
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].payload, "one");
  }
}

// Notes the largest read of a file.
class ReadSizeEnv : public FaultEnv {
 public:
  using FaultEnv::FaultEnv;

  Status NewRandomAccessFile(const std::string& path,
                             std::unique_ptr<RandomAccessFile>* file) override {
    std::unique_ptr<RandomAccessFile> target;
    SLUICE_RETURN_IF_ERROR(FaultEnv::NewRandomAccessFile(path, &target));
    *file = std::make_unique<File>(this, std::move(target));
    return {};
  }
  Status MapFile(const std::string& path, MappedFile* file) override {
    SLUICE_RETURN_IF_ERROR(FaultEnv::MapFile(path, file));
    largest = std::max(largest, file->bytes().size());
    return {};
  }

  size_t largest = 0;

 private:
  struct File : RandomAccessFile {
    File(ReadSizeEnv* in, std::unique_ptr<RandomAccessFile> of) : env(in), target(std::move(of)) {}
    Status Read(uint64_t offset, size_t n, char* out) const override {
      env->largest = std::max(env->largest, n);
      return target->Read(offset, n, out);
    }
    ReadSizeEnv* const env;
    const std::unique_ptr<RandomAccessFile> target;
  };
};

TEST(RedoLog, IsReadThroughASmallWindow) {
  ReadSizeEnv env(FileImage{{"d/x", ""}});
  LogContents contents;
  std::vector<LogRecord> found;
  ASSERT_TRUE(ReadLog(&env, "d", 0, CollectInto(&found), &contents).ok());
  std::unique_ptr<RedoLog> log;
  ASSERT_TRUE(RedoLog::Open(&env, "d", {}, contents, &log).ok());
  LogPosition end;
  for (int i = 0; i < 80; ++i) {
    ASSERT_TRUE(log->Append(std::string(i == 40 ? 1 << 20 : 100'000, 'x'), &end).ok());
  }
  ASSERT_TRUE(ReadLog(&env, "d", 0, CollectInto(&found), &contents).ok());
  EXPECT_EQ(found.size(), 80u);
  EXPECT_GT(env.largest, size_t{1} << 20);
  EXPECT_LT(env.largest, (size_t{1} << 20) + 1000);
}

// Says that the second segment is longer than it is: so it is if it was made anew since, for a
// record that is longer than segments are.
class MadeAnewEnv final : public FaultEnv {
 public:
  using FaultEnv::FaultEnv;
  Status GetFileSize(const std::string& path, uint64_t* bytes) override {
    SLUICE_RETURN_IF_ERROR(FaultEnv::GetFileSize(path, bytes));
    *bytes += path == "d/000002.log" ? 4096 : 0;
    return {};
  }
};

TEST(RedoLog, IsReadUpToAPositionWhileItIsWritten) {
  MadeAnewEnv env(FileImage{{"d/x", ""}});
  LogContents contents;
  std::vector<LogRecord> found;
  ASSERT_TRUE(ReadLog(&env, "d", 0, CollectInto(&found), &contents).ok());
  std::unique_ptr<RedoLog> log;
  ASSERT_TRUE(RedoLog::Open(&env, "d", {}, contents, &log).ok());
  LogPosition end;
  ASSERT_TRUE(log->Append("record", &end).ok());
  std::unique_ptr<ReservedFile> next;
  ASSERT_TRUE(env.NewReservedFile("d/000002.log", 4096, &next).ok());
  const Status status = ReadLog(&env, "d", 0, CollectInto(&found), &contents, end);
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(found.size(), 1u);
  EXPECT_EQ(contents.end, end);
}

// A record that did not fit the disk must not lead the log past what was written behind it.
TEST_F(RedoLogTest, AFailedRollIsDoneBeforeAnythingElse) {
  for (const uint64_t step : {0, 1, 2}) {  // the file, its space, its first record
    FaultEnv env(FileImage{{"d/x", ""}});
    LogContents contents;
    std::vector<LogRecord> found;
    ASSERT_TRUE(ReadLog(&env, "d", 0, CollectInto(&found), &contents).ok());
    std::unique_ptr<RedoLog> log;
    ASSERT_TRUE(RedoLog::Open(&env, "d", kSmallLog, contents, &log).ok());
    ASSERT_TRUE(log->Append("first", &end_).ok());
    env.FailAt(env.operations() + step, ENOSPC, 1);
    EXPECT_TRUE(log->Append(std::string(3000, 'x'), &end_).IsNoSpace());
    ASSERT_TRUE(log->Append("second", &end_).ok());
    env.Restart(0);
    ASSERT_TRUE(ReadLog(&env, "d", 0, CollectInto(&found), &contents).ok());
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[1].payload, "second");
  }
}

// Tells the thread that appends from the one that reserves ahead, and can stop the latter.
class AheadEnv : public FaultEnv {
 public:
  AheadEnv() : FaultEnv(FileImage{{"d/x", ""}}) {}

  Status NewReservedFile(const std::string& path, uint64_t most_bytes,
                         std::unique_ptr<ReservedFile>* file) override {
    std::unique_ptr<ReservedFile> base;
    SLUICE_RETURN_IF_ERROR(Pass());
    SLUICE_RETURN_IF_ERROR(FaultEnv::NewReservedFile(path, most_bytes, &base));
    *file = std::make_unique<File>(this, std::move(base));
    return {};
  }

  const std::thread::id appender = std::this_thread::get_id();
  std::atomic<uint64_t> by_appender{0};  // calls that take space, or make a file
  std::atomic<bool> closed{false};       // the other thread's wait
  std::atomic<bool> full{false};         // the other thread's find no space

 private:
  class File final : public ReservedFile {
   public:
    File(AheadEnv* env, std::unique_ptr<ReservedFile> base) : env_(*env), base_(std::move(base)) {}
    Status Reserve(uint64_t bytes) override {
      SLUICE_RETURN_IF_ERROR(env_.Pass());
      return base_->Reserve(bytes);
    }
    Status Write(uint64_t offset, std::string_view bytes) override {
      return base_->Write(offset, bytes);
    }
    Status Sync() override { return base_->Sync(); }

   private:
    AheadEnv& env_;
    const std::unique_ptr<ReservedFile> base_;
  };

  Status Pass() {
    if (std::this_thread::get_id() == appender) {
      ++by_appender;
      return {};
    }
    closed.wait(true);
    return full ? Status::NoSpace("full") : Status();
  }
};

class AheadTest : public testing::Test {
 protected:
  static constexpr RedoLogOptions kOptions = {
      .segment_bytes = 40000, .step_bytes = 1000, .most_ahead_bytes = 16000};
  static constexpr uint64_t kRecordBytes = 100;

  void SetUp() override {
    LogContents contents;
    ASSERT_TRUE(ReadLog(&env_, "d", 0, CollectInto(&found_), &contents).ok());
    ASSERT_TRUE(RedoLog::Open(&env_, "d", kOptions, contents, &log_).ok());
  }
  void TearDown() override { Open(); }

  void Open() {
    env_.closed = false;
    env_.closed.notify_all();
  }
  void Append(uint64_t bytes) {
    for (; bytes >= kRecordBytes; bytes -= kRecordBytes, ++appended_) {
      LogPosition end;
      ASSERT_TRUE(log_->Append(std::string(kRecordBytes - 10, 'x'), &end).ok());
    }
  }
  // Until the thread has nothing left to do, all but the last piece.
  void AwaitAhead() {
    const uint64_t used = LogSegment(log_->end()) * kOptions.segment_bytes;
    while (log_->file_bytes() + 2 * kOptions.step_bytes <
           used - kOptions.segment_bytes + LogOffset(log_->end()) + kOptions.most_ahead_bytes) {
      std::this_thread::yield();
    }
  }

  AheadEnv env_;
  std::vector<LogRecord> found_;
  std::unique_ptr<RedoLog> log_;
  uint64_t appended_ = 0;
};

TEST_F(AheadTest, AppendsWhileTheFileSystemGivesNoSpace) {
  Append(20 * kOptions.most_ahead_bytes);
  for (int i = 0; i < 20; ++i) {  // some of them at the end of a segment
    AwaitAhead();
    env_.closed = true;
    const uint64_t before = env_.by_appender;
    Append(kOptions.most_ahead_bytes - 3 * kOptions.step_bytes);
    EXPECT_EQ(env_.by_appender, before);
    Open();
  }
  std::vector<LogRecord> found;
  LogContents contents;
  ASSERT_TRUE(ReadLog(&env_, "d", 0, CollectInto(&found), &contents).ok());
  EXPECT_EQ(found.size(), appended_);
}

TEST_F(AheadTest, ALogThatIsLittleUsedTakesNothingAhead) {
  Append(10 * kOptions.step_bytes);
  EXPECT_LT(log_->file_bytes(), 11 * kOptions.step_bytes);
}

TEST_F(AheadTest, WhatCannotBeReservedAheadIsNoErrorOfAppend) {
  Append(20 * kOptions.most_ahead_bytes);
  env_.full = true;
  Append(3 * kOptions.segment_bytes);
  env_.full = false;
  Append(2 * kOptions.step_bytes);  // gets a step itself, so that the thread tries again
  AwaitAhead();
  EXPECT_TRUE(log_->Sync().ok());
}

TEST_F(AheadTest, TheNextSegmentsFileGoesWithTheLog) {
  Append(kOptions.segment_bytes * 10);
  while (LogOffset(log_->end()) + kOptions.step_bytes * 4 < kOptions.segment_bytes) {
    Append(kRecordBytes);
  }
  AwaitAhead();
  std::vector<std::string> before;
  ASSERT_TRUE(env_.GetChildren("d", &before).ok());
  const std::string next = std::to_string(LogSegment(log_->end()) + 1) + ".log";
  const auto is_next = [&](const std::string& name) { return name.ends_with(next); };
  EXPECT_TRUE(std::any_of(before.begin(), before.end(), is_next));
  log_.reset();
  std::vector<std::string> after;
  ASSERT_TRUE(env_.GetChildren("d", &after).ok());
  EXPECT_FALSE(std::any_of(after.begin(), after.end(), is_next));
  EXPECT_EQ(after.size() + 1, before.size());
}

TEST(RedoLog, SyncsAndReleasesWhileAppending) {
  TempDir dir;
  LogContents contents;
  std::vector<LogRecord> records;
  ASSERT_TRUE(ReadLog(Env::Posix(), dir.path(), 0, CollectInto(&records), &contents).ok());
  std::unique_ptr<RedoLog> log;
  ASSERT_TRUE(RedoLog::Open(Env::Posix(), dir.path(),
                            {.segment_bytes = 8192, .step_bytes = 512, .most_ahead_bytes = 4096},
                            contents, &log)
                  .ok());
  std::atomic<bool> done{false};
  std::atomic<LogPosition> released{0};
  std::thread syncer([&] {
    while (!done) {
      const LogPosition before = log->end();
      EXPECT_TRUE(log->Sync().ok());
      EXPECT_GE(log->durable(), before);
    }
  });
  std::thread releaser([&] {
    while (!done) {
      EXPECT_TRUE(log->Release(released).ok());
    }
  });
  for (int i = 0; i < 5000; ++i) {
    LogRecord record{0, std::to_string(i) + std::string(i % 200, 'x')};
    EXPECT_TRUE(log->Append(record.payload, &record.end).ok());
    records.push_back(record);
    if (i % 100 == 99) {
      EXPECT_TRUE(log->Sync().ok());
      released = records[i - 50].end;
    }
  }
  done = true;
  syncer.join();
  releaser.join();
  log.reset();
  std::vector<LogRecord> found;
  ASSERT_TRUE(ReadLog(Env::Posix(), dir.path(), released, CollectInto(&found), &contents).ok());
  ASSERT_EQ(found.size(), 50u);
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].payload, records[records.size() - 50 + i].payload);
    EXPECT_EQ(found[i].end, records[records.size() - 50 + i].end);
  }
}

}  // namespace
}  // namespace sluice
