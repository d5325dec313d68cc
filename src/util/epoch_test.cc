#include "util/epoch.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "util/testing.h"
#include "util/thread_watch.h"

namespace sluice {
namespace {

std::atomic<int> alive{0};

// Knows whether it was deleted, as long as its memory is not used again.
struct Object {
  static constexpr uint64_t kAlive = 0x6f626a656374;

  explicit Object(uint64_t number) : value(number) { ++alive; }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  ~Object() {
    check = 0;
    --alive;
  }

  volatile uint64_t check = kAlive;
  uint64_t value;
};

// Enough to have everything deleted that can be.
void RetireMany() {
  for (size_t i = 0; i < 4 * kRetireBatch; ++i) {
    EpochRetire(new Object(i));
  }
}

TEST(Epoch, DrainDeletesAll) {
  for (size_t i = 0; i < 3 * kRetireBatch / 2; ++i) {
    EpochRetire(new Object(i));
  }
  EpochDrain();
  EXPECT_EQ(alive, 0);
  EpochDrain();
}

TEST(Epoch, DeletesWithoutADrain) {
  for (size_t i = 0; i < 100 * kRetireBatch; ++i) {
    EpochRetire(new Object(i));
    ASSERT_LE(alive, int{2 * kRetireBatch});
  }
  EpochDrain();
  EXPECT_EQ(alive, 0);
}

// Few objects, and none but those that a guard holds back, whoever retired them.
TEST(Epoch, ReclaimDeletesWhatNoGuardHolds) {
  std::atomic<int> step{0};
  const auto wait_for = [&step](int next) {
    while (step != next) {
      std::this_thread::yield();
    }
  };
  EpochRetire(new Object(1));
  std::thread other([&] {
    EpochRetire(new Object(2));
    step = 1;
    wait_for(2);
    const EpochGuard guard;
    step = 3;
    wait_for(4);
  });
  wait_for(1);
  EpochReclaim();
  EXPECT_EQ(alive, 0);
  step = 2;
  wait_for(3);
  EpochRetire(new Object(3));
  EpochReclaim();
  EXPECT_EQ(alive, 1);
  step = 4;
  other.join();
  EpochReclaim();
  EXPECT_EQ(alive, 0);
}

// Nothing that the guard's holder could see goes before the last of its nested guards does.
// It waits for the guards of now, and not for those that begin later.
TEST(Epoch, WaitsForGuards) {
  std::atomic<bool> held{false};
  std::atomic<bool> go{false};
  std::thread reader([&] {
    const EpochGuard guard;
    held = true;
    while (!go) {
      std::this_thread::yield();
    }
  });
  while (!held) {
    std::this_thread::yield();
  }
  static std::atomic<int> deleted{0};
  EpochRetire(&deleted, [](void*) { ++deleted; });
  EpochReclaim();
  EXPECT_EQ(deleted, 0);
  std::atomic<bool> waited{false};
  std::thread waits([&] {
    ::pthread_setname_np(::pthread_self(), "waits");
    EpochRetire(&deleted, [](void*) { ++deleted; });
    EpochWait();
    EXPECT_GE(deleted, 1);
    waited = true;
  });
  while (!waited && SleepOf("waits").switches < 20) {  // it sleeps and looks, again and again
    std::this_thread::yield();
  }
  EXPECT_FALSE(waited);
  go = true;
  reader.join();
  waits.join();
  EpochWait();
  EXPECT_EQ(deleted, 2);
}

TEST(Epoch, NestedGuardsHoldBack) {
  std::atomic<int> step{0};
  std::thread holder([&] {
    const EpochGuard outer;
    { const EpochGuard inner; }
    step = 1;
    while (step != 2) {
      std::this_thread::yield();
    }
  });
  while (step != 1) {
    std::this_thread::yield();
  }
  auto* const object = new Object(1);
  EpochRetire(object);
  RetireMany();
  EXPECT_EQ(object->check, Object::kAlive);
  EXPECT_EQ(alive, int{4 * kRetireBatch + 1});
  step = 2;
  holder.join();
  RetireMany();
  EXPECT_LT(alive, int{4 * kRetireBatch});
  EpochDrain();
  EXPECT_EQ(alive, 0);
}

TEST(Epoch, OwnGuardHoldsBackToo) {
  auto* const object = new Object(1);
  {
    const EpochGuard guard;
    EpochRetire(object);
    RetireMany();
    EXPECT_EQ(object->check, Object::kAlive);
  }
  EpochDrain();
  EXPECT_EQ(alive, 0);
}

TEST(Epoch, GuardsThatBeganLaterDoNotHoldBack) {
  EpochRetire(new Object(1));
  RetireMany();
  const EpochGuard guard;
  const int before = alive;
  EXPECT_LE(before, int{kRetireBatch});
  RetireMany();
  EXPECT_EQ(alive, static_cast<int>(4 * kRetireBatch + before % kRetireBatch));
}

TEST(Epoch, ExitedThreadsLeaveNothing) {
  EpochDrain();
  for (int i = 0; i < 50; ++i) {
    std::thread([i] { EpochRetire(new Object(i)); }).join();
  }
  EXPECT_LE(alive, 50);
  RetireMany();  // by another thread
  EXPECT_LE(alive, int{kRetireBatch});
  std::thread([] { EpochRetire(new Object(1)); }).join();
  EpochDrain();
  EXPECT_EQ(alive, 0);
}

// A list whose every deleter retires the rest.
struct Link {
  explicit Link(Link* behind) : next(behind) { ++alive; }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() {
    --alive;
    if (next != nullptr) {
      EpochRetire(next);
    }
  }
  Link* next;
};

TEST(Epoch, DeletersRetire) {
  for (int list = 0; list < 100; ++list) {
    Link* head = nullptr;
    for (int i = 0; i < 300; ++i) {
      head = new Link(head);
    }
    EpochRetire(head);
  }
  EpochDrain();
  EXPECT_EQ(alive, 0);
}

// With the kernel's barrier, if there is one, and with fences of the guards' own.
class EpochBarrier : public testing::TestWithParam<bool> {
 protected:
  EpochBarrier() {
    EpochDrain();  // looks for the kernel's
    kernel_lacks_it_ = epoch_internal::domain.guards_fence;
    epoch_internal::domain.guards_fence = kernel_lacks_it_ || GetParam();
  }
  ~EpochBarrier() override { epoch_internal::domain.guards_fence = kernel_lacks_it_; }

