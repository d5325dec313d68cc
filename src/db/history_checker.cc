#include "db/history_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace sluice {

namespace {

using List = std::vector<uint64_t>;

class Checker {
 public:
  Checker(const std::vector<RecordedTransaction>& transactions,
          const std::map<std::string, List>& last, CheckedIsolation isolation)
      : transactions_(transactions), last_(last), isolation_(isolation) {}

  std::vector<std::string> Check() {
    FindWriters();
    CheckVersions();
    if (!anomalies_.empty()) {
      return anomalies_;  // without an order of versions there are no dependencies
    }
    for (size_t i = 0; i < transactions_.size(); ++i) {
      if (Committed(i)) {
        for (size_t r = 0; r < transactions_[i].reads.size(); ++r) {
          CheckRead(i, r);
        }
      }
    }
    if (!anomalies_.empty()) {
      return anomalies_;
    }
    FindDependencies();
    if (CheckCycle("G0", writes_)) {
      return anomalies_;
    }
    std::vector<std::set<size_t>> dependencies = writes_;
    for (size_t i = 0; i < dependencies.size(); ++i) {
      dependencies[i].insert(reads_[i].begin(), reads_[i].end());
    }
    if (!CheckCycle("G1c", dependencies) && isolation_ == CheckedIsolation::kSnapshot) {
      CheckSnapshots(dependencies);
    }
    return anomalies_;
  }

 private:
  struct Writer {
    size_t transaction;
    bool final;  // nothing of it came later to the key
  };
  using Graph = std::vector<std::set<size_t>>;

  bool Committed(size_t i) const {
    return transactions_[i].end == RecordedTransaction::End::kCommitted;
  }
  void Found(std::string text) { anomalies_.push_back(std::move(text)); }

  void FindWriters() {
    for (size_t i = 0; i < transactions_.size(); ++i) {
      for (const auto& [key, list] : transactions_[i].appends) {
        for (const uint64_t number : list) {
          writers_[number] = {i, number == list.back()};
        }
      }
    }
  }

  // The lists at the end, which are the orders of versions.
  void CheckVersions() {
    std::set<uint64_t> there;
    for (const auto& [key, list] : last_) {
      for (size_t at = 0; at < list.size(); ++at) {
        const auto writer = writers_.find(list[at]);
        if (!there.insert(list[at]).second || writer == writers_.end()) {
          Found(fmt::format("lost: key {} ends with {} twice, or from nowhere", key, list[at]));
        } else if (!Committed(writer->second.transaction)) {
          Found(fmt::format("G1a: key {} ends with {} of aborted transaction {}", key, list[at],
                            writer->second.transaction));
        }
      }
    }
    for (const auto& [number, writer] : writers_) {
      if (Committed(writer.transaction) && there.count(number) == 0) {
        Found(fmt::format("lost: {} of transaction {} is not there at the end", number,
                          writer.transaction));
      }
    }
  }

  const List& Versions(const std::string& key) const {
    static const List none;
    const auto found = last_.find(key);
    return found != last_.end() ? found->second : none;
  }
  // Of what was read, what came from others.
  size_t Foreign(size_t transaction, size_t read) const {
    const size_t own = transactions_[transaction].own_appends[read];
    const size_t all = transactions_[transaction].reads[read].list.size();
    return all - std::min(all, own);
  }

  void CheckRead(size_t reader, size_t number) {
    const RecordedTransaction& t = transactions_[reader];
    const RecordedRead& read = t.reads[number];
    const size_t foreign = Foreign(reader, number);
    const size_t own = t.own_appends[number];
    const auto where = [&] { return fmt::format("transaction {}, key {}", reader, read.key); };
    const auto appends = t.appends.find(read.key);
    if (own > 0 &&
        (read.list.size() < own || !std::equal(read.list.end() - static_cast<ptrdiff_t>(own),
                                               read.list.end(), appends->second.begin()))) {
      return Found(fmt::format("own: {}: its own appends are not what it read last", where()));
    }
    const List& versions = Versions(read.key);
    for (size_t at = 0; at < foreign; ++at) {
      const auto writer = writers_.find(read.list[at]);
      if (writer == writers_.end()) {
        return Found(fmt::format("lost: {}: {} is from nowhere", where(), read.list[at]));
      }
      if (!Committed(writer->second.transaction)) {
        return Found(fmt::format("G1a: {}: read {} of aborted transaction {}", where(),
                                 read.list[at], writer->second.transaction));
      }
      if (at >= versions.size() || versions[at] != read.list[at]) {
        return Found(fmt::format("lost: {}: {} at place {} is not so in the end", where(),
                                 read.list[at], at));
      }
    }
    if (foreign > 0) {
      const Writer& writer = writers_.at(read.list[foreign - 1]);
      if (writer.transaction != reader && !writer.final) {
        return Found(fmt::format("G1b: {}: read {}, which transaction {} appended to", where(),
                                 read.list[foreign - 1], writer.transaction));
      }
    }
    if (isolation_ == CheckedIsolation::kReadCommitted) {
      for (size_t at = foreign; at < versions.size(); ++at) {
        const size_t writer = writers_.at(versions[at]).transaction;
        if (writer != reader && transactions_[writer].commit_by < read.before) {
          return Found(
              fmt::format("stale: {}: did not read {}, committed before", where(), versions[at]));
        }
      }
    }
  }

