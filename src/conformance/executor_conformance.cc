// CheckExecutor: random tasks against the reference merge, and what else an executor promises.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "merge/cpu_executor.h"
#include "merge/outputs.h"
#include "merge/reference_merge.h"
#include "merge/task_generator.h"
#include "sluice/conformance.h"

namespace sluice {

namespace {

// Of a random task, about: for this a simulated unit takes seconds.
constexpr uint64_t kMostBytes = uint64_t{1} << 20;

class Choice {
 public:
  explicit Choice(uint64_t seed) : random_(seed) {}

  uint64_t Below(uint64_t n) { return random_() % n; }
  std::mt19937_64& random() { return random_; }
  bool Percent(unsigned percent) { return Below(100) < percent; }
  template <typename T>
  T Of(std::initializer_list<T> values) {
    return values.begin()[Below(values.size())];
  }

 private:
  std::mt19937_64 random_;
};

GeneratorOptions RandomOptions(uint64_t seed, const Executor& executor, Choice* choice) {
  GeneratorOptions options;
  options.seed = seed;
  options.runs = choice->Of({1, 2, 2, 2, 3, 4, 5, 7, 16});
  options.runs = static_cast<uint32_t>(std::min<size_t>(options.runs, executor.max_runs()));
  options.records = choice->Of({0, 1, 2, 10, 100, 100, 1000, 1000, 5000});
  options.user_key_bytes = choice->Of<LengthRange>(
      {{16, 16}, {16, 16}, {0, 3}, {1, 1}, {8, 8}, {24, 25}, {1, 40}, {17, 130}, {3, 700}});
  options.value_bytes = choice->Of<LengthRange>(
      {{0, 0}, {32, 32}, {32, 32}, {1, 66}, {100, 200}, {0, 1000}, {127, 128}, {0, 20000}});
  if (choice->Percent(3)) {
    options.value_bytes = {0, 65536};
  }
  const uint64_t bytes = 1 + (uint64_t{options.user_key_bytes.min} + options.user_key_bytes.max +
                              options.value_bytes.min + options.value_bytes.max) /
                                 2;
  options.records = std::min(options.records, kMostBytes / bytes);
  options.key_shape = choice->Of({KeyShape::kDecimal, KeyShape::kRandom, KeyShape::kTree});
  options.interleave = choice->Percent(80) ? Interleave::kRandom : Interleave::kOneRunFirst;
  options.duplicate_percent = choice->Of({0, 0, 10, 50, 99, 100});
  options.clone_percent = choice->Of({0, 0, 0, 20});
  options.delete_percent = choice->Of({0, 0, 10, 50, 100});
  options.reference_percent = choice->Of({0, 0, 10, 50, 100});
  options.table.restart_interval = choice->Of({1, 2, 3, 16, 16, 128});
  options.table.block_bytes = choice->Of({512, 1024, 4096, 4096, 16384, 65536});
  options.table.compression = choice->Percent(30) ? Compression::kSnappy : Compression::kNone;
  options.table.share_trailers = choice->Percent(70);
  options.table.short_separators = choice->Percent(70);
  options.table_bytes = choice->Of({1, 3000, 30000, 1 << 20});
  if (choice->Percent(60)) {
    const size_t most = std::min<size_t>(20, executor.max_snapshots());
    options.snapshots =
        DrawSnapshots(choice->random(), 1 + choice->Below(most), options.records + 1);
  }
  options.bottommost = choice->Percent(50);
  return options;
}

void RandomiseTask(const GeneratedTask& generated, const Executor& executor, Choice* choice,
                   MergeTask* task) {
  task->restart_interval = choice->Of({1, 2, 5, 16, 16, 128});
  task->block_bytes = choice->Of({1, 512, 4096, 4096, 65536});
  task->table_bytes = choice->Of({1, 512, 10000, 100000, 2 << 20});
  if (executor.makes_filters()) {
    task->bloom_bits_per_key = choice->Of<uint32_t>({0, 1, 10, 10, 64, kMaxMergeBloomBits});
  }
  task->compress = executor.compresses() && choice->Percent(50);
  if (!choice->Percent(40)) {
    return;
  }
  std::vector<std::string> bounds = {"", "a", std::string(1, '\xff')};
  for (const auto& run : generated.images) {
    for (const TableImage& image : run) {
      const auto records =
          DecodePlainTable(image.file, image.index, image.sum.kind, image.sum.base);
      bounds.push_back(records[choice->Below(records.size())].user_key);
    }
  }
  task->has_begin = choice->Percent(60);
  task->begin = bounds[choice->Below(bounds.size())];
  task->has_end = choice->Percent(60);
  task->end = bounds[choice->Below(bounds.size())];
}

// Gives a table an index whose keys are any of the table's own, in any order.
void DistortIndex(Choice* choice, TableImage* table) {
  const std::vector<PlainRecord> records =
      DecodePlainTable(table->file, table->index, table->sum.kind, table->sum.base);
  BlockImageBuilder index(1);
  for (const BlockHandle& block : table->blocks) {
    const PlainRecord& any = records[choice->Below(records.size())];
    std::string handle;
    block.AppendTo(&handle);
    index.Add(MakeInternalKey(any.user_key, 1, RecordType::kValue), handle);
  }
  table->ReplaceIndex(index.Finish());
}

// Input bytes without one to spare on either side, so that a sanitizer sees any read beyond them.
std::vector<std::unique_ptr<char[]>> TightenInputs(MergeTask* task) {
  std::vector<std::unique_ptr<char[]>> owned;
  for (MergeRun& run : task->runs) {
    for (MergeTable& table : run) {
      // The index stands last of what the executor may read.
      const size_t n = table.index.offset + table.index.size + kBlockTrailerBytes;
      owned.push_back(std::make_unique_for_overwrite<char[]>(n));
      std::memcpy(owned.back().get(), table.image.data(), n);
      table.image = {owned.back().get(), n};
    }
  }
  return owned;
}

Status Same(std::string_view what, uint64_t expected, uint64_t found) {
  return expected == found ? Status()
                           : Status::NotSupported(
                                 fmt::format("{}: {} expected, {} found", what, expected, found));
}

Status SameBytes(std::string_view what, size_t table, std::string_view expected,
                 std::string_view found) {
  const auto [at, unused] =
      std::mismatch(expected.begin(), expected.end(), found.begin(), found.end());
  return expected == found
             ? Status()
             : Status::NotSupported(
                   fmt::format("table {}, {}: byte {} differs ({} bytes expected, {} found)", table,
                               what, at - expected.begin(), expected.size(), found.size()));
}

Status SameTables(const std::vector<PlainTable>& expected, const std::vector<OwnedOutput>& found) {
  SLUICE_RETURN_IF_ERROR(Same("output tables", expected.size(), found.size()));
  for (size_t i = 0; i < found.size(); ++i) {
    const PlainTable& want = expected[i];
    const OwnedOutput& got = found[i];
    SLUICE_RETURN_IF_ERROR(SameBytes("data blocks", i, want.data, got.data()));
    SLUICE_RETURN_IF_ERROR(SameBytes("index block", i, want.index, got.index_block()));
    SLUICE_RETURN_IF_ERROR(SameBytes("smallest key", i, want.smallest, got.smallest));
    SLUICE_RETURN_IF_ERROR(SameBytes("largest key", i, want.largest, got.largest));
    SLUICE_RETURN_IF_ERROR(Same("entries of a table", want.entries, got.entries));
    SLUICE_RETURN_IF_ERROR(Same("tombstones of a table", want.tombstones, got.tombstones));
    SLUICE_RETURN_IF_ERROR(Same("filters of a table", want.filters.size(), got.filters.size()));
    for (size_t block = 0; block < got.filters.size(); ++block) {
      SLUICE_RETURN_IF_ERROR(SameBytes(fmt::format("filter of block {}", block), i,
                                       want.filters[block], got.filters[block]));
    }
  }
  return {};
}

Status SameStats(const MergeStats& want, const MergeStats& got) {
  SLUICE_RETURN_IF_ERROR(Same("input_records", want.input_records, got.input_records));
  SLUICE_RETURN_IF_ERROR(Same("output_records", want.output_records, got.output_records));
  SLUICE_RETURN_IF_ERROR(Same("dropped_records", want.dropped_records, got.dropped_records));
  SLUICE_RETURN_IF_ERROR(Same("output_bytes", want.output_bytes, got.output_bytes));
  SLUICE_RETURN_IF_ERROR(Same("output_tables", want.output_tables, got.output_tables));
  SLUICE_RETURN_IF_ERROR(Same("input_checksum", want.input_checksum, got.input_checksum));
  SLUICE_RETURN_IF_ERROR(Same("output_checksum", want.output_checksum, got.output_checksum));
  SLUICE_RETURN_IF_ERROR(Same("dropped_checksum", want.dropped_checksum, got.dropped_checksum));
  // Who counts the reasons counts them all.
  if (got.dropped_shadowed + got.dropped_tombstones > 0) {
    SLUICE_RETURN_IF_ERROR(Same("dropped_shadowed", want.dropped_shadowed, got.dropped_shadowed));
    SLUICE_RETURN_IF_ERROR(
        Same("dropped_tombstones", want.dropped_tombstones, got.dropped_tombstones));
  }
  return CheckBalance(got);
}

Status Fails(const MergeResult& result, MergeStatus status, std::string_view what) {
  if (result.status == status && !result.error.ok()) {
    return {};
  }
  return Status::NotSupported(fmt::format("{}: expected {}, found {} ({})", what,
                                          MergeStatusName(status), MergeStatusName(result.status),
                                          result.error.ToString()));
}

// Within the limits of any executor.
GeneratedTask PlainTask(const Executor& executor, uint64_t records = 20'000) {
  GeneratorOptions options;
  options.runs = static_cast<uint32_t>(std::min<size_t>(2, executor.max_runs()));
  options.records = records;
  options.table_bytes = 50'000;
  return GenerateTask(options);
}

// Keys with two versions, of each pair of types, with two sequence numbers or only one; then a record
// of type `unknown`.
TableImage TypedTable(std::optional<uint8_t> unknown) {
  TableImageBuilder table;
  for (const SequenceNumber newer : {5, 6}) {
    for (uint8_t pair = 0; pair < 9; ++pair) {
      const std::string key = fmt::format("{}{}", newer, pair);
      const RecordType first{static_cast<uint8_t>(pair / 3)};
      const RecordType second{static_cast<uint8_t>(pair % 3)};
      if (newer > 5 || first > second) {
        table.Add(MakeInternalKey(key, newer, first), "first");
      }
      table.Add(MakeInternalKey(key, 5, second), "second");
    }
  }
  if (unknown) {
    table.Add(MakeInternalKey("unknown", 5, RecordType{*unknown}), "");
  }
  return table.Finish();
}

class ExecutorChecker {
 public:
  ExecutorChecker(Executor* executor, const ExecutorCheck& check)
      : executor_(*executor), check_(check) {}

