#include "merge/multi_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>

#include "merge/checked_run.h"
#include "merge/outputs.h"
#include "merge/run_reader.h"

namespace sluice {

namespace {

// Of records in the task's range.
struct Sums {
  uint64_t records = 0;
  uint64_t checksum = 0;
};

// One run to merge: the task's own, or the output of a pass.
struct Source {
  MergeRun run;
  uint32_t task_run;  // the lowest that went into it
  uint64_t bytes;
  std::vector<OwnedOutput> owned;
  std::optional<Sums> sums;  // what a pass must find in it, if that is known
};

using Sources = std::vector<Source>;

Sources SourcesOf(const MergeTask& task, bool skip_empty) {
  Sources sources;
  for (uint32_t i = 0; i < task.runs.size(); ++i) {
    const MergeRun& run = task.runs[i];
    if (skip_empty && run.empty()) {
      continue;
    }
    const uint64_t bytes =
        std::accumulate(run.begin(), run.end(), uint64_t{0},
                        [](uint64_t sum, const MergeTable& t) { return sum + t.image.size(); });
    sources.push_back({run, i, bytes, {}, {}});
  }
  return sources;
}

// The first of those `n` neighbours that have the fewest bytes together.
size_t SmallestGroup(const Sources& sources, size_t n) {
  size_t best = 0;
  uint64_t best_bytes = UINT64_MAX;
  for (size_t first = 0; first + n <= sources.size(); ++first) {
    uint64_t bytes = 0;
    for (size_t i = first; i < first + n; ++i) {
      bytes += sources[i].bytes;
    }
    if (bytes < best_bytes) {
      best_bytes = bytes;
      best = first;
    }
  }
  return best;
}

// Nothing if the run is damaged, which whoever merges it will say.
std::optional<Sums> SumsOf(const MergeTask& task, const MergeRun& run) {
  const RecordLimits limits;
  RunReader reader(task, run, limits);
  Sums sums;
  size_t skip = 0;
  for (;;) {
    if (!reader.NextBatch(&skip)) {
      return {};
    }
    if (reader.begin() == reader.end()) {
      return sums;
    }
    for (const Record* record = reader.begin(); record != reader.end(); ++record) {
      sums.checksum +=
          RecordChecksum(record->user_key(), record->trailer, {record->value, record->value_bytes});
    }
    sums.records += static_cast<size_t>(reader.end() - reader.begin());
  }
}

class MultiPass {
 public:
  MultiPass(Executor& executor, const MergeTask& task, const MergeSink& sink, bool checks_itself)
      : executor_(executor),
        task_(task),
        sink_(sink),
        checks_itself_(checks_itself),
        sources_(SourcesOf(task, task.runs.size() > executor.max_runs())) {}

  MultiPassResult Run() {
    const size_t most = executor_.max_runs();
    if (sources_.size() > most && most < 2) {
      result_.merge.status = MergeStatus::kBadDescriptor;
      result_.merge.error = Status::NotSupported(fmt::format(
          "executor {} takes {} runs at once: it cannot merge", executor_.name(), most));
      return result_;
    }
    while (sources_.size() > most) {
      // The first group has just as many runs as it takes for all later ones to be full.
      const size_t n = result_.passes == 0 ? (sources_.size() - 2) % (most - 1) + 2 : most;
      if (!MergeGroup(SmallestGroup(sources_, n), n)) {
        return result_;
      }
    }
    MergeLast();
    return result_;
  }

 private:
  MergeTask PassTask(size_t first, size_t n) const {
    MergeTask pass = task_;
    pass.runs.clear();
    for (size_t i = first; i < first + n; ++i) {
      pass.runs.push_back(sources_[i].run);
    }
    return pass;
  }

