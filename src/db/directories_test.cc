// Whose a directory is: nobody's data is taken for another's, whatever paths are given and wherever
// a creation or a destruction ends.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/testing.h"
#include "sluice/db.h"
#include "sluice/executor.h"
#include "util/crc32c.h"
#include "util/fault_env.h"
#include "util/files.h"
#include "util/testing.h"

namespace sluice {
namespace {

using Records = std::map<std::string, std::string>;

// Not inline: GCC 12 takes parts of inlined defaults for uninitialized.
[[gnu::noinline]] Options Small(Env* env, std::vector<std::string> level_paths) {
  Options options;
  options.create_if_missing = true;
  options.env = env;
  options.memtable_bytes = 16384;
  options.extent_bytes = 8192;
  options.block_bytes = 1024;
  options.log_segment_bytes = 16384;
  options.level_paths = std::move(level_paths);
  return options;
}

Status ReadAll(DB* db, Records* records) {
  const auto at = db->NewIterator({});
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    records->emplace(at->key(), at->value());
  }
  return at->status();
}

// Records in the extents of all levels, and in the log.
Status Fill(DB* db, const std::string& prefix) {
  for (int i = 0; i < 40; ++i) {
    SLUICE_RETURN_IF_ERROR(db->Put({}, fmt::format("{}{}", prefix, i), std::string(300, 'x')));
    if (i == 20) {
      SLUICE_RETURN_IF_ERROR(db->CompactRange(nullptr, "", ""));
    }
  }
  return {};
}

class DirectoriesTest : public testing::Test {
 protected:
  // The contents of all files below the test's directory, except locks.
  std::map<std::string, std::string> Files() {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_.path())) {
      if (entry.is_regular_file() && entry.path().filename() != "LOCK") {
        EXPECT_TRUE(Env::Posix()->ReadFile(entry.path(), &files[entry.path()]).ok());
      }
    }
    return files;
  }
  void Write(const std::string& name, const std::string& contents) {
    std::filesystem::create_directories(std::filesystem::path(dir_.File(name)).parent_path());
    ASSERT_TRUE(WriteFileSynced(Env::Posix(), dir_.File(name), contents).ok());
  }
  Status Open(const std::string& name, std::vector<std::string> level_paths = {}) {
    db_.reset();
    return DB::Open(Small(nullptr, std::move(level_paths)), dir_.File(name), &db_);
  }
  void ExpectRecords(size_t count) {
    Records records;
    ASSERT_TRUE(ReadAll(db_.get(), &records).ok());
    EXPECT_EQ(records.size(), count);
    EXPECT_TRUE(db_->Verify(nullptr).ok());
  }

  TempDir dir_;
  std::unique_ptr<DB> db_;
};

TEST_F(DirectoriesTest, TheTierOfAnotherDatabaseIsRefused) {
  const std::vector<std::string> paths = {"", "", dir_.File("cold")};
  ASSERT_TRUE(Open("a", paths).ok());
  ASSERT_TRUE(Fill(db_.get(), "a").ok());
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());  // it writes files as well
  std::unique_ptr<DB> other;
  for (int round = 0; round < 2; ++round) {  // while it is open, and when it is closed
    const auto before = Files();
    const Status status = DB::Open(Small(nullptr, paths), dir_.File("b"), &other);
    EXPECT_EQ(status.code(), Status::Code::kInvalidArgument) << status.ToString();
    EXPECT_NE(status.message().find(paths[2]), std::string::npos) << status.ToString();
    for (const auto& [name, contents] : before) {
      EXPECT_TRUE(name.starts_with(dir_.File("b/")) || Files().at(name) == contents) << name;
    }
    if (round == 0) {
      EXPECT_FALSE(DB::Destroy(Small(nullptr, paths), dir_.File("a")).ok()) << "it is open";
      ExpectRecords(40);
      ASSERT_TRUE(db_->Close().ok());
      db_.reset();
    }
  }
  // What there is of the other may be destroyed, but not with a tier that is not its own.
  const auto before = Files();
  EXPECT_EQ(DB::Destroy(Small(nullptr, paths), dir_.File("b")).code(),
            Status::Code::kInvalidArgument);
  EXPECT_TRUE(Files() == before);
  EXPECT_EQ(DB::Destroy({}, paths[2]).code(), Status::Code::kInvalidArgument) << "no database";
  EXPECT_TRUE(Files() == before);
  EXPECT_EQ(DB::Open(Small(nullptr, {}), paths[2], &other).code(), Status::Code::kInvalidArgument);
  ASSERT_TRUE(DB::Destroy({}, dir_.File("b")).ok());
  ASSERT_TRUE(Open("a", paths).ok());
  ExpectRecords(40);
}

