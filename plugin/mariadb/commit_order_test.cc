#include "commit_order.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace sluice::mariadb {
namespace {

using Cookies = std::vector<void*>;

TEST(CommitOrderTest, CheckpointsWaitForWhatCameBefore) {
  CommitOrder order;
  int first;
  int second;
  EXPECT_TRUE(order.Checkpoint(&first));
  const uint64_t a = order.Enter();
  const uint64_t b = order.Enter();
  EXPECT_FALSE(order.Checkpoint(&first));
  const uint64_t c = order.Enter();
  EXPECT_FALSE(order.Checkpoint(&second));
  EXPECT_EQ(order.Leave(b), Cookies{});
  EXPECT_EQ(order.Leave(a), Cookies{&first});
  EXPECT_EQ(order.Leave(c), Cookies{&second});
  EXPECT_TRUE(order.Checkpoint(&first));
}

TEST(CommitOrderTest, OneThatLeavesMayReachSeveral) {
  CommitOrder order;
  int first;
  int second;
  const uint64_t a = order.Enter();
  EXPECT_FALSE(order.Checkpoint(&first));
  EXPECT_FALSE(order.Checkpoint(&second));
  EXPECT_EQ(order.Leave(a), (Cookies{&first, &second}));
}

TEST(CommitOrderTest, AwaitsWhatCameBeforeAndNothingElse) {
  CommitOrder order;
  order.Await();
  const uint64_t before = order.Enter();
  std::atomic<bool> left = false;
  std::thread leaves([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    (void)order.Enter();  // and stays
    left = true;
    (void)order.Leave(before);
  });
  order.Await();
  EXPECT_TRUE(left);
  leaves.join();
}

TEST(CommitOrderTest, AwaitsOnlyWhatHasASmallerNumber) {
  CommitOrder order;
  const uint64_t first = order.Enter();
  const uint64_t second = order.Enter();
  (void)order.Enter();  // and stays
  (void)order.Leave(second);
  std::atomic<bool> left = false;
  std::thread leaves([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    left = true;
    (void)order.Leave(first);
  });
  order.AwaitUpTo(second);
  EXPECT_TRUE(left);
  leaves.join();
}

}  // namespace
}  // namespace sluice::mariadb