  void FindDependencies() {
    writes_.resize(transactions_.size());
    reads_.resize(transactions_.size());
    for (const auto& [key, versions] : last_) {
      for (size_t at = 1; at < versions.size(); ++at) {
        const size_t before = writers_.at(versions[at - 1]).transaction;
        const size_t after = writers_.at(versions[at]).transaction;
        if (before != after) {
          writes_[before].insert(after);
        }
      }
    }
    for (size_t i = 0; i < transactions_.size(); ++i) {
      if (!Committed(i)) {
        continue;
      }
      for (size_t r = 0; r < transactions_[i].reads.size(); ++r) {
        const RecordedRead& read = transactions_[i].reads[r];
        const List& versions = Versions(read.key);
        const size_t foreign = Foreign(i, r);
        if (foreign > 0) {
          reads_[writers_.at(read.list[foreign - 1]).transaction].insert(i);
        }
        if (foreign < versions.size() && writers_.at(versions[foreign]).transaction != i) {
          overwrites_.push_back({i, writers_.at(versions[foreign]).transaction});
        }
      }
    }
  }

  // Whether there is a path; `*path` is one.
  static bool Reach(const Graph& graph, size_t from, size_t to, std::vector<size_t>* path) {
    std::vector<size_t> came_from(graph.size(), SIZE_MAX);
    std::vector<size_t> next{from};
    while (!next.empty()) {
      const size_t at = next.back();
      next.pop_back();
      for (const size_t neighbour : graph[at]) {
        if (came_from[neighbour] != SIZE_MAX) {
          continue;
        }
        came_from[neighbour] = at;
        if (neighbour == to) {
          path->assign({to});
          do {
            path->push_back(came_from[path->back()]);
          } while (path->back() != from);
          std::reverse(path->begin(), path->end());
          return true;
        }
        next.push_back(neighbour);
      }
    }
    return false;
  }

  bool CheckCycle(const char* name, const Graph& graph) {
    // Without those from which no cycle can go on, none is left if there is no cycle.
    std::vector<size_t> incoming(graph.size());
    for (const auto& edges : graph) {
      for (const size_t to : edges) {
        ++incoming[to];
      }
    }
    std::vector<size_t> free;
    for (size_t i = 0; i < graph.size(); ++i) {
      if (incoming[i] == 0) {
        free.push_back(i);
      }
    }
    size_t left = graph.size();
    while (!free.empty()) {
      const size_t at = free.back();
      free.pop_back();
      --left;
      for (const size_t to : graph[at]) {
        if (--incoming[to] == 0) {
          free.push_back(to);
        }
      }
    }
    if (left == 0) {
      return false;
    }
    for (size_t i = 0; i < graph.size(); ++i) {
      if (std::vector<size_t> path; incoming[i] > 0 && Reach(graph, i, i, &path)) {
        Found(fmt::format("{}: cycle of transactions {}", name, fmt::join(path, " -> ")));
        return true;
      }
    }
    return true;
  }

  void CheckSnapshots(const Graph& dependencies) {
    for (size_t i = 0; i < dependencies.size(); ++i) {
      for (const size_t on : dependencies[i]) {
        if (transactions_[i].commit_before > transactions_[on].snapshot_by) {
          Found(fmt::format(
              "G-SIa: transaction {} depends on {}, which committed after its snapshot", on, i));
          return;
        }
      }
    }
    // The order of time: behind each transaction that ends a point, from which later points and
    // the transactions that begin behind it can be reached.
    Graph graph = dependencies;
    std::vector<std::pair<uint64_t, size_t>> ends;
    for (size_t i = 0; i < transactions_.size(); ++i) {
      if (Committed(i)) {
        ends.emplace_back(transactions_[i].commit_by, i);
      }
    }
    std::sort(ends.begin(), ends.end());
    const size_t points = graph.size();
    graph.resize(points + ends.size());
    for (size_t i = 0; i < ends.size(); ++i) {
      graph[ends[i].second].insert(points + i);
      if (i + 1 < ends.size()) {
        graph[points + i].insert(points + i + 1);
      }
    }
    for (size_t i = 0; i < transactions_.size(); ++i) {
      const auto after = std::lower_bound(ends.begin(), ends.end(),
                                          std::pair{transactions_[i].begin_before, size_t{0}});
      if (Committed(i) && after != ends.begin()) {
        graph[points + (after - ends.begin()) - 1].insert(i);
      }
    }
    for (const auto& [reader, writer] : overwrites_) {
      if (std::vector<size_t> path; Reach(graph, writer, reader, &path)) {
        path.erase(std::remove_if(path.begin(), path.end(), [&](size_t i) { return i >= points; }),
                   path.end());
        Found(fmt::format("G-SIb: transaction {0} did not see transaction {1}, and yet {2}", reader,
                          writer, fmt::join(path, " -> ")));
        return;
      }
    }
  }

  const std::vector<RecordedTransaction>& transactions_;
  const std::map<std::string, List>& last_;
  const CheckedIsolation isolation_;
  std::map<uint64_t, Writer> writers_;
  Graph writes_;
  Graph reads_;
  std::vector<std::pair<size_t, size_t>> overwrites_;  // anti-dependencies
  std::vector<std::string> anomalies_;
};

}  // namespace

std::vector<std::string> CheckHistory(const std::vector<RecordedTransaction>& transactions,
                                      const std::map<std::string, std::vector<uint64_t>>& last,
                                      CheckedIsolation isolation) {
  return Checker(transactions, last, isolation).Check();
}

}  // namespace sluice
