// What the clients of a simulated database wrote, and so what may be found in it.
//
// Every key belongs to one client, which alone writes it, so of each client there is a row of
// states, one after each of its batches. Whatever is read must be, for each client, one of those
// that were possible: not before what was acknowledged when the read began, not behind what was
// begun when it ended. Across clients, whoever is seen to have written a batch is seen in a state
// in which all is there that was acknowledged before that batch was begun.
//
// Besides, clients move money between accounts, which are everybody's: their sum never changes.
//
// Not thread-safe, but each call is one step of the simulation.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::sim {

// A moment: what happened at a smaller one happened before. 0: not yet.
using Moment = uint64_t;

using TableKey = std::pair<std::string, std::string>;  // name of the sub-table, key
using Value = std::shared_ptr<const std::string>;      // null: deleted
using State = std::map<TableKey, Value>;
using Change = std::pair<TableKey, Value>;

// What a read without an error must agree with; of a crash, `power` says which.
struct Span {
  enum class Kind { kRead, kProcessCrash, kPowerCrash };
  Moment begin;
  Moment end;
  Kind kind = Kind::kRead;
};

class Model {
 public:
  explicit Model(size_t clients) : clients_(clients) {}

  size_t clients() const { return clients_.size(); }
  Moment Now() { return ++now_; }

  // A key that only `client` writes, made from any text.
  static std::string KeyOf(size_t client, std::string_view table, const std::string& text);
  // The first key that may be the client's, and the first behind them all, of a sub-table in which
  // they lie together.
  static std::string RangeBegin(size_t client);
  static std::string RangeEnd(size_t client);
  static bool HasRanges(std::string_view table) { return table == "b"; }

  // The client begins to write a batch; its number.
  size_t Begin(size_t client, std::vector<Change> changes, bool sync);
  void Acknowledge(size_t client, size_t number);
  // It had no effect, and will have none.
  void Void(size_t client, size_t number);
  // As the client sees it that has no batch under way.
  Value Own(size_t client, const TableKey& key) const;
  std::vector<TableKey> OwnKeys(size_t client, const std::string& table) const;

  // Transactions in two phases. Those that are left prepared outlive the crash.
  void BeginPrepare(const std::string& name, size_t client, std::vector<Change> changes, bool sync);
  void Prepared(const std::string& name);
  void NotPrepared(const std::string& name);
  // Begins to resolve it; the number of the batch, of a commit.
  size_t BeginCommit(const std::string& name, bool sync);
  void BeginRollback(const std::string& name, bool sync);
  void Resolved(const std::string& name);
  // It had no effect: it is prepared as before.
  void NotResolved(const std::string& name);
  std::vector<std::string> PreparedOf(size_t client) const;
  // Rows that it has locked.
  std::vector<TableKey> LockedBy(const std::string& name) const;

  // Sub-tables, but for the default one.
  void BeginCreate(const std::string& table);
  void Created(const std::string& table);
  void NotCreated(const std::string& table) { tables_.erase(table); }
  void BeginDrop(const std::string& table);
  void Dropped(const std::string& table);
  void NotDropped(const std::string& table);
  std::vector<std::string> Tables() const;

  // What is wrong with this outcome of a read of one key; empty: nothing.
  std::string CheckOne(const TableKey& key, const Value& found, const Span& span) const;
  // What is wrong with what was found in `tables`, all of one state; empty: nothing.
  std::string Check(const State& found, const std::set<std::string>& tables,
                    const Span& span) const;
  // The same of all there is after a crash, which the model then goes on from.
  std::string Recover(const State& found, const std::set<std::string>& tables,
                      const std::set<std::string>& prepared, Span span);

  static constexpr size_t kAccounts = 8;
  static constexpr int64_t kEach = 1000;
  static TableKey Account(size_t account);
  static bool IsAccount(std::string_view key);

 private:
  struct Batch {
    std::vector<Change> changes;
    bool sync = false;
    bool voided = false;
    Moment begun = 0;
    Moment acknowledged = 0;
  };
  struct Client {
    State base;
    std::vector<Batch> batches;  // number n is batches[n - 1]
  };
  struct TwoPhase {
    size_t client = 0;
    std::vector<Change> changes;
    bool sync = false;
    Moment begun = 0;
    Moment prepared = 0;
    bool commit = false;
    size_t number = 0;  // of the batch that commits it
    bool resolve_sync = false;
    Moment resolving = 0;
    Moment resolved = 0;
  };
  struct Table {
    Moment creating = 0;
    Moment created = 0;
    Moment dropping = 0;
    Moment dropped = 0;
  };
  // Numbers of batches, the first and the last of those that are meant.
  struct Range {
    size_t low = 0;
    size_t high = 0;
  };

  static size_t ClientOf(const TableKey& key);
  // Whether what was acknowledged then survives.
  bool Lasts(Moment acknowledged, bool sync, const Span& span) const;
  // The latest moment up to which everything that was acknowledged is durable.
  Moment DurableBefore(Moment end) const;
  Range Possible(size_t client, const Span& span) const;
  // Calls look(number of a batch, value of the key after it) for all batches that are possible.
  template <typename F>
  void ForEachPossible(const TableKey& key, const Span& span, const F& look) const;
  // Those of `possible` whose state is the one found; false if there is none.
  bool Match(size_t client, const State& found, const std::set<std::string>& tables,
             const Range& possible, Range* matching) const;
  std::string Check(const State& found, const std::set<std::string>& tables, const Span& span,
                    std::vector<Range> possible, std::vector<Range>* matching) const;
  std::string CheckPrepared(const std::set<std::string>& found, const Span& span,
                            std::vector<Range>* possible) const;
  std::string CheckTables(const std::set<std::string>& found, const Span& span) const;
  static std::string CheckAccounts(const State& found);
  static void Apply(const Batch& batch, State* state);
  std::string Describe(size_t client, const State& found, const std::set<std::string>& tables,
                       const Range& possible) const;

  Moment now_ = 0;
  std::vector<Client> clients_;
  std::map<std::string, TwoPhase> two_phase_;
  std::map<std::string, Table> tables_;
};

}  // namespace sluice::sim