// A copy of the database's own directory and the original have one identity, and one set of tiers.
TEST_F(DirectoriesTest, OnlyTheLastUserOfATierMayUseIt) {
  const std::vector<std::string> paths = {"", dir_.File("warm"), dir_.File("cold")};
  ASSERT_TRUE(Open("a", paths).ok());
  ASSERT_TRUE(Fill(db_.get(), "a").ok());
  db_.reset();
  std::filesystem::copy(dir_.File("a"), dir_.File("b"), std::filesystem::copy_options::recursive);
  const auto refused = [&](const std::string& name) {
    const auto before = Files();
    for (const bool read_only : {false, true}) {
      Options options = Small(nullptr, paths);
      options.read_only = read_only;
      const Status status = DB::Open(options, dir_.File(name), &db_);
      EXPECT_EQ(status.code(), Status::Code::kInvalidArgument) << status.ToString();
      EXPECT_NE(status.message().find("another copy"), std::string::npos) << status.ToString();
    }
    EXPECT_EQ(DB::Destroy(Small(nullptr, paths), dir_.File(name)).code(),
              Status::Code::kInvalidArgument);
    for (const auto& [file, contents] : before) {
      EXPECT_TRUE(file.starts_with(dir_.File(name)) || Files().at(file) == contents) << file;
    }
  };
  // Whichever copy is opened first takes them; opening it read-only takes nothing.
  Options reading = Small(nullptr, paths);
  reading.read_only = true;
  for (const char* const name : {"a", "b"}) {
    ASSERT_TRUE(DB::Open(reading, dir_.File(name), &db_).ok());
    ExpectRecords(40);
    db_.reset();
  }
  ASSERT_TRUE(Open("b", paths).ok());
  ASSERT_TRUE(Fill(db_.get(), "b").ok());
  ASSERT_TRUE(db_->CompactRange(nullptr, "", "").ok());
  db_.reset();
  refused("a");
  ASSERT_TRUE(Open("b", paths).ok());
  ExpectRecords(80);
  db_.reset();
  refused("a");
  // Without its tiers, the other can be destroyed.
  ASSERT_TRUE(DB::Destroy({}, dir_.File("a")).ok());
  ASSERT_TRUE(Open("b", paths).ok());
  ExpectRecords(80);
}

