// The redo log against a list of records, over lives that end in crashes.

#include "log/redo_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "util/fault_env.h"
#include "util/testing.h"

namespace sluice {
namespace {

constexpr LogPosition kUnknown = ~uint64_t{0};

struct Record {
  LogPosition end;
  std::string payload;
};

LogVisitor CollectInto(std::vector<Record>* records) {
  return [records](LogPosition end, std::string_view payload) {
    records->push_back({end, std::string(payload)});
    return Status();
  };
}

constexpr RedoLogOptions kSmall = {.segment_bytes = 2000, .spare_segments = 2};

std::string RandomPayload(std::mt19937_64& rng, uint64_t id) {
  const size_t bytes = rng() % 20 == 0 ? 3000 : rng() % 300;  // 3000: more than a segment
  std::string payload = std::to_string(id) + "/";
  while (payload.size() < bytes) {
    payload.push_back(static_cast<char>(rng() % 3 == 0 ? 0 : rng()));
  }
  return payload;
}

// What a user of the log knows, over all lives.
struct Model {
  std::vector<Record> records;
  LogPosition from = 0;  // where reading starts: kept elsewhere, durably
  size_t appended = 0;   // records that Append said ok to
  size_t synced = 0;     // and Sync
  uint64_t next_id = 0;
};

void CheckAndTruncate(const std::vector<Record>& found, CrashKind kind, Model* model) {
  const auto needed = std::find_if(model->records.begin(), model->records.end(),
                                   [&](const Record& record) { return record.end > model->from; });
  const size_t first = needed - model->records.begin();
  const size_t must = std::max(kind == CrashKind::kPower ? model->synced : model->appended, first);
  ASSERT_GE(first + found.size(), must);
  ASSERT_LE(first + found.size(), model->records.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].payload, model->records[first + i].payload);
    LogPosition& end = model->records[first + i].end;
    ASSERT_TRUE(end == found[i].end || end == kUnknown);
    end = found[i].end;
  }
  model->records.resize(first + found.size());
  model->appended = std::min(model->appended, model->records.size());
}

// One life: recovers, checks, works until the crash.
void Live(FaultEnv* env, CrashKind last_crash, std::mt19937_64& rng, Model* model) {
  std::vector<Record> found;
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
  if (!RedoLog::Open(env, "d", kSmall, contents, &log).ok()) {
    ASSERT_TRUE(env->crashed());
    return;
  }
  model->appended = model->synced = model->records.size();
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
    } else if (!model->records.empty()) {
      // The records before it are on disk in another form, synced here or not.
      model->from = std::max(model->from, model->records[rng() % model->records.size()].end);
      if (!log->Release(model->from).ok()) {
        break;
      }
    }
  }
  ASSERT_TRUE(env->crashed());
}

TEST(RedoLog, LosesNothingThatWasSynced) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 rng(seed);
  size_t survived_unsynced = 0;
  for (int round = 0; round < 300 && !HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    FileImage files = {{"d/x", ""}};
    Model model;
    CrashKind kind = CrashKind::kProcess;
    for (int life = 0; life < 6 && !HasFailure(); ++life) {
      SCOPED_TRACE("life " + std::to_string(life));
      FaultEnv env(files);
      env.CrashAt(rng() % 400, rng());
      Live(&env, kind, rng, &model);
      kind = rng() % 2 == 0 ? CrashKind::kProcess : CrashKind::kPower;
      files = env.Survivors(kind, rng());
      survived_unsynced += model.records.size() - model.synced;
    }
  }
  EXPECT_GT(survived_unsynced, 100u);
}

// What is cut off, changed in a bit or at another position is neither a record nor a mark.
TEST(LogFormat, TakesNothingElseForAnEntry) {
  const LogPosition kAt = MakeLogPosition(3, 1000);
  for (const size_t payload_bytes : {0, 1, 127, 128, 300}) {
    const std::string payload(payload_bytes, 'p');
    char head[kLogMarkBytes];
    size_t head_bytes = kLogMarkBytes;
    if (payload.empty()) {
      EncodeLogMark(kAt, MakeLogPosition(2, 77), head);
    } else {
      head_bytes = EncodeLogHeader(kAt, payload, head);
      ASSERT_LE(head_bytes, kMostLogHeaderBytes);
    }
    const std::string bytes = std::string(head, head_bytes) + payload;
    const std::string followed = bytes + "what follows";
    LogEntry entry;
    ASSERT_TRUE(DecodeLogEntry(kAt, followed, &entry));
    EXPECT_EQ(entry.bytes, bytes.size());
    EXPECT_EQ(entry.payload, payload);
    EXPECT_EQ(entry.is_mark(), payload.empty());
    EXPECT_EQ(entry.durable, payload.empty() ? MakeLogPosition(2, 77) : 0);
    EXPECT_FALSE(DecodeLogEntry(kAt + 1, bytes, &entry));
    EXPECT_FALSE(DecodeLogEntry(kAt + (uint64_t{1} << 32), bytes, &entry));
    for (size_t cut = 0; cut < bytes.size(); ++cut) {
      EXPECT_FALSE(DecodeLogEntry(kAt, std::string_view(bytes).substr(0, cut), &entry)) << cut;
    }
    for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      std::string changed = bytes + std::string(400, '\0');
      changed[bit / 8] ^= static_cast<char>(1 << bit % 8);
      EXPECT_FALSE(DecodeLogEntry(kAt, changed, &entry)) << bit;
    }
  }
}

