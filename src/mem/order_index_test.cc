// The index of a list's order against the list: with one thread it knows every node's neighbours, with
// many, or if it was not told of all, what it says is true.

#include "mem/order_index.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "mem/memory_account.h"
#include "util/testing.h"

namespace sluice {
namespace {

struct TestNode {
  std::string text;
  TestNode* next = nullptr;

  std::string_view key() const { return text; }
  TestNode* Next() const { return next; }
};
using Index = OrderIndex<TestNode>;

enum class Shape { kNumbers, kText, kLongPrefix, kTenants, kSameWords, kBehind };
constexpr Shape kShapes[] = {Shape::kNumbers, Shape::kText,      Shape::kLongPrefix,
                             Shape::kTenants, Shape::kSameWords, Shape::kBehind};

std::string KeyOf(Shape shape, uint64_t n) {
  switch (shape) {
    case Shape::kNumbers: {
      std::string key(8, '\0');
      for (size_t i = 0; i < key.size(); ++i) {
        key[i] = static_cast<char>(n >> (8 * (7 - i)));
      }
      return key;
    }
    case Shape::kText:
      return std::to_string(n);
    case Shape::kLongPrefix:
      return fmt::format("{}{:06}", std::string(70, 'p'), n);
    case Shape::kTenants:
      return fmt::format("{:03}/{}/item{:05}", n % 37, std::string(n % 5, 'x'), n);
    case Shape::kSameWords:  // as if all were the same key, but at the end
      return std::string(n % 9, '\0') + std::string(9, '\xff') + fmt::format("{:06}", n);
    default:
      return std::string(n % 300, '\0') + static_cast<char>(n % 7);
  }
}

// A list, in which it looks for nothing by itself, and an index of it.
class List {
 public:
  // Whether the index is told of it. Returns how many nodes were passed; no node twice.
  size_t Add(const std::string& key, bool tell = true) {
    const auto [at, is_new] = order_.emplace(key, nullptr);
    if (!is_new) {
      return 0;
    }
    TestNode* const node = at->second = &nodes_.emplace_back(TestNode{key});
    TestNode* const before = at == order_.begin() ? nullptr : std::prev(at)->second;
    const Index::Place place = index_.Find(key);
    node->next = std::next(at) == order_.end() ? nullptr : std::next(at)->second;
    if (before != nullptr) {
      before->next = node;
    }
    const size_t passed = Passed(place, before);
    if (tell) {
      index_.Insert(node, before, place, passed, order_.begin()->second);
    }
    return passed;
  }
  // Expects what is said of the key to be true. How many nodes it is off.
  size_t Check(const std::string& key) const {
    const Index::Place place = index_.Find(key);
    const auto at = order_.lower_bound(key);
    EXPECT_TRUE(place.before == nullptr || place.before->key() < key);
    EXPECT_TRUE(place.beyond == nullptr || place.beyond->key() >= key);
    EXPECT_TRUE(!place.differs || place.beyond->key() > key);
    return Passed(place, at == order_.begin() ? nullptr : std::prev(at)->second);
  }
  Index& index() { return index_; }
  const std::map<std::string, TestNode*>& order() const { return order_; }
  size_t bytes() const { return account_.bytes(); }

 private:
  size_t Passed(const Index::Place& place, const TestNode* before) const {
    size_t passed = 0;
    const TestNode* node = place.before != nullptr ? place.before : order_.begin()->second;
    if (before == nullptr || node == before) {
      return 0;
    }
    for (; node != before; node = node->next) {
      ++passed;
    }
    return passed;
  }

