// What must not be compacted, and what happens when writing fails: the directory stays as it was.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <leveldb/filter_policy.h>

#include <fstream>

#include "failing_env.h"
#include "forged_reference.h"
#include "leveldb_dir/compact.h"
#include "leveldb_dir/database.h"
#include "merge/cpu_executor.h"
#include "real_leveldb.h"
#include "table/table_reader.h"
#include "util/testing.h"

namespace sluice {
namespace {

class FaultTest : public testing::Test {
 protected:
  void SetUp() override { contents_ = MakeRealDatabase(dir_.path(), {.seed = TestSeed()}); }

  Status Compact(Env* env = Env::Posix()) {
    CpuExecutor cpu;
    return CompactDatabase(env, dir_.path(), &cpu, {.table_bytes = 100000}, nullptr, &report_);
  }

  // Compaction fails, with an error whose message has `parts`, and changes nothing.
  void ExpectRefused(std::initializer_list<std::string> parts, Env* env = Env::Posix()) {
    const auto before = ReadDirectory(dir_.path());
    const Status status = Compact(env);
    ASSERT_FALSE(status.ok());
    for (const std::string& part : parts) {
      EXPECT_NE(status.ToString().find(part), std::string::npos)
          << status.ToString() << "\nlacks: " << part;
    }
    EXPECT_EQ(ReadDirectory(dir_.path()), before);
  }

