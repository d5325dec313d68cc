#include <utility>

#include "client.h"

namespace sluice::sim {

Status ReadAll(DB* db, const ReadOptions& options, const std::set<std::string>& wanted,
               State* found, std::set<std::string>* tables) {
  for (Subtable* const subtable : db->ListSubtables()) {
    if (!wanted.empty() && !wanted.contains(subtable->name())) {
      continue;
    }
    tables->insert(subtable->name());
    const auto at = db->NewIterator(options, subtable);
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      (*found)[{subtable->name(), std::string(at->key())}] =
          std::make_shared<const std::string>(at->value());
    }
    SLUICE_RETURN_IF_ERROR(at->status());
  }
  return {};
}

void Client::ReadOne() {
  const std::string table = DrawTable();
  const bool own = !FixedTables().contains(table) || Draw(0, 1) == 0;
  const size_t client = own ? number_ : Draw(0, model().clients() - 1);
  const TableKey key{table, Model::KeyOf(client, table, keys_.Any(&random_))};
  Subtable* const subtable = Find(table);
  std::string value;
  Span span;
  span.begin = model().Now();
  const Status status = db().Get({.fill_cache = Draw(0, 5) != 0}, subtable, key.second, &value);
  span.end = model().Now();
  if (!status.IsNotFound() && !Fine(status, "read")) {
    return;
  }
  const Value found = status.ok() ? std::make_shared<const std::string>(value) : nullptr;
  Scheduler::Get()->Note(std::hash<std::string>()(value));
  ExpectRight(model().CheckOne(key, found, span), "read");
}

void Client::ReadMany() {
  const std::string table = DrawTable();
  std::vector<std::string> keys;
  for (uint64_t n = Draw(1, 6); n > 0; --n) {
    keys.push_back(Model::KeyOf(number_, table, keys_.Any(&random_)));
  }
  std::vector<std::string> values;
  Span span;
  span.begin = model().Now();
  const std::vector<Status> statuses =
      db().MultiGet({}, Find(table), {keys.begin(), keys.end()}, &values);
  span.end = model().Now();
  for (size_t i = 0; i < keys.size(); ++i) {
    if (statuses[i].IsNotFound() || Fine(statuses[i], "read of several")) {
      const Value found =
          statuses[i].ok() ? std::make_shared<const std::string>(values[i]) : nullptr;
      ExpectRight(model().CheckOne({table, keys[i]}, found, span), "read of several");
    }
  }
}

// Both ways, and keys in order.
void Client::ReadTable() {
  const std::string table = std::vector<std::string>{"default", "a", "b"}[Draw(0, 2)];
  Span span;
  span.begin = model().Now();
  const auto at = db().NewIterator({.fill_cache = Draw(0, 1) != 0}, Find(table));
  span.end = model().Now();
  State found;
  State reverse;
  std::string last;
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    Expect(found.empty() || last < at->key(), "an iterator's keys are out of order");
    last = at->key();
    found[{table, last}] = std::make_shared<const std::string>(at->value());
    Scheduler::Get()->Note(at->value().size());
  }
  if (!Fine(at->status(), "iterator")) {
    return;
  }
  ExpectRight(model().Check(found, {table}, span), "iterator over " + table);
  for (at->SeekToLast(); at->Valid(); at->Prev()) {
    reverse[{table, std::string(at->key())}] = std::make_shared<const std::string>(at->value());
  }
  if (Fine(at->status(), "iterator")) {
    ExpectRight(model().Check(reverse, {table}, span), "iterator over " + table + ", backwards");
  }
}

void Client::CheckState(const ReadOptions& options, Span span) {
  State found;
  std::set<std::string> tables;
  if (Fine(ReadAll(&db(), options, FixedTables(), &found, &tables), "read of everything")) {
    ExpectRight(model().Check(found, FixedTables(), span), "snapshot");
  }
}

void Client::ReadEverything() {
  TakeSnapshot();
  std::swap(snapshots_.front(), snapshots_.back());
  ReleaseSnapshot();
}

void Client::TakeSnapshot() {
  Span span;
  span.begin = model().Now();
  const Snapshot* const snapshot = db().GetSnapshot();
  span.end = model().Now();
  snapshots_.push_back({snapshot, span});
}

void Client::ReleaseSnapshot() {
  if (snapshots_.empty()) {
    return;
  }
  const HeldSnapshot held = snapshots_.front();
  snapshots_.erase(snapshots_.begin());
  CheckState({.snapshot = held.snapshot, .fill_cache = Draw(0, 1) != 0}, held.taken);
  db().ReleaseSnapshot(held.snapshot);
}

}  // namespace sluice::sim
