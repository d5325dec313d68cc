// The memtable against a map of maps, alone and with threads that write at once.

#include "mem/memtable.h"

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "util/testing.h"

namespace sluice {
namespace {

struct Value {
  RecordType type;
  std::string bytes;
};
// User key, then sequence number, newest first.
using Model = std::map<std::string, std::map<SequenceNumber, Value, std::greater<>>>;

// Few distinct ones, many with common beginnings, some with zeros at the end.
std::string RandomKey(std::mt19937_64& rng) {
  std::string key(rng() % 12, 'k');
  for (size_t i = rng() % 4; i > 0; --i) {
    key.push_back("\0a\xff"[rng() % 3]);
  }
  return key;
}

void ExpectVersion(const Memtable::Version* found,
                   const std::map<SequenceNumber, Value, std::greater<>>& versions,
                   SequenceNumber snapshot) {
  const auto expected = versions.lower_bound(snapshot);
  ASSERT_EQ(found == nullptr, expected == versions.end());
  if (found != nullptr) {
    EXPECT_EQ(found->sequence(), expected->first);
    EXPECT_EQ(found->type(), expected->second.type);
    EXPECT_EQ(found->value(), expected->second.bytes);
  }
}

void ExpectSame(const Memtable& memtable, const Model& model) {
  Memtable::Iterator at(&memtable);
  at.SeekToFirst();
  uint64_t records = 0;
  for (const auto& [key, versions] : model) {
    ASSERT_TRUE(at.Valid());
    ASSERT_EQ(at.user_key(), key);
    const Memtable::Version* version = at.VersionAt(kMaxSequence);
    for (const auto& [sequence, value] : versions) {
      ASSERT_NE(version, nullptr);
      ASSERT_EQ(version->sequence(), sequence);
      ASSERT_EQ(version->value(), value.bytes);
      version = version->older();
      ++records;
    }
    ASSERT_EQ(version, nullptr);
    at.Next();
  }
  EXPECT_FALSE(at.Valid());
  EXPECT_EQ(memtable.records(), records);
  at.SeekToLast();
  for (auto it = model.rbegin(); it != model.rend(); ++it) {
    ASSERT_TRUE(at.Valid());
    ASSERT_EQ(at.user_key(), it->first);
    at.Prev();
  }
  EXPECT_FALSE(at.Valid());
}

// Adds to a memtable up to `most` records at once.
class Adder {
 public:
  Adder(Memtable* memtable, size_t most) : memtable_(*memtable), most_(most) {}

  void Add(SequenceNumber sequence, RecordType type, std::string key, std::string value) {
    gathered_.push_back({sequence, type, std::move(key), std::move(value)});
    if (gathered_.size() >= most_) {
      Flush();
    }
  }
  void Flush() {
    std::vector<Memtable::Record> records;
    for (const auto& [sequence, type, key, value] : gathered_) {
      records.push_back({sequence, type, key, value});
    }
    memtable_.Add(records);
    gathered_.clear();
  }

