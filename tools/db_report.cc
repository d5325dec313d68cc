#include "db_report.h"

#include <fmt/format.h>

namespace sluice::tools {

namespace {

double MiB(uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

std::string SubtableText(const SubtableStatistics& subtable) {
  LevelStatistics sum;
  std::string text =
      fmt::format("\n{:<22}{:>6}{:>10}{:>12}{:>14}{:>13}\n", "sub-table " + subtable.name, "runs",
                  "extents", "MiB", "records", "tombstones");
  text += fmt::format("{:<22}{:>6}{:>10}{:>12.1f}\n", "  memtables", subtable.waiting_memtables + 1,
                      "", MiB(subtable.memtable_bytes));
  const auto line = [&](const std::string& name, const LevelStatistics& level) {
    text += fmt::format("{:<22}{:>6}{:>10}{:>12.1f}{:>14}{:>13}\n", name, level.runs, level.extents,
                        MiB(level.bytes), level.records, level.tombstones);
  };
  if (const std::string options = subtable.options.ToString(); !options.empty()) {
    text += fmt::format("  its own options: {}\n", options);
  }
  for (size_t i = 0; i < subtable.levels.size(); ++i) {
    const LevelStatistics& level = subtable.levels[i];
    line(fmt::format("  level {}", i), level);
    sum.runs += level.runs;
    sum.extents += level.extents;
    sum.bytes += level.bytes;
    sum.records += level.records;
    sum.tombstones += level.tombstones;
  }
  line("  all levels", sum);
  if (subtable.value_extents > 0) {
    text += fmt::format("{:<22}{:>6}{:>10}{:>12.1f}, of them {:.1f} alive\n", "  large values", "",
                        subtable.value_extents, MiB(subtable.value_bytes),
                        MiB(subtable.value_live_bytes));
  }
  return text;
}

}  // namespace

std::string ShapeText(const Statistics& statistics) {
  std::string text = fmt::format(
      "{:.1f} MiB in data files, {:.1f} MiB in the log, {} writes so far\n"
      "{:.1f} MiB of extents, {:.1f} MiB of live data: {:.2f} bytes per byte\n",
      MiB(statistics.data_file_bytes), MiB(statistics.log_file_bytes), statistics.last_sequence,
      MiB(statistics.extent_bytes), MiB(statistics.live_bytes), statistics.SpaceAmplification());
  for (const SubtableStatistics& subtable : statistics.subtables) {
    text += SubtableText(subtable);
  }
  return text;
}

}  // namespace sluice::tools
