// What DB::Repair saves of databases that are damaged in one way or another.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "sluice/db.h"
#include "sluice/ingestion.h"
#include "table/testing.h"
#include "tree/table_scan.h"
#include "tree/value_extent.h"
#include "util/fault_env.h"
#include "util/testing.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using Contents = std::map<std::string, std::string>;  // "subtable/key" -> value

class RepairTest : public testing::Test {
 protected:
  RepairTest() : random_(TestSeed()) {
    options_.create_if_missing = true;
    options_.memtable_bytes = 64 << 10;
    options_.extent_bytes = 32 << 10;
    options_.block_bytes = 1024;
    options_.l1_bytes = 256 << 10;
    options_.log_segment_bytes = 64 << 10;
    options_.row_cache_bytes = options_.block_cache_bytes = 1 << 16;
  }

  // Records in all levels, in the log only, and a prepared transaction.
  void Make() {
    std::unique_ptr<DB> db;
    ASSERT_TRUE(DB::Open(options_, Path(), &db).ok());
    Subtable* other;
    ASSERT_TRUE(db->CreateSubtable("other", &other).ok());
    for (int i = 0; i < 12000; ++i) {
      Subtable* const subtable = Uniform(&random_, 0, 3) == 0 ? other : nullptr;
      const std::string key = fmt::format("key{:04}", Uniform(&random_, 0, 3000));
      const std::string name = (subtable != nullptr ? "other/" : "default/") + key;
      if (Uniform(&random_, 0, 4) == 0) {
        ASSERT_TRUE(db->Delete({}, subtable, key).ok());
        contents_.erase(name);
      } else {
        contents_[name] = fmt::format("{}:{}", i, std::string(Uniform(&random_, 0, 200), 'v'));
        ASSERT_TRUE(db->Put({}, subtable, key, contents_[name]).ok());
      }
      if (i == 4000) {
        ASSERT_TRUE(db->CompactRange(nullptr, {}, {}).ok());
      }
    }
    // An empty memtable does not fill up, nor is it flushed, with what follows.
    ASSERT_TRUE(db->Flush(nullptr).ok());
    ASSERT_TRUE(db->WaitForBackgroundWork().ok());
    ASSERT_TRUE(db->Put({.sync = true}, "in the log", "only").ok());
    contents_["default/in the log"] = "only";
    const auto transaction = db->BeginTransaction({}, {});
    ASSERT_TRUE(transaction->Put(other, "promised", "value").ok());
    ASSERT_TRUE(transaction->Prepare("two-phase").ok());
  }

  std::string Path() const { return dir_.File("db"); }
  static Contents Read(DB* db) {
    Contents contents;
    for (Subtable* const subtable : db->ListSubtables()) {
      const auto at = db->NewIterator({}, subtable);
      for (at->SeekToFirst(); at->Valid(); at->Next()) {
        contents[subtable->name() + "/" + std::string(at->key())] = at->value();
      }
      EXPECT_TRUE(at->status().ok()) << at->status().ToString();
    }
    return contents;
  }
  static Contents Files(const std::string& dir) {
    Contents files;
    for (const auto& entry : fs::recursive_directory_iterator(dir)) {
      if (entry.is_regular_file()) {
        std::ifstream in(entry.path(), std::ios::binary);
        files[entry.path()] = std::string(std::istreambuf_iterator<char>(in), {});
      }
    }
    return files;
  }
  // Repairs, and expects that nothing of the damaged database was touched.
  Contents Repair() {
    const Contents before = Files(Path());
    fs::remove_all(dir_.File("to"));
    const Status status = DB::Repair(options_, Path(), dir_.File("to"), &report_);
    EXPECT_TRUE(status.ok()) << status.ToString();
    EXPECT_TRUE(before == Files(Path()));
    std::unique_ptr<DB> db;
    EXPECT_TRUE(DB::Open(options_, dir_.File("to"), &db).ok());
    EXPECT_TRUE(db->Verify(nullptr).ok());
    EXPECT_EQ(db->ListPrepared().size(), report_.prepared_saved);
    return Read(db.get());
  }
  // Overwrites bytes with others.
  static void Damage(const std::string& path, uint64_t offset, size_t bytes) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(offset));
    file << std::string(bytes, '\x5a');
    ASSERT_TRUE(file.good());
  }

  TestRandom random_;
  TempDir dir_;
  Options options_;
  Contents contents_;
  RepairReport report_;
};