  Status Run() {
    SLUICE_RETURN_IF_ERROR(Limits());
    SLUICE_RETURN_IF_ERROR(NoInput());
    SLUICE_RETURN_IF_ERROR(NoTask());
    SLUICE_RETURN_IF_ERROR(SinkThatFails());
    SLUICE_RETURN_IF_ERROR(DamagedInput());
    SLUICE_RETURN_IF_ERROR(RecordTypes());
    uint64_t done = 0;
    SLUICE_RETURN_IF_ERROR(RandomTasks(check_.seed, check_.tasks, &done));
    if (done < check_.tasks / 4) {
      return Status::NotSupported(
          fmt::format("only {} of {} tasks were not refused", done, check_.tasks));
    }
    return check_.thread_safe ? Threads() : Status();
  }

 private:
  Status Limits() {
    if (executor_.max_runs() == 0 || executor_.max_snapshots() == 0 || executor_.name().empty()) {
      return Status::NotSupported(
          "an executor has a name, and takes a run and a snapshot at least");
    }
    return {};
  }

  Status NoInput() {
    MergeTask task;
    for (const size_t runs : {0, 1}) {
      task.runs.resize(runs);
      std::vector<OwnedOutput> outputs;
      const MergeResult result = executor_.Run(task, CollectInto(&outputs));
      if (!result.ok() || !outputs.empty() || result.stats.input_records != 0) {
        return Status::NotSupported(fmt::format(
            "a task of {} empty runs: expected ok and no table, found {} tables and: {}", runs,
            outputs.size(), result.error.ToString()));
      }
    }
    return {};
  }

