// DB::GetProperty: statistics by name.

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "db/db_impl.h"

namespace sluice {

namespace {

struct Subject {
  const Statistics& database;
  const SubtableStatistics& subtable;
};

struct Property {
  std::string_view name;
  std::string (*value)(const Subject&);
};

uint64_t Sum(const SubtableStatistics& subtable, uint64_t LevelStatistics::*number) {
  uint64_t sum = 0;
  for (const LevelStatistics& level : subtable.levels) {
    sum += level.*number;
  }
  return sum;
}

std::string LevelTable(const Subject& of) {
  std::string text = "level files bytes\n";
  for (size_t i = 0; i < of.subtable.levels.size(); ++i) {
    const LevelStatistics& level = of.subtable.levels[i];
    text += fmt::format("{:5} {:5} {}\n", i, level.extents, level.bytes);
  }
  return text;
}

template <auto Cache, auto Number>
std::string OfCache(const Subject& of) {
  return std::to_string((of.database.*Cache).*Number);
}

constexpr Property kProperties[] = {
    {"sluice.levelstats", LevelTable},
    {"sluice.estimate-num-keys",
     [](const Subject& of) {
       const uint64_t records = Sum(of.subtable, &LevelStatistics::records);
       const uint64_t gone = 2 * Sum(of.subtable, &LevelStatistics::tombstones);
       return std::to_string(records - std::min(records, gone));
     }},
    {"sluice.live-data-size",
     [](const Subject& of) { return std::to_string(Sum(of.subtable, &LevelStatistics::bytes)); }},
    {"sluice.cur-size-all-mem-tables",
     [](const Subject& of) { return std::to_string(of.subtable.memtable_bytes); }},
    {"sluice.num-immutable-mem-table",
     [](const Subject& of) { return std::to_string(of.subtable.waiting_memtables); }},
    {"sluice.stats", [](const Subject& of) { return of.database.ToString(); }},
    {"sluice.block-cache-usage", OfCache<&Statistics::block_cache, &CacheStatistics::used_bytes>},
    {"sluice.block-cache-capacity",
     OfCache<&Statistics::block_cache, &CacheStatistics::capacity_bytes>},
    {"sluice.row-cache-usage", OfCache<&Statistics::row_cache, &CacheStatistics::used_bytes>},
    {"sluice.row-cache-capacity",
     OfCache<&Statistics::row_cache, &CacheStatistics::capacity_bytes>},
    {"sluice.table-cache-usage", OfCache<&Statistics::table_cache, &CacheStatistics::used_bytes>},
    {"sluice.table-cache-capacity",
     OfCache<&Statistics::table_cache, &CacheStatistics::capacity_bytes>},
    {"sluice.transaction-memory-usage",
     [](const Subject& of) { return std::to_string(of.database.transactions.memory_bytes); }},
    {"sluice.transaction-memory-capacity",
     [](const Subject& of) { return std::to_string(of.database.transactions.memory_limit_bytes); }},
    {"sluice.prepared-log-bytes",
     [](const Subject& of) { return std::to_string(of.database.transactions.prepared_log_bytes); }},
    {"sluice.latest-sequence-number",
     [](const Subject& of) { return std::to_string(of.database.last_sequence); }},
    {"sluice.stall-micros",
     [](const Subject& of) { return std::to_string(of.database.stall_microseconds); }},
    {"sluice.write-amplification",
     [](const Subject& of) { return fmt::format("{:.2f}", of.database.WriteAmplification()); }},
    {"sluice.space-amplification",
     [](const Subject& of) { return fmt::format("{:.2f}", of.database.SpaceAmplification()); }},
    {"sluice.most-space-amplification",
     [](const Subject& of) { return fmt::format("{:.2f}", of.database.most_space_amplification); }},
};

// "sluice.num-files-at-level1". False if it is none of these.
bool LevelProperty(std::string_view name, const SubtableStatistics& subtable, std::string* value) {
  const size_t level = name.empty() ? kLevels : static_cast<size_t>(name.back() - '0');
  if (level >= kLevels) {
    return false;
  }
  const LevelStatistics& statistics = subtable.levels[level];
  name.remove_suffix(1);
  if (name == "sluice.num-files-at-level") {
    *value = std::to_string(statistics.extents);
  } else if (name == "sluice.num-runs-at-level") {
    *value = std::to_string(statistics.runs);
  } else if (name == "sluice.bytes-at-level") {
    *value = std::to_string(statistics.bytes);
  } else {
    return false;
  }
  return true;
}

}  // namespace

Status DBImpl::GetProperty(Subtable* subtable, std::string_view name, std::string* value) {
  const SubtableImpl& of = *Resolve(subtable);
  SLUICE_RETURN_IF_ERROR(db_.subtables.CheckLive(of));
  const Statistics statistics = GetStatistics();
  const auto found = std::find_if(
      statistics.subtables.begin(), statistics.subtables.end(),
      [&](const SubtableStatistics& candidate) { return candidate.name == of.name(); });
  if (found == statistics.subtables.end()) {
    return Status::InvalidArgument(fmt::format("sub-table '{}' is dropped", of.name()));
  }
  if (LevelProperty(name, *found, value)) {
    return {};
  }
  for (const Property& property : kProperties) {
    if (property.name == name) {
      *value = property.value({statistics, *found});
      return {};
    }
  }
  return Status::InvalidArgument(
      fmt::format("property '{}': none of this name; sluice/db.h has the list", name));
}

}  // namespace sluice