TEST_F(RepairTest, AnUndamagedDatabaseIsSavedWhole) {
  Make();
  EXPECT_TRUE(Repair() == contents_);
  EXPECT_TRUE(report_.losses.empty());
  EXPECT_EQ(report_.records_lost, 0u);
  EXPECT_EQ(report_.prepared_saved, 1u);
  EXPECT_GT(report_.log_writes_saved, 0u);
}

TEST_F(RepairTest, WithoutCurrentTheMetadataAreFound) {
  Make();
  fs::remove(Path() + "/CURRENT");
  std::unique_ptr<DB> db;
  EXPECT_FALSE(DB::Open(options_, Path(), &db).ok());
  EXPECT_TRUE(Repair() == contents_);
  EXPECT_EQ(report_.losses.size(), 1u);
}

// The log of a database begins later each time that it is opened.
TEST_F(RepairTest, WithoutCurrentTheMetadataOfLaterLivesAreFound) {
  Make();
  for (int life = 0; life < 3; ++life) {
    std::unique_ptr<DB> db;
    ASSERT_TRUE(DB::Open(options_, Path(), &db).ok());
    ASSERT_TRUE(db->Put({}, fmt::format("life {}", life), "lived").ok());
    contents_[fmt::format("default/life {}", life)] = "lived";
    ASSERT_TRUE(db->Flush(nullptr).ok());
  }
  ASSERT_FALSE(fs::exists(Path() + "/meta/000001.log"));
  fs::remove(Path() + "/CURRENT");
  EXPECT_TRUE(Repair() == contents_);
  EXPECT_EQ(report_.losses.size(), 1u);
}

// All that was there is there; what was deleted may be back.
TEST_F(RepairTest, WithoutMetadataTheExtentsAreFound) {
  for (const Compression compression :
       {Compression::kNone, Compression::kSnappy, Compression::kZstd, Compression::kLz4}) {
    options_.compression = compression;
    options_.zstd_dictionary_bytes = 512;
    fs::remove_all(Path());
    contents_.clear();
    Make();
    fs::remove(Path() + "/CURRENT");
    fs::remove_all(Path() + "/meta");
    const Contents saved = Repair();
    for (const auto& [key, value] : contents_) {
      const std::string id = key.starts_with("other/") ? "subtable-1" + key.substr(5) : key;
      const auto at = saved.find(id);
      EXPECT_TRUE(at != saved.end() && at->second == value) << id;
    }
    EXPECT_LT(saved.size(), 2 * contents_.size());
    EXPECT_EQ(report_.prepared_saved, 1u);
    EXPECT_TRUE(std::any_of(report_.losses.begin(), report_.losses.end(), [](const auto& loss) {
      return loss.find("extents were found without it") != std::string::npos;
    }));
  }
}

TEST_F(RepairTest, WithoutMetadataTiersAreSearchedToo) {
  options_.level_paths = {"", dir_.File("one"), dir_.File("two")};
  Make();
  fs::remove_all(Path() + "/meta");
  ASSERT_TRUE(DB::Repair(options_, Path(), dir_.File("to"), &report_).ok());
  options_.level_paths.clear();
  std::unique_ptr<DB> db;
  ASSERT_TRUE(DB::Open(options_, dir_.File("to"), &db).ok());
  const Contents saved = Read(db.get());
  for (const auto& [key, value] : contents_) {
    const std::string id = key.starts_with("other/") ? "subtable-1" + key.substr(5) : key;
    EXPECT_TRUE(saved.contains(id) && saved.at(id) == value) << id;
  }
  EXPECT_GT(report_.extents, 10u);
}

TEST_F(RepairTest, WithoutMetadataTheLogIsSaved) {
  {
    std::unique_ptr<DB> db;
    ASSERT_TRUE(DB::Open(options_, Path(), &db).ok());
    Subtable* other;
    ASSERT_TRUE(db->CreateSubtable("other", &other).ok());
    ASSERT_TRUE(db->Put({}, "a", "1").ok());
    ASSERT_TRUE(db->Put({}, "a", "2").ok());
    ASSERT_TRUE(db->Put({}, other, "b", "3").ok());
    ASSERT_TRUE(db->Delete({}, other, "b").ok());
    ASSERT_TRUE(db->Put({.sync = true}, other, "c", "4").ok());
  }
  fs::remove_all(Path() + "/meta");
  EXPECT_EQ(Repair(), (Contents{{"default/a", "2"}, {"subtable-1/c", "4"}}));
}

