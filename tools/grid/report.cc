#include "grid/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "grid/published.h"

namespace sluice::grid {

namespace {

using Row = std::vector<std::string>;

// A Markdown table with its columns aligned, so that it reads well as plain text too.
std::string Table(const Row& head, const std::vector<Row>& rows) {
  std::vector<size_t> widths(head.size());
  for (size_t i = 0; i < head.size(); ++i) {
    widths[i] = head[i].size();
    for (const Row& row : rows) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  const auto add = [&](const Row& row) {
    for (size_t i = 0; i < row.size(); ++i) {
      text += fmt::format("| {:<{}} ", row[i], widths[i]);
    }
    text += "|\n";
  };
  add(head);
  for (const size_t width : widths) {
    text += fmt::format("|{:-<{}}", "", width + 2);
  }
  text += "|\n";
  std::for_each(rows.begin(), rows.end(), add);
  return text + "\n";
}

// Three digits or more.
std::string Figure(double x) { return fmt::format("{:.{}f}", x, x < 10 ? 2 : x < 100 ? 1 : 0); }

// Least and most of what was seen.
struct Span {
  double min = std::numeric_limits<double>::max();
  double max = std::numeric_limits<double>::lowest();

  void Add(double x) {
    min = std::min(min, x);
    max = std::max(max, x);
  }
};

struct Summary {
  DeviceInfo info;
  size_t cells = 0;
  size_t below = 0;
  Span of_contract;
  Span of_limit;
  Span output;  // part of V
  Span start_up;
};

std::string SummaryTable(const Measured& measured) {
  std::vector<std::string> order;
  std::map<std::string, Summary> summaries;
  for (const Measurement& m : measured.cells) {
    Summary& s = summaries[m.cell.config];
    if (s.cells == 0) {
      order.push_back(m.cell.config);
      s.info = m.info;
    }
    ++s.cells;
    s.below += m.MeetsContract() ? 0 : 1;
    s.of_contract.Add(m.CyclesPerRecord() / m.Contract());
    s.of_limit.Add(m.CyclesPerRecord() / m.Limit());
    if (m.OutputRate() != 0) {
      s.output.Add(m.OutputRate() / m.info.value_bytes);
    }
    s.start_up.Add(m.start_up);
  }
  std::vector<Row> rows;
  for (const std::string& config : order) {
    const Summary& s = summaries[config];
    rows.push_back({config, fmt::format("{}", s.info.ways), fmt::format("{}", s.info.value_bytes),
                    fmt::format("{}/{}", s.info.in_bytes, s.info.out_bytes),
                    fmt::format("{}", s.cells), fmt::format("{}", s.below),
                    fmt::format("{:.2f} to {:.2f}", s.of_contract.min, s.of_contract.max),
                    fmt::format("{:.2f} to {:.2f}", s.of_limit.min, s.of_limit.max),
                    s.output.min > s.output.max ? "" : fmt::format("{:.3f}", s.output.min),
                    fmt::format("{:.0f} to {:.0f}", s.start_up.min, s.start_up.max)});
  }
  return Table({"config", "N", "V", "W", "cells", "below", "of contract", "of limit", "output / V",
                "start-up"},
               rows);
}

// The same for all cells that differ in latency and value length only.
std::string RowKey(const Cell& cell) {
  return fmt::format("{}/{}/{}", cell.config, ShapeName(cell.shape), LengthText(cell.key_bytes));
}

std::string CyclesTable(const Measured& measured) {
  std::map<uint32_t, size_t> columns;
  std::vector<std::string> order;
  std::map<std::string, std::map<uint32_t, const Measurement*>> worst;
  for (const Measurement& m : measured.cells) {
    const std::string key = RowKey(m.cell);
    if (!worst.contains(key)) {
      order.push_back(key);
    }
    columns.emplace(m.cell.value_bytes.min, 0);
    const Measurement*& entry = worst[key][m.cell.value_bytes.min];
    if (entry == nullptr || m.CyclesPerRecord() > entry->CyclesPerRecord()) {
      entry = &m;
    }
  }
  Row head = {"config", "shape", "key"};
  for (auto& [value_bytes, column] : columns) {
    column = head.size();
    head.push_back(fmt::format("{} B", value_bytes));
  }
  std::vector<Row> rows;
  for (const std::string& key : order) {
    const auto& entries = worst[key];
    const Cell& cell = entries.begin()->second->cell;
    Row row(head.size());
    row[0] = cell.config;
    row[1] = ShapeName(cell.shape);
    row[2] = LengthText(cell.key_bytes);
    for (const auto& [value_bytes, m] : entries) {
      row[columns[value_bytes]] = fmt::format("{:.2f} ({:.4g}){}", m->CyclesPerRecord(),
                                              m->Contract(), m->MeetsContract() ? "" : " *");
    }
    rows.push_back(std::move(row));
  }
  return Table(head, rows);
}

std::string BelowTable(const Measured& measured) {
  std::vector<Row> rows;
  for (const Measurement& m : measured.cells) {
    if (!m.MeetsContract()) {
      rows.push_back({CellName(m.cell), fmt::format("{:.3f}", m.CyclesPerRecord()),
                      fmt::format("{:.3f}", m.Contract()), fmt::format("{:.3f}", m.Limit())});
    }
  }
  return rows.empty() ? "" : Table({"below the contract", "measured", "contract", "limit"}, rows);
}

std::string PublishedTable(const Measured& measured) {
  std::vector<Row> rows;
  for (const Measurement& m : measured.cells) {
    if (const std::optional<Published> p = FindPublished(measured.grid->name, m)) {
      rows.push_back({m.cell.config, LengthText(m.cell.key_bytes), LengthText(m.cell.value_bytes),
                      Figure(p->measured), Figure(p->value), std::string(p->unit),
                      fmt::format("{:.1f}", p->speedup), std::string(p->source)});
    }
  }
  return rows.empty()
             ? ""
             : Table({"config", "key", "value", "measured", "published", "unit", "times", "source"},
                     rows);
}

}  // namespace

std::string Markdown(const Measured& measured) {
  std::set<uint32_t> latencies;
  for (const Measurement& m : measured.cells) {
    latencies.insert(m.cell.latency);
  }
  const bool whole = measured.grid->name == "thesis";
  std::string text = fmt::format("## {}: {}\n\n", measured.grid->name, measured.grid->about);
  text += SummaryTable(measured);
  text +=
      fmt::format("Cycles per record{}, (contract), * below it; DRAM latency {}{}\n\n",
                  whole ? " of whole jobs" : " in the steady state", fmt::join(latencies, " and "),
                  latencies.size() > 1 ? ", the worse of both" : "");
  text += CyclesTable(measured);
  text += BelowTable(measured);
  text += PublishedTable(measured);
  const std::string notes = PublishedNotes(measured.grid->name, measured.cells);
  if (notes.empty()) {
    text.pop_back();  // the empty line after the last table
  }
  text += notes;
  if (!measured.not_built_in.empty()) {
    text += fmt::format("\nNot built into this program, see `make grid`: {}\n",
                        fmt::join(measured.not_built_in, ", "));
  }
  return text;
}

nlohmann::ordered_json CellsJson(const Measured& measured) {
  auto list = nlohmann::ordered_json::array();
  for (const Measurement& m : measured.cells) {
    nlohmann::ordered_json json;
    json["name"] = CellName(m.cell);
    json["config"] = m.cell.config;
    json["ways"] = m.info.ways;
    json["datapath_bytes"] = m.info.value_bytes;
    json["in_bytes"] = m.info.in_bytes;
    json["out_bytes"] = m.info.out_bytes;
    json["shape"] = ShapeName(m.cell.shape);
    json["key_bytes"] = {m.cell.key_bytes.min, m.cell.key_bytes.max};
    json["value_bytes"] = {m.cell.value_bytes.min, m.cell.value_bytes.max};
    json["latency"] = m.cell.latency;
    json["job_cycles"] = m.job_cycles;
    json["records"] = m.steady.records;
    json["dropped_records"] = m.steady.dropped_records;
    json["raw_bytes"] = m.steady.raw_bytes;
    json["read_bytes"] = m.steady.read_bytes;
    json["written_bytes"] = m.steady.written_bytes;
    json["cycles"] = m.steady.cycles;
    json["cycles_per_record"] = m.CyclesPerRecord();
    json["contract"] = m.Contract();
    json["limit"] = m.Limit();
    json["output_rate"] = m.OutputRate();
    json["start_up"] = m.start_up;
    json["meets_contract"] = m.MeetsContract();
    if (const std::optional<Published> p = FindPublished(measured.grid->name, m)) {
      json["published"] = {{"source", p->source},   {"unit", p->unit},
                           {"value", p->value},     {"measured", p->measured},
                           {"speedup", p->speedup}, {"cycles_per_record", p->cycles_per_record}};
    }
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace sluice::grid
