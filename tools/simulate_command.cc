// sluice simulate

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "command.h"
#include "progress.h"
#include "simulate/plot.h"
#include "simulate/simulation.h"

namespace sluice::tools {

namespace {

using simulate::Report;
using simulate::Sample;
using simulate::Settings;

struct SimulateCommand {
  Settings settings;
  std::string policy = "sluice";
  std::string distribution = "uniform";
  std::string plot;
  bool json = false;
};

constexpr std::array<std::string_view, sluice::kCompactionKinds> kKinds = {
    "deletion", "intra_l1", "minor", "major", "self_major", "manual", "values"};

double Share(uint64_t part, uint64_t of) {
  return of == 0 ? 0 : static_cast<double>(part) / static_cast<double>(of);
}

double UserAmplification(const Report& report) {
  return Share(report.log_bytes + report.all.flush_bytes + report.all.compaction_bytes,
               report.user_bytes);
}

Json ToJson(const SimulateCommand& command, const Report& report) {
  const Settings& settings = command.settings;
  const simulate::TreeCounters& all = report.all;
  Json json;
  json["status"] = "ok";
  json["policy"] = command.policy;
  json["data_bytes"] = settings.data_bytes;
  json["keys"] = report.keys;
  json["distribution"] = command.distribution;
  json["user_bytes"] = report.user_bytes;
  json["log_bytes"] = report.log_bytes;
  json["flush_bytes"] = all.flush_bytes;
  json["compaction_bytes"] = all.compaction_bytes;
  json["write_amplification"] = all.WriteAmplification();
  json["write_amplification_of_load"] = report.load.WriteAmplification();
  json["write_amplification_of_overwrites"] = report.overwrite_amplification;
  json["write_amplification_with_log"] = UserAmplification(report);
  json["mean_runs"] = report.mean_runs;
  json["most_runs"] = report.most_runs;
  json["most_debt"] = report.most_debt;
  json["live_bytes"] = report.live_bytes;
  json["disk_bytes"] = report.disk_bytes;
  json["most_disk_bytes"] = all.most_disk_bytes;
  json["mean_space"] = report.mean_space;
  json["most_space"] = report.most_space;
  json["dead_bytes"] = report.dead_bytes;
  json["extents"] = report.extents;
  json["metadata_bytes"] = report.metadata_bytes;
  json["flushes"] = all.flushes;
  for (size_t kind = 0; kind < kKinds.size(); ++kind) {
    if (all.compactions[kind] > 0) {
      json["compactions"][kKinds[kind]] = {{"parts", all.compactions[kind]},
                                           {"bytes", all.bytes_of_kind[kind]}};
    }
  }
  json["extents_reused"] = all.extents_reused;
  json["longest_part_bytes"] = all.longest_part_bytes;
  json["picks"] = all.picks.calls;
  json["pick_seconds"] = all.picks.seconds;
  json["longest_pick_seconds"] = all.picks.longest_seconds;
  json["edits"] = all.edits.calls;
  json["edit_seconds"] = all.edits.seconds;
  json["longest_edit_seconds"] = all.edits.longest_seconds;
  for (const Sample& sample : report.samples) {
    json["samples"].push_back({{"user_bytes", sample.user_bytes},
                               {"debt", sample.debt},
                               {"mean_runs", sample.mean_runs},
                               {"most_runs", sample.most_runs},
                               {"write_amplification", sample.write_amplification},
                               {"recent_write_amplification", sample.recent_write_amplification},
                               {"space", sample.space}});
  }
  return json;
}

std::string Size(uint64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1000 && unit + 1 < kUnits.size(); ++unit) {
    value /= 1024;
  }
  return fmt::format("{:.{}f} {}", value, value < 10 && unit > 0 ? 1 : 0, kUnits[unit]);
}

Lines ToLines(const Report& report) {
  const simulate::TreeCounters& all = report.all;
  Lines lines = {
      {"data", fmt::format("{} keys, {} of tables", report.keys, Size(report.live_bytes))},
      {"written",
       fmt::format("{} by the user, {} by {} flushes, {} by compactions", Size(report.user_bytes),
                   Size(all.flush_bytes), all.flushes, Size(all.compaction_bytes))},
      {"write amplification",
       fmt::format("{:.2f}: {:.2f} of the load, {:.2f} of the overwrites; {:.2f} with the log, per "
                   "byte of the user's",
                   all.WriteAmplification(), report.load.WriteAmplification(),
                   report.overwrite_amplification, UserAmplification(report))},
      {"runs at a key",
       fmt::format("{:.1f} on average, {} at most", report.mean_runs, report.most_runs)},
      {"space", fmt::format("{}, {:.2f} per byte of live data; {:.2f} on average, {:.2f} at most; "
                            "{:.1f} % dead",
                            Size(report.disk_bytes), Share(report.disk_bytes, report.live_bytes),
                            report.mean_space, report.most_space,
                            100 * Share(report.dead_bytes, report.disk_bytes))},
      {"debt", fmt::format("at most {:.2f} of what may wait for compactions", report.most_debt)},
      {"longest part", Size(all.longest_part_bytes)},
      {"metadata", fmt::format("{} of {} extents", Size(report.metadata_bytes), report.extents)}};
  for (const auto& [name, times] : {std::pair("picking", all.picks), {"editing", all.edits}}) {
    if (times.calls > 0) {
      lines.emplace_back(name, fmt::format("{:.3f} ms on average, {:.1f} ms at most, {} times",
                                           1e3 * times.seconds / static_cast<double>(times.calls),
                                           1e3 * times.longest_seconds, times.calls));
    }
  }
  for (size_t kind = 0; kind < kKinds.size(); ++kind) {
    if (all.compactions[kind] > 0) {
      lines.emplace_back(kKinds[kind], fmt::format("{} parts, {} written", all.compactions[kind],
                                                   Size(all.bytes_of_kind[kind])));
    }
  }
  return lines;
}

int RunSimulateCommand(SimulateCommand* command) {
  Status usage =
      simulate::ParseDistribution(command->distribution, &command->settings.distribution);
  if (usage.ok()) {
    usage = simulate::ParsePolicy(command->policy, &command->settings.policy);
  }
  if (!usage.ok()) {
    Fail("usage", usage.message(), command->json);
    return kExitUsage;
  }
  Report report;
  Status status;
  {
    ProgressBar bar("simulating", kBytesUnit);
    status = simulate::Simulate(
        command->settings, [&](uint64_t done, uint64_t total) { bar.Update(done, total); },
        &report);
  }
  if (status.ok() && !command->plot.empty()) {
    status = simulate::Plot(command->settings, report, command->plot);
  }
  if (!status.ok()) {
    return Fail(status, command->json);
  }
  if (command->json) {
    PrintJson(ToJson(*command, report));
  } else {
    PrintLines(ToLines(report));
  }
  return kExitOk;
}

}  // namespace