// What is ingested is in no log, and newer than all that was written before. One of the writes is the
// last, so that the log reaches beyond the extents.
TEST_F(RepairTest, WithoutMetadataIngestionsStayNewerThanTheLog) {
  for (const std::string_view before : {"puts", "deletions", "range deletion"}) {
    SCOPED_TRACE(before);
    fs::remove_all(Path());
    contents_.clear();
    {
      std::unique_ptr<DB> db;
      ASSERT_TRUE(DB::Open(options_, Path(), &db).ok());
      std::unique_ptr<Ingestion> ingestion;
      for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 200; ++i) {
          const std::string key = fmt::format("key{:04}", i);
          if (before == "puts") {
            ASSERT_TRUE(db->Put({}, key, "old").ok());
          } else if (before == "deletions") {
            ASSERT_TRUE(db->Delete({}, key).ok());
          }
        }
        if (before == "range deletion") {
          ASSERT_TRUE(db->DeleteRange({}, nullptr, "key", "kez").ok());
        }
        ASSERT_TRUE(db->NewIngestion(&ingestion).ok());
        for (int i = 0; i < 200; ++i) {
          const std::string key = fmt::format("key{:04}", i);
          contents_["default/" + key] = fmt::format("ingested {}", round);
          ASSERT_TRUE(ingestion->Add(nullptr, key, contents_["default/" + key]).ok());
        }
        ASSERT_TRUE(ingestion->Commit().ok());
        ingestion.reset();
        ASSERT_TRUE(db->Put({.sync = true}, "key0007", "last").ok());
        contents_["default/key0007"] = "last";
      }
    }
    fs::remove_all(Path() + "/meta");
    EXPECT_TRUE(Repair() == contents_);
  }
}

// The extents of an ingestion that was never committed may be found; what the log has of other keys
// stays.
TEST_F(RepairTest, WithoutMetadataAnUnfinishedIngestionHidesNothingElse) {
  const std::string crashed = dir_.File("crashed");
  {
    std::unique_ptr<DB> db;
    ASSERT_TRUE(DB::Open(options_, Path(), &db).ok());
    for (int i = 0; i < 200; ++i) {
      ASSERT_TRUE(db->Put({.sync = i == 199}, fmt::format("key{:04}", i), "logged").ok());
    }
    std::unique_ptr<Ingestion> ingestion;
    ASSERT_TRUE(db->NewIngestion(&ingestion).ok());
    for (int i = 0; i < 2000; ++i) {
      ASSERT_TRUE(
          ingestion->Add(nullptr, fmt::format("other{:04}", i), std::string(200, 'v')).ok());
    }
    fs::copy(Path(), crashed, fs::copy_options::recursive);
  }
  fs::remove_all(crashed + "/meta");
  ASSERT_TRUE(DB::Repair(options_, crashed, dir_.File("to"), &report_).ok());
  std::unique_ptr<DB> db;
  ASSERT_TRUE(DB::Open(options_, dir_.File("to"), &db).ok());
  const Contents saved = Read(db.get());
  for (int i = 0; i < 200; ++i) {
    EXPECT_TRUE(saved.contains(fmt::format("default/key{:04}", i))) << i;
  }
}

