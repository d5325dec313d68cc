// Any allocation of C++ fails, on any thread. The call throws or fails, or the process ends; it
// never hangs, nothing that was acknowledged is lost, and what is there no more is not used.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "process.h"
#include "sluice/db.h"
#include "table/testing.h"
#include "util/replaced_new.h"
#include "util/testing.h"

namespace sluice {

namespace {

// The allocation that fails, counted from 1; then all succeed again. 0: none.
std::atomic<int64_t> to_fail{0};
// Whether those of other threads fail, too.
std::atomic<bool> of_all_threads{false};
thread_local bool may_fail = false;

}  // namespace

void OnAllocation(std::size_t) {
  if (to_fail.load(std::memory_order_relaxed) > 0 && (may_fail || of_all_threads) &&
      to_fail.fetch_sub(1) == 1) {
    throw std::bad_alloc();
  }
}

namespace {

constexpr size_t kMostKeys = size_t{1} << 16;
constexpr int kProcesses = 30;

// What outlives a process.
struct Shared {
  std::atomic<uint32_t> next;
  std::atomic<uint32_t> failures;
  std::atomic<bool> acknowledged[kMostKeys];
};

Options TestOptions() {
  Options options;
  options.create_if_missing = true;
  options.memtable_bytes = 32 << 10;
  options.extent_bytes = 16 << 10;
  options.compaction_bytes = 128 << 10;
  options.log_segment_bytes = 64 << 10;
  options.l0_compaction_runs = 3;
  options.l1_bytes = 256 << 10;
  options.row_cache_bytes = options.block_cache_bytes = options.table_cache_bytes = 256 << 10;
  options.write_buffer_bytes = 512 << 10;
  return options;
}

std::string KeyOf(uint32_t i) { return fmt::format("{:08}", i * 7919 % 100000000); }
std::string ValueOf(uint32_t i) { return fmt::format("{}/", i) + std::string(i * 31 % 900, 'v'); }

enum Exit { kDone, kError, kWrong };

// Uses a database, one call after the other, each of which may lack memory.
class User {
 public:
  User(DB* db, Shared* shared, uint64_t seed) : db_(*db), shared_(*shared), random_(seed) {}

  // False: what was read is wrong.
  bool Run() {
    const int most_between = 1 << Uniform(&random_, 0, 10);
    for (int calls = 0; calls < 150 && right_ && failed_ < 10; ++calls) {
      of_all_threads = Uniform(&random_, 0, 3) == 0;
      may_fail = true;
      if (to_fail <= 0 && Uniform(&random_, 0, most_between) == 0) {
        to_fail = Uniform(&random_, 1, int64_t{1} << Uniform(&random_, 1, 12));
      }
      try {
        Call();
      } catch (const std::bad_alloc&) {
        shared_.failures.fetch_add(1);
      }
      may_fail = false;
    }
    to_fail = 0;
    return right_;
  }

 private:
  void Call() {
    switch (Uniform(&random_, 0, 11)) {
      case 0:
        (void)db_.Flush(nullptr);
        break;
      case 1:
        (void)db_.CompactRange(nullptr, "", "");
        break;
      case 2:
        Scan();
        break;
      case 3:
        MakeSubtable();
        break;
      case 4: {
        const Snapshot* const held = db_.GetSnapshot();
        try {
          Read();
        } catch (const std::bad_alloc&) {
        }
        db_.ReleaseSnapshot(held);
        break;
      }
      case 5:
      case 6:
        Read();
        break;
      default:
        Write(Uniform(&random_, 1, 60));
    }
  }
  void Write(uint32_t count) {
    for (; count > 0 && shared_.next < kMostKeys; --count) {
      const uint32_t i = shared_.next.fetch_add(1);
      if (db_.Put({.sync = Uniform(&random_, 0, 8) == 0}, KeyOf(i), ValueOf(i)).ok()) {
        shared_.acknowledged[i] = true;
      } else {
        ++failed_;
      }
    }
  }
  void Read() {
    const auto i = static_cast<uint32_t>(Uniform(&random_, 0, shared_.next));
    std::string value;
    const Status status = db_.Get({}, KeyOf(i), &value);
    right_ = right_ && (status.ok()           ? value == ValueOf(i)
                        : status.IsNotFound() ? !shared_.acknowledged[i]
                                              : !status.IsCorruption());
  }
  void Scan() {
    const std::unique_ptr<Iterator> at = db_.NewIterator({});
    int most = 200;
    for (at->SeekToFirst(); at->Valid() && most > 0; at->Next(), --most) {
      right_ = right_ && !at->value().empty();
    }
    right_ = right_ && !at->status().IsCorruption();
  }
  void MakeSubtable() {
    Subtable* subtable = nullptr;
    if (db_.CreateSubtable(fmt::format("s{}", Uniform(&random_, 0, 1000000)), &subtable).ok()) {
      (void)db_.Put({}, subtable, "key", "value");
      (void)db_.Flush(subtable);
      (void)db_.DropSubtable(subtable);
    }
  }

  DB& db_;
  Shared& shared_;
  TestRandom random_;
  bool right_ = true;
  int failed_ = 0;  // writes: once one has, others will
};

// Processes, one after the other, that each lack memory now and then.
TEST(OutOfMemoryTest, NothingIsLostAndNothingHangs) {
  TestRandom random(TestSeed());
  void* const mapped =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* const shared = new (mapped) Shared{};
  const TempDir dir;
  int ended = 0;
  for (int process = 0; process < kProcesses; ++process) {
    const uint64_t seed = random();
    const int outcome = InProcess([&] {
      std::unique_ptr<DB> db;
      const Status opened = DB::Open(TestOptions(), dir.path(), &db);
      if (!opened.ok()) {
        return kWrong;
      }
      const bool right = User(db.get(), shared, seed).Run();
      const Status closed = db->Close();
      return !right || closed.IsCorruption() ? kWrong : closed.ok() ? kDone : kError;
    });
    // Where it can only tear what others rely on, a thread without memory ends the process.
    ASSERT_TRUE(outcome == kDone || outcome == kError || outcome == -SIGABRT)
        << "process " << process << ": exit status or signal " << outcome;
    ended += outcome == kDone ? 0 : 1;
    std::unique_ptr<DB> db;
    const Status opened = DB::Open(TestOptions(), dir.path(), &db);
    ASSERT_TRUE(opened.ok()) << "process " << process << ": " << opened.ToString();
    for (uint32_t i = 0; i < shared->next; ++i) {
      std::string value;
      const Status status = db->Get({}, KeyOf(i), &value);
      ASSERT_TRUE(status.ok() ? value == ValueOf(i)
                              : status.IsNotFound() && !shared->acknowledged[i])
          << "process " << process << ", " << i << ": " << status.ToString();
    }
    const Status verified = db->Verify({});
    ASSERT_TRUE(verified.ok()) << verified.ToString();
  }
  EXPECT_GT(ended, 0);
  EXPECT_LT(ended, kProcesses);
  EXPECT_GT(shared->failures.load(), 0u);
  ::munmap(mapped, sizeof(Shared));
}

}  // namespace
}  // namespace sluice
