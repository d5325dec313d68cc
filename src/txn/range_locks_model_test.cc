// Locks of ranges and rows together, against a model, and under many threads.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
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

// Keys are numbers below this, and ranges may begin and end at them.
constexpr int kKeys = 8;

std::string Name(int key) { return std::to_string(key); }

struct Request {
  uint32_t subtable = 0;
  bool is_row = true;
  int begin = 0;
  int end = 1;  // begin + 1 of a row
  LockMode mode = kShared;
  bool keep = true;  // of a range: whether it is given up as soon as it is had
};

Status Acquire(LockTable* table, LockTable::Owner* owner, const Request& request,
               std::chrono::milliseconds timeout) {
  bool taken;
  if (request.is_row) {
    return table->Acquire(owner, request.subtable, Name(request.begin), request.mode, timeout,
                          &taken);
  }
  const Status status = table->AcquireRange(owner, request.subtable, Name(request.begin),
                                            request.end == kKeys ? "" : Name(request.end),
                                            request.mode, timeout, &taken);
  if (status.ok() && taken) {
    if (request.keep) {
      table->KeepRange(owner, request.subtable);
    } else {
      table->GiveUpRange(owner, request.subtable);
    }
  }
  return status;
}

// What everybody has of each key, and who waits in which order: as plainly as it can be said.
class Model {
 public:
  static constexpr size_t kOwners = 7;
  static constexpr size_t kSubtables = 3;

  struct Cell {
    int row = 0;    // 0: not locked, 1: shared, 2: exclusive
    int times = 0;  // of the row
    int range = 0;

    int strongest() const { return std::max(row, range); }
  };
  struct Wait {
    size_t owner;
    Request request;
  };
  using Cells = std::array<Cell, kKeys>;

  static int Strength(LockMode mode) { return mode == kShared ? 1 : 2; }

  bool Waits(size_t owner) const { return awaits_[owner]; }
  Cell& cell(size_t owner, uint32_t subtable, int key) { return cells_[subtable][owner][key]; }
  size_t Rows(size_t owner) const {
    size_t rows = 0;
    for (const auto& subtable : cells_) {
      for (const Cell& cell : subtable[owner]) {
        rows += cell.row > 0 ? 1 : 0;
      }
    }
    return rows;
  }

  // Whether it must wait.
  bool IsBlocked(size_t self, const Request& request) const {
    const std::vector<Wait>& line = lines_[request.subtable];
    const std::vector<bool> waits_for_self = WhoWaitFor(self, request.subtable);
    for (size_t i = 0; i < line.size(); ++i) {
      if (!waits_for_self[i] && Excludes(line[i], {self, request})) {
        return true;
      }
    }
    return AnyHolds(self, request);
  }
  void Give(size_t self, const Request& request) {
    for (int key = request.begin; key < request.end; ++key) {
      Cell& own = cell(self, request.subtable, key);
      if (request.is_row) {
        own.row = std::max(own.row, Strength(request.mode));
        ++own.times;
      } else if (request.keep) {
        own.range = std::max(own.range, Strength(request.mode));
      }
    }
  }
  void Enter(size_t self, const Request& request) {
    std::vector<Wait>& line = lines_[request.subtable];
    const std::vector<bool> waits_for_self = WhoWaitFor(self, request.subtable);
    std::vector<Wait> front;
    std::vector<Wait> behind;
    for (size_t i = 0; i < line.size(); ++i) {
      (waits_for_self[i] ? behind : front).push_back(line[i]);
    }
    front.push_back({self, request});
    front.insert(front.end(), behind.begin(), behind.end());
    line = front;
    awaits_[self] = true;
  }
  void Leave(size_t self) {
    for (std::vector<Wait>& line : lines_) {
      std::erase_if(line, [&](const Wait& wait) { return wait.owner == self; });
    }
    awaits_[self] = false;
  }
  // Who is served.
  std::vector<size_t> Serve() {
    std::vector<size_t> served;
    for (std::vector<Wait>& line : lines_) {
      for (size_t i = 0; i < line.size();) {
        const Wait wait = line[i];
        if (AnyHolds(wait.owner, wait.request) ||
            std::any_of(line.begin(), line.begin() + static_cast<ptrdiff_t>(i),
                        [&](const Wait& before) { return Excludes(before, wait); })) {
          ++i;
          continue;
        }
        line.erase(line.begin() + static_cast<ptrdiff_t>(i));
        Give(wait.owner, wait.request);
        awaits_[wait.owner] = false;
        served.push_back(wait.owner);
      }
    }
    return served;
  }
  // Whether `self`, which is in line, waits for itself: along all edges.
  bool WaitsForItself(size_t self) const {
    std::vector<size_t> reached{self};
    std::vector<bool> seen(kOwners);
    for (size_t n = 0; n < reached.size(); ++n) {
      for (const size_t next : WaitsFor(reached[n])) {
        if (next == self) {
          return true;
        }
        if (!seen[next]) {
          seen[next] = true;
          reached.push_back(next);
        }
      }
    }
    return false;
  }
  void Release(size_t self, bool keep_exclusive_rows) {
    for (auto& subtable : cells_) {
      for (Cell& own : subtable[self]) {
        own = keep_exclusive_rows && own.row == 2 ? Cell{own.row, own.times, 0} : Cell{};
      }
    }
  }

