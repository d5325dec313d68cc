// The unit's fuzzer: random jobs, one after the other without a reset, against memory that stalls
// and fails. Tables are as LevelDB writes them or reads them, whole or with some bytes changed
// under a mended CRC; output areas are large, exactly filled, or too small; descriptors may be
// wrong. Of a unit that decodes Snappy many blocks are compressed with it, of one that takes XXH3 most
// jobs have it.
//
// The judges: the CPU executor, byte for byte and count for count; ReferenceMerge, which shares no
// code with it, where its decoder takes the input; and every access of both ports, which must lie
// in what the job names.
//
// Jobs are in groups, each with a card of its own. A failing group is replayed with
//   SLUICE_SEED=<as printed> unit_fuzz_<name> --first <group> --groups 1
//
// Linked once per configuration, with a model that has assertions on (bare_card.h).

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hw/dv/unit/bare_card.h"
#include "hw/dv/unit/fuzz_job.h"
#include "hw/dv/unit/fuzz_tables.h"
#include "merge/cpu_executor.h"
#include "merge/outputs.h"

namespace sluice::dv {
namespace {

constexpr int kJobsPerGroup = 25;
constexpr uint64_t kMaxFilterBytes = 4096;  // of a block: cu_bloom_stage

// What a job may end as, and what it must have written if it ends well.
struct Expectation {
  std::vector<MergeResult> faults;  // any of them
  std::set<MergeStatus> statuses;   // likewise
  bool any_index_fault = false;     // the fault lies in an index with a right CRC
  bool must_fail = false;
  MergeResult good;
  OutputAreas areas;  // of good
};

class Group {
 public:
  explicit Group(uint64_t seed) : rng_(seed), options_(RandomMemory(rng_, 64 << 20)) {
    options_.memory.watch = [this](const rtlsim::Access& access) {
      if (stray_.empty()) {
        stray_ = areas_.Check(access);
      }
    };
    card_ = MakeBareCard(options_);
  }

  // Empty, or what was wrong.
  std::string Run(std::map<std::string, uint64_t>* endings);

 private:
  void MakeTask();
  Expectation Expect() const;
  void AddTheReference(Expectation* expected) const;
  void PoisonSome(Expectation* expected);
  std::string Judge(const Expectation& expected, const JobResult& found) const;
  std::string JudgeGood(const Expectation& expected, const JobResult& found) const;

