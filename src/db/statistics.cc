// Statistics: gathering them, and what people read of them.

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "db/db_impl.h"

namespace sluice {

namespace {

CacheStatistics Convert(const Cache::Stats& stats, size_t capacity_bytes) {
  return {.hits = stats.hits,
          .misses = stats.misses,
          .evictions = stats.evictions,
          .entries = stats.entries,
          .used_bytes = stats.bytes,
          .capacity_bytes = capacity_bytes};
}

void Add(const RunIndex& run, LevelStatistics* level) {
  if (run.empty()) {
    return;
  }
  ++level->runs;
  level->extents += run.extents();
  level->bytes += run.bytes();
  RunIndex::Iterator at(run);
  for (at.SeekToFirst(); at.Valid(); at.Next()) {
    level->records += at.extent()->entries;
    level->tombstones += at.extent()->tombstones;
  }
}

SubtableStatistics Describe(const std::string& name, const Version& version) {
  SubtableStatistics s;
  s.name = name;
  s.options = version.format->own;
  s.memtable_bytes = version.active->table.memory_bytes();
  s.waiting_memtables = version.waiting.size();
  for (const MemtablePtr& memtable : version.waiting) {
    s.memtable_bytes += memtable->table.memory_bytes();
  }
  for (size_t level = 0; level < kLevels; ++level) {
    for (const Version::Run& run : version.levels[level]) {
      Add(run.index, &s.levels[level]);
    }
  }
  for (const ValueUse& use :
       version.values == nullptr ? std::vector<ValueUse>() : *version.values) {
    ++s.value_extents;
    s.value_bytes += use.extent->pages.bytes;
    s.value_live_bytes += use.live_bytes;
  }
  for (const RunIndex& aside : version.aside) {
    Add(aside, &s.set_aside);
  }
  return s;
}

}  // namespace

Statistics DBImpl::GetStatistics() {
  Statistics s;
  // Looked at without the mutex: that takes time in proportion to the extents.
  std::vector<std::pair<const SubtableImpl*, std::shared_ptr<const Version>>> trees;
  {
    const StateLock lock(db_.mutex);
    for (const auto& [id, subtable] : db_.subtables.all()) {
      if (!subtable->dropped) {
        trees.emplace_back(subtable.get(), subtable->PinVersion());
      }
    }
  }
  for (const auto& [subtable, version] : trees) {
    s.subtables.push_back(Describe(subtable->name(), *version));
  }
  s.row_cache = Convert(db_.rows.stats(), db_.options.row_cache_bytes);
  s.block_cache = Convert(db_.blocks.stats(), db_.options.block_cache_bytes);
  s.table_cache = db_.tables.statistics();
  s.transactions = db_.transactions.GetStatistics();
  const LogPosition oldest = db_.transactions.prepared.OldestInLog();
  if (db_.log != nullptr && oldest < db_.log->end()) {
    s.transactions.prepared_log_bytes = db_.log->BytesFrom(oldest);
  } else if (db_.log == nullptr && oldest < db_.log_end) {
    // A log that is only read does not grow. How large its segments could be is not known.
    const uint64_t bytes =
        (LogSegment(db_.log_end) - LogSegment(oldest)) * db_.options.log_segment_bytes +
        LogOffset(db_.log_end);
    s.transactions.prepared_log_bytes = bytes - std::min(bytes, LogOffset(oldest));
  }
  const OffloadStats offload = db_.driver->stats();
  s.offload.executor = db_.driver->name();
  s.offload.device_tasks = offload.on_units;
  s.offload.cpu_tasks = offload.on_cpu();
  s.offload.retries = offload.retried;
  s.offload.cpu_tasks_small = offload.small;
  s.offload.cpu_tasks_queue = offload.queue;
  s.offload.cpu_tasks_slow = offload.slow;
  s.offload.units = offload.units.size();
  s.offload.units_in_service = std::count_if(offload.units.begin(), offload.units.end(),
                                             [](const UnitStats& unit) { return unit.in_service; });
  const auto microseconds = [](double seconds) { return static_cast<uint64_t>(1e6 * seconds); };
  s.offload.card_cpu_microseconds = microseconds(offload.card_cpu_seconds);
  for (const UnitStats& unit : offload.units) {
    s.offload.unit_microseconds += microseconds(unit.seconds);
    s.offload.unit_busy_microseconds += microseconds(unit.busy_seconds);
  }
  s.compaction_cpu_microseconds =
      db_.counters.compaction_cpu_microseconds.load() + microseconds(offload.host_cpu_seconds);
  s.last_sequence = db_.visible.load();
  s.data_file_bytes = db_.space->disk_bytes();
  s.extent_bytes = db_.space->used_bytes();
  {
    const StateLock lock(db_.mutex);
    s.live_bytes = db_.backlog.live_bytes(lock);
    s.most_space_amplification = db_.most_space_amplification;
  }
  if (db_.log != nullptr) {
    s.log_file_bytes = db_.log->file_bytes();
    s.log_bytes_written = db_.log->written_bytes();
  }
  s.user_bytes_written = db_.counters.user_bytes.load();
  s.flush_bytes_written = db_.counters.flush_bytes.load();
  s.ingestion_bytes_written = db_.counters.ingestion_bytes.load();
  s.compaction_bytes_read = db_.counters.compaction_bytes_read.load();
  s.compaction_bytes_written = db_.counters.compaction_bytes_written.load();
  s.extents_reused = db_.counters.extents_reused.load();
  s.blocks_copied = db_.counters.blocks_copied.load();
  s.flushes = db_.counters.flushes.load();
  s.range_cuts = db_.counters.range_cuts.load();
  s.cut_extents = db_.counters.cut_extents.load();
  s.cut_records = db_.counters.cut_records.load();
  s.compactions_abandoned = db_.counters.compactions_abandoned.load();
  for (size_t i = 0; i < s.compactions.size(); ++i) {
    s.compactions[i] = db_.counters.compactions[i].load();
  }
  s.stall_microseconds = db_.counters.stall_microseconds.load();
  return s;
}

std::string Statistics::ToString() const {
  std::string out;
  for (const SubtableStatistics& subtable : subtables) {
    out += fmt::format("sub-table '{}': memtables {:.1f} MiB ({} waiting)\n", subtable.name,
                       static_cast<double>(subtable.memtable_bytes) / (1 << 20),
                       subtable.waiting_memtables);
    if (const std::string options = subtable.options.ToString(); !options.empty()) {
      out += fmt::format("  its own options: {}\n", options);
    }
    for (size_t i = 0; i < subtable.levels.size(); ++i) {
      const LevelStatistics& l = subtable.levels[i];
      out += fmt::format("  level {}: {} runs, {} extents, {:.1f} MiB, {} records, {} tombstones\n",
                         i, l.runs, l.extents, static_cast<double>(l.bytes) / (1 << 20), l.records,
                         l.tombstones);
    }
    if (subtable.value_extents > 0) {
      out +=
          fmt::format("  large values: {} value extents, {:.1f} MiB, of them {:.1f} alive\n",
                      subtable.value_extents, static_cast<double>(subtable.value_bytes) / (1 << 20),
                      static_cast<double>(subtable.value_live_bytes) / (1 << 20));
    }
    if (const LevelStatistics& l = subtable.set_aside; l.extents > 0) {
      out += fmt::format("  set aside, damaged: {} extents, {:.1f} MiB, {} records\n", l.extents,
                         static_cast<double>(l.bytes) / (1 << 20), l.records);
    }
  }
  const auto cache = [&](std::string_view name, const CacheStatistics& c) {
    out +=
        fmt::format("{} cache: {:.1f} of {:.1f} MiB, {} entries, {} hits, {} misses\n", name,
                    static_cast<double>(c.used_bytes) / (1 << 20),
                    static_cast<double>(c.capacity_bytes) / (1 << 20), c.entries, c.hits, c.misses);
  };
  cache("row", row_cache);
  cache("block", block_cache);
  cache("table", table_cache);
  out += fmt::format("on the device: data files {:.1f} MiB, log {:.1f} MiB\n",
                     static_cast<double>(data_file_bytes) / (1 << 20),
                     static_cast<double>(log_file_bytes) / (1 << 20));
  out += fmt::format(
      "extents {:.1f} MiB, of live data {:.1f} MiB; space amplification {:.2f}, at most {:.2f}\n",
      static_cast<double>(extent_bytes) / (1 << 20), static_cast<double>(live_bytes) / (1 << 20),
      SpaceAmplification(), most_space_amplification);
  out += fmt::format(
      "written: user {:.1f}, log {:.1f}, flush {:.1f}, compaction {:.1f} MiB; write amplification "
      "{:.2f}\n",
      static_cast<double>(user_bytes_written) / (1 << 20),
      static_cast<double>(log_bytes_written) / (1 << 20),
      static_cast<double>(flush_bytes_written) / (1 << 20),
      static_cast<double>(compaction_bytes_written) / (1 << 20), WriteAmplification());
  out += fmt::format(
      "{} flushes; compactions: {} deletion, {} intra-L1, {} minor, {} major, "
      "{} self-major, {} manual, {} of values; {} extents reused, {} blocks copied\n",
      flushes, compactions[0], compactions[1], compactions[2], compactions[3], compactions[4],
      compactions[5], compactions[6], extents_reused, blocks_copied);
  if (ingestion_bytes_written > 0) {
    out += fmt::format("written by ingestions: {:.1f} MiB\n",
                       static_cast<double>(ingestion_bytes_written) / (1 << 20));
  }
  if (range_cuts > 0) {
    out += fmt::format("{} cuts for range deletions: {} records, {} extents as a whole\n",
                       range_cuts, cut_records, cut_extents);
  }
  const TransactionStatistics& t = transactions;
  out += fmt::format(
      "transactions: {} active, {} prepared (which keep {:.1f} MiB of log), {} locks, {:.1f} of "
      "{:.1f} MiB; {} committed, {} "
      "waits "
      "for locks, {} timed out, {} deadlocks, {} conflicts\n",
      t.active, t.prepared, static_cast<double>(t.prepared_log_bytes) / (1 << 20), t.locks,
      static_cast<double>(t.memory_bytes) / (1 << 20),
      static_cast<double>(t.memory_limit_bytes) / (1 << 20), t.committed, t.lock_waits,
      t.lock_timeouts, t.deadlocks, t.conflicts);
  if (compactions_abandoned > 0) {
    out += fmt::format("{} compactions abandoned as unsound\n", compactions_abandoned);
  }
  out += fmt::format("executor {}: {} tasks on {} units, {} on the CPU, {} of them retries",
                     offload.executor, offload.device_tasks, offload.units, offload.cpu_tasks,
                     offload.retries);
  if (offload.cpu_tasks_small + offload.cpu_tasks_queue + offload.cpu_tasks_slow > 0) {
    out += fmt::format(", {} too small for a unit, {} too long in its queue, {} too slow on it",
                       offload.cpu_tasks_small, offload.cpu_tasks_queue, offload.cpu_tasks_slow);
  }
  out += offload.unit_microseconds == 0
             ? "\n"
             : fmt::format("; units busy {:.0f} %\n", 100 * offload.UnitsBusy());
  if (constexpr uint64_t kWorthTelling = 1'000'000; compaction_bytes_read >= kWorthTelling) {
    out += fmt::format(
        "compactions read {:.1f} MiB, with {:.2f} s of CPU: {:.2f} ms per MB; what stands for a "
        "card took {:.2f} s\n",
        static_cast<double>(compaction_bytes_read) / (1 << 20),
        1e-6 * static_cast<double>(compaction_cpu_microseconds), HostCpuPerMegabyte(),
        1e-6 * static_cast<double>(offload.card_cpu_microseconds));
  }
  return out;
}

}  // namespace sluice
