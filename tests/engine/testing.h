// A life: a database and a model beside it, for tests of crashes and faults.
//
// Batches are numbered by a counter that each one writes too, so whatever is found after a restart
// can be compared with the state after just so many batches.

#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/workload.h"
#include "sluice/db.h"
#include "table/testing.h"
#include "util/fault_env.h"

namespace sluice {

// Many flushes and compactions of few records; caches that hold some of them.
[[gnu::noinline]] inline Options SmallOptions(TestRandom* random, Env* env) {
  Options options;
  options.create_if_missing = true;
  options.env = env;
  options.memtable_bytes = 8192 << Uniform(random, 0, 2);
  // Sometimes so little that a recovery has to flush.
  options.write_buffer_bytes = Uniform(random, 0, 3) == 0 ? 128 << 10 : 1 << 20;
  options.row_cache_bytes = options.block_cache_bytes = options.table_cache_bytes = 4096;
  options.extent_bytes = 8192;
  options.block_bytes = 1024;
  options.l0_compaction_runs = 2;
  options.l1_bytes = 65536;
  options.log_segment_bytes = 16384;
  options.task_bytes = 32768;
  options.compaction_bytes = 131072;
  return options;
}

// Tests that end or disturb a life at each of its operations do so at every so many, if it is long.
inline uint64_t StepThrough(uint64_t operations) { return 1 + operations / 200; }

// What was written so far, and of that what must be found again.
struct History {
  // The records of all sub-tables: "other/key" -> value, which the states share.
  using State = std::map<std::string, std::shared_ptr<const std::string>>;

  // After 0, 1, ... batches, the last perhaps only tried. Tests of faults copy histories all the
  // time, and so share the states.
  std::vector<std::shared_ptr<const State>> states{std::make_shared<const State>()};
  size_t acknowledged = 0;  // batches
  size_t synced = 0;        // of those, up to the last one that asked for it

  // What the next life must find. A file system made from what a crash left takes all as durable
  // (fault_env.h).
  void Crash(CrashKind kind) {
    if (kind == CrashKind::kPower) {
      acknowledged = synced;
    } else {
      synced = acknowledged;
    }
  }
};

class Life {
 public:
  // Everything that is done in it is drawn from `seed`.
  explicit Life(uint64_t seed, History history = {})
      : random_(seed),
        history_(std::move(history)),
        keys_{KeySpace(&random_), KeySpace(&random_)},
        values_(&random_, kMostValueBytes) {}

  // Opens the database, and expects in it what must be there. Errors of open and reads are the
  // result.
  Status Open(Env* env, const std::string& path = "db") {
    SLUICE_RETURN_IF_ERROR(DB::Open(SmallOptions(&random_, env), path, &db_));
    State found;
    size_t count;
    if (Status status = Read(&found, &count); !status.ok()) {
      db_.reset();
      return status;
    }
    EXPECT_LE(count, history_.states.size() - 1);
    EXPECT_GE(count, history_.acknowledged);
    if (count < history_.states.size()) {
      EXPECT_EQ(Difference(found, *history_.states[count]), "")
          << "not the state after " << count << " batches";
    }
    // What was lost is lost for good.
    history_.states.resize(count + 1, history_.states.front());
    history_.acknowledged = history_.synced = count;
    if (other_ = db_->FindSubtable("other"); other_ == nullptr) {
      SLUICE_RETURN_IF_ERROR(db_->CreateSubtable(DrawOptions(env), "other", &other_));
    } else if (Uniform(&random_, 0, 2) == 0) {
      SLUICE_RETURN_IF_ERROR(db_->SetSubtableOptions(other_, DrawOptions(env)));
    }
    return {};
  }