 private:
  bool kernel_lacks_it_;
};

INSTANTIATE_TEST_SUITE_P(Barriers, EpochBarrier, testing::Bool(),
                         [](const auto& info) { return info.param ? "OfGuards" : "OfTheKernel"; });

// Threads swap the objects of a few places and look at each other's; some come and go; one drains.
TEST_P(EpochBarrier, NobodySeesADeletedObject) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  constexpr int kGenerations = 20;
  constexpr int kSteps = 5'000;
  std::array<std::atomic<Object*>, 8> places;
  for (auto& place : places) {
    place = new Object(0);
  }
  std::atomic<uint64_t> bad{0};
  const auto work = [&](uint64_t thread_seed) {
    std::mt19937_64 rng(thread_seed);
    for (int i = 0; i < kSteps; ++i) {
      const EpochGuard guard;
      const Object* const object = places[rng() % places.size()].load(std::memory_order_acquire);
      if (rng() % 4 == 0) {
        EpochRetire(places[rng() % places.size()].exchange(new Object(rng())));
      }
      const EpochGuard nested;
      bad += object->check != Object::kAlive;
      if (i % 64 == 0) {
        std::this_thread::yield();  // with the guard held: others reclaim
        bad += object->check != Object::kAlive;
      }
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int generation = 0; generation < kGenerations; ++generation) {
        std::thread(work, seed + 100 * t + generation).join();
      }
    });
  }
  threads.emplace_back([&] {
    for (int i = 0; i < 100; ++i) {
      EpochDrain();
    }
  });
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(bad, 0u);
  for (auto& place : places) {
    EpochRetire(place.load());
  }
  EpochDrain();
  EXPECT_EQ(alive, 0);
}

// A guard's store may linger in its core's store buffer while the guard's first load goes ahead:
// here the unlinking, the sealing and the look at the guards follow each other as closely as they
// can.
TEST_P(EpochBarrier, NoGuardIsOverlooked) {
  constexpr int kRounds = 100'000;
  struct Marked {
    std::atomic<bool> deleted{false};
  };
  std::vector<Marked> objects(kRounds + 1);  // outlive their deletion, so that it shows
  std::atomic<Marked*> place{&objects[0]};
  std::atomic<bool> done{false};
  uint64_t bad = 0;
  std::thread reader([&] {
    std::vector<char> cold(size_t{64} << 20);
    size_t at = 0;
    while (!done.load(std::memory_order_relaxed)) {
      for (int i = 0; i < 30; ++i) {
        at = (at * 0x2545F4914F6CDD1D + 1) % cold.size();
        cold[at] = 1;
      }
      const EpochGuard guard;
      const Marked* const object = place.load(std::memory_order_acquire);
      for (int i = 0; i < 2'000; ++i) {
        bad += object->deleted.load(std::memory_order_relaxed);
      }
    }
  });
  for (int i = 1; i <= kRounds; ++i) {
    for (size_t filler = 1; filler < kRetireBatch; ++filler) {
      EpochRetire(nullptr, [](void*) {});
    }
    EpochRetire(place.exchange(&objects[i]),
                [](void* object) { static_cast<Marked*>(object)->deleted = true; });
  }
  done = true;
  reader.join();
  EXPECT_EQ(bad, 0u);
  EpochDrain();
}

