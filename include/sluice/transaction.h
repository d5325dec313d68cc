// Transactions: reads of one state, writes of one instant, over all sub-tables of a database.
//
//   auto transaction = db->BeginTransaction({}, {.sync = true});
//   std::string stock;
//   sluice::Status status = transaction->GetForUpdate({}, nullptr, "stock/42", &stock);
//   if (status.ok()) status = transaction->Put(nullptr, "stock/42", OneLess(stock));
//   if (status.ok()) status = transaction->Put(orders, order_id, order);
//   if (status.ok()) status = transaction->Commit();
//   // Not ok: the destructor rolls back. If status.IsRetryable(), begin again.
//
// Writes are buffered, and seen by nobody but the transaction until it commits. A write locks its
// row until the transaction ends; others who want to write it wait (two-phase locking, X-Engine 3).
// Reads lock nothing and never wait, but for GetForUpdate. Row locks keep transactions apart from
// each other only: DB::Put, Delete and Write take and heed none.
//
// A transaction is used by one thread at a time; different ones by any threads. It is destroyed
// before its database is closed; destroying it rolls it back, unless it is committed or prepared.
//
// Errors, beside those of sluice/db.h:
//   Deadlock   the transaction would have waited for itself. It is rolled back, so that the others
//              can go on; the message names the cycle. Every later call but Rollback fails. Retry.
//   Conflict   (kSnapshot) the row was written since the transaction's snapshot: first committer
//              wins. Roll back, and retry.
//   TimedOut   somebody else held the row's lock for longer than lock_timeout.
//   TooLarge   it would need more than max_bytes, or all transactions together more than
//              Options::transaction_memory_bytes; the message says which. Commit what there is, and
//              go on in another one; or roll back and, in the second case, retry when others have
//              ended.
// After Conflict, TimedOut and TooLarge, what the call would have done is not done, and the
// transaction stands as before: it may do something else, roll back to a savepoint, or commit.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>

#include "sluice/iterator.h"
#include "sluice/options.h"
#include "sluice/status.h"

namespace sluice {

class Subtable;

using CommitCallback = std::function<void(const Status&)>;

enum class Isolation : uint8_t {
  // All reads see the state as of the first of them, or of the first write, then once its row is
  // locked. Write skew is possible; what must not be skewed is read with GetForUpdate.
  kSnapshot,
  // Each read sees the newest committed state, as it begins. Writes are never refused for what came
  // before them: what is read in order to be written is read with GetForUpdate.
  kReadCommitted,
};

struct TransactionOptions {
  Isolation isolation = Isolation::kSnapshot;
  // Of each wait for a row; 0: do not wait.
  std::chrono::milliseconds lock_timeout{1000};
  // Of its writes and locks, in memory; 1 GiB at most, larger ones are taken for that.
  size_t max_bytes = size_t{64} << 20;
};

class Transaction {
 public:
  Transaction() = default;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  virtual ~Transaction() = default;

  // Never given twice while the database is open; messages name transactions by it.
  virtual uint64_t id() const = 0;

  // As in DB, with the transaction's own writes over what is committed. A snapshot in the options
  // takes the place of the transaction's for this call: of a statement, say, that reads several
  // rows in kReadCommitted.
  virtual Status Get(const ReadOptions& options, Subtable* subtable, std::string_view key,
                     std::string* value) = 0;
  // Locks the row first, whether it exists or not, as a write would.
  virtual Status GetForUpdate(const ReadOptions& options, Subtable* subtable, std::string_view key,
                              std::string* value) = 0;
  // Never null. Shows of the transaction's writes those that came before this call. Destroyed
  // before the transaction is. After a RollbackToSavepoint, one from before may miss what was
  // undone.
  virtual std::unique_ptr<Iterator> NewIterator(const ReadOptions& options, Subtable* subtable) = 0;

  virtual Status Put(Subtable* subtable, std::string_view key, std::string_view value) = 0;
  virtual Status Delete(Subtable* subtable, std::string_view key) = 0;

  // Savepoints are a stack. Locks taken since one are kept when it is rolled back to.
  virtual void SetSavepoint() = 0;
  // Undoes the writes since the newest savepoint, and takes it off. NotFound if there is none.
  virtual Status RollbackToSavepoint() = 0;
  // Takes the newest savepoint off, and keeps the writes. NotFound if there is none.
  virtual Status ReleaseSavepoint() = 0;

  // All writes take effect, at once, and the locks are given back once every later snapshot sees
  // them. Ends the transaction, whatever it returns: with an error nothing is written, but that
  // after an IoError only opening the database again tells. A prepared one stays prepared then.
  virtual Status Commit() = 0;
  // Returns as soon as the commit is in line, and calls `callback` with what Commit would return,
  // once that is so and the locks are given back: from whichever thread, so it must neither block
  // nor write (DB::WriteAsync). The transaction has ended for its thread, and may be destroyed.
  virtual void CommitAsync(CommitCallback callback) = 0;
  std::future<Status> CommitAsync() {
    const auto promise = std::make_shared<std::promise<Status>>();
    CommitAsync([promise](const Status& status) { promise->set_value(status); });
    return promise->get_future();
  }
  // The first of two phases: once this has returned, the transaction can be committed whatever
  // happens, even to the process; with WriteOptions::sync, even to the power. Its locks and writes
  // are kept under `name` (1 byte to 64 KiB - 1, unique among those that are prepared) until it is
  // committed or rolled back: by this Transaction, or, once that is destroyed, by one that
  // DB::ResumeTransaction makes, also after the database was opened again. Everything else fails
  // from now on. Until it is resolved, the redo log is kept from here on, however long it gets
  // (TransactionStatistics::prepared_log_bytes).
  // InvalidArgument if the name is taken; the transaction stands as before.
  virtual Status Prepare(std::string_view name) = 0;

  // Ends the transaction. Ok if it has ended by a rollback before.
  virtual Status Rollback() = 0;
};

}  // namespace sluice
