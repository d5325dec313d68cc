// A database in a directory of its own, for tests of the public API; and what tests of the log
// need between two steps of a flush.

#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <semaphore>
#include <string>
#include <thread>
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

// Has a memtable switched, and dropped before it is flushed: all that memtables need of the log is
// behind it then. To be called while the gate holds the flush up.
inline void SwitchAndDrop(DB* db) {
  Subtable* dropped = nullptr;
  ASSERT_TRUE(db->CreateSubtable("dropped", &dropped).ok());
  ASSERT_TRUE(db->Put({}, dropped, "key", "value").ok());
  std::thread flush([&] { (void)db->Flush(dropped); });
  const auto waiting = [&] {
    size_t memtables = 0;
    for (const SubtableStatistics& subtable : db->GetStatistics().subtables) {
      memtables += subtable.waiting_memtables;
    }
    return memtables;
  };
  while (waiting() == 0) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(db->DropSubtable(dropped).ok());
  flush.join();
}

}  // namespace sluice
