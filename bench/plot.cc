#include "bench/plot.h"

#include <fmt/format.h>

#include <algorithm>

#include "gnuplot.h"

namespace sluice::bench {

namespace {

using tools::GnuplotQuote;

// A plot command of a curve per engine, with the data that it reads.
class Curves {
 public:
  void Begin(const std::string& engine) {
    plot_ += fmt::format("{} '-' using 1:2 with lines lc {} lw 1.5 title {}",
                         curves_ == 0 ? "" : ",", curves_ + 1, GnuplotQuote(engine));
    ++curves_;
    data_ += curves_ == 1 ? "" : "e\n";
  }
  void Add(double x, double y) { data_ += fmt::format("{} {}\n", x, y); }
  void AddGap() { data_ += "\n"; }
  std::string Script() const { return fmt::format("plot{}\n{}e\n", plot_, data_); }

 private:
  int curves_ = 0;
  std::string plot_;
  std::string data_;
};

std::string Title(const Comparison& comparison) {
  return comparison.threads == 1
             ? comparison.workload
             : fmt::format("{}, {} threads", comparison.workload, comparison.threads);
}

std::string ThroughputPanel(const Comparison& comparison) {
  Curves curves;
  for (const Run* run : comparison.median) {
    curves.Begin(run->engine);
    const Throughput& series = run->result.throughput;
    for (size_t i = 0; i < series.operations.size(); ++i) {
      curves.Add((static_cast<double>(i) + 0.5) * series.interval_seconds,
                 static_cast<double>(series.operations[i]) / series.interval_seconds / 1e3);
    }
    // Over before the first interval was, or before anything ended in one.
    if (std::all_of(series.operations.begin(), series.operations.end(),
                    [](uint64_t operations) { return operations == 0; })) {
      curves.Add(run->result.seconds / 2, run->result.OperationsPerSecond() / 1e3);
    }
  }
  return fmt::format(
      "unset logscale\nset xrange [0:*]\nset yrange [0:*]\nset xtics auto\nset title {}\nset "
      "xlabel 'seconds'\n"
      "set ylabel 'thousand operations per second'\n{}",
      GnuplotQuote(Title(comparison)), curves.Script());
}

std::string ResponsePanel(const Comparison& comparison) {
  Curves curves;
  for (const Run* run : comparison.median) {
    const auto& intervals = run->result.responses.intervals();
    const auto draw = [&](const std::string& title, const auto& us) {
      curves.Begin(title);
      for (size_t i = 0; i < intervals.size(); ++i) {
        if (intervals[i].count > 0) {
          curves.Add((static_cast<double>(i) + 0.5) * Responses::kIntervalSeconds,
                     us(intervals[i]));
        }
      }
    };
    draw(run->engine + ", mean", [](const Responses::Interval& interval) {
      return interval.sum_us / static_cast<double>(interval.count);
    });
    draw(run->engine + ", longest",
         [](const Responses::Interval& interval) { return interval.max_us; });
  }
  return fmt::format(
      "unset logscale\nset logscale y\nset xrange [0:*]\nset yrange [*:*]\nset xtics auto\n"
      "set title {}\nset xlabel 'seconds'\nset ylabel 'response time, us'\n{}",
      GnuplotQuote(Title(comparison)), curves.Script());
}

// Of the calls that ended in each second; a second without any is a gap.
std::string SecondsPanel(const Comparison& comparison) {
  Curves curves;
  size_t seconds = 0;
  for (const Run* run : comparison.median) {
    const auto draw = [&](const std::string& title, const auto& ns) {
      curves.Begin(title);
      double second = 0.5;
      for (const CoarseHistogram& calls : run->result.by_second.all()) {
        if (calls.count() > 0) {
          curves.Add(second, static_cast<double>(ns(calls)) / 1e3);
          ++seconds;
        } else {
          curves.AddGap();
        }
        second += 1;
      }
    };
    draw(run->engine + ", p99",
         [](const CoarseHistogram& calls) { return calls.PercentileNs(99); });
    draw(run->engine + ", longest", [](const CoarseHistogram& calls) { return calls.max_ns(); });
  }
  if (seconds == 0) {
    return "set multiplot next\n";
  }
  return fmt::format(
      "unset logscale\nset logscale y\nset xrange [0:*]\nset yrange [*:*]\nset xtics auto\n"
      "set title {}\nset xlabel 'seconds'\nset ylabel 'latency within a second, us'\n{}",
      GnuplotQuote(Title(comparison)), curves.Script());
}

// Over 1 / (1 - p), drawn logarithmically, as HdrHistogram's plots are.
std::string LatencyPanel(const Comparison& comparison) {
  Curves curves;
  const Workload& workload = *FindWorkload(comparison.workload);
  for (const Run* run : comparison.median) {
    Histogram all;
    for (size_t i = 0; i < kOps; ++i) {
      if (workload.percent[i] > 0) {
        all.Merge(run->result.latency[i]);
      }
    }
    curves.Begin(run->engine);
    const double most = std::max<double>(10, static_cast<double>(all.count()));
    for (double rarity = 1; rarity <= most; rarity *= 1.1) {
      curves.Add(rarity, static_cast<double>(all.PercentileNs(100 - 100 / rarity)) / 1e3);
    }
  }
  return fmt::format(
      "set logscale xy\nset xrange [*:*]\nset yrange [*:*]\nset xtics ('0%%' 1, '90%%' 10, '99%%' "
      "100, '99.9%%' "
      "1e3, '99.99%%' 1e4, '99.999%%' 1e5, '99.9999%%' 1e6)\nset title {}\nset xlabel "
      "'percentile'\nset ylabel 'latency, us'\n{}",
      GnuplotQuote(Title(comparison)), curves.Script());
}

// One workload, over its numbers of threads.
std::string ThreadsPanel(const BenchSettings& settings, const std::vector<Comparison>& comparisons,
                         const std::string& workload) {
  Curves curves;
  for (size_t engine = 0; engine < settings.engines.size(); ++engine) {
    curves.Begin(settings.engines[engine]);
    for (const Comparison& comparison : comparisons) {
      if (comparison.workload == workload) {
        curves.Add(comparison.threads,
                   comparison.median[engine]->result.OperationsPerSecond() / 1e3);
      }
    }
  }
  return fmt::format(
      "set logscale xy 2\nunset logscale y\nset logscale y 10\nset xrange [*:*]\nset yrange [*:*]\n"
      "set xtics auto\nset title {}\nset xlabel 'threads'\n"
      "set ylabel 'thousand operations per second'\n{}",
      GnuplotQuote(workload), curves.Script());
}

}  // namespace

Status Plot(const BenchSettings& settings, const std::vector<Run>& runs, const std::string& path) {
  std::string panels;
  size_t rows = 0;
  const std::vector<Comparison> comparisons = Compare(settings, runs);
  std::string swept;
  for (const Comparison& comparison : comparisons) {
    if (FindWorkload(comparison.workload)->upkeep != Workload::Upkeep::kNone) {
      continue;
    }
    if (settings.thread_counts.size() > 1 && swept != comparison.workload) {
      swept = comparison.workload;
      panels +=
          ThreadsPanel(settings, comparisons, swept) + "set multiplot next\nset multiplot next\n";
      ++rows;
    }
    panels += ThroughputPanel(comparison) + SecondsPanel(comparison) +
              (FindWorkload(comparison.workload)->wave ? ResponsePanel(comparison)
                                                       : LatencyPanel(comparison));
    ++rows;
  }
  if (rows == 0) {
    return Status::InvalidArgument("nothing to plot: no benchmark that runs operations");
  }
  return tools::RunGnuplot(
      fmt::format("set multiplot layout {},3\nset grid\nset key top left\nset autoscale xfix\n{}"
                  "unset multiplot\n",
                  rows, panels),
      1500, 320 * rows, path);
}

}  // namespace sluice::bench
