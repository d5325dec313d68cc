// Entries and logs that something else has changed.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "log/durable_mark.h"
#include "log/log_format.h"
#include "log/log_reader.h"
#include "log/redo_log.h"
#include "log/testing.h"
#include "util/fault_env.h"
#include "util/testing.h"

namespace sluice {
namespace {

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
    ASSERT_TRUE(RedoLog::Open(&env_, "d", kSmallLog, contents, &log).ok());
    for (int i = 0; i < n; ++i) {
      LogRecord record{0, std::to_string(i) + std::string(rng_() % 300, 'r')};
      ASSERT_TRUE(log->Append(record.payload, &record.end).ok());
      ASSERT_TRUE(log->Sync().ok());
      records_.push_back(record);
    }
    files_ = env_.Survivors(CrashKind::kPower, 0);
  }

  Status Read(std::vector<LogRecord>* found) {
    FaultEnv env(files_);
    LogContents contents;
    return ReadLog(&env, "d", 0, CollectInto(found), &contents);
  }

  uint64_t seed_ = TestSeed();
  std::mt19937_64 rng_{seed_};
  FaultEnv env_{FileImage{{"d/x", ""}}};
  std::vector<LogRecord> records_;
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
    std::vector<LogRecord> found;
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
    std::vector<LogRecord> found;
    const Status status = Read(&found);
    EXPECT_TRUE(status.IsCorruption()) << segment << ": " << status.ToString();
    files_ = whole;
  }
}

TEST_F(RedoLogDamage, AtTheVeryEndIsATornTailUnlessTheMarkBesideTheLogSaysNo) {
  Write(10);
  files_ = env_.Survivors(CrashKind::kProcess, 0);
  files_[LogSegmentPath("d", LogSegment(records_.back().end))]
        [LogOffset(records_.back().end) - 1] ^= 1;
  std::vector<LogRecord> found;
  EXPECT_TRUE(Read(&found).IsCorruption());
  found.clear();
  files_.erase("d/durable");
  EXPECT_TRUE(Read(&found).ok());
  EXPECT_EQ(found.size(), 9u);
}

// Damages one file of a log, each in the ways that there are, and says which way.
std::string Damage(const FileImage& earlier, std::mt19937_64& rng, FileImage* files) {
  auto file = files->begin();
  do {
    file = std::next(files->begin(), static_cast<ptrdiff_t>(rng() % files->size()));
  } while (file->first == "d/x");
  const std::string path = file->first;
  std::string& contents = file->second;
  switch (contents.empty() ? 4 : rng() % 5) {
    case 0: {
      const size_t at = rng() % contents.size();
      contents[at] = static_cast<char>(contents[at] ^ 1 << rng() % 8);
      return "a bit at " + std::to_string(at) + " of " + path;
    }
    case 1: {
      const size_t at = rng() % contents.size();
      const size_t end = std::min(contents.size(), at + rng() % 600);
      for (size_t i = at; i < end; ++i) {
        contents[i] = static_cast<char>(rng());
      }
      return std::to_string(end - at) + " bytes from " + std::to_string(at) + " of " + path;
    }
    case 2:
      contents.resize(rng() % contents.size());
      return path + " truncated to " + std::to_string(contents.size());
    case 3:
      if (earlier.contains(path)) {
        contents = earlier.at(path);
        return path + " as it was";
      }
      [[fallthrough]];
    default:
      files->erase(path);
      return path + " removed";
  }
}

// Every end but a clean one, every damage but to two files at once. What log_format.h says is not
// detected, and nothing else, is not detected.
TEST(RedoLog, DamageToWhatWasSyncedIsAnErrorUnlessNothingOnDiskContradictsIt) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 rng(seed);
  std::map<std::string, int> outcomes;
  for (int round = 0; round < 3000 && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    FaultEnv env(FileImage{{"d/x", ""}});
    std::vector<LogRecord> records;
    size_t synced = 0;
    FileImage earlier;
    const uint64_t n = rng() % 40;
    const uint64_t early = n == 0 ? 0 : rng() % n;
    std::unique_ptr<RedoLog> log;
    for (uint64_t i = 0; i < n; ++i) {
      if (log == nullptr || rng() % 15 == 0) {
        LogContents contents;
        log.reset();
        records.clear();
        ASSERT_TRUE(ReadLog(&env, "d", 0, CollectInto(&records), &contents).ok());
        ASSERT_TRUE(RedoLog::Open(&env, "d", kSmallLog, contents, &log).ok());
        synced = records.size();
      }
      LogRecord record{0, RandomPayload(rng, i)};
      ASSERT_TRUE(log->Append(record.payload, &record.end).ok());
      records.push_back(record);
      if (rng() % 3 == 0) {
        ASSERT_TRUE(log->Sync().ok());
        synced = records.size();
      }
      if (i == early) {
        earlier = env.Survivors(CrashKind::kProcess, 0);
      }
    }
    const CrashKind kind = rng() % 2 == 0 ? CrashKind::kProcess : CrashKind::kPower;
    FileImage files = env.Survivors(kind, rng());
    LogPosition beside = 0;
    LogContents whole;
    std::vector<LogRecord> found;
    {
      FaultEnv undamaged(files);
      ASSERT_TRUE(DurableMark::Read(&undamaged, "d", &beside).ok());
      ASSERT_TRUE(ReadLog(&undamaged, "d", 0, CollectInto(&found), &whole).ok());
      ASSERT_GE(found.size(), synced);
      found.clear();
    }
    if (files.size() == 1) {
      continue;
    }
    const std::string damage = Damage(earlier, rng, &files);
    SCOPED_TRACE(damage);
    FaultEnv damaged(files);
    LogContents contents;
    const Status status = ReadLog(&damaged, "d", 0, CollectInto(&found), &contents);
    ASSERT_LE(found.size(), records.size());
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].payload, records[i].payload);
    }
    if (!status.ok()) {
      ASSERT_TRUE(status.IsCorruption()) << status.ToString();
      ++outcomes["error"];
    } else if (found.size() >= synced) {
      ++outcomes["harmless"];
    } else {
      ASSERT_EQ(kind, CrashKind::kPower);
      // A long stretch of damage may include the mark that follows the record.
      const bool bit = damage.starts_with("a bit");
      ASSERT_GE(contents.end, bit ? whole.durable : beside);
      ++outcomes[bit ? "undetected bit" : "undetected end"];
    }
  }
  for (const auto& [outcome, count] : outcomes) {
    RecordProperty(outcome, count);
    std::cout << outcome << ": " << count << "\n";
  }
  EXPECT_GT(outcomes["error"], 100);
  EXPECT_GT(outcomes["harmless"], 100);
}

}  // namespace
}  // namespace sluice
