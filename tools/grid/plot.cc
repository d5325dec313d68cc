#include "grid/plot.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "gnuplot.h"
#include "grid/published.h"

namespace sluice::grid {

namespace {

using tools::GnuplotQuote;

// A curve: cycles per record by value length.
using Curve = std::map<uint32_t, double>;

// What is drawn of one key length.
struct Curves {
  Curve measured;
  Curve contract;
  Curve published;
};

struct Panel {
  std::string config;
  std::map<std::string, Curves> by_key;
};

std::vector<Panel> MakePanels(const Measured& measured) {
  std::vector<Panel> panels;
  for (const Measurement& m : measured.cells) {
    const Cell& first = measured.cells.front().cell;
    if (m.cell.shape != first.shape || m.cell.latency != first.latency) {
      continue;
    }
    if (panels.empty() || panels.back().config != m.cell.config) {
      panels.push_back({m.cell.config, {}});
    }
    Curves& curves = panels.back().by_key[LengthText(m.cell.key_bytes)];
    const uint32_t value = m.cell.value_bytes.min;
    curves.measured[value] = m.CyclesPerRecord();
    curves.contract[value] = m.Contract();
    if (const std::optional<Published> p = FindPublished(measured.grid->name, m)) {
      curves.published[value] = p->cycles_per_record;
    }
  }
  return panels;
}

void AddPanel(const Panel& panel, std::string* script) {
  std::string plot;
  std::string data;
  int color = 1;
  for (const auto& entry : panel.by_key) {
    const std::string& key = entry.first;
    const Curves& curves = entry.second;
    const auto add = [&](const Curve& curve, std::string_view what, std::string_view style) {
      if (curve.empty()) {
        return;
      }
      plot += fmt::format("{} '-' using ($1+1):2 with {} lc {} title {}", plot.empty() ? "" : ",",
                          style, color, GnuplotQuote(fmt::format("{}, key {} B", what, key)));
      for (const auto& [value, cycles] : curve) {
        data += fmt::format("{} {}\n", value, cycles);
      }
      data += "e\n";
    };
    add(curves.measured, "measured", "linespoints pt 7 ps 0.5");
    add(curves.contract, "contract", "lines dt 2");
    add(curves.published, "published", "linespoints pt 4 dt 3");
    ++color;
  }
  *script += fmt::format("set title {}\nplot{}\n{}", GnuplotQuote(panel.config), plot, data);
}

std::string Script(const std::vector<Panel>& panels, size_t rows, size_t columns,
                   const Measured& measured) {
  const Cell& first = measured.cells.front().cell;
  std::string script = fmt::format(
      "set multiplot layout {},{} title {}\n"
      "set logscale xy\nset autoscale xfix\nset grid\nset key top left\nset xlabel 'value, bytes'\n"
      "set ylabel 'cycles per record'\n",
      rows, columns,
      GnuplotQuote(fmt::format("{}, {}, DRAM latency {}", measured.grid->name,
                               ShapeName(first.shape), first.latency)));
  // One more than the length is drawn, as 0 has no place on a logarithmic axis.
  script += "set xtics (";
  std::map<uint32_t, bool> ticks;
  for (const Measurement& m : measured.cells) {
    ticks[m.cell.value_bytes.min] = true;
  }
  std::string_view comma;
  for (const auto& [value, unused] : ticks) {
    script += fmt::format("{}'{}' {}", comma, value, value + 1);
    comma = ", ";
  }
  script += ")\n";
  for (const Panel& panel : panels) {
    AddPanel(panel, &script);
  }
  return script + "unset multiplot\n";
}

}  // namespace

Status Plot(const Measured& measured, const std::string& path) {
  const std::vector<Panel> panels = MakePanels(measured);
  const auto columns = static_cast<size_t>(std::ceil(std::sqrt(panels.size())));
  const size_t rows = columns == 0 ? 0 : (panels.size() + columns - 1) / columns;
  return tools::RunGnuplot(Script(panels, rows, columns, measured), 480 * columns, 380 * rows,
                           path);
}

}  // namespace sluice::grid
