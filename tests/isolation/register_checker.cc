#include "isolation/register_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

namespace sluice {

namespace {

using Kind = RegisterOperation::Kind;

class RegisterChecker {
 public:
  RegisterChecker(const std::vector<RegisterTransaction>& transactions,
                  const RegisterVersions& versions, CheckedIsolation isolation)
      : transactions_(transactions), versions_(versions), isolation_(isolation) {}

  RegisterReport Check() {
    FindWriters();
    CheckVersions();
    if (!report_.anomalies.empty()) {
      return report_;  // without an order of versions there are no dependencies
    }
    dependencies_.writes.resize(transactions_.size());
    dependencies_.reads.resize(transactions_.size());
    for (size_t i = 0; i < transactions_.size(); ++i) {
      if (Committed(i)) {
        CheckReads(i);
      }
    }
    if (!report_.anomalies.empty()) {
      return report_;
    }
    for (const auto& [key, numbers] : versions_.of_key) {
      for (size_t at = 1; at < numbers.size(); ++at) {
        dependencies_.writes[WriterOf(numbers[at - 1])].insert(WriterOf(numbers[at]));
      }
    }
    dependencies_.commits = versions_.commits;
    report_.anomalies =
        CheckDependencies({transactions_.begin(), transactions_.end()}, dependencies_, isolation_);
    return report_;
  }

 private:
  struct Write {
    size_t transaction;
    bool deletion;
    bool final;  // nothing of it came later to the key
  };
  using Numbers = std::vector<uint64_t>;

  bool Committed(size_t i) const { return transactions_[i].end == RecordedSpan::End::kCommitted; }
  size_t WriterOf(uint64_t number) const { return writes_.at(number).transaction; }
  void Found(std::string text) { report_.anomalies.push_back(std::move(text)); }
  const Numbers& Versions(const std::string& key) const {
    static const Numbers none;
    const auto found = versions_.of_key.find(key);
    return found != versions_.of_key.end() ? found->second : none;
  }

  void FindWriters() {
    for (size_t i = 0; i < transactions_.size(); ++i) {
      std::map<std::string, uint64_t> last;
      for (const RegisterOperation& op : transactions_[i].operations) {
        if (op.kind == Kind::kPut || op.kind == Kind::kDelete) {
          if (const auto before = last.find(op.key); before != last.end()) {
            writes_.at(before->second).final = false;
          }
          writes_[op.number] = {i, op.kind == Kind::kDelete, true};
          last[op.key] = op.number;
        }
      }
    }
  }

  void CheckVersions() {
    std::set<uint64_t> there;
    for (const auto& [key, numbers] : versions_.of_key) {
      for (const uint64_t number : numbers) {
        const auto write = writes_.find(number);
        if (!there.insert(number).second || write == writes_.end()) {
          Found(fmt::format("lost: key {} has version {} twice, or from nowhere", key, number));
        } else if (!Committed(write->second.transaction)) {
          Found(fmt::format("G1a: key {} has version {} of aborted transaction {}", key, number,
                            write->second.transaction));
        } else if (!write->second.final) {
          Found(fmt::format("G1b: key {} has version {}, which transaction {} wrote over", key,
                            number, write->second.transaction));
        }
      }
    }
    for (const auto& [number, write] : writes_) {
      if (Committed(write.transaction) && write.final && there.count(number) == 0) {
        Found(fmt::format("lost: {} of transaction {} is no version", number, write.transaction));
      }
    }
  }

  void CheckReads(size_t reader) {
    std::map<std::string, uint64_t> own;          // number of the last write, by key
    std::map<std::string, size_t> read_to_write;  // what was read, that P4 is about
    for (const RegisterOperation& op : transactions_[reader].operations) {
      const auto mine = own.find(op.key);
      if (op.kind == Kind::kPut || op.kind == Kind::kDelete) {
        const auto read = read_to_write.find(op.key);
        if (mine == own.end() && read != read_to_write.end()) {
          CheckUpdate(reader, op.key, read->second);
        }
        own[op.key] = op.number;
      } else if (mine != own.end()) {
        if (op.number != (writes_.at(mine->second).deletion ? 0 : mine->second)) {
          Found(fmt::format("own: transaction {}, key {}: read {}, not its own {}", reader, op.key,
                            op.number, mine->second));
        }
      } else if (size_t version; CheckRead(reader, op, &version)) {
        AddRead(reader, op.key, version);
        if (op.kind == Kind::kReadForUpdate || isolation_ == CheckedIsolation::kSnapshot) {
          read_to_write[op.key] = version;
        }
      }
    }
  }

