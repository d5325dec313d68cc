// Options of sub-tables where the last operation of the file system can be any, or any can fail: they
// are those of before a change or those of after it, and what was acknowledged stays.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/testing.h"
#include "sluice/db.h"
#include "util/fault_env.h"
#include "util/testing.h"

namespace sluice {
namespace {

// The options of all sub-tables, by name.
using State = std::map<std::string, SubtableOptions>;

class OptionsLife {
 public:
  OptionsLife(FaultEnv* env, uint64_t seed) : random_(seed) {
    options_.env = env;
    options_.create_if_missing = true;
    options_.automatic_compactions = false;
    options_.extent_bytes = 16 << 10;
    options_.log_segment_bytes = 64 << 10;
  }

  Status Run() {
    SLUICE_RETURN_IF_ERROR(DB::Open(options_, "db", &db_));
    for (int i = 0; i < 12; ++i) {
      SLUICE_RETURN_IF_ERROR(Change(i));
      SLUICE_RETURN_IF_ERROR(Write(i));
      if (i == 6) {
        SLUICE_RETURN_IF_ERROR(db_->Close());
        SLUICE_RETURN_IF_ERROR(DB::Open(options_, "db", &db_));
      }
    }
    return db_->Close();
  }

  // In what became of the database.
  void ExpectIn(FaultEnv* env) {
    Options options = options_;
    options.env = env;
    const Status status = DB::Open(options, "db", &db_);
    ASSERT_TRUE(status.ok()) << status.ToString();
    State found;
    for (Subtable* const subtable : db_->ListSubtables()) {
      found[subtable->name()] = db_->GetSubtableOptions(subtable);
    }
    EXPECT_TRUE(found == acknowledged_ || found == tried_) << Text(found) << "\nand not\n"
                                                           << Text(acknowledged_) << "\nnor\n"
                                                           << Text(tried_);
    for (const auto& [name, records] : records_) {
      for (const auto& [key, value] : records) {
        std::string read;
        ASSERT_TRUE(db_->Get({}, db_->FindSubtable(name), key, &read).ok()) << name << " " << key;
        EXPECT_EQ(read, value);
      }
    }
    EXPECT_TRUE(db_->CompactRange(nullptr, {}, {}).ok());
    EXPECT_TRUE(db_->Verify(nullptr).ok());
    db_.reset();
  }
  void Close() { db_.reset(); }

 private:
  static std::string Text(const State& state) {
    std::string text;
    for (const auto& [name, options] : state) {
      text += fmt::format("{} [{}] ", name, options.ToString());
    }
    return text;
  }

  // Every third one makes a sub-table, the others change one.
  Status Change(int i) {
    const SubtableOptions own =
        i == 4 ? SubtableOptions() : RandomSubtableOptions(&random_, options_);
    const std::string name = fmt::format("t{}", i / 3);
    tried_ = acknowledged_;
    Subtable* subtable = nullptr;
    if (i % 3 == 0) {
      tried_[name] = own;
      SLUICE_RETURN_IF_ERROR(db_->CreateSubtable(own, name, &subtable));
    } else {
      subtable = i % 3 == 1 ? db_->FindSubtable(name) : nullptr;
      tried_[subtable != nullptr ? name : std::string(kDefaultSubtable)] = own;
      SLUICE_RETURN_IF_ERROR(db_->SetSubtableOptions(subtable, own));
    }
    acknowledged_ = tried_;
    return {};
  }
  Status Write(int i) {
    const std::string name = fmt::format("t{}", i / 3);
    Subtable* const subtable = db_->FindSubtable(name);
    for (int n = 0; n < 20; ++n) {
      const std::string key = fmt::format("{}-{}", i, n);
      const std::string value(200, 'v');
      SLUICE_RETURN_IF_ERROR(db_->Put({.sync = n == 19}, subtable, key, value));
    }
    for (int n = 0; n < 20; ++n) {
      records_[name][fmt::format("{}-{}", i, n)] = std::string(200, 'v');
    }
    return i % 3 == 1 ? db_->Flush(subtable) : db_->CompactRange(subtable, {}, {});
  }

  TestRandom random_;
  Options options_;
  std::unique_ptr<DB> db_;
  State acknowledged_{{std::string(kDefaultSubtable), {}}};
  State tried_ = acknowledged_;
  std::map<std::string, std::map<std::string, std::string>> records_;  // those that are synced
};

// Calls visit(k) for operations k of a life, of a long one not for all.
template <typename Visit>
void ForOperations(uint64_t seed, const Visit& visit) {
  FaultEnv whole;
  const Status status = OptionsLife(&whole, seed).Run();
  ASSERT_TRUE(status.ok()) << status.ToString();
  const uint64_t step = StepThrough(whole.operations());
  for (uint64_t k = seed % step; k < whole.operations() && !testing::Test::HasFailure();
       k += step) {
    SCOPED_TRACE(testing::Message() << "operation " << k);
    visit(k);
  }
}

TEST(SubtableOptionsCrash, AtEveryOperation) {
  const uint64_t seed = TestSeed();
  ForOperations(seed, [&](uint64_t k) {
    FaultEnv env;
    env.CrashAt(k, seed + k);
    OptionsLife life(&env, seed);
    (void)life.Run();
    for (const CrashKind kind : {CrashKind::kPower, CrashKind::kProcess}) {
      SCOPED_TRACE(kind == CrashKind::kPower ? "power" : "process");
      FaultEnv after(env.Survivors(kind, seed + k));
      life.ExpectIn(&after);
    }
  });
}

TEST(SubtableOptionsCrash, WhereAnyOperationFails) {
  const uint64_t seed = TestSeed();
  ForOperations(seed, [&](uint64_t k) {
    FaultEnv env;
    env.FailAt(k, k % 2 == 0 ? EIO : ENOSPC, seed + k);
    OptionsLife life(&env, seed);
    (void)life.Run();
    life.Close();
    env.FailAt(UINT64_MAX, EIO, 0);  // threads make lives differ: this one may have had fewer calls
    env.Restart(seed);
    life.ExpectIn(&env);
  });
}

}  // namespace
}  // namespace sluice
