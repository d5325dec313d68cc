#include "util/fault_env.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <functional>

#include "util/files.h"
#include "util/testing.h"

namespace sluice {
namespace {

constexpr int kTries = 300;

// All that may survive of `env`.
std::set<FileImage> Outcomes(const FaultEnv& env, CrashKind kind) {
  std::set<FileImage> outcomes;
  for (int seed = 0; seed < kTries; ++seed) {
    outcomes.insert(env.Survivors(kind, seed));
  }
  return outcomes;
}

TEST(FaultEnv, SyncedDataUnderADurableNameSurvives) {
  FaultEnv env(FileImage{{"d/a", "old"}});
  ASSERT_TRUE(WriteFileSynced(&env, "d/b", "new").ok());
  ASSERT_TRUE(env.SyncDir("d").ok());
  const FileImage whole = {{"d/a", "old"}, {"d/b", "new"}};
  EXPECT_EQ(Outcomes(env, CrashKind::kPower), std::set<FileImage>{whole});
  EXPECT_EQ(Outcomes(env, CrashKind::kProcess), std::set<FileImage>{whole});
}

TEST(FaultEnv, UnsyncedDataIsTorn) {
  FaultEnv env(FileImage{{"d/x", ""}});
  std::unique_ptr<WritableFile> file;
  ASSERT_TRUE(env.NewWritableFile("d/a", &file).ok());
  ASSERT_TRUE(env.SyncDir("d").ok());
  ASSERT_TRUE(file->Append("12").ok());
  ASSERT_TRUE(file->Sync().ok());
  ASSERT_TRUE(file->Append("34").ok());
  ASSERT_TRUE(file->Flush().ok());
  ASSERT_TRUE(file->Append("5").ok());
  const auto of_a = [&](CrashKind kind) {
    std::set<std::string> contents;
    for (const FileImage& files : Outcomes(env, kind)) {
      contents.insert(files.at("d/a"));
    }
    return contents;
  };
  EXPECT_EQ(of_a(CrashKind::kProcess), (std::set<std::string>{"1234", "12345"}));
  const std::string zeros(3, '\0');
  EXPECT_EQ(of_a(CrashKind::kPower),
            (std::set<std::string>{"12", "123", "1234", "12345", "12" + zeros.substr(0, 1),
                                   "12" + zeros.substr(0, 2), "12" + zeros}));
}

TEST(FaultEnv, SectorsOfAReservedFileSurviveEachByItself) {
  FaultEnv env(FileImage{{"d/x", ""}});
  std::unique_ptr<ReservedFile> file;
  ASSERT_TRUE(env.NewReservedFile("d/a", 1024, &file).ok());
  ASSERT_TRUE(env.SyncDir("d").ok());
  ASSERT_TRUE(file->Reserve(1024).ok());
  ASSERT_TRUE(file->Write(0, std::string(1024, 'o')).ok());
  ASSERT_TRUE(file->Sync().ok());
  ASSERT_TRUE(file->Write(500, std::string(24, 'n')).ok());
  const auto contents = [](size_t begin, size_t end, std::string base) {
    return base.replace(begin, end - begin, end - begin, 'n');
  };
  const std::string before(1024, 'o');
  const auto expect = [&](CrashKind kind, const std::set<std::string>& expected) {
    std::set<std::string> found;
    for (const FileImage& files : Outcomes(env, kind)) {
      found.insert(files.at("d/a"));
    }
    EXPECT_EQ(found, expected);
  };
  const std::string whole = contents(500, 524, before);
  expect(CrashKind::kProcess, {whole});
  expect(CrashKind::kPower,
         {before, contents(500, 512, before), contents(512, 524, before), whole});
  ASSERT_TRUE(file->Sync().ok());
  expect(CrashKind::kPower, {whole});
  ASSERT_TRUE(file->Write(0, "n").ok());
  expect(CrashKind::kPower, {whole, contents(0, 1, whole)});
}

TEST(FaultEnv, DataFilesGrowAndTear) {
  FaultEnv env(FileImage{{"d/x", ""}});
  std::unique_ptr<DataFile> file;
  ASSERT_TRUE(env.NewDataFile("d/a", &file).ok());
  ASSERT_TRUE(env.SyncDir("d").ok());
  ASSERT_TRUE(file->Write(0, std::string(512, '1')).ok());
  ASSERT_TRUE(file->Sync().ok());
  ASSERT_TRUE(file->Write(0, std::string(1024, '2')).ok());
  char byte;
  ASSERT_TRUE(file->Read(1023, 1, &byte).ok());
  EXPECT_EQ(byte, '2');
  EXPECT_FALSE(file->Read(1024, 1, &byte).ok());
  std::set<std::string> firsts;
  std::set<size_t> sizes;
  for (const FileImage& files : Outcomes(env, CrashKind::kPower)) {
    const std::string& contents = files.at("d/a");
    ASSERT_GE(contents.size(), 512u);
    firsts.insert(contents.substr(0, 512));
    sizes.insert(contents.size());
  }
  EXPECT_EQ(firsts, (std::set<std::string>{std::string(512, '1'), std::string(512, '2')}));
  EXPECT_GT(sizes.size(), 2u);
  EXPECT_EQ(Outcomes(env, CrashKind::kProcess),
            (std::set<FileImage>{{{"d/a", std::string(1024, '2')}, {"d/x", ""}}}));
}

TEST(FaultEnv, NamesSurviveInAnySubsetUntilTheDirectoryIsSynced) {
  FaultEnv env(FileImage{{"d/CURRENT", "1"}, {"d/old", "o"}});
  ASSERT_TRUE(WriteFileSynced(&env, "d/tmp", "2").ok());
  ASSERT_TRUE(env.SyncDir("d").ok());
  ASSERT_TRUE(env.RenameFile("d/tmp", "d/CURRENT").ok());
  ASSERT_TRUE(env.RemoveFile("d/old").ok());
  EXPECT_EQ(Outcomes(env, CrashKind::kProcess),
            std::set<FileImage>{(FileImage{{"d/CURRENT", "2"}})});
  const std::set<FileImage> expected = {
      {{"d/CURRENT", "1"}, {"d/old", "o"}, {"d/tmp", "2"}},
      {{"d/CURRENT", "1"}, {"d/tmp", "2"}},  // the removal overtook the rename
      {{"d/CURRENT", "2"}, {"d/old", "o"}},
      {{"d/CURRENT", "2"}}};
  EXPECT_EQ(Outcomes(env, CrashKind::kPower), expected);
  ASSERT_TRUE(env.SyncDir("d").ok());
  EXPECT_EQ(Outcomes(env, CrashKind::kPower), std::set<FileImage>{(FileImage{{"d/CURRENT", "2"}})});
}

TEST(FaultEnv, TruncationMayBeForgottenUntilTheFileIsSynced) {
  FaultEnv env(FileImage{{"d/a", "old"}});
  std::unique_ptr<WritableFile> file;
  ASSERT_TRUE(env.NewWritableFile("d/a", &file).ok());
  EXPECT_EQ(Outcomes(env, CrashKind::kPower),
            (std::set<FileImage>{{{"d/a", ""}}, {{"d/a", "old"}}}));
  ASSERT_TRUE(file->Append("n").ok());
  ASSERT_TRUE(file->Sync().ok());
  EXPECT_EQ(Outcomes(env, CrashKind::kPower), (std::set<FileImage>{{{"d/a", "n"}}}));
}

TEST(FaultEnv, CrashesWhereToldAndStaysDown) {
  const auto work = [](FaultEnv* env) {
    SLUICE_RETURN_IF_ERROR(WriteFileSynced(env, "d/a", "abcdef"));
    SLUICE_RETURN_IF_ERROR(env->SyncDir("d"));
    return env->RemoveFile("d/x");
  };
  const FileImage before = {{"d/x", "x"}};
  FaultEnv whole(before);
  ASSERT_TRUE(work(&whole).ok());
  EXPECT_EQ(whole.operations(), 6u);
  EXPECT_FALSE(whole.crashed());
  for (uint64_t k = 0; k < whole.operations(); ++k) {
    FaultEnv env(before);
    env.CrashAt(k, k);
    const Status status = work(&env);
    EXPECT_EQ(status.code(), Status::Code::kIoError) << k;
    EXPECT_TRUE(env.crashed());
    EXPECT_EQ(env.operations(), k);
    std::string contents;
    EXPECT_EQ(env.ReadFile("d/x", &contents).code(), Status::Code::kIoError);
    EXPECT_EQ(env.SyncDir("d").code(), Status::Code::kIoError);
    const FileImage after = env.Survivors(CrashKind::kPower, k);
    EXPECT_EQ(after.at("d/x"), "x") << "never removed";
    EXPECT_EQ(k >= 5, after.contains("d/a") && after.at("d/a") == "abcdef") << k;
  }
}

TEST(FaultEnv, FailsOneCallAndGoesOn) {
  for (uint64_t k = 0; k < 6; ++k) {
    FaultEnv env(FileImage{{"d/x", ""}});
    env.FailAt(k, ENOSPC, k);
    EXPECT_EQ(env.failure(), "");
    std::unique_ptr<WritableFile> file;
    std::vector<Status> all;
    all.push_back(env.NewWritableFile("d/a", &file));
    if (file == nullptr) {
      EXPECT_EQ(k, 0u);
      EXPECT_TRUE(env.NewWritableFile("d/a", &file).ok());
    }
    all.push_back(file->Append("abc"));
    all.push_back(file->Sync());
    all.push_back(file->Close());
    all.push_back(env.SyncDir("d"));
    all.push_back(env.RenameFile("d/a", "d/b"));
    const char* const doing[] = {"d/a: cannot create",       "d/a: cannot write",
                                 "d/a: cannot sync",         "d/a: cannot write",
                                 "d: cannot sync directory", "d/a: cannot rename"};
    for (uint64_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i].ok(), i != k) << i;
    }
    EXPECT_EQ(all[k].message(), doing[k] + std::string(": No space left on device"));
    EXPECT_EQ(env.failure(), all[k].message());
    EXPECT_FALSE(env.crashed());
    std::string contents;
    EXPECT_TRUE(env.ReadFile(k == 5 ? "d/a" : "d/b", &contents).ok());
    EXPECT_TRUE(std::string("abc").starts_with(contents));
    EXPECT_TRUE(k == 1 || contents == "abc");
  }
}

