// Every workload on the engines that are always there; mixes by their counts.

#include "bench/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "bench/bench.h"
#include "bench/report.h"
#include "util/testing.h"

namespace sluice::bench {
namespace {

constexpr uint64_t kKeys = 5000;

BenchEvents NoEvents() {
  return {
      .begin = [](const Run&) {}, .progress = [](uint64_t, uint64_t) {}, .end = [](const Run&) {}};
}

class RunTest : public testing::TestWithParam<std::string> {
 protected:
  RunTest() {
    settings_.engines = {GetParam()};
    settings_.num = kKeys;
    settings_.seed = TestSeed();
    settings_.directory = dir_.File("db");
    settings_.engine.write_buffer_bytes = 128 << 10;  // so that there are flushes
    settings_.engine.cache_bytes = 1 << 20;
  }

  std::map<std::string, RunResult> Run(const std::vector<std::string>& workloads) {
    settings_.workloads = workloads;
    std::vector<bench::Run> runs;
    const Status status = RunBench(settings_, NoEvents(), &runs);
    EXPECT_TRUE(status.ok()) << status.ToString();
    std::map<std::string, RunResult> results;
    for (bench::Run& run : runs) {
      results.emplace(run.workload, std::move(run.result));
    }
    return results;
  }

  static uint64_t Calls(const RunResult& result, Op op) {
    return result.latency[static_cast<size_t>(op)].count();
  }

