#include <algorithm>
#include <chrono>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "client.h"

namespace sluice::sim {

namespace {

// Longer than anything may take (scheduler.cc).
constexpr std::chrono::milliseconds kPatience = std::chrono::hours(2);

// After these the transaction is rolled back, and nothing is wrong.
bool MayBeRefused(const Status& status) {
  return status.IsRetryable() || status.code() == Status::Code::kTimedOut ||
         status.code() == Status::Code::kCancelled;
}

// While it lives, others may cancel the transaction's waits.
class Listed {
 public:
  Listed(World* world, Transaction* transaction)
      : world_(*world), entry_(std::make_shared<Cancellable>(Cancellable{transaction})) {
    const std::lock_guard lock(world_.cancellable_mutex);
    world_.cancellable.push_back(entry_);
  }
  Listed(const Listed&) = delete;
  Listed& operator=(const Listed&) = delete;
  ~Listed() {
    const std::lock_guard lock(world_.cancellable_mutex);
    std::erase(world_.cancellable, entry_);
    Notice();
  }

  // To be called when a wait ended with Cancelled: whoever did that need not wait any longer.
  void Notice() {
    entry_->noticed = true;
    Scheduler::Get()->Wake(entry_.get(), SIZE_MAX);
  }
  bool cancelled() const { return entry_->cancelled; }

 private:
  World& world_;
  const std::shared_ptr<Cancellable> entry_;
};

}  // namespace

// The locks keep the sum as it is, however often money is moved meanwhile.
Status Client::Audit(Transaction* transaction) {
  int64_t sum = 0;
  audited_.resize(Model::kAccounts);
  const size_t first = Draw(0, Model::kAccounts - 1);
  for (size_t i = 0; i < Model::kAccounts; ++i) {
    const size_t account = (first + i) % Model::kAccounts;
    const TableKey key = Model::Account(account);
    std::string& value = audited_[account];
    SLUICE_RETURN_IF_ERROR(transaction->GetForShare({}, Find(key.first), key.second, &value));
    sum += std::stoll(value);
  }
  Expect(sum == Model::kEach * int64_t{Model::kAccounts},
         fmt::format("accounts that are locked for share have a sum of {}", sum));
  return {};
}

// While a transaction that is prepared keeps its read locks.
void Client::ExpectAsAudited() {
  std::this_thread::sleep_for(std::chrono::microseconds(Draw(0, 2000)));
  for (size_t account = 0; account < audited_.size(); ++account) {
    const TableKey key = Model::Account(account);
    std::string value;
    if (Fine(db().Get({}, Find(key.first), key.second, &value), "reading an account")) {
      Expect(value == audited_[account], "a row that is locked for share was written");
    }
  }
}

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

Status Client::Fill(Transaction* transaction, const std::vector<Change>& changes) {
  Listed listed(&world_, transaction);
  const auto work = [&]() -> Status {
    if (Draw(0, 3) == 0) {
      SLUICE_RETURN_IF_ERROR(Audit(transaction));
    }
    if (Draw(0, 2) != 0) {
      transaction->SetSavepoint();
      if (const Status status = MoveMoney(transaction); !status.ok()) {
        if (status.code() != Status::Code::kCancelled || Draw(0, 1) != 0) {
          return status;
        }
        // It goes on without the money, and may wait again.
        Expect(listed.cancelled(), "a wait is cancelled by nobody");
        SLUICE_RETURN_IF_ERROR(transaction->RollbackToSavepoint());
        transaction->AllowWaits();
        listed.Notice();
      }
    }
    for (const auto& [key, value] : changes) {
      Subtable* const subtable = Find(key.first);
      SLUICE_RETURN_IF_ERROR(value != nullptr ? transaction->Put(subtable, key.second, *value)
                                              : transaction->Delete(subtable, key.second));
    }
    return {};
  };
  const Status status = work();
  Expect(status.code() != Status::Code::kCancelled || listed.cancelled(),
         "a wait is cancelled by nobody");
  return status;
}

// Keeps a row locked until the other transaction is done, or says that it no longer waits: a
// cancellation that were lost would leave them waiting for each other.
void Client::CancelWaits() {
  const auto holder = db().BeginTransaction(
      {.lock_timeout = world_.patient ? kPatience : std::chrono::milliseconds(Draw(0, 30))}, {});
  const TableKey key = Model::Account(Draw(0, Model::kAccounts - 1));
  std::string value;
  const Status status = holder->GetForUpdate({}, Find(key.first), key.second, &value);
  if (!status.ok()) {
    Expect(status.code() != Status::Code::kCancelled, "a wait is cancelled by nobody");
    if (!MayBeRefused(status)) {
      Fine(status, "locking a row");
    }
    return;
  }
  std::this_thread::sleep_for(std::chrono::microseconds(Draw(0, 2000)));
  std::shared_ptr<Cancellable> other;
  {
    const std::lock_guard lock(world_.cancellable_mutex);
    if (world_.cancellable.empty()) {
      return;
    }
    other = world_.cancellable[Draw(0, world_.cancellable.size() - 1)];
    other->cancelled = true;
    other->transaction->CancelWaits();
  }
  while (!other->noticed) {
    Scheduler::Get()->Block("transaction that is not to wait", other.get());
  }
}

void Client::Transact() {
  if (!failure_.ok()) {
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
  std::vector<Change> changes = DrawChanges();
  audited_.clear();
  if (refused(Fill(transaction.get(), changes))) {
    return;
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
  const PrepareOptions options = {.keep_read_locks = Draw(0, 1) != 0};
  model().BeginPrepare(name, number_, std::move(changes), sync);
  const Status status = transaction->Prepare(name, options);
  if (!Fine(status, "prepare")) {
    if (status.IsNoSpace()) {
      model().NotPrepared(name);
    } else {
      failure_ = status;
    }
    return;
  }
  model().Prepared(name);
  if (options.keep_read_locks) {
    ExpectAsAudited();
  }
  if (!world_.patient && Draw(0, 7) == 0) {
    return;  // others resolve it
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
    failure_ = status;
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
