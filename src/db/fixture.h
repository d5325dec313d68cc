// A database in a directory of its own, for tests of the public API, and a listener that stops a
// flush.

#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <semaphore>
#include <string>
#include <utility>

#include "sluice/db.h"
#include "sluice/listener.h"
#include "util/testing.h"

namespace sluice {

class DbFixture : public testing::Test {
 protected:
  // So little of everything that few records are flushed, and make extents and segments.
  DbFixture() {
    options_.create_if_missing = true;
    options_.memtable_bytes = 64 << 10;
    options_.extent_bytes = 64 << 10;
    options_.log_segment_bytes = 64 << 10;
  }
  // Closes it first if it is open.
  void Open(const std::string& name = "db") {
    db_.reset();
    const Status status = DB::Open(options_, dir_.File(name), &db_);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }

  TempDir dir_;
  Options options_;
  std::unique_ptr<DB> db_;
};

// Holds the first flush up when it has synced the log and has taken effect, but has not given up any
// of the log yet.
class FlushGate final : public EventListener {
 public:
  void OnFlush(const FlushEvent& /*event*/) override {
    if (!std::exchange(passed_, true)) {
      reached.release();
      go_on.acquire();
    }
  }
  std::binary_semaphore reached{0};
  std::binary_semaphore go_on{0};

 private:
  bool passed_ = false;  // there is one thread for flushes
};

}  // namespace sluice
