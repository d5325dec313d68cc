#include "bench/workload.h"

namespace sluice::bench {

namespace {

using Keys = Workload::Keys;
using Kind = DistributionSpec::Kind;
using Percent = std::array<int, kOps>;

constexpr DistributionSpec kUniform{.kind = Kind::kUniform};
constexpr DistributionSpec kYcsb{.kind = Kind::kYcsb};
constexpr DistributionSpec kLatest{.kind = Kind::kLatest};

struct Part {
  Op op;
  int percent;
};

Percent Mix(std::initializer_list<Part> parts) {
  Percent percent{};
  for (const Part& part : parts) {
    percent[static_cast<size_t>(part.op)] = part.percent;
  }
  return percent;
}

Percent All(Op op) { return Mix({{op, 100}}); }

// The compaction of two runs.
Workload Compaction(std::string_view name, std::string_view what, const TwoRuns& runs) {
  return {.name = name,
          .what = what,
          .fresh = true,
          .upkeep = Workload::Upkeep::kCompact,
          .two_runs = runs};
}

// Gets, the rest puts.
Workload Mixed(std::string_view name, std::string_view what, int gets) {
  return {.name = name, .what = what, .percent = Mix({{Op::kGet, gets}, {Op::kPut, 100 - gets}})};
}

// A workload of YCSB or X-Bench: keys in hashed order, short scans.
Workload Served(std::string_view name, std::string_view what, const Percent& percent,
                std::optional<DistributionSpec> distribution) {
  return {.name = name,
          .what = what,
          .percent = percent,
          .order = KeyOrder::kHashed,
          .distribution = distribution,
          .short_scans = true};
}

// A workload whose keys share their prefixes with nine others each; or one that fills a new
// database with such keys.
Workload Grouped(std::string_view name, std::string_view what, Op op, Keys keys) {
  return {.name = name,
          .what = what,
          .percent = All(op),
          .keys = keys,
          .order = KeyOrder::kGrouped,
          .fresh = keys == Keys::kShuffled,
          .prefix_scans = op == Op::kScan};
}

std::vector<Workload> GroupedWorkloads() {
  return {
      Grouped("loadgroups",
              "a new database for seekgroup and seekmissing: ten keys to each prefix of eight "
              "bytes,\n                          every key once in random order",
              Op::kPut, Keys::kShuffled),
      Grouped("overwritegroups", "puts there", Op::kPut, Keys::kDrawn),
      Grouped("seekgroup", "iterates between bounds, over all keys of a prefix", Op::kScan,
              Keys::kDrawn),
      Grouped("seekmissing", "the same with prefixes that no key has", Op::kScan, Keys::kMissing),
  };
}

std::vector<Workload> MixedWorkloads() {
  return {
      Mixed("reads95", "95% gets, 5% puts; FAST'20's Figure 13 goes down to 75%", 95),
      Mixed("reads90", "90% gets, 10% puts", 90),
      Mixed("reads85", "85% gets, 15% puts", 85),
      Mixed("reads80", "80% gets, 20% puts", 80),
      Mixed("reads75", "75% gets, 25% puts", 75),
  };
}

std::vector<Workload> MakeWorkloads() {
  std::vector<Workload> workloads = {
      {.name = "fillseq",
       .what = "a new database, keys in order",
       .percent = All(Op::kPut),
       .keys = Keys::kInOrder,
       .fresh = true},
      {.name = "fillrandom",
       .what = "a new database, keys drawn uniformly: some twice, some never",
       .percent = All(Op::kPut),
       .distribution = kUniform,
       .own_distribution = true,
       .fresh = true},
      {.name = "filluniquerandom",
       .what = "a new database, every key once in random order",
       .percent = All(Op::kPut),
       .keys = Keys::kShuffled,
       .fresh = true},
      {.name = "overload",
       .what = "a new database, as many puts as it takes for --duration; see Overload below",
       .percent = All(Op::kPut),
       .distribution = kUniform,
       .fresh = true,
       .overload = true},
      {.name = "overwrite", .what = "puts", .percent = All(Op::kPut)},
      {.name = "updaterandom", .what = "read-modify-writes", .percent = All(Op::kReadModifyWrite)},
      {.name = "readrandom", .what = "gets", .percent = All(Op::kGet)},
      {.name = "multireadrandom",
       .what = "gets, --batch-size of them in a call",
       .percent = All(Op::kMultiGet)},
      {.name = "readmissing",
       .what = "gets of missing keys",
       .percent = All(Op::kGet),
       .keys = Keys::kMissing},
      {.name = "readseq", .what = "one iterator forward", .percent = All(Op::kNext)},
      {.name = "readreverse", .what = "one iterator backward", .percent = All(Op::kPrev)},
      {.name = "seekrandom",
       .what = "seeks, each followed by --seek-nexts records",
       .percent = All(Op::kScan)},
      {.name = "readwhilewriting",
       .what = "gets, beside a thread that overwrites",
       .percent = All(Op::kGet),
       .writer = true},
      {.name = "seekrandomwhilewriting",
       .what = "seeks, beside a thread that overwrites",
       .percent = All(Op::kScan),
       .writer = true},
      {.name = "readrandomwriterandom",
       .what = "90% gets, 10% puts",
       .percent = Mix({{Op::kGet, 90}, {Op::kPut, 10}})},
      {.name = "tsunami",
       .what =
           "puts at --write-rate (0: 1000), 100 times as many in the middle third of --duration "
           "(0: 30 s);\n                          latencies count from when a put is due",
       .percent = All(Op::kPut),
       .wave = true},
      {.name = "deleteseq",
       .what = "deletes every key in order",
       .percent = All(Op::kDelete),
       .keys = Keys::kInOrder},
      {.name = "deleterandom", .what = "deletes", .percent = All(Op::kDelete)},
      {.name = "deletemost",
       .what = "deletes all but one key in 1000, in random order: what seekrandom meets is dead",
       .percent = All(Op::kDelete),
       .keys = Keys::kShuffled,
       .spared = 1000},
      {.name = "queue",
       .what = "seeks the first record, deletes it, and inserts one behind the last",
       .percent = All(Op::kPop)},
      {.name = "load",
       .what = "a new database for the ycsb and xbench workloads, which need it",
       .percent = All(Op::kPut),
       .keys = Keys::kInOrder,
       .order = KeyOrder::kHashed,
       .fresh = true},
      Served("ycsba", "50% gets, 50% puts", Mix({{Op::kGet, 50}, {Op::kPut, 50}}), kYcsb),
      Served("ycsbb", "95% gets, 5% puts", Mix({{Op::kGet, 95}, {Op::kPut, 5}}), kYcsb),
      Served("ycsbc", "gets", All(Op::kGet), kYcsb),
      Served("ycsbd", "95% gets of the latest, 5% inserts", Mix({{Op::kGet, 95}, {Op::kInsert, 5}}),
             kLatest),
      Served("ycsbe", "95% scans, 5% inserts", Mix({{Op::kScan, 95}, {Op::kInsert, 5}}), kYcsb),
      Served("ycsbf", "50% gets, 50% read-modify-writes",
             Mix({{Op::kGet, 50}, {Op::kReadModifyWrite, 50}}), kYcsb),
      Served("xbench80", "gets, scans, puts, inserts 80:11:6:3",
             Mix({{Op::kGet, 80}, {Op::kScan, 11}, {Op::kPut, 6}, {Op::kInsert, 3}}), {}),
      Served("xbench42", "gets, scans, puts, inserts 42:10:32:16",
             Mix({{Op::kGet, 42}, {Op::kScan, 10}, {Op::kPut, 32}, {Op::kInsert, 16}}), {}),
      {.name = "flush", .what = "writes memtables to tables", .upkeep = Workload::Upkeep::kFlush},
      {.name = "compact", .what = "compacts all", .upkeep = Workload::Upkeep::kCompact},
      Compaction("compact90", "records of two runs 10:1 compacted, 90% of the small one distinct",
                 {.distinct = 0.9}),
      Compaction("compact99", "the same with 99%, as X-Engine's Figure 16", {.distinct = 0.99}),
      Compaction("compactmixed", "the same with runs that mix everywhere",
                 {.distinct = 1, .scattered = true}),
  };
  for (const std::vector<Workload>& more : {MixedWorkloads(), GroupedWorkloads()}) {
    workloads.insert(workloads.end(), more.begin(), more.end());
  }
  return workloads;
}

}  // namespace

std::string_view Name(Op op) {
  constexpr std::array<std::string_view, kOps> kNames = {
      "get",  "multi_get", "put",  "insert", "read_modify_write",
      "scan", "delete",    "next", "prev",   "pop"};
  return kNames[static_cast<size_t>(op)];
}

const std::vector<Workload>& Workloads() {
  static const std::vector<Workload> workloads = MakeWorkloads();
  return workloads;
}

const Workload* FindWorkload(std::string_view name) {
  for (const Workload& workload : Workloads()) {
    if (workload.name == name) {
      return &workload;
    }
  }
  return nullptr;
}

}  // namespace sluice::bench