// A tier that has no extents may be left out, however often, unless another copy takes it meanwhile.
TEST_F(DirectoriesTest, ATierThatIsLeftOutForAWhileIsTakenAgain) {
  const std::vector<std::string> paths = {"", dir_.File("warm"), dir_.File("cold")};
  const std::vector<std::string> without = {"", paths[1]};
  ASSERT_TRUE(Open("a", paths).ok());
  ASSERT_TRUE(db_->Put({.sync = true}, "key", "value").ok());
  for (int time = 0; time < 3; ++time) {
    for (int opening = 0; opening < 4; ++opening) {
      ASSERT_TRUE(Open("a", without).ok());
    }
    const Status status = Open("a", paths);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  ASSERT_TRUE(Fill(db_.get(), "a").ok());
  ASSERT_TRUE(Open("a", paths).ok());
  ExpectRecords(41);
  ASSERT_TRUE(db_->DeleteRange({}, "", "").ok());
  ASSERT_TRUE(db_->CompactRange(nullptr, "", "").ok());
  for (int opening = 0; opening < 4; ++opening) {
    ASSERT_TRUE(Open("a", without).ok());
  }
  db_.reset();
  std::filesystem::copy(dir_.File("a"), dir_.File("b"), std::filesystem::copy_options::recursive);
  ASSERT_TRUE(Open("b", {"", "", paths[2]}).ok());
  ASSERT_TRUE(Open("a", without).ok());
  const Status status = Open("a", paths);
  EXPECT_EQ(status.code(), Status::Code::kInvalidArgument) << status.ToString();
  EXPECT_NE(status.message().find("another copy"), std::string::npos) << status.ToString();
  ASSERT_TRUE(Open("b", {"", "", paths[2]}).ok());
}

// As if its disk were not mounted, however often that is tried, and its path were not given.
TEST_F(DirectoriesTest, ATierThatIsMissingForAWhileIsFoundAgain) {
  const std::vector<std::string> paths = {"", dir_.File("warm"), dir_.File("cold")};
  ASSERT_TRUE(Open("a", paths).ok());
  ASSERT_TRUE(Fill(db_.get(), "a").ok());
  db_.reset();
  std::filesystem::rename(paths[2], dir_.File("cold disk"));
  for (int attempt = 0; attempt < 4; ++attempt) {
    std::filesystem::create_directory(paths[2]);  // where it is mounted
    const Status status = Open("a", paths);
    EXPECT_TRUE(status.IsCorruption()) << status.ToString();
    EXPECT_TRUE(Open("a", {"", paths[1]}).IsCorruption());
    std::filesystem::remove_all(paths[2]);
  }
  std::filesystem::rename(dir_.File("cold disk"), paths[2]);
  const Status status = Open("a", paths);
  ASSERT_TRUE(status.ok()) << status.ToString();
  ExpectRecords(40);
}

// Or it would hide that the disk is not mounted, and take space of another one.
TEST_F(DirectoriesTest, NothingIsMadeInPlaceOfAMissingTier) {
  const std::string cold = dir_.File("cold");
  ASSERT_TRUE(Open("a", {"", "", cold}).ok());
  ASSERT_TRUE(Fill(db_.get(), "a").ok());
  db_.reset();
  std::filesystem::rename(cold, dir_.File("cold disk"));
  const auto refused = [&] {
    for (const std::string& warm : {std::string(), dir_.File("warm")}) {
      const Status status = Open("a", {"", warm, cold});
      EXPECT_TRUE(status.IsCorruption()) << status.ToString();
      EXPECT_NE(status.message().find("is a level's path missing?"), std::string::npos)
          << status.ToString();
      EXPECT_FALSE(std::filesystem::exists(dir_.File("warm")));
    }
  };
  refused();
  EXPECT_FALSE(std::filesystem::exists(cold));
  std::filesystem::create_directory(cold);  // where it is mounted
  refused();
  EXPECT_TRUE(std::filesystem::is_empty(cold));
  std::filesystem::remove(cold);
  std::filesystem::rename(dir_.File("cold disk"), cold);
  const Status status = Open("a", {"", dir_.File("warm"), cold});
  ASSERT_TRUE(status.ok()) << status.ToString();
  ExpectRecords(40);
}

TEST_F(DirectoriesTest, ATierThatIsNotEmptyIsRefused) {
  ASSERT_TRUE(Open("a").ok());
  ASSERT_TRUE(Fill(db_.get(), "a").ok());
  Write("full/000002.data", "somebody's");
  const auto refused = [&] {
    const Status status = Open("a", {"", dir_.File("full")});
    EXPECT_EQ(status.code(), Status::Code::kInvalidArgument) << status.ToString();
    EXPECT_EQ(Files().at(dir_.File("full/000002.data")), "somebody's");
  };
  refused();
  std::filesystem::create_directory(dir_.File("full/lost+found"));
  refused();
  std::filesystem::remove(dir_.File("full/000002.data"));
  ASSERT_TRUE(Open("a", {"", dir_.File("full")}).ok());
  ASSERT_TRUE(Fill(db_.get(), "b").ok());
  db_.reset();
  Write("full/000002.data", "somebody's");
  ASSERT_TRUE(Open("a", {"", dir_.File("full")}).ok()) << "it is ours, whatever else is in it";
  ExpectRecords(80);
}

TEST_F(DirectoriesTest, EachDirectoryIsLocked) {
  const std::vector<std::string> paths = {"", dir_.File("warm")};
  ASSERT_TRUE(Open("a", paths).ok());
  ASSERT_TRUE(Fill(db_.get(), "a").ok());
  db_.reset();
  Options reading = Small(nullptr, paths);
  reading.read_only = true;
  for (const char* const name : {"a", "warm"}) {
    SCOPED_TRACE(name);
    const std::string path = dir_.File(std::string(name) + "/LOCK");
    std::unique_ptr<FileLock> lock;
    ASSERT_TRUE(Env::Posix()->LockFile(path, &lock).ok());
    EXPECT_EQ(Open("a", paths).code(), Status::Code::kBusy);
    EXPECT_EQ(DB::Open(reading, dir_.File("a"), &db_).code(), Status::Code::kBusy);
    const auto before = Files();
    EXPECT_EQ(DB::Destroy(Small(nullptr, paths), dir_.File("a")).code(), Status::Code::kBusy);
    EXPECT_TRUE(Files() == before);
    // Readers share it.
    lock.reset();
    ASSERT_TRUE(Env::Posix()->LockFileShared(path, &lock).ok());
    EXPECT_EQ(Open("a", paths).code(), Status::Code::kBusy);
    EXPECT_TRUE(DB::Open(reading, dir_.File("a"), &db_).ok());
    ExpectRecords(40);
    db_.reset();
  }
  ASSERT_TRUE(Open("a", paths).ok());
  ExpectRecords(40);
}

TEST_F(DirectoriesTest, OneDirectoryMayBeSpeltInManyWays) {
  std::filesystem::create_directory(dir_.File("x"));
  std::filesystem::create_directory(dir_.File("tier"));
  std::filesystem::create_directory_symlink(dir_.File("tier"), dir_.File("link"));
  const std::map<std::string, std::vector<std::vector<std::string>>> spellings = {
      {"a", {{"", "", dir_.File("a/")}, {dir_.File("x/../a"), "", ""}, {}}},
      {"b",
       {{"", dir_.File("tier"), dir_.File("x/../tier")},
        {"", dir_.File("link"), dir_.File("tier//")}}},
  };
  for (const auto& [name, all] : spellings) {
    size_t records = 0;
    for (int round = 0; round < 2; ++round) {
      for (const std::vector<std::string>& paths : all) {
        const Status status = Open(name, paths);
        ASSERT_TRUE(status.ok()) << status.ToString();
        ASSERT_TRUE(Fill(db_.get(), fmt::format("{}/", records)).ok());
        records += 40;
        ExpectRecords(records);
      }
    }
  }
}

// A directory to work in, until it is left for the one before.
class WorkingDirectory {
 public:
  explicit WorkingDirectory(const std::string& dir) : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(dir);
  }
  ~WorkingDirectory() { std::filesystem::current_path(before_); }

 private:
  const std::filesystem::path before_;
};

