#include "txn/transaction_impl.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "write/batch_format.h"

namespace sluice {

namespace {

// What it commits must fit in one record of the log, of less than 4 GiB.
constexpr size_t kMostBytes = size_t{3} << 30;

TransactionOptions Clamp(TransactionOptions options) {
  options.max_bytes = std::min(options.max_bytes, kMostBytes);
  return options;
}

Status IsPrepared() {
  return Status::InvalidArgument("the transaction is prepared: commit it, or roll it back");
}

class FailedIterator final : public Iterator {
 public:
  explicit FailedIterator(Status status) : status_(std::move(status)) {}

  bool Valid() const override { return false; }
  void SeekToFirst() override {}
  void SeekToLast() override {}
  void Seek(std::string_view) override {}
  void SeekForPrev(std::string_view) override {}
  void Next() override {}
  void Prev() override {}
  std::string_view key() const override { return {}; }
  std::string_view value() const override { return {}; }
  Status status() const override { return status_; }

 private:
  const Status status_;
};

}  // namespace

TransactionImpl::TransactionImpl(TransactionStore* store, Transactions* all,
                                 const TransactionOptions& options,
                                 const WriteOptions& write_options)
    : store_(*store),
      all_(*all),
      options_(Clamp(options)),
      write_options_(write_options),
      id_(all->next_id.fetch_add(1, std::memory_order_relaxed)),
      locks_(std::make_shared<LockTable::Owner>(&all->locks, id_, options.wait_listener)),
      memory_(&all->memory) {
  FitMemory();
  all_.active.fetch_add(1, std::memory_order_relaxed);
}

TransactionImpl::TransactionImpl(TransactionStore* store, Transactions* all, PreparedPtr prepared,
                                 const WriteOptions& write_options)
    : store_(*store),
      all_(*all),
      options_({}),
      write_options_(write_options),
      id_(prepared->locks->id()),
      locks_(prepared->locks),
      memory_(&all->memory),
      prepared_(std::move(prepared)),
      ended_(true),
      why_(IsPrepared()) {
  FitMemory();
}

TransactionImpl::~TransactionImpl() {
  if (locks_.use_count() > 1) {
    // Prepared, or its commit is under way: its locks outlive it.
    all_.locks.ForgetListener(locks_.get());
  }
  if (prepared_ != nullptr) {
    all_.prepared.GiveBack(prepared_.get());
  } else {
    (void)Rollback();
  }
}

void TransactionImpl::End() {
  ended_ = true;
  if (snapshot_ != nullptr) {
    store_.ReleaseSnapshot(std::exchange(snapshot_, nullptr));
  }
  writes_.Clear();
  FitMemory();
  all_.active.fetch_sub(1, std::memory_order_relaxed);
}

Status TransactionImpl::CheckActive() const {
  if (!ended_) {
    return {};
  }
  return !why_.ok() ? why_
                    : Status::InvalidArgument(rolled_back_ ? "the transaction is rolled back"
                                                           : "the transaction has ended");
}

ReadOptions TransactionImpl::WithSnapshot(const ReadOptions& options) {
  ReadOptions with = options;
  if (with.snapshot == nullptr && options_.isolation == Isolation::kSnapshot) {
    if (snapshot_ == nullptr) {
      snapshot_ = store_.GetSnapshot();
    }
    with.snapshot = snapshot_;
  }
  return with;
}

bool TransactionImpl::ReadOwn(uint32_t subtable, std::string_view key, std::string* value,
                              Status* status) const {
  const WriteBuffer::Write* const own = writes_.Find(subtable, key);
  if (own == nullptr) {
    return false;
  }
  if (own->type == RecordType::kDeletion) {
    *status = Status::NotFound({});
  } else {
    value->assign(own->value());
    *status = {};
  }
  return true;
}

Status TransactionImpl::Read(const ReadOptions& options, Subtable* subtable, std::string_view key,
                             std::string* value) {
  Status status;
  return ReadOwn(subtable->id(), key, value, &status)
             ? status
             : store_.Get(WithSnapshot(options), subtable, key, value);
}

Status TransactionImpl::Get(const ReadOptions& options, Subtable* subtable, std::string_view key,
                            std::string* value) {
  SLUICE_RETURN_IF_ERROR(CheckActive());
  return Read(options, store_.Resolve(subtable), key, value);
}

std::vector<Status> TransactionImpl::MultiGet(const ReadOptions& options, Subtable* subtable,
                                              const std::vector<std::string_view>& keys,
                                              std::vector<std::string>* values) {
  values->resize(keys.size());
  std::vector<Status> statuses(keys.size(), CheckActive());
  if (ended_) {
    return statuses;
  }
  Subtable* const target = store_.Resolve(subtable);
  std::vector<size_t> numbers;  // of the keys that it has not written
  std::vector<std::string_view> others;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!ReadOwn(target->id(), keys[i], &(*values)[i], &statuses[i])) {
      numbers.push_back(i);
      others.push_back(keys[i]);
    }
  }
  if (numbers.size() == keys.size()) {
    return store_.MultiGet(WithSnapshot(options), target, keys, values);
  }
  std::vector<std::string> found;
  std::vector<Status> outcomes = store_.MultiGet(WithSnapshot(options), target, others, &found);
  for (size_t i = 0; i < numbers.size(); ++i) {
    statuses[numbers[i]] = std::move(outcomes[i]);
    (*values)[numbers[i]] = std::move(found[i]);
  }
  return statuses;
}

