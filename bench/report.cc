#include "bench/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace sluice::bench {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kPercentiles = {50.0, 90.0, 99.0, 99.9, 99.99};

double Us(uint64_t ns) { return static_cast<double>(ns) / 1e3; }
double Mib(uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

// 1234567 as "1,234,567".
std::string Grouped(double number) {
  const std::string digits = fmt::format("{:.0f}", number);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) {
      text += ',';
    }
    text += digits[i];
  }
  return text;
}

template <typename Number>
std::string OrDash(const std::optional<Number>& number) {
  return number ? fmt::format("{:.2f}", *number) : "-";
}

// The workload's own operations, without those of the writer beside them.
std::unique_ptr<Histogram> OwnLatency(const Run& run) {
  auto all = std::make_unique<Histogram>();
  const Workload& workload = *FindWorkload(run.workload);
  for (size_t i = 0; i < kOps; ++i) {
    if (workload.percent[i] > 0) {
      all->Merge(run.result.latency[i]);
    }
  }
  return all;
}

std::string LatencyCells(const Histogram& latency) {
  return latency.count() == 0
             ? fmt::format("{:>9} {:>9} {:>9} {:>10}", "-", "-", "-", "-")
             : fmt::format("{:9.2f} {:9.2f} {:9.2f} {:10.1f}", Us(latency.PercentileNs(50)),
                           Us(latency.PercentileNs(99)), Us(latency.PercentileNs(99.9)),
                           Us(latency.max_ns()));
}

Json LatencyJson(const Histogram& latency) {
  Json json;
  json["calls"] = latency.count();
  json["mean_us"] = latency.MeanNs() / 1e3;
  for (const double percent : kPercentiles) {
    json[fmt::format("p{}_us", percent)] = Us(latency.PercentileNs(percent));
  }
  json["max_us"] = Us(latency.max_ns());
  return json;
}

// Calls per second in the intervals of a run, whole ones: of the worst, of the median one.
struct Steadiness {
  double worst = 0;
  double median = 0;
};

Steadiness SteadinessOf(const Throughput& series) {
  std::vector<uint64_t> sorted = series.operations;
  if (sorted.empty()) {
    return {};
  }
  std::sort(sorted.begin(), sorted.end());
  return {static_cast<double>(sorted.front()) / series.interval_seconds,
          static_cast<double>(sorted[sorted.size() / 2]) / series.interval_seconds};
}

// The share of the writers' time; none where the engine does not count it.
std::optional<double> StalledShare(const BenchSettings& settings, const RunResult& result) {
  if (!result.engine.stall_microseconds || result.seconds <= 0) {
    return {};
  }
  return 1e-6 * static_cast<double>(*result.engine.stall_microseconds) /
         (result.seconds * settings.threads);
}

template <typename Number>
Json OrNull(const std::optional<Number>& number) {
  return number ? Json(*number) : Json();
}

Json RunJson(const Run& run) {
  const RunResult& result = run.result;
  Json json;
  json["benchmark"] = run.workload;
  json["engine"] = run.engine;
  json["version"] = run.version;
  json["threads"] = run.threads;
  json["turn"] = run.turn;
  json["operations"] = result.operations;
  json["seconds"] = result.seconds;
  json["ops_per_second"] = result.OperationsPerSecond();
  json["settle_seconds"] = result.settle_seconds;
  json["gets"] = result.gets;
  json["found"] = result.found;
  json["latency"] = Json::object();
  for (size_t i = 0; i < kOps; ++i) {
    if (result.latency[i].count() > 0) {
      json["latency"][std::string(Name(static_cast<Op>(i)))] = LatencyJson(result.latency[i]);
    }
  }
  json["throughput"] = {{"interval_seconds", result.throughput.interval_seconds},
                        {"operations", result.throughput.operations}};
  Json& seconds = json["by_second"];
  for (const char* const name : {"calls", "p99_us", "max_us"}) {
    seconds[name] = Json::array();
  }
  for (const CoarseHistogram& second : result.by_second.all()) {
    seconds["calls"].push_back(second.count());
    seconds["p99_us"].push_back(Us(second.PercentileNs(99)));
    seconds["max_us"].push_back(Us(second.max_ns()));
  }
  if (!result.responses.intervals().empty()) {
    Json& series = json["responses"];
    series["interval_seconds"] = Responses::kIntervalSeconds;
    for (const Responses::Interval& interval : result.responses.intervals()) {
      series["operations"].push_back(interval.count);
      series["mean_us"].push_back(
          interval.count == 0 ? 0 : interval.sum_us / static_cast<double>(interval.count));
      series["max_us"].push_back(interval.max_us);
    }
  }
  json["bytes"] = {{"user_written", result.user_bytes_written},
                   {"user_read", result.user_bytes_read},
                   {"log_written", result.engine.log_bytes_written},
                   {"table_written", result.engine.table_bytes_written},
                   {"foreground_read", OrNull(result.foreground_bytes_read)},
                   {"background_read", result.engine.background_bytes_read},
                   {"on_disk", result.disk_bytes}};
  json["write_amplification"] = OrNull(result.WriteAmplification());
  json["read_amplification"] = OrNull(result.ReadAmplification());
  json["space_amplification"] = OrNull(result.SpaceAmplification());
  json["stall_seconds"] = result.engine.stall_microseconds
                              ? Json(1e-6 * static_cast<double>(*result.engine.stall_microseconds))
                              : Json();
  json["cpu_seconds"] = {{"foreground", result.cpu.foreground}, {"flush", result.cpu.flush},
                         {"compaction", result.cpu.compaction}, {"driver", result.cpu.driver},
                         {"other", result.cpu.other},           {"card", result.cpu.card}};
  json["host_cpu_ms_per_mb_compacted"] = OrNull(result.HostCpuPerMegabyte());
  json["units_busy"] = OrNull(result.UnitsBusy());
  json["merges"] = {
      {"units", result.engine.unit_tasks},          {"cpu", result.engine.cpu_tasks},
      {"cpu_small", result.engine.cpu_tasks_small}, {"cpu_queue", result.engine.cpu_tasks_queue},
      {"cpu_slow", result.engine.cpu_tasks_slow},   {"left", result.engine.merges_left}};
  return json;
}