  std::mt19937_64 rng_;
  RtlDeviceOptions options_;
  BareCard card_;
  GeneratedTask generated_;
  GeneratedTask plain_;         // the same before anything is compressed
  uint64_t sound_records_ = 0;  // of the task before its mutation
  std::optional<Mutation> mutation_;
  PlacedJob job_;
  NamedAreas areas_;   // of the job at hand
  std::string stray_;  // the first access outside them
};

void Group::MakeTask() {
  const DeviceInfo& info = card_.unit->info();
  GeneratorOptions shape = RandomShape(rng_, info.ways, info.max_key_bytes);
  shape.records = std::min<uint64_t>(shape.records, 100);
  shape.value_bytes.max = std::min(shape.value_bytes.max, Chance(rng_, 5) ? 65536u : 400u);
  shape.value_bytes.min = std::min(shape.value_bytes.min, shape.value_bytes.max);
  generated_ = GenerateTask(shape);
  for (auto& run : generated_.images) {
    for (TableImage& table : run) {
      if (Chance(rng_, 40)) {
        table = OddTableWriter(rng_).Write(DecodePlainTable(table.file, table.index));
      }
    }
  }
  RandomOutput(rng_, generated_, info.max_key_bytes, &generated_.task);
  if (Chance(rng_, 10)) {
    // As many blocks in a table as there are records, or as many restarts in a block.
    generated_.task.restart_interval = 1;
    generated_.task.block_bytes = Chance(rng_, 50) ? 1 : 65536;
    generated_.task.table_bytes = 2 << 20;
  }
  generated_.task.bloom_bits_per_key = !info.bloom        ? 0
                                       : Chance(rng_, 20) ? 1 + rng_() % kMaxMergeBloomBits
                                                          : RandomFilterBits(rng_);
  generated_.task.compress = info.compressors > 0 && Chance(rng_, 70);
  for (std::string* key : {&generated_.task.begin, &generated_.task.end}) {
    key->resize(std::min<size_t>(key->size(), info.max_key_bytes));
  }
  plain_.task = generated_.task;
  plain_.images = generated_.images;
  plain_.Refer();
  if (info.snappy) {
    for (auto& run : generated_.images) {
      for (TableImage& table : run) {
        if (Chance(rng_, 70)) {
          CompressSome(rng_, &table);
        }
      }
    }
  }
  generated_.Refer();
  MergeTask sound = generated_.task;
  sound.has_begin = sound.has_end = false;
  const MergeSink discard = [](const MergeOutput&) { return Status(); };
  CpuExecutor cpu({info.max_key_bytes, info.max_value_bytes});
  const MergeResult unchanged = cpu.Run(sound, discard);
  // Those behind a key that is too long, too: the unit may meet them first.
  sound_records_ = CpuExecutor().Run(sound, discard).stats.input_records;
  mutation_.reset();
  Mutation mutation;
  // Where there are two faults, one in a key that is too long, either may be found first.
  if (unchanged.ok() && Chance(rng_, 60) &&
      (Chance(rng_, 10)   ? RepeatAHandle(rng_, &generated_, &mutation)
       : Chance(rng_, 10) ? CutABlock(rng_, &generated_, &mutation)
                          : Mutate(rng_, &generated_, &mutation))) {
    mutation_ = mutation;
    if (mutation.mended) {
      // The CPU finds the range by the keys of the index, the unit by those of the records.
      generated_.task.has_begin = generated_.task.has_end = false;
    }
  }
  generated_.Refer();
  if (info.xxh3 && Chance(rng_, 75)) {
    generated_.UseXxh3(rng_);
    plain_.UseXxh3(rng_);
    plain_.task.checksum_base = generated_.task.checksum_base;
  }
}

Expectation Group::Expect() const {
  const DeviceInfo& info = card_.unit->info();
  CpuExecutor cpu({info.max_key_bytes, info.max_value_bytes});
  const MergeSink discard = [](const MergeOutput&) { return Status(); };
  Expectation expected;
  // The unit reads all of a run, the CPU what it needs of it; and which of several runs' faults
  // comes first is a matter of time.
  for (size_t r = 0; r < generated_.task.runs.size(); ++r) {
    MergeTask alone;
    alone.runs = {generated_.task.runs[r]};
    alone.checksum = generated_.task.checksum;
    MergeResult fault = cpu.Run(alone, discard);
    if (!fault.ok()) {
      fault.fault.run = static_cast<uint32_t>(r);
      expected.faults.push_back(std::move(fault));
    }
  }
  if (!expected.faults.empty()) {
    // The unit may have no room any more before it comes to the fault.
    if (sound_records_ >= std::min(info.max_restarts, info.max_blocks) ||
        sound_records_ * generated_.task.bloom_bits_per_key > 8 * kMaxFilterBytes) {
      expected.statuses.insert(MergeStatus::kLimit);
    }
    expected.any_index_fault = mutation_.has_value() && mutation_->in_index && mutation_->mended;
    expected.must_fail = true;
    return expected;
  }
  std::vector<OwnedOutput> outputs;
  expected.good = cpu.Run(generated_.task, CollectInto(&outputs));
  expected.areas = OutputAreas(outputs);
  if (expected.areas.most_restarts > info.max_restarts ||
      expected.areas.most_blocks > info.max_blocks ||
      expected.areas.most_filter_bytes > kMaxFilterBytes) {
    expected.statuses.insert(MergeStatus::kLimit);
    expected.must_fail = true;
  }
  return expected;
}

// What of a task the plain decoder accepts must come out of the plain merge as well.
void Group::AddTheReference(Expectation* expected) const {
  if (expected->must_fail) {
    return;
  }
  std::vector<OwnedOutput> outputs;
  try {
    const bool sound = !mutation_.has_value();
    for (const PlainTable& table : ReferenceMerge((sound ? plain_ : generated_).task).tables) {
      outputs.emplace_back(MergeOutput{.data = table.data,
                                       .index = table.index,
                                       .smallest = table.smallest,
                                       .largest = table.largest,
                                       .entries = table.entries,
                                       .tombstones = table.tombstones,
                                       .filters = {table.filters.begin(), table.filters.end()}});
    }
  } catch (const std::runtime_error&) {
    return;
  }
  // From here on, it is the judge.
  expected->areas = OutputAreas(outputs);
}

void Group::PoisonSome(Expectation* expected) {
  rtlsim::MemoryOptions& memory = *card_.memory;
  memory.poison.clear();
  if (!Chance(rng_, 6)) {
    return;
  }
  const Area area = areas_.Random(rng_);
  const uint64_t begin = (area.begin + rng_() % (area.end - area.begin)) & ~63ull;
  memory.poison = {{begin, begin + 64 * (1 + rng_() % 4)}};
  // Memory that is never used may fail, too; and what is read in error may run through the unit,
  // and be too much for it, before the error is known.
  expected->statuses.insert({MergeStatus::kReadError, MergeStatus::kWriteError,
                             MergeStatus::kDataFull, MergeStatus::kIndexFull, MergeStatus::kLimit});
}

std::string Group::JudgeGood(const Expectation& expected, const JobResult& found) const {
  const MergeStats& want = expected.good.stats;
  const MergeStats& have = found.stats;
  const bool clipped = generated_.task.has_begin || generated_.task.has_end;
  const std::pair<const char*, std::pair<uint64_t, uint64_t>> counts[] = {
      {"input records", {have.input_records, want.input_records}},
      {"output records", {have.output_records, want.output_records}},
      {"dropped records", {have.dropped_records, want.dropped_records}},
      {"tables", {have.output_tables, want.output_tables}},
      {"input checksum", {have.input_checksum, want.input_checksum}},
      {"output checksum", {have.output_checksum, want.output_checksum}},
      {"dropped checksum", {have.dropped_checksum, want.dropped_checksum}},
      // The CPU passes over blocks outside the range.
      {"input bytes", {have.input_bytes, clipped ? have.input_bytes : want.input_bytes}},
      {"data bytes", {found.data_used, expected.areas.data.size()}},
      {"index bytes", {found.index_used, expected.areas.index.size()}},
      {"filter bytes", {found.filter_used, expected.areas.filters.size()}}};
  for (const auto& [what, values] : counts) {
    if (values.first != values.second) {
      return fmt::format("{} {}, not {}", what, values.first, values.second);
    }
  }
  if (!found.data.starts_with(expected.areas.data) ||
      !found.index.starts_with(expected.areas.index)) {
    return "other tables";
  }
  if (!found.filters.starts_with(expected.areas.filters)) {
    return "other filters";
  }
  if (found.data.find_first_not_of(PlacedJob::kFill, expected.areas.data.size()) !=
          std::string::npos ||
      found.index.find_first_not_of(PlacedJob::kFill, expected.areas.index.size()) !=
          std::string::npos ||
      found.filters.find_first_not_of(PlacedJob::kFill, expected.areas.filters.size()) !=
          std::string::npos) {
    return "bytes behind the outputs";
  }
  return {};
}

std::string Group::Judge(const Expectation& expected, const JobResult& found) const {
  if (!stray_.empty()) {
    return stray_;
  }
  // Stalls and latency multiply what a byte costs; nothing else may.
  const uint32_t stalls =
      std::max(options_.memory.take_stall_percent, options_.memory.give_stall_percent);
  const uint64_t cycles = found.stats.cycles * (100 - stalls) / 100;
  const uint64_t held = (card_.unit->info().snappy ? 22 : 1) * job_.input_bytes;  // at most
  if (cycles > 50'000 + 60 * held) {
    return fmt::format("{} cycles for {} bytes", found.stats.cycles, job_.input_bytes);
  }
  if (found.status == MergeStatus::kOk) {
    return expected.must_fail ? "no fault found" : JudgeGood(expected, found);
  }
  if (expected.statuses.contains(found.status)) {
    return {};
  }
  for (const MergeResult& fault : expected.faults) {
    MergeResult as_found;
    as_found.status = found.status;
    as_found.fault = found.fault;
    const bool same_table =
        found.fault.run == fault.fault.run && found.fault.table == fault.fault.table;
    if (expected.any_index_fault) {
      // One change of an index can make several faults, and blocks are read before all of their
      // index is known.
      if (same_table && (SameFault(as_found, fault) || IsIndexFault(found.status) ||
                         IsIndexFault(fault.status))) {
        return {};
      }
    } else if (SameFault(as_found, fault) && found.fault == fault.fault) {
      return {};
    }
  }
  return "not the fault that there is";
}

std::string Group::Run(std::map<std::string, uint64_t>* endings) {
  for (int i = 0; i < kJobsPerGroup; ++i) {
    MakeTask();
    Expectation expected = Expect();
    AddTheReference(&expected);
    job_ = PlacedJob(rng_, card_.unit->info(), generated_.task,
                     expected.faults.empty() ? &expected.areas : nullptr);
    if (expected.faults.empty()) {
      expected.statuses.merge(job_.TooSmall(expected.areas));
      expected.must_fail = !expected.statuses.empty();
    }
    if (Chance(rng_, 4)) {
      job_.Spoil(rng_);
      expected.faults.clear();
      expected.statuses = {MergeStatus::kBadDescriptor};
      expected.must_fail = true;
    }
    areas_ = job_.areas;
    PoisonSome(&expected);
    JobResult found;
    const Status status = job_.Run(card_.unit.get(), &found);
    std::string wrong = status.ok() ? Judge(expected, found) : status.ToString();
    ++(*endings)[std::string(MergeStatusText(found.status))];
    if (!wrong.empty()) {
      std::string text = fmt::format("job {}: {}\n  unit: {}, run {}, table {}, offset {}", i,
                                     wrong, MergeStatusText(found.status), found.fault.run,
                                     found.fault.table, found.fault.offset);
      for (const MergeResult& fault : expected.faults) {
        text += fmt::format("\n  CPU: {}", fault.error.ToString());
      }
      for (const MergeStatus may : expected.statuses) {
        text += fmt::format("\n  may be: {}", MergeStatusText(may));
      }
      return text;
    }
  }
  return {};
}

int Main(uint64_t first, uint64_t groups) {
  const uint64_t seed = TestSeed();
  std::map<std::string, uint64_t> endings;
  for (uint64_t g = first; g < first + groups; ++g) {
    std::seed_seq mix{seed, seed >> 32, g};
    std::mt19937_64 rng(mix);
    const std::string wrong = Group(rng()).Run(&endings);
    if (!wrong.empty()) {
      fmt::print("group {}, {}\n", g, wrong);
      return 1;
    }
  }
  for (const auto& [ending, count] : endings) {
    fmt::print("{:8} {}\n", count, ending);
  }
  return 0;
}

}  // namespace
}  // namespace sluice::dv

int main(int argc, char** argv) {
  uint64_t jobs = 300;
  uint64_t groups = 0;
  uint64_t first = 0;
  CLI::App app("Random jobs for the unit, whole, broken and hostile");
  app.add_option("--jobs", jobs, "How many")->capture_default_str();
  app.add_option("--groups", groups, "Of jobs, instead");
  app.add_option("--first", first, "The group to begin with")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  constexpr uint64_t kEach = sluice::dv::kJobsPerGroup;
  return sluice::dv::Main(first, groups != 0 ? groups : (jobs + kEach - 1) / kEach);
}