 private:
  static bool Overlap(const Request& a, const Request& b) {
    return a.subtable == b.subtable && a.begin < b.end && b.begin < a.end;
  }
  static bool Excludes(const Wait& a, const Wait& b) {
    return a.owner != b.owner && Overlap(a.request, b.request) &&
           (a.request.mode == kExclusive || b.request.mode == kExclusive);
  }
  bool Holds(size_t owner, const Request& against) const {
    const Cells& own = cells_[against.subtable][owner];
    return std::any_of(
        own.begin() + against.begin, own.begin() + against.end,
        [&](const Cell& cell) { return cell.strongest() > (against.mode == kExclusive ? 0 : 1); });
  }
  bool AnyHolds(size_t self, const Request& request) const {
    for (size_t owner = 0; owner < kOwners; ++owner) {
      if (owner != self && Holds(owner, request)) {
        return true;
      }
    }
    return false;
  }
  std::vector<bool> WhoWaitFor(size_t self, uint32_t subtable) const {
    const std::vector<Wait>& line = lines_[subtable];
    std::vector<bool> waits(line.size());
    for (size_t i = 0; i < line.size(); ++i) {
      waits[i] = Holds(self, line[i].request);
      for (size_t j = 0; j < i; ++j) {
        waits[i] = waits[i] || (waits[j] && Excludes(line[j], line[i]));
      }
    }
    return waits;
  }
  std::vector<size_t> WaitsFor(size_t self) const {
    std::vector<size_t> found;
    for (const std::vector<Wait>& line : lines_) {
      const auto at =
          std::find_if(line.begin(), line.end(), [&](const Wait& w) { return w.owner == self; });
      if (at == line.end()) {
        continue;
      }
      for (auto before = line.begin(); before != at; ++before) {
        if (Excludes(*before, *at)) {
          found.push_back(before->owner);
        }
      }
      for (size_t owner = 0; owner < kOwners; ++owner) {
        if (owner != self && Holds(owner, at->request)) {
          found.push_back(owner);
        }
      }
    }
    return found;
  }

  std::array<std::array<Cells, kOwners>, kSubtables> cells_{};
  std::array<std::vector<Wait>, kSubtables> lines_{};
  std::array<bool, kOwners> awaits_{};
};