Json SettingsJson(const BenchSettings& s) {
  return {{"engines", s.engines},
          {"benchmarks", s.workloads},
          {"num", s.num},
          {"reads", s.operations()},
          {"duration", s.duration},
          {"threads", s.thread_counts},
          {"turns", s.turns},
          {"key_size", s.key_bytes},
          {"min_value_size", s.min_value_bytes},
          {"max_value_size", s.max_value_bytes},
          {"batch_size", s.batch},
          {"seek_nexts", s.seek_nexts},
          {"max_scan_length", s.max_scan},
          {"write_rate", s.write_rate},
          {"distribution", s.distribution ? Json(ToString(*s.distribution)) : Json()},
          {"seed", s.seed},
          {"cache_size", s.engine.cache_bytes},
          {"write_buffer_size", s.engine.write_buffer_bytes},
          {"block_size", s.engine.block_bytes == 0 ? Json() : Json(s.engine.block_bytes)},
          {"bloom_bits", s.engine.bloom_bits},
          {"prefix_bytes", s.engine.prefix_bytes},
          {"compression", CompressionName(s.engine.compression)},
          {"dictionary_size", s.engine.dictionary_bytes},
          {"sync", s.engine.sync},
          {"separate_values", s.engine.separate_bytes},
          {"direct", s.engine.direct_io},
          {"executor", s.engine.executor},
          {"config", s.engine.config},
          {"clock_mhz", s.engine.model.clock_mhz},
          {"units", s.engine.model.units},
          {"dram", s.engine.model.memory_gb_per_s},
          {"pcie",
           s.engine.model.link.lanes == 0
               ? "none"
               : fmt::format("{}x{}", s.engine.model.link.generation, s.engine.model.link.lanes)}};
}

// The first engine's operations per second as a multiple of another's.
double Share(const Comparison& comparison, size_t engine) {
  const double other = comparison.median[engine]->result.OperationsPerSecond();
  return other > 0 ? comparison.median[0]->result.OperationsPerSecond() / other : 0;
}

std::string CpuTable(const std::vector<Comparison>& comparisons) {
  std::string text = fmt::format(
      "\n{:<23} {:<18} {:>7} {:^44} | {:^41}\n{:<23} {:<18} {:>7} {:>10} {:>8} {:>10} {:>6} {:>6} "
      "| {:>8} {:>8} "
      "{:>8} {:>8} {:>8}\n",
      "", "", "", "CPU seconds", "MiB written by user, log, tables; MiB read", "benchmark",
      "engine", "threads", "foreground", "flush", "compaction", "driver", "other", "user", "log",
      "tables", "fore", "back");
  for (const Comparison& comparison : comparisons) {
    for (const Run* run : comparison.median) {
      const RunResult& r = run->result;
      text += fmt::format(
          "{:<23} {:<18} {:>7} {:10.2f} {:8.2f} {:10.2f} {:6.2f} {:6.2f} | {:8.1f} {:8.1f} {:8.1f} "
          "{:>8} {:8.1f}\n",
          run->workload, run->engine, run->threads, r.cpu.foreground, r.cpu.flush, r.cpu.compaction,
          r.cpu.driver, r.cpu.other, Mib(r.user_bytes_written), Mib(r.engine.log_bytes_written),
          Mib(r.engine.table_bytes_written),
          r.foreground_bytes_read ? fmt::format("{:.1f}", Mib(*r.foreground_bytes_read)) : "-",
          Mib(r.engine.background_bytes_read));
    }
  }
  return text;
}