// Fails every task.
class DeadUnit final : public Executor {
 public:
  std::string_view name() const override { return "dead"; }
  size_t max_runs() const override { return 4; }
  size_t max_snapshots() const override { return 1; }
  MergeResult Run(const MergeTask& /*task*/, const MergeSink& /*sink*/) override {
    MergeResult result;
    result.status = MergeStatus::kDevice;
    result.error = Status::IoError("the device is gone");
    return result;
  }
};

TEST_F(DirectoriesTest, RelativePathsStayWhereTheyWere) {
  for (const char* const dir : {"here", "there", "there/a"}) {
    std::filesystem::create_directory(dir_.File(dir));
  }
  Options options = Small(nullptr, {"", "warm", "cold"});
  options.failed_task_dir = "failed";
  options.executors = {std::make_shared<DeadUnit>()};
  options.always_offload = true;
  const auto expect_records = [&](DB* db, size_t count) {
    Records records;
    ASSERT_TRUE(ReadAll(db, &records).ok());
    EXPECT_EQ(records.size(), count);
    const Status verified = db->Verify(nullptr);
    EXPECT_TRUE(verified.ok()) << verified.ToString();
  };
  {
    const WorkingDirectory here(dir_.File("here"));
    const Status opened = DB::Open(options, "a", &db_);
    ASSERT_TRUE(opened.ok()) << opened.ToString();
    ASSERT_TRUE(Fill(db_.get(), "here").ok());
  }
  {
    // More segments of the log, flushes, merges into each tier, failed tasks, metadata.
    const WorkingDirectory there(dir_.File("there"));
    for (int i = 0; i < 10; ++i) {
      const Status filled = Fill(db_.get(), fmt::format("there{}/", i));
      ASSERT_TRUE(filled.ok()) << filled.ToString();
      ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
    }
    expect_records(db_.get(), 440);
    const Status copied = db_->CreateCheckpoint("copy");
    EXPECT_TRUE(copied.ok()) << copied.ToString();
    const Status closed = db_->Close();
    EXPECT_TRUE(closed.ok()) << closed.ToString();
    db_.reset();
    EXPECT_EQ(DB::Open(Small(nullptr, {}), "a", &db_).code(), Status::Code::kOk) << "another one";
    ASSERT_TRUE(DB::Open({}, "copy", &db_).ok());
    expect_records(db_.get(), 440);
    db_.reset();
    for (const char* const dir : {"warm", "cold", "failed"}) {
      EXPECT_FALSE(std::filesystem::exists(dir)) << dir;
      EXPECT_FALSE(std::filesystem::is_empty(dir_.File(fmt::format("here/{}", dir)))) << dir;
    }
  }
  options.level_paths = {"", dir_.File("here/warm"), dir_.File("here/cold")};
  options.failed_task_dir.clear();
  ASSERT_TRUE(DB::Open(options, dir_.File("here/a"), &db_).ok());
  expect_records(db_.get(), 440);
  db_.reset();
  const WorkingDirectory here(dir_.File("here"));
  ASSERT_TRUE(DB::Destroy(Small(nullptr, {"", "warm", "cold"}), "a").ok());
  EXPECT_FALSE(std::filesystem::exists("a"));
}