void AddSimulateCommand(CLI::App* app, Action* action) {
  CLI::App* command = AddSubcommand(
      app, "simulate", "Simulate how the engine's compactions go for a database of any size",
      "sluice simulate --data 1t\n"
      "sluice simulate --data 100g --distribution zipf:0.99 --overwrites 3 --plot zipf.svg\n"
      "sluice simulate --data 500g --write-buffer-size 256m --l1-size 4g --json");
  command->footer(
      "A load writes each key once, in random order (sequential: in order), then keys are "
      "overwritten. Nothing is\nstored: the engine's own policy works on metadata, and how many "
      "keys a table has is calculated. Compactions\nalways keep up with the writes.\n"
      "Runs at a key: so many filters a Get asks whose key is nowhere above the last run. Space: "
      "bytes on disk per\nbyte of tables that hold each key once.\n\n" +
      command->get_footer());
  auto options = std::make_shared<SimulateCommand>();
  Settings& settings = options->settings;
  const auto size = [&](const char* name, auto* value, uint64_t least, uint64_t most,
                        const char* what) {
    command->add_option(name, *value, what)
        ->transform(CLI::AsSizeValue(false))
        ->check(CLI::Range(least, most, ""))
        ->capture_default_str();
  };
  constexpr uint64_t kMost = uint64_t{1} << 50;
  command
      ->add_option("--policy", options->policy,
                   "Whose compactions: sluice, or leveled (as RocksDB), lazy-leveling (Dostoevsky) "
                   "or spooky, to compare with")
      ->type_name("NAME")
      ->capture_default_str();
  size("--data", &settings.data_bytes, 1000, kMost,
       "Size of all keys with their values in bytes, or 500g for example");
  command
      ->add_option("--overwrites", settings.overwrites,
                   "Writes after the load, as a multiple of those of the load")
      ->check([](const std::string& text) {  // CLI11's own checks let NaN through
        const double factor = std::strtod(text.c_str(), nullptr);
        return factor >= 0 && factor <= 1000 ? std::string() : "not from 0 to 1000";
      })
      ->type_name("FACTOR")
      ->capture_default_str();
  command
      ->add_option("--distribution", options->distribution,
                   "Distribution of keys: uniform, zipf[:THETA] or sequential")
      ->type_name("NAME")
      ->capture_default_str();
  size("--key-size", &settings.record.key_bytes, 8, 1 << 16, "Key size in bytes");
  size("--value-size", &settings.record.value_bytes, 0, 1 << 20, "Value size in bytes");
  size("--write-buffer-size", &settings.options.memtable_bytes, 1 << 10, kMost,
       "Memtable size in bytes");
  size("--extent-size", &settings.options.extent_bytes, 1 << 10, 1 << 30,
       "Size of extents in bytes");
  size("--l1-size", &settings.options.l1_bytes, 1, kMost,
       "Least size that levels 0 and 1 may have, in bytes");
  size("--compaction-size", &settings.options.compaction_bytes, 1, kMost,
       "Size of a compaction's parts in bytes");
  command
      ->add_option("--max-space", settings.options.max_space_amplification,
                   "Limit on bytes of the device per byte of live data; 0: none")
      ->check([](const std::string& text) {
        const double limit = std::strtod(text.c_str(), nullptr);
        return limit == 0 || limit >= 1.1 ? std::string() : "not 0, and less than 1.1";
      })
      ->type_name("FACTOR")
      ->capture_default_str();
  AddPlotOption(command, &options->plot,
                "debt, runs and write amplification over what was written");
  AddJsonOption(command, &options->json);
  command->callback(
      [options, action] { *action = [options] { return RunSimulateCommand(options.get()); }; });
}

}  // namespace sluice::tools