  MemoryAccount account_{nullptr};
  Arena arena_{&account_};
  Index index_{&arena_};
  std::deque<TestNode> nodes_;
  std::map<std::string, TestNode*> order_;
};

TEST(OrderIndex, KnowsTheNodeBeforeEachKey) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 rng(seed);
  for (const Shape shape : kShapes) {
    for (const int order : {0, 1, 2}) {  // ascending numbers, descending, at random
      SCOPED_TRACE(fmt::format("shape {}, order {}", static_cast<int>(shape), order));
      List list;
      constexpr uint64_t kKeys = 20'000;
      for (uint64_t i = 0; i < kKeys; ++i) {
        list.Add(KeyOf(shape, order == 0 ? i : order == 1 ? kKeys - i : rng() % (10 * kKeys)));
      }
      size_t off = 0;
      for (const auto& [key, node] : list.order()) {
        off = std::max({off, list.Check(key), list.Check(key + '\0'),
                        list.Check(KeyOf(shape, rng() % (10 * kKeys)))});
      }
      // Before the first page there are some that it was not told of.
      EXPECT_LE(off, 16u);
      EXPECT_EQ(list.Check(std::string(100, '\xff')), 0u);
      EXPECT_EQ(list.index().Last(), list.order().rbegin()->second);
    }
  }
}

TEST(OrderIndex, TakesLessMemoryForKeysInOrder) {
  List ascending;
  List random;
  std::mt19937_64 rng(1);
  constexpr uint64_t kKeys = 200'000;
  for (uint64_t i = 0; i < kKeys; ++i) {
    ascending.Add(KeyOf(Shape::kNumbers, i));
    random.Add(KeyOf(Shape::kNumbers, rng()));
  }
  constexpr size_t kBlock = size_t{2} << 20;  // of the arena
  EXPECT_LE(ascending.bytes(), kKeys * 21 + kBlock);
  EXPECT_LE(random.bytes(), kKeys * 36 + kBlock);
}

// It is not told of a stretch, as if a thread had held its page for long: searches there pass many nodes,
// until some keys have been added there.
TEST(OrderIndex, LearnsOfWhatItWasNotTold) {
  List list;
  for (uint64_t i = 0; i < 20'000; ++i) {
    list.Add(KeyOf(Shape::kNumbers, 10 * i), i < 1000 || i > 15'000);
  }
  std::mt19937_64 rng(1);
  EXPECT_GE(list.Check(KeyOf(Shape::kNumbers, 140'000)), 1000u);
  size_t passed = 0;
  for (int i = 0; i < 3000; ++i) {
    passed += list.Add(KeyOf(Shape::kNumbers, rng() % 200'000));
  }
  EXPECT_LE(passed, 150'000u);
  size_t off = 0;
  for (const auto& [key, node] : list.order()) {
    off = std::max(off, list.Check(key));
  }
  EXPECT_LE(off, 200u);
}

// Exact beyond what is left of a page at both ends.
TEST(OrderIndex, SamplesRanges) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 rng(seed);
  for (const bool in_order : {false, true}) {
    List list;
    constexpr uint64_t kKeys = 100'000;
    for (uint64_t i = 0; i < kKeys; ++i) {
      list.Add(KeyOf(Shape::kNumbers, in_order ? i << 20 : rng() % (kKeys << 20)));
    }
    for (int i = 0; i < 200; ++i) {
      uint64_t begin = rng() % kKeys;
      uint64_t end = rng() % kKeys;
      if (end < begin) {
        std::swap(begin, end);
      }
      const std::string from = i % 10 == 0 ? "" : KeyOf(Shape::kNumbers, begin << 20);
      const std::string to = i % 10 == 1 ? "" : KeyOf(Shape::kNumbers, end << 20);
      const auto first = list.order().lower_bound(from);
      const auto last = to.empty() ? list.order().end() : list.order().lower_bound(to);
      const auto keys = static_cast<double>(std::distance(first, last));
      double sampled = 0;
      size_t visits = 0;
      list.index().Sample(from, to, 64, [&](const TestNode& node, uint64_t weight) {
        EXPECT_TRUE(node.key() >= from && (to.empty() || node.key() < to));
        sampled += static_cast<double>(weight);
        ++visits;
      });
      EXPECT_NEAR(sampled, keys, keys / 6 + 16) << from << " to " << to;
      EXPECT_LE(visits, 64u * 4);
    }
  }
}

// All nodes are in the list; threads tell the index of them in any order, and look for keys.
TEST(OrderIndex, ThreadsAtOnce) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  constexpr int kThreads = 4;
  constexpr uint64_t kKeys = 20'000;
  for (const Shape shape : {Shape::kNumbers, Shape::kTenants, Shape::kSameWords}) {
    List list;
    for (uint64_t i = 0; i < kKeys; ++i) {
      list.Add(KeyOf(shape, i), i < 100);
    }
    std::vector<TestNode*> nodes;
    for (const auto& [key, node] : list.order()) {
      nodes.push_back(node);
    }
    std::shuffle(nodes.begin(), nodes.end(), std::mt19937_64(seed));
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937_64 rng(seed + t);
        for (size_t i = t; i < nodes.size(); i += kThreads) {
          const std::string& key = nodes[i]->text;
          const auto at = list.order().find(key);
          TestNode* const before = at == list.order().begin() ? nullptr : std::prev(at)->second;
          const Index::Place place = list.index().Find(key);
          ASSERT_TRUE(place.before == nullptr || place.before->key() < key);
          ASSERT_TRUE(place.beyond == nullptr || place.beyond->key() >= key);
          list.index().Insert(nodes[i], before, place, 0, list.order().begin()->second);
          list.Check(KeyOf(shape, rng() % kKeys));
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    for (const auto& [key, node] : list.order()) {
      list.Check(key);
    }
  }
}

}  // namespace
}  // namespace sluice
