// Transactions.

#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "batch.h"
#include "bytes_like.h"
#include "cursor.h"
#include "snapshot.h"
#include "state.h"
#include "table.h"
#include "turn.h"

namespace sluice::python {

// Threads may share a transaction: the engine sees one of them at a time.
class TransactionPart final : public Part {
 public:
  TransactionPart(const Table& table, const TransactionOptions& options, bool sync);
  // Takes up what was prepared.
  TransactionPart(const Table& table, BytesLike prepared, bool sync);
  ~TransactionPart() override;

  uint64_t id();
  nanobind::object Get(BytesLike key, nanobind::object otherwise, bool for_update,
                       const Table* table, SnapshotPart* snapshot);
  void Put(BytesLike key, BytesLike value, const Table* table);
  void Delete(BytesLike key, const Table* table);
  Cursor* Iterate(Yields yields, const OptionalBytes& start, const OptionalBytes& stop,
                  const OptionalBytes& prefix, bool reverse, const Table* table,
                  SnapshotPart* snapshot, bool fill_cache);
  void SetSavepoint();
  void RollbackToSavepoint();
  void ReleaseSavepoint();
  void Prepare(BytesLike name);
  void Commit();
  void CommitAsync(const std::shared_ptr<Completions>& completions, Completions::Id id);
  // Ok if it has ended.
  void Rollback();
  // By one of these calls, or prepared. Closing the database does not count.
  bool ended() const { return ended_; }
  bool active() const { return !ended_ && transaction_ != nullptr; }
  void Yield(Remains* remains) override;
  void CancelWaits() override;

  // For cursors on it.
  const std::shared_ptr<TurnMutex>& turn() const { return turn_; }
  Transaction* get() const { return transaction_.get(); }
  void Add(Cursor* cursor) { cursors_.insert(cursor); }
  void Drop(Cursor* cursor) { cursors_.erase(cursor); }

 private:
  // Calls function(transaction) without the GIL, in this thread's turn.
  template <typename Function>
  Status Do(const Function& function);
  void CheckActive() const;
  // Takes the transaction, for whoever ends it, and ends its cursors. REQUIRES a turn and a Call.
  std::unique_ptr<Transaction> Take();
  void DropCursors(Remains* remains);

  const std::shared_ptr<TurnMutex> turn_ = std::make_shared<TurnMutex>();
  std::unique_ptr<Transaction> transaction_;  // null when it has ended
  std::set<Cursor*> cursors_;
  bool ended_ = false;
};

}  // namespace sluice::python