  Status NoTask() {
    const GeneratedTask input = PlainTask(executor_, 100);
    const auto refused = [&](const MergeTask& task, std::string_view what) {
      std::vector<OwnedOutput> outputs;
      const MergeResult result = executor_.Run(task, CollectInto(&outputs));
      SLUICE_RETURN_IF_ERROR(Fails(result, MergeStatus::kBadDescriptor, what));
      return result.error.code() == Status::Code::kInvalidArgument && outputs.empty()
                 ? Status()
                 : Status::NotSupported(fmt::format("{}: expected InvalidArgument, found: {}", what,
                                                    result.error.ToString()));
    };
    MergeTask task = input.task;
    task.restart_interval = 0;
    SLUICE_RETURN_IF_ERROR(refused(task, "a restart interval of 0"));
    task = input.task;
    task.bloom_bits_per_key = kMaxMergeBloomBits + 1;
    SLUICE_RETURN_IF_ERROR(refused(task, "filters of too many bits per key"));
    task = input.task;
    task.snapshots.clear();
    return refused(task, "a task without snapshots");
  }

  Status SinkThatFails() {
    const GeneratedTask input = PlainTask(executor_);
    MergeTask task = input.task;
    task.table_bytes = 50'000;
    int calls = 0;
    const MergeResult result = executor_.Run(task, [&](const MergeOutput&) {
      return ++calls == 2 ? Status::IoError("the sink's own") : Status();
    });
    SLUICE_RETURN_IF_ERROR(Fails(result, MergeStatus::kSink, "a sink that fails"));
    SLUICE_RETURN_IF_ERROR(Same("calls of a sink that fails at the second", 2, calls));
    return result.error.code() == Status::Code::kIoError &&
                   result.error.message().find("the sink's own") != std::string::npos
               ? Status()
               : Status::NotSupported(fmt::format("the sink's error is not passed on; found: {}",
                                                  result.error.ToString()));
  }