 private:
  Memtable& memtable_;
  const size_t most_;
  std::vector<std::tuple<SequenceNumber, RecordType, std::string, std::string>> gathered_;
};

TEST(Memtable, LikeTheModel) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 rng(seed);
  for (int round = 0; round < 30 && !HasFailure(); ++round) {
    Memtable memtable(rng() % 2 != 0 ? 1 << 20 : 0);  // with an index for all keys, or for some
    Model model;
    const uint64_t records = rng() % 2000;
    std::vector<SequenceNumber> order(records);
    for (uint64_t i = 0; i < records; ++i) {
      order[i] = i + 1;
    }
    if (round % 3 == 0) {
      std::shuffle(order.begin(), order.end(), rng);
    }
    Adder adder(&memtable, 1 + rng() % Memtable::kMostAtOnce);
    for (const SequenceNumber sequence : order) {
      const std::string key = RandomKey(rng);
      const Value value{rng() % 4 == 0 ? RecordType::kDeletion : RecordType::kValue,
                        std::string(rng() % 50, static_cast<char>(rng()))};
      adder.Add(sequence, value.type, key, value.bytes);
      model[key][sequence] = value;
    }
    adder.Flush();
    ExpectSame(memtable, model);
    Memtable::Iterator at(&memtable);
    for (int i = 0; i < 2000; ++i) {
      const std::string key = RandomKey(rng);
      const SequenceNumber snapshot = rng() % (records + 2);
      const auto found = model.find(key);
      ExpectVersion(memtable.Get(key, snapshot),
                    found == model.end() ? Model::mapped_type{} : found->second, snapshot);
      const auto from = model.lower_bound(key);
      at.Seek(key);
      ASSERT_EQ(at.Valid(), from != model.end());
      if (at.Valid()) {
        EXPECT_EQ(at.user_key(), from->first);
        ExpectVersion(at.VersionAt(snapshot), from->second, snapshot);
      }
      const auto behind = model.upper_bound(key);
      at.SeekForPrev(key);
      ASSERT_EQ(at.Valid(), behind != model.begin());
      if (at.Valid()) {
        EXPECT_EQ(at.user_key(), std::prev(behind)->first);
      }
    }
  }
}

// Threads write the same few keys, readers look on: a reader sees each key's versions in order, and
// those that it saw before.
TEST(Memtable, ThreadsAtOnce) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  constexpr int kWriters = 3;
  constexpr int kAdds = 20'000;
  Memtable memtable(1 << 20);
  std::atomic<SequenceNumber> next{1};
  std::atomic<int> writing{kWriters};
  std::vector<Model> written(kWriters);
  std::vector<std::thread> threads;
  for (int t = 0; t < kWriters; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 rng(seed + t);
      Adder adder(&memtable, 1 + rng() % Memtable::kMostAtOnce);
      for (int i = 0; i < kAdds; ++i) {
        const SequenceNumber sequence = next.fetch_add(1);
        const std::string key = i % 2 == 0 ? RandomKey(rng) : std::to_string(rng() % 5000);
        const std::string value = std::to_string(sequence);
        adder.Add(sequence, RecordType::kValue, key, value);
        written[t][key][sequence] = {RecordType::kValue, value};
      }
      adder.Flush();
      writing.fetch_sub(1);
    });
  }
  threads.emplace_back([&] {
    uint64_t seen = 0;
    while (writing.load() > 0) {
      uint64_t records = 0;
      std::string last;
      Memtable::Iterator at(&memtable);
      for (at.SeekToFirst(); at.Valid(); at.Next()) {
        ASSERT_TRUE(records == 0 || last < at.user_key());
        last = at.user_key();
        SequenceNumber newer = kMaxSequence;
        for (auto* version = at.VersionAt(newer); version != nullptr; version = version->older()) {
          ASSERT_LT(version->sequence(), newer);
          newer = version->sequence();
          ASSERT_EQ(version->value(), std::to_string(newer));
          ++records;
        }
      }
      ASSERT_GE(records, seen);
      seen = memtable.records();
    }
  });
  for (std::thread& thread : threads) {
    thread.join();
  }
  Model model;
  for (const Model& one : written) {
    for (const auto& [key, versions] : one) {
      model[key].insert(versions.begin(), versions.end());
    }
  }
  ExpectSame(memtable, model);
}