// Damage at the end of the metadata must not cost more than the loss of all of them: what is alive may
// be in extents that only the last changes name.
TEST_F(RepairTest, DamageAtTheEndOfTheMetadataCostsNoMoreThanAllOfThem) {
  {
    std::unique_ptr<DB> db;
    ASSERT_TRUE(DB::Open(options_, Path(), &db).ok());
    Subtable* named;
    ASSERT_TRUE(db->CreateSubtable("named", &named).ok());
    for (int i = 0; i < 5000; ++i) {
      const std::string key = fmt::format("key{:05}", i);
      ASSERT_TRUE(db->Put({}, i % 2 == 0 ? nullptr : named, key, std::string(100, 'v')).ok());
      contents_[(i % 2 == 0 ? "default/" : "named/") + key] = std::string(100, 'v');
    }
    ASSERT_TRUE(db->CompactRange(nullptr, {}, {}).ok());
    ASSERT_TRUE(db->Flush(named).ok());
    ASSERT_TRUE(db->Put({.sync = true}, "key", "last").ok());
    contents_["default/key"] = "last";
  }
  std::string newest;
  for (const auto& [file, contents] : Files(Path() + "/meta")) {
    newest = file.ends_with(".log") ? file : newest;
  }
  std::string bytes;
  ASSERT_TRUE(Env::Posix()->ReadFile(newest, &bytes).ok());
  const size_t end = bytes.find_last_not_of('\0');
  ASSERT_NE(end, std::string::npos);
  Damage(newest, end - 2, 2);
  EXPECT_TRUE(Repair() == contents_);
  EXPECT_FALSE(report_.losses.empty());
}

// A crash in the middle of a flush leaves its first extents, and the log of all.
TEST_F(RepairTest, WithoutMetadataAnUnfinishedFlushHidesNothingInTheLog) {
  options_.memtable_bytes = 4 << 20;
  const std::string crashed = dir_.File("crashed");
  {
    std::unique_ptr<DB> db;
    ASSERT_TRUE(DB::Open(options_, Path(), &db).ok());
    for (int i = 0; i < 2000; ++i) {
      const std::string key = fmt::format("key{:04}", Uniform(&random_, 0, 3000));
      contents_["default/" + key] = fmt::format("{}:{}", i, std::string(100, 'v'));
      ASSERT_TRUE(db->Put({.sync = i == 1999}, nullptr, key, contents_["default/" + key]).ok());
    }
    fs::copy(Path(), crashed, fs::copy_options::recursive);
    ASSERT_TRUE(db->Flush(nullptr).ok());
  }
  fs::copy_file(Path() + "/000001.data", crashed + "/000001.data",
                fs::copy_options::overwrite_existing);
  fs::resize_file(crashed + "/000001.data", fs::file_size(crashed + "/000001.data") / 2);
  fs::remove_all(crashed + "/meta");
  ASSERT_TRUE(DB::Repair(options_, crashed, dir_.File("to"), &report_).ok());
  EXPECT_GT(report_.extents, 0u);
  std::unique_ptr<DB> db;
  ASSERT_TRUE(DB::Open(options_, dir_.File("to"), &db).ok());
  EXPECT_TRUE(Read(db.get()) == contents_);
}

// A number that no metadata names is given again after a crash, so pages that came free may have
// other values under the number of a value extent.
TEST_F(RepairTest, WithoutMetadataValuesAreFoundBehindOthersOfTheSameNumber) {
  options_.separate_value_bytes = 1000;
  options_.memtable_bytes = 4 << 20;
  options_.automatic_compactions = false;
  const auto value = [](int round, int i) {
    return fmt::format("{} {} {}", round, i, std::string(2000, 'v'));
  };
  {
    std::unique_ptr<DB> db;
    ASSERT_TRUE(DB::Open(options_, Path(), &db).ok());
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < 20; ++i) {
        contents_["default/" + std::to_string(i)] = value(round, i);
        ASSERT_TRUE(db->Put({}, std::to_string(i), value(round, i)).ok());
      }
      ASSERT_TRUE(db->Flush(nullptr).ok());
    }
  }
  std::vector<FoundExtent> found;
  const std::string path = Path() + "/000001.data";
  ASSERT_TRUE(ScanForValueExtents(Env::Posix(), path, 1, [&](FoundExtent extent) {
                found.push_back(std::move(extent));
              }).ok());
  ASSERT_EQ(found.size(), 2u);
  ASSERT_LT(found[0].extent.number, found[1].extent.number);
  ValueExtent older(found[0].extent);
  older.pages.number = found[1].extent.number;
  {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(older.pages.address.page * kPageBytes));
    file << EncodeValueExtentHeader(older, found[0].subtable);
    ASSERT_TRUE(file.good());
  }
  fs::remove_all(Path() + "/meta");
  EXPECT_EQ(Repair(), contents_);
}