TEST_F(DirectoriesTest, DestroyRemovesOnlyItsOwn) {
  const std::vector<std::string> paths = {"", dir_.File("warm"), dir_.File("cold")};
  ASSERT_TRUE(Open("a", paths).ok());
  ASSERT_TRUE(Fill(db_.get(), "a").ok());
  db_.reset();
  const std::vector<std::string> foreign = {"a/notes.txt", "a/000009.data",  "a/meta/notes",
                                            "a/log/notes", "warm/notes.txt", "warm/000001.data",
                                            "cold/0.data"};
  for (const std::string& name : foreign) {
    Write(name, name);
  }
  ASSERT_TRUE(DB::Destroy(Small(nullptr, paths), dir_.File("a")).ok());
  const auto files = Files();
  EXPECT_EQ(files.size(), foreign.size());
  for (const std::string& name : foreign) {
    EXPECT_TRUE(files.contains(dir_.File(name))) << name;
  }
}

TEST_F(DirectoriesTest, DestroyRemovesDirectoriesThatItHasEmptied) {
  const std::vector<std::string> paths = {"", dir_.File("a/warm"), dir_.File("cold")};
  for (int life = 0; life < 2; ++life) {
    ASSERT_TRUE(Open("a", paths).ok());
    ASSERT_TRUE(Fill(db_.get(), "a").ok());
    db_.reset();
    ASSERT_TRUE(DB::Destroy(Small(nullptr, paths), dir_.File("a")).ok());
    EXPECT_TRUE(std::filesystem::is_empty(dir_.path()));
  }
}

// Killed before there is an identity.
TEST_F(DirectoriesTest, DestroyRemovesWhatACreationBeginsWith) {
  for (const std::string name : {"LOCK", "IDENTITY.new"}) {
    Write("a/" + name, name == "LOCK" ? "" : "sluice 4 0");
    ASSERT_TRUE(DB::Destroy({}, dir_.File("a")).ok());
    EXPECT_TRUE(std::filesystem::is_empty(dir_.path())) << name;
  }
  std::filesystem::create_directories(dir_.File("a"));
  ASSERT_TRUE(DB::Destroy({}, dir_.File("a")).ok());
  EXPECT_TRUE(std::filesystem::exists(dir_.File("a"))) << "nobody's";
}

TEST_F(DirectoriesTest, DestroyFollowsASymbolicLink) {
  std::filesystem::create_directory(dir_.File("a"));
  std::filesystem::create_directory_symlink(dir_.File("a"), dir_.File("link"));
  for (int life = 0; life < 2; ++life) {
    ASSERT_TRUE(Open("link").ok());
    ASSERT_TRUE(Fill(db_.get(), "a").ok());
    db_.reset();
    const Status status = DB::Destroy(Small(nullptr, {}), dir_.File("link"));
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_TRUE(std::filesystem::is_empty(dir_.File("a")));
  }
}

// Two processes open a new directory: at any call of the one, the other comes in between.
TEST(Directories, WhoComesSecondIsToldThatItIsBusy) {
  class RacingEnv final : public FaultEnv {
   public:
    Status ReadFile(const std::string& path, std::string* contents) override {
      Step();
      return FaultEnv::ReadFile(path, contents);
    }
    Status GetChildren(const std::string& dir, std::vector<std::string>* names) override {
      Step();
      return FaultEnv::GetChildren(dir, names);
    }
    Status FileExists(const std::string& path) override {
      Step();
      return FaultEnv::FileExists(path);
    }
    Status NewWritableFile(const std::string& path, std::unique_ptr<WritableFile>* file) override {
      Step();
      return FaultEnv::NewWritableFile(path, file);
    }
    Status RenameFile(const std::string& from, const std::string& to) override {
      Step();
      return FaultEnv::RenameFile(from, to);
    }
    Status CreateDir(const std::string& dir) override {
      Step();
      return FaultEnv::CreateDir(dir);
    }
    Status LockFile(const std::string& path, std::unique_ptr<FileLock>* lock) override {
      Step();
      return FaultEnv::LockFile(path, lock);
    }
    // Before call number `step`.
    void At(int step, std::function<void()> other) {
      left_ = step;
      other_ = std::move(other);
    }

   private:
    void Step() {
      if (other_ && left_-- == 0) {
        std::exchange(other_, nullptr)();
      }
    }
    int left_ = 0;
    std::function<void()> other_;
  };
  bool interrupted = true;
  int first_comes_first = 0;
  int second_comes_first = 0;
  for (int step = 0; interrupted; ++step) {
    SCOPED_TRACE(step);
    RacingEnv env;
    std::unique_ptr<DB> first;
    std::unique_ptr<DB> second;
    Status status;
    interrupted = false;
    env.At(step, [&] {
      status = DB::Open(Small(&env, {}), "db", &second);
      interrupted = true;
    });
    const Status of_first = DB::Open(Small(&env, {}), "db", &first);
    if (interrupted) {
      EXPECT_NE(of_first.ok(), status.ok());
      const Status& refused = of_first.ok() ? status : of_first;
      EXPECT_EQ(refused.code(), Status::Code::kBusy) << refused.ToString();
      ++(of_first.ok() ? first_comes_first : second_comes_first);
    }
    first.reset();  // before their file system
    second.reset();
  }
  EXPECT_GT(first_comes_first, 0);
  EXPECT_GT(second_comes_first, 0);
}

