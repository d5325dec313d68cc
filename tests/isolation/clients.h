// Threads that run transactions while records move.

#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "sluice/db.h"
#include "util/testing.h"

namespace sluice {

// Calls `client` on so many threads, each with a generator of its own, while another thread flushes
// and compacts the default sub-table and `other`. Returns when all calls have.
inline void RunClients(int threads, uint64_t seed, DB* db, Subtable* other,
                       const std::function<void(TestRandom*)>& client) {
  std::vector<std::thread> clients;
  for (int i = 0; i < threads; ++i) {
    clients.emplace_back([&client, seed, i] {
      TestRandom random(seed + i);
      client(&random);
    });
  }
  std::atomic<bool> stop{false};
  std::thread mover([&] {
    TestRandom random(seed + threads);
    while (!stop) {
      Subtable* const subtable = Uniform(&random, 0, 1) != 0 ? other : nullptr;
      EXPECT_TRUE(db->Flush(subtable).ok());
      if (Uniform(&random, 0, 3) == 0) {
        EXPECT_TRUE(db->CompactRange(subtable, "", "").ok());
      }
    }
  });
  for (std::thread& thread : clients) {
    thread.join();
  }
  stop = true;
  mover.join();
}

}  // namespace sluice
