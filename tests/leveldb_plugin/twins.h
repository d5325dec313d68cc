// Two databases that get the same calls, one compacted by Sluice and one by LevelDB, and a map: all
// have the same contents at every snapshot.

#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <leveldb/cache.h>
#include <leveldb/filter_policy.h>
#include <leveldb/write_batch.h>

#include <algorithm>
#include <list>

#include "support.h"
#include "util/testing.h"

namespace sluice {

struct Held {
  const leveldb::Snapshot* ours;
  const leveldb::Snapshot* theirs;
  Contents contents;
};

class Twins {
 public:
  explicit Twins(uint64_t seed) : random_(seed) {
    options_.create_if_missing = true;
    options_.write_buffer_size = size_t{64} << (10 + Draw(0, 3));
    options_.max_file_size = 1 << 20;
    options_.block_size = size_t{1} << Draw(10, 14);
    options_.block_restart_interval = static_cast<int>(Draw(1, 20));
    options_.compression = Draw(0, 1) == 0 ? leveldb::kNoCompression : leveldb::kSnappyCompression;
    options_.paranoid_checks = Draw(0, 1) == 0;
    options_.reuse_logs = Draw(0, 1) == 0;
    if (Draw(0, 1) == 0) {
      policy_.reset(leveldb::NewBloomFilterPolicy(static_cast<int>(Draw(1, 20))));
      options_.filter_policy = policy_.get();
    }
    keys_ = Draw(200, 20000);
    value_bytes_ = Draw(1, 4) == 1 ? 4000 : 300;
    deletions_ = Draw(5, 40);
    Open();
  }
  ~Twins() { ReleaseAll(); }

  void Run(int steps) {
    for (int step = 0; step < steps; ++step) {
      const uint64_t what = Draw(0, 999);
      if (what < 985) {
        Write();
      } else if (what < 990) {
        TakeSnapshot();
      } else if (what < 994) {
        ReleaseOne();
      } else if (what < 997) {
        CompactRange();
      } else if (what < 998) {
        Check();
      } else {
        Reopen();
      }
    }
    Check();
    ours_->CompactRange(nullptr, nullptr);
    theirs_->CompactRange(nullptr, nullptr);
    Check();
    Reopen();
    Check();
  }

 private:
  uint64_t Draw(uint64_t low, uint64_t high) { return Uniform(&random_, low, high); }

  std::string Key() {
    const uint64_t number = Draw(0, keys_ - 1);
    return number % 7 == 0 ? fmt::format("{}", number) : fmt::format("user{:08}", number);
  }
  std::string Value() {
    std::string value(Draw(0, value_bytes_), static_cast<char>('a' + Draw(0, 25)));
    // Half of the value cannot be compressed, up to 200 bytes.
    for (size_t i = 0; i < value.size() / 2 && i < 200; ++i) {
      value[i] = static_cast<char>(Draw(0, 255));
    }
    return value;
  }

