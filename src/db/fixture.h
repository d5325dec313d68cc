// A database in a directory of its own, for tests of the public API.

#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "sluice/db.h"
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

}  // namespace sluice