TEST_F(DirectoriesTest, ADirectoryThatIsInUseBecomesNoDatabase) {
  Write("1/notes.txt", "mine");
  Write("2/meta/000001.log", "mine");
  Write("3/CURRENT", "MANIFEST-000001\n");
  Write("4/000001.data", "mine");
  Write("5/LOCK", "mine");
  Write("6/log/x", "mine");
  const auto before = Files();
  for (const char* const name : {"1", "2", "3", "4", "5", "6"}) {
    SCOPED_TRACE(name);
    const Status status = Open(name);
    EXPECT_EQ(status.code(), Status::Code::kInvalidArgument) << status.ToString();
    EXPECT_NE(status.message().find("nothing in it is touched"), std::string::npos)
        << status.ToString();
    EXPECT_FALSE(DB::Destroy({}, dir_.File(name)).ok());
  }
  EXPECT_TRUE(Files() == before);
  std::filesystem::create_directories(dir_.File("7/lost+found"));
  EXPECT_TRUE(Open("7").ok());
}

TEST_F(DirectoriesTest, ALostCurrentCostsNothingElse) {
  ASSERT_TRUE(Open("a").ok());
  ASSERT_TRUE(Fill(db_.get(), "a").ok());
  db_.reset();
  std::filesystem::rename(dir_.File("a/CURRENT"), dir_.File("kept"));
  const auto before = Files();
  const Status status = Open("a");
  EXPECT_TRUE(status.IsCorruption()) << status.ToString();
  EXPECT_NE(status.message().find("CURRENT"), std::string::npos);
  EXPECT_TRUE(Files() == before);
  std::filesystem::rename(dir_.File("kept"), dir_.File("a/CURRENT"));
  ASSERT_TRUE(Open("a").ok());
  ExpectRecords(40);
}

TEST_F(DirectoriesTest, AnIdentityThatDoesNotFitIsToldFrom) {
  ASSERT_TRUE(Open("a").ok());
  ASSERT_TRUE(Open("b").ok());
  db_.reset();
  std::string identity;
  ASSERT_TRUE(Env::Posix()->ReadFile(dir_.File("a/IDENTITY"), &identity).ok());
  Write("b/IDENTITY", identity);
  EXPECT_TRUE(Open("b").IsCorruption());
  identity[20] ^= 1;
  Write("a/IDENTITY", identity);
  EXPECT_TRUE(Open("a").IsCorruption());
  EXPECT_TRUE(DB::Destroy({}, dir_.File("a")).IsCorruption());
  std::filesystem::remove(dir_.File("a/IDENTITY"));
  const auto before = Files();
  EXPECT_TRUE(Open("a").IsCorruption());
  EXPECT_TRUE(DB::Destroy({}, dir_.File("a")).IsCorruption());
  EXPECT_TRUE(Files() == before);
}

TEST_F(DirectoriesTest, AnotherVersionIsRefusedByName) {
  ASSERT_TRUE(Open("a").ok());
  db_.reset();
  std::string other = fmt::format("sluice 3 {:032x} 1 whole ", 7);
  other += fmt::format("{:08x}\n", Crc32c(other));
  Write("a/IDENTITY", other);
  const auto before = Files();
  for (const Status& status : {Open("a"), DB::Destroy({}, dir_.File("a"))}) {
    EXPECT_EQ(status.code(), Status::Code::kNotSupported) << status.ToString();
    EXPECT_NE(
        status.message().find("a/IDENTITY: a database of format version 3; this library reads "
                              "version 4"),
        std::string::npos)
        << status.ToString();
  }
  EXPECT_TRUE(Files() == before);
}