  // `*version`: what was read, counted from 1, 0 being what was before; false if that is not known.
  bool CheckRead(size_t reader, const RegisterOperation& op, size_t* version) {
    ++report_.reads;
    const Numbers& numbers = Versions(op.key);
    const auto where = [&] { return fmt::format("transaction {}, key {}", reader, op.key); };
    std::vector<size_t> candidates;
    if (op.number != 0) {
      const auto write = writes_.find(op.number);
      const auto at = std::find(numbers.begin(), numbers.end(), op.number);
      if (write == writes_.end()) {
        return Wrong(fmt::format("lost: {}: {} is from nowhere", where(), op.number));
      }
      if (!Committed(write->second.transaction)) {
        return Wrong(fmt::format("G1a: {}: read {} of aborted transaction {}", where(), op.number,
                                 write->second.transaction));
      }
      if (!write->second.final) {
        return Wrong(fmt::format("G1b: {}: read {}, which transaction {} wrote over", where(),
                                 op.number, write->second.transaction));
      }
      if (at == numbers.end()) {
        return Wrong(fmt::format("lost: {}: {} is a version of another key", where(), op.number));
      }
      candidates.push_back(at - numbers.begin() + 1);
    } else {
      candidates.push_back(0);
      for (size_t at = 0; at < numbers.size(); ++at) {
        if (writes_.at(numbers[at]).deletion) {
          candidates.push_back(at + 1);
        }
      }
    }
    // Those that were there at some time when it can have looked.
    const uint64_t looked =
        isolation_ == CheckedIsolation::kSnapshot ? transactions_[reader].begin_before : op.before;
    const auto impossible = [&](size_t candidate) {
      if (candidate > 0 &&
          transactions_[WriterOf(numbers[candidate - 1])].commit_before > op.after) {
        return true;
      }
      return std::any_of(numbers.begin() + static_cast<ptrdiff_t>(candidate), numbers.end(),
                         [&](uint64_t later) {
                           const size_t writer = WriterOf(later);
                           return writer != reader && transactions_[writer].commit_by < looked;
                         });
    };
    candidates.erase(std::remove_if(candidates.begin(), candidates.end(), impossible),
                     candidates.end());
    if (candidates.empty()) {
      return Wrong(fmt::format("stale: {}: read {} when that was not there", where(), op.number));
    }
    *version = candidates.front();
    report_.left_out += candidates.size() > 1 ? 1 : 0;
    return candidates.size() == 1;
  }
  bool Wrong(std::string text) {
    Found(std::move(text));
    return false;
  }

  // Its write of the key must come right behind the version that it read.
  void CheckUpdate(size_t reader, const std::string& key, size_t version) {
    const Numbers& numbers = Versions(key);
    if (version < numbers.size() && WriterOf(numbers[version]) != reader) {
      Found(
          fmt::format("P4: transaction {}, key {}: transaction {} wrote between its read and "
                      "its write",
                      reader, key, WriterOf(numbers[version])));
    }
  }

  void AddRead(size_t reader, const std::string& key, size_t version) {
    const Numbers& numbers = Versions(key);
    if (version > 0) {
      dependencies_.reads[WriterOf(numbers[version - 1])].insert(reader);
    }
    if (version < numbers.size() && WriterOf(numbers[version]) != reader) {
      dependencies_.overwrites.emplace_back(reader, WriterOf(numbers[version]));
    }
  }

  const std::vector<RegisterTransaction>& transactions_;
  const RegisterVersions& versions_;
  const CheckedIsolation isolation_;
  std::unordered_map<uint64_t, Write> writes_;  // by number
  HistoryDependencies dependencies_;
  RegisterReport report_;
};

}  // namespace

RegisterReport CheckRegisters(const std::vector<RegisterTransaction>& transactions,
                              const RegisterVersions& versions, CheckedIsolation isolation) {
  return RegisterChecker(transactions, versions, isolation).Check();
}

}  // namespace sluice
