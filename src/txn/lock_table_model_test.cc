// The lock table against a model, and under many threads.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "table/testing.h"
#include "txn/lock_table.h"
#include "util/testing.h"

namespace sluice {
namespace {

constexpr std::chrono::hours kForever{1000};
using Code = Status::Code;

constexpr LockMode kShared = LockMode::kShared;
constexpr LockMode kExclusive = LockMode::kExclusive;

Status Acquire(LockTable* table, LockTable::Owner* owner, std::string_view key,
               std::chrono::milliseconds timeout = kForever, LockMode mode = kExclusive) {
  bool taken;
  return table->Acquire(owner, 0, key, mode, timeout, &taken);
}
std::future<Status> AcquireLater(LockTable* table, LockTable::Owner* owner, const std::string& key,
                                 LockMode mode = kExclusive) {
  return std::async(std::launch::async, [=] { return Acquire(table, owner, key, kForever, mode); });
}
size_t Rows(LockTable::Owner* owner) {
  size_t rows = 0;
  owner->ForEachRow([&](uint32_t, std::string_view, LockMode) { ++rows; });
  return rows;
}
void AwaitWaits(const LockTable& table, uint64_t waits) {
  while (table.stats().waits < waits) {
    std::this_thread::yield();
  }
}

// Owners that wait do so in threads of their own; everything else happens here, one step after the
// other, and must be what a plain model says: who holds what how, who waits in which order, and
// that a wait is refused when, and only when, it would close a cycle.
TEST(LockTableModel, DoesWhatAModelDoes) {
  constexpr size_t kOwners = 7;
  constexpr size_t kRows = 6;
  struct Hold {
    LockMode mode = kShared;
    int times = 0;
  };
  struct Wait {
    size_t owner;
    LockMode mode;
  };
  struct Row {
    std::map<size_t, Hold> holds{};
    std::deque<Wait> line{};
  };
  TestRandom random(TestSeed());
  for (int round = 0; round < 40; ++round) {
    MemoryBudget memory;
    LockTable table(&memory);
    std::vector<std::unique_ptr<LockTable::Owner>> owners;
    for (size_t i = 0; i < kOwners; ++i) {
      owners.push_back(std::make_unique<LockTable::Owner>(&table, i));
    }
    std::vector<std::future<Status>> waiting(kOwners);
    std::vector<Row> rows(kRows);
    std::vector<int> awaits(kOwners, -1);
    uint64_t waits = 0;
    uint64_t deadlocks = 0;
    const auto excludes = [](LockMode a, LockMode b) { return a == kExclusive || b == kExclusive; };
    // Whom `self` would wait for in this row, `ahead` waiters being before it.
    const auto blockers = [&](const Row& row, size_t self, LockMode mode, size_t ahead) {
      std::vector<size_t> found;
      for (const auto& [owner, hold] : row.holds) {
        if (owner != self && excludes(hold.mode, mode)) {
          found.push_back(owner);
        }
      }
      for (size_t i = 0; i < ahead; ++i) {
        if (excludes(row.line[i].mode, mode)) {
          found.push_back(row.line[i].owner);
        }
      }
      return found;
    };
    const auto serve = [&](size_t at) {
      Row& row = rows[at];
      for (size_t i = 0; i < row.line.size();) {
        const auto [owner, mode] = row.line[i];
        if (!blockers(row, owner, mode, i).empty()) {
          ++i;
          continue;
        }
        row.line.erase(row.line.begin() + static_cast<ptrdiff_t>(i));
        Hold& hold = row.holds[owner];
        hold = {std::max(hold.mode, mode), hold.times + 1};
        awaits[owner] = -1;
        ASSERT_TRUE(waiting[owner].get().ok());
      }
    };
    const auto release = [&](size_t self, bool shared_only) {
      if (shared_only) {
        table.KeepExclusiveRows(owners[self].get());
      } else {
        table.ReleaseAll(owners[self].get());
      }
      for (size_t i = 0; i < kRows; ++i) {
        const auto own = rows[i].holds.find(self);
        if (own != rows[i].holds.end() && (!shared_only || own->second.mode == kShared)) {
          rows[i].holds.erase(own);
          serve(i);
        }
      }
    };
    // Whether anybody whom these wait for, and so on, is `self`, waiting in `row` before all but
    // `ahead` others.
    const auto closes_cycle = [&](size_t self, const std::vector<size_t>& from) {
      std::vector<size_t> reached = from;
      std::vector<bool> seen(kOwners);
      for (size_t n = 0; n < reached.size(); ++n) {
        const size_t owner = reached[n];
        if (owner == self) {
          return true;
        }
        if (seen[owner] || awaits[owner] < 0) {
          continue;
        }
        seen[owner] = true;
        const Row& row = rows[awaits[owner]];
        const size_t place = std::find_if(row.line.begin(), row.line.end(),
                                          [&](const Wait& w) { return w.owner == owner; }) -
                             row.line.begin();
        for (const size_t next : blockers(row, owner, row.line[place].mode, place)) {
          reached.push_back(next);
        }
      }
      return false;
    };
    for (int step = 0; step < 150 && !testing::Test::HasFailure(); ++step) {
      const size_t self = Uniform(&random, 0, kOwners - 1);
      LockTable::Owner* const owner = owners[self].get();
      if (awaits[self] >= 0) {
        if (Uniform(&random, 0, 5) == 0) {
          table.CancelWaits(owner);
          ASSERT_EQ(waiting[self].get().code(), Code::kCancelled);
          table.AllowWaits(owner);
          const size_t at = std::exchange(awaits[self], -1);
          std::deque<Wait>& line = rows[at].line;
          line.erase(std::find_if(line.begin(), line.end(),
                                  [&](const Wait& w) { return w.owner == self; }));
          serve(at);
        }
        continue;
      }
      const size_t wanted = Uniform(&random, 0, kRows - 1);
      const std::string key = std::to_string(wanted);
      Row& row = rows[wanted];
      const auto own = row.holds.find(self);
      const auto action = Uniform(&random, 0, 15);
      if (action == 0) {
        release(self, Uniform(&random, 0, 2) == 0);
        continue;
      }
      if (action <= 3) {
        ASSERT_EQ(table.Holds(*owner, 0, key, kShared), own != row.holds.end());
        const bool last = own != row.holds.end() && --own->second.times == 0;
        ASSERT_EQ(table.Release(owner, 0, key), last);
        if (last) {
          row.holds.erase(own);
          serve(wanted);
        }
        continue;
      }
      const LockMode mode = Uniform(&random, 0, 2) != 0 ? kShared : kExclusive;
      if (own != row.holds.end() && own->second.mode >= mode) {
        ++own->second.times;
        ASSERT_TRUE(Acquire(&table, owner, key, {}, mode).ok());
        continue;
      }
      const bool upgrade = own != row.holds.end();
      const std::vector<size_t> before = blockers(row, self, mode, upgrade ? 0 : row.line.size());
      if (before.empty()) {
        ASSERT_TRUE(Acquire(&table, owner, key, {}, mode).ok());
        Hold& hold = row.holds[self];
        hold = {mode, hold.times + 1};
      } else if (Uniform(&random, 0, 3) == 0) {
        ASSERT_EQ(Acquire(&table, owner, key, {}, mode).code(), Code::kTimedOut);
      } else if (closes_cycle(self, before)) {
        ASSERT_EQ(Acquire(&table, owner, key, kForever, mode).code(), Code::kDeadlock);
        ++deadlocks;
        release(self, /*shared_only=*/false);
      } else {
        row.line.insert(upgrade ? row.line.begin() : row.line.end(), {self, mode});
        awaits[self] = static_cast<int>(wanted);
        waiting[self] = AcquireLater(&table, owner, key, mode);
        AwaitWaits(table, ++waits);
      }
      ASSERT_EQ(table.stats().deadlocks, deadlocks);
      size_t held = 0;
      for (const Row& each : rows) {
        held += each.holds.size();
      }
      ASSERT_EQ(table.stats().held, held);
    }
    // Without a cycle somebody does not wait.
    for (;;) {
      size_t left = 0;
      for (size_t i = 0; i < kOwners; ++i) {
        left += Rows(owners[i].get());
        if (awaits[i] < 0) {
          release(i, /*shared_only=*/false);
        }
      }
      if (left == 0) {
        break;
      }
    }
    ASSERT_EQ(table.stats().held, 0u);
    ASSERT_EQ(memory.used(), 0u);
  }
}

// What the locks guard is touched without any other protection: ThreadSanitizer sees when a writer
// is not alone, and a count that does not change while it is shared sees it without. Nobody has a
// time-out; it ends because deadlocks are found, and because nobody is forgotten in line.
TEST(LockTableModel, ExcludesAndAlwaysEnds) {
  constexpr int kThreads = 8;
  constexpr int kTransactions = 1500;
  constexpr size_t kRows = 10;
  const uint64_t seed = TestSeed();
  MemoryBudget memory;
  LockTable table(&memory);
  std::vector<uint64_t> guarded(kRows);
  std::atomic<uint64_t> done{0};
  std::atomic<uint64_t> next_id{1};
  // For somebody to cancel the waits of.
  std::mutex mutex;
  std::vector<LockTable::Owner*> alive(kThreads);
  std::atomic<bool> stop{false};
  std::thread canceller([&] {
    TestRandom random(seed + kThreads);
    while (!stop) {
      const std::lock_guard lock(mutex);
      LockTable::Owner* const owner = alive[Uniform(&random, 0, kThreads - 1)];
      if (owner != nullptr) {
        table.CancelWaits(owner);
      }
    }
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      TestRandom random(seed + t);
      for (int i = 0; i < kTransactions; ++i) {
        LockTable::Owner owner(&table, next_id++);
        if (t % 2 == 0) {
          const std::lock_guard lock(mutex);
          alive[t] = &owner;
        }
        std::map<size_t, LockMode> mine;
        std::map<size_t, uint64_t> seen;
        bool victim = false;
        for (uint64_t n = Uniform(&random, 1, 5); n > 0 && !victim; --n) {
          const size_t row = Uniform(&random, 0, kRows - 1);
          const LockMode mode = Uniform(&random, 0, 1) != 0 ? kShared : kExclusive;
          const bool impatient = Uniform(&random, 0, 20) == 0;
          bool taken;
          const Status status =
              table.Acquire(&owner, 7, std::to_string(row), mode,
                            impatient ? std::chrono::milliseconds(1) : kForever, &taken);
          if (status.ok()) {
            ASSERT_EQ(taken, mine.count(row) == 0);
            mine[row] = std::max(mine[row], mode);
            seen.emplace(row, guarded[row]);
          } else if (status.code() == Code::kDeadlock) {
            victim = true;
          } else if (status.code() == Code::kCancelled) {
            ASSERT_EQ(t % 2, 0);
            table.AllowWaits(&owner);
          } else {
            ASSERT_EQ(status.code(), Code::kTimedOut);
            ASSERT_TRUE(impatient);
          }
          if (!mine.empty() && Uniform(&random, 0, 5) == 0) {
            const size_t rejected = mine.begin()->first;
            ASSERT_EQ(guarded[rejected], seen[rejected]);
            if (table.Release(&owner, 7, std::to_string(rejected))) {
              mine.erase(rejected);
              seen.erase(rejected);
            }
          }
        }
        for (const auto& [row, mode] : mine) {
          ASSERT_EQ(guarded[row], seen[row]);
          if (mode == kExclusive) {
            ++guarded[row];
            ++done;
          }
        }
        const std::lock_guard lock(mutex);
        alive[t] = nullptr;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  stop = true;
  canceller.join();
  uint64_t sum = 0;
  for (const uint64_t n : guarded) {
    sum += n;
  }
  EXPECT_EQ(sum, done.load());
  EXPECT_EQ(table.stats().held, 0u);
  EXPECT_EQ(memory.used(), 0u);
}

}  // namespace
}  // namespace sluice
