// The row cache alone, and under readers and flushes against what the extents say.

#include "cache/row_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "mem/memtable.h"
#include "util/hash.h"
#include "util/testing.h"

namespace sluice {
namespace {

uint64_t Value(SequenceNumber sequence) { return MakeTrailer(sequence, RecordType::kValue); }

class RowCacheTest : public testing::Test {
 protected:
  // "-": none.
  std::string Get(uint32_t subtable, std::string_view key, SequenceNumber snapshot) {
    const EpochGuard guard;
    const Cache::Entry* const entry = cache_.Get(subtable, key, Hash64(key), snapshot);
    return entry == nullptr ? "-" : std::string(entry->value());
  }

  RowCache cache_{1 << 20};
  std::atomic<uint64_t> flushes_{0};
};

TEST_F(RowCacheTest, KeepsTheNewest) {
  EXPECT_EQ(Get(1, "key", kMaxSequence), "-");
  cache_.Fill(1, "key", Value(5), "five", flushes_, 0);
  EXPECT_EQ(Get(1, "key", kMaxSequence), "five");
  EXPECT_EQ(Get(1, "key", 5), "five");
  EXPECT_EQ(Get(1, "key", 4), "-");
  EXPECT_EQ(Get(2, "key", 5), "-");
  EXPECT_TRUE(cache_.BeginFlush(&flushes_));
  cache_.Flushed(1, "key", Value(9), "nine");
  cache_.Flushed(1, "other", Value(8), "eight");
  EXPECT_EQ(Get(1, "key", 9), "nine");
  EXPECT_EQ(Get(1, "key", 8), "-");
  EXPECT_EQ(Get(1, "other", 9), "-") << "a flush inserts nothing";
  cache_.Flushed(1, "key", Value(7), "seven");
  EXPECT_EQ(Get(1, "key", 9), "nine") << "flushed out of order";
}

TEST_F(RowCacheTest, FlushedDeletionErases) {
  cache_.Fill(1, "key", Value(5), "five", flushes_, 0);
  cache_.BeginFlush(&flushes_);
  cache_.Flushed(1, "key", MakeTrailer(4, RecordType::kDeletion), "");
  EXPECT_EQ(Get(1, "key", 9), "five");
  cache_.Flushed(1, "key", MakeTrailer(9, RecordType::kDeletion), "");
  EXPECT_EQ(Get(1, "key", 9), "-");
  EXPECT_FALSE(cache_.BeginFlush(&flushes_)) << "nothing is here";
}

TEST_F(RowCacheTest, FillsNothingThatAFlushMayHaveOvertaken) {
  const uint64_t seen = flushes_;
  cache_.BeginFlush(&flushes_);
  cache_.Fill(1, "key", Value(5), "five", flushes_, seen);
  EXPECT_EQ(Get(1, "key", 9), "-");
  cache_.Fill(1, "key", Value(5), "five", flushes_, flushes_);
  EXPECT_EQ(Get(1, "key", 9), "five");
}

TEST_F(RowCacheTest, LongAndEmptyKeysAndValues) {
  const std::string key(1000, 'k');
  cache_.Fill(1, key, Value(5), "", flushes_, 0);
  cache_.Fill(1, "", Value(6), std::string(5000, 'v'), flushes_, 0);
  EXPECT_EQ(Get(1, key, 9), "");
  EXPECT_EQ(Get(1, key + 'k', 9), "-");
  EXPECT_EQ(Get(1, "", 9), std::string(5000, 'v'));
}

// Once the cache is full, a row that is asked for once pushes nothing out; the second time it does.
TEST_F(RowCacheTest, TakesNoPasserbyWhenFull) {
  const std::string value(100, 'v');
  int keys = 0;
  while (cache_.stats().evictions == 0) {
    cache_.Fill(1, std::to_string(keys++), Value(1), value, flushes_, 0);
  }
  const uint64_t inserts = cache_.stats().inserts;
  for (int i = 0; i < keys / 10; ++i) {
    cache_.Fill(1, "once" + std::to_string(i), Value(1), value, flushes_, 0);
  }
  EXPECT_LE(cache_.stats().inserts, inserts + keys / 20) << "but for a few marked by chance";
  cache_.Fill(1, "twice", Value(1), value, flushes_, 0);
  cache_.Fill(1, "twice", Value(1), value, flushes_, 0);
  EXPECT_EQ(Get(1, "twice", kMaxSequence), value);
}

TEST(RowCache, HoldsNothingWithoutCapacity) {
  RowCache cache(0);
  std::atomic<uint64_t> flushes{0};
  cache.Fill(1, "key", Value(5), "five", flushes, 0);
  EXPECT_FALSE(cache.BeginFlush(&flushes));
  cache.Flushed(1, "key", Value(9), "nine");
  const EpochGuard guard;
  EXPECT_EQ(cache.Get(1, "key", Hash64("key"), 9), nullptr);
}

// Spins, so as to go on at once; not for long, as there may be one core only.
void Await(const std::atomic<uint64_t>& value, uint64_t expected) {
  for (int spins = 0; value != expected; ++spins) {
    if (spins > 100'000) {
      std::this_thread::yield();
    }
  }
}

// A fill and a flush of the same key at once: whichever is first, the old version is not there when
// both are done. The value is so large that it drives out all others, which takes a while with the
// shard locked. All is filled in twice, as a full cache takes nothing the first time.
TEST(RowCache, NoFillSlipsPastAFlush) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  constexpr uint64_t kRounds = 3'000;
  const std::string large(20'000, 'v');
  RowCache cache(24'000);  // one shard
  std::atomic<uint64_t> flushes{0};
  std::atomic<uint64_t> begun{0};
  std::atomic<uint64_t> filled{0};
  std::thread filler([&] {
    for (uint64_t round = 1; round <= kRounds; ++round) {
      Await(begun, round);
      cache.Fill(1, "key", Value(2 * round), large, flushes, round - 1);
      cache.Fill(1, "key", Value(2 * round), large, flushes, round - 1);
      filled = round;
    }
  });
  std::mt19937_64 rng(seed);
  uint64_t bad = 0;
  for (uint64_t round = 1; round <= kRounds; ++round) {
    for (int i = 0; i < 600; ++i) {
      cache.Fill(1, std::to_string(i / 2), Value(1), "", flushes, flushes);
    }
    begun = round;
    for (uint64_t wait = rng() % 60'000; wait > 0; --wait) {
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    cache.BeginFlush(&flushes);
    cache.Flushed(1, "key", Value(2 * round + 1), "new");
    Await(filled, round);
    const EpochGuard guard;
    const Cache::Entry* const entry = cache.Get(1, "key", Hash64("key"), kMaxSequence);
    bad += entry != nullptr && entry->value() != "new";
    if (entry != nullptr) {
      cache.Flushed(1, "key", MakeTrailer(2 * round + 2, RecordType::kDeletion), "");
    }
  }
  filler.join();
  EXPECT_EQ(bad, 0u);
}

// A sub-table of one thread that writes and one that flushes, without files.
class Engine {
 public:
  struct Record {
    uint64_t trailer;
    std::string value;
  };
  using Extents = std::map<std::string, std::vector<Record>>;  // versions newest first
  struct Tree {
    std::deque<std::shared_ptr<Memtable>> memtables;  // oldest first
    std::shared_ptr<const Extents> extents = std::make_shared<Extents>();
  };

  explicit Engine(RowCache* cache) : cache_(cache) {
    tree_.memtables.push_back(std::make_shared<Memtable>(1 << 16));
  }

  Tree Pin() {
    const std::lock_guard lock(mutex_);
    return tree_;
  }

  void Write(const std::string& key, RecordType type) {
    const SequenceNumber sequence = visible.load(std::memory_order_relaxed) + 1;
    // Some are large: they take long to copy into the cache, and drive out many others.
    active().Add(sequence, type, key,
                 std::to_string(sequence) + std::string(sequence % 16 == 0 ? 8'000 : 0, 'v'));
    visible.store(sequence, std::memory_order_release);
  }

  void Switch() {
    const std::lock_guard lock(mutex_);
    tree_.memtables.push_back(std::make_shared<Memtable>(1 << 16));
  }

  // Flushes the oldest memtable; false if it is the one that is written to.
  bool Flush() {
    const Tree before = Pin();
    if (before.memtables.size() < 2) {
      return false;
    }
    const bool any_cached = cache_->BeginFlush(&flushes);
    auto extents = std::make_shared<Extents>(*before.extents);
    Memtable::Iterator at(before.memtables.front().get());
    for (at.SeekToFirst(); at.Valid(); at.Next()) {
      std::vector<Record> versions;
      for (auto* v = at.VersionAt(kMaxSequence); v != nullptr; v = v->older()) {
        versions.push_back({v->trailer(), std::string(v->value())});
      }
      if (any_cached) {
        cache_->Flushed(kSubtable, at.user_key(), versions.front().trailer, versions.front().value);
      }
      std::vector<Record>& all = (*extents)[std::string(at.user_key())];
      all.insert(all.begin(), versions.begin(), versions.end());
      all.resize(std::min<size_t>(all.size(), 4));
    }
    const std::lock_guard lock(mutex_);
    tree_.extents = extents;
    tree_.memtables.pop_front();
    return true;
  }

  static constexpr uint32_t kSubtable = 7;
  std::atomic<SequenceNumber> visible{0};
  std::atomic<uint64_t> flushes{0};

 private:
  Memtable& active() {
    const std::lock_guard lock(mutex_);
    return *tree_.memtables.back();
  }

  RowCache* const cache_;
  std::mutex mutex_;
  Tree tree_;
};

struct Outcome {
  uint64_t hits = 0;
  uint64_t bad = 0;
};

// Lets a flush come between.
void MaybeYield(std::mt19937_64& rng) {
  if (rng() % 8 == 0) {
    std::this_thread::yield();
  }
}

// One point lookup. Where the cache has an answer, it must be that of the extents.
void ReadOne(RowCache* cache, Engine* engine, std::mt19937_64& rng, const std::string& key,
             Outcome* outcome) {
  const EpochGuard guard;
  const uint64_t seen = engine->flushes.load(std::memory_order_acquire);
  SequenceNumber snapshot = engine->visible.load(std::memory_order_acquire);
  snapshot -= rng() % 4 == 0 ? std::min<SequenceNumber>(snapshot, rng() % 100) : 0;
  MaybeYield(rng);
  const Engine::Tree tree = engine->Pin();
  MaybeYield(rng);
  bool in_memtables = false;
  for (const auto& memtable : tree.memtables) {
    in_memtables |= memtable->Get(key, kMaxSequence) != nullptr;
    if (memtable->Get(key, snapshot) != nullptr) {
      return;
    }
  }
  const Cache::Entry* const entry = cache->Get(Engine::kSubtable, key, Hash64(key), snapshot);
  const Engine::Record* newest = nullptr;
  const Engine::Record* expected = nullptr;
  if (const auto found = tree.extents->find(key); found != tree.extents->end()) {
    newest = &found->second.front();
    for (auto at = found->second.rbegin(); at != found->second.rend(); ++at) {
      expected = TrailerSequence(at->trailer) <= snapshot ? &*at : expected;
    }
  }
  if (entry != nullptr) {
    ++outcome->hits;
    outcome->bad += expected == nullptr || entry->tag() != expected->trailer ||
                    entry->value() != expected->value;
  } else if (expected != nullptr && expected == newest && !in_memtables &&
             TrailerType(newest->trailer) == static_cast<uint8_t>(RecordType::kValue)) {
    MaybeYield(rng);
    cache->Fill(Engine::kSubtable, key, newest->trailer, newest->value, engine->flushes, seen);
  }
}

TEST(RowCache, AgreesWithTheExtents) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  constexpr uint64_t kKeys = 200;
  constexpr int kWrites = 40'000;
  RowCache cache(kKeys * 200);  // not all fit, with the large ones
  Engine engine(&cache);
  const auto random_key = [](std::mt19937_64& rng) { return std::to_string(rng() % kKeys); };
  std::vector<Outcome> outcomes(3);
  std::vector<std::atomic<int>> reads(outcomes.size());
  std::atomic<bool> writing{true};
  std::thread writer([&] {
    std::mt19937_64 rng(seed);
    for (int i = 0; i < kWrites; ++i) {
      // On a busy machine readers might begin when all is written.
      while (i == kWrites / 2 && *std::min_element(reads.begin(), reads.end()) < 1000) {
        std::this_thread::yield();
      }
      engine.Write(random_key(rng), rng() % 8 == 0 ? RecordType::kDeletion : RecordType::kValue);
      if (rng() % 20 == 0) {
        engine.Switch();
        std::this_thread::yield();
      }
      while (engine.Pin().memtables.size() > 4) {
        std::this_thread::yield();
      }
    }
    engine.Switch();
    writing = false;
  });
  std::thread flusher([&] {
    while (writing) {
      if (!engine.Flush()) {
        std::this_thread::yield();
      }
    }
    while (engine.Flush()) {
    }
  });
  std::vector<std::thread> readers;
  for (size_t t = 0; t < outcomes.size(); ++t) {
    readers.emplace_back([&, t] {
      std::mt19937_64 rng(seed + 100 + t);
      while (writing) {
        ReadOne(&cache, &engine, rng, random_key(rng), &outcomes[t]);
        ++reads[t];
      }
    });
  }
  writer.join();
  flusher.join();
  for (std::thread& reader : readers) {
    reader.join();
  }
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.bad, 0u);
    EXPECT_GT(outcome.hits, 0u);
  }
  // And whatever is left is right.
  std::mt19937_64 rng(seed);
  Outcome last;
  for (uint64_t k = 0; k < kKeys; ++k) {
    ReadOne(&cache, &engine, rng, std::to_string(k), &last);
  }
  EXPECT_EQ(last.bad, 0u);
}

}  // namespace
}  // namespace sluice
