// Bit rot: whatever byte of whatever file changes, a database never gives a wrong answer; it says
// which file is damaged, or the byte did not matter.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sluice/db.h"
#include "table/testing.h"
#include "util/fault_env.h"
#include "util/testing.h"

namespace sluice {
namespace {

using Records = std::map<std::string, std::string>;

// Not inline: GCC 12 takes parts of inlined defaults for uninitialized.
[[gnu::noinline]] Options TestOptions(Env* env) {
  Options options;
  options.env = env;
  options.create_if_missing = true;
  options.memtable_bytes = 64 << 10;
  options.extent_bytes = 16 << 10;
  options.block_bytes = 1024;
  options.log_segment_bytes = 64 << 10;
  options.automatic_compactions = false;
  return options;
}

// Opens, verifies and reads all.
Status ReadAll(Env* env, Records* records) {
  std::unique_ptr<DB> db;
  Options options = TestOptions(env);
  options.create_if_missing = false;
  if (Status status = DB::Open(options, "db", &db); !status.ok()) {
    return status;
  }
  const Status verified = db->Verify({});
  for (Subtable* const subtable : db->ListSubtables()) {
    const auto at = db->NewIterator({}, subtable);
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      (*records)[fmt::format("{}/{}", subtable->name(), at->key())] = at->value();
    }
    if (Status status = at->status(); !status.ok()) {
      EXPECT_FALSE(verified.ok()) << "a reader finds what Verify does not: " << status.ToString();
      return status;
    }
  }
  return verified;
}

TEST(DbRot, AMissingDataFileIsNamedAndNotMadeAnew) {
  FaultEnv env;
  {
    std::unique_ptr<DB> db;
    ASSERT_TRUE(DB::Open(TestOptions(&env), "db", &db).ok());
    ASSERT_TRUE(db->Put({}, "key", "value").ok());
    ASSERT_TRUE(db->Flush(nullptr).ok());
    ASSERT_TRUE(db->Close().ok());
  }
  const std::string file = "db/000001.data";
  ASSERT_TRUE(env.RenameFile(file, "db/elsewhere").ok());
  for (int i = 0; i < 2; ++i) {
    Records ignored;
    const Status status = ReadAll(&env, &ignored);
    EXPECT_TRUE(status.IsCorruption()) << status.ToString();
    EXPECT_TRUE(status.message().starts_with(file + ": missing")) << status.ToString();
    EXPECT_TRUE(env.FileExists(file).IsNotFound());
  }
  ASSERT_TRUE(env.RenameFile("db/elsewhere", file).ok());
  Records records;
  const Status status = ReadAll(&env, &records);
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(records, (Records{{"default/key", "value"}}));
}

// Every table is sound, but none is the one that belongs there: the data file is that of a database
// with other keys and values of the same sizes.
TEST(DbRot, TheTablesOfOthersAreToldFrom) {
  FileImage files[2];
  const auto key = [](int database, int i) { return fmt::format("{}/{:04}", database, i); };
  for (int database = 0; database < 2; ++database) {
    FaultEnv env;
    std::unique_ptr<DB> db;
    ASSERT_TRUE(DB::Open(TestOptions(&env), "db", &db).ok());
    for (int i = 0; i < 200; ++i) {
      ASSERT_TRUE(db->Put({}, key(database, i), std::string(200, 'v')).ok());
    }
    ASSERT_TRUE(db->Flush(nullptr).ok());
    ASSERT_TRUE(db->Close().ok());
    files[database] = env.Survivors(CrashKind::kPower, 0);
  }
  files[0].at("db/000001.data") = files[1].at("db/000001.data");
  FaultEnv env(files[0]);
  {
    std::unique_ptr<DB> db;
    const Status opened = DB::Open(TestOptions(&env), "db", &db);
    ASSERT_TRUE(opened.ok()) << opened.ToString();
    std::string value;
    for (int i = 0; i < 200; ++i) {
      const Status status = db->Get({}, key(0, i), &value);
      EXPECT_TRUE(status.IsCorruption()) << status.ToString();
    }
  }
  Records records;
  EXPECT_TRUE(ReadAll(&env, &records).IsCorruption());
  EXPECT_EQ(records.size(), 0u);
  RepairReport report;
  ASSERT_TRUE(DB::Repair(TestOptions(&env), "db", "saved", &report).ok());
  EXPECT_EQ(report.records_saved, 0u);
  EXPECT_EQ(report.records_lost, 200u);
}

TEST(DbRot, IsFoundAndNamed) {
  TestRandom random(TestSeed());
  FaultEnv env;
  Records expected;
  {
    std::unique_ptr<DB> db;
    ASSERT_TRUE(DB::Open(TestOptions(&env), "db", &db).ok());
    Subtable* other;
    ASSERT_TRUE(db->CreateSubtable("other", &other).ok());
    for (int i = 0; i < 1500; ++i) {
      Subtable* const subtable = i % 3 == 0 ? other : nullptr;
      const std::string key = fmt::format("key{}", Uniform(&random, 0, 500));
      const std::string value(Uniform(&random, 0, 300), static_cast<char>('a' + i % 26));
      ASSERT_TRUE(db->Put({}, subtable, key, value).ok());
      expected[(subtable != nullptr ? "other/" : "default/") + key] = value;
      if (i == 700) {
        ASSERT_TRUE(db->CompactRange(nullptr, "", "").ok());
      }
    }
    ASSERT_TRUE(db->Close().ok());
  }
  const FileImage files = env.Survivors(CrashKind::kPower, 0);
  std::map<std::string, int> found;
  for (const auto& [path, contents] : files) {
    if (contents.empty()) {
      continue;
    }
    std::vector<size_t> used;
    for (size_t i = 0; i < contents.size(); ++i) {
      if (contents[i] != '\0') {
        used.push_back(i);
      }
    }
    for (int i = 0; i < 60; ++i) {
      FileImage damaged = files;
      const size_t at = i % 4 == 0 || used.empty() ? Uniform(&random, 0, contents.size() - 1)
                                                   : used[Uniform(&random, 0, used.size() - 1)];
      damaged[path][at] = static_cast<char>(damaged[path][at] ^ 1 << Uniform(&random, 0, 7));
      FaultEnv rotten(damaged);
      Records records;
      const Status status = ReadAll(&rotten, &records);
      if (status.ok()) {
        EXPECT_TRUE(records == expected) << path << ", byte " << at << " of " << contents.size();
      } else {
        EXPECT_NE(status.message().find(path), std::string::npos)
            << path << ", byte " << at << ": " << status.ToString();
        ++found[path];
      }
    }
  }
  // All kinds of files were damaged so that it showed.
  for (const char* const kind : {"CURRENT", "meta/", "log/", ".data"}) {
    int count = 0;
    for (const auto& [path, times] : found) {
      count += path.find(kind) != std::string::npos ? times : 0;
    }
    EXPECT_GT(count, 0) << kind;
  }
}

}  // namespace
}  // namespace sluice
