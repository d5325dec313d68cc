#include "tree/extent_space.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <map>
#include <thread>
#include <vector>

#include "tree/extent_reader.h"
#include "tree/extent_writer.h"
#include "tree/metadata_edit.h"
#include "tree/page_runs.h"
#include "tree/run_index.h"
#include "tree/testing.h"
#include "util/epoch.h"
#include "util/fault_env.h"
#include "util/testing.h"
#include "util/writeback_env.h"

namespace sluice {
namespace {

const FileImage kDirs = {{"a/x", ""}, {"b/x", ""}};

TEST(PageRunsDeathTest, PagesComeFreeOnce) {
  PageRuns free;
  free.Add(4, 4);
  EXPECT_DEATH(free.Add(4, 1), "page_runs.h:.*this must hold");
  EXPECT_DEATH(free.Add(7, 2), "page_runs.h:.*this must hold");
  EXPECT_DEATH(free.Add(2, 3), "page_runs.h:.*this must hold");
  free.Add(8, 2);
  free.Add(2, 2);
  EXPECT_EQ(free.Last()->first, 2u);
  EXPECT_EQ(free.pages(), 8u);
}

TEST(ExtentSpace, GoesBeyond16TiB) {
  FaultEnv env(kDirs);
  std::unique_ptr<ExtentSpace> space;
  ASSERT_TRUE(ExtentSpace::Open(&env, {{"a", 1}}, &space).ok());
  constexpr uint64_t kFar = uint64_t{17} << 40;
  const auto low = space->Allocate(0, kFar);
  EXPECT_EQ(low->bytes(), kFar);
  const auto high = space->Allocate(0, 1);
  EXPECT_EQ(high->offset(), kFar);
  EXPECT_EQ(space->used_bytes(), kFar + kPageBytes);
  std::string edit;
  const MetadataEdit written = {.added = {{.extent = {.address = high->address(),
                                                      .smallest = InternalKey("a", 1),
                                                      .largest = InternalKey("a", 1)}}}};
  written.AppendTo(&edit);
  MetadataEdit read;
  ASSERT_TRUE(read.ReadFrom(edit).ok());
  EXPECT_EQ(read, written);
  std::shared_ptr<ExtentPlace> place;
  EXPECT_TRUE(space->Adopt(read.added[0].extent, &place).IsCorruption()) << "the file is short";
}

// Against a map of pages: nothing is given twice, all that is given back comes again, and a restart
// that adopts what lives agrees on what is free.
TEST(ExtentSpace, GivesNoPageTwice) {
  TestRandom random(TestSeed());
  FaultEnv env(kDirs);
  std::unique_ptr<ExtentSpace> space;
  ASSERT_TRUE(ExtentSpace::Open(&env, {{"a", 1}, {"b", 2}}, &space).ok());
  std::map<std::pair<uint64_t, uint64_t>, int> taken;
  std::vector<std::shared_ptr<ExtentPlace>> held;
  const auto count = [&](const ExtentPlace& place, int change) {
    for (uint64_t i = 0; i < place.bytes() / kPageBytes; ++i) {
      int& users = taken[{place.address().file, place.address().page + i}];
      users += change;
      ASSERT_GE(users, 0);
      ASSERT_LE(users, 1);
    }
  };
  constexpr int kSteps = 3000;
  for (int step = 1; step <= kSteps; ++step) {
    if (held.empty() || step == kSteps || Uniform(&random, 0, 9) < 5) {
      const auto bytes = static_cast<uint32_t>(Uniform(&random, 1, 20 * kPageBytes));
      held.push_back(space->Allocate(Uniform(&random, 0, 1), bytes));
      ASSERT_GE(held.back()->bytes(), bytes);
      count(*held.back(), 1);
    } else {
      std::swap(held[Uniform(&random, 0, held.size() - 1)], held.back());
      count(*held.back(), -1);
      held.pop_back();
    }
  }
  uint64_t used = 0;
  std::vector<Extent> extents;
  for (const auto& place : held) {
    used += place->bytes();
    ASSERT_TRUE(place->file()->Write(place->offset(), std::string(place->bytes(), 'x')).ok());
    extents.push_back({.number = extents.size(),
                       .address = place->address(),
                       .bytes = static_cast<uint32_t>(place->bytes())});
  }
  EXPECT_EQ(space->used_bytes(), used);
  held.clear();
  EXPECT_EQ(space->used_bytes(), 0u);

  space.reset();
  ASSERT_TRUE(ExtentSpace::Open(&env, {{"a", 1}, {"b", 2}}, &space).ok());
  for (const Extent& extent : extents) {
    ASSERT_TRUE(space->Adopt(extent, &held.emplace_back()).ok());
  }
  EXPECT_EQ(space->used_bytes(), used);
  std::shared_ptr<ExtentPlace> place;
  EXPECT_TRUE(space->Adopt(extents[0], &place).IsCorruption());
  extents[0].address.page = 1 << 20;
  EXPECT_TRUE(space->Adopt(extents[0], &place).IsCorruption());
  extents[0].address.file = 9;
  EXPECT_TRUE(space->Adopt(extents[0], &place).IsCorruption());
}

// Whether the file system frees parts of files.
// Why what files take cannot be counted in pages; empty if it can.
std::string CannotCount(const TempDir& dir) {
  constexpr uint64_t kPages = 4000;
  std::unique_ptr<DataFile> file;
  EXPECT_TRUE(Env::Posix()->NewDataFile(dir.File("f"), &file).ok());
  for (uint64_t i = 0; i < kPages; ++i) {
    EXPECT_TRUE(file->Write(i * kPageBytes, std::string(kPageBytes, 'x')).ok());
  }
  uint64_t bytes = 0;
  EXPECT_TRUE(file->GetDiskBytes(&bytes).ok());
  if (bytes > kPages * kPageBytes) {  // XFS
    return dir.path() + ": the file system takes space beyond the end of a file that grows";
  }
  return file->Discard(0, kPageBytes).IsNotSupported()
             ? dir.path() + ": the file system makes no holes"
             : std::string();
}

// While pages come and go, and are given back in between, those that are taken keep their bytes; in
// the end the files hold nothing else.
void GiveAndTake(bool reopened) {
  TempDir dir;
  if (const std::string reason = CannotCount(dir); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  TestRandom random(TestSeed());
  std::unique_ptr<ExtentSpace> space;
  const auto open = [&] { return ExtentSpace::Open(Env::Posix(), {{dir.path(), 1}}, &space); };
  ASSERT_TRUE(open().ok());
  if (!reopened) {
    space->StartGivingBack(100 * kPageBytes, 200 * kPageBytes);
  }
  struct Held {
    std::shared_ptr<ExtentPlace> place;
    std::string bytes;
  };
  std::vector<Held> held;
  const auto check = [&](const Held& one) {
    std::string found(one.bytes.size(), '\0');
    ASSERT_TRUE(one.place->file()->Read(one.place->offset(), found.size(), found.data()).ok());
    ASSERT_TRUE(found == one.bytes) << one.place->offset();
  };
  for (int step = 0; step < 3000; ++step) {
    // Grows and shrinks in turn.
    if (held.empty() || Uniform(&random, 0, 9) < (step / 500 % 2 == 0 ? 7 : 3)) {
      Held& one = held.emplace_back();
      one.place = space->Allocate(0, Uniform(&random, 1, 20 * kPageBytes));
      one.bytes.assign(one.place->bytes(), static_cast<char>('a' + step % 26));
      ASSERT_TRUE(one.place->file()->Write(one.place->offset(), one.bytes).ok());
    } else {
      std::swap(held[Uniform(&random, 0, held.size() - 1)], held.back());
      ASSERT_NO_FATAL_FAILURE(check(held.back()));
      held.pop_back();
    }
    if (step % 700 == 699) {
      space->GiveAllBack();
    }
  }
  if (reopened) {
    std::vector<Extent> extents;
    for (const Held& one : held) {
      extents.push_back(
          {.address = one.place->address(), .bytes = static_cast<uint32_t>(one.place->bytes())});
    }
    std::vector<Held> before = std::move(held);
    held.clear();
    for (Held& one : before) {
      one.place.reset();
    }
    ASSERT_TRUE(open().ok());
    for (size_t i = 0; i < extents.size(); ++i) {
      held.push_back({nullptr, before[i].bytes});
      ASSERT_TRUE(space->Adopt(extents[i], &held.back().place).ok());
    }
    space->StartGivingBack(100 * kPageBytes, 200 * kPageBytes);
  }
  space->GiveAllBack();
  for (int i = 0; i < 600'000 && space->disk_bytes() > space->used_bytes() + (64 << 10); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_LE(space->disk_bytes(), space->used_bytes() + (64 << 10));
  for (const Held& one : held) {
    ASSERT_NO_FATAL_FAILURE(check(one));
  }
  held.clear();
  space->GiveAllBack();
  for (int i = 0; i < 600'000 && space->disk_bytes() > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(space->disk_bytes(), 0u);
}

TEST(ExtentSpace, GivesFreePagesBack) { GiveAndTake(false); }

TEST(ExtentSpace, GivesBackWhatItFindsFree) { GiveAndTake(true); }

// What stays grows with what is in use, between bounds.
TEST(ExtentSpace, KeepsFreePagesWithinBounds) {
  TempDir dir;
  if (const std::string reason = CannotCount(dir); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  std::unique_ptr<ExtentSpace> space;
  ASSERT_TRUE(ExtentSpace::Open(Env::Posix(), {{dir.path(), 1}}, &space).ok());
  space->StartGivingBack(20 * kPageBytes, 100 * kPageBytes);
  struct {
    uint64_t used, kept;  // pages
  } const cases[] = {{4000, 100}, {800, 50}, {160, 20}};
  for (const auto& [used, kept] : cases) {
    std::vector<std::shared_ptr<ExtentPlace>> places = {
        space->Allocate(0, (used - 150) * kPageBytes)};
    for (int i = 0; i < 300; ++i) {
      places.push_back(space->Allocate(0, kPageBytes));
    }
    for (size_t i = 0; i < places.size(); ++i) {
      const ExtentPlace& place = *places[i];
      ASSERT_TRUE(place.file()->Write(place.offset(), std::string(place.bytes(), 'x')).ok());
      if (i % 2 != 0) {
        places[i].reset();  // no two of them are neighbours
      }
    }
    const uint64_t expected = (used + kept) * kPageBytes;
    for (int i = 0; i < 60'000 && space->disk_bytes() != expected; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(space->disk_bytes(), expected) << used << " pages";
    places.clear();
    space->GiveAllBack();
    for (int i = 0; i < 60'000 && space->disk_bytes() != 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

// A file system that makes no holes still gets back the tail of a file.
TEST(ExtentSpace, CutsOffWhatIsFreeAtTheEnd) {
  FaultEnv env(kDirs);
  env.SetMakesHoles(false);
  std::unique_ptr<ExtentSpace> space;
  ASSERT_TRUE(ExtentSpace::Open(&env, {{"a", 1}}, &space).ok());
  space->StartGivingBack(0, 0);
  const auto first = space->Allocate(0, 10 * kPageBytes);
  auto middle = space->Allocate(0, 50 * kPageBytes);
  auto last = space->Allocate(0, 50 * kPageBytes);
  ASSERT_TRUE(last->file()->Write(0, std::string(110 * kPageBytes, 'x')).ok());
  const auto expect = [&](uint64_t pages) {
    for (int i = 0; i < 600'000 && space->disk_bytes() > pages * kPageBytes; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(space->disk_bytes(), pages * kPageBytes);
  };
  middle.reset();
  expect(110);
  last.reset();
  expect(10);
  std::string found(10 * kPageBytes, '\0');
  ASSERT_TRUE(first->file()->Read(0, found.size(), found.data()).ok());
  EXPECT_EQ(found, std::string(10 * kPageBytes, 'x'));
}

// Extents of several pieces, some of a part of a page: all of it can be read again, and no piece's
// error is lost.
TEST(ExtentWriter, WritesInPieces) {
  const auto write = [](FaultEnv* env, std::unique_ptr<ExtentSpace>* space,
                        std::vector<Extent>* extents) -> Status {
    SLUICE_RETURN_IF_ERROR(ExtentSpace::Open(env, {{"a", 1}}, space));
    std::atomic<uint64_t> next{1};
    ExtentWriter writer(space->get(), 0, &next);
    for (int i = 0; i < 6; ++i) {
      BuiltExtent built{.table = std::string(150'000 + i * 1000, static_cast<char>('a' + i)),
                        .extent = {}};
      built.extent.bytes = static_cast<uint32_t>(built.table.size());
      SLUICE_RETURN_IF_ERROR(writer.Write(&built, writer.TakeNumber()));
    }
    return writer.Finish(extents);
  };
  FaultEnv whole(kDirs);
  std::unique_ptr<ExtentSpace> space;
  std::vector<Extent> extents;
  ASSERT_TRUE(write(&whole, &space, &extents).ok());
  ASSERT_EQ(extents.size(), 6u);
  for (size_t i = 0; i < extents.size(); ++i) {
    std::string table(extents[i].bytes, '\0');
    const ExtentPlace& place = *extents[i].place;
    ASSERT_TRUE(place.file()->Read(place.offset(), table.size(), table.data()).ok());
    EXPECT_EQ(table, std::string(150'000 + i * 1000, static_cast<char>('a' + i)));
  }
  extents.clear();
  for (uint64_t k = 0; k < whole.operations(); ++k) {
    FaultEnv env(kDirs);
    env.FailAt(k, EIO, k);
    std::unique_ptr<ExtentSpace> another;
    const Status status = write(&env, &another, &extents);
    EXPECT_NE(status.message(), "") << k;
    EXPECT_EQ(status.message(), env.failure());
    extents.clear();
  }
}

// A flush that syncs the file waits for a few extents of a compaction at most, however many that
// has written; and if the device had one of them not, whatever else was written counts as lost.
TEST(ExtentWriter, ACompactionLeavesLittleToASync) {
  constexpr uint32_t kBytes = 64 << 10;
  WritebackEnv env(kDirs);
  std::unique_ptr<ExtentSpace> space;
  ASSERT_TRUE(ExtentSpace::Open(&env, {{"a", 1}}, &space).ok());
  std::atomic<uint64_t> next{1};
  const auto write = [](ExtentWriter* writer) {
    BuiltExtent built{.table = std::string(kBytes, 'x'), .extent = {}};
    built.extent.bytes = kBytes;
    return writer->Write(&built, writer->TakeNumber());
  };
  std::vector<Extent> extents;
  {
    ExtentWriter compaction(space.get(), 0, &next, ExtentWriter::Use::kCompaction);
    for (int i = 0; i < 50; ++i) {
      ASSERT_TRUE(write(&compaction).ok());
    }
    ASSERT_TRUE(compaction.Finish(&extents).ok());
    EXPECT_LE(env.most, 8u * kBytes);
    EXPECT_GE(env.most, 4u * kBytes) << "it waits for each";
  }
  ExtentWriter flush(space.get(), 0, &next);
  ASSERT_TRUE(write(&flush).ok());
  env.fails = true;
  ExtentWriter compaction(space.get(), 0, &next, ExtentWriter::Use::kCompaction);
  Status status;
  for (int i = 0; i < 50 && status.ok(); ++i) {
    status = write(&compaction);
  }
  EXPECT_FALSE(status.ok());
  EXPECT_FALSE(flush.Finish(&extents).ok());
  extents.clear();
}

// The system tells one of two writers of a file that a sync failed, and the other that its own went
// well; what it dropped may be either's.
TEST(ExtentWriter, AFailedSyncFailsAllThatHadWritten) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    FaultEnv env(kDirs);
    std::unique_ptr<ExtentSpace> space;
    ASSERT_TRUE(ExtentSpace::Open(&env, {{"a", 1}}, &space).ok());
    std::atomic<uint64_t> next{1};
    const auto write = [](ExtentWriter* writer) {
      BuiltExtent built{.table = std::string(10'000, 'x'), .extent = {}};
      built.extent.bytes = 10'000;
      ASSERT_TRUE(writer->Write(&built, writer->TakeNumber()).ok());
    };
    std::vector<Extent> extents;
    {
      ExtentWriter flush(space.get(), 0, &next);
      ExtentWriter compaction(space.get(), 0, &next);
      write(&compaction);
      write(&flush);
      env.FailAt(env.operations(), EIO, seed);
      EXPECT_FALSE(flush.Finish(&extents).ok());
      EXPECT_EQ(env.failure(), "a/000001.data: cannot sync: Input/output error");
      const Status status = compaction.Finish(&extents);
      EXPECT_FALSE(status.ok());
      EXPECT_NE(status.message().find("a/000001.data"), std::string::npos) << status.ToString();
    }
    // What is written from now on can be made durable.
    ExtentWriter later(space.get(), 0, &next);
    write(&later);
    ASSERT_TRUE(later.Finish(&extents).ok());
    FaultEnv after(env.Survivors(CrashKind::kPower, seed));
    std::unique_ptr<DataFile> file;
    ASSERT_TRUE(after.NewDataFile("a/000001.data", &file).ok());
    std::string table(10'000, '\0');
    ASSERT_TRUE(file->Read(extents.at(0).place->offset(), table.size(), table.data()).ok());
    EXPECT_EQ(table, std::string(10'000, 'x'));
    extents.clear();
  }
}

}  // namespace
}  // namespace sluice
