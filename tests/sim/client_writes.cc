#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "client.h"
#include "sluice/ingestion.h"

namespace sluice::sim {

std::string Client::DrawTable() {
  if (!own_tables_.empty() && Draw(0, 5) == 0) {
    return own_tables_[Draw(0, own_tables_.size() - 1)];
  }
  return std::vector<std::string>{"default", "a", "b"}[Draw(0, 2)];
}

Change Client::DrawChange(const std::string& table) {
  if (Draw(0, 3) == 0) {
    return {{table, Model::KeyOf(number_, table, keys_.Any(&random_))}, nullptr};
  }
  return {{table, Model::KeyOf(number_, table, keys_.Next(&random_))},
          std::make_shared<const std::string>(values_.Next(&random_))};
}

std::vector<Change> Client::DrawChanges() {
  std::vector<Change> changes;
  for (uint64_t n = Draw(1, 8); n > 0; --n) {
    changes.push_back(DrawChange(DrawTable()));
  }
  return changes;
}

namespace {

void AddTo(WriteBatch* batch, DB* db, const std::vector<Change>& changes) {
  for (const auto& [key, value] : changes) {
    Subtable* const subtable = db->FindSubtable(key.first);
    if (value != nullptr) {
      batch->Put(subtable, key.second, *value);
    } else {
      batch->Delete(subtable, key.second);
    }
  }
}

WriteBatch MakeBatch(DB* db, const std::vector<Change>& changes) {
  WriteBatch batch;
  AddTo(&batch, db, changes);
  return batch;
}

}  // namespace

void Client::Outcome(size_t number, const Status& status) {
  if (Fine(status, "write")) {
    model().Acknowledge(number_, number);
  } else if (status.IsNoSpace()) {
    model().Void(number_, number);
  } else {
    failure_ = status;
  }
}

void Client::AwaitWrites(size_t most_left) {
  while (under_way_.size() > most_left) {
    const auto [number, write] = under_way_.front();
    while (!write->done) {
      Scheduler::Get()->Block("asynchronous write", write.get());
    }
    Outcome(number, write->status);
    under_way_.erase(under_way_.begin());
  }
}

void Client::ProbeFailure() {
  AwaitWrites(0);
  if (Draw(0, 3) == 0) {
    const Status status = db().Put({.sync = DrawSync()}, "probe|0", "written after a failure");
    Expect(!status.ok(), "a write succeeded after one had failed for good: " + failure_.ToString());
  }
}

void Client::WriteOne() {
  if (!failure_.ok()) {
    return ProbeFailure();
  }
  AwaitWrites(world_.trouble == Trouble::kNoSpace ? 0 : SIZE_MAX);
  const Change change = DrawChange(DrawTable());
  const auto& [key, value] = change;
  const WriteOptions options{.sync = DrawSync()};
  const size_t number = model().Begin(number_, {change}, options.sync);
  Subtable* const subtable = Find(key.first);
  Outcome(number, value != nullptr ? db().Put(options, subtable, key.second, *value)
                                   : db().Delete(options, subtable, key.second));
}

void Client::WriteSome() {
  if (!failure_.ok()) {
    return ProbeFailure();
  }
  AwaitWrites(world_.trouble == Trouble::kNoSpace ? 0 : SIZE_MAX);
  std::vector<Change> changes = DrawChanges();
  const WriteBatch batch = MakeBatch(&db(), changes);
  const WriteOptions options{.sync = DrawSync()};
  const size_t number = model().Begin(number_, std::move(changes), options.sync);
  Outcome(number, db().Write(options, batch));
}

void Client::WriteAsynchronously() {
  if (!failure_.ok()) {
    return ProbeFailure();
  }
  AwaitWrites(world_.trouble == Trouble::kNoSpace ? 0 : Draw(0, 20));
  std::vector<Change> changes = DrawChanges();
  WriteBatch batch = MakeBatch(&db(), changes);
  const WriteOptions options{.sync = DrawSync()};
  const size_t number = model().Begin(number_, std::move(changes), options.sync);
  auto write = std::make_shared<UnderWay>();
  under_way_.emplace_back(number, write);
  // What is acknowledged is so from here on, whenever this client comes to look.
  db().WriteAsync(options, std::move(batch),
                  [write, number, client = number_, model = world_.model](const Status& status) {
                    Expect(!write->done, "a callback is called twice");
                    if (status.ok()) {
                      model->Acknowledge(client, number);
                    }
                    write->status = status;
                    write->done = true;
                    Scheduler::Get()->Wake(write.get(), SIZE_MAX);
                  });
}

void Client::DeleteSome() {
  if (!failure_.ok()) {
    return ProbeFailure();
  }
  AwaitWrites(world_.trouble == Trouble::kNoSpace ? 0 : SIZE_MAX);
  const std::string table = "b";
  std::string begin = Model::RangeBegin(number_);
  std::string end = Model::RangeEnd(number_);
  if (Draw(0, 3) != 0) {
    begin = Model::KeyOf(number_, table, keys_.Any(&random_));
    end = Model::KeyOf(number_, table, keys_.Any(&random_));
    if (end < begin) {
      std::swap(begin, end);
    }
  }
  std::vector<Change> changes;
  for (const TableKey& key : model().OwnKeys(number_, table)) {
    if (key.second >= begin && key.second < end) {
      changes.emplace_back(key, nullptr);
    }
  }
  const WriteOptions options{.sync = DrawSync()};
  if (Draw(0, 1) != 0) {
    const size_t number = model().Begin(number_, std::move(changes), options.sync);
    Outcome(number, db().DeleteRange(options, Find(table), begin, end));
    return;
  }
  // With others in a batch, which may bring some of the keys back.
  std::vector<Change> more = DrawChanges();
  WriteBatch batch;
  batch.DeleteRange(Find(table), begin, end);
  AddTo(&batch, &db(), more);
  changes.insert(changes.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
  const size_t number = model().Begin(number_, std::move(changes), options.sync);
  Outcome(number, db().Write(options, batch));
}

// Leaves a stretch of tombstones, which iterators remember (tree/dead_stretches.h), and later writes
// bring some of its keys back.
void Client::DeleteOneByOne() {
  if (!failure_.ok()) {
    return ProbeFailure();
  }
  AwaitWrites(world_.trouble == Trouble::kNoSpace ? 0 : SIZE_MAX);
  const std::string table = DrawTable();
  std::vector<TableKey> keys = model().OwnKeys(number_, table);
  if (keys.empty()) {
    return;
  }
  const size_t first = Draw(0, keys.size() - 1);
  const size_t count = Draw(1, keys.size() - first);
  std::vector<Change> changes;
  for (size_t i = first; i < first + count; ++i) {
    changes.emplace_back(keys[i], nullptr);
  }
  const WriteBatch batch = MakeBatch(&db(), changes);
  const WriteOptions options{.sync = DrawSync()};
  const size_t number = model().Begin(number_, std::move(changes), options.sync);
  Outcome(number, db().Write(options, batch));
}

// Is as one synced write at the moment of its commit, newer than what comes in between.
void Client::Ingest() {
  if (!failure_.ok()) {
    return ProbeFailure();
  }
  AwaitWrites(world_.trouble == Trouble::kNoSpace ? 0 : SIZE_MAX);
  std::unique_ptr<Ingestion> ingestion;
  const Status begun = db().NewIngestion(&ingestion);
  if (begun.code() == Status::Code::kBusy || !Fine(begun, "beginning an ingestion")) {
    return;  // another client's is under way
  }
  std::map<TableKey, Value> records;
  for (uint64_t n = SkewedSize(&random_, 100); n > 0; --n) {
    if (Change change = DrawChange(DrawTable()); change.second != nullptr) {
      records.insert_or_assign(std::move(change.first), std::move(change.second));
    }
  }
  for (const auto& [key, value] : records) {
    if (!Fine(ingestion->Add(Find(key.first), key.second, *value), "ingestion")) {
      return;
    }
    if (Draw(0, 30) == 0) {
      (this->*(Draw(0, 1) != 0 ? &Client::WriteSome : &Client::WriteAsynchronously))();
    }
  }
  if (Draw(0, 5) == 0) {
    return;  // it is abandoned
  }
  AwaitWrites(0);
  const bool failed = !failure_.ok();
  const size_t number = model().Begin(number_, {records.begin(), records.end()}, /*sync=*/true);
  Status status = ingestion->Commit();
  while (status.IsNoSpace() && Draw(0, 1) != 0) {
    status = ingestion->Commit();
  }
  Expect(!failed || !status.ok(), "an ingestion succeeded after a write had failed for good");
  if (!status.ok() && Fine(db().Delete({}, "probe|0"), "write after an ingestion")) {
    model().Void(number_, number);  // the database goes on without it
    return;
  }
  Outcome(number, status);
}

}  // namespace sluice::sim