// Creation and destruction with each operation the last.
class DirectoriesCrash : public testing::Test {
 protected:
  Status Create(FaultEnv* env) {
    std::unique_ptr<DB> db;
    SLUICE_RETURN_IF_ERROR(DB::Open(options(env), "db", &db));
    SLUICE_RETURN_IF_ERROR(Fill(db.get(), "old"));
    return db->Close();
  }
  Status Destroy(FaultEnv* env) { return DB::Destroy(options(env), "db"); }
  static Options options(FaultEnv* env) { return Small(env, {"", "warm", "cold"}); }

  // Opens what is left, which has all the records of before or none; then lives on.
  void ExpectAllOrNothing(const FileImage& left, size_t all, bool may_be_there) {
    FaultEnv env(left);
    std::unique_ptr<DB> db;
    const Status status = DB::Open(options(&env), "db", &db);
    ASSERT_TRUE(status.ok()) << status.ToString();
    Records records;
    ASSERT_TRUE(ReadAll(db.get(), &records).ok());
    EXPECT_TRUE(records.empty() || (may_be_there && records.size() == all)) << records.size();
    const size_t before = records.size();
    ASSERT_TRUE(Fill(db.get(), "new").ok());
    ASSERT_TRUE(db->Close().ok());
    ASSERT_TRUE(DB::Open(options(&env), "db", &db).ok());
    records.clear();
    ASSERT_TRUE(ReadAll(db.get(), &records).ok());
    EXPECT_EQ(records.size(), before + 40);
    ASSERT_TRUE(db->Verify(nullptr).ok());
    db.reset();
    ExpectDestroyable(&env);
  }
  void ExpectDestroyable(FaultEnv* env) {
    const Status status = Destroy(env);
    ASSERT_TRUE(status.ok()) << status.ToString();
    const FileImage left = env->Survivors(CrashKind::kPower, seed_);
    for (const auto& [name, contents] : left) {
      // A tier that did not get as far as an identity may keep these.
      EXPECT_TRUE(!name.starts_with("db/") &&
                  (name.ends_with("/LOCK") || name.ends_with("/IDENTITY.new")))
          << name;
    }
  }

  const uint64_t seed_ = TestSeed();
};

TEST_F(DirectoriesCrash, HalfADestructionLeavesNothingForTheNext) {
  FaultEnv first;
  ASSERT_TRUE(Create(&first).ok());
  const FileImage whole = first.Survivors(CrashKind::kProcess, seed_);
  FaultEnv counted(whole);
  ASSERT_TRUE(Destroy(&counted).ok());
  for (uint64_t k = 0; k <= counted.operations() && !HasFailure(); ++k) {
    for (const CrashKind kind : {CrashKind::kPower, CrashKind::kProcess}) {
      for (uint64_t way = 0; way < (kind == CrashKind::kPower ? 4 : 1) && !HasFailure(); ++way) {
        SCOPED_TRACE(testing::Message() << "operation " << k << ", way " << way);
        FaultEnv env(whole);
        env.CrashAt(k, seed_ + k);
        const bool destroyed = Destroy(&env).ok();
        const FileImage left = env.Survivors(kind, seed_ + k + way);
        ExpectAllOrNothing(left, 40, !destroyed);
        FaultEnv again(left);
        ExpectDestroyable(&again);
        // A creation on top of it that ends somewhere, too.
        FaultEnv creating(left);
        creating.CrashAt((seed_ + k * 7 + way) % 60, seed_);
        (void)Create(&creating);
        const FileImage remains = creating.Survivors(kind, seed_ + k + way);
        FaultEnv third(remains);
        ExpectDestroyable(&third);
      }
    }
  }
}

TEST_F(DirectoriesCrash, HalfACreationIsNoDatabaseOrAnEmptyOne) {
  FaultEnv counted;
  std::unique_ptr<DB> db;
  ASSERT_TRUE(DB::Open(options(&counted), "db", &db).ok());
  const uint64_t operations = counted.operations();
  ASSERT_TRUE(db->Close().ok());
  for (uint64_t k = 0; k < operations && !HasFailure(); ++k) {
    for (const CrashKind kind : {CrashKind::kPower, CrashKind::kProcess}) {
      SCOPED_TRACE(testing::Message() << "operation " << k);
      FaultEnv env;
      env.CrashAt(k, seed_ + k);
      (void)DB::Open(options(&env), "db", &db);
      db.reset();
      const FileImage left = env.Survivors(kind, seed_ + k);
      ExpectAllOrNothing(left, 0, false);
      FaultEnv again(left);
      ExpectDestroyable(&again);
      // Without create_if_missing there is one, or there is none, and nothing is damaged.
      FaultEnv reading(left);
      Options must_exist = options(&reading);
      must_exist.create_if_missing = false;
      const Status status = DB::Open(must_exist, "db", &db);
      EXPECT_TRUE(status.ok() || status.IsNotFound()) << status.ToString();
      db.reset();
    }
  }
}