// What compactions cost the host, and how many of its cores that occupies or, if compactions on the
// CPU are among those compared, sets free at the rate of this run.
std::string CompactionTable(const std::vector<Comparison>& comparisons) {
  std::string text;
  for (const Comparison& comparison : comparisons) {
    std::optional<double> on_cpu;
    for (const Run* run : comparison.median) {
      on_cpu = run->engine == "sluice:cpu" ? run->result.HostCpuPerMegabyte() : on_cpu;
    }
    for (const Run* run : comparison.median) {
      const RunResult& r = run->result;
      const std::optional<double> host = r.HostCpuPerMegabyte();
      if (!host) {
        continue;
      }
      if (text.empty()) {
        text = fmt::format(
            "\nCompactions: MB read, and CPU time per MB, in ms, of the host and of what stands "
            "for a card; share of their time that its units merged;\nmerges on units, and on the "
            "CPU, of which small, queue and slow as docs/model.md has them\n"
            "{:<23} {:<18} {:>7} {:>9} {:>9} {:>8} {:>8} {:>11} {:>11} {:>10} {:>7} {:>7} {:>7} "
            "{:>7} {:>7}\n",
            "benchmark", "engine", "threads", "MB", "MB/s", "host", "card", "host cores",
            "cores freed", "units busy", "units", "CPU", "small", "queue", "slow");
      }
      const double megabytes = 1e-6 * static_cast<double>(r.engine.background_bytes_read);
      const double seconds = r.seconds + r.settle_seconds;
      const double rate = seconds > 0 ? megabytes / seconds : 0;
      const std::optional<double> busy = r.UnitsBusy();
      text += fmt::format(
          "{:<23} {:<18} {:>7} {:9.1f} {:9.1f} {:8.3f} {:8.3f} {:11.2f} {:>11} {:>10} {:>7} {:>7} "
          "{:>7} {:>7} {:>7}\n",
          run->workload, run->engine, run->threads, megabytes, rate, *host,
          1e3 * r.cpu.card / megabytes, 1e-3 * *host * rate,
          on_cpu && run->engine != "sluice:cpu"
              ? fmt::format("{:.2f}", 1e-3 * (*on_cpu - *host) * rate)
              : "-",
          busy ? fmt::format("{:.1f} %", 100 * *busy) : "-", r.engine.unit_tasks,
          r.engine.cpu_tasks, r.engine.cpu_tasks_small, r.engine.cpu_tasks_queue,
          r.engine.cpu_tasks_slow);
    }
  }
  return text;
}

std::string OverloadTable(const BenchSettings& settings,
                          const std::vector<Comparison>& comparisons) {
  std::string text;
  for (const Comparison& comparison : comparisons) {
    for (const Run* run : comparison.median) {
      if (!FindWorkload(run->workload)->overload) {
        continue;
      }
      if (text.empty()) {
        text = fmt::format(
            "\nOverload: latency of writes, in ms; writes per second\n{:<23} {:<8} {:>9} {:>9} "
            "{:>9} {:>9} {:>10} {:>11} {:>11} {:>9}\n",
            "benchmark", "engine", "p50", "p99", "p99.9", "p99.99", "max", "median", "worst",
            "stalled");
      }
      const RunResult& r = run->result;
      const Histogram& latency = r.latency[static_cast<size_t>(Op::kPut)];
      const Steadiness steadiness = SteadinessOf(r.throughput);
      const std::optional<double> stalled = StalledShare(settings, r);
      const auto ms = [&](double percent) { return Us(latency.PercentileNs(percent)) / 1e3; };
      text += fmt::format(
          "{:<23} {:<8} {:9.3f} {:9.3f} {:9.3f} {:9.3f} {:10.1f} {:>11} {:>11} {:>9}\n",
          run->workload, run->engine, ms(50), ms(99), ms(99.9), ms(99.99),
          Us(latency.max_ns()) / 1e3, Grouped(steadiness.median), Grouped(steadiness.worst),
          stalled ? fmt::format("{:.1f} %", 100 * *stalled) : "-");
    }
  }
  return text;
}

