// Databases that the real LevelDB made, imported into the engine, compared record by record.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "db/import_leveldb.h"
#include "device/test_units.h"
#include "forged_reference.h"
#include "real_leveldb.h"
#include "table/testing.h"
#include "util/fault_env.h"
#include "util/testing.h"

namespace sluice {
namespace {

// Small, so that an import has many tasks and extents.
Options SmallOptions(Env* env = nullptr) {
  Options options;
  options.create_if_missing = true;
  options.env = env;
  options.memtable_bytes = 64 << 10;
  options.extent_bytes = 32 << 10;
  options.block_bytes = 1024;
  options.task_bytes = 100000;
  return options;
}

Contents ReadAll(DB* db, Subtable* subtable) {
  Contents found;
  const auto at = db->NewIterator({}, subtable);
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    found.emplace(at->key(), at->value());
  }
  EXPECT_TRUE(at->status().ok()) << at->status().ToString();
  return found;
}

class ImportTest : public testing::Test {
 protected:
  void Open(const Options& options) {
    db_.reset();
    const Status status = DB::Open(options, dir_.File("db"), &db_);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  Status Import(Subtable* subtable = nullptr) {
    return ImportLevelDb(db_.get(), subtable, source_, nullptr, &report_);
  }
  // Imports into a new sub-table, and checks it before and after it is closed.
  void ImportAndCheck(const Options& options, const Contents& contents) {
    const auto source_before = ReadDirectory(source_);
    Open(options);
    Subtable* subtable;
    ASSERT_TRUE(db_->CreateSubtable("imported", &subtable).ok());
    uint64_t told = 0;
    const Status status = ImportLevelDb(
        db_.get(), subtable, source_,
        [&](uint64_t done, uint64_t total) {
          EXPECT_LE(told, done);
          EXPECT_LE(done, total);
          told = done;
        },
        &report_);
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_GT(told, 0u);
    EXPECT_EQ(report_.output_records, contents.size());
    EXPECT_TRUE(ReadAll(db_.get(), subtable) == contents);
    for (const auto& [key, value] : contents) {
      std::string found;
      ASSERT_TRUE(db_->Get({}, subtable, key, &found).ok()) << key;
      ASSERT_EQ(found, value) << key;
    }
    EXPECT_TRUE(ReadAll(db_.get(), nullptr).empty());
    EXPECT_TRUE(db_->Verify(nullptr).ok());
    EXPECT_TRUE(ReadDirectory(source_) == source_before) << "the source changed";
    Open(options);
    EXPECT_TRUE(ReadAll(db_.get(), db_->FindSubtable("imported")) == contents);
  }

  const uint64_t seed_ = TestSeed();
  TempDir dir_;
  const std::string source_ = dir_.File("leveldb");
  std::unique_ptr<DB> db_;
  ImportReport report_;
};

// Of memory that is never touched but for what stands round the value.
TEST(CheckImportedBlock, RefusesLongKeysAndValues) {
  const size_t reserved = kMaxValueBytes + 4096;
  char* const memory =
      static_cast<char*>(::mmap(nullptr, reserved, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  const auto check = [&](size_t key_bytes, size_t value_bytes) {
    std::string header;
    PutVarint(&header, 0);
    PutVarint(&header, key_bytes + kTrailerBytes);
    PutVarint(&header, value_bytes);
    std::memcpy(memory, header.data(), header.size());
    const size_t entry = header.size() + key_bytes + kTrailerBytes + value_bytes;
    EncodeFixed32(memory + entry, 0);
    EncodeFixed32(memory + entry + 4, 1);
    const Status status = CheckImportedBlock({memory, entry + 8});
    EncodeFixed32(memory + entry + 4, 0);
    return status;
  };
  EXPECT_TRUE(check(16, kMaxValueBytes).ok());
  const Status long_value = check(16, kMaxValueBytes + 1);
  EXPECT_TRUE(long_value.IsNotSupported());
  EXPECT_EQ(long_value.message(), "a value of 1073741825 bytes; values have at most 1073741824");
  EXPECT_TRUE(check(kMaxKeyBytes, 100).ok());
  EXPECT_TRUE(check(kMaxKeyBytes + 1, 100).IsNotSupported());
  ::munmap(memory, reserved);
}

TEST_F(ImportTest, HeedsTheOptionsOfTheSubtable) {
  const Contents contents = MakeRealDatabase(source_, {.seed = seed_});
  Open(SmallOptions());
  Subtable* packed;
  const SubtableOptions own{.compression = Compression::kZstd};
  ASSERT_TRUE(db_->CreateSubtable(own, "packed", &packed).ok());
  for (Subtable* const subtable : {db_->FindSubtable(kDefaultSubtable), packed}) {
    const Status status = Import(subtable);
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_TRUE(ReadAll(db_.get(), subtable) == contents);
  }
  const std::vector<SubtableStatistics> subtables = db_->GetStatistics().subtables;
  EXPECT_LT(subtables[1].levels[2].bytes, subtables[0].levels[2].bytes * 9 / 10);
}

TEST_F(ImportTest, GoesWhereTheSubtablesLastLevelIs) {
  const Contents contents = MakeRealDatabase(source_, {.seed = seed_});
  Options options = SmallOptions();
  options.level_paths = {dir_.File("hot"), "", dir_.File("cold")};
  Open(options);
  Subtable* subtable;
  const SubtableOptions own{.level_tiers = std::vector<uint32_t>{0, 0, 0}};
  ASSERT_TRUE(db_->CreateSubtable(own, "hot", &subtable).ok());
  ASSERT_TRUE(Import(subtable).ok());
  db_.reset();
  options.level_paths.pop_back();  // nothing is there
  Open(options);
  EXPECT_TRUE(ReadAll(db_.get(), db_->FindSubtable("hot")) == contents);
}

TEST_F(ImportTest, EveryOption) {
  int number = 0;
  for (const auto compression : {leveldb::kNoCompression, leveldb::kSnappyCompression}) {
    for (const int bloom_bits : {0, 10}) {
      for (const size_t block_size : {512, 4096}) {
        for (const int restart_interval : {1, 16}) {
          const RealOptions real{.compression = compression,
                                 .bloom_bits = bloom_bits,
                                 .block_size = block_size,
                                 .restart_interval = restart_interval};
          SCOPED_TRACE(real.ToString());
          const Contents contents = MakeRealDatabase(
              source_, {.leveldb = real, .seed = seed_ + number, .deep_writes = 3000});
          Options options = SmallOptions();
          options.compression = number % 2 == 0 ? Compression::kNone : Compression::kSnappy;
          ImportAndCheck(options, contents);
          EXPECT_GT(report_.tasks, 1u);
          EXPECT_GT(report_.runs, 2u);
          db_.reset();
          std::filesystem::remove_all(source_);
          std::filesystem::remove_all(dir_.File("db"));
          ++number;
        }
      }
    }
  }
}

TEST_F(ImportTest, ThroughTheUnit) {
  const Contents contents = MakeRealDatabase(source_, {.seed = seed_, .deep_writes = 2000});
  Options options = SmallOptions();
  options.executors = TestUnits("check");
  ImportAndCheck(options, contents);
}

// Writes behind an import are newer than all of it, and whatever it brought can be deleted.
TEST_F(ImportTest, GoesOnFromThere) {
  Contents contents = MakeRealDatabase(source_, {.seed = seed_});
  Open(SmallOptions());
  ASSERT_TRUE(Import().ok());
  int i = 0;
  for (auto at = contents.begin(); at != contents.end(); ++i) {
    if (i % 3 == 0) {
      at->second = fmt::format("new {}", i);
      ASSERT_TRUE(db_->Put({}, at->first, at->second).ok());
    } else if (i % 3 == 1) {
      ASSERT_TRUE(db_->Delete({}, at->first).ok());
      at = contents.erase(at);
      continue;
    }
    ++at;
  }
  EXPECT_TRUE(ReadAll(db_.get(), nullptr) == contents);
  Open(SmallOptions());
  EXPECT_TRUE(ReadAll(db_.get(), nullptr) == contents);
  ASSERT_TRUE(db_->CompactRange(nullptr, "", "").ok());
  EXPECT_TRUE(ReadAll(db_.get(), nullptr) == contents);
  EXPECT_TRUE(db_->Verify(nullptr).ok());
}

TEST_F(ImportTest, WantsAnUntouchedSubtable) {
  MakeRealDatabase(source_, {.seed = seed_, .deep_writes = 100, .level0_tables = 1});
  Open(SmallOptions());
  ASSERT_TRUE(db_->Put({}, "key", "value").ok());
  EXPECT_EQ(Import().code(), Status::Code::kInvalidArgument);
  ASSERT_TRUE(db_->Delete({}, "key").ok());
  ASSERT_TRUE(db_->CompactRange(nullptr, "", "").ok());
  EXPECT_EQ(Import().code(), Status::Code::kInvalidArgument);
  Subtable* subtable;
  ASSERT_TRUE(db_->CreateSubtable("new", &subtable).ok());
  EXPECT_TRUE(Import(subtable).ok());
  EXPECT_EQ(Import(subtable).code(), Status::Code::kInvalidArgument);
}

TEST_F(ImportTest, NothingIsSomething) {
  { RealLevelDb real(source_, {}); }
  Open(SmallOptions());
  const Status status = Import();
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(report_.extents, 0u);
  EXPECT_TRUE(Import().ok()) << "still untouched";
}

TEST_F(ImportTest, KeyOverTheLimit) {
  Contents contents;
  {
    RealLevelDb real(source_, {.write_buffer_size = 1 << 20});
    real.Put("a", "value", &contents);
    real.Put(std::string(kMaxKeyBytes, 'k'), "the longest", &contents);
  }
  Open(SmallOptions());
  ASSERT_TRUE(Import().ok());
  EXPECT_TRUE(ReadAll(db_.get(), nullptr) == contents);
  RealLevelDb(source_, {}).Put(std::string(kMaxKeyBytes + 1, 'k'), "too long", &contents);
  Subtable* subtable;
  ASSERT_TRUE(db_->CreateSubtable("other", &subtable).ok());
  EXPECT_TRUE(Import(subtable).IsNotSupported());
  EXPECT_TRUE(ReadAll(db_.get(), subtable).empty());
}

TEST_F(ImportTest, BadSources) {
  Open(SmallOptions());
  EXPECT_TRUE(Import().IsNotFound());
  EXPECT_FALSE(std::filesystem::exists(source_));

  const Contents contents = MakeRealDatabase(source_, {.seed = seed_});
  std::string victim;
  for (const auto& entry : std::filesystem::directory_iterator(source_)) {
    if (entry.path().extension() == ".ldb") {
      victim = entry.path().string();
    }
  }
  std::fstream file(victim, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(100);
  const char was = static_cast<char>(file.get());
  file.seekp(100);
  file.put(static_cast<char>(was ^ 1));
  file.flush();
  const Status damaged = Import();
  EXPECT_TRUE(damaged.IsCorruption()) << damaged.ToString();
  EXPECT_NE(damaged.message().find(victim + ", offset "), std::string::npos) << damaged.ToString();
  EXPECT_TRUE(ReadAll(db_.get(), nullptr).empty());
  // Mended, the same sub-table takes it.
  file.seekp(100);
  file.put(was);
  file.close();
  {
    RealLevelDb real(source_, {});
    EXPECT_EQ(InChildProcess([&] { return Import().code() == Status::Code::kBusy ? 7 : 1; }), 7);
  }
  ASSERT_TRUE(Import().ok());
  EXPECT_TRUE(ReadAll(db_.get(), nullptr) == contents);
}

TEST_F(ImportTest, ReferencesAreNotLevelDbs) {
  MakeRealDatabase(source_,
                   {.leveldb = {.compression = leveldb::kNoCompression, .restart_interval = 1},
                    .seed = seed_,
                    .level0_tables = 2});
  Open(SmallOptions());
  for (const auto& [name, bytes] : ReadDirectory(source_)) {
    if (name.ends_with(".ldb")) {
      const std::string path = source_ + "/" + name;
      const uint64_t offset = ForgeReference(path);
      EXPECT_EQ(Import().ToString(),
                fmt::format("corruption: {}, offset {}: a record of type 2, which LevelDB does not "
                            "have",
                            path, offset));
      std::ofstream(path, std::ios::binary) << bytes;
    }
  }
  EXPECT_TRUE(ReadAll(db_.get(), nullptr).empty());
  EXPECT_TRUE(Import().ok());
}

// Whatever operation is the last, all of the source is there again or nothing, and then an import
// can be done.
TEST_F(ImportTest, Crashes) {
  const Contents contents =
      MakeRealDatabase(source_, {.seed = seed_, .deep_writes = 1000, .level0_tables = 2});
  FileImage files;
  ASSERT_TRUE(LoadFiles(Env::Posix(), source_, &files).ok());
  {
    FaultEnv env(files);
    std::unique_ptr<DB> db;
    ASSERT_TRUE(env.CreateDir("db").ok());
    ASSERT_TRUE(DB::Open(SmallOptions(&env), "db", &db).ok());
    ASSERT_TRUE(db->Close().ok());
    files = env.Survivors(CrashKind::kProcess, seed_);
  }
  TestRandom random(seed_);
  bool after = false;
  std::set<bool> seen;
  for (uint64_t operation = 0; !after; operation += Uniform(&random, 1, 6)) {
    SCOPED_TRACE(operation);
    FaultEnv env(files);
    env.CrashAt(operation, random());
    {
      std::unique_ptr<DB> db;
      ImportReport report;
      const bool done = DB::Open(SmallOptions(&env), "db", &db).ok() &&
                        ImportLevelDb(db.get(), nullptr, source_, nullptr, &report).ok();
      after = !env.crashed();
      ASSERT_TRUE(!after || done);
    }
    const CrashKind kind = Uniform(&random, 0, 1) != 0 ? CrashKind::kPower : CrashKind::kProcess;
    FaultEnv next(env.Survivors(kind, random()));
    std::unique_ptr<DB> db;
    const Status status = DB::Open(SmallOptions(&next), "db", &db);
    ASSERT_TRUE(status.ok()) << status.ToString();
    const Contents found = ReadAll(db.get(), nullptr);
    ASSERT_TRUE(found.empty() || found == contents) << found.size();
    seen.insert(found.empty());
    if (found.empty()) {
      ImportReport report;
      ASSERT_TRUE(ImportLevelDb(db.get(), nullptr, source_, nullptr, &report).ok());
      ASSERT_TRUE(ReadAll(db.get(), nullptr) == contents);
    }
    ASSERT_TRUE(db->Verify(nullptr).ok());
  }
  EXPECT_EQ(seen.size(), 2u);
}

}  // namespace
}  // namespace sluice
