#include <chrono>
#include <future>
#include <utility>

#include "client.h"

namespace sluice::sim {

namespace {

// Longer than anything may take (scheduler.cc).
constexpr std::chrono::milliseconds kPatience = std::chrono::hours(2);

// After these the transaction is rolled back, and nothing is wrong.
bool MayBeRefused(const Status& status) {
  return status.IsRetryable() || status.code() == Status::Code::kTimedOut;
}

}  // namespace

Status Client::MoveMoney(Transaction* transaction) {
  const auto amount = static_cast<int64_t>(Draw(1, 100));
  const size_t from = Draw(0, Model::kAccounts - 1);
  const size_t to = Draw(0, Model::kAccounts - 1);
  for (const auto& [account, change] : {std::pair{from, -amount}, std::pair{to, amount}}) {
    const TableKey key = Model::Account(account);
    Subtable* const subtable = Find(key.first);
    std::string value;
    SLUICE_RETURN_IF_ERROR(transaction->GetForUpdate({}, subtable, key.second, &value));
    SLUICE_RETURN_IF_ERROR(transaction->Put(
        subtable, key.second,
        std::to_string(std::stoll(value) + change) + std::string(Draw(0, 300), ' ')));
  }
  return {};
}

void Client::Transact() {
  if (failed_) {
    return ProbeFailure();
  }
  AwaitWrites(world_.trouble == Trouble::kNoSpace ? 0 : SIZE_MAX);
  const bool sync = DrawSync();
  auto transaction = db().BeginTransaction(
      {.isolation = Draw(0, 1) != 0 ? Isolation::kSnapshot : Isolation::kReadCommitted,
       .lock_timeout = world_.patient ? kPatience : std::chrono::milliseconds(Draw(0, 30))},
      {.sync = sync});
  const auto refused = [&](const Status& status) {
    return !status.ok() && (MayBeRefused(status) || !Fine(status, "transaction"));
  };
  if (Draw(0, 2) != 0 && refused(MoveMoney(transaction.get()))) {
    return;
  }
  std::vector<Change> changes = DrawChanges();
  for (const auto& [key, value] : changes) {
    Subtable* const subtable = Find(key.first);
    if (refused(value != nullptr ? transaction->Put(subtable, key.second, *value)
                                 : transaction->Delete(subtable, key.second))) {
      return;
    }
  }
  switch (Draw(0, 4)) {
    case 0:
      Fine(transaction->Rollback(), "rollback");
      return;
    case 1:
    case 2:
      TransactInTwoPhases(std::move(transaction), std::move(changes), sync);
      return;
    default: {
      const size_t number = model().Begin(number_, std::move(changes), sync);
      Outcome(number, Draw(0, 2) == 0 ? transaction->CommitAsync().get() : transaction->Commit());
    }
  }
}

void Client::TransactInTwoPhases(std::unique_ptr<Transaction> transaction,
                                 std::vector<Change> changes, bool sync) {
  const std::string name = world_.NewName("t");
  model().BeginPrepare(name, number_, std::move(changes), sync);
  const Status status = transaction->Prepare(name);
  if (!Fine(status, "prepare")) {
    if (status.IsNoSpace()) {
      model().NotPrepared(name);
    } else {
      failed_ = true;
    }
    return;
  }
  model().Prepared(name);
  if (!world_.patient && Draw(0, 7) == 0) {
    return;  // whoever comes next resolves it
  }
  Resolve(name, transaction.get(), Draw(0, 3) != 0, sync);
}

void Client::Resolve(const std::string& name, Transaction* transaction, bool commit, bool sync) {
  if (commit) {
    (void)model().BeginCommit(name, sync);
  } else {
    model().BeginRollback(name, sync);
  }
  const Status status = commit ? transaction->Commit() : transaction->Rollback();
  if (Fine(status, "second phase")) {
    model().Resolved(name);
  } else if (status.IsNoSpace()) {
    model().NotResolved(name);
  } else {
    failed_ = true;
  }
}

void ResolvePrepared(World* world, const std::string& name, bool commit, bool sync) {
  std::unique_ptr<Transaction> transaction;
  Status status = world->db->ResumeTransaction(name, {.sync = sync}, &transaction);
  Expect(status.ok(), "resume: " + status.ToString());
  if (commit) {
    (void)world->model->BeginCommit(name, sync);
  } else {
    world->model->BeginRollback(name, sync);
  }
  status = commit ? transaction->Commit() : transaction->Rollback();
  Expect(status.ok() || world->Troubled(), "second phase of another life: " + status.ToString());
  if (status.ok()) {
    world->model->Resolved(name);
  } else if (status.IsNoSpace()) {
    world->model->NotResolved(name);
  }
}

}  // namespace sluice::sim
