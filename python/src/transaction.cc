#include "transaction.h"

#include <utility>

namespace sluice::python {

namespace nb = nanobind;

TransactionPart::TransactionPart(const Table& table, const TransactionOptions& options, bool sync)
    : Part(table.state()) {
  const Call call(state().get());
  const nb::gil_scoped_release release;
  transaction_ = state()->db()->BeginTransaction(options, {.sync = sync});
}

TransactionPart::TransactionPart(const Table& table, BytesLike prepared, bool sync)
    : Part(table.state()), ended_(true) {
  Run(state().get(),
      [&](DB* db) { return db->ResumeTransaction(prepared.view, {.sync = sync}, &transaction_); });
}

TransactionPart::~TransactionPart() {
  const Turn turn(turn_.get());  // its cursors live on
  End();
}

void TransactionPart::DropCursors(Remains* remains) {
  for (Cursor* cursor : std::exchange(cursors_, {})) {
    cursor->Yield(remains);
    cursor->Forget();
  }
}

void TransactionPart::Yield(Remains* remains) {
  DropCursors(remains);
  if (transaction_ != nullptr) {
    remains->transactions.push_back(std::move(transaction_));
  }
}

void TransactionPart::CancelWaits() {
  if (transaction_ != nullptr) {
    transaction_->CancelWaits();
  }
}

void TransactionPart::CheckActive() const {
  state()->CheckOpen();
  if (transaction_ == nullptr) {
    ThrowClosed("the transaction has ended");
  }
}

template <typename Function>
Status TransactionPart::Do(const Function& function) {
  const Turn turn(turn_.get());
  CheckActive();
  const Call call(state().get());
  const nb::gil_scoped_release release;
  return function(transaction_.get());
}

std::unique_ptr<Transaction> TransactionPart::Take() {
  Remains remains;
  DropCursors(&remains);
  ended_ = true;
  auto taken = std::move(transaction_);
  const nb::gil_scoped_release release;
  remains.Destroy(nullptr);
  return taken;
}

uint64_t TransactionPart::id() {
  CheckActive();
  return transaction_->id();
}

nb::object TransactionPart::Get(BytesLike key, nb::object otherwise, bool for_update,
                                const Table* table, SnapshotPart* snapshot) {
  Subtable* const subtable = Table::Resolve(state().get(), table);
  std::string value;
  Status status;
  {
    const Turn turn(turn_.get());
    CheckActive();
    const SnapshotPart::Pin pin(state().get(), snapshot);
    const Call call(state().get());
    const nb::gil_scoped_release release;
    const ReadOptions options = {.snapshot = pin.get()};
    status = for_update ? transaction_->GetForUpdate(options, subtable, key, &value)
                        : transaction_->Get(options, subtable, key, &value);
  }
  if (status.IsNotFound()) {
    return otherwise;
  }
  ThrowIfError(status);
  return ToBytes(value);
}

void TransactionPart::Put(BytesLike key, BytesLike value, const Table* table) {
  CheckSizes(key, value);
  Subtable* const subtable = Table::Resolve(state().get(), table);
  ThrowIfError(Do([&](Transaction* t) { return t->Put(subtable, key.view, value.view); }));
}

void TransactionPart::Delete(BytesLike key, const Table* table) {
  CheckSizes(key, {});
  Subtable* const subtable = Table::Resolve(state().get(), table);
  ThrowIfError(Do([&](Transaction* t) { return t->Delete(subtable, key.view); }));
}

Cursor* TransactionPart::Iterate(Yields yields, const OptionalBytes& start,
                                 const OptionalBytes& stop, const OptionalBytes& prefix,
                                 bool reverse, const Table* table, SnapshotPart* snapshot,
                                 bool fill_cache) {
  Subtable* const subtable = Table::Resolve(state().get(), table);
  auto cursor =
      std::make_unique<Cursor>(state(), Range::Make(start, stop, prefix, reverse), yields);
  const Turn turn(turn_.get());
  CheckActive();
  cursor->OpenOn(this, subtable, snapshot, fill_cache);
  return cursor.release();
}

void TransactionPart::SetSavepoint() {
  ThrowIfError(Do([](Transaction* t) {
    t->SetSavepoint();
    return Status();
  }));
}

void TransactionPart::RollbackToSavepoint() {
  ThrowIfError(Do([](Transaction* t) { return t->RollbackToSavepoint(); }));
}

void TransactionPart::ReleaseSavepoint() {
  ThrowIfError(Do([](Transaction* t) { return t->ReleaseSavepoint(); }));
}

void TransactionPart::Prepare(BytesLike name) {
  const Status status = Do([&](Transaction* t) { return t->Prepare(name.view); });
  ThrowIfError(status);
  ended_ = true;
}

void TransactionPart::Commit() {
  Status status;
  {
    const Turn turn(turn_.get());
    CheckActive();
    const Call call(state().get());
    std::unique_ptr<Transaction> taken = Take();
    const nb::gil_scoped_release release;
    status = taken->Commit();
    taken.reset();
  }
  ThrowIfError(status);
}

void TransactionPart::CommitAsync(const std::shared_ptr<Completions>& completions,
                                  Completions::Id id) {
  const Turn turn(turn_.get());
  CheckActive();
  const Call call(state().get());
  state()->calls()->Enter();  // until the engine is done
  std::unique_ptr<Transaction> taken = Take();
  const nb::gil_scoped_release release;
  taken->CommitAsync([calls = state()->calls(), completions, id](const Status& status) {
    completions->Post(id, status);
    calls->Leave();
  });
  taken.reset();
}

void TransactionPart::Rollback() {
  Status status;
  {
    const Turn turn(turn_.get());
    if (transaction_ == nullptr) {
      return;
    }
    const Call call(state().get());
    std::unique_ptr<Transaction> taken = Take();
    const nb::gil_scoped_release release;
    status = taken->Rollback();
    taken.reset();
  }
  ThrowIfError(status);
}

}  // namespace sluice::python
