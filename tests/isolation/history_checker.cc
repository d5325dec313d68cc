#include "isolation/history_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace sluice {

namespace {

using List = std::vector<uint64_t>;

class HistoryChecker {
 public:
  HistoryChecker(const std::vector<RecordedTransaction>& transactions,
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
    return CheckDependencies({transactions_.begin(), transactions_.end()}, dependencies_,
                             isolation_);
  }

 private:
  struct Writer {
    size_t transaction;
    bool final;  // nothing of it came later to the key
  };

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
  // How many elements of the list that was read came from other transactions.
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
    if (isolation_ != CheckedIsolation::kSnapshot) {
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
    dependencies_.writes.resize(transactions_.size());
    dependencies_.reads.resize(transactions_.size());
    for (const auto& [key, versions] : last_) {
      for (size_t at = 1; at < versions.size(); ++at) {
        const size_t before = writers_.at(versions[at - 1]).transaction;
        const size_t after = writers_.at(versions[at]).transaction;
        if (before != after) {
          dependencies_.writes[before].insert(after);
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
          dependencies_.reads[writers_.at(read.list[foreign - 1]).transaction].insert(i);
        }
        if (foreign < versions.size() && writers_.at(versions[foreign]).transaction != i) {
          dependencies_.overwrites.push_back({i, writers_.at(versions[foreign]).transaction});
        }
      }
    }
  }

  const std::vector<RecordedTransaction>& transactions_;
  const std::map<std::string, List>& last_;
  const CheckedIsolation isolation_;
  std::map<uint64_t, Writer> writers_;
  HistoryDependencies dependencies_;
  std::vector<std::string> anomalies_;
};

}  // namespace

std::vector<std::string> CheckHistory(const std::vector<RecordedTransaction>& transactions,
                                      const std::map<std::string, std::vector<uint64_t>>& last,
                                      CheckedIsolation isolation) {
  return HistoryChecker(transactions, last, isolation).Check();
}

}  // namespace sluice