Status TransactionImpl::GetLocked(LockMode mode, const ReadOptions& options, Subtable* subtable,
                                  std::string_view key, std::string* value) {
  SLUICE_RETURN_IF_ERROR(CheckActive());
  Subtable* const target = store_.Resolve(subtable);
  SLUICE_RETURN_IF_ERROR(store_.CheckWrite(*target, key, {}));
  SLUICE_RETURN_IF_ERROR(CheckRoom(key, 0));
  SLUICE_RETURN_IF_ERROR(Lock(target, key, mode));
  return Read(options, target, key, value);
}

Status TransactionImpl::Unlock(Subtable* subtable, std::string_view key) {
  SLUICE_RETURN_IF_ERROR(CheckActive());
  const uint32_t id = store_.Resolve(subtable)->id();
  if (!all_.locks.Holds(*locks_, id, key, LockMode::kShared)) {
    return Status::InvalidArgument(fmt::format("transaction {} has not locked the row", id_));
  }
  if (writes_.Find(id, key) == nullptr && all_.locks.Release(locks_.get(), id, key)) {
    lock_bytes_ -= LockTable::kLockBytes + key.size();
  }
  return {};
}

std::unique_ptr<Iterator> TransactionImpl::NewIterator(const ReadOptions& options,
                                                       Subtable* subtable) {
  if (Status status = CheckActive(); !status.ok()) {
    return std::make_unique<FailedIterator>(std::move(status));
  }
  std::unique_ptr<RecordIterator> own;
  if (!writes_.empty()) {
    own = writes_.NewIterator(store_.Resolve(subtable)->id());
  }
  return store_.IteratorOver(std::move(own), WithSnapshot(options), subtable);
}

Status TransactionImpl::CheckRoom(std::string_view key, size_t more) const {
  const size_t used = writes_.bytes() + lock_bytes_ + locks_->range_bytes();
  const size_t wanted = LockTable::kLockBytes + key.size() + more;
  if (used + wanted <= options_.max_bytes) {
    return {};
  }
  if (wanted > options_.max_bytes) {
    return Status::TooLarge(
        fmt::format("a write takes {} bytes of memory, and transaction {} may have {} "
                    "(TransactionOptions::max_bytes)",
                    wanted, id_, options_.max_bytes));
  }
  return Status::TooLarge(
      fmt::format("transaction {} has {} bytes of writes and locks, and may have {} "
                  "(TransactionOptions::max_bytes): commit it, and go on in another one",
                  id_, used, options_.max_bytes));
}

Status TransactionImpl::GiveWay(const Status& deadlock) {
  // The others of the cycle wait for its locks.
  (void)Rollback();
  why_ = deadlock.WithContext("rolled back");
  return deadlock;
}

Status TransactionImpl::Changed(std::string_view what) {
  all_.conflicts.fetch_add(1, std::memory_order_relaxed);
  return Status::Conflict(
      fmt::format("transaction {}: {} was written since the transaction's snapshot", id_, what));
}

Status TransactionImpl::Lock(Subtable* subtable, std::string_view key, LockMode mode) {
  bool taken;
  const Status status =
      all_.locks.Acquire(locks_.get(), subtable->id(), key, mode, options_.lock_timeout, &taken);
  if (status.code() == Status::Code::kDeadlock) {
    return GiveWay(status);
  }
  SLUICE_RETURN_IF_ERROR(status);
  if (!taken) {
    return {};
  }
  lock_bytes_ += LockTable::kLockBytes + key.size();
  if (options_.isolation != Isolation::kSnapshot) {
    return {};
  }
  bool changed = false;
  Status outcome =
      store_.ChangedSince(subtable, key, WithSnapshot({}).snapshot->sequence(), &changed);
  if (outcome.ok() && changed) {
    outcome = Changed("the row");
  }
  if (!outcome.ok()) {
    (void)all_.locks.Release(locks_.get(), subtable->id(), key);
    lock_bytes_ -= LockTable::kLockBytes + key.size();
  }
  return outcome;
}

