// Looking after a database: checkpoints, statistics, verification.

#include <fmt/format.h>

#include <algorithm>

#include "db/db_impl.h"
#include "db/order_check.h"
#include "table/verify.h"
#include "util/epoch.h"

namespace sluice {

namespace {

Status ReadTable(const Extent& extent, std::string* table) {
  table->resize(extent.bytes);
  return extent.place->file()->Read(extent.place->offset(), table->size(), table->data());
}

// Reads all of it, and checks all there is to check.
Status ReadVerified(const Extent& extent, std::string* contents) {
  SLUICE_RETURN_IF_ERROR(ReadTable(extent, contents));
  const std::string_view table = *contents;
  TableReport report;
  const std::string name = ExtentReader::Describe(extent, 0);
  SLUICE_RETURN_IF_ERROR(VerifyTableImage(table, name, &report));
  if (report.entries != extent.entries || report.tombstones != extent.tombstones ||
      report.smallest != extent.smallest || report.largest != extent.largest) {
    return Status::Corruption(fmt::format(
        "{}: {} entries, of them {} tombstones, but the metadata says {} and {}, or other first "
        "and last keys",
        name, report.entries, report.tombstones, extent.entries, extent.tombstones));
  }
  return {};
}

CacheStatistics Convert(const Cache::Stats& stats, size_t capacity_bytes) {
  return {.hits = stats.hits,
          .misses = stats.misses,
          .evictions = stats.evictions,
          .entries = stats.entries,
          .used_bytes = stats.bytes,
          .capacity_bytes = capacity_bytes};
}

}  // namespace

// What the copy holds is the state at one instant: the metadata, and behind it the log up to that
// instant. Nothing writes then, but only for a moment; extents are kept by the references of the
// copied metadata, the log, which is copied first, because nothing is released while checkpoints_
// says so.
Status DBImpl::CreateCheckpoint(const std::string& path) {
  SLUICE_RETURN_IF_ERROR(CheckWritable());
  if (const Status exists = env_->FileExists(path); !exists.IsNotFound()) {
    return exists.ok() ? Status::InvalidArgument(fmt::format("{}: exists", path)) : exists;
  }
  Metadata state;
  LogPosition end;
  {
    const ExclusiveWrites exclusive(writes_.get());
    const std::lock_guard metadata_lock(metadata_mutex_);
    SLUICE_RETURN_IF_ERROR(BackgroundError());
    state = metadata_->state();
    end = log_end_;
    ++checkpoints_;
  }
  HomeDir home;
  std::unique_ptr<ExtentSpace> space;
  MetadataEdit edit = state.ToEdit();  // its extents will lie in `space`
  std::unique_ptr<RedoLog> log;
  const auto copy_log = [&]() -> Status {
    SLUICE_RETURN_IF_ERROR(CreateHome(env_, path, &home));
    SLUICE_RETURN_IF_ERROR(env_->CreateDir(path + "/log"));
    SLUICE_RETURN_IF_ERROR(RedoLog::Open(env_, path + "/log",
                                         {.segment_bytes = options_.log_segment_bytes}, {}, &log));
    edit.log_start = log->end();
    LogContents contents;
    SLUICE_RETURN_IF_ERROR(ReadLog(
        env_, path_ + "/log", state.log_start,
        [&](LogPosition, std::string_view payload) {
          LogPosition ignored;
          return log->Append(payload, &ignored);
        },
        &contents, end));
    if (contents.end < end) {
      return Status::Corruption("the log ends before its end");
    }
    return log->Sync();
  };
  const Status copied = copy_log();
  {
    const std::lock_guard metadata_lock(metadata_mutex_);
    --checkpoints_;
  }
  SLUICE_RETURN_IF_ERROR(copied);
  SLUICE_RETURN_IF_ERROR(ExtentSpace::Open(env_, {{path, kHomeDir}}, &space));
  edit.database = home.identity.database;
  std::string table;
  DataFile* file = nullptr;
  for (MetadataEdit::Added& added : edit.added) {
    Extent& extent = added.extent;
    SLUICE_RETURN_IF_ERROR(ReadVerified(extent, &table));
    extent.place = space->Allocate(0, extent.bytes);
    extent.address = extent.place->address();
    file = extent.place->file();
    SLUICE_RETURN_IF_ERROR(file->Write(extent.place->offset(), table));
    file->StartWriteback(extent.place->offset(), extent.bytes);
  }
  if (file != nullptr) {
    SLUICE_RETURN_IF_ERROR(space->Sync(file, 0));
  }
  // Last, because it makes a database of the files.
  std::unique_ptr<MetadataLog> metadata;
  SLUICE_RETURN_IF_ERROR(MetadataLog::Open(env_, path, &edit, &metadata));
  return FinishCreation(env_, path, &home);
}

Statistics DBImpl::GetStatistics() {
  Statistics s;
  {
    const StateLock lock(mutex_);
    for (const auto& [id, subtable] : subtables_) {
      if (subtable->dropped) {
        continue;
      }
      const Version& version = subtable->version(lock);
      SubtableStatistics& t = s.subtables.emplace_back();
      t.name = subtable->name();
      t.memtable_bytes = version.active->table.memory_bytes();
      t.waiting_memtables = version.waiting.size();
      for (const MemtablePtr& memtable : version.waiting) {
        t.memtable_bytes += memtable->table.memory_bytes();
      }
      const auto add = [&](LevelStatistics* of, const RunIndex& run) {
        LevelStatistics& l = *of;
        if (run.empty()) {
          return;
        }
        ++l.runs;
        l.extents += run.extents();
        l.bytes += run.bytes();
        RunIndex::Iterator at(run);
        for (at.SeekToFirst(); at.Valid(); at.Next()) {
          l.records += at.extent()->entries;
          l.tombstones += at.extent()->tombstones;
        }
      };
      for (const Version::Run& run : version.l0) {
        add(&t.levels[0], run.index);
      }
      for (size_t level = 1; level < kLevels; ++level) {
        add(&t.levels[level], version.levels[level]);
      }
      for (const RunIndex& aside : version.aside) {
        add(&t.set_aside, aside);
      }
    }
  }
  s.row_cache = Convert(rows_.stats(), options_.row_cache_bytes);
  s.block_cache = Convert(blocks_.stats(), options_.block_cache_bytes);
  s.table_cache = tables_.statistics();
  s.transactions = transactions_.GetStatistics();
  const LogPosition oldest = transactions_.prepared.OldestInLog();
  if (const LogPosition end = log_ != nullptr ? log_->end() : 0; oldest < end) {
    s.transactions.prepared_log_bytes =
        (LogSegment(end) - LogSegment(oldest)) * options_.log_segment_bytes + LogOffset(end) -
        LogOffset(oldest);
  }
  const OffloadStats offload = driver_->stats();
  s.offload.executor = options_.offload.executor;
  s.offload.device_tasks = offload.on_units;
  s.offload.cpu_tasks = offload.declined + offload.refused + offload.retried + offload.no_unit;
  s.offload.retries = offload.retried;
  s.offload.units = offload.units.size();
  s.offload.units_in_service = std::count_if(offload.units.begin(), offload.units.end(),
                                             [](const UnitStats& unit) { return unit.in_service; });
  s.last_sequence = visible_.load();
  s.data_file_bytes = space_->disk_bytes();
  if (log_ != nullptr) {
    s.log_file_bytes = log_->file_bytes();
    s.log_bytes_written = log_->written_bytes();
  }
  s.user_bytes_written = counters_.user_bytes.load();
  s.flush_bytes_written = counters_.flush_bytes.load();
  s.compaction_bytes_read = counters_.compaction_bytes_read.load();
  s.compaction_bytes_written = counters_.compaction_bytes_written.load();
  s.extents_reused = counters_.extents_reused.load();
  s.blocks_copied = counters_.blocks_copied.load();
  s.flushes = counters_.flushes.load();
  s.compactions_abandoned = counters_.compactions_abandoned.load();
  for (size_t i = 0; i < s.compactions.size(); ++i) {
    s.compactions[i] = counters_.compactions[i].load();
  }
  s.stall_microseconds = counters_.stall_microseconds.load();
  return s;
}

Status DBImpl::Verify(const std::function<void(uint64_t, uint64_t)>& progress) {
  struct Pinned {
    std::string name;
    std::shared_ptr<const Version> version;
  };
  std::vector<Pinned> subtables;
  std::vector<ExtentPtr> extents;
  uint64_t total = 0;
  const auto add = [&](const RunIndex& run) {
    RunIndex::Iterator at(run);
    for (at.SeekToFirst(); at.Valid(); at.Next()) {
      extents.push_back(at.extent());
      total += 2 * uint64_t{at.extent()->bytes};  // read by itself, and among its neighbours
    }
  };
  {
    const StateLock lock(mutex_);
    for (const auto& [id, subtable] : subtables_) {
      if (!subtable->dropped) {
        subtables.push_back({subtable->name(), subtable->PinVersion()});
      }
    }
  }
  for (const Pinned& subtable : subtables) {
    for (const Version::Run& run : subtable.version->l0) {
      add(run.index);
    }
    for (int level = 1; level < kLevels; ++level) {
      add(subtable.version->levels[level]);
    }
    for (const RunIndex& aside : subtable.version->aside) {
      add(aside);
    }
  }
  uint64_t done = 0;
  std::string table;
  const auto advance = [&](uint64_t bytes) {
    done = std::min(done + bytes, total);
    if (progress) {
      progress(done, total);
    }
  };
  for (const ExtentPtr& extent : extents) {
    SLUICE_RETURN_IF_ERROR(ReadVerified(*extent, &table));
    advance(extent->bytes);
  }
  for (const Pinned& subtable : subtables) {
    SLUICE_RETURN_IF_ERROR(CheckRunOrder(*subtable.version, &reader_, advance)
                               .WithContext(fmt::format("sub-table '{}'", subtable.name)));
  }
  if (progress) {
    progress(total, total);
  }
  return {};
}

std::string Statistics::ToString() const {
  std::string out;
  for (const SubtableStatistics& subtable : subtables) {
    out += fmt::format("sub-table '{}': memtables {:.1f} MiB ({} waiting)\n", subtable.name,
                       static_cast<double>(subtable.memtable_bytes) / (1 << 20),
                       subtable.waiting_memtables);
    for (size_t i = 0; i < subtable.levels.size(); ++i) {
      const LevelStatistics& l = subtable.levels[i];
      out += fmt::format("  level {}: {} runs, {} extents, {:.1f} MiB, {} records, {} tombstones\n",
                         i, l.runs, l.extents, static_cast<double>(l.bytes) / (1 << 20), l.records,
                         l.tombstones);
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
      "written: user {:.1f}, log {:.1f}, flush {:.1f}, compaction {:.1f} MiB; write amplification "
      "{:.2f}\n",
      static_cast<double>(user_bytes_written) / (1 << 20),
      static_cast<double>(log_bytes_written) / (1 << 20),
      static_cast<double>(flush_bytes_written) / (1 << 20),
      static_cast<double>(compaction_bytes_written) / (1 << 20), WriteAmplification());
  out += fmt::format(
      "{} flushes; compactions: {} deletion, {} intra-L0, {} minor, {} major, "
      "{} self-major, {} manual; {} extents reused, {} blocks copied\n",
      flushes, compactions[0], compactions[1], compactions[2], compactions[3], compactions[4],
      compactions[5], extents_reused, blocks_copied);
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
  out += fmt::format("executor {}: {} tasks on {} units, {} on the CPU, {} of them retries\n",
                     offload.executor, offload.device_tasks, offload.units, offload.cpu_tasks,
                     offload.retries);
  return out;
}

}  // namespace sluice
