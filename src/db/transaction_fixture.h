// A database for tests of transactions, and short ways to use it.

#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "db/fixture.h"
#include "sluice/db.h"
#include "sluice/transaction.h"

namespace sluice {

class TransactionTest : public DbFixture {
 protected:
  TransactionTest() {
    options_.l0_compaction_runs = 2;
    Open();
  }
  std::unique_ptr<Transaction> Begin(Isolation isolation = Isolation::kSnapshot,
                                     std::chrono::milliseconds lock_timeout = {}) {
    return db_->BeginTransaction({.isolation = isolation, .lock_timeout = lock_timeout}, {});
  }
  // What a transaction or database reads: the value, "-" or the error.
  template <typename From>
  static std::string Get(From& from, std::string_view key, Subtable* subtable = nullptr) {
    std::string value;
    const Status status = from.Get({}, subtable, key, &value);
    return status.ok() ? value : status.IsNotFound() ? "-" : status.ToString();
  }
  template <typename From>
  static std::string Scan(From& from, const ReadOptions& options = {}) {
    std::string all;
    const auto at = from.NewIterator(options, nullptr);
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      all += fmt::format("{}={} ", at->key(), at->value());
    }
    EXPECT_TRUE(at->status().ok()) << at->status().ToString();
    return all;
  }
  void Put(std::string_view key, std::string_view value) {
    ASSERT_TRUE(db_->Put({}, key, value).ok());
  }
};

}  // namespace sluice