  // Byte after byte of a table changed: the CPU says what that is.
  Status DamagedInput() {
    GeneratedTask input = PlainTask(executor_, 400);
    if (executor_.takes_xxh3()) {
      std::mt19937_64 random(check_.seed);
      input.UseXxh3(random);
      SLUICE_RETURN_IF_ERROR(DamagedInput(&input).WithContext("checksums by XXH3"));
      input = PlainTask(executor_, 400);
    }
    return DamagedInput(&input);
  }
  Status DamagedInput(GeneratedTask* damaged) {
    GeneratedTask& input = *damaged;
    std::string& file = input.images.back().front().file;
    CpuExecutor cpu;
    for (size_t at = 0; at < file.size(); at += 1 + at / 8) {
      file[at] = static_cast<char>(file[at] ^ 0x10);
      input.Refer();
      std::vector<OwnedOutput> outputs;
      const MergeResult expected = cpu.Run(input.task, CollectInto(&outputs));
      const MergeResult found = executor_.Run(input.task, CollectInto(&outputs));
      file[at] = static_cast<char>(file[at] ^ 0x10);
      const bool same = expected.ok() ? found.ok() : !found.ok() && SameFault(expected, found);
      const bool placed = !IsInputFault(expected.status) || expected.fault == found.fault;
      if (!same || !placed) {
        return Status::NotSupported(fmt::format(
            "byte {} of an input table changed: expected {} in run {}, table {}, offset {}, found "
            "{} in run {}, table {}, offset {} ({})",
            at, MergeStatusName(expected.status), expected.fault.run, expected.fault.table,
            expected.fault.offset, MergeStatusName(found.status), found.fault.run,
            found.fault.table, found.fault.offset, found.error.ToString()));
      }
    }
    input.Refer();
    return {};
  }