TEST(FaultEnv, FailsOneReadAndGoesOn) {
  FaultEnv env(FileImage{{"d/a", "abc"}});
  std::unique_ptr<RandomAccessFile> file;
  ASSERT_TRUE(env.NewRandomAccessFile("d/a", &file).ok());
  env.FailReadAt(1, EIO, 7);
  char out[3] = {};
  EXPECT_EQ(file->Read(0, 3, out).message(), "d/a: cannot read: Input/output error");
  EXPECT_TRUE(file->Read(0, 3, out).ok());
  EXPECT_EQ(env.reads(), 3u);
  EXPECT_EQ(env.failure(), "d/a: cannot read: Input/output error");
}

// What a loss of power may leave of `path`.
std::set<std::string> Contents(const FaultEnv& env, const std::string& path) {
  std::set<std::string> contents;
  for (const FileImage& files : Outcomes(env, CrashKind::kPower)) {
    contents.insert(files.at(path));
  }
  return contents;
}

constexpr size_t kPage = 4096;

// Writes the second of four pages, lets the sync fail, and gives what is on disk of the file after
// a second sync, for every outcome of the first.
std::set<std::string> AfterFailedSync(const std::function<void(FaultEnv*, bool*)>& write) {
  std::set<std::string> outcomes;
  for (uint64_t seed = 0; seed < kTries; ++seed) {
    FaultEnv env(FileImage{{"d/a", std::string(4 * kPage, 'o')}});
    bool synced = true;
    env.FailAt(2, EIO, seed);  // open, write, sync
    write(&env, &synced);
    EXPECT_FALSE(synced);
    EXPECT_EQ(env.failure(), "d/a: cannot sync: Input/output error");
    std::string seen;
    EXPECT_TRUE(env.ReadFile("d/a", &seen).ok());
    EXPECT_EQ(seen.substr(kPage, kPage), std::string(kPage, 'n')) << "in the page cache";
    const std::set<std::string> left = Contents(env, "d/a");
    EXPECT_EQ(left.size(), 1u) << "a sync said ok";
    outcomes.insert(left.begin(), left.end());
  }
  return outcomes;
}