// However few the objects, much memory does not wait for more of them, nor for the thread that
// retired it to do anything else.
TEST(Epoch, GivesMuchMemoryBackAtOnce) {
  static std::atomic<int> left;
  left = 3;
  const auto deleter = [](void*) { --left; };
  int object = 0;
  {
    const EpochGuard guard;
    EpochRetire(&object, deleter, kRetireBytes);
    EpochRetire(&object, deleter, 1);
    EXPECT_EQ(left, 3);
  }
  EXPECT_EQ(left, 1);
  EpochRetire(&object, deleter, kRetireBytes);
  EXPECT_EQ(left, 0);
}

// Neither the thread that retired it nor those whose guards keep it do anything later on.
TEST(Epoch, GivesMuchMemoryBackWhenTheLastGuardEnds) {
  for (const bool under_guard : {false, true}) {
    static std::atomic<bool> deleted;
    deleted = false;
    int object = 0;
    constexpr int kHolders = 3;
    std::atomic<int> held{0};
    std::atomic<int> ended{0};
    std::atomic<int> may_end{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kHolders; ++t) {
      threads.emplace_back([&, t] {
        {
          const EpochGuard guard;
          ++held;
          while (may_end <= t) {
            may_end.wait(t);
          }
        }
        ++ended;
        while (may_end <= kHolders) {
          std::this_thread::yield();  // idle
        }
      });
    }
    threads.emplace_back([&] {
      while (held < kHolders) {
        std::this_thread::yield();
      }
      {
        std::optional<EpochGuard> guard;
        if (under_guard) {
          guard.emplace();
        }
        EpochRetire(
            &object, [](void*) { deleted = true; }, kRetireBytes);
      }
      ++held;
      while (may_end <= kHolders) {
        std::this_thread::yield();
      }
    });
    while (held <= kHolders) {
      std::this_thread::yield();
    }
    for (int t = 0; t < kHolders; ++t) {
      EXPECT_FALSE(deleted);
      may_end = t + 1;
      may_end.notify_all();
      while (ended <= t) {
        std::this_thread::yield();
      }
    }
    EXPECT_TRUE(deleted);
    may_end = kHolders + 1;
    for (std::thread& thread : threads) {
      thread.join();
    }
    EpochDrain();
  }
}

// The same, where guards begin and end all the time: at the end nothing is left.
TEST(Epoch, MuchMemoryIsNeverLeftBehind) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 200; ++round) {
    static std::atomic<int> left;
    left = 0;
    int object = 0;
    std::atomic<int> working{4};
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, seed = random()] {
        std::mt19937_64 own(seed);
        for (int i = 0; i < 50; ++i) {
          const EpochGuard guard;
          if (own() % 4 == 0) {
            std::this_thread::yield();
          }
          if (own() % 2 == 0) {
            ++left;
            EpochRetire(
                &object, [](void*) { --left; }, kRetireBytes);
          }
        }
        --working;
        while (!stop) {
          std::this_thread::yield();  // idle
        }
      });
    }
    while (working > 0) {
      std::this_thread::yield();
    }
    EXPECT_EQ(left, 0);
    stop = true;
    for (std::thread& thread : threads) {
      thread.join();
    }
    EpochDrain();
  }
}

// Guards that threads of the parent hold at the fork are held for ever in its copy.
TEST(Epoch, AChildWaitsForNoGuardOfItsParent) {
  std::atomic<bool> held{false};
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    const EpochGuard guard;
    held = true;
    while (!stop) {
      std::this_thread::yield();
    }
  });
  while (!held) {
    std::this_thread::yield();
  }
  EpochRetire(new Object(1));
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    const int before = alive;
    EpochRetire(new Object(2));
    EpochWait();
    EpochDrain();
    ::_exit(alive == before ? 0 : 1);  // the first one is the parent's
  }
  int outcome = 0;
  EXPECT_EQ(::waitpid(child, &outcome, 0), child);
  EXPECT_TRUE(WIFEXITED(outcome) && WEXITSTATUS(outcome) == 0) << outcome;
  stop = true;
  reader.join();
  EpochDrain();
  EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace sluice