  // References are values, whatever they meet; types above them are faults.
  Status RecordTypes() {
    const TableImage known = TypedTable({});
    for (const bool bottommost : {false, true}) {
      MergeTask task;
      task.runs = {{{known.file, known.index}}};
      task.bottommost = bottommost;
      std::vector<OwnedOutput> found;
      const MergeResult result = executor_.Run(task, CollectInto(&found));
      SLUICE_RETURN_IF_ERROR(result.error.WithContext("records of the types 0, 1 and 2"));
      const ReferenceResult expected = ReferenceMerge(task);
      const Status same = SameTables(expected.tables, found);
      SLUICE_RETURN_IF_ERROR(same.WithContext("records of the types 0, 1 and 2"));
      SLUICE_RETURN_IF_ERROR(SameStats(expected.stats, result.stats));
    }
    for (const uint8_t type : {3, 4, 0x80, 0xff}) {
      const TableImage unknown = TypedTable(type);
      MergeTask task;
      task.runs = {{{unknown.file, unknown.index}}};
      std::vector<OwnedOutput> found;
      SLUICE_RETURN_IF_ERROR(Fails(executor_.Run(task, CollectInto(&found)),
                                   MergeStatus::kRecordType,
                                   fmt::format("a record of type {}", type)));
    }
    return {};
  }

  Status RandomTask(uint64_t seed, bool* done) {
    Choice choice(seed);
    const GeneratorOptions options = RandomOptions(seed, executor_, &choice);
    GeneratedTask generated = GenerateTask(options);
    if (executor_.takes_xxh3() && choice.Percent(40)) {
      generated.UseXxh3(choice.random());
    }
    MergeTask task = generated.task;
    RandomiseTask(generated, executor_, &choice, &task);
    if (choice.Percent(30)) {
      for (std::vector<TableImage>& run : generated.images) {
        if (!run.empty() && choice.Percent(50)) {
          DistortIndex(&choice, &run[choice.Below(run.size())]);
        }
      }
      generated.Refer();
      task.runs = generated.task.runs;
    }
    const auto owned = TightenInputs(&task);
    std::vector<OwnedOutput> found;
    const MergeResult result = executor_.Run(task, CollectInto(&found));
    *done = result.ok();
    if (!result.ok()) {
      return result.error.IsNotSupported() ? Status() : result.error;
    }
    const ReferenceResult expected = ReferenceMerge(task);
    SLUICE_RETURN_IF_ERROR(SameTables(expected.tables, found));
    SLUICE_RETURN_IF_ERROR(SameStats(expected.stats, result.stats));
    // An executor may read an uncompressed copy of compressed tables.
    if (task.has_begin || task.has_end || options.table.compression != Compression::kNone) {
      return {};
    }
    uint64_t input_bytes = 0;
    for (const auto& run : generated.images) {
      for (const TableImage& image : run) {
        for (const BlockHandle& block : image.blocks) {
          input_bytes += block.size + kBlockTrailerBytes;
        }
      }
    }
    return Same("input_bytes", input_bytes, result.stats.input_bytes);
  }

  Status RandomTasks(uint64_t first, uint64_t tasks, uint64_t* done) {
    for (uint64_t seed = first; seed < first + tasks; ++seed) {
      bool this_one;
      if (const Status status = RandomTask(seed, &this_one); !status.ok()) {
        return status.WithContext(
            fmt::format("executor '{}', random task of seed {}", executor_.name(), seed));
      }
      *done += this_one ? 1 : 0;
    }
    return {};
  }

  Status Threads() {
    constexpr uint64_t kThreads = 4;
    std::vector<Status> outcome(kThreads);
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    const uint64_t each = 1 + check_.tasks / 20;
    for (uint64_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        uint64_t ignored = 0;
        outcome[i] = RandomTasks(check_.seed + check_.tasks + i * each, each, &ignored);
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    for (const Status& status : outcome) {
      if (!status.ok()) {
        return status.WithContext("several threads at once");
      }
    }
    return {};
  }

  Executor& executor_;
  const ExecutorCheck check_;
};

}  // namespace

Status CheckExecutor(Executor* executor, const ExecutorCheck& check) {
  return ExecutorChecker(executor, check).Run();
}

}  // namespace sluice