Status TransactionImpl::LockRange(LockMode mode, Subtable* subtable, std::string_view begin,
                                  std::string_view end) {
  SLUICE_RETURN_IF_ERROR(CheckActive());
  Subtable* const target = store_.Resolve(subtable);
  SLUICE_RETURN_IF_ERROR(store_.CheckWrite(*target, begin, {}));
  SLUICE_RETURN_IF_ERROR(store_.CheckWrite(*target, end, {}));
  if (!end.empty() && begin >= end) {
    return {};
  }
  SLUICE_RETURN_IF_ERROR(CheckRoom(begin, end.size()));
  bool taken;
  const Status status = all_.locks.AcquireRange(locks_.get(), target->id(), begin, end, mode,
                                                options_.lock_timeout, &taken);
  if (status.code() == Status::Code::kDeadlock) {
    return GiveWay(status);
  }
  if (!status.ok() || !taken) {
    return status;
  }
  bool changed = false;
  Status outcome;
  if (snapshot_ != nullptr) {
    outcome = store_.RangeChangedSince(target, begin, end, snapshot_->sequence(), &changed);
  } else {
    (void)WithSnapshot({});
  }
  if (changed) {
    outcome = Changed("a row of the range");
  }
  if (outcome.ok()) {
    all_.locks.KeepRange(locks_.get(), target->id());
  } else {
    all_.locks.GiveUpRange(locks_.get(), target->id());
  }
  if (!store_.CheckWrite(*target, begin, {}).ok()) {
    all_.locks.ForgetSubtable(target->id());  // it was dropped since, perhaps before it was locked
  }
  return outcome;
}

Status TransactionImpl::Write(Subtable* subtable, std::string_view key, RecordType type,
                              std::string_view value, bool tracked) {
  SLUICE_RETURN_IF_ERROR(CheckActive());
  SLUICE_RETURN_IF_ERROR(store_.CheckWrite(*subtable, key, value));
  const size_t cost = WriteBuffer::Cost(key, value);
  SLUICE_RETURN_IF_ERROR(CheckRoom(key, cost));
  SLUICE_RETURN_IF_ERROR(GrowMemory(cost));
  if (!tracked) {
    untracked_ = true;
  } else if (Status status = Lock(subtable, key, LockMode::kExclusive); !status.ok()) {
    FitMemory();
    return status;
  }
  writes_.Add(subtable->id(), key, type, value);
  return {};
}

Status TransactionImpl::Put(Subtable* subtable, std::string_view key, std::string_view value) {
  return Write(store_.Resolve(subtable), key, RecordType::kValue, value, /*tracked=*/true);
}

Status TransactionImpl::Delete(Subtable* subtable, std::string_view key) {
  return Write(store_.Resolve(subtable), key, RecordType::kDeletion, {}, /*tracked=*/true);
}

Status TransactionImpl::PutUntracked(Subtable* subtable, std::string_view key,
                                     std::string_view value) {
  return Write(store_.Resolve(subtable), key, RecordType::kValue, value, /*tracked=*/false);
}

Status TransactionImpl::DeleteUntracked(Subtable* subtable, std::string_view key) {
  return Write(store_.Resolve(subtable), key, RecordType::kDeletion, {}, /*tracked=*/false);
}

void TransactionImpl::SetSavepoint() {
  if (!ended_) {
    writes_.SetSavepoint();
  }
}

Status TransactionImpl::RollbackToSavepoint() {
  SLUICE_RETURN_IF_ERROR(CheckActive());
  if (!writes_.RollbackToSavepoint()) {
    return Status::NotFound("no savepoint is set");
  }
  FitMemory();
  return {};
}

Status TransactionImpl::ReleaseSavepoint() {
  SLUICE_RETURN_IF_ERROR(CheckActive());
  if (!writes_.ReleaseSavepoint()) {
    return Status::NotFound("no savepoint is set");
  }
  FitMemory();
  return {};
}

Status TransactionImpl::MakeBatch(WriteBatch* batch) const {
  const Subtable* subtable = nullptr;
  Status status;
  writes_.ForEach([&](uint32_t id, const WriteBuffer::Write& write) {
    if (subtable == nullptr || subtable->id() != id) {
      subtable = store_.FindSubtable(id);
      if (subtable == nullptr) {
        status = Status::InvalidArgument(
            fmt::format("sub-table {}, which transaction {} writes to, was dropped", id, id_));
        return;
      }
    }
    if (write.type == RecordType::kValue) {
      batch->Put(subtable, write.key(), write.value());
    } else {
      batch->Delete(subtable, write.key());
    }
  });
  return status;
}