// Readers that never stop look on as two threads delete ranges.
TEST(Memtable, RangeDeletionsDoNotWaitForReaders) {
  constexpr int kReaders = 8;
  constexpr SequenceNumber kDeletions = 20'000;
  Memtable memtable(1 << 20);
  std::atomic<SequenceNumber> next{1};
  std::atomic<int> writing{2};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (SequenceNumber sequence; (sequence = next.fetch_add(1)) <= kDeletions;) {
        memtable.DeleteRange(sequence, std::to_string(sequence % 10), "a");
        ASSERT_EQ(memtable.Covering("9", sequence), sequence);
      }
      writing.fetch_sub(1);
    });
  }
  for (int t = 0; t < kReaders; ++t) {
    threads.emplace_back([&] {
      SequenceNumber seen = 0;
      while (writing.load() > 0) {
        const SequenceNumber newest = memtable.Covering("9", kMaxSequence);
        ASSERT_GE(newest, seen);
        seen = newest;
        ASSERT_LE(memtable.range_deletions().Covering("5", seen), seen);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(memtable.Covering("0", kMaxSequence), kDeletions);
  EXPECT_EQ(memtable.Covering("a", kMaxSequence), 0u);
  EXPECT_EQ(memtable.records(), 0u);
  EXPECT_FALSE(memtable.empty());
}

// Exact up to some 64 keys, and close beyond that, also where they came in batches from the first on.
TEST(Memtable, EstimatesFewKeysWell) {
  for (const size_t most : {size_t{1}, Memtable::kMostAtOnce}) {
    Memtable memtable(1 << 20);
    Adder adder(&memtable, most);
    for (int i = 0; i < 100; ++i) {
      adder.Add(i + 1, RecordType::kValue, "key" + std::to_string(1000 + i), "value");
    }
    adder.Flush();
    EXPECT_EQ(memtable.Estimate("key1010", "key1060").values, 50u);
    EXPECT_EQ(memtable.Estimate("", "").values, 100u);
    EXPECT_EQ(memtable.Estimate("", "").bytes, 100u * 12);
    EXPECT_EQ(memtable.Estimate("key1005", "").values, 95u);
  }
}

TEST(Memtable, TakesLittleForFewRecords) {
  MemtableMemory all;
  {
    Memtable memtable(size_t{64} << 20, &all);
    EXPECT_EQ(memtable.memory_bytes(), 0u);
    for (int i = 0; i < 10; ++i) {
      memtable.Add(i + 1, RecordType::kValue, std::to_string(i), "value");
    }
    EXPECT_LE(memtable.memory_bytes(), size_t{8} << 10);
    EXPECT_EQ(all.held, memtable.memory_bytes());
    EXPECT_EQ(all.unflushed, memtable.memory_bytes());
    memtable.SetFlushed();
    EXPECT_EQ(all.unflushed, 0u);
    EXPECT_EQ(all.held, memtable.memory_bytes());
  }
  EXPECT_EQ(all.held, 0u);
}

// The index grows while threads insert and search: whatever was inserted is found, in every table
// that it may be in.
TEST(Memtable, FindsKeysWhileTheIndexGrows) {
  constexpr int kWriters = 4;
  constexpr int kKeys = 30'000;
  for (const size_t expected_bytes : {size_t{64} << 20, size_t{1} << 20}) {  // the latter overflows
    Memtable memtable(expected_bytes);
    std::atomic<SequenceNumber> next{1};
    std::vector<std::thread> threads;
    for (int t = 0; t < kWriters; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kKeys; ++i) {
          const std::string key = std::to_string(t) + "/" + std::to_string(i);
          ASSERT_EQ(memtable.Get(key, kMaxSequence), nullptr);
          memtable.Add(next.fetch_add(1), RecordType::kValue, key, key);
          for (const int back : {0, i / 2}) {
            const std::string earlier = std::to_string(t) + "/" + std::to_string(i - back);
            const Memtable::Version* const found = memtable.Get(earlier, kMaxSequence);
            ASSERT_NE(found, nullptr) << earlier;
            ASSERT_EQ(found->value(), earlier);
          }
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(memtable.records(), uint64_t{kWriters} * kKeys);
  }
}

// Counts the versions that are looked at, not the time.
TEST(Memtable, ReadsOfAHotRowAreLogarithmic) {
  constexpr SequenceNumber kVersions = 200'000;
  Memtable memtable(size_t{64} << 20);
  for (SequenceNumber sequence = 1; sequence <= kVersions; ++sequence) {
    memtable.Add(sequence, RecordType::kValue, "hot", "value");
  }
  const Memtable::Version* const newest = memtable.Get("hot", kMaxSequence);
  ASSERT_EQ(newest->sequence(), kVersions);
  for (SequenceNumber snapshot = 1; snapshot <= kVersions; snapshot += 997) {
    size_t steps = 0;
    const Memtable::Version* const found = newest->At(snapshot, &steps);
    ASSERT_EQ(found->sequence(), snapshot);
    ASSERT_LE(steps, 4 * std::bit_width(kVersions));
  }
  EXPECT_EQ(newest->At(0), nullptr);
}

}  // namespace
}  // namespace sluice