TEST(FaultEnv, WhatAFailedSyncDropsALaterOneDoesNotWrite) {
  const std::string before(4 * kPage, 'o');
  const std::string after =
      std::string(kPage, 'o') + std::string(kPage, 'n') + std::string(2 * kPage, 'o');
  EXPECT_EQ(AfterFailedSync([&](FaultEnv* env, bool* synced) {
              std::unique_ptr<DataFile> file;
              EXPECT_TRUE(env->NewDataFile("d/a", &file).ok());
              EXPECT_TRUE(file->Write(kPage, std::string(kPage, 'n')).ok());
              *synced = file->Sync().ok();
              EXPECT_TRUE(file->Sync().ok());
            }),
            (std::set<std::string>{before, after}));
  // A file written anew keeps its length; what was dropped reads as zeros.
  const std::string two_pages(2 * kPage, 'n');
  const std::string zeros(kPage, '\0');
  const std::string page(kPage, 'n');
  EXPECT_EQ(AfterFailedSync([&](FaultEnv* env, bool* synced) {
              std::unique_ptr<WritableFile> file;
              EXPECT_TRUE(env->NewWritableFile("d/a", &file).ok());
              EXPECT_TRUE(file->Append(two_pages).ok());
              *synced = file->Sync().ok();
              EXPECT_TRUE(file->Sync().ok());
            }),
            (std::set<std::string>{two_pages, zeros + page, page + zeros, zeros + zeros}));
}

