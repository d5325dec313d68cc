// The transaction buffer against maps.

#include "txn/write_buffer.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "table/testing.h"
#include "util/testing.h"

namespace sluice {
namespace {

using Keys = std::map<std::string, std::optional<std::string>>;  // nullopt: deleted
using Model = std::map<uint32_t, Keys>;

void Put(WriteBuffer* buffer, std::string_view key, std::string_view value) {
  buffer->Add(0, key, RecordType::kValue, value);
}

TEST(WriteBuffer, OverwritesInPlaceWhereNobodyLooksBack) {
  WriteBuffer buffer;
  Put(&buffer, "k", "0");
  const size_t bytes = buffer.bytes();
  for (int i = 0; i < 1000; ++i) {
    Put(&buffer, "k", std::to_string(i % 10));
  }
  EXPECT_EQ(buffer.bytes(), bytes);
  buffer.SetSavepoint();
  for (int i = 0; i < 1000; ++i) {
    Put(&buffer, "k", std::to_string(i % 10));
  }
  EXPECT_EQ(buffer.bytes(), 2 * bytes);
  ASSERT_TRUE(buffer.RollbackToSavepoint());
  EXPECT_FALSE(buffer.RollbackToSavepoint());
  EXPECT_FALSE(buffer.ReleaseSavepoint());
  EXPECT_EQ(buffer.bytes(), bytes);
  EXPECT_EQ(buffer.Find(0, "k")->value(), "9");
  buffer.SetSavepoint();
  buffer.Add(1, "l", RecordType::kDeletion, "");
  EXPECT_EQ(buffer.keys(), 2u);
  ASSERT_TRUE(buffer.RollbackToSavepoint());
  EXPECT_EQ(buffer.keys(), 1u);
  EXPECT_EQ(buffer.bytes(), bytes);
}

// As each statement of a transaction has one, after the user's.
TEST(WriteBuffer, OverwritesInPlaceWhereSavepointsAreGone) {
  WriteBuffer buffer;
  Put(&buffer, "k", "0");
  const size_t bytes = buffer.bytes();
  buffer.SetSavepoint();
  for (int i = 0; i < 1000; ++i) {
    buffer.SetSavepoint();
    Put(&buffer, "k", std::to_string(i % 10));
    buffer.Add(0, "l", RecordType::kDeletion, "");
    ASSERT_TRUE(buffer.ReleaseSavepoint());
    ASSERT_LE(buffer.bytes(), 3 * bytes);
  }
  buffer.SetSavepoint();
  Put(&buffer, "k", "more");
  ASSERT_TRUE(buffer.RollbackToSavepoint());
  EXPECT_EQ(buffer.Find(0, "k")->value(), "9");
  ASSERT_TRUE(buffer.RollbackToSavepoint());
  EXPECT_EQ(buffer.Find(0, "k")->value(), "0");
  EXPECT_EQ(buffer.Find(0, "l"), nullptr);
  EXPECT_EQ(buffer.bytes(), bytes);
}

TEST(WriteBuffer, OverwritesInPlaceWhereTheOutermostSavepointIsGone) {
  WriteBuffer buffer;
  Put(&buffer, "k", "0");
  const size_t bytes = buffer.bytes();
  for (int i = 0; i < 1000; ++i) {
    buffer.SetSavepoint();
    Put(&buffer, "k", std::to_string(i % 10));
    ASSERT_TRUE(buffer.ReleaseSavepoint());
    ASSERT_EQ(buffer.bytes(), bytes);
  }
  EXPECT_EQ(buffer.Find(0, "k")->value(), "9");
}

// As a statement that updates what it scans has several, one in another.
TEST(WriteBuffer, OverwritesInPlaceWhereIteratorsAreGone) {
  WriteBuffer buffer;
  Put(&buffer, "k", "0");
  const size_t bytes = buffer.bytes();
  auto outer = buffer.NewIterator(0);
  outer->SeekToFirst();
  std::unique_ptr<RecordIterator> before;
  for (int i = 0; i < 1000; ++i) {
    auto inner = buffer.NewIterator(0);
    Put(&buffer, "k", std::to_string(i % 10));
    inner->SeekToFirst();
    ASSERT_EQ(inner->value(), std::to_string(i == 0 ? 0 : (i - 1) % 10));
    before = std::move(inner);  // each goes when the next one is there
    buffer.SetSavepoint();
    Put(&buffer, "k", "undone");
    auto undone = buffer.NewIterator(0);
    undone->SeekToFirst();
    ASSERT_TRUE(buffer.RollbackToSavepoint());
    ASSERT_EQ(undone->value(), "undone");
    ASSERT_LE(buffer.bytes(), 5 * bytes);
  }
  EXPECT_EQ(outer->value(), "0");
  before.reset();
  EXPECT_EQ(buffer.bytes(), 2 * bytes);
  outer.reset();
  EXPECT_EQ(buffer.bytes(), bytes);
  EXPECT_EQ(buffer.Find(0, "k")->value(), "9");
}

TEST(WriteBuffer, AnyNumberOfVersionsGoOnASmallStack) {
  pthread_attr_t small;
  ASSERT_EQ(pthread_attr_init(&small), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&small, 256 << 10), 0);
  const auto run = [](void*) -> void* {
    WriteBuffer buffer;
    for (int i = 0; i < 100'000; ++i) {
      buffer.SetSavepoint();
      Put(&buffer, "k", "v");
    }
    buffer.Clear();
    EXPECT_EQ(buffer.bytes(), 0u);
    return nullptr;
  };
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &small, run, nullptr), 0);
  EXPECT_EQ(pthread_join(thread, nullptr), 0);
  EXPECT_EQ(pthread_attr_destroy(&small), 0);
}

