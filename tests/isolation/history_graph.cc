#include "isolation/history_graph.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice {

namespace {

// The path, which there is, from a node back to it.
std::vector<size_t> PathBack(const HistoryGraph& graph, size_t node) {
  std::vector<size_t> came_from(graph.size(), SIZE_MAX);
  std::vector<size_t> next{node};
  while (came_from[node] == SIZE_MAX && !next.empty()) {
    const size_t at = next.back();
    next.pop_back();
    for (const size_t neighbour : graph[at]) {
      if (came_from[neighbour] == SIZE_MAX) {
        came_from[neighbour] = at;
        next.push_back(neighbour);
      }
    }
  }
  std::vector<size_t> path{node};
  do {
    path.push_back(came_from[path.back()]);
  } while (path.back() != node);
  std::reverse(path.begin(), path.end());
  return path;
}

// Takes nodes away that no edge leads to, or none from, until none is left, or only what lies on
// cycles or between them. Returns a cycle; empty if there is none.
std::vector<size_t> FindCycle(const HistoryGraph& graph) {
  HistoryGraph reverse(graph.size());
  for (size_t from = 0; from < graph.size(); ++from) {
    for (const size_t to : graph[from]) {
      reverse[to].insert(from);
    }
  }
  std::vector<bool> gone(graph.size());
  const auto peel = [&](const HistoryGraph& in, const HistoryGraph& out) {
    std::vector<size_t> degree(graph.size());
    std::vector<size_t> free;
    for (size_t i = 0; i < graph.size(); ++i) {
      for (const size_t from : in[i]) {
        degree[i] += gone[from] ? 0 : 1;
      }
      if (!gone[i] && degree[i] == 0) {
        free.push_back(i);
      }
    }
    while (!free.empty()) {
      const size_t at = free.back();
      free.pop_back();
      gone[at] = true;
      for (const size_t to : out[at]) {
        if (!gone[to] && --degree[to] == 0) {
          free.push_back(to);
        }
      }
    }
  };
  peel(reverse, graph);
  peel(graph, reverse);
  // From each that is left an edge leads to another one: so one comes back to where it was.
  auto at = static_cast<size_t>(std::find(gone.begin(), gone.end(), false) - gone.begin());
  if (at == graph.size()) {
    return {};
  }
  std::vector<bool> seen(graph.size());
  while (!seen[at]) {
    seen[at] = true;
    at = *std::find_if(graph[at].begin(), graph[at].end(), [&](size_t to) { return !gone[to]; });
  }
  return PathBack(graph, at);
}

class GraphChecker {
 public:
  GraphChecker(const std::vector<RecordedSpan>& spans, const HistoryDependencies& dependencies)
      : spans_(spans), of_(dependencies) {}

  std::vector<std::string> Check(CheckedIsolation isolation) {
    HistoryGraph dependencies = of_.writes;
    for (size_t i = 0; i < dependencies.size(); ++i) {
      dependencies[i].insert(of_.reads[i].begin(), of_.reads[i].end());
    }
    if (CheckCycle("G0", of_.writes) || CheckCycle("G1c", dependencies)) {
      return anomalies_;
    }
    if (isolation == CheckedIsolation::kSnapshot && !CheckTimes(dependencies)) {
      CheckOrder(dependencies);
    }
    if (isolation == CheckedIsolation::kSerializable) {
      for (const auto& [reader, writer] : of_.overwrites) {
        dependencies[reader].insert(writer);
      }
      CheckCycle("G2", dependencies);
    }
    return anomalies_;
  }

 private:
  bool CheckCycle(const char* name, const HistoryGraph& graph) {
    const std::vector<size_t> cycle = FindCycle(graph);
    if (!cycle.empty()) {
      anomalies_.push_back(
          fmt::format("{}: cycle of transactions {}", name, fmt::join(cycle, " -> ")));
    }
    return !cycle.empty();
  }

  bool CheckTimes(const HistoryGraph& dependencies) {
    for (size_t i = 0; i < dependencies.size(); ++i) {
      for (const size_t on : dependencies[i]) {
        if (spans_[i].commit_before > spans_[on].snapshot_by) {
          anomalies_.push_back(fmt::format(
              "G-SIa: transaction {} depends on {}, which committed after its snapshot", on, i));
          return true;
        }
      }
    }
    return false;
  }

  // What must have come before what: of transaction i the snapshot, 2 i, and the commit, 2 i + 1;
  // and behind those of all, the ticks.
  void CheckOrder(const HistoryGraph& dependencies) {
    std::vector<uint64_t> ticks;
    for (const RecordedSpan& span : spans_) {
      ticks.insert(ticks.end(),
                   {span.begin_before, span.snapshot_by, span.commit_before, span.commit_by});
    }
    std::sort(ticks.begin(), ticks.end());
    ticks.erase(std::unique(ticks.begin(), ticks.end()), ticks.end());
    const size_t events = 2 * spans_.size();
    HistoryGraph order(events + ticks.size());
    const auto tick = [&](uint64_t at) {
      return events + (std::lower_bound(ticks.begin(), ticks.end(), at) - ticks.begin());
    };
    for (size_t i = 1; i < ticks.size(); ++i) {
      order[events + i - 1].insert(events + i);
    }
    for (size_t i = 0; i < spans_.size(); ++i) {
      if (spans_[i].end != RecordedSpan::End::kCommitted) {
        continue;
      }
      order[2 * i].insert(2 * i + 1);
      order[tick(spans_[i].begin_before)].insert(2 * i);
      order[2 * i].insert(tick(spans_[i].snapshot_by));
      order[tick(spans_[i].commit_before)].insert(2 * i + 1);
      order[2 * i + 1].insert(tick(spans_[i].commit_by));
      for (const size_t on : dependencies[i]) {
        order[2 * i + 1].insert(2 * on);
      }
    }
    for (const auto& [reader, writer] : of_.overwrites) {
      order[2 * reader].insert(2 * writer + 1);
    }
    for (size_t i = 1; i < of_.commits.size(); ++i) {
      order[2 * of_.commits[i - 1] + 1].insert(2 * of_.commits[i] + 1);
    }
    std::vector<std::string> names;
    for (const size_t event : FindCycle(order)) {
      if (event < events) {
        names.push_back(fmt::format("{} of {}", event % 2 == 0 ? "snapshot" : "commit", event / 2));
      }
    }
    if (!names.empty()) {
      anomalies_.push_back(
          fmt::format("G-SIb: each must have come before the next: {}", fmt::join(names, ", ")));
    }
  }

  const std::vector<RecordedSpan>& spans_;
  const HistoryDependencies& of_;
  std::vector<std::string> anomalies_;
};

}  // namespace

std::vector<std::string> CheckDependencies(const std::vector<RecordedSpan>& spans,
                                           const HistoryDependencies& dependencies,
                                           CheckedIsolation isolation) {
  return GraphChecker(spans, dependencies).Check(isolation);
}

}  // namespace sluice