  // Replaces n sources by what they merge to.
  bool MergeGroup(size_t first, size_t n) {
    MergeTask pass = PassTask(first, n);
    pass.bottommost = false;
    pass.bloom_bits_per_key = 0;  // of blocks that another pass reads
    pass.compress = false;
    Source merged{{}, sources_[first].task_run, 0, {}, {}};
    const MergeResult result = RunPass(pass, first, CollectInto(&merged.owned));
    Account(result);
    if (!result.ok()) {
      Fail(result, first);
      return false;
    }
    merged.sums = {result.stats.output_records, result.stats.output_checksum};
    uint64_t data_bytes = 0;
    for (const OwnedOutput& output : merged.owned) {
      merged.run.push_back(output.AsInput());
      merged.run.back().checksum_base = task_.checksum_base;
      merged.bytes += output.image.size();
      data_bytes += output.data().size();
    }
    // A later pass reads this again: only the difference is the task's own input.
    MergeStats& total = result_.merge.stats;
    total.input_records -= result.stats.output_records;
    total.input_checksum -= result.stats.output_checksum;
    total.input_bytes -= data_bytes;
    const auto at = sources_.begin() + static_cast<ptrdiff_t>(first);
    sources_.erase(at + 1, at + static_cast<ptrdiff_t>(n));
    *at = std::move(merged);
    return true;
  }

  void MergeLast() {
    const MergeResult result = RunPass(PassTask(0, sources_.size()), 0, sink_);
    Account(result);
    if (!result.ok()) {
      Fail(result, 0);
    }
    MergeStats& total = result_.merge.stats;
    total.output_records = result.stats.output_records;
    total.output_bytes = result.stats.output_bytes;
    total.output_tables = result.stats.output_tables;
    total.output_checksum = result.stats.output_checksum;
  }

  // Merges the sources from `first` on.
  MergeResult RunPass(const MergeTask& pass, size_t first, const MergeSink& sink) {
    const auto begin = sources_.begin() + static_cast<ptrdiff_t>(first);
    const auto end = begin + static_cast<ptrdiff_t>(pass.runs.size());
    const bool several = result_.passes > 0 || pass.runs.size() < sources_.size();
    Sums sums;
    bool all_known = several;
    for (auto source = begin; source != end; ++source) {
      if (several && !source->sums.has_value() && !checks_itself_) {
        source->sums = SumsOf(task_, source->run);
      }
      all_known = all_known && source->sums.has_value();
      const Sums known = source->sums.value_or(Sums{});
      sums.records += known.records;
      sums.checksum += known.checksum;
    }
    MergeResult result = RunChecked(executor_, pass, sink);
    const MergeStats& stats = result.stats;
    const bool as_expected =
        all_known ? stats.input_records == sums.records && stats.input_checksum == sums.checksum
                  : stats.input_records >= sums.records;
    if (result.ok() && !as_expected) {
      result.status = MergeStatus::kEndToEnd;
      result.error = Status::IoError(fmt::format(
          "executor {}, pass {}: {} records were read, checksum {:016x}, where {}{}, checksum "
          "{:016x}, were written",
          executor_.name(), result_.passes + 1, stats.input_records, stats.input_checksum,
          all_known ? "" : "at least ", sums.records, sums.checksum));
    }
    return result;
  }

  void Account(const MergeResult& result) {
    ++result_.passes;
    result_.bytes_read += result.stats.input_bytes;
    MergeStats& total = result_.merge.stats;
    total.input_records += result.stats.input_records;
    total.input_checksum += result.stats.input_checksum;
    total.dropped_records += result.stats.dropped_records;
    total.dropped_shadowed += result.stats.dropped_shadowed;
    total.dropped_tombstones += result.stats.dropped_tombstones;
    total.dropped_checksum += result.stats.dropped_checksum;
    total.input_bytes += result.stats.input_bytes;
    total.cycles += result.stats.cycles;
    for (size_t i = 0; i < total.stalls.size(); ++i) {
      total.stalls[i] += result.stats.stalls[i];
    }
  }

  void Fail(const MergeResult& result, size_t first) {
    result_.merge.status = result.status;
    result_.merge.fault = result.fault;
    result_.merge.error = result.error;
    if (!IsInputFault(result.status) || first + result.fault.run >= sources_.size()) {
      return;
    }
    const Source& source = sources_[first + result.fault.run];
    result_.merge.fault.run = source.task_run;
    if (source.task_run != result.fault.run || !source.owned.empty()) {
      result_.merge.error = result.error.WithContext(
          fmt::format("run {} of the task, in pass {}", source.task_run, result_.passes));
    }
  }

  Executor& executor_;
  const MergeTask& task_;
  const MergeSink& sink_;
  const bool checks_itself_;
  Sources sources_;
  MultiPassResult result_;
};

}  // namespace

MultiPassResult MergeAll(Executor& executor, const MergeTask& task, const MergeSink& sink,
                         bool checks_itself) {
  return MultiPass(executor, task, sink, checks_itself).Run();
}

}  // namespace sluice