  void Overwrite(const std::string& name, size_t offset, std::string_view bytes) {
    std::fstream file(dir_.File(name), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file << bytes;
  }
  void FlipBit(const std::string& name, size_t offset) {
    const char byte = ReadDirectory(dir_.path()).at(name)[offset];
    Overwrite(name, offset, std::string(1, static_cast<char>(byte ^ 0x10)));
  }

  // A live table in the middle of the deepest level.
  std::string ALiveTable() {
    Database database;
    EXPECT_TRUE(OpenDatabase(Env::Posix(), dir_.path(), &database).ok());
    for (uint32_t level = kNumLevels; level-- > 0;) {
      const auto& tables = database.state.levels[level];
      if (!tables.empty()) {
        return database.table_names.at(tables[tables.size() / 2].number);
      }
    }
    return "";
  }
  std::string ALog() {
    for (const auto& [name, bytes] : ReadDirectory(dir_.path())) {
      if (name.ends_with(".log") && !bytes.empty()) {
        return name;
      }
    }
    return "";
  }

  TempDir dir_;
  Contents contents_;
  CompactReport report_;
};

TEST_F(FaultTest, CorruptDataBlock) {
  const std::string name = ALiveTable();
  std::unique_ptr<TableReader> table;
  ASSERT_TRUE(TableReader::Open(Env::Posix(), dir_.File(name), &table).ok());
  BlockIterator entry(table->index());
  entry.SeekToFirst();
  entry.Next();
  ASSERT_TRUE(entry.Valid());
  BlockHandle handle;
  ASSERT_TRUE(table->ReadHandle(entry, &handle).ok());
  FlipBit(name, handle.offset + handle.size / 2);
  ExpectRefused(
      {"corruption", fmt::format("{}, offset {}: ", dir_.File(name), handle.offset), "checksum"});
}

// The engine's tables may have references; an executor merges them. Newer versions shadow some of
// these.
TEST_F(FaultTest, ReferenceInAnyTable) {
  const TempDir other;
  MakeRealDatabase(other.path(),
                   {.leveldb = {.compression = leveldb::kNoCompression, .restart_interval = 1},
                    .seed = TestSeed()});
  size_t tables = 0;
  for (const auto& [name, bytes] : ReadDirectory(other.path())) {
    if (!name.ends_with(".ldb")) {
      continue;
    }
    const uint64_t offset = ForgeReference(other.File(name));
    CpuExecutor cpu;
    const Status status = CompactDatabase(Env::Posix(), other.path(), &cpu, {.table_bytes = 100000},
                                          nullptr, &report_);
    EXPECT_EQ(status.ToString(),
              fmt::format("corruption: {}, offset {}: a record of type 2, which LevelDB does not "
                          "have",
                          other.File(name), offset));
    std::ofstream(other.File(name), std::ios::binary) << bytes;
    ++tables;
  }
  EXPECT_GT(tables, 6u);
  CpuExecutor cpu;
  EXPECT_TRUE(CompactDatabase(Env::Posix(), other.path(), &cpu, {}, nullptr, &report_).ok());
}

TEST_F(FaultTest, CorruptIndexBlock) {
  const std::string name = ALiveTable();
  std::unique_ptr<TableReader> table;
  ASSERT_TRUE(TableReader::Open(Env::Posix(), dir_.File(name), &table).ok());
  const uint64_t offset = table->footer().index.offset;
  FlipBit(name, offset + 3);
  ExpectRefused({"corruption", dir_.File(name), fmt::format("offset {}", offset), "checksum"});
}

TEST_F(FaultTest, CorruptFooter) {
  const std::string name = ALiveTable();
  const size_t bytes = ReadDirectory(dir_.path()).at(name).size();
  FlipBit(name, bytes - 1);
  ExpectRefused({"corruption", dir_.File(name), fmt::format("offset {}", bytes - 8)});
}

TEST_F(FaultTest, CorruptLog) {
  const std::string name = ALog();
  FlipBit(name, 20);
  ExpectRefused({"corruption", dir_.File(name) + ": offset 0: ", "checksum"});
}

TEST_F(FaultTest, MissingAndTruncatedTables) {
  const std::string name = ALiveTable();
  const std::string bytes = ReadDirectory(dir_.path()).at(name);
  std::filesystem::resize_file(dir_.File(name), bytes.size() - 1);
  ExpectRefused({"corruption", dir_.File(name), fmt::format("offset {}", bytes.size() - 1)});
  std::filesystem::remove(dir_.File(name));
  ExpectRefused({"corruption", dir_.File(name), "missing"});
}

TEST_F(FaultTest, EveryFlippedBitOfATableIsFoundOrHarmless) {
  const std::string name = ALiveTable();
  const auto before = ReadDirectory(dir_.path());
  std::mt19937_64 random(TestSeed());
  for (int i = 0; i < 60; ++i) {
    const size_t offset = random() % before.at(name).size();
    FlipBit(name, offset);
    const auto damaged = ReadDirectory(dir_.path());
    const Status status = Compact();
    if (status.ok()) {  // nobody reads that byte, as the padding in the footer
      ExpectHolds(dir_.path(), {}, contents_);
      break;
    }
    ASSERT_NE(status.message().find(dir_.File(name)), std::string::npos) << status.ToString();
    ASSERT_NE(status.message().find("offset "), std::string::npos) << status.ToString();
    ASSERT_EQ(ReadDirectory(dir_.path()), damaged);
    Overwrite(name, offset, before.at(name).substr(offset, 1));
  }
}

TEST_F(FaultTest, LockedDatabase) {
  const RealLevelDb real(dir_.path(), {});
  // The lock counts between processes only.
  EXPECT_EQ(InChildProcess([this] {
              const Status status = Compact();
              return status.code() == Status::Code::kBusy &&
                             status.message().find("LOCK") != std::string::npos
                         ? 7
                         : 1;
            }),
            7);
}

// A filter policy of somebody's own.
class OwnPolicy : public leveldb::FilterPolicy {
 public:
  const char* Name() const override { return "test.OwnFilter"; }
  void CreateFilter(const leveldb::Slice*, int, std::string* out) const override {
    out->push_back('f');
  }
  bool KeyMayMatch(const leveldb::Slice&, const leveldb::Slice&) const override { return true; }
};

TEST_F(FaultTest, UnknownFilterPolicy) {
  const OwnPolicy policy;
  leveldb::Options options;
  options.filter_policy = &policy;
  leveldb::DB* db = nullptr;
  ASSERT_TRUE(leveldb::DB::Open(options, dir_.path(), &db).ok());
  db->CompactRange(nullptr, nullptr);
  delete db;
  ExpectRefused({"not supported", "test.OwnFilter", ".ldb, offset "});
}

TEST_F(FaultTest, FullDisk) {
  // One failure at each write in turn, until none is left.
  int successes = 0;
  for (int fail_at = 0; successes == 0 && fail_at < 1000; ++fail_at) {
    int writes = 0;
    FailingEnv env([&](std::string_view operation, const std::string& path) {
      const bool is_write = operation == "create" || operation == "append" || operation == "sync" ||
                            operation == "close" || operation == "rename";
      return is_write && writes++ == fail_at ? Status::IoError(path + ": No space left on device")
                                             : Status();
    });
    const auto before = ReadDirectory(dir_.path());
    const Status status = Compact(&env);
    if (status.ok()) {
      EXPECT_GT(fail_at, 20);
      ++successes;
      break;
    }
    ASSERT_NE(status.message().find("No space left"), std::string::npos) << status.ToString();
    ASSERT_EQ(ReadDirectory(dir_.path()), before) << fail_at << ": " << status.ToString();
  }
  EXPECT_EQ(successes, 1);
  ExpectHolds(dir_.path(), {}, contents_);
}

// CURRENT may already be the new one: then nothing may be removed, neither old nor new.
TEST_F(FaultTest, CommitThatMayNotBeDurableKeepsBothStates) {
  int syncs = 0;
  FailingEnv env([&](std::string_view operation, const std::string& path) {
    return operation == "sync directory" && ++syncs == 2 ? Status::IoError(path + ": broken disk")
                                                         : Status();
  });
  const auto before = ReadDirectory(dir_.path());
  const Status status = Compact(&env);
  EXPECT_NE(status.message().find("broken disk"), std::string::npos) << status.ToString();
  EXPECT_EQ(syncs, 2);
  auto after = ReadDirectory(dir_.path());
  for (const auto& [name, bytes] : before) {
    if (name != "CURRENT") {
      EXPECT_EQ(after[name], bytes) << name;
    }
  }
  ExpectHolds(dir_.path(), {}, contents_);
}

TEST_F(FaultTest, FilesThatCannotBeRemovedAreCounted) {
  FailingEnv env([](std::string_view operation, const std::string& path) {
    return operation == "remove" && path.ends_with(".ldb") ? Status::IoError("no") : Status();
  });
  ASSERT_TRUE(Compact(&env).ok());
  EXPECT_GE(report_.files_left, report_.input_tables);
  ExpectHolds(dir_.path(), {}, contents_);
}

}  // namespace
}  // namespace sluice
