// Options::direct_io: the same contents, and nothing of the data files in the page cache.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sluice/db.h"
#include "util/fault_env.h"
#include "util/testing.h"

namespace sluice {
namespace {

[[gnu::noinline]] Options TestOptions(bool read_only) {
  Options options;
  options.create_if_missing = !read_only;
  options.read_only = read_only;
  options.direct_io = true;
  options.memtable_bytes = 256 << 10;
  options.extent_bytes = 64 << 10;
  options.block_bytes = 1500;
  options.row_cache_bytes = options.block_cache_bytes = 0;
  return options;
}

// The page cache is all that such a file system has, and newer kernels' takes direct I/O none the less.
bool IsInMemory(const std::string& path) {
  struct statfs about;
  return statfs(path.c_str(), &about) == 0 && about.f_type == TMPFS_MAGIC;
}

TEST(DirectIoTest, ReadsPastThePageCache) {
  const TempDir dir;
  std::unique_ptr<DB> db;
  if (const Status opened = DB::Open(TestOptions(false), dir.File("db"), &db);
      opened.IsNotSupported()) {
    GTEST_SKIP() << opened.ToString();
  } else {
    ASSERT_TRUE(opened.ok()) << opened.ToString();
  }
  TestRandom random(TestSeed());
  std::map<std::string, std::string> model;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 3000; ++i) {
      const std::string key = fmt::format("{:05}", Uniform(&random, 0, 20000));
      const std::string value(Uniform(&random, 0, 700), static_cast<char>('a' + round));
      ASSERT_TRUE(db->Put({}, key, value).ok());
      model[key] = value;
    }
    ASSERT_TRUE(db->Flush(nullptr).ok());
    if (round == 1) {
      ASSERT_TRUE(db->CompactRange(nullptr, "", "").ok());
    }
  }
  for (const bool read_only : {false, true}) {
    ASSERT_TRUE(db->Close().ok());
    const Status opened = DB::Open(TestOptions(read_only), dir.File("db"), &db);
    ASSERT_TRUE(opened.ok()) << opened.ToString();
    for (const auto& [key, value] : model) {
      std::string found;
      ASSERT_TRUE(db->Get({}, key, &found).ok());
      ASSERT_EQ(found, value);
    }
    const std::unique_ptr<Iterator> at = db->NewIterator({});
    auto expected = model.begin();
    for (at->SeekToFirst(); at->Valid(); at->Next(), ++expected) {
      ASSERT_NE(expected, model.end());
      ASSERT_EQ(at->key(), expected->first);
      ASSERT_EQ(at->value(), expected->second);
    }
    ASSERT_TRUE(at->status().ok());
    ASSERT_EQ(expected, model.end());
  }
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir.File("db"))) {
    if (entry.path().extension() == ".data") {
      ++files;
      if (!IsInMemory(entry.path())) {
        EXPECT_LT(CachedPages(entry.path()), 50u) << "of " << entry.file_size() / 4096;
      }
    }
  }
  EXPECT_EQ(files, 1u);
}

TEST(DirectIoTest, SaysWhereItIsNotSupported) {
  FaultEnv env;
  Options options = TestOptions(false);
  options.env = &env;
  std::unique_ptr<DB> db;
  const Status opened = DB::Open(options, "db", &db);
  EXPECT_TRUE(opened.IsNotSupported());
  EXPECT_NE(opened.message().find("db/"), std::string::npos) << opened.ToString();
  options.direct_io = false;
  EXPECT_TRUE(DB::Open(options, "db", &db).ok());
}

}  // namespace
}  // namespace sluice
