#include "session.h"

#include "cursor.h"

namespace sluice::mariadb {

Session::~Session() { End(); }

void Session::Begin(const TransactionOptions& options, const WriteOptions& write_options,
                    bool serializable) {
  if (transaction_ == nullptr) {
    auto transaction = db_->BeginTransaction(options, write_options);
    const std::lock_guard guard(cancel_mutex_);
    transaction_ = std::move(transaction);
    isolation_ = options.isolation;
    serializable_ = serializable;
  }
}

bool Session::BeginStatement(bool undoable, std::chrono::milliseconds lock_timeout) {
  if (in_statement_) {
    return false;
  }
  in_statement_ = true;
  ++statement_;
  lock_timeout_ = lock_timeout;
  transaction_->SetLockTimeout(lock_timeout);
  transaction_->AllowWaits();
  undoable_ = undoable;
  if (undoable) {
    statement_savepoint_ = SetSavepoint();
  }
  return true;
}

void Session::CancelWaits() {
  const std::lock_guard guard(cancel_mutex_);
  if (transaction_ != nullptr) {
    transaction_->CancelWaits();
  }
}

// What the transaction sees is at least what is committed now.
void Session::NoteSnapshot() {
  if (isolation_ == Isolation::kSnapshot && !sees_) {
    const Snapshot* const now = db_->GetSnapshot();
    sees_ = now->sequence();
    db_->ReleaseSnapshot(now);
  }
}

Status Session::FixSnapshot() {
  if (isolation_ != Isolation::kSnapshot || fixed_) {
    return {};
  }
  NoteSnapshot();
  std::string ignored;
  const Status status = transaction_->Get({}, nullptr, {}, &ignored);
  if (!status.ok() && !status.IsNotFound()) {
    return status;
  }
  fixed_ = true;
  return {};
}

void Session::FixSnapshotByRead() {
  if (isolation_ == Isolation::kSnapshot && !fixed_) {
    NoteSnapshot();
    fixed_ = true;
  }
}

bool Session::Precedes(uint64_t created) {
  if (isolation_ == Isolation::kSnapshot) {
    return sees_ && *sees_ < created;
  }
  return snapshot_ != nullptr && snapshot_->sequence() < created;
}

ReadOptions Session::StatementRead() {
  ReadOptions options;
  if (isolation_ == Isolation::kReadCommitted) {
    if (snapshot_ == nullptr) {
      snapshot_ = db_->GetSnapshot();
    }
    options.snapshot = snapshot_;
  }
  return options;
}

Status Session::Get(Subtable* subtable, std::string_view key, std::string* value) {
  if (wrote_) {
    SLUICE_RETURN_IF_ERROR(FixSnapshot());
  } else {
    FixSnapshotByRead();
  }
  return transaction_->Get(StatementRead(), subtable, key, value);
}

std::vector<Status> Session::MultiGet(Subtable* subtable, const std::vector<std::string_view>& keys,
                                      std::vector<std::string>* values) {
  FixSnapshotByRead();
  return transaction_->MultiGet(StatementRead(), subtable, keys, values);
}

std::unique_ptr<Iterator> Session::NewIterator(Subtable* subtable, bool newest) {
  FixSnapshotByRead();
  return transaction_->NewIterator(newest ? ReadOptions() : StatementRead(), subtable);
}

std::unique_ptr<Iterator> Session::NewEstimatingIterator(Subtable* subtable) {
  return isolation_ == Isolation::kSnapshot && !fixed_ && !wrote_
             ? db_->NewIterator({}, subtable)
             : NewIterator(subtable, /*newest=*/true);
}

Status Session::GetLocked(Subtable* subtable, std::string_view key, RowLock lock,
                          std::string* value) {
  NoteSnapshot();
  if (lock.skip) {
    transaction_->SetLockTimeout({});
  }
  Status status = lock.shared ? transaction_->GetForShare({}, subtable, key, value)
                              : transaction_->GetForUpdate({}, subtable, key, value);
  if (lock.skip) {
    transaction_->SetLockTimeout(lock_timeout_);
  }
  return status;
}

Status Session::LockToken(Subtable* subtable, std::string_view key, bool shared) {
  std::string ignored;
  const Status status = GetLocked(subtable, key, {.shared = shared}, &ignored);
  return status.IsNotFound() ? Status() : status;
}

Status Session::LockPrefix(Subtable* subtable, std::string_view prefix, std::string_view end) {
  SLUICE_RETURN_IF_ERROR(LockToken(subtable, prefix, /*shared=*/false));
  return isolation_ == Isolation::kSnapshot ? LockRange(subtable, prefix, end, /*shared=*/false)
                                            : Status();
}

void Session::UnlockToken(Subtable* subtable, std::string_view key) {
  if (transaction_ != nullptr) {
    (void)transaction_->Unlock(subtable, key);  // not locked any more, if it was rolled back
  }
}

void Session::Unlock(Subtable* subtable, std::string_view key) {
  if (isolation_ == Isolation::kReadCommitted && !serializable_) {
    (void)transaction_->Unlock(subtable, key);  // not locked any more, if it was rolled back
  }
}

Status Session::Put(Subtable* subtable, std::string_view key, std::string_view value) {
  NoteSnapshot();
  NoteWrite();
  return transaction_->Put(subtable, key, value);
}

Status Session::Delete(Subtable* subtable, std::string_view key) {
  NoteSnapshot();
  NoteWrite();
  return transaction_->Delete(subtable, key);
}

bool Session::WritesEntriesUnlocked() {
  if (!entries_unlocked_) {
    entries_unlocked_ = entry_locks_->EnterWithout();
  }
  return *entries_unlocked_;
}

Status Session::PutEntry(Subtable* subtable, std::string_view key, std::string_view value) {
  if (!WritesEntriesUnlocked()) {
    return Put(subtable, key, value);
  }
  NoteSnapshot();
  NoteWrite();
  return transaction_->PutUntracked(subtable, key, value);
}

Status Session::DeleteEntry(Subtable* subtable, std::string_view key) {
  if (!WritesEntriesUnlocked()) {
    return Delete(subtable, key);
  }
  NoteSnapshot();
  NoteWrite();
  return transaction_->DeleteUntracked(subtable, key);
}

Status Session::LockRange(Subtable* subtable, std::string_view begin, std::string_view end,
                          bool shared) {
  NoteSnapshot();
  return shared ? transaction_->LockRangeForShare(subtable, begin, end)
                : transaction_->LockRangeForUpdate(subtable, begin, end);
}

void Session::DetachCursors() {
  while (!cursors_.empty()) {
    cursors_.back()->Detach();
  }
}

void Session::EndStatement() {
  if (!in_statement_) {
    return;
  }
  DetachCursors();
  if (undoable_) {
    (void)ReleaseSavepoint(statement_savepoint_);  // gone, if the transaction was rolled back
  }
  if (snapshot_ != nullptr) {
    db_->ReleaseSnapshot(snapshot_);
    snapshot_ = nullptr;
  }
  in_statement_ = false;
}

Status Session::RollbackStatement() {
  Status status;
  if (in_statement_ && undoable_) {
    ++changes_;
    DetachCursors();
    while (status.ok() && savepoints_.size() > statement_savepoint_) {
      status = transaction_->RollbackToSavepoint();
      savepoints_.pop_back();
    }
    row_counts_.TakeBack(savepoints_.size());
    undoable_ = false;
  }
  EndStatement();
  return status;
}

size_t Session::SetSavepoint() {
  transaction_->SetSavepoint();
  savepoints_.push_back(true);
  return savepoints_.size() - 1;
}

Status Session::RollbackToSavepoint(size_t savepoint) {
  if (savepoint >= savepoints_.size()) {
    return Status::NotFound("the savepoint is gone");
  }
  ++changes_;
  DetachCursors();
  while (savepoints_.size() > savepoint) {
    SLUICE_RETURN_IF_ERROR(transaction_->RollbackToSavepoint());
    savepoints_.pop_back();
  }
  row_counts_.TakeBack(savepoints_.size());
  SetSavepoint();
  return {};
}

Status Session::ReleaseSavepoint(size_t savepoint) {
  if (!prepared_name_.empty()) {
    return {};  // there are none any more, and no harm in that
  }
  return ReleaseSavepoints(savepoint);
}

Status Session::ForgetSavepoint(size_t savepoint) {
  if (savepoint < savepoints_.size()) {
    savepoints_[savepoint] = false;
  }
  return ReleaseSavepoints(savepoints_.size());
}

Status Session::ReleaseSavepoints(size_t left) {
  while (savepoints_.size() > left || (!savepoints_.empty() && !savepoints_.back())) {
    SLUICE_RETURN_IF_ERROR(transaction_->ReleaseSavepoint());
    savepoints_.pop_back();
  }
  row_counts_.Release(savepoints_.size());
  return {};
}

Status Session::Commit(bool sync) {
  if (transaction_ == nullptr) {
    return {};
  }
  DetachCursors();
  if (!sync || logged_) {
    transaction_->SetWriteOptions({.sync = false});
  }
  const Status status = transaction_->Commit();
  if (status.ok()) {
    row_counts_.Clear();
  }
  End();
  return status;
}

Status Session::Rollback() {
  if (transaction_ == nullptr) {
    return {};
  }
  DetachCursors();
  const Status status = transaction_->Rollback();
  End();
  return status;
}

Status Session::Prepare(std::string_view name) {
  EndStatement();
  DetachCursors();
  SLUICE_RETURN_IF_ERROR(transaction_->Prepare(name, {.keep_read_locks = serializable_}));
  prepared_name_.assign(name);
  row_counts_.Clear();  // as a rule it is committed, by whomever
  return {};
}

void Session::End() {
  DetachCursors();
  if (snapshot_ != nullptr) {
    db_->ReleaseSnapshot(snapshot_);
    snapshot_ = nullptr;
  }
  {
    const std::lock_guard guard(cancel_mutex_);
    transaction_.reset();
  }
  if (entries_unlocked_.value_or(false)) {
    entry_locks_->Leave();  // the transaction has ended, or the database knows it as prepared
  }
  entries_unlocked_.reset();
  for (Subtable* const subtable : drop_at_end_) {
    (void)db_->DropSubtable(subtable);
  }
  drop_at_end_.clear();
  row_counts_.TakeBackAll();
  serializable_ = false;
  prepared_name_.clear();
  place_.reset();
  logged_ = false;
  wrote_ = false;
  in_statement_ = false;
  undoable_ = false;
  savepoints_.clear();
  sees_.reset();
  fixed_ = false;
  ++changes_;
}

}  // namespace sluice::mariadb
