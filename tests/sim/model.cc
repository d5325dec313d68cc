#include "model.h"

#include <fmt/format.h>

#include <algorithm>

#include "scheduler.h"

namespace sluice::sim {

namespace {

constexpr char kMark = '|';
constexpr std::string_view kAccountPrefix = "account/";

bool Same(const Value& a, const Value& b) {
  return (a == nullptr) == (b == nullptr) && (a == nullptr || *a == *b);
}

std::string Short(const Value& value) {
  return value == nullptr ? "nothing"
                          : fmt::format("{} bytes '{:.20}'", value->size(), value->substr(0, 20));
}

}  // namespace

std::string Model::KeyOf(size_t client, std::string_view table, const std::string& text) {
  return HasRanges(table) ? RangeBegin(client) + text : text + kMark + std::to_string(client);
}

std::string Model::RangeBegin(size_t client) { return std::to_string(client) + kMark; }
std::string Model::RangeEnd(size_t client) {
  return std::to_string(client) + static_cast<char>(kMark + 1);
}

size_t Model::ClientOf(const TableKey& key) {
  return HasRanges(key.first) ? key.second.front() - '0' : key.second.back() - '0';
}

TableKey Model::Account(size_t account) {
  return {account % 2 == 0 ? "default" : "a", fmt::format("{}{:02}", kAccountPrefix, account)};
}

bool Model::IsAccount(std::string_view key) { return key.starts_with(kAccountPrefix); }

size_t Model::Begin(size_t client, std::vector<Change> changes, bool sync) {
  const Undisturbed step;
  std::vector<Batch>& batches = clients_[client].batches;
  const bool nothing = changes.empty();  // then it is no write, and waits for none
  batches.push_back(
      {.changes = std::move(changes), .sync = sync && !nothing, .voided = nothing, .begun = Now()});
  return batches.size();
}

void Model::Acknowledge(size_t client, size_t number) {
  const Undisturbed step;
  Batch& batch = clients_[client].batches[number - 1];
  if (batch.acknowledged == 0) {
    batch.acknowledged = Now();
  }
}

void Model::Void(size_t client, size_t number) {
  const Undisturbed step;
  clients_[client].batches[number - 1].voided = true;
}

Value Model::Own(size_t client, const TableKey& key) const {
  const Undisturbed step;
  const Client& own = clients_[client];
  for (auto batch = own.batches.rbegin(); batch != own.batches.rend(); ++batch) {
    for (auto change = batch->changes.rbegin(); change != batch->changes.rend(); ++change) {
      if (!batch->voided && change->first == key) {
        return change->second;
      }
    }
  }
  const auto found = own.base.find(key);
  return found != own.base.end() ? found->second : nullptr;
}

std::vector<TableKey> Model::OwnKeys(size_t client, const std::string& table) const {
  const Undisturbed step;
  State state = clients_[client].base;
  for (const Batch& batch : clients_[client].batches) {
    Apply(batch, &state);
  }
  std::vector<TableKey> keys;
  for (const auto& [key, value] : state) {
    if (key.first == table) {
      keys.push_back(key);
    }
  }
  return keys;
}

void Model::BeginPrepare(const std::string& name, size_t client, std::vector<Change> changes,
                         bool sync) {
  const Undisturbed step;
  two_phase_[name] = {
      .client = client, .changes = std::move(changes), .sync = sync, .begun = Now()};
}

void Model::Prepared(const std::string& name) {
  const Undisturbed step;
  two_phase_.at(name).prepared = Now();
}

void Model::NotPrepared(const std::string& name) {
  const Undisturbed step;
  two_phase_.erase(name);
}

size_t Model::BeginCommit(const std::string& name, bool sync) {
  const Undisturbed step;
  TwoPhase& transaction = two_phase_.at(name);
  transaction.commit = true;
  transaction.resolve_sync = sync;
  transaction.resolving = Now();
  transaction.number = Begin(transaction.client, transaction.changes, sync);
  return transaction.number;
}

void Model::BeginRollback(const std::string& name, bool sync) {
  const Undisturbed step;
  TwoPhase& transaction = two_phase_.at(name);
  transaction.commit = false;
  transaction.resolve_sync = sync;
  transaction.resolving = Now();
}

void Model::Resolved(const std::string& name) {
  const Undisturbed step;
  TwoPhase& transaction = two_phase_.at(name);
  transaction.resolved = Now();
  if (transaction.commit) {
    Acknowledge(transaction.client, transaction.number);
  }
}

void Model::NotResolved(const std::string& name) {
  const Undisturbed step;
  TwoPhase& transaction = two_phase_.at(name);
  transaction.resolving = 0;
  if (transaction.commit) {
    Void(transaction.client, transaction.number);
  }
}

std::vector<std::string> Model::PreparedOf(size_t client) const {
  const Undisturbed step;
  std::vector<std::string> names;
  for (const auto& [name, transaction] : two_phase_) {
    if (transaction.client == client && transaction.prepared != 0 && transaction.resolving == 0) {
      names.push_back(name);
    }
  }
  return names;
}

std::vector<TableKey> Model::LockedBy(const std::string& name) const {
  std::vector<TableKey> rows;
  for (const auto& [key, value] : two_phase_.at(name).changes) {
    rows.push_back(key);
  }
  return rows;
}

void Model::BeginCreate(const std::string& table) {
  const Undisturbed step;
  tables_[table] = {.creating = Now()};
}
void Model::Created(const std::string& table) {
  const Undisturbed step;
  tables_.at(table).created = Now();
}
void Model::BeginDrop(const std::string& table) {
  const Undisturbed step;
  tables_.at(table).dropping = Now();
}
void Model::Dropped(const std::string& table) {
  const Undisturbed step;
  tables_.at(table).dropped = Now();
}
void Model::NotDropped(const std::string& table) {
  const Undisturbed step;
  tables_.at(table).dropping = 0;
}

std::vector<std::string> Model::Tables() const {
  const Undisturbed step;
  std::vector<std::string> names;
  for (const auto& [name, table] : tables_) {
    if (table.created != 0 && table.dropping == 0) {
      names.push_back(name);
    }
  }
  return names;
}

Moment Model::DurableBefore(Moment end) const {
  Moment durable = 0;
  for (const Client& client : clients_) {
    for (const Batch& batch : client.batches) {
      if (batch.sync && batch.acknowledged != 0 && batch.acknowledged <= end) {
        durable = std::max(durable, batch.begun);
      }
    }
  }
  for (const auto& [name, transaction] : two_phase_) {
    if (transaction.sync && transaction.prepared != 0 && transaction.prepared <= end) {
      durable = std::max(durable, transaction.begun);
    }
  }
  return durable;
}

bool Model::Lasts(Moment acknowledged, bool sync, const Span& span) const {
  return acknowledged != 0 && acknowledged <= span.begin &&
         (span.kind != Span::Kind::kPowerCrash || sync || acknowledged < DurableBefore(span.begin));
}

Model::Range Model::Possible(size_t client, const Span& span) const {
  const Moment durable = DurableBefore(span.begin);
  Range range;
  const std::vector<Batch>& batches = clients_[client].batches;
  for (size_t number = 1; number <= batches.size(); ++number) {
    const Batch& batch = batches[number - 1];
    if (batch.begun > span.end) {
      break;
    }
    range.high = number;
    if (!batch.voided && batch.acknowledged != 0 && batch.acknowledged <= span.begin &&
        (span.kind != Span::Kind::kPowerCrash || batch.sync || batch.acknowledged < durable)) {
      range.low = number;
    }
  }
  return range;
}

void Model::Apply(const Batch& batch, State* state) {
  if (batch.voided) {
    return;
  }
  for (const auto& [key, value] : batch.changes) {
    if (IsAccount(key.second)) {
      continue;
    }
    if (value != nullptr) {
      (*state)[key] = value;
    } else {
      state->erase(key);
    }
  }
}

bool Model::Match(size_t client, const State& found, const std::set<std::string>& tables,
                  const Range& possible, Range* matching) const {
  const Client& own = clients_[client];
  State state = own.base;
  for (size_t number = 1; number <= possible.low; ++number) {
    Apply(own.batches[number - 1], &state);
  }
  bool matches = false;
  for (size_t number = possible.low;; ++number) {
    size_t same = 0;
    const bool equal = std::all_of(state.begin(), state.end(),
                                   [&](const auto& entry) {
                                     if (!tables.contains(entry.first.first)) {
                                       return true;
                                     }
                                     const auto at = found.find(entry.first);
                                     ++same;
                                     return at != found.end() && Same(at->second, entry.second);
                                   }) &&
                       same == found.size();
    if (equal) {
      matching->low = matches ? matching->low : number;
      matching->high = number;
      matches = true;
    }
    if (number == possible.high) {
      return matches;
    }
    Apply(own.batches[number], &state);
  }
}

template <typename F>
void Model::ForEachPossible(const TableKey& key, const Span& span, const F& look) const {
  const size_t client = ClientOf(key);
  const Range possible = Possible(client, span);
  const Client& own = clients_[client];
  const auto base = own.base.find(key);
  Value value = base != own.base.end() ? base->second : nullptr;
  for (size_t number = 0; number <= possible.high; ++number) {
    if (number > 0 && !own.batches[number - 1].voided) {
      for (const auto& [changed, now] : own.batches[number - 1].changes) {
        value = changed == key ? now : value;
      }
    }
    if (number >= possible.low) {
      look(number, value);
    }
  }
}

std::string Model::CheckOne(const TableKey& key, const Value& found, const Span& span) const {
  const Undisturbed step;
  bool possible = false;
  ForEachPossible(key, span,
                  [&](size_t, const Value& value) { possible = possible || Same(value, found); });
  if (possible) {
    return {};
  }
  std::string wrong = fmt::format("{}/'{}' is {}\n", key.first, key.second, Short(found));
  ForEachPossible(key, span, [&](size_t number, const Value& value) {
    wrong += fmt::format("  after batch {} of its client it was {}\n", number, Short(value));
  });
  return wrong;
}

std::string Model::Describe(size_t client, const State& found, const std::set<std::string>& tables,
                            const Range& possible) const {
  std::string text = fmt::format("client {}: not the state after any of its batches {} to {}\n",
                                 client, possible.low, possible.high);
  State state = clients_[client].base;
  for (size_t number = 0; number <= possible.high; ++number) {
    if (number > 0) {
      Apply(clients_[client].batches[number - 1], &state);
    }
    if (number != possible.low && number != possible.high) {
      continue;
    }
    size_t left = 5;
    const auto differ = [&](const TableKey& key, const Value& is, const Value& expected) {
      if (left > 0) {
        --left;
        text += fmt::format("  after {}: {}/'{}' is {}, not {}\n", number, key.first,
                            key.second.substr(0, 60), Short(is), Short(expected));
      }
    };
    for (const auto& [key, value] : state) {
      const auto at = found.find(key);
      if (tables.contains(key.first) && (at == found.end() || !Same(at->second, value))) {
        differ(key, at != found.end() ? at->second : nullptr, value);
      }
    }
    for (const auto& [key, value] : found) {
      if (!state.contains(key)) {
        differ(key, value, nullptr);
      }
    }
  }
  return text;
}

std::string Model::CheckAccounts(const State& found) {
  int64_t sum = 0;
  size_t accounts = 0;
  for (const auto& [key, value] : found) {
    if (IsAccount(key.second)) {
      sum += std::stoll(*value);
      ++accounts;
    }
  }
  if (accounts == 0 || (accounts == kAccounts && sum == kEach * int64_t{kAccounts})) {
    return {};
  }
  return fmt::format("{} accounts with a sum of {}\n", accounts, sum);
}

std::string Model::Check(const State& found, const std::set<std::string>& tables, const Span& span,
                         std::vector<Range> possible, std::vector<Range>* matching) const {
  std::vector<State> of_client(clients());
  for (const auto& [key, value] : found) {
    if (!IsAccount(key.second)) {
      const size_t client = ClientOf(key);
      if (client >= clients()) {
        return fmt::format("nobody wrote {}/'{}'\n", key.first, key.second);
      }
      of_client[client][key] = value;
    }
  }
  std::string wrong;
  matching->resize(clients());
  for (size_t client = 0; client < clients(); ++client) {
    if (possible[client].low > possible[client].high) {
      wrong += fmt::format("client {}: batch {} was there for good, and is not\n", client,
                           possible[client].low);
    } else if (!Match(client, of_client[client], tables, possible[client], &(*matching)[client])) {
      wrong += Describe(client, of_client[client], tables, possible[client]);
    }
  }
  if (!wrong.empty()) {
    return wrong;
  }
  for (size_t client = 0; client < clients(); ++client) {
    const size_t number = (*matching)[client].low;
    if (number == 0) {
      continue;
    }
    const Moment begun = clients_[client].batches[number - 1].begun;
    for (size_t other = 0; other < clients(); ++other) {
      const Range before = Possible(other, {begun, begun});
      if ((*matching)[other].high < before.low) {
        wrong += fmt::format(
            "client {}: batch {} is there, but of client {} only {}, and {} was acknowledged "
            "before it was begun\n",
            client, number, other, (*matching)[other].high, before.low);
      }
    }
  }
  if (tables.contains("default") && (tables.contains("a") || span.kind != Span::Kind::kRead)) {
    wrong += CheckAccounts(found);
  }
  return wrong;
}

std::string Model::Check(const State& found, const std::set<std::string>& tables,
                         const Span& span) const {
  const Undisturbed step;
  std::vector<Range> possible;
  for (size_t client = 0; client < clients(); ++client) {
    possible.push_back(Possible(client, span));
  }
  std::vector<Range> matching;
  return Check(found, tables, span, std::move(possible), &matching);
}

std::string Model::CheckPrepared(const std::set<std::string>& found, const Span& span,
                                 std::vector<Range>* possible) const {
  std::string wrong;
  for (const std::string& name : found) {
    const auto known = two_phase_.find(name);
    if (known == two_phase_.end() || known->second.begun > span.end) {
      wrong += fmt::format("nobody prepared '{}'\n", name);
      continue;
    }
    const TwoPhase& transaction = known->second;
    if (Lasts(transaction.resolved, transaction.resolve_sync, span)) {
      wrong += fmt::format("'{}' is prepared, but was resolved for good\n", name);
    } else if (transaction.resolving != 0 && transaction.commit) {
      Range& range = (*possible)[transaction.client];
      range.high = std::min(range.high, transaction.number - 1);
    }
  }
  for (const auto& [name, transaction] : two_phase_) {
    if (found.contains(name) || !Lasts(transaction.prepared, transaction.sync, span)) {
      continue;
    }
    if (transaction.resolving == 0 || transaction.resolving > span.end) {
      wrong += fmt::format("'{}' was prepared for good, and is not\n", name);
    } else if (transaction.commit) {
      Range& range = (*possible)[transaction.client];
      range.low = std::max(range.low, transaction.number);
    }
  }
  return wrong;
}

// They come and go durably, whatever crashes.
std::string Model::CheckTables(const std::set<std::string>& found, const Span& span) const {
  std::string wrong;
  for (const std::string& name : found) {
    const auto known = tables_.find(name);
    if (name != "default" &&
        (known == tables_.end() || known->second.creating > span.end ||
         (known->second.dropped != 0 && known->second.dropped <= span.begin))) {
      wrong += fmt::format("there should be no sub-table '{}'\n", name);
    }
  }
  for (const auto& [name, table] : tables_) {
    if (!found.contains(name) && table.created != 0 && table.created <= span.begin &&
        (table.dropping == 0 || table.dropping > span.end)) {
      wrong += fmt::format("sub-table '{}' is gone\n", name);
    }
  }
  return wrong;
}

std::string Model::Recover(const State& found, const std::set<std::string>& tables,
                           const std::set<std::string>& prepared, Span span) {
  const Undisturbed step;
  std::vector<Range> possible;
  for (size_t client = 0; client < clients(); ++client) {
    possible.push_back(Possible(client, span));
  }
  std::string wrong = CheckTables(tables, span) + CheckPrepared(prepared, span, &possible);
  std::vector<Range> matching;
  wrong += Check(found, tables, span, possible, &matching);
  if (!wrong.empty()) {
    return wrong;
  }
  for (Client& client : clients_) {
    client.batches.clear();
    client.base.clear();
  }
  for (const auto& [key, value] : found) {
    if (!IsAccount(key.second)) {
      clients_[ClientOf(key)].base[key] = value;
    }
  }
  std::erase_if(two_phase_, [&](const auto& entry) { return !prepared.contains(entry.first); });
  for (auto& [name, transaction] : two_phase_) {
    transaction.prepared = Now();
    transaction.sync = true;
    transaction.resolving = transaction.resolved = 0;
  }
  tables_.clear();
  for (const std::string& name : tables) {
    if (name != "default") {
      tables_[name] = {.creating = 1, .created = 1};
    }
  }
  return {};
}

}  // namespace sluice::sim