std::string RatioTable(const BenchSettings& settings, const std::vector<Comparison>& comparisons) {
  std::string text =
      fmt::format("\nOperations per second, median of {} turn{}\n{:<23} {:>7}", settings.turns,
                  settings.turns == 1 ? "" : "s", "benchmark", "threads");
  for (const std::string& engine : settings.engines) {
    text += fmt::format(" {:>18}", engine);
  }
  for (size_t i = 1; i < settings.engines.size(); ++i) {
    text += fmt::format(" {:>19}", "/ " + settings.engines[i]);
  }
  text += "\n";
  for (const Comparison& comparison : comparisons) {
    text += fmt::format("{:<23} {:>7}", comparison.workload, comparison.threads);
    for (const Run* run : comparison.median) {
      text += fmt::format(" {:>18}", Grouped(run->result.OperationsPerSecond()));
    }
    for (size_t i = 1; i < comparison.median.size(); ++i) {
      text += fmt::format(" {:>19.2f}", Share(comparison, i));
    }
    text += "\n";
  }
  return text;
}

}  // namespace

std::vector<Comparison> Compare(const BenchSettings& settings, const std::vector<Run>& runs) {
  std::vector<Comparison> comparisons;
  for (size_t position = 0; position < settings.workloads.size(); ++position) {
    for (const int threads : settings.thread_counts) {
      Comparison comparison{
          .workload = settings.workloads[position], .threads = threads, .median = {}};
      for (const std::string& engine : settings.engines) {
        std::vector<const Run*> turns;
        for (const Run& run : runs) {
          if (run.engine == engine && run.position == position && run.threads == threads) {
            turns.push_back(&run);
          }
        }
        std::sort(turns.begin(), turns.end(), [](const Run* a, const Run* b) {
          return a->result.OperationsPerSecond() < b->result.OperationsPerSecond();
        });
        if (!turns.empty()) {
          comparison.median.push_back(turns[(turns.size() - 1) / 2]);
        }
      }
      if (comparison.median.size() == settings.engines.size()) {
        comparisons.push_back(std::move(comparison));
      }
    }
  }
  return comparisons;
}

std::string TableHead() {
  return fmt::format(
      "{:<23} {:<18} {:>7} {:>4} {:>11} {:>9} {:>9} {:>9} {:>10} {:>7} {:>6} {:>6} {:>6} {:>9} "
      "{:>8}\n",
      "benchmark", "engine", "threads", "turn", "ops/s", "p50 us", "p99 us", "p99.9 us", "max us",
      "found %", "W-amp", "R-amp", "S-amp", "CPU us/op", "settle s");
}

std::string TableLines(const Run& run) {
  const RunResult& r = run.result;
  std::string text = fmt::format(
      "{:<23} {:<18} {:>7} {:>4} {:>11} {} {:>7} {:>6} {:>6} {:>6} {:>9.2f} {:>8.2f}\n",
      run.workload, run.engine, run.threads, run.turn, Grouped(r.OperationsPerSecond()),
      LatencyCells(*OwnLatency(run)),
      r.gets == 0
          ? "-"
          : fmt::format("{:.1f}", 100 * static_cast<double>(r.found) / static_cast<double>(r.gets)),
      OrDash(r.WriteAmplification()), OrDash(r.ReadAmplification()), OrDash(r.SpaceAmplification()),
      r.operations == 0 ? 0 : 1e6 * r.cpu.Host() / static_cast<double>(r.operations),
      r.settle_seconds);
  const auto kinds = std::count_if(r.latency.begin(), r.latency.end(),
                                   [](const Histogram& latency) { return latency.count() > 0; });
  for (size_t i = 0; kinds > 1 && i < kOps; ++i) {
    if (r.latency[i].count() > 0) {
      text += fmt::format("  {:<53} {:>11} {}\n", Name(static_cast<Op>(i)),
                          Grouped(static_cast<double>(r.latency[i].count()) / r.seconds),
                          LatencyCells(r.latency[i]));
    }
  }
  return text;
}

std::string Summary(const BenchSettings& settings, const std::vector<Run>& runs) {
  const std::vector<Comparison> comparisons = Compare(settings, runs);
  return CpuTable(comparisons) + CompactionTable(comparisons) +
         OverloadTable(settings, comparisons) +
         (settings.engines.size() > 1 ? RatioTable(settings, comparisons) : "");
}

Json ToJson(const BenchSettings& settings, const std::vector<Run>& runs) {
  Json json;
  json["settings"] = SettingsJson(settings);
  json["runs"] = Json::array();
  for (const Run& run : runs) {
    json["runs"].push_back(RunJson(run));
  }
  json["comparison"] = Json::array();
  for (const Comparison& comparison : Compare(settings, runs)) {
    Json entry;
    entry["benchmark"] = comparison.workload;
    entry["threads"] = comparison.threads;
    for (size_t i = 0; i < comparison.median.size(); ++i) {
      entry["ops_per_second"][settings.engines[i]] =
          comparison.median[i]->result.OperationsPerSecond();
    }
    entry["ratio"] = Json::object();  // the first engine's to each other's
    for (size_t i = 1; i < comparison.median.size(); ++i) {
      entry["ratio"][settings.engines[i]] = Share(comparison, i);
    }
    json["comparison"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace sluice::bench