// In a moderate time: none of them looks at what those after it have written.
TEST(WriteBuffer, ManySavepointsInOneAnotherAreReleased) {
  constexpr int kMany = 300'000;
  WriteBuffer buffer;
  Put(&buffer, "k", "first");
  buffer.SetSavepoint();
  const size_t bytes = buffer.bytes();
  for (int i = 0; i < kMany; ++i) {
    buffer.SetSavepoint();
    Put(&buffer, std::to_string(i), "value");
    Put(&buffer, "k", std::to_string(i));
  }
  const size_t all = buffer.bytes();
  for (int i = 0; i < kMany; ++i) {
    ASSERT_TRUE(buffer.ReleaseSavepoint());
  }
  EXPECT_EQ(buffer.keys(), 1u + kMany);
  EXPECT_EQ(buffer.Find(0, "k")->value(), std::to_string(kMany - 1));
  EXPECT_LT(buffer.bytes(), all - kMany * 100);  // all values of k but two are gone
  ASSERT_TRUE(buffer.RollbackToSavepoint());
  EXPECT_EQ(buffer.Find(0, "k")->value(), "first");
  EXPECT_EQ(buffer.keys(), 1u);
  EXPECT_EQ(buffer.bytes(), bytes);
}

TEST(WriteBuffer, CountsWhatItKeeps) {
  WriteBuffer buffer;
  for (int i = 0; i < 1000; ++i) {
    buffer.SetSavepoint();  // costs nothing where nothing was written
  }
  Put(&buffer, "k", "0");
  const size_t bytes = buffer.bytes();
  auto at = buffer.NewIterator(0);
  ASSERT_TRUE(buffer.RollbackToSavepoint());
  EXPECT_EQ(buffer.bytes(), bytes);  // the iterator may stand there
  buffer.Clear();
  at->SeekToFirst();
  at.reset();
  EXPECT_EQ(buffer.bytes(), 0u);
  for (int i = 1; i < 1000; ++i) {
    ASSERT_TRUE(i % 2 == 0 ? buffer.RollbackToSavepoint() : buffer.ReleaseSavepoint());
  }
  EXPECT_FALSE(buffer.ReleaseSavepoint());
  Put(&buffer, "k", "0");
  buffer.SetSavepoint();
  buffer.Clear();
  EXPECT_EQ(buffer.bytes(), 0u);
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(buffer.Find(0, "k"), nullptr);
  EXPECT_FALSE(buffer.RollbackToSavepoint());
}

// What an iterator shows stays, whatever happens to the buffer meanwhile.
TEST(WriteBuffer, IteratorsStandWhileKeysComeAndGo) {
  WriteBuffer buffer;
  Put(&buffer, "b", "1");
  buffer.SetSavepoint();
  Put(&buffer, "a", "2");
  Put(&buffer, "c", "3");
  const auto at = buffer.NewIterator(0);
  at->SeekToFirst();
  const std::string_view key = at->user_key();
  const std::string_view value = at->value();
  Put(&buffer, "a", "4");
  Put(&buffer, "aa", "5");
  EXPECT_EQ(value, "2");
  ASSERT_TRUE(buffer.RollbackToSavepoint());
  EXPECT_EQ(key, "a");
  EXPECT_EQ(value, "2");
  at->Next();
  ASSERT_TRUE(at->Valid());
  EXPECT_EQ(at->user_key(), "b");
  Put(&buffer, "b", "6");
  EXPECT_EQ(at->value(), "1");
  at->Prev();
  EXPECT_FALSE(at->Valid());
}

std::string RandomKey(TestRandom* random) { return std::to_string(Uniform(random, 0, 30)); }

void ExpectAt(const RecordIterator& at, const Keys& keys, Keys::const_iterator expected) {
  ASSERT_EQ(at.Valid(), expected != keys.end());
  if (at.Valid()) {
    ASSERT_EQ(at.user_key(), expected->first);
    ASSERT_EQ(TrailerType(at.trailer()) == 1, expected->second.has_value());
    ASSERT_EQ(at.value(), expected->second.value_or(""));
  }
}