// Wherever an open ends, the next one may have the tiers, again and again.
TEST_F(DirectoriesCrash, HalfAnOpenKeepsTheTiers) {
  FaultEnv first;
  ASSERT_TRUE(Create(&first).ok());
  const FileImage whole = first.Survivors(CrashKind::kProcess, seed_);
  FaultEnv counted(whole);
  std::unique_ptr<DB> db;
  ASSERT_TRUE(DB::Open(options(&counted), "db", &db).ok());
  const uint64_t operations = counted.operations();
  db.reset();
  TestRandom random(seed_);
  for (uint64_t k = 0; k < operations && !HasFailure(); ++k) {
    for (const CrashKind kind : {CrashKind::kPower, CrashKind::kProcess}) {
      SCOPED_TRACE(testing::Message() << "operation " << k);
      FileImage left = whole;
      for (int life = 0; life < 4; ++life) {
        FaultEnv env(left);
        env.CrashAt(life == 0 ? k : Uniform(&random, 0, operations), random());
        (void)DB::Open(options(&env), "db", &db);
        db.reset();
        left = env.Survivors(kind, random());
      }
      ExpectAllOrNothing(left, 40, true);
    }
  }
}

// A process that ends before it has synced a directory leaves names that the next one finds there,
// and that a loss of power takes away all the same.
TEST_F(DirectoriesCrash, NamesThatNobodySyncedAreNotReliedOn) {
  FaultEnv first;
  ASSERT_TRUE(Create(&first).ok());
  const FileImage whole = first.Survivors(CrashKind::kProcess, seed_);
  const auto open = [&](FaultEnv* env) {
    std::unique_ptr<DB> db;
    SLUICE_RETURN_IF_ERROR(DB::Open(options(env), "db", &db));
    return db->Close();
  };
  const auto destroy = [&](FaultEnv* env) { return Destroy(env); };
  using Work = std::function<Status(FaultEnv*)>;
  const std::vector<std::tuple<std::string, FileImage, Work, Work>> lives = {
      {"create, open", {}, open, open},
      {"open, open", whole, open, open},
      {"destroy, open", whole, destroy, open},
      {"destroy, destroy", whole, destroy, destroy}};
  TestRandom random(seed_);
  for (const auto& [name, files, one, other] : lives) {
    FaultEnv counted(files);
    ASSERT_TRUE(one(&counted).ok());
    uint64_t syncs = 0;
    uint64_t crashes = 0;
    for (uint64_t k = 0; k < counted.operations() && !HasFailure(); ++k) {
      {
        FaultEnv probe(files);
        probe.FailAt(k, EIO, seed_);
        (void)one(&probe);
        if (probe.failure().find("cannot sync directory") == std::string::npos) {
          continue;
        }
      }
      ++syncs;
      for (int round = 0; round < TestRounds(60) && !HasFailure(); ++round) {
        SCOPED_TRACE(testing::Message() << name << ", operation " << k << ", round " << round);
        FaultEnv env(files);
        env.CrashAt(k, random());
        if (one(&env).ok()) {
          continue;  // a background thread did less this time, and the operation never came
        }
        ++crashes;
        env.Restart(random());
        env.CrashAt(env.operations() + Uniform(&random, 0, 50), random());
        (void)other(&env);
        FaultEnv after(env.Survivors(CrashKind::kPower, random()));
        std::unique_ptr<DB> db;
        const Status status = DB::Open(options(&after), "db", &db);
        ASSERT_TRUE(status.ok()) << status.ToString();
        Records records;
        ASSERT_TRUE(ReadAll(db.get(), &records).ok());
        if (name == "open, open") {
          EXPECT_EQ(records.size(), 40u);
        } else {
          EXPECT_TRUE(records.empty() || records.size() == 40) << records.size();
        }
      }
    }
    EXPECT_GT(syncs, 2u) << name;
    EXPECT_GT(crashes, syncs * TestRounds(60) / 2) << name;
  }
}

}  // namespace
}  // namespace sluice
