// Sub-tables with directories of their own choice among those of the database
// (SubtableOptions::level_tiers): which of their files grow, and which are needed.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "db/fixture.h"

namespace sluice {
namespace {

using Tiers = std::vector<uint32_t>;
using Bytes = std::array<uint64_t, 4>;

constexpr int kRecords = 500;
constexpr size_t kHome = 3;  // of Bytes; those before are the levels' own directories

std::string Key(int i) { return fmt::format("{:08}", i); }

class LevelTiersTest : public DbFixture {
 protected:
  LevelTiersTest() {
    options_.automatic_compactions = false;
    options_.memtable_bytes = 4 << 20;
    options_.level_paths = {dir_.File("hot"), dir_.File("warm"), dir_.File("cold")};
  }

  Bytes DataBytes() {
    std::vector<std::string> dirs = options_.level_paths;
    dirs.push_back(dir_.File("db"));
    Bytes bytes{};
    for (size_t i = 0; i < dirs.size(); ++i) {
      for (const auto& entry : std::filesystem::directory_iterator(dirs[i])) {
        bytes[i] += entry.path().extension() == ".data" ? entry.file_size() : 0;
      }
    }
    return bytes;
  }
  // Which of them have grown.
  std::vector<size_t> GrownSince(const Bytes& before) {
    const Bytes now = DataBytes();
    std::vector<size_t> grown;
    for (size_t i = 0; i < now.size(); ++i) {
      if (now[i] > before[i]) {
        grown.push_back(i);
      }
    }
    return grown;
  }
  Subtable* Create(const std::string& name, const SubtableOptions& own) {
    Subtable* subtable = nullptr;
    EXPECT_TRUE(db_->CreateSubtable(own, name, &subtable).ok());
    return subtable;
  }
  void Put(Subtable* subtable, int first = 0) {
    for (int i = first; i < first + kRecords; ++i) {
      ASSERT_TRUE(db_->Put({}, subtable, Key(i), std::string(200, 'v')).ok());
    }
  }
  // The files that grow when records are flushed.
  std::vector<size_t> Flush(Subtable* subtable, int first = 0) {
    const Bytes before = DataBytes();
    Put(subtable, first);
    EXPECT_TRUE(db_->Flush(subtable).ok());
    return GrownSince(before);
  }
  // Those that grow when what is flushed is compacted into the last level.
  std::vector<size_t> Compact(Subtable* subtable) {
    const Bytes before = DataBytes();
    EXPECT_TRUE(db_->CompactRange(subtable, {}, {}).ok());
    return GrownSince(before);
  }
  std::vector<size_t> Ingest(Subtable* subtable) {
    const Bytes before = DataBytes();
    std::unique_ptr<Ingestion> ingestion;
    EXPECT_TRUE(db_->NewIngestion(&ingestion).ok());
    for (int i = 0; i < kRecords; ++i) {
      EXPECT_TRUE(ingestion->Add(subtable, Key(i), std::string(200, 'v')).ok());
    }
    EXPECT_TRUE(ingestion->Commit().ok());
    return GrownSince(before);
  }
  void ExpectRecords(Subtable* subtable, int records) {
    const auto at = db_->NewIterator({}, subtable);
    int i = 0;
    for (at->SeekToFirst(); at->Valid(); at->Next(), ++i) {
      ASSERT_EQ(at->key(), Key(i));
      ASSERT_EQ(at->value(), std::string(200, 'v'));
    }
    EXPECT_TRUE(at->status().ok()) << at->status().ToString();
    EXPECT_EQ(i, records);
  }
  Status OpenWithout(size_t level) {
    db_.reset();
    options_.level_paths[level].clear();
    return DB::Open(options_, dir_.File("db"), &db_);
  }
};

TEST_F(LevelTiersTest, EachLevelIsWhereTheyOrTheDatabaseSay) {
  for (const auto& [tiers, upper, last] : {std::tuple{std::optional<Tiers>(), 0, 2},
                                           {Tiers{}, 0, 2},
                                           {Tiers{0, 0, 0}, 0, 0},
                                           {Tiers{2, 2, 2}, 2, 2},
                                           {Tiers{1}, 1, 2},
                                           {Tiers{2, 1, 0}, 2, 0},
                                           {Tiers{0, 0, 1}, 0, 1}}) {
    const SubtableOptions own{.level_tiers = tiers};
    SCOPED_TRACE(own.ToString());
    ASSERT_TRUE(DB::Destroy(options_, dir_.File("db")).ok());
    Open();
    Subtable* const subtable = Create("t", own);
    const std::vector<size_t> of_upper = {static_cast<size_t>(upper)};
    const std::vector<size_t> of_last = {static_cast<size_t>(last)};
    EXPECT_EQ(Ingest(Create("i", own)), of_last);
    EXPECT_EQ(Flush(subtable), of_upper);
    EXPECT_EQ(Flush(subtable), of_upper);
    EXPECT_EQ(Compact(subtable), of_last);
    EXPECT_TRUE(db_->Verify(nullptr).ok());
    db_.reset();
  }
}

TEST_F(LevelTiersTest, ValuesApartAreWhereTheLastLevelIs) {
  options_.separate_value_bytes = 100;
  Open();
  Subtable* const subtable = Create("t", {.level_tiers = Tiers{0, 0, 1}});
  EXPECT_EQ(Flush(subtable), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(Ingest(Create("i", {.level_tiers = Tiers{0, 0, 1}})), std::vector<size_t>{1});
  ASSERT_TRUE(db_->SetSubtableOptions(subtable, {.level_tiers = Tiers{0, 0, 0}}).ok());
  EXPECT_EQ(Flush(subtable, kRecords), std::vector<size_t>{0});
  ExpectRecords(subtable, 2 * kRecords);
}

TEST_F(LevelTiersTest, AreKeptAndChangeWhereNewExtentsGo) {
  Open();
  Subtable* subtable = Create("t", {.level_tiers = Tiers{2, 2, 2}});
  EXPECT_EQ(Flush(subtable), std::vector<size_t>{2});
  Open();
  subtable = db_->FindSubtable("t");
  EXPECT_EQ(Flush(subtable, kRecords), std::vector<size_t>{2});
  ASSERT_TRUE(db_->SetSubtableOptions(subtable, {.level_tiers = Tiers{0, 1, 1}}).ok());
  EXPECT_EQ(Flush(subtable, 2 * kRecords), std::vector<size_t>{0});
  // What is there is read as before, and is still needed there.
  ExpectRecords(subtable, 3 * kRecords);
  EXPECT_TRUE(OpenWithout(2).IsCorruption());
  options_.level_paths[2] = dir_.File("cold");
  Open();
  subtable = db_->FindSubtable("t");
  EXPECT_EQ(Compact(subtable), std::vector<size_t>{1});
  ExpectRecords(subtable, 3 * kRecords);
  ASSERT_TRUE(OpenWithout(2).ok());
  ExpectRecords(db_->FindSubtable("t"), 3 * kRecords);
}

// Of the last level, too, though there is nothing to merge them with.
TEST_F(LevelTiersTest, CompactRangeMovesWhatIsInTheLastLevel) {
  Open();
  Subtable* const subtable = Create("t", {});
  EXPECT_EQ(Ingest(subtable), std::vector<size_t>{2});
  ASSERT_TRUE(db_->SetSubtableOptions(subtable, {.level_tiers = Tiers{0, 0, 0}}).ok());
  EXPECT_EQ(Compact(subtable), std::vector<size_t>{0});
  ASSERT_TRUE(OpenWithout(2).ok());
  ExpectRecords(db_->FindSubtable("t"), kRecords);
}

// They name levels, not directories.
TEST_F(LevelTiersTest, FollowTheDirectoriesOfEachOpening) {
  options_.level_paths = {dir_.File("hot"), "", dir_.File("cold")};
  Open();
  options_.level_paths.erase(options_.level_paths.begin() + 1);  // for DataBytes
  options_.level_paths.insert(options_.level_paths.begin() + 1, dir_.File("db"));
  Create("t", {.level_tiers = Tiers{1, 1, 1}});
  EXPECT_EQ(Flush(db_->FindSubtable("t")), (std::vector<size_t>{1, kHome}));
  options_.level_paths[1] = dir_.File("warm");
  Open();
  EXPECT_EQ(Flush(db_->FindSubtable("t"), kRecords), std::vector<size_t>{1});
  ExpectRecords(db_->FindSubtable("t"), 2 * kRecords);
}

TEST_F(LevelTiersTest, ACheckpointIsOneDirectory) {
  Open();
  Subtable* const subtable = Create("t", {.level_tiers = Tiers{1, 1, 1}});
  Flush(subtable);
  ASSERT_TRUE(db_->CreateCheckpoint(dir_.File("copy")).ok());
  options_.level_paths.clear();
  Open("copy");
  EXPECT_EQ(db_->GetSubtableOptions(db_->FindSubtable("t")).level_tiers, (Tiers{1, 1, 1}));
  Put(db_->FindSubtable("t"), kRecords);
  ASSERT_TRUE(db_->CompactRange(db_->FindSubtable("t"), {}, {}).ok());
  ExpectRecords(db_->FindSubtable("t"), 2 * kRecords);
}

}  // namespace
}  // namespace sluice