  TempDir dir_;
  BenchSettings settings_;
};

TEST_P(RunTest, EveryWorkload) {
  settings_.thread_counts = {2};
  settings_.engine.write_buffer_bytes = 256 << 10;
  std::vector<std::string> names;
  for (const Workload& workload : Workloads()) {
    if (workload.wave) {
      continue;  // has a test of its own
    }
    names.emplace_back(workload.name);
    if (names.back() == "deleteseq") {
      names.back() = "fillseq";  // so that there is something to delete at random
    }
  }
  for (auto& [name, result] : Run(names)) {
    SCOPED_TRACE(name);
    const Workload& workload = *FindWorkload(name);
    if (workload.upkeep != Workload::Upkeep::kNone) {
      EXPECT_EQ(result.operations, workload.two_runs ? kKeys + kKeys / 10 : 1U);
      continue;
    }
    const bool walks = name == "readseq" || name == "readreverse";
    EXPECT_LE(result.operations, kKeys);
    EXPECT_GE(result.operations, walks ? kKeys / 4 : kKeys);
    EXPECT_GT(result.seconds, 0);
    EXPECT_GT(result.cpu.foreground, 0);
    EXPECT_GE(result.cpu.compaction, 0);
    const auto share = [&](Op op) { return workload.percent[static_cast<size_t>(op)]; };
    const bool writes = workload.writer || share(Op::kPut) + share(Op::kInsert) +
                                                   share(Op::kReadModifyWrite) +
                                                   share(Op::kDelete) + share(Op::kPop) >
                                               0;
    EXPECT_EQ(result.user_bytes_written > 0, writes);
    if (writes) {
      EXPECT_GT(result.engine.log_bytes_written, result.user_bytes_written);
    } else {
      EXPECT_EQ(result.engine.log_bytes_written, 0U);
    }
    for (size_t i = 0; i < kOps; ++i) {
      const bool writer = workload.writer && static_cast<Op>(i) == Op::kPut;
      EXPECT_EQ(result.latency[i].count() > 0, workload.percent[i] > 0 || writer);
    }
    EXPECT_EQ(result.found > 0, result.gets > 0 && name != "readmissing");
  }
}

TEST_P(RunTest, FillsHoldWhatTheyShould) {
  auto results = Run({"fillseq", "readseq"});
  EXPECT_EQ(results["readseq"].operations, kKeys);
  EXPECT_EQ(results["readseq"].user_bytes_read, kKeys * (16 + 100));
  EXPECT_EQ(results["fillseq"].user_bytes_written, kKeys * (16 + 100));
  results = Run({"filluniquerandom", "readreverse"});
  EXPECT_EQ(results["readreverse"].operations, kKeys);
  // Uniform draws with replacement, as many as there are keys, draw 1 - 1/e of the keys.
  results = Run({"fillrandom", "readseq", "readrandom"});
  EXPECT_NEAR(static_cast<double>(results["readseq"].operations) / kKeys, 1 - std::exp(-1), 0.05);
  // Gets draw other keys than the fill drew.
  EXPECT_NEAR(static_cast<double>(results["readrandom"].found) / kKeys, 1 - std::exp(-1), 0.05);
  EXPECT_GT(results["fillrandom"].engine.table_bytes_written, kKeys * 116 / 2);
}

TEST_P(RunTest, ScansOfGroupsFindTheirKeys) {
  settings_.engine.prefix_bytes = kMinKeyBytes;
  const auto results = Run({"loadgroups", "seekgroup", "seekmissing"});
  EXPECT_EQ(results.at("seekgroup").operations, kKeys);
  EXPECT_EQ(results.at("seekgroup").user_bytes_read, kKeys * kGroupKeys * (16 + 100));
  EXPECT_EQ(results.at("seekmissing").operations, kKeys);
  EXPECT_EQ(results.at("seekmissing").user_bytes_read, 0U);
}

TEST_P(RunTest, DeletesLeaveNothing) {
  const auto results = Run({"fillseq", "deleteseq", "readseq"});
  EXPECT_EQ(results.at("readseq").operations, 0U);
}

TEST_P(RunTest, QueuesKeepTheirLength) {
  const auto results = Run({"fillseq", "queue", "readseq"});
  EXPECT_EQ(results.at("readseq").operations, kKeys);
  EXPECT_EQ(Calls(results.at("queue"), Op::kPop), kKeys);
}

TEST_P(RunTest, FewAreSpared) {
  const auto results = Run({"fillseq", "deletemost", "readseq"});
  EXPECT_EQ(results.at("readseq").operations, kKeys / 1000);
}

TEST_P(RunTest, MixesAreWhatTheyAreCalled) {
  settings_.reads = 20'000;
  const auto results = Run({"load", "ycsba", "ycsbd", "ycsbe", "ycsbf", "xbench80", "xbench42"});
  for (const auto& [name, result] : results) {
    const Workload& workload = *FindWorkload(name);
    for (size_t i = 0; i < kOps; ++i) {
      const double share = workload.percent[i] / 100.0;
      const auto n = static_cast<double>(result.operations);
      EXPECT_NEAR(static_cast<double>(result.latency[i].count()), share * n,
                  6 * std::sqrt(share * (1 - share) * n) + 1e-9)
          << name << " " << Name(static_cast<Op>(i));
    }
  }
  // What is inserted by one thread is found.
  EXPECT_EQ(results.at("ycsbd").found, results.at("ycsbd").gets);
  // A scan returns 50.5 records on average, of 1 to 100.
  const RunResult& scans = results.at("ycsbe");
  EXPECT_NEAR(static_cast<double>(scans.user_bytes_read) / 116 /
                  static_cast<double>(Calls(scans, Op::kScan)),
              50.5, 2);
}

TEST_P(RunTest, TwoRunsHaveWhatTheyShould) {
  settings_.engine.write_buffer_bytes = 256 << 10;
  settings_.reads = 2 * kKeys;
  // All keys of the big run, and the distinct ones of the small.
  EXPECT_EQ(Run({"compact90", "readseq"})["readseq"].operations, kKeys + kKeys / 10 * 9 / 10);
  EXPECT_EQ(Run({"compactmixed", "readseq"})["readseq"].operations, kKeys + kKeys / 10);
  const RunResult result = Run({"compact99"})["compact99"];
  EXPECT_GT(result.seconds, 0);
  EXPECT_EQ(result.user_bytes_written, 0U);
  EXPECT_EQ(result.engine.log_bytes_written, 0U);
}

TEST_P(RunTest, AWaveIsAHundredTimesAsHigh) {
  settings_.duration = 0.6;
  settings_.write_rate = 100;
  settings_.thread_counts = {2};
  const RunResult result = Run({"fillrandom", "tsunami"})["tsunami"];
  EXPECT_NEAR(static_cast<double>(result.operations), 0.2 * (100 + 10000 + 100), 4);
  EXPECT_EQ(Calls(result, Op::kPut), result.operations);
  const auto& intervals = result.responses.intervals();
  ASSERT_EQ(intervals.size(), 6);
  EXPECT_NEAR(static_cast<double>(intervals[3].count), 1000, 4);
  EXPECT_NEAR(static_cast<double>(intervals[5].count), 10, 4);
}

TEST_P(RunTest, BatchesAndDuration) {
  settings_.batch = 100;
  settings_.thread_counts = {3};
  settings_.duration = 0.2;
  const auto results = Run({"fillseq", "readrandom"});
  EXPECT_EQ(results.at("fillseq").operations, kKeys);
  EXPECT_EQ(Calls(results.at("fillseq"), Op::kPut), kKeys / 100);
  EXPECT_GE(results.at("readrandom").seconds, 0.2);
  EXPECT_EQ(results.at("readrandom").found, results.at("readrandom").gets);
}

TEST_P(RunTest, OverloadIsReportedApart) {
  settings_.workloads = {"overload"};
  std::vector<bench::Run> runs;
  ASSERT_TRUE(RunBench(settings_, NoEvents(), &runs).ok());
  EXPECT_EQ(runs[0].result.operations, kKeys);
  settings_.duration = 0.3;
  ASSERT_TRUE(RunBench(settings_, NoEvents(), &runs).ok());
  EXPECT_GE(runs[1].result.seconds, 0.3);
  EXPECT_EQ(runs[1].result.engine.stall_microseconds.has_value(), GetParam() != "leveldb");
  EXPECT_NE(Summary(settings_, runs).find("Overload: latency of writes"), std::string::npos);
}

TEST(OffloadTest, HostAndCardAreToldApart) {
  const TempDir dir;
  BenchSettings settings;
  settings.engines = {"sluice:offload", "sluice:cpu"};
  settings.workloads = {"compactmixed"};
  settings.num = 4 * kKeys;
  settings.seed = TestSeed();
  settings.directory = dir.File("db");
  settings.engine.executor = "model";
  settings.engine.config = "tiny";
  std::vector<bench::Run> runs;
  const Status status = RunBench(settings, NoEvents(), &runs);
  ASSERT_TRUE(status.ok()) << status.ToString();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_GT(runs[0].result.cpu.card, 0);
  EXPECT_EQ(runs[1].result.cpu.card, 0);
  EXPECT_GT(runs[0].result.UnitsBusy().value_or(0), 0);
  EXPECT_LE(runs[0].result.UnitsBusy().value_or(2), 1);
  EXPECT_FALSE(runs[1].result.UnitsBusy());
  for (const bench::Run& run : runs) {
    EXPECT_GT(run.result.HostCpuPerMegabyte().value_or(0), 0);
  }
  EXPECT_NE(Summary(settings, runs).find("cores freed"), std::string::npos);
}

TEST_P(RunTest, WriterKeepsItsRate) {
  settings_.write_rate = 1e-6;  // the second one is due in eleven days
  const auto results = Run({"fillseq", "readwhilewriting"});
  EXPECT_EQ(Calls(results.at("readwhilewriting"), Op::kPut), 1U);
}

TEST_P(RunTest, ReportsAreComplete) {
  settings_.turns = 2;
  settings_.workloads = {"fillrandom", "readwhilewriting", "flush"};
  std::vector<bench::Run> runs;
  ASSERT_TRUE(RunBench(settings_, NoEvents(), &runs).ok());
  EXPECT_EQ(runs.size(), 6U);
  EXPECT_EQ(ToJson(settings_, runs)["comparison"].size(), 3U);
  const std::string lines = TableLines(runs[1]);
  EXPECT_NE(lines.find("\n  put "), std::string::npos) << lines;
  EXPECT_NE(Summary(settings_, runs).find("readwhilewriting"), std::string::npos);
}

TEST_P(RunTest, WhatCannotBe) {
  std::vector<bench::Run> runs;
  settings_.workloads = {"readrandom"};
  EXPECT_EQ(RunBench(settings_, NoEvents(), &runs).code(), Status::Code::kNotFound);
  settings_.workloads = {"load", "readrandom"};  // keys of the other order
  EXPECT_EQ(RunBench(settings_, NoEvents(), &runs).code(), Status::Code::kInvalidArgument);
  settings_.workloads = {"fillseq"};
  settings_.directory = dir_.path();  // holds a directory that no bench made
  EXPECT_EQ(RunBench(settings_, NoEvents(), &runs).code(), Status::Code::kInvalidArgument);
  settings_.directory = dir_.File("db");
  settings_.workloads = {"compact90"};
  settings_.engine.write_buffer_bytes = 1000;
  EXPECT_EQ(RunBench(settings_, NoEvents(), &runs).code(), Status::Code::kInvalidArgument);
  settings_.workloads = {"fillseq"};
  settings_.key_bytes = 7;
  EXPECT_EQ(RunBench(settings_, NoEvents(), &runs).code(), Status::Code::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Engines, RunTest, testing::Values("leveldb", "sluice", "sluice:async"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), ':', '_');
                           return name;
                         });

}  // namespace
}  // namespace sluice::bench
