// sluice unit bench

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "command.h"
#include "device/rtlsim/rtl_device.h"
#include "grid/baseline.h"
#include "grid/grids.h"
#include "grid/plot.h"
#include "grid/report.h"
#include "progress.h"

namespace sluice::tools {

namespace {

struct BenchOptions {
  std::string grid = "quick";
  std::vector<std::string> configs;  // empty: all of the grid that are built in
  std::vector<uint32_t> latencies;   // empty: all of the grid
  std::string check;
  std::string accept;
  std::string plot;
  bool json = false;
};

const grid::Grid& FindGrid(std::string_view name) {
  const auto& grids = grid::Grids();
  return *std::find_if(grids.begin(), grids.end(), [&](const auto& g) { return g.name == name; });
}

template <typename T>
bool Wanted(const std::vector<T>& wanted, const T& value) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
}

// The cells to measure; fills in what the grid has beyond them.
std::vector<grid::Cell> ChooseCells(const BenchOptions& options, grid::Measured* measured) {
  const std::vector<std::string_view> built_in = RtlConfigurations();
  std::vector<grid::Cell> cells;
  for (const grid::Cell& cell : measured->grid->cells) {
    auto& missing = measured->not_built_in;
    if (!Wanted(options.configs, cell.config) || !Wanted(options.latencies, cell.latency)) {
      continue;
    }
    if (std::find(built_in.begin(), built_in.end(), cell.config) != built_in.end()) {
      cells.push_back(cell);
    } else if (missing.empty() || missing.back() != cell.config) {
      missing.push_back(cell.config);
    }
  }
  return cells;
}

// On as many threads as there are cores; a model runs on one.
Status MeasureAll(const std::vector<grid::Cell>& cells, std::vector<grid::Measurement>* results) {
  ProgressBar progress("measuring", "cells");
  std::atomic<size_t> next = 0;
  std::mutex mutex;  // guards what follows, and the progress bar
  size_t done = 0;
  Status first_error;
  results->resize(cells.size());
  const auto work = [&] {
    for (size_t i = next++; i < cells.size(); i = next++) {
      const Status status = Measure(cells[i], &(*results)[i]);
      const std::lock_guard lock(mutex);
      if (!status.ok() && first_error.ok()) {
        first_error = status.WithContext(CellName(cells[i]));
        next = cells.size();
      }
      progress.Update(++done, cells.size());
    }
  };
  std::vector<std::thread> threads(std::max(1u, std::thread::hardware_concurrency()));
  for (std::thread& thread : threads) {
    thread = std::thread(work);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return first_error;
}

// What the gate says of `measured`; nothing if it was not asked.
Status Gate(const BenchOptions& options, const grid::Measured& measured,
            std::vector<std::string>* complaints) {
  const grid::Baseline now = grid::MakeBaseline(measured.cells);
  if (!options.check.empty()) {
    grid::Baseline then;
    SLUICE_RETURN_IF_ERROR(ReadBaseline(options.check, &then));
    *complaints = Compare(then, now);
    for (const std::string& config : measured.not_built_in) {
      complaints->push_back(fmt::format("{}: not built in, not measured", config));
    }
  }
  return options.accept.empty() ? Status() : WriteBaseline(options.accept, now);
}

int Bench(const BenchOptions& options) {
  grid::Measured measured;
  measured.grid = &FindGrid(options.grid);
  Json json;
  json["status"] = "ok";
  json["grid"] = options.grid;
  const std::vector<grid::Cell> cells = ChooseCells(options, &measured);
  json["not_built_in"] = measured.not_built_in;
  if (cells.empty()) {
    const std::string text =
        measured.not_built_in.empty()
            ? fmt::format("grid {}: no cell of these configurations has these latencies",
                          options.grid)
            : fmt::format("grid {}: no cell to measure; not built in (`make grid` has all): {}",
                          options.grid, fmt::join(measured.not_built_in, ", "));
    Fail("usage", text, options.json, std::move(json));
    return kExitUsage;
  }
  std::vector<std::string> complaints;
  Status status = MeasureAll(cells, &measured.cells);
  if (status.ok()) {
    json["cells"] = CellsJson(measured);
    status = Gate(options, measured, &complaints);
  }
  if (status.ok() && !options.plot.empty()) {
    status = Plot(measured, options.plot);
  }
  if (!status.ok()) {
    return Fail(status, options.json, std::move(json));
  }
  if (!options.json) {
    fmt::print("{}", Markdown(measured));
  }
  if (!complaints.empty()) {
    json["complaints"] = complaints;
    return Fail("baseline",
                fmt::format("{}\n{} differences from {}. Faster is a difference too; if all are "
                            "wanted: sluice unit bench --grid {} --accept {}",
                            fmt::join(complaints, "\n"), complaints.size(), options.check,
                            options.grid, options.check),
                options.json, std::move(json));
  }
  if (options.json) {
    PrintJson(json);
  }
  return kExitOk;
}

}  // namespace

void AddUnitBench(CLI::App* unit, Action* action) {
  CLI::App* bench = AddSubcommand(
      unit, "bench", "Measure a grid of shapes, beside the contract and published figures",
      "sluice unit bench\n"
      "sluice unit bench --grid fcae --plot fcae.svg\n"
      "sluice unit bench --grid quick --config wide,tiny --json\n"
      "sluice unit bench --grid quick --check hw/grid_baseline.json");
  auto options = std::make_shared<BenchOptions>();
  std::vector<std::string> names;
  std::set<std::string> configs;
  std::set<uint32_t> latencies;
  for (const grid::Grid& grid : grid::Grids()) {
    names.emplace_back(grid.name);
    for (const grid::Cell& cell : grid.cells) {
      configs.insert(cell.config);
      latencies.insert(cell.latency);
    }
  }
  bench->add_option("--grid", options->grid, fmt::format("One of: {}", fmt::join(names, ", ")))
      ->check(CLI::IsMember(names))
      ->type_name("NAME")
      ->capture_default_str();
  bench->add_option("--config", options->configs, "Only these configurations of the grid")
      ->delimiter(',')
      ->check(CLI::IsMember(configs))
      ->type_name("NAMES");
  bench
      ->add_option("--latency", options->latencies,
                   "Only these latencies of memory in the grid, in cycles")
      ->delimiter(',')
      ->check(CLI::IsMember(latencies))
      ->type_name("CYCLES");
  bench->add_option("--check", options->check, "Fail if cells differ from this baseline")
      ->type_name("FILE");
  bench->add_option("--accept", options->accept, "Write the baseline to this file")
      ->type_name("FILE");
  AddPlotOption(bench, &options->plot, "cycles over value length");
  AddJsonOption(bench, &options->json);
  bench->callback([options, action] { *action = [options] { return Bench(*options); }; });
}

}  // namespace sluice::tools