  // Some puts, deletes and deletions of ranges, perhaps synced.
  Status WriteBatches(uint64_t batches) {
    if (other_ == nullptr) {  // it could not be made when the database was opened
      SLUICE_RETURN_IF_ERROR(db_->CreateSubtable("other", &other_));
    }
    for (; batches > 0; --batches) {
      auto written = std::make_shared<State>(*history_.states.back());
      State& next = *written;
      WriteBatch batch;
      for (uint64_t n = Uniform(&random_, 1, 10); n > 0; --n) {
        const bool other = Uniform(&random_, 0, 1) != 0;
        Subtable* const subtable = other ? other_ : nullptr;
        const std::string prefix = other ? "other/" : "default/";
        if (Uniform(&random_, 0, 30) == 0) {
          std::string begin = keys_[other].Any(&random_);
          std::string end = keys_[other].Any(&random_);
          if (end < begin) {
            std::swap(begin, end);
          }
          batch.DeleteRange(subtable, begin, end);
          // Without an end, if both are the empty key.
          if (begin < end || end.empty()) {
            next.erase(next.lower_bound(prefix + begin),
                       next.lower_bound(end.empty() ? prefix + "\xff" : prefix + end));
          }
        } else if (Uniform(&random_, 0, 3) == 0) {
          const std::string key = keys_[other].Any(&random_);
          batch.Delete(subtable, key);
          next.erase(prefix + key);
        } else {
          const std::string key = keys_[other].Next(&random_);
          auto value = std::make_shared<const std::string>(values_.Next(&random_));
          batch.Put(subtable, key, *value);
          next[prefix + key] = std::move(value);
        }
      }
      batch.Put(kCounter, std::to_string(history_.states.size()));
      history_.states.push_back(std::move(written));
      const bool sync = Uniform(&random_, 0, 5) == 0;
      if (Status status = db_->Write({.sync = sync}, batch); !status.ok()) {
        if (status.IsNoSpace()) {
          history_.states.pop_back();  // nothing of it is written
        }
        return status;
      }
      history_.acknowledged = history_.states.size() - 1;
      if (sync) {
        history_.synced = history_.acknowledged;
      }
    }
    return {};
  }

  // All of the default sub-table, or some.
  Status Compact() {
    std::string begin;
    std::string end;
    if (Uniform(&random_, 0, 1) != 0) {
      begin = keys_[0].Any(&random_);
      end = keys_[0].Any(&random_);
    }
    return db_->CompactRange(nullptr, std::min(begin, end), std::max(begin, end));
  }

  // Expects what was acknowledged, no more and no less. The result is that of the reads.
  Status Check() {
    State found;
    size_t count;
    SLUICE_RETURN_IF_ERROR(Read(&found, &count));
    EXPECT_EQ(count, history_.acknowledged);
    EXPECT_EQ(Difference(found, *history_.states[history_.acknowledged]), "")
        << "not what was acknowledged";
    return {};
  }

  Status Close() {
    const Status status = db_->Close();
    db_.reset();
    return status;
  }
  // Null if it was never opened, or was closed.
  DB* db() { return db_.get(); }
  TestRandom* random() { return &random_; }
  History* history() { return &history_; }

 private:
  using State = History::State;

  static constexpr char kCounter[] = "\xff counter";  // no other key is like it
  static constexpr size_t kMostValueBytes = 8000;

  // Empty if there is none.
  static std::string Difference(const State& found, const State& expected) {
    std::string difference;
    for (const auto& [key, value] : expected) {
      const auto at = found.find(key);
      if (at == found.end()) {
        difference += "missing: " + testing::PrintToString(key) + "\n";
      } else if (*at->second != *value) {
        difference += "another value: " + testing::PrintToString(key) + "\n";
      }
    }
    for (const auto& [key, value] : found) {
      if (!expected.contains(key)) {
        difference += "too much: " + testing::PrintToString(key) + "\n";
      }
    }
    return difference;
  }

  SubtableOptions DrawOptions(Env* env) {
    return RandomSubtableOptions(&random_, SmallOptions(&random_, env));
  }

  // All records, by scans and by point reads.
  Status Read(State* state, size_t* batches) {
    *batches = 0;
    for (Subtable* const subtable : db_->ListSubtables()) {
      const auto at = db_->NewIterator({}, subtable);
      for (at->SeekToFirst(); at->Valid(); at->Next()) {
        std::string value;
        SLUICE_RETURN_IF_ERROR(db_->Get({}, subtable, at->key(), &value));
        const std::string_view walked = at->value();
        SLUICE_RETURN_IF_ERROR(at->status());
        EXPECT_EQ(value, walked);
        if (at->key() == kCounter) {
          *batches = std::stoul(value);
        } else {
          (*state)[subtable->name() + "/" + std::string(at->key())] =
              std::make_shared<const std::string>(std::move(value));
        }
      }
      SLUICE_RETURN_IF_ERROR(at->status());
    }
    return {};
  }

  TestRandom random_;
  History history_;
  KeySpace keys_[2];  // of the default sub-table and the other
  ValueSpace values_;
  std::unique_ptr<DB> db_;
  Subtable* other_ = nullptr;
};

}  // namespace sluice
