#include "merge_report.h"

#include <fmt/format.h>

#include <string>

#include "sluice_abi.h"

namespace sluice::tools {

namespace {

double Ratio(double a, double b) { return b == 0 ? 0 : a / b; }

// "merge 12%, value 3%", of all cycles.
std::string StallText(const MergeStats& stats) {
  std::string text;
  for (size_t i = 0; i < stats.stalls.size(); ++i) {
    const double percent =
        100 * Ratio(static_cast<double>(stats.stalls[i]), static_cast<double>(stats.cycles));
    text += fmt::format("{}{} {:.1f}%", i == 0 ? "" : ", ", abi::kStallNames[i], percent);
  }
  return text;
}

}  // namespace

void AddStats(const MergeStats& stats, double clock_mhz, double wall_seconds, Json* object) {
  Json& json = *object;
  json["input_records"] = stats.input_records;
  json["output_records"] = stats.output_records;
  json["dropped_records"] = stats.dropped_records;
  json["input_bytes"] = stats.input_bytes;
  json["output_bytes"] = stats.output_bytes;
  json["output_tables"] = stats.output_tables;
  json["checksum"] = fmt::format("{:016x}", stats.output_checksum);
  json["cycles"] = stats.cycles;
  json["clock_mhz"] = clock_mhz;
  json["seconds"] = stats.cycles == 0 ? wall_seconds : UnitSeconds(stats, clock_mhz);
  json["unit_seconds"] = UnitSeconds(stats, clock_mhz);
  json["wall_seconds"] = wall_seconds;
  Json stalls = Json::object();
  for (size_t i = 0; i < stats.stalls.size(); ++i) {
    stalls[abi::kStallNames[i]] = stats.stalls[i];
  }
  json["stalls"] = std::move(stalls);
}

void AddStatsLines(const MergeStats& stats, double clock_mhz, double wall_seconds, Lines* lines) {
  const auto in = static_cast<double>(stats.input_bytes);
  const auto out = static_cast<double>(stats.output_bytes);
  lines->emplace_back("records", fmt::format("{} in, {} out, {} dropped", stats.input_records,
                                             stats.output_records, stats.dropped_records));
  lines->emplace_back("bytes", fmt::format("{} in, {} out", stats.input_bytes, stats.output_bytes));
  lines->emplace_back("checksum", fmt::format("{:016x}", stats.output_checksum));
  if (stats.cycles == 0) {
    lines->emplace_back(
        "MB/s", fmt::format("{:.0f} in, {:.0f} out, in {:.3f} s", Ratio(in, wall_seconds) / 1e6,
                            Ratio(out, wall_seconds) / 1e6, wall_seconds));
    return;
  }
  const auto cycles = static_cast<double>(stats.cycles);
  lines->emplace_back("cycles", fmt::format("{}", stats.cycles));
  lines->emplace_back(
      "cycles per record",
      fmt::format("{:.2f}", Ratio(cycles, static_cast<double>(stats.input_records))));
  lines->emplace_back("bytes per cycle",
                      fmt::format("{:.2f} in, {:.2f} out", in / cycles, out / cycles));
  lines->emplace_back(fmt::format("MB/s at {:.0f} MHz", clock_mhz),
                      fmt::format("{:.0f} in, {:.0f} out, in {:.6f} s", in / cycles * clock_mhz,
                                  out / cycles * clock_mhz, UnitSeconds(stats, clock_mhz)));
  lines->emplace_back("stood still", StallText(stats));
  lines->emplace_back("simulated in", fmt::format("{:.2f} s", wall_seconds));
}

}  // namespace sluice::tools