// As LockTableModel.DoesWhatAModelDoes, with ranges in two of three sub-tables, and not from the
// beginning: what rows are locked and waited for moves when the first range is locked.
TEST(RangeLocksModel, DoesWhatAModelDoes) {
  TestRandom random(TestSeed());
  for (int round = 0; round < 60 && !testing::Test::HasFailure(); ++round) {
    MemoryBudget memory;
    LockTable table(&memory);
    Model model;
    std::vector<std::unique_ptr<LockTable::Owner>> owners;
    for (size_t i = 0; i < Model::kOwners; ++i) {
      owners.push_back(std::make_unique<LockTable::Owner>(&table, i));
    }
    std::vector<std::future<Status>> waiting(Model::kOwners);
    uint64_t waits = 0;
    uint64_t deadlocks = 0;
    const auto serve = [&] {
      for (const size_t owner : model.Serve()) {
        ASSERT_TRUE(waiting[owner].get().ok());
      }
    };
    const auto release = [&](size_t self, bool keep_exclusive_rows) {
      if (keep_exclusive_rows) {
        table.KeepExclusiveRows(owners[self].get());
      } else {
        table.ReleaseAll(owners[self].get());
      }
      model.Release(self, keep_exclusive_rows);
      serve();
    };
    const int first_range = static_cast<int>(Uniform(&random, 0, 60));
    for (int step = 0; step < 200 && !testing::Test::HasFailure(); ++step) {
      const size_t self = Uniform(&random, 0, Model::kOwners - 1);
      LockTable::Owner* const owner = owners[self].get();
      if (model.Waits(self)) {
        if (Uniform(&random, 0, 5) == 0) {
          table.CancelWaits(owner);
          ASSERT_EQ(waiting[self].get().code(), Code::kCancelled);
          table.AllowWaits(owner);
          model.Leave(self);
          serve();
        }
        continue;
      }
      const auto action = Uniform(&random, 0, 15);
      if (action == 0) {
        release(self, Uniform(&random, 0, 2) == 0);
        continue;
      }
      Request request;
      request.subtable = static_cast<uint32_t>(Uniform(&random, 0, Model::kSubtables - 1));
      request.begin = static_cast<int>(Uniform(&random, 0, kKeys - 1));
      request.end = request.begin + 1;
      request.mode = Uniform(&random, 0, 2) != 0 ? kShared : kExclusive;
      if (action <= 3) {
        Model::Cell& own = model.cell(self, request.subtable, request.begin);
        ASSERT_EQ(table.Holds(*owner, request.subtable, Name(request.begin), kShared), own.row > 0);
        const bool last = own.row > 0 && --own.times == 0;
        ASSERT_EQ(table.Release(owner, request.subtable, Name(request.begin)), last);
        if (last) {
          own.row = 0;
          serve();
        }
        continue;
      }
      if (step >= first_range && request.subtable != 1 && Uniform(&random, 0, 2) == 0) {
        request.is_row = false;
        request.end = static_cast<int>(Uniform(&random, request.begin + 1, kKeys));
        request.keep = Uniform(&random, 0, 4) != 0;
      }
      if (!model.IsBlocked(self, request)) {
        ASSERT_TRUE(Acquire(&table, owner, request, {}).ok());
        model.Give(self, request);
      } else if (Uniform(&random, 0, 3) == 0) {
        ASSERT_EQ(Acquire(&table, owner, request, {}).code(), Code::kTimedOut);
      } else {
        model.Enter(self, request);
        if (model.WaitsForItself(self)) {
          const Status status = Acquire(&table, owner, request, kForever);
          ASSERT_EQ(status.code(), Code::kDeadlock) << status.ToString();
          ++deadlocks;
          model.Leave(self);
          release(self, /*keep_exclusive_rows=*/false);
        } else {
          waiting[self] = std::async(std::launch::async, [&table, owner, request] {
            return Acquire(&table, owner, request, kForever);
          });
          ++waits;
          while (table.stats().waits < waits && table.stats().deadlocks == deadlocks) {
            std::this_thread::yield();
          }
        }
      }
      ASSERT_EQ(table.stats().deadlocks, deadlocks);
      ASSERT_EQ(table.stats().waits, waits);
      if (!model.Waits(self)) {
        size_t rows = 0;
        owner->ForEachRow([&](uint32_t subtable, std::string_view key, LockMode mode) {
          ++rows;
          ASSERT_EQ(model.cell(self, subtable, std::stoi(std::string(key))).row,
                    Model::Strength(mode));
        });
        ASSERT_EQ(rows, model.Rows(self));
      }
    }
    // Without a cycle somebody does not wait. After a failure nobody must wait any more either.
    for (bool any = true; any;) {
      any = false;
      for (size_t i = 0; i < Model::kOwners; ++i) {
        if (testing::Test::HasFailure()) {
          table.CancelWaits(owners[i].get());
        } else if (model.Waits(i)) {
          any = true;
        } else {
          release(i, /*keep_exclusive_rows=*/false);
        }
      }
    }
    if (!testing::Test::HasFailure()) {
      ASSERT_EQ(table.stats().held, 0u);
      ASSERT_EQ(memory.used(), 0u);
    }
  }
}

