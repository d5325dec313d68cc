// The lives of a database: opened, used, ended one way or another, and found again.

#pragma once

#include <cstdint>

namespace sluice::sim {

// What was done in them.
struct Totals {
  uint64_t opened = 0;
  uint64_t operations = 0;  // of clients
  uint64_t flushes = 0;
  uint64_t compactions = 0;
  uint64_t stalled = 0;  // microseconds
  uint64_t images = 0;   // of crashes, beside those that end a life
};

// So many lives of one database, all drawn from `seed`. Ends the process if something is wrong.
Totals LiveAndDie(uint64_t seed, uint64_t lives);

}  // namespace sluice::sim