class RedoLogDamage : public testing::Test {
 protected:
  // Appends `n` records, synced one by one.
  void Write(int n) {
    LogContents contents;
    ASSERT_TRUE(ReadLog(&env_, "d", 0, CollectInto(&records_), &contents).ok());
    std::unique_ptr<RedoLog> log;
    ASSERT_TRUE(RedoLog::Open(&env_, "d", kSmall, contents, &log).ok());
    for (int i = 0; i < n; ++i) {
      Record record{0, std::to_string(i) + std::string(rng_() % 300, 'r')};
      ASSERT_TRUE(log->Append(record.payload, &record.end).ok());
      ASSERT_TRUE(log->Sync().ok());
      records_.push_back(record);
    }
    files_ = env_.Survivors(CrashKind::kPower, 0);
  }

  Status Read(std::vector<Record>* found) {
    FaultEnv env(files_);
    LogContents contents;
    return ReadLog(&env, "d", 0, CollectInto(found), &contents);
  }

  uint64_t seed_ = TestSeed();
  std::mt19937_64 rng_{seed_};
  FaultEnv env_{FileImage{{"d/x", ""}}};
  std::vector<Record> records_;
  FileImage files_;
};

TEST_F(RedoLogDamage, InTheMiddleIsAnError) {
  Write(40);
  for (size_t i = 0; i + 1 < records_.size(); ++i) {
    SCOPED_TRACE(i);
    const FileImage whole = files_;
    const LogPosition end = records_[i].end;
    const uint64_t begin =
        LogOffset(end) - records_[i].payload.size() - (records_[i].payload.size() < 128 ? 5 : 6);
    const std::string path = LogSegmentPath("d", LogSegment(end));
    files_[path][begin + rng_() % (LogOffset(end) - begin)] ^= static_cast<char>(1 << rng_() % 8);
    std::vector<Record> found;
    const Status status = Read(&found);
    EXPECT_TRUE(status.IsCorruption()) << status.ToString();
    EXPECT_NE(status.message().find(path + ", offset " + std::to_string(begin) + ":"),
              std::string::npos)
        << status.ToString();
    EXPECT_EQ(found.size(), i);
    files_ = whole;
  }
}

TEST_F(RedoLogDamage, AMissingSegmentIsAnError) {
  Write(40);
  ASSERT_GE(LogSegment(records_.back().end), 3u);
  const FileImage whole = files_;
  for (uint64_t segment = 1; segment < LogSegment(records_.back().end); ++segment) {
    files_.erase(LogSegmentPath("d", segment));
    std::vector<Record> found;
    const Status status = Read(&found);
    EXPECT_TRUE(status.IsCorruption()) << segment << ": " << status.ToString();
    files_ = whole;
  }
}

TEST_F(RedoLogDamage, AtTheVeryEndIsATornTail) {
  Write(10);
  files_[LogSegmentPath("d", LogSegment(records_.back().end))]
        [LogOffset(records_.back().end) - 1] ^= 1;
  std::vector<Record> found;
  EXPECT_TRUE(Read(&found).ok());
  EXPECT_EQ(found.size(), 9u);
}

TEST_F(RedoLogDamage, SegmentsAreUsedAgain) {
  LogContents contents;
  ASSERT_TRUE(ReadLog(&env_, "d", 0, CollectInto(&records_), &contents).ok());
  std::unique_ptr<RedoLog> log;
  ASSERT_TRUE(RedoLog::Open(&env_, "d", kSmall, contents, &log).ok());
  LogPosition end;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(log->Append(std::string(100, 'x'), &end).ok());
    ASSERT_TRUE(log->Release(end).ok());
  }
  EXPECT_LE(log->file_bytes(), 4 * kSmall.segment_bytes);
  EXPECT_GT(LogSegment(end), 50u);
}

TEST(RedoLog, SyncsAndReleasesWhileAppending) {
  TempDir dir;
  LogContents contents;
  std::vector<Record> records;
  ASSERT_TRUE(ReadLog(Env::Posix(), dir.path(), 0, CollectInto(&records), &contents).ok());
  std::unique_ptr<RedoLog> log;
  ASSERT_TRUE(
      RedoLog::Open(Env::Posix(), dir.path(), {.segment_bytes = 8192}, contents, &log).ok());
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
    Record record{0, std::to_string(i) + std::string(i % 200, 'x')};
    EXPECT_TRUE(log->Append(record.payload, &record.end).ok());
    records.push_back(record);
    if (i % 100 == 99) {
      released = records[i - 50].end;
    }
  }
  done = true;
  syncer.join();
  releaser.join();
  log.reset();
  std::vector<Record> found;
  ASSERT_TRUE(ReadLog(Env::Posix(), dir.path(), released, CollectInto(&found), &contents).ok());
  ASSERT_EQ(found.size(), 50u);
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].payload, records[records.size() - 50 + i].payload);
    EXPECT_EQ(found[i].end, records[records.size() - 50 + i].end);
  }
}

}  // namespace
}  // namespace sluice