// As LockTableModel.ExcludesAndAlwaysEnds: what a range or a row guards is touched without any
// other protection.
TEST(RangeLocksModel, ExcludesAndAlwaysEnds) {
  constexpr int kThreads = 6;
  constexpr int kTransactions = 200;  // of each thread and round
  const uint64_t seed = TestSeed();
  for (int round = 0; round < 5; ++round) {
    MemoryBudget memory;
    LockTable table(&memory);
    std::array<uint64_t, kKeys> guarded{};
    std::atomic<uint64_t> done{0};
    std::atomic<uint64_t> next_id{1};
    std::mutex mutex;  // for somebody to cancel the waits of those alive
    std::vector<LockTable::Owner*> alive(kThreads);
    std::atomic<bool> stop{false};
    std::thread canceller([&] {
      TestRandom random(seed + kThreads);
      while (!stop) {
        {
          const std::lock_guard lock(mutex);
          if (LockTable::Owner* const owner = alive[Uniform(&random, 0, kThreads - 1)]) {
            table.CancelWaits(owner);
          }
        }
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    });
    const auto transact = [&](int thread, TestRandom* random, bool ranges) {
      LockTable::Owner owner(&table, next_id++);
      if (thread % 2 == 0) {
        const std::lock_guard lock(mutex);
        alive[thread] = &owner;
      }
      std::map<int, LockMode> mine;
      std::map<int, uint64_t> seen;
      for (uint64_t n = Uniform(random, 1, 4); n > 0; --n) {
        Request request{.subtable = 7};
        request.begin = static_cast<int>(Uniform(random, 0, kKeys - 1));
        request.end = request.begin + 1;
        request.mode = Uniform(random, 0, 1) != 0 ? kShared : kExclusive;
        if (ranges && Uniform(random, 0, 1) != 0) {
          request.is_row = false;
          request.end = static_cast<int>(
              Uniform(random, request.begin + 1, std::min(kKeys, request.begin + 3)));
          request.keep = Uniform(random, 0, 4) != 0;
        }
        const bool impatient = Uniform(random, 0, 20) == 0;
        const Status status =
            Acquire(&table, &owner, request,
                    impatient ? std::chrono::milliseconds(1) : std::chrono::milliseconds(kForever));
        if (status.ok() && request.keep) {
          for (int key = request.begin; key < request.end; ++key) {
            LockMode& mode = mine.emplace(key, kShared).first->second;
            mode = std::max(mode, request.mode);
            seen.emplace(key, guarded[key]);
          }
        } else if (status.code() == Code::kDeadlock) {
          break;
        } else if (status.code() == Code::kCancelled) {
          ASSERT_EQ(thread % 2, 0);
          table.AllowWaits(&owner);
        } else if (!status.ok()) {
          ASSERT_EQ(status.code(), Code::kTimedOut);
          ASSERT_TRUE(impatient);
        }
      }
      for (const auto& [key, mode] : mine) {
        ASSERT_EQ(guarded[key], seen[key]);
        if (mode == kExclusive) {
          ++guarded[key];
          ++done;
        }
      }
      const std::lock_guard lock(mutex);
      alive[thread] = nullptr;
    };
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        TestRandom random(seed + t + 100 * round);
        for (int i = 0; i < kTransactions; ++i) {
          transact(t, &random, /*ranges=*/i > 20 + 10 * t);
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
}

}  // namespace
}  // namespace sluice