// An iterator, and what it must show.
struct Walk {
  std::unique_ptr<RecordIterator> iterator;
  Keys keys;
  Keys::const_iterator at;
};

void Step(Walk* walk, TestRandom* random) {
  const std::string key = RandomKey(random);
  const auto before = [&](Keys::const_iterator at) {
    return at == walk->keys.begin() ? walk->keys.end() : std::prev(at);
  };
  switch (Uniform(random, 0, 7)) {
    case 0:
      walk->iterator->SeekToFirst();
      walk->at = walk->keys.begin();
      break;
    case 1:
      walk->iterator->SeekToLast();
      walk->at = before(walk->keys.end());
      break;
    case 2:
      walk->iterator->Seek(key);
      walk->at = walk->keys.lower_bound(key);
      break;
    case 3:
      walk->iterator->SeekForPrev(key);
      walk->at = before(walk->keys.upper_bound(key));
      break;
    default:
      if (walk->at == walk->keys.end()) {
        break;
      }
      if (Uniform(random, 0, 1) != 0) {
        walk->iterator->Next();
        ++walk->at;
      } else {
        walk->iterator->Prev();
        walk->at = before(walk->at);
      }
  }
  ExpectAt(*walk->iterator, walk->keys, walk->at);
}

TEST(WriteBuffer, DoesWhatMapsDo) {
  TestRandom random(TestSeed());
  for (int round = 0; round < 300 && !testing::Test::HasFailure(); ++round) {
    WriteBuffer buffer;
    std::vector<Model> states{{}};  // as of each savepoint, and now
    std::vector<std::unique_ptr<Walk>> walks;
    for (int step = 0; step < 300 && !testing::Test::HasFailure(); ++step) {
      const auto subtable = static_cast<uint32_t>(Uniform(&random, 0, 1));
      const std::string key = RandomKey(&random);
      switch (Uniform(&random, 0, 20)) {
        case 0:
          buffer.SetSavepoint();
          states.push_back(states.back());
          break;
        case 1:
          ASSERT_EQ(buffer.RollbackToSavepoint(), states.size() > 1);
          if (states.size() > 1) {
            states.pop_back();
            walks.clear();  // they may miss what was undone
          }
          break;
        case 2:
          ASSERT_EQ(buffer.ReleaseSavepoint(), states.size() > 1);
          if (states.size() > 1) {
            states.erase(states.end() - 2);
          }
          break;
        case 3: {
          auto walk = std::make_unique<Walk>();
          walk->iterator = buffer.NewIterator(subtable);
          walk->keys = states.back()[subtable];
          walk->at = walk->keys.end();
          walks.push_back(std::move(walk));
          break;
        }
        case 4:
          if (!walks.empty()) {
            walks.erase(walks.begin() +
                        static_cast<ptrdiff_t>(Uniform(&random, 0, walks.size() - 1)));
          }
          break;
        case 5:
        case 6: {
          buffer.Add(subtable, key, RecordType::kDeletion, "");
          states.back()[subtable][key] = std::nullopt;
          break;
        }
        default: {
          const std::string value(SkewedSize(&random, 100), static_cast<char>('a' + step % 26));
          buffer.Add(subtable, key, RecordType::kValue, value);
          states.back()[subtable][key] = value;
        }
      }
      Keys& expected = states.back()[subtable];
      const WriteBuffer::Write* const found = buffer.Find(subtable, key);
      ASSERT_EQ(found != nullptr, expected.count(key) == 1);
      if (found != nullptr) {
        ASSERT_EQ(found->type == RecordType::kValue, expected[key].has_value());
        ASSERT_EQ(found->value(), expected[key].value_or(""));
      }
      for (const auto& walk : walks) {
        Step(walk.get(), &random);
      }
    }
    Model all;
    buffer.ForEach([&](uint32_t subtable, const WriteBuffer::Write& write) {
      all[subtable][std::string(write.key())] = write.type == RecordType::kValue
                                                    ? std::optional<std::string>(write.value())
                                                    : std::nullopt;
    });
    // Nothing is kept for those that are gone.
    walks.clear();
    while (buffer.ReleaseSavepoint()) {
    }
    size_t bytes = 0;
    buffer.ForEach([&](uint32_t, const WriteBuffer::Write& write) {
      bytes += WriteBuffer::Cost(write.key(), write.value());
    });
    ASSERT_EQ(buffer.bytes(), bytes);
    size_t count = 0;
    for (const auto& [subtable, keys] : all) {
      ASSERT_TRUE(keys == states.back()[subtable]);
      count += keys.size();
    }
    ASSERT_EQ(buffer.keys(), count);
    ASSERT_EQ(states.back()[0].size() + states.back()[1].size(), count);
  }
}

}  // namespace
}  // namespace sluice
