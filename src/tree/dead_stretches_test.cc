// Whatever readers note and writers cut, in any order: what a reader may pass over is dead.

#include "tree/dead_stretches.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "util/testing.h"

namespace {

// Called at an allocation of this thread, after so many others.
thread_local int allocations_before = -1;
std::function<void()> at_allocation;

}  // namespace

// Not inline, where GCC would take std::free for the counterpart of another operator new.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (allocations_before >= 0 && allocations_before-- == 0) {
    at_allocation();
  }
  if (void* const memory = std::malloc(bytes)) {
    return memory;
  }
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace sluice {
namespace {

constexpr int kKeys = 60;

std::string KeyOf(int i) { return fmt::format("{:03}", i); }

// A database of one version after another, with writers who are at any point of their way.
class Model {
 public:
  explicit Model(uint64_t seed) : random_(seed), live_(kKeys) {
    for (auto& history : live_) {
      history[0] = false;
    }
  }

  void Step() {
    switch (Uniform(&random_, 0, 9)) {
      case 0:
      case 1:  // a writer gets its number
        under_way_.push_back({.key = AnyKey(), .is_put = Uniform(&random_, 0, 2) == 0});
        given_.store(given_.load() + 1);
        break;
      case 2:
      case 3:  // one looks for stretches
        if (!under_way_.empty()) {
          Arrive(&under_way_[Uniform(&random_, 0, under_way_.size() - 1)]);
        }
        break;
      case 4:
      case 5:  // the first one becomes visible
        if (!under_way_.empty()) {
          Arrive(&under_way_.front());
          live_[static_cast<size_t>(under_way_.front().key)][++visible_] =
              under_way_.front().is_put;
          under_way_.pop_front();
        }
        break;
      default:
        Walk();
    }
  }

  void Check() {
    const EpochGuard guard;
    for (int key = 0; key < kKeys; ++key) {
      for (SequenceNumber snapshot = 0; snapshot <= visible_; ++snapshot) {
        const DeadStretches::Stretch* const found = stretches_.Find(KeyOf(key), snapshot);
        if (found != nullptr) {
          ASSERT_TRUE(found->Contains(KeyOf(key)));
          ASSERT_FALSE(IsLive(key, snapshot)) << KeyOf(key) << " as of " << snapshot;
          ++passed_;
        }
      }
    }
    const std::vector<DeadStretches::Stretch> all = stretches_.stretches();
    ASSERT_LE(all.size(), DeadStretches::kMostStretches);
    for (size_t i = 0; i + 1 < all.size(); ++i) {
      ASSERT_FALSE(all[i].end.empty());
      ASSERT_LT(all[i].end, all[i + 1].begin);
    }
  }

  uint64_t passed() const { return passed_; }

 private:
  struct Writer {
    int key;
    bool is_put;
    bool arrived = false;
  };

  int AnyKey() { return static_cast<int>(Uniform(&random_, 0, kKeys - 1)); }
  bool IsLive(int key, SequenceNumber snapshot) const {
    return std::prev(live_[static_cast<size_t>(key)].upper_bound(snapshot))->second;
  }
  void Arrive(Writer* writer) {
    if (writer->is_put && !std::exchange(writer->arrived, true)) {
      const EpochGuard guard;
      stretches_.Cut(KeyOf(writer->key));
    }
  }
  void Walk() {
    const SequenceNumber snapshot =
        Uniform(&random_, 0, 2) == 0 ? Uniform(&random_, 0, visible_) : visible_;
    const int begin = AnyKey();
    int end = begin;
    while (end < kKeys && !IsLive(end, snapshot)) {
      ++end;
    }
    if (end > begin) {
      stretches_.Note(KeyOf(begin), end == kKeys ? "" : KeyOf(end), 10 * (end - begin), snapshot,
                      given_);
    }
  }

  TestRandom random_;
  std::vector<std::map<SequenceNumber, bool>> live_;  // of each key, since when
  std::deque<Writer> under_way_;
  std::atomic<SequenceNumber> given_{0};
  SequenceNumber visible_ = 0;
  DeadStretches stretches_;
  uint64_t passed_ = 0;
};

TEST(DeadStretches, HoldNothingThatLives) {
  const uint64_t seed = TestSeed();
  uint64_t passed = 0;
  for (int round = 0; round < TestRounds(20) && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << seed + round);
    Model model(seed + round);
    for (int i = 0; i < 400 && !testing::Test::HasFailure(); ++i) {
      model.Step();
      model.Check();
    }
    passed += model.passed();
  }
  EXPECT_GT(passed, 10'000u);
}

TEST(DeadStretches, BecomeOneWhereTheyMeet) {
  std::atomic<SequenceNumber> given{7};
  DeadStretches stretches;
  stretches.Note("b", "d", 20, 7, given);
  stretches.Note("f", "h", 20, 7, given);
  EXPECT_EQ(stretches.stretches().size(), 2u);
  stretches.Note("d", "f", 20, 7, given);
  ASSERT_EQ(stretches.stretches().size(), 1u);
  EXPECT_EQ(stretches.stretches()[0].begin, "b");
  EXPECT_EQ(stretches.stretches()[0].end, "h");
  EXPECT_EQ(stretches.stretches()[0].keys, 60u);
  stretches.Note("g", "", 30, 7, given);
  ASSERT_EQ(stretches.stretches().size(), 1u);
  EXPECT_EQ(stretches.stretches()[0].end, "");
  const EpochGuard guard;
  EXPECT_EQ(stretches.Find("c", 6), nullptr);
  EXPECT_NE(stretches.Find("z", 7), nullptr);
  EXPECT_EQ(stretches.Find("a", 7), nullptr);
  stretches.Cut("a");
  stretches.Cut("m");  // what is pushed behind all leaves the rest as it is
  ASSERT_EQ(stretches.stretches().size(), 1u);
  EXPECT_EQ(stretches.stretches()[0].end, "m");
  EXPECT_EQ(stretches.Find("m", 7), nullptr);
  stretches.Cut("c");
  ASSERT_EQ(stretches.stretches().size(), 2u);
  EXPECT_EQ(stretches.Find("c", 7), nullptr);
  EXPECT_NE(stretches.Find(std::string_view("c\0", 2), 7), nullptr);
}

// While writes are under way the first reader's word is not enough.
TEST(DeadStretches, AreWatchedWhileWritesAreUnderWay) {
  std::atomic<SequenceNumber> given{9};
  DeadStretches stretches;
  const EpochGuard guard;
  stretches.Note("b", "f", 20, 7, given);
  EXPECT_EQ(stretches.Find("c", 9), nullptr);
  given = 12;
  stretches.Note("a", "d", 20, 8, given);  // still before the 9
  EXPECT_EQ(stretches.Find("c", 12), nullptr);
  stretches.Note("a", "d", 20, 9, given);
  EXPECT_EQ(stretches.Find("c", 8), nullptr);
  EXPECT_NE(stretches.Find("c", 9), nullptr);
  EXPECT_EQ(stretches.Find("a", 9), nullptr);
  EXPECT_EQ(stretches.Find("e", 9), nullptr);
  stretches.Cut("e");
  stretches.Note("a", "f", 20, 11, given);
  EXPECT_NE(stretches.Find("c", 11), nullptr);
  EXPECT_EQ(stretches.Find("e", 11), nullptr);
}

// A put that gets its number just after a reader has looked at the numbers may look for stretches
// before the reader has added its own. The put must find something there to cut all the same. Here
// it comes at each of the reader's allocations.
TEST(DeadStretches, APutIsNeverMissed) {
  int allocations = 0;
  for (bool came = true; came; ++allocations) {
    std::atomic<SequenceNumber> given{1};
    DeadStretches stretches;
    std::atomic<bool> done{false};
    std::thread writer;
    came = false;
    at_allocation = [&] {
      came = true;
      writer = std::thread([&] {
        given = 2;
        const EpochGuard guard;
        stretches.Cut("m");
        done = true;
      });
      // Not longer, because it may have to wait for the reader.
      for (int i = 0; i < 100 && !done; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    };
    allocations_before = allocations;
    stretches.Note("a", "z", 20, 1, given);
    allocations_before = -1;
    if (came) {
      writer.join();
      const EpochGuard guard;
      EXPECT_EQ(stretches.Find("m", 2), nullptr) << "allocation " << allocations;
    }
  }
  EXPECT_GT(allocations, 5);
}

TEST(DeadStretches, AreFew) {
  std::atomic<SequenceNumber> given{1};
  DeadStretches stretches;
  for (int i = 0; i < 1000; ++i) {
    const std::string key = fmt::format("{:04}", i);
    stretches.Note(key + "a", key + "b", static_cast<uint64_t>(16 + i % 100), 1, given);
  }
  const std::vector<DeadStretches::Stretch> all = stretches.stretches();
  EXPECT_EQ(all.size(), DeadStretches::kMostStretches);
  for (const DeadStretches::Stretch& stretch : all) {
    EXPECT_GE(stretch.keys, 100u);  // the longest
  }
  stretches.Note(std::string(2000, 'k'), "l", 1'000'000, 1, given);
  EXPECT_EQ(stretches.stretches().front().begin, all.front().begin);
  // Of a dropped sub-table, whose iterators go on.
  stretches.Close();
  EXPECT_TRUE(stretches.stretches().empty());
  stretches.Note("a", "b", 100, 1, given);
  EXPECT_TRUE(stretches.stretches().empty());
}

}  // namespace
}  // namespace sluice
