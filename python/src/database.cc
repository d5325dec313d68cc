#include "database.h"

#include <utility>

namespace sluice::python {

namespace nb = nanobind;

namespace {

// A path ends at the first zero byte for the system: the rest must not get lost silently.
std::string CheckPath(BytesLike path) {
  if (path.view.find('\0') != std::string_view::npos) {
    ThrowInvalidArgument("a zero byte in the path");
  }
  return std::string(path.view);
}

// Structured bindings: whoever adds a field to the engine's statistics is told here to pass it on.
nb::dict ToDict(const CacheStatistics& cache) {
  const auto& [hits, misses, evictions, entries, used_bytes, capacity_bytes] = cache;
  nb::dict d;
  d["hits"] = hits;
  d["misses"] = misses;
  d["evictions"] = evictions;
  d["entries"] = entries;
  d["used_bytes"] = used_bytes;
  d["capacity_bytes"] = capacity_bytes;
  return d;
}

nb::dict ToDict(const LevelStatistics& level) {
  const auto& [runs, extents, bytes, records, tombstones] = level;
  nb::dict d;
  d["runs"] = runs;
  d["extents"] = extents;
  d["bytes"] = bytes;
  d["records"] = records;
  d["tombstones"] = tombstones;
  return d;
}

nb::dict ToDict(const SubtableStatistics& subtable) {
  const auto& [name, options, memtable_bytes, waiting_memtables, levels, value_extents, value_bytes,
               value_live_bytes, set_aside] = subtable;
  nb::list levels_list;
  for (const LevelStatistics& level : levels) {
    levels_list.append(ToDict(level));
  }
  nb::dict d;
  d["name"] = ToText(name);
  d["options"] = ToText(options.ToString());
  d["memtable_bytes"] = memtable_bytes;
  d["waiting_memtables"] = waiting_memtables;
  d["levels"] = levels_list;
  d["value_extents"] = value_extents;
  d["value_bytes"] = value_bytes;
  d["value_live_bytes"] = value_live_bytes;
  d["set_aside"] = ToDict(set_aside);
  return d;
}

nb::dict ToDict(const OffloadStatistics& offload) {
  const auto& [executor, device_tasks, cpu_tasks, retries, cpu_tasks_small, cpu_tasks_queue,
               cpu_tasks_slow, units, units_in_service, card_cpu_microseconds, unit_microseconds,
               unit_busy_microseconds] = offload;
  nb::dict d;
  d["executor"] = ToText(executor);
  d["device_tasks"] = device_tasks;
  d["cpu_tasks"] = cpu_tasks;
  d["retries"] = retries;
  d["cpu_tasks_small"] = cpu_tasks_small;
  d["cpu_tasks_queue"] = cpu_tasks_queue;
  d["cpu_tasks_slow"] = cpu_tasks_slow;
  d["units"] = units;
  d["units_in_service"] = units_in_service;
  d["card_cpu_microseconds"] = card_cpu_microseconds;
  d["unit_microseconds"] = unit_microseconds;
  d["unit_busy_microseconds"] = unit_busy_microseconds;
  return d;
}

nb::dict ToDict(const TransactionStatistics& transactions) {
  const auto& [active, prepared, locks, committed, lock_waits, lock_timeouts, deadlocks, conflicts,
               memory_bytes, memory_limit_bytes, prepared_log_bytes] = transactions;
  nb::dict d;
  d["active"] = active;
  d["prepared"] = prepared;
  d["locks"] = locks;
  d["committed"] = committed;
  d["lock_waits"] = lock_waits;
  d["lock_timeouts"] = lock_timeouts;
  d["deadlocks"] = deadlocks;
  d["conflicts"] = conflicts;
  d["memory_bytes"] = memory_bytes;
  d["memory_limit_bytes"] = memory_limit_bytes;
  d["prepared_log_bytes"] = prepared_log_bytes;
  return d;
}

nb::dict ToDict(const Statistics& statistics) {
  const auto& [subtables, row_cache, block_cache, table_cache, offload, transactions, last_sequence,
               data_file_bytes, log_file_bytes, extent_bytes, live_bytes, most_space_amplification,
               user_bytes_written, log_bytes_written, flush_bytes_written, ingestion_bytes_written,
               compaction_bytes_read, compaction_bytes_written, compaction_cpu_microseconds,
               extents_reused, blocks_copied, flushes, range_cuts, cut_extents, cut_records,
               compactions_abandoned, compactions, stall_microseconds] = statistics;
  nb::list subtables_list;
  for (const SubtableStatistics& subtable : subtables) {
    subtables_list.append(ToDict(subtable));
  }
  nb::list compactions_list;
  for (const uint64_t count : compactions) {
    compactions_list.append(count);
  }
  nb::dict d;
  d["subtables"] = subtables_list;
  d["row_cache"] = ToDict(row_cache);
  d["block_cache"] = ToDict(block_cache);
  d["table_cache"] = ToDict(table_cache);
  d["offload"] = ToDict(offload);
  d["transactions"] = ToDict(transactions);
  d["last_sequence"] = last_sequence;
  d["data_file_bytes"] = data_file_bytes;
  d["log_file_bytes"] = log_file_bytes;
  d["extent_bytes"] = extent_bytes;
  d["live_bytes"] = live_bytes;
  d["most_space_amplification"] = most_space_amplification;
  d["user_bytes_written"] = user_bytes_written;
  d["log_bytes_written"] = log_bytes_written;
  d["flush_bytes_written"] = flush_bytes_written;
  d["ingestion_bytes_written"] = ingestion_bytes_written;
  d["compaction_bytes_read"] = compaction_bytes_read;
  d["compaction_bytes_written"] = compaction_bytes_written;
  d["compaction_cpu_microseconds"] = compaction_cpu_microseconds;
  d["extents_reused"] = extents_reused;
  d["blocks_copied"] = blocks_copied;
  d["flushes"] = flushes;
  d["range_cuts"] = range_cuts;
  d["cut_extents"] = cut_extents;
  d["cut_records"] = cut_records;
  d["compactions_abandoned"] = compactions_abandoned;
  d["compactions"] = compactions_list;
  d["stall_microseconds"] = stall_microseconds;
  return d;
}

}  // namespace

Table Open(BytesLike path, const Options& options) {
  return {State::Open(options, CheckPath(path)), nullptr};
}

void Close(const Table& table) {
  const std::shared_ptr<State> state = table.state();
  ThrowIfError(state->Close());
}

bool IsClosed(const Table& table) { return !table.state()->open(); }

void CreateSubtable(const Table& table, nb::str name, const SubtableOptions& options) {
  const std::string bytes = FromText(std::move(name));
  Run(table.state().get(), [&](DB* db) {
    Subtable* ignored = nullptr;
    return db->CreateSubtable(options, bytes, &ignored);
  });
}

void SetSubtableOptions(const Table& table, const SubtableOptions& options) {
  Run(table.state().get(),
      [&](DB* db) { return db->SetSubtableOptions(table.subtable(), options); });
}

SubtableOptions GetSubtableOptions(const Table& table) {
  SubtableOptions options;
  Run(table.state().get(), [&](DB* db) {
    options = db->GetSubtableOptions(table.subtable());
    return Status();
  });
  return options;
}

void DropSubtable(const Table& table, const Table& dropped) {
  Subtable* const subtable = Table::Resolve(table.state().get(), &dropped);
  Run(table.state().get(), [&](DB* db) {
    return subtable != nullptr ? db->DropSubtable(subtable)
                               : Status::InvalidArgument("the default sub-table cannot be dropped");
  });
}

nb::list ListSubtables(const Table& table) {
  std::vector<std::string> names;
  Run(table.state().get(), [&](DB* db) {
    for (const Subtable* subtable : db->ListSubtables()) {
      names.push_back(subtable->name());
    }
    return Status();
  });
  nb::list result;
  for (const std::string& name : names) {
    result.append(ToText(name));
  }
  return result;
}

nb::list ListPrepared(const Table& table) {
  std::vector<std::string> names;
  Run(table.state().get(), [&](DB* db) {
    names = db->ListPrepared();
    return Status();
  });
  nb::list result;
  for (const std::string& name : names) {
    result.append(ToBytes(name));
  }
  return result;
}

void WaitForBackgroundWork(const Table& table) {
  Run(table.state().get(), [](DB* db) { return db->WaitForBackgroundWork(); });
}

void Checkpoint(const Table& table, BytesLike path) {
  const std::string to = CheckPath(path);
  Run(table.state().get(), [&](DB* db) { return db->CreateCheckpoint(to); });
}

void Verify(const Table& table) {
  Run(table.state().get(), [](DB* db) { return db->Verify(nullptr); });
}

nb::dict GetStatistics(const Table& table) {
  Statistics statistics;
  Run(table.state().get(), [&](DB* db) {
    statistics = db->GetStatistics();
    return Status();
  });
  return ToDict(statistics);
}

Table FindSubtable(const Table& table, nb::str name) {
  const std::string bytes = FromText(std::move(name));
  Subtable* found = nullptr;
  Run(table.state().get(), [&](DB* db) {
    found = db->FindSubtable(bytes);
    return found != nullptr ? Status() : Status::NotFound("there is no sub-table '" + bytes + "'");
  });
  return {table.state(), found};
}

void Destroy(BytesLike path, const Options& options) {
  const std::string directory = CheckPath(path);
  Status status;
  {
    const nb::gil_scoped_release release;
    status = DB::Destroy(options, directory);
  }
  ThrowIfError(status);
}

nb::dict Repair(BytesLike path, BytesLike to, const Options& options) {
  const std::string from_directory = CheckPath(path);
  const std::string to_directory = CheckPath(to);
  RepairReport report;
  Status status;
  {
    const nb::gil_scoped_release release;
    status = DB::Repair(options, from_directory, to_directory, &report);
  }
  ThrowIfError(status);
  const auto& [extents, extents_damaged, records_saved, records_lost, log_writes_saved,
               prepared_saved, losses] = report;
  nb::list losses_list;
  for (const std::string& loss : losses) {
    losses_list.append(ToText(loss));
  }
  nb::dict d;
  d["extents"] = extents;
  d["extents_damaged"] = extents_damaged;
  d["records_saved"] = records_saved;
  d["records_lost"] = records_lost;
  d["log_writes_saved"] = log_writes_saved;
  d["prepared_saved"] = prepared_saved;
  d["losses"] = losses_list;
  return d;
}

}  // namespace sluice::python