Status TransactionImpl::Prepare(std::string_view name, const PrepareOptions& options) {
  SLUICE_RETURN_IF_ERROR(CheckActive());
  if (name.empty() || name.size() > kMaxKeyBytes) {
    return Status::InvalidArgument(
        fmt::format("a prepared transaction needs a name of 1 to {} bytes", kMaxKeyBytes));
  }
  WriteBatch batch;
  SLUICE_RETURN_IF_ERROR(store_.CheckWritable());
  SLUICE_RETURN_IF_ERROR(MakeBatch(&batch));
  auto prepared = std::make_shared<PreparedTransaction>(&all_.memory);
  prepared->name = name;
  prepared->writes = batch.rep();
  prepared->count = batch.count();
  prepared->locks = locks_;
  prepared->in_use = true;
  prepared->CountMemory();
  std::string entries;
  if (!untracked_) {
    entries = prepared->writes;
  } else {
    writes_.ForEach([&](uint32_t subtable, const WriteBuffer::Write& write) {
      if (!all_.locks.Holds(*locks_, subtable, write.key(), LockMode::kExclusive)) {
        AppendUntracked(&entries);
      }
      const bool put = write.type == RecordType::kValue;
      AppendWrite(
          {put ? EntryType::kValue : EntryType::kDeletion, subtable, write.key(), write.value()},
          &entries);
    });
  }
  locks_->ForEachRow([&](uint32_t subtable, std::string_view key, LockMode mode) {
    if (mode == LockMode::kExclusive && writes_.Find(subtable, key) == nullptr) {
      AppendLock(subtable, key, &entries);
    }
  });
  std::string record;
  AppendPrepared(name, entries, &record);
  SLUICE_RETURN_IF_ERROR(all_.prepared.Add(prepared, [this] { return store_.LogEnd(); }));
  if (const Status status = store_.WriteRecord(record, 0, write_options_.sync); !status.ok()) {
    all_.prepared.Remove(*prepared);
    return status;
  }
  if (!options.keep_read_locks) {
    all_.locks.KeepExclusiveRows(locks_.get());
  }
  prepared_ = std::move(prepared);
  End();
  why_ = IsPrepared();
  return {};
}

std::string TransactionImpl::ResolvingRecord(bool commit) const {
  std::string record = commit ? prepared_->writes : std::string();
  AppendResolved(prepared_->name, &record);
  return record;
}

void TransactionImpl::Finish(Transactions* transactions, const PreparedPtr& prepared,
                             LockTable::Owner* locks, bool commit, const Status& outcome) {
  if (prepared != nullptr && !outcome.ok()) {
    transactions->prepared.GiveBack(prepared.get());
    return;
  }
  if (prepared != nullptr) {
    transactions->prepared.Remove(*prepared);
  }
  transactions->locks.ReleaseAll(locks);
  if (commit && outcome.ok()) {
    transactions->committed.fetch_add(1, std::memory_order_relaxed);
  }
}

Status TransactionImpl::Commit() {
  std::string record;
  uint32_t count;
  Status status;
  if (prepared_ != nullptr) {
    record = ResolvingRecord(/*commit=*/true);
    count = prepared_->count;
    why_ = {};
  } else {
    SLUICE_RETURN_IF_ERROR(CheckActive());
    WriteBatch batch;
    status = MakeBatch(&batch);
    count = batch.count();
    record = batch.TakeRep();
    End();
  }
  if (status.ok() && !record.empty()) {
    status = store_.WriteRecord(record, count, write_options_.sync);
  }
  Finish(&all_, std::exchange(prepared_, nullptr), locks_.get(), /*commit=*/true, status);
  return status;
}

void TransactionImpl::CommitAsync(CommitCallback callback) {
  std::string record;
  uint32_t count;
  Status status;
  if (prepared_ != nullptr) {
    record = ResolvingRecord(/*commit=*/true);
    count = prepared_->count;
    why_ = {};
  } else {
    if (status = CheckActive(); !status.ok()) {
      return callback(status);
    }
    WriteBatch batch;
    status = MakeBatch(&batch);
    count = batch.count();
    record = batch.TakeRep();
    End();
  }
  auto finish = [transactions = &all_, prepared = std::exchange(prepared_, nullptr), locks = locks_,
                 callback = std::move(callback)](const Status& outcome) {
    Finish(transactions, prepared, locks.get(), /*commit=*/true, outcome);
    callback(outcome);
  };
  if (!status.ok() || record.empty()) {
    return finish(status);
  }
  store_.WriteRecordAsync(std::move(record), count, write_options_.sync, std::move(finish));
}

Status TransactionImpl::Rollback() {
  if (prepared_ != nullptr) {
    const Status status =
        store_.WriteRecord(ResolvingRecord(/*commit=*/false), 0, write_options_.sync);
    Finish(&all_, std::exchange(prepared_, nullptr), locks_.get(), /*commit=*/false, status);
    rolled_back_ = status.ok();
    why_ = {};
    return status;
  }
  if (ended_) {
    return rolled_back_ ? Status() : CheckActive();
  }
  rolled_back_ = true;
  End();
  all_.locks.ReleaseAll(locks_.get());
  return {};
}

}  // namespace sluice