TEST_F(RepairTest, WithoutMetadataDamagedBlocksCostWhatIsInThem) {
  Make();
  fs::remove_all(Path() + "/meta");
  const std::string data = Path() + "/000001.data";
  const Contents whole = Repair();
  Damage(data, 100, 20);
  const Contents saved = Repair();
  EXPECT_GT(saved.size(), whole.size() * 9 / 10);
  EXPECT_GT(report_.losses.size(), 1u);
}

// In two databases with the same history, extents lie at the same places of files of the same
// names.
TEST_F(RepairTest, ATierOfAnotherDatabaseIsNotTakenForItsOwn) {
  for (const std::string name : {"db", "other"}) {
    options_.level_paths = {"", dir_.File(name + "-warm"), dir_.File(name + "-cold")};
    std::unique_ptr<DB> db;
    ASSERT_TRUE(DB::Open(options_, dir_.File(name), &db).ok());
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(db->Put({}, fmt::format("key{:04}", i), name.substr(0, 2)).ok());
    }
    ASSERT_TRUE(db->CompactRange(nullptr, {}, {}).ok());
    ASSERT_TRUE(db->Put({}, "in the log", "only").ok());
  }
  ASSERT_TRUE(DB::Repair(options_, Path(), dir_.File("to"), &report_).ok());
  options_.level_paths.clear();
  std::unique_ptr<DB> db;
  ASSERT_TRUE(DB::Open(options_, dir_.File("to"), &db).ok());
  EXPECT_EQ(Read(db.get()), (Contents{{"default/in the log", "only"}}));
  EXPECT_EQ(report_.records_lost, 20u);
  EXPECT_GE(report_.losses.size(), 3u) << "both tiers, and the extents";
}

TEST_F(RepairTest, DamagedExtentsCostWhatIsInThem) {
  Make();
  const std::string data = Path() + "/000001.data";
  Contents saved;
  do {
    Damage(data, Uniform(&random_, 0, fs::file_size(data) - 8192), 8192);
    saved = Repair();
  } while (report_.losses.empty());  // that was free space
  EXPECT_GT(report_.records_lost, 0u);
  EXPECT_GT(saved.size(), contents_.size() / 2);
  EXPECT_EQ(saved.at("default/in the log"), "only");
  size_t same = 0;
  for (const auto& [key, value] : saved) {
    const auto at = contents_.find(key);
    same += at != contents_.end() && at->second == value;
  }
  EXPECT_GT(same, contents_.size() / 2);
}

TEST_F(RepairTest, ADataFileThatIsCutOrGoneCostsWhatIsInIt) {
  Make();
  const std::string data = Path() + "/000001.data";
  fs::resize_file(data, fs::file_size(data) / 2);
  EXPECT_GT(Repair().size(), 100u);
  EXPECT_GT(report_.records_lost, 0u);
  fs::remove(data);
  EXPECT_EQ(Repair().at("default/in the log"), "only");
  EXPECT_EQ(report_.records_saved, 0u);
  EXPECT_EQ(report_.extents, report_.extents_damaged);
}

TEST_F(RepairTest, ADamagedLogIsReadUpToTheDamage) {
  Make();
  for (const auto& [file, bytes] : Files(Path() + "/log")) {
    if (const size_t at = bytes.find("in the log"); at != std::string::npos) {
      Damage(file, at, 10);
    }
  }
  EXPECT_GT(Repair().size(), contents_.size() / 2);
  EXPECT_FALSE(report_.losses.empty());
  EXPECT_EQ(report_.records_lost, 0u);
}

TEST_F(RepairTest, ALogThatIsCutAndHasNoMarkIsALoss) {
  Make();
  for (const auto& [file, bytes] : Files(Path() + "/log")) {
    if (const size_t at = bytes.find("in the log"); at != std::string::npos) {
      fs::resize_file(file, at);
    }
  }
  Damage(Path() + "/log/durable", 0, 1024);
  EXPECT_EQ(Repair().count("default/in the log"), 0u);
  EXPECT_EQ(report_.losses.size(), 1u);
}

TEST_F(RepairTest, MetadataThatAreCutAndHaveNoMarkAreALoss) {
  Make();
  std::string last;
  for (const auto& [file, bytes] : Files(Path() + "/meta")) {
    last = file.ends_with(".log") ? file : last;
  }
  fs::resize_file(last, fs::file_size(last) / 2);
  fs::remove(Path() + "/meta/durable");
  (void)Repair();
  EXPECT_FALSE(report_.losses.empty());
}

