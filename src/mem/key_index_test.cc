#include "mem/key_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "mem/memory_account.h"
#include "util/epoch.h"
#include "util/hash.h"

namespace sluice {
namespace {

// Counts how often the index looks at a node of the calling thread.
struct CountingNode {
  explicit CountingNode(std::string name) : name(std::move(name)) {}
  std::string_view key() const {
    ++looks;
    return name;
  }

  std::string name;
  static thread_local size_t looks;
};
thread_local size_t CountingNode::looks = 0;

std::deque<CountingNode> MakeNodes(size_t count, const std::string& prefix) {
  std::deque<CountingNode> nodes;
  for (size_t i = 0; i < count; ++i) {
    nodes.emplace_back(prefix + std::to_string(i));
  }
  return nodes;
}

// A writer must not pay at once for the growth that many insertions made necessary.
TEST(KeyIndexTest, AnInsertionMovesFewSlotsHoweverManyKeysThereAre) {
  constexpr size_t kKeys = 300'000;
  const std::deque<CountingNode> nodes = MakeNodes(kKeys, "key");
  const CountingNode absent("absent");
  MemoryAccount account(nullptr);
  KeyIndex<const CountingNode> index(kKeys, &account);
  const EpochGuard guard;
  size_t most_looks = 0;
  for (size_t i = 0; i < kKeys; ++i) {
    CountingNode::looks = 0;
    index.Insert(&nodes[i], Hash64(nodes[i].name));
    most_looks = std::max(most_looks, CountingNode::looks);
    // This key, and one that has moved since, or will.
    for (const size_t known : {i, i / 2, i - i % 1000}) {
      ASSERT_EQ(index.Find(nodes[known].name, Hash64(nodes[known].name)), &nodes[known])
          << known << " after " << i;
    }
    ASSERT_EQ(index.Find(absent.name, Hash64(absent.name)), nullptr);
  }
  EXPECT_TRUE(index.complete());
  EXPECT_LE(most_looks, 16U);
  EXPECT_GT(most_looks, 0U);
}

TEST(KeyIndexTest, ThreadsInsertAndFindWhileItGrows) {
  constexpr size_t kThreads = 4;
  constexpr size_t kKeys = 50'000;
  std::vector<std::deque<CountingNode>> nodes;
  for (size_t t = 0; t < kThreads; ++t) {
    nodes.push_back(MakeNodes(kKeys, "thread" + std::to_string(t) + "-"));
  }
  MemoryAccount account(nullptr);
  KeyIndex<const CountingNode> index(kThreads * kKeys, &account);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < kKeys; ++i) {
        const EpochGuard guard;
        index.Insert(&nodes[t][i], Hash64(nodes[t][i].name));
        const CountingNode& known = nodes[t][i / 3];
        ASSERT_EQ(index.Find(known.name, Hash64(known.name)), &known);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_TRUE(index.complete());
  const EpochGuard guard;
  for (const auto& of_thread : nodes) {
    for (const CountingNode& node : of_thread) {
      ASSERT_EQ(index.Find(node.name, Hash64(node.name)), &node);
    }
  }
}

// Its key can be asked for by a thread that then waits.
struct WaitingNode {
  std::string_view key() const {
    if (waits) {
      waits = false;
      asked = true;
      asked.notify_one();
      go_on.wait(false);
    }
    return name;
  }

  std::string name;
  static thread_local bool waits;
  static std::atomic<bool> asked;
  static std::atomic<bool> go_on;
};
thread_local bool WaitingNode::waits = false;
std::atomic<bool> WaitingNode::asked{false};
std::atomic<bool> WaitingNode::go_on{false};

// A table of 128 slots is to be moved to one of 512, which others fill before that goes on.
TEST(KeyIndexTest, GrowsThoughWhoMovesItsSlotsIsSlow) {
  constexpr size_t kBefore = 84;  // two thirds of 128
  std::deque<WaitingNode> nodes;
  for (size_t i = 0; i < 530; ++i) {
    nodes.push_back({"key" + std::to_string(i)});
  }
  MemoryAccount account(nullptr);
  KeyIndex<const WaitingNode> index(10 * nodes.size(), &account);
  const EpochGuard guard;
  const auto insert = [&](size_t i) { index.Insert(&nodes[i], Hash64(nodes[i].name)); };
  for (size_t i = 0; i < kBefore; ++i) {
    insert(i);
  }
  std::thread slow([&] {
    const EpochGuard slow_guard;
    WaitingNode::waits = true;
    insert(kBefore);
  });
  WaitingNode::asked.wait(false);
  for (size_t i = kBefore + 1; i < nodes.size(); ++i) {
    insert(i);
  }
  WaitingNode::go_on = true;
  WaitingNode::go_on.notify_one();
  slow.join();
  for (const size_t more : {60, 0}) {  // insertions, which move all there is to move
    for (size_t i = 0; i < nodes.size(); ++i) {
      ASSERT_EQ(index.Find(nodes[i].name, Hash64(nodes[i].name)), &nodes[i]);
    }
    for (size_t i = 0; i < more; ++i) {
      insert(i);
    }
  }
  EXPECT_TRUE(index.complete());
}

// With a table being moved.
TEST(KeyIndexTest, EndsWhileItGrows) {
  const std::deque<CountingNode> nodes = MakeNodes(1000, "key");
  for (size_t keys = 80; keys < nodes.size(); keys += 7) {
    MemoryAccount account(nullptr);
    KeyIndex<const CountingNode> index(nodes.size(), &account);
    const EpochGuard guard;
    for (size_t i = 0; i < keys; ++i) {
      index.Insert(&nodes[i], Hash64(nodes[i].name));
    }
  }
}

}  // namespace
}  // namespace sluice
