// The cache against a map, alone and with threads at once.

#include "cache/cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cache/block_key.h"
#include "util/hash.h"
#include "util/testing.h"

namespace sluice {
namespace {

Cache::Entry* MakeEntry(std::string_view key, std::string_view value, uint64_t tag = 0) {
  Cache::Entry* const entry = Cache::NewEntry(key, value.size(), tag);
  std::copy(value.begin(), value.end(), entry->data());
  return entry;
}

void Insert(Cache* cache, std::string_view key, std::string_view value) {
  cache->Insert(MakeEntry(key, value), Hash64(key));
}

bool Has(const Cache& cache, std::string_view key) {
  const EpochGuard guard;
  return cache.Find(key, Hash64(key)) != nullptr;
}

struct Case {
  size_t capacity;
  size_t expected_entry_bytes;
  uint64_t hash_mask;  // few bits: chains, and keys that share a hash
  bool evicts;
};

class CacheModel : public testing::TestWithParam<Case> {};

TEST_P(CacheModel, LikeAMap) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 rng(seed);
  const Case& c = GetParam();
  Cache cache(c.capacity, c.expected_entry_bytes);
  std::map<std::string, std::string> model;
  uint64_t gone = 0;  // evicted, as far as lookups have shown
  const auto hash = [&](const std::string& key) { return Hash64(key) & c.hash_mask; };
  const auto value = [&] { return std::string(rng() % 60, static_cast<char>(rng())); };
  for (int i = 0; i < 20'000 && !HasFailure(); ++i) {
    const std::string key = std::to_string(rng() % 300);
    const EpochGuard guard;
    const bool was_here = cache.Find(key, hash(key)) != nullptr;
    ASSERT_TRUE(!was_here || model.contains(key));
    switch (rng() % 8) {
      case 0:
      case 1: {
        model[key] = value();
        const auto* const entry = cache.Insert(MakeEntry(key, model[key], i), hash(key));
        ASSERT_EQ(entry->key(), key);
        ASSERT_EQ(entry->value(), model[key]);
        ASSERT_EQ(cache.Find(key, hash(key)), entry);
        break;
      }
      case 2:
        ASSERT_EQ(cache.Erase(key, hash(key)), was_here);
        model.erase(key);
        break;
      case 3: {
        const std::string other = std::to_string(rng() % 300);
        const std::string with = value();
        const bool replaced = cache.Replace(key, hash(key), MakeEntry(other, with), hash(other));
        ASSERT_EQ(replaced, was_here);
        if (replaced) {
          model.erase(key);
          model[other] = with;
        }
        break;
      }
      default: {
        const auto* const entry = cache.Lookup(key, hash(key));
        ASSERT_EQ(entry != nullptr, was_here);
        if (entry != nullptr) {
          ASSERT_EQ(entry->value(), model[key]);
        } else {
          gone += model.erase(key);
        }
      }
    }
    if (i % 64 == 0) {
      ASSERT_LE(cache.stats().bytes, c.capacity);
    }
  }
  for (const auto& [key, expected] : model) {
    const EpochGuard guard;
    const auto* const entry = cache.Find(key, hash(key));
    gone += entry == nullptr;
    EXPECT_TRUE(entry == nullptr || entry->value() == expected);
  }
  const Cache::Stats stats = cache.stats();
  EXPECT_EQ(gone > 0, c.evicts);
  EXPECT_EQ(stats.evictions > 0, c.evicts);
  EXPECT_EQ(stats.entries > 0, stats.bytes > 0);
  EXPECT_LE(stats.bytes, c.capacity);
  if (c.evicts) {
    EXPECT_GT(stats.bytes, c.capacity / 2);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, CacheModel,
    // The capacity, the size that is expected, the bits of the hash that count, whether it evicts.
    testing::Values(Case{1 << 20, 40, ~uint64_t{0}, false},           // all fits
                    Case{1 << 20, 4'000, 0x7, false},                 // chains, and equal hashes
                    Case{1 << 20, 40'000, uint64_t{7} << 60, false},  // one chain for the filter
                    Case{8'000, 8'000, ~uint64_t{0}, true},           // one shard
                    Case{9'000, 8'000, 0x3, true},
                    Case{12'000, 1, ~uint64_t{0}, true}));  // several

TEST(Cache, EvictsWhatIsNotUsed) {
  Cache cache(100'000, 10'000);  // one shard
  const std::string value(800, 'x');
  for (int i = 0; i < 20; ++i) {
    Insert(&cache, "hot" + std::to_string(i), value);
  }
  for (int i = 0; i < 2'000; ++i) {
    Insert(&cache, "cold" + std::to_string(i), value);
    if (i % 10 == 0) {
      for (int hot = 0; hot < 20; ++hot) {
        const EpochGuard guard;
        const std::string key = "hot" + std::to_string(hot);
        ASSERT_NE(cache.Lookup(key, Hash64(key)), nullptr) << i;
      }
    }
  }
  EXPECT_TRUE(Has(cache, "cold1999"));
  EXPECT_FALSE(Has(cache, "cold1000"));
}

// What replaces a block in use stays in the cache longer than what replaces one that is not.
TEST(Cache, ReplacementIsAsMuchInUse) {
  Cache cache(100'000, 10'000);  // one shard
  const std::string value(800, 'x');
  const BlockKey used(1, 0);
  const BlockKey unused(1, 16'384);
  cache.Insert(MakeEntry(unused.bytes(), value), unused.hash());
  cache.Insert(MakeEntry(used.bytes(), value), used.hash());
  {
    const EpochGuard guard;
    EXPECT_NE(cache.Lookup(used.bytes(), used.hash()), nullptr);
  }
  const BlockKey used_merged(2, 0);
  const BlockKey unused_merged(2, 16'384);
  EXPECT_TRUE(cache.Replace(unused.bytes(), unused.hash(), MakeEntry(unused_merged.bytes(), value),
                            unused_merged.hash()));
  EXPECT_TRUE(cache.Replace(used.bytes(), used.hash(), MakeEntry(used_merged.bytes(), value),
                            used_merged.hash()));
  EXPECT_FALSE(cache.Replace(used.bytes(), used.hash(), MakeEntry(used_merged.bytes(), value),
                             used_merged.hash()));
  EXPECT_EQ(cache.stats().entries, 2u);
  int i = 0;
  const EpochGuard guard;
  while (cache.Find(unused_merged.bytes(), unused_merged.hash()) != nullptr) {
    ASSERT_NE(cache.Find(used_merged.bytes(), used_merged.hash()), nullptr);
    Insert(&cache, std::to_string(i++), value);
    ASSERT_LT(i, 1000);
  }
  EXPECT_NE(cache.Find(used_merged.bytes(), used_merged.hash()), nullptr);
}

TEST(Cache, KeepsNothingThatIsTooLarge) {
  Cache cache(10'000, 10'000);
  Insert(&cache, "key", "small");
  const std::string large(20'000, 'x');
  const EpochGuard guard;
  EXPECT_EQ(cache.Insert(MakeEntry("key", large), Hash64("key"))->value(), large);
  EXPECT_FALSE(Has(cache, "key"));
  EXPECT_EQ(cache.stats().bytes, 0u);
}

TEST(Cache, HoldsNothingWithoutCapacity) {
  Cache cache(0, 100);
  const EpochGuard guard;
  EXPECT_EQ(cache.Insert(MakeEntry("", ""), Hash64(""))->value(), "");
  EXPECT_EQ(cache.Lookup("", Hash64("")), nullptr);
  EXPECT_FALSE(cache.Erase("", Hash64("")));
  EXPECT_FALSE(cache.Replace("", Hash64(""), MakeEntry("a", "b"), Hash64("a")));
  EXPECT_EQ(cache.stats().entries, 0u);
}

TEST(Cache, ReferencesOutliveTheCache) {
  const Cache::Entry* held = nullptr;
  {
    Cache cache(10'000, 100);
    {
      const EpochGuard guard;
      held = cache.Insert(MakeEntry("key", "value"), Hash64("key"));
      held->Ref();
    }
    Insert(&cache, "other", "value");
    EXPECT_TRUE(cache.Erase("key", Hash64("key")));
    EpochDrain();
    EXPECT_EQ(held->value(), "value");
  }
  EXPECT_EQ(held->value(), "value");
  held->Unref();
}

// More threads at once than have a counter of their own.
TEST(Cache, CountsEveryLookup) {
  constexpr int kThreads = 150;
  constexpr int kLookups = 2'000;
  Cache cache(10'000, 100);
  Insert(&cache, "key", "value");
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      const EpochGuard guard;
      ++ready;
      while (ready < kThreads) {
        std::this_thread::yield();
      }
      for (int i = 0; i < kLookups; ++i) {
        cache.Lookup("key", Hash64("key"));
        cache.Lookup("none", Hash64("none"));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(cache.stats().hits, uint64_t{kThreads} * kLookups);
  EXPECT_EQ(cache.stats().misses, uint64_t{kThreads} * kLookups);
}

// What stays is found at any time, whatever else of its chain comes and goes.
TEST(Cache, NeverMissesWhatStays) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  constexpr int kChanges = 100'000;
  constexpr uint64_t kHash = 0;  // of all keys
  Cache cache(100'000, 1'000);
  for (const char* const key : {"a", "stays", "replaced", "z"}) {
    cache.Insert(MakeEntry(key, ""), kHash);
  }
  std::atomic<bool> done{false};
  std::atomic<uint64_t> missed{0};
  std::thread reader([&] {
    while (!done) {
      const EpochGuard guard;
      missed += cache.Find("stays", kHash) == nullptr;
      missed += cache.Find("replaced", kHash) == nullptr;
    }
  });
  std::mt19937_64 rng(seed);
  for (int i = 0; i < kChanges; ++i) {
    const std::string key(1, static_cast<char>('a' + rng() % 8));
    if (i % 8 == 0) {
      cache.Insert(MakeEntry("replaced", ""), kHash);
    } else if (i % 2 == 0) {
      cache.Insert(MakeEntry(key, ""), kHash);
    } else {
      cache.Erase(key, kHash);
    }
  }
  done = true;
  reader.join();
  EXPECT_EQ(missed, 0u);
  EXPECT_EQ(cache.stats().evictions, 0u);
}

// Each writer has keys of its own, whose values count up; nobody may ever see one count down, nor a
// value that is not its key's. Chains are long, so that readers stand on entries that go.
TEST(Cache, ThreadsAtOnce) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  constexpr uint64_t kWriters = 2;
  constexpr uint64_t kKeys = 120;
  constexpr int kChanges = 60'000;
  Cache cache(10'000, 1'000);  // a third of the keys does not fit
  const auto key_of = [](uint64_t k) { return "key" + std::to_string(k); };
  const auto hash_of = [](const std::string& key) { return Hash64(key) & 0xf00000000000000f; };
  std::atomic<uint64_t> bad{0};
  std::atomic<uint64_t> writing{kWriters};
  std::atomic<uint64_t> rounds{0};  // of readers
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kWriters; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 rng(seed + t);
      for (uint64_t i = 1; i <= kChanges; ++i) {
        // On a busy machine readers might begin when all is written.
        while (i == kChanges / 2 && rounds < 100) {
          std::this_thread::yield();
        }
        const std::string key = key_of(rng() % kKeys / kWriters * kWriters + t);
        const uint64_t hash = hash_of(key);
        const std::string value = key + ' ' + std::string(rng() % 64, 'x');
        if (i % 16 == 0) {
          cache.Erase(key, hash);
        } else if (i % 2 == 0) {
          cache.Insert(MakeEntry(key, value, i), hash);
        } else {
          Cache::Slot slot(&cache, key, hash);
          bad += slot.entry() != nullptr && slot.entry()->tag() >= i;
          slot.Put(MakeEntry(key, value, i));
        }
      }
      --writing;
    });
  }
  std::atomic<uint64_t> hits{0};
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 rng(seed + 100 + t);
      std::vector<uint64_t> seen(kKeys);
      const Cache::Entry* held = nullptr;
      std::string held_value;
      while (writing > 0) {
        const EpochGuard guard;
        for (int i = 0; i < 20; ++i) {
          const uint64_t k = rng() % kKeys;
          const std::string key = key_of(k);
          const Cache::Entry* const entry = cache.Lookup(key, hash_of(key));
          if (entry == nullptr) {
            continue;
          }
          ++hits;
          bad += entry->tag() < seen[k] || !entry->value().starts_with(key + ' ');
          seen[k] = entry->tag();
          if (rng() % 64 == 0) {
            if (held != nullptr) {
              bad += held->value() != held_value;
              held->Unref();
            }
            held = entry;
            held->Ref();
            held_value = held->value();
          }
        }
        ++rounds;
      }
      if (held != nullptr) {
        held->Unref();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(bad, 0u);
  EXPECT_GT(hits, 0u);
  EXPECT_GT(cache.stats().evictions, 0u);
  EXPECT_LE(cache.stats().bytes, 10'000u);
  EpochDrain();
}

}  // namespace
}  // namespace sluice