  void Open() {
    leveldb::DB* db = nullptr;
    options_.comparator = leveldb::BytewiseComparator();
    ASSERT_NO_FATAL_FAILURE(ExpectOk(leveldb::DB::Open(options_, dir_.File("ours"), &db)));
    ASSERT_NE(db, nullptr);
    ours_.reset(db);
    options_.comparator = &comparator_;
    ExpectOk(leveldb::DB::Open(options_, dir_.File("theirs"), &db));
    theirs_.reset(db);
  }
  void Reopen() {
    ReleaseAll();
    ours_.reset();
    theirs_.reset();
    Open();
  }
  void Write() {
    leveldb::WriteBatch batch;
    for (uint64_t i = Draw(1, 20); i > 0; --i) {
      const std::string key = Key();
      if (Draw(0, 99) < deletions_) {
        batch.Delete(key);
        model_.erase(key);
      } else {
        const std::string value = Value();
        batch.Put(key, value);
        model_[key] = value;
      }
    }
    ExpectOk(ours_->Write({}, &batch));
    ExpectOk(theirs_->Write({}, &batch));
  }
  void TakeSnapshot() { held_.push_back({ours_->GetSnapshot(), theirs_->GetSnapshot(), model_}); }
  void Release(std::list<Held>::iterator held) {
    ours_->ReleaseSnapshot(held->ours);
    theirs_->ReleaseSnapshot(held->theirs);
    held_.erase(held);
  }
  void ReleaseOne() {
    if (!held_.empty()) {
      Release(std::next(held_.begin(), static_cast<int64_t>(Draw(0, held_.size() - 1))));
    }
  }
  void ReleaseAll() {
    while (!held_.empty()) {
      Release(held_.begin());
    }
  }
  void CompactRange() {
    const std::string a = Key();
    const std::string b = Key();
    const leveldb::Slice low = std::min(a, b);
    const leveldb::Slice high = std::max(a, b);
    const bool all = Draw(0, 3) == 0;
    ours_->CompactRange(all ? nullptr : &low, all ? nullptr : &high);
    theirs_->CompactRange(all ? nullptr : &low, all ? nullptr : &high);
  }
  // Else says where they differ first, and how the tree looks.
  static void ExpectContents(const char* whose, leveldb::DB* db, const leveldb::Snapshot* snapshot,
                             const Contents& expected) {
    const Contents found = Read(db, snapshot);
    if (found == expected) {
      return;
    }
    const auto [want, got] =
        std::mismatch(expected.begin(), expected.end(), found.begin(), found.end());
    const auto text = [](const Contents& contents, Contents::const_iterator at) {
      return at == contents.end() ? std::string("the end")
                                  : fmt::format("{} with {} bytes", at->first, at->second.size());
    };
    std::string tables;
    db->GetProperty("leveldb.sstables", &tables);
    ADD_FAILURE() << fmt::format("{}, {}: {} instead of {}, {} records instead of {}\n{}", whose,
                                 snapshot == nullptr ? "now" : "at a snapshot", text(found, got),
                                 text(expected, want), found.size(), expected.size(), tables);
  }
  void Check() {
    ExpectContents("ours", ours_.get(), nullptr, model_);
    ExpectContents("theirs", theirs_.get(), nullptr, model_);
    for (const Held& held : held_) {
      ExpectContents("ours", ours_.get(), held.ours, held.contents);
      ExpectContents("theirs", theirs_.get(), held.theirs, held.contents);
    }
    for (int i = 0; i < 100; ++i) {
      const std::string key = Key();
      std::string value;
      const leveldb::Status status = ours_->Get({}, key, &value);
      const auto found = model_.find(key);
      if (found == model_.end()) {
        EXPECT_TRUE(status.IsNotFound()) << status.ToString();
      } else {
        ExpectOk(status);
        EXPECT_EQ(value, found->second);
      }
    }
  }

  TempDir dir_;
  TestRandom random_;
  OwnComparator comparator_;
  std::unique_ptr<const leveldb::FilterPolicy> policy_;
  leveldb::Options options_;
  uint64_t keys_ = 0;
  uint64_t value_bytes_ = 0;
  uint64_t deletions_ = 0;
  std::unique_ptr<leveldb::DB> ours_;
  std::unique_ptr<leveldb::DB> theirs_;
  std::list<Held> held_;
  Contents model_;
};

inline void RunRounds(int rounds, int steps) {
  const uint64_t seed = TestSeed();
  const LevelDbStatistics before = GetLevelDbStatistics();
  for (int i = 0; i < TestRounds(rounds) && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(fmt::format("round {}", i));
    Twins(seed + static_cast<uint64_t>(i)).Run(steps);
  }
  const LevelDbStatistics after = GetLevelDbStatistics();
  EXPECT_GT(after.compactions, before.compactions);
  for (const auto& [reason, count] : after.reasons) {
    const auto earlier = before.reasons.find(reason);
    if (reason != "comparator" && reason != "closing") {
      EXPECT_EQ(count, earlier == before.reasons.end() ? 0 : earlier->second) << reason;
    }
  }
}

}  // namespace sluice