TEST(FaultEnv, WritingToADroppedPageBringsItBack) {
  std::set<std::string> unsynced;
  for (uint64_t seed = 0; seed < kTries; ++seed) {
    FaultEnv env(FileImage{{"d/a", std::string(kPage, 'o')}});
    env.FailAt(2, EIO, seed);
    std::unique_ptr<DataFile> file;
    ASSERT_TRUE(env.NewDataFile("d/a", &file).ok());
    ASSERT_TRUE(file->Write(0, std::string(512, 'n')).ok());
    ASSERT_FALSE(file->Sync().ok());
    ASSERT_TRUE(file->Write(2048, "x").ok());
    unsynced.merge(Contents(env, "d/a"));
    ASSERT_TRUE(file->Sync().ok());
    const std::string whole =
        std::string(512, 'n') + std::string(1536, 'o') + "x" + std::string(kPage - 2049, 'o');
    EXPECT_EQ(Contents(env, "d/a"), std::set<std::string>{whole});
  }
  EXPECT_EQ(unsynced.size(), 4u) << "each of two sectors as it was or as it is";
}

TEST(FaultEnv, NamesAreNotDurableAfterAFailedSyncUntilOneSucceeds) {
  FaultEnv env(FileImage{{"d/x", ""}});
  ASSERT_TRUE(WriteFileSynced(&env, "d/a", "1").ok());
  env.FailAt(env.operations(), EIO, 0);
  ASSERT_FALSE(env.SyncDir("d").ok());
  EXPECT_TRUE(env.FileExists("d/a").ok());
  EXPECT_EQ(Outcomes(env, CrashKind::kPower).size(), 2u);
  ASSERT_TRUE(env.SyncDir("d").ok());
  EXPECT_EQ(Outcomes(env, CrashKind::kPower),
            std::set<FileImage>{(FileImage{{"d/a", "1"}, {"d/x", ""}})});
}

TEST(FaultEnv, ARestartKeepsThePageCache) {
  FaultEnv env(FileImage{{"d/x", ""}});
  std::unique_ptr<FileLock> lock;
  ASSERT_TRUE(env.LockFile("d/LOCK", &lock).ok());
  std::unique_ptr<WritableFile> file;
  ASSERT_TRUE(env.NewWritableFile("d/a", &file).ok());
  ASSERT_TRUE(env.SyncDir("d").ok());
  ASSERT_TRUE(file->Append("12").ok());
  ASSERT_TRUE(file->Flush().ok());
  ASSERT_TRUE(file->Append("3").ok());
  env.CrashAt(env.operations(), 0);
  ASSERT_FALSE(file->Append("4").ok());
  ASSERT_TRUE(env.crashed());
  env.Restart(0);
  EXPECT_FALSE(env.crashed());
  std::string contents;
  ASSERT_TRUE(env.ReadFile("d/a", &contents).ok());
  EXPECT_TRUE(contents.starts_with("12")) << contents;
  EXPECT_TRUE(Contents(env, "d/a").contains("")) << "not on disk";
  std::unique_ptr<FileLock> again;
  EXPECT_TRUE(env.LockFile("d/LOCK", &again).ok());
}

