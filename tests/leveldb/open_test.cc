// Opening directories that the real LevelDB made, and ones that it did not.

#include <gtest/gtest.h>
#include <leveldb/comparator.h>

#include <filesystem>
#include <fstream>

#include "leveldb_dir/database.h"
#include "real_leveldb.h"
#include "util/testing.h"

namespace sluice {
namespace {

size_t CountTables(const Database& database, uint32_t from_level, uint32_t to_level) {
  size_t count = 0;
  for (uint32_t level = from_level; level <= to_level; ++level) {
    count += database.state.levels[level].size();
  }
  return count;
}

void WriteFile(const std::string& path, std::string_view contents) {
  std::ofstream(path, std::ios::binary) << contents;
}

class OpenTest : public testing::Test {
 protected:
  Status Open() { return OpenDatabase(Env::Posix(), dir_.path(), &database_); }
  void Make() { MakeRealDatabase(dir_.path(), {.seed = TestSeed()}); }
  std::string ATable() const {
    for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
      if (entry.path().extension() == ".ldb") {
        return entry.path().string();
      }
    }
    return "";
  }

  TempDir dir_;
  Database database_;
};

// The databases that the other tests compact must have what makes compaction worth testing.
TEST_F(OpenTest, RealDatabaseHasSeveralLevelsAndALog) {
  Make();
  const Status status = Open();
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_GE(CountTables(database_, 0, 0), 6u);
  EXPECT_GE(CountTables(database_, 1, kNumLevels - 1), 2u);
  EXPECT_GE(database_.logs.size(), 1u);
  EXPECT_EQ(database_.table_names.size(), CountTables(database_, 0, kNumLevels - 1));
  for (const auto& [number, name] : database_.table_names) {
    EXPECT_LT(number, database_.next_file_number);
  }
  EXPECT_LT(database_.logs.back(), database_.next_file_number);
}

TEST_F(OpenTest, LocksAgainstLevelDbAndBack) {
  Make();
  {
    RealLevelDb real(dir_.path(), {});
    ASSERT_TRUE(real.status().ok());
    // LevelDB's lock does not keep its own process out: only another's counts.
    EXPECT_EQ(InChildProcess([&] { return Open().code() == Status::Code::kBusy ? 7 : 1; }), 7);
  }
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(InChildProcess([&] {
              RealLevelDb real(dir_.path(), {});
              return real.status().IsIOError() ? 7 : 1;
            }),
            7);
  Database second;
  EXPECT_EQ(OpenDatabase(Env::Posix(), dir_.path(), &second).code(), Status::Code::kBusy);
}

TEST_F(OpenTest, RefusesWhatIsNoDirectory) {
  Status status = OpenDatabase(Env::Posix(), dir_.File("absent"), &database_);
  EXPECT_TRUE(status.IsNotFound());
  WriteFile(dir_.File("file"), "x");
  status = OpenDatabase(Env::Posix(), dir_.File("file"), &database_);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find(dir_.File("file")), std::string::npos) << status.ToString();
}

TEST_F(OpenTest, RefusesOtherDirectoriesAndLeavesThemAlone) {
  WriteFile(dir_.File("000001.log"), "mine");
  const Status status = Open();
  EXPECT_TRUE(status.IsNotFound());
  EXPECT_NE(status.message().find("not a LevelDB database"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(dir_.File("LOCK")));
}

TEST_F(OpenTest, RefusesRocksDb) {
  for (const char* name : {"CURRENT", "IDENTITY", "MANIFEST-000004", "OPTIONS-000007"}) {
    WriteFile(dir_.File(name), "x");
  }
  const Status status = Open();
  EXPECT_TRUE(status.IsNotSupported());
  EXPECT_NE(status.message().find("RocksDB"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(dir_.File("LOCK")));
}

// Orders bytes backwards.
class ReverseComparator : public leveldb::Comparator {
 public:
  int Compare(const leveldb::Slice& a, const leveldb::Slice& b) const override {
    return b.compare(a);
  }
  const char* Name() const override { return "test.Reverse"; }
  void FindShortestSeparator(std::string*, const leveldb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

TEST_F(OpenTest, RefusesOtherComparators) {
  const ReverseComparator reverse;
  leveldb::Options options;
  options.create_if_missing = true;
  options.comparator = &reverse;
  leveldb::DB* db = nullptr;
  ASSERT_TRUE(leveldb::DB::Open(options, dir_.path(), &db).ok());
  delete db;
  const Status status = Open();
  EXPECT_TRUE(status.IsNotSupported());
  EXPECT_NE(status.message().find("test.Reverse"), std::string::npos) << status.ToString();
}

TEST_F(OpenTest, NamesAMissingTable) {
  Make();
  const std::string table = ATable();
  std::filesystem::remove(table);
  const Status status = Open();
  EXPECT_TRUE(status.IsCorruption());
  EXPECT_TRUE(status.message().starts_with(table + ":")) << status.ToString();
}

TEST_F(OpenTest, NamesATruncatedTable) {
  Make();
  const std::string table = ATable();
  const uint64_t bytes = std::filesystem::file_size(table) / 2;
  std::filesystem::resize_file(table, bytes);
  const Status status = Open();
  EXPECT_TRUE(status.IsCorruption());
  EXPECT_TRUE(status.message().starts_with(table + ", offset " + std::to_string(bytes)))
      << status.ToString();
}

TEST_F(OpenTest, ReadsOldTableNames) {
  Make();
  const std::string table = ATable();
  std::filesystem::rename(table, std::filesystem::path(table).replace_extension(".sst"));
  const Status status = Open();
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST_F(OpenTest, RefusesADamagedCurrent) {
  Make();
  for (const char* contents : {"", "MANIFEST-000001", "nonsense\n", "000003.log\n"}) {
    WriteFile(dir_.File("CURRENT"), contents);
    const Status status = Open();
    EXPECT_TRUE(status.IsCorruption()) << status.ToString();
    EXPECT_NE(status.message().find("CURRENT"), std::string::npos);
  }
}

TEST_F(OpenTest, NamesTheOffsetOfADamagedManifest) {
  Make();
  std::string manifest;
  for (const auto& [name, bytes] : ReadDirectory(dir_.path())) {
    if (name.starts_with("MANIFEST")) {
      manifest = name;
      std::string bad = bytes;
      bad[10] = static_cast<char>(bad[10] ^ 1);
      WriteFile(dir_.File(name), bad);
    }
  }
  const Status status = Open();
  EXPECT_TRUE(status.IsCorruption());
  EXPECT_TRUE(status.message().starts_with(dir_.File(manifest) + ": offset 0: "))
      << status.ToString();
}

}  // namespace
}  // namespace sluice
