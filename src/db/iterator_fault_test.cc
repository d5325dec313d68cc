// What iterators show once reads succeed that failed before.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "db/fixture.h"
#include "util/fault_env.h"

namespace sluice {
namespace {

constexpr uint64_t kNever = ~uint64_t{0};

class IteratorFaultTest : public DbFixture {
 protected:
  // Two runs, and seeks that look into both, or into one of them; with the key that each finds.
  IteratorFaultTest() {
    options_.env = &env_;
    options_.automatic_compactions = false;
    options_.row_cache_bytes = options_.block_cache_bytes = options_.table_cache_bytes = 0;
    EXPECT_TRUE(DB::Open(options_, "db", &db_).ok());
    for (const char prefix : std::string("kp")) {
      for (int i = 0; i < 1000; ++i) {
        EXPECT_TRUE(db_->Put({}, fmt::format("{}{:03}", prefix, i), std::string(20, 'v')).ok());
      }
      EXPECT_TRUE(db_->Flush(nullptr).ok());
    }
  }

  ~IteratorFaultTest() override { db_.reset(); }  // before env_

  using Seek = std::pair<std::function<void(Iterator*)>, std::string>;
  static std::vector<Seek> Seeks() {
    return {{[](Iterator* it) { it->SeekToFirst(); }, "k000"},
            {[](Iterator* it) { it->Seek("k500"); }, "k500"},
            {[](Iterator* it) { it->Seek("l"); }, "p000"},
            {[](Iterator* it) { it->SeekForPrev("l"); }, "k999"},
            {[](Iterator* it) { it->SeekForPrev("p500"); }, "p500"},
            {[](Iterator* it) { it->SeekToLast(); }, "p999"}};
  }

  FaultEnv env_;
};

TEST_F(IteratorFaultTest, SeeksStartAnew) {
  const std::string lower = "k";
  const std::string upper = "q";
  for (const ReadOptions& options :
       {ReadOptions(), ReadOptions{.lower_bound = &lower, .upper_bound = &upper}}) {
    int failed = 0;
    for (const auto& [fail, unused] : Seeks()) {
      for (const auto& [seek, found] : Seeks()) {
        for (int read = 0; read < 4; ++read) {
          const std::unique_ptr<Iterator> it = db_->NewIterator(options);
          env_.FailReadAt(env_.reads() + read, EIO, 1);
          fail(it.get());
          env_.FailReadAt(kNever, 0, 0);
          if (!it->status().ok()) {
            ++failed;
            EXPECT_FALSE(it->Valid());
          }
          seek(it.get());
          EXPECT_TRUE(it->status().ok()) << it->status().ToString();
          ASSERT_TRUE(it->Valid());
          EXPECT_EQ(it->key(), found);
        }
      }
    }
    EXPECT_GT(failed, 20);
  }
}

}  // namespace
}  // namespace sluice
