#include "db/describe.h"

#include <array>
#include <vector>

#include "tree/subtable_options.h"

namespace sluice {

namespace {

nlohmann::json ToJson(const CacheStatistics& c) {
  return {
      {"hits", c.hits},       {"misses", c.misses},         {"evictions", c.evictions},
      {"entries", c.entries}, {"used_bytes", c.used_bytes}, {"capacity_bytes", c.capacity_bytes}};
}

nlohmann::json ToJson(const LevelStatistics& l) {
  return {{"runs", l.runs},
          {"extents", l.extents},
          {"bytes", l.bytes},
          {"records", l.records},
          {"tombstones", l.tombstones}};
}

nlohmann::json ToJson(uint64_t number) { return number; }
nlohmann::json ToJson(Compression compression) { return CompressionName(compression); }
template <typename T>
nlohmann::json ToJson(const std::vector<T>& levels) {
  nlohmann::json json = nlohmann::json::array();
  for (const T of_level : levels) {
    json.push_back(ToJson(of_level));
  }
  return json;
}
nlohmann::json ToJson(const SubtableOptions& options) {
  nlohmann::json json = nlohmann::json::object();
  VisitOptions(options, [&](uint32_t, const char* name, const auto& option) {
    if (option) {
      json[name] = ToJson(*option);
    }
  });
  return json;
}

}  // namespace

std::string_view KindName(CompactionKind kind) {
  constexpr std::array<std::string_view, kCompactionKinds> names = {
      "deletion", "intra-L1", "minor", "major", "self-major", "manual", "values"};
  return names[static_cast<size_t>(kind)];
}

nlohmann::json ToJson(const FlushEvent& e) {
  return {{"subtable", e.subtable},
          {"input_records", e.input_records},
          {"output_records", e.output_records},
          {"output_bytes", e.output_bytes},
          {"extents", e.extents},
          {"seconds", e.seconds}};
}

nlohmann::json ToJson(const CompactionEvent& e) {
  return {{"subtable", e.subtable},
          {"kind", KindName(e.kind)},
          {"output_level", e.output_level},
          {"input_extents", e.input_extents},
          {"reused_extents", e.reused_extents},
          {"output_extents", e.output_extents},
          {"copied_blocks", e.copied_blocks},
          {"input_bytes", e.input_bytes},
          {"output_bytes", e.output_bytes},
          {"input_records", e.input_records},
          {"output_records", e.output_records},
          {"seconds", e.seconds}};
}

nlohmann::json ToJson(const SetAsideEvent& e) {
  return {{"subtable", e.subtable}, {"extent", e.extent},   {"level", e.level},
          {"bytes", e.bytes},       {"records", e.records}, {"reason", e.reason.ToString()}};
}

nlohmann::json ToJson(const StallEvent& e) {
  return {{"subtable", e.subtable}, {"reason", e.reason}, {"stopped", e.stopped}};
}

nlohmann::json ToJson(const OffloadFailureEvent& e) {
  return {{"device", e.device}, {"reason", e.reason}, {"dump", e.dump}};
}

std::string TextOf(const nlohmann::json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

nlohmann::json ToJson(const Statistics& s) {
  nlohmann::json subtables = nlohmann::json::array();
  for (const SubtableStatistics& t : s.subtables) {
    nlohmann::json levels = nlohmann::json::array();
    for (const LevelStatistics& l : t.levels) {
      levels.push_back(ToJson(l));
    }
    subtables.push_back({{"name", t.name},
                         {"options", ToJson(t.options)},
                         {"memtable_bytes", t.memtable_bytes},
                         {"waiting_memtables", t.waiting_memtables},
                         {"value_extents", t.value_extents},
                         {"value_bytes", t.value_bytes},
                         {"value_live_bytes", t.value_live_bytes},
                         {"levels", levels},
                         {"set_aside", ToJson(t.set_aside)}});
  }
  nlohmann::json compactions;
  for (size_t i = 0; i < s.compactions.size(); ++i) {
    compactions[KindName(static_cast<CompactionKind>(i))] = s.compactions[i];
  }
  return {{"subtables", subtables},
          {"row_cache", ToJson(s.row_cache)},
          {"block_cache", ToJson(s.block_cache)},
          {"table_cache", ToJson(s.table_cache)},
          {"transactions",
           {{"active", s.transactions.active},
            {"prepared", s.transactions.prepared},
            {"locks", s.transactions.locks},
            {"committed", s.transactions.committed},
            {"lock_waits", s.transactions.lock_waits},
            {"lock_timeouts", s.transactions.lock_timeouts},
            {"deadlocks", s.transactions.deadlocks},
            {"conflicts", s.transactions.conflicts},
            {"memory_bytes", s.transactions.memory_bytes},
            {"memory_limit_bytes", s.transactions.memory_limit_bytes},
            {"prepared_log_bytes", s.transactions.prepared_log_bytes}}},
          {"offload",
           {{"executor", s.offload.executor},
            {"device_tasks", s.offload.device_tasks},
            {"cpu_tasks", s.offload.cpu_tasks},
            {"retries", s.offload.retries},
            {"cpu_tasks_small", s.offload.cpu_tasks_small},
            {"cpu_tasks_queue", s.offload.cpu_tasks_queue},
            {"cpu_tasks_slow", s.offload.cpu_tasks_slow},
            {"units", s.offload.units},
            {"units_in_service", s.offload.units_in_service},
            {"card_cpu_microseconds", s.offload.card_cpu_microseconds},
            {"unit_microseconds", s.offload.unit_microseconds},
            {"unit_busy_microseconds", s.offload.unit_busy_microseconds}}},
          {"last_sequence", s.last_sequence},
          {"data_file_bytes", s.data_file_bytes},
          {"log_file_bytes", s.log_file_bytes},
          {"extent_bytes", s.extent_bytes},
          {"live_bytes", s.live_bytes},
          {"space_amplification", s.SpaceAmplification()},
          {"most_space_amplification", s.most_space_amplification},
          {"user_bytes_written", s.user_bytes_written},
          {"log_bytes_written", s.log_bytes_written},
          {"flush_bytes_written", s.flush_bytes_written},
          {"ingestion_bytes_written", s.ingestion_bytes_written},
          {"compaction_bytes_read", s.compaction_bytes_read},
          {"compaction_bytes_written", s.compaction_bytes_written},
          {"compaction_cpu_microseconds", s.compaction_cpu_microseconds},
          {"write_amplification", s.WriteAmplification()},
          {"extents_reused", s.extents_reused},
          {"blocks_copied", s.blocks_copied},
          {"flushes", s.flushes},
          {"range_cuts", s.range_cuts},
          {"cut_extents", s.cut_extents},
          {"cut_records", s.cut_records},
          {"compactions_abandoned", s.compactions_abandoned},
          {"compactions", compactions},
          {"stall_microseconds", s.stall_microseconds}};
}

}  // namespace sluice