// Whatever ends a repair: what it leaves is whole, or nothing, or the empty database that it began
// with; and another repair can take its place.
TEST(RepairCrashTest, LeavesAllOrNothing) {
  const uint64_t seed = TestSeed();
  Options options;
  options.create_if_missing = true;
  options.memtable_bytes = options.extent_bytes = options.log_segment_bytes = 32 << 10;
  FileImage before;
  {
    FaultEnv env;
    options.env = &env;
    std::unique_ptr<DB> db;
    ASSERT_TRUE(DB::Open(options, "db", &db).ok());
    for (int i = 0; i < 600; ++i) {
      ASSERT_TRUE(db->Put({}, fmt::format("{:04}", i), std::string(100, 'v')).ok());
    }
    ASSERT_TRUE(db->Close().ok());
    before = env.Survivors(CrashKind::kProcess, seed);
  }
  const auto count = [&](Env* env, bool* opened) {
    options.env = env;
    options.create_if_missing = false;
    std::unique_ptr<DB> db;
    const Status status = DB::Open(options, "to", &db);
    *opened = status.ok();
    EXPECT_TRUE(status.ok() || status.IsNotFound()) << status.ToString();
    size_t records = 0;
    if (status.ok()) {
      const auto at = db->NewIterator({});
      for (at->SeekToFirst(); at->Valid(); at->Next()) {
        ++records;
      }
      EXPECT_TRUE(at->status().ok() && db->Verify(nullptr).ok());
    }
    return records;
  };
  RepairReport report;
  FaultEnv counted(before);
  options.env = &counted;
  ASSERT_TRUE(DB::Repair(options, "db", "to", &report).ok());
  const uint64_t operations = counted.operations();
  for (uint64_t at = seed % 3; at < operations && !HasFailure(); at += 3) {
    for (const CrashKind kind : {CrashKind::kPower, CrashKind::kProcess}) {
      SCOPED_TRACE(testing::Message() << "operation " << at << ", seed " << seed);
      FaultEnv env(before);
      env.CrashAt(at, seed + at);
      options.env = &env;
      const bool ok = DB::Repair(options, "db", "to", &report).ok();
      const FileImage left = env.Survivors(kind, seed + at);
      FaultEnv after(left);
      bool opened = false;
      const size_t records = count(&after, &opened);
      EXPECT_TRUE(records == 600 || (records == 0 && !ok)) << records;
      if (!opened && after.FileExists("to/IDENTITY").ok()) {
        FaultEnv again(left);
        options.env = &again;
        const Status status = DB::Repair(options, "db", "to", &report);
        EXPECT_TRUE(status.ok()) << status.ToString();
        EXPECT_EQ(count(&again, &opened), 600);
      }
    }
    FaultEnv env(before);
    env.FailAt(at, ENOSPC, seed + at);
    options.env = &env;
    bool opened = false;
    if (!DB::Repair(options, "db", "to", &report).ok()) {
      EXPECT_EQ(count(&env, &opened), 0);
    }
  }
}

TEST_F(RepairTest, RefusesWhatItCannotRepair) {
  EXPECT_TRUE(DB::Repair(options_, Path(), dir_.File("to"), &report_).IsNotFound());
  Make();
  fs::create_directory(dir_.File("there"));
  EXPECT_EQ(DB::Repair(options_, Path(), dir_.File("there"), &report_).code(),
            Status::Code::kInvalidArgument);
  {
    std::unique_ptr<DB> db;
    ASSERT_TRUE(DB::Open(options_, Path(), &db).ok());
    EXPECT_EQ(DB::Repair(options_, Path(), dir_.File("to"), &report_).code(), Status::Code::kBusy);
  }
  fs::create_directories(dir_.File("empty"));
  EXPECT_TRUE(DB::Repair(options_, dir_.File("empty"), dir_.File("to"), &report_).IsCorruption());
  EXPECT_TRUE(fs::is_empty(dir_.File("empty"))) << "it is only read";
  EXPECT_FALSE(fs::exists(dir_.File("to")));
}

}  // namespace
}  // namespace sluice
