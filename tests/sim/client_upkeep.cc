#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "client.h"

namespace sluice::sim {

void Client::Flush() { Fine(db().Flush(Find(DrawTable())), "flush"); }

void Client::Compact() {
  if (Draw(0, 3) == 0) {
    Fine(db().WaitForBackgroundWork(), "background work");
    return;
  }
  const std::string table = DrawTable();
  std::string begin;
  std::string end;
  if (Draw(0, 1) != 0) {
    begin = Model::KeyOf(number_, table, keys_.Any(&random_));
    end = Model::KeyOf(number_, table, keys_.Any(&random_));
  }
  Fine(db().CompactRange(Find(table), std::min(begin, end), std::max(begin, end)), "compaction");
}

void Client::MakeTable() {
  const std::string name = world_.NewName("s");
  model().BeginCreate(name);
  Subtable* made;
  const Status status =
      db().CreateSubtable(RandomSubtableOptions(&random_, world_.options), name, &made);
  if (Fine(status, "making a sub-table")) {
    model().Created(name);
    own_tables_.push_back(name);
  } else if (status.IsNoSpace()) {
    model().NotCreated(name);
  }
}

void Client::ChangeOptions() {
  const SubtableOptions own = RandomSubtableOptions(&random_, world_.options);
  const bool shared = own_tables_.empty() || Draw(0, 1) != 0;
  Subtable* const subtable = Find(shared ? DrawTable() : own_tables_.back());
  if (Fine(db().SetSubtableOptions(subtable, own), "changing options") && !shared) {
    Expect(db().GetSubtableOptions(subtable) == own, "options are not what they were set to");
  }
}

void Client::DropTable() {
  if (own_tables_.empty()) {
    return;
  }
  AwaitWrites(0);
  const std::string name = own_tables_.back();
  own_tables_.pop_back();
  Subtable* const subtable = Find(name);
  model().BeginDrop(name);
  const Status status = db().DropSubtable(subtable);
  if (Fine(status, "dropping a sub-table")) {
    model().Dropped(name);
  } else if (status.IsNoSpace()) {
    model().NotDropped(name);
  }
}

// Which may be dropped at any moment; it holds nothing that anybody knows.
void Client::WriteToForeignTable() {
  if (!failure_.ok()) {
    return ProbeFailure();
  }
  AwaitWrites(world_.trouble == Trouble::kNoSpace ? 0 : SIZE_MAX);
  const std::vector<Subtable*> tables = db().ListSubtables();
  Subtable* const subtable = tables[Draw(0, tables.size() - 1)];
  if (FixedTables().contains(subtable->name())) {
    return;
  }
  std::vector<Change> changes = DrawChanges();
  WriteBatch batch;
  for (const auto& [key, value] : changes) {
    if (value != nullptr) {
      batch.Put(Find(key.first), key.second, *value);
    } else {
      batch.Delete(Find(key.first), key.second);
    }
  }
  batch.Delete(subtable, "nothing|0");
  const WriteOptions options{.sync = DrawSync()};
  const size_t number = model().Begin(number_, std::move(changes), options.sync);
  const Status status = db().Write(options, batch);
  if (status.code() == Status::Code::kInvalidArgument) {
    model().Void(number_, number);  // it is dropped
  } else {
    Outcome(number, status);
  }
}

void Client::Checkpoint() {
  if (world_.trouble != Trouble::kNone || Draw(0, 2) != 0) {
    return;  // to look at it takes long, and what goes wrong meanwhile says little
  }
  const std::string path = world_.NewName("copy");
  Span span;
  span.begin = model().Now();
  Status status = db().CreateCheckpoint(path);
  span.end = model().Now();
  Expect(status.ok(), "checkpoint: " + status.ToString());
  std::unique_ptr<DB> copy;
  Options options = world_.options;
  status = DB::Open(options, path, &copy);
  Expect(status.ok(), "open a checkpoint: " + status.ToString());
  State found;
  std::set<std::string> tables;
  status = ReadAll(copy.get(), {}, FixedTables(), &found, &tables);
  Expect(status.ok(), "read a checkpoint: " + status.ToString());
  ExpectRight(model().Check(found, FixedTables(), span), "checkpoint");
  status = copy->Close();
  Expect(status.ok(), "close a checkpoint: " + status.ToString());
  copy.reset();
  status = DB::Destroy(options, path);
  Expect(status.ok(), "destroy a checkpoint: " + status.ToString());
}

void Client::TakeImage() {
  constexpr size_t kMostImages = 4;
  if (world_.images.size() >= kMostImages || world_.env->crashed()) {
    return;
  }
  const bool power = Draw(0, 2) != 0;
  Span span;
  span.kind = power ? Span::Kind::kPowerCrash : Span::Kind::kProcessCrash;
  span.begin = model().Now();
  FileImage files =
      world_.env->Survivors(power ? CrashKind::kPower : CrashKind::kProcess, random_());
  const Undisturbed step;
  span.end = model().Now();
  world_.images.push_back({std::move(files), model(), span});
}

void Client::Look() {
  switch (Draw(0, 2)) {
    case 0:
      (void)db().GetStatistics();
      break;
    case 1:
      (void)db().ListPrepared();
      break;
    default:
      std::this_thread::sleep_for(std::chrono::microseconds(Draw(1, 20000)));
  }
}

}  // namespace sluice::sim
