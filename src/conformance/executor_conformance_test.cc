// The CPU executor keeps the rules, and executors that break one are found out.

#include <gtest/gtest.h>

#include <functional>

#include "merge/cpu_executor.h"
#include "merge/outputs.h"
#include "sluice/conformance.h"
#include "table/index_walk.h"
#include "table/internal_key.h"
#include "util/testing.h"

namespace sluice {
namespace {

TEST(ExecutorConformance, Cpu) {
  CpuExecutor cpu;
  const Status status = CheckExecutor(&cpu, {.seed = TestSeed(), .tasks = 3000});
  EXPECT_TRUE(status.ok()) << status.ToString();
}

// The CPU, but for what `change` does to tables and result.
class Changed : public Executor {
 public:
  using Change = std::function<void(MergeResult*, std::vector<OwnedOutput>*)>;
  explicit Changed(Change change) : change_(std::move(change)) {}

  std::string_view name() const override { return "changed"; }
  size_t max_runs() const override { return 4; }
  size_t max_snapshots() const override { return 1; }
  bool makes_filters() const override { return true; }
  bool compresses() const override { return true; }
  bool takes_xxh3() const override { return true; }
  MergeResult Run(const MergeTask& task, const MergeSink& sink) override {
    std::vector<OwnedOutput> outputs;
    MergeResult result = cpu_.Run(task, CollectInto(&outputs));
    change_(&result, &outputs);
    if (result.ok()) {
      HandOver(std::move(outputs), sink, &result);
    }
    return result;
  }

 private:
  const Change change_;
  CpuExecutor cpu_;
};

// Leaves out tables that lie below the range, if their indexes are to be believed.
class Believer : public Executor {
 public:
  std::string_view name() const override { return "believer"; }
  size_t max_runs() const override { return 4; }
  size_t max_snapshots() const override { return 1; }
  MergeResult Run(const MergeTask& task, const MergeSink& sink) override {
    MergeTask fewer = task;
    for (MergeRun& run : fewer.runs) {
      std::erase_if(run, [&](const MergeTable& table) { return IsBelow(task, table); });
    }
    return cpu_.Run(fewer, sink);
  }

 private:
  static bool IsBelow(const MergeTask& task, const MergeTable& table) {
    bool below = task.has_begin;
    OpenIndex index;
    return OpenIndex::In(table.image, table.index, &index).ok() &&
           index
               .ForEachBlock([&](std::string_view key, const BlockHandle&) {
                 below = below && UserKey(key) < task.begin;
                 return Status();
               })
               .ok() &&
           below;
  }

  CpuExecutor cpu_;
};

TEST(ExecutorConformance, WhoBelievesIndexKeysIsFoundOut) {
  Believer believer;
  EXPECT_FALSE(CheckExecutor(&believer, {.seed = 1, .tasks = 300}).ok());
}

TEST(ExecutorConformance, FewRunsAndOneSnapshotAreEnough) {
  Changed unchanged([](MergeResult*, std::vector<OwnedOutput>*) {});
  const Status status = CheckExecutor(&unchanged, {.seed = TestSeed()});
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST(ExecutorConformance, WhatIsWrongIsFound) {
  using Outputs = std::vector<OwnedOutput>;
  const std::pair<const char*, Changed::Change> changes[] = {
      {"a byte",
       [](MergeResult*, Outputs* o) {
         if (!o->empty()) {
           std::string data(o->back().data());
           data[3] ^= 1;
           MergeOutput changed = o->back().AsOutput();
           changed.data = data;
           o->back() = OwnedOutput(changed);
         }
       }},
      {"a filter less",
       [](MergeResult*, Outputs* o) {
         if (!o->empty() && !o->back().filters.empty()) {
           o->back().filters.pop_back();
         }
       }},
      {"the filter of another block",
       [](MergeResult*, Outputs* o) {
         if (!o->empty() && !o->back().filters.empty()) {
           o->back().filters.front() = o->back().filters.back();
         }
       }},
      {"a table less", [](MergeResult*, Outputs* o) { o->size() < 3 ? void() : o->pop_back(); }},
      {"the largest key",
       [](MergeResult*, Outputs* o) { o->empty() ? void() : void(o->back().largest += "x"); }},
      {"a count", [](MergeResult* r, Outputs*) { ++r->stats.output_records; }},
      {"a checksum", [](MergeResult* r, Outputs*) { r->stats.input_checksum ^= 1; }},
      {"a fault that is not seen",
       [](MergeResult* r, Outputs*) { IsInputFault(r->status) ? void(*r = {}) : void(); }},
      {"a fault in another place", [](MergeResult* r, Outputs*) { r->fault.offset += 1; }},
      {"nothing but refusals",
       [](MergeResult* r, Outputs*) {
         if (r->ok() && r->stats.input_records > 0) {
           r->status = MergeStatus::kBadDescriptor;
           r->error = Status::NotSupported("too much");
         }
       }},
  };
  for (const auto& [name, change] : changes) {
    Changed executor(change);
    EXPECT_FALSE(CheckExecutor(&executor, {.seed = 1, .tasks = 100}).ok()) << name;
  }
}

}  // namespace
}  // namespace sluice