TEST(FaultEnv, ReadsWhatWasWrittenAndLocks) {
  FaultEnv env;
  ASSERT_TRUE(env.CreateDir("d").ok());
  ASSERT_TRUE(env.CreateDir("d/sub").ok());
  ASSERT_TRUE(WriteFileSynced(&env, "d/a", "abc").ok());
  std::unique_ptr<RandomAccessFile> file;
  ASSERT_TRUE(env.NewRandomAccessFile("d/a", &file).ok());
  char out[3];
  ASSERT_TRUE(file->Read(1, 2, out).ok());
  EXPECT_EQ(std::string_view(out, 2), "bc");
  EXPECT_FALSE(file->Read(2, 2, out).ok());
  MappedFile map;
  ASSERT_TRUE(env.MapFile("d/a", &map).ok());
  EXPECT_EQ(map.bytes(), "abc");
  uint64_t size;
  ASSERT_TRUE(env.GetFileSize("d/a", &size).ok());
  EXPECT_EQ(size, 3u);
  EXPECT_TRUE(env.FileExists("d").ok());
  EXPECT_TRUE(env.FileExists("d/b").IsNotFound());
  EXPECT_TRUE(env.RemoveFile("d/b").IsNotFound());
  std::unique_ptr<WritableFile> nowhere;
  EXPECT_TRUE(env.NewWritableFile("e/a", &nowhere).IsNotFound());
  std::unique_ptr<FileLock> lock;
  std::unique_ptr<FileLock> second;
  ASSERT_TRUE(env.LockFile("d/LOCK", &lock).ok());
  EXPECT_EQ(env.LockFile("d/LOCK", &second).code(), Status::Code::kBusy);
  lock.reset();
  EXPECT_TRUE(env.LockFile("d/LOCK", &second).ok());
  std::vector<std::string> names;
  ASSERT_TRUE(env.GetChildren("d", &names).ok());
  EXPECT_EQ(names, (std::vector<std::string>{"LOCK", "a", "sub"}));
}

TEST(FaultEnv, GoesToRealFilesAndBack) {
  const TempDir dir;
  const FileImage files = {{"d/a", "1"}, {"d/b", ""}, {"e/c", "not there"}};
  ASSERT_TRUE(StoreFiles(files, "d", Env::Posix(), dir.File("d2")).ok());
  FileImage loaded;
  ASSERT_TRUE(LoadFiles(Env::Posix(), dir.File("d2"), &loaded).ok());
  EXPECT_EQ(loaded, (FileImage{{dir.File("d2/a"), "1"}, {dir.File("d2/b"), ""}}));
}

TEST(FaultEnv, AFullDeviceTakesWhatWasGivenBack) {
  FaultEnv env(FileImage{{"d/reserve", std::string(1000, 'r')}, {"d/a", std::string(600, 'a')}});
  std::unique_ptr<DataFile> data;
  ASSERT_TRUE(env.NewDataFile("d/a", &data).ok());
  const uint64_t from = env.operations();
  env.FillUp(from, from + 7, 1);
  Status status = data->Write(600, std::string(10, 'b'));
  EXPECT_TRUE(status.IsNoSpace()) << status.ToString();
  EXPECT_EQ(env.failure(), "d/a: cannot write: No space left on device");
  EXPECT_TRUE(data->Sync().ok());
  ASSERT_TRUE(data->Discard(0, 100).ok());
  EXPECT_TRUE(data->Write(600, std::string(100, 'b')).ok());
  EXPECT_TRUE(data->Write(700, "b").IsNoSpace());
  ASSERT_TRUE(env.RemoveFile("d/reserve").ok());
  EXPECT_TRUE(data->Write(700, std::string(1001, 'b')).ok());
  // Others have given back what they had.
  EXPECT_TRUE(data->Write(1701, std::string(5000, 'b')).ok());
  std::string contents;
  ASSERT_TRUE(env.ReadFile("d/a", &contents).ok());
  EXPECT_EQ(contents, std::string(100, '\0') + std::string(500, 'a') + std::string(6101, 'b'));
}

}  // namespace
}  // namespace sluice
