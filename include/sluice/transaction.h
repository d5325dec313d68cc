/// @file
/// Transactions: reads that see one state and writes that take effect at one instant, across all
/// sub-tables of a database.
///
///     auto transaction = db->BeginTransaction({}, {.sync = true});
///     std::string stock;
///     sluice::Status status = transaction->GetForUpdate({}, nullptr, "stock/42", &stock);
///     if (status.ok()) status = transaction->Put(nullptr, "stock/42", OneLess(stock));
///     if (status.ok()) status = transaction->Put(orders, order_id, order);
///     if (status.ok()) status = transaction->Commit();
///     // Not ok: the destructor rolls back. If status.IsRetryable(), begin again.
///
/// Writes are buffered, and only the transaction itself sees them until it commits. A write locks
/// its row until the transaction ends; other transactions that want to write the row wait
/// (two-phase locking, X-Engine 3). Reads lock nothing and never wait, except GetForUpdate and
/// GetForShare. What is not there yet can be locked as a range of keys: LockRangeForShare and
/// LockRangeForUpdate keep others from writing any row in it, be it a new one. Locks separate
/// transactions only from each other: DB::Put, Delete, DeleteRange and Write neither take nor
/// respect them. A transaction deletes keys one by one.
///
/// A transaction is used by one thread at a time; different transactions may be used by different
/// threads. Destroy it before its database is closed. Destroying it rolls it back, unless it is
/// committed or prepared.
///
/// Errors, in addition to those of sluice/db.h:
///
///     Deadlock the transaction would have waited for itself. It is rolled back, so that the others
///              can go on; the message names the cycle. Every later call but Rollback fails. Retry.
///     Conflict (kSnapshot) the row, or one in the range, was written since the transaction's
///              snapshot: the first committer wins. Roll back and retry.
///     TimedOut other transactions held the lock for longer than the lock timeout.
///     Cancelled another thread called CancelWaits.
///     TooLarge the transaction would need more than max_bytes, or all transactions together more
///              than Options::transaction_memory_bytes; the message says which. Commit what
///              there is and go on in another one; or roll back and, in the second case, retry when
///              others have ended.
///
/// After Conflict, TimedOut, Cancelled and TooLarge the call has had no effect, and the transaction
/// is as before: it may do something else, roll back to a savepoint, or commit.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/export.h"
#include "sluice/iterator.h"
#include "sluice/options.h"
#include "sluice/status.h"

namespace sluice {

class Subtable;

/// Is told how a commit ended.
using CommitCallback = std::function<void(const Status&)>;

/// What a transaction's reads see, and what its writes may overwrite.
enum class Isolation : uint8_t {
  /// All reads see one state: that of the first read, or, if a write comes first, of the moment
  /// when its row is locked. Write skew is possible; use GetForShare or GetForUpdate for rows where
  /// it must not happen, and LockRangeForShare or LockRangeForUpdate for what scans find.
  kSnapshot,
  /// Each read sees the newest committed state when it begins. Writes are never refused because of
  /// earlier commits: use GetForUpdate to read what is then written.
  kReadCommitted,
};

/// Learns whom a transaction waits for: for who orders transactions by more than locks, as SQL's
/// replication does by their commits, and must end one of two that wait for each other.
class SLUICE_EXPORT LockWaitListener {
 public:
  LockWaitListener() = default;
  LockWaitListener(const LockWaitListener&) = delete;
  LockWaitListener& operator=(const LockWaitListener&) = delete;
  virtual ~LockWaitListener() = default;

  /// The listener's transaction begins to wait for that of `holder`, which has the lock, or comes to it
  /// first. Called, once or more, for each of them that has a listener, on the thread that waits; or,
  /// if it waits already, and for `holder` only through others until now, on the thread of `holder`,
  /// whose lock passes it by. It must neither block nor call the database; neither transaction ends
  /// meanwhile.
  virtual void OnWait(LockWaitListener* holder) = 0;
};

/// How a transaction is begun.
struct TransactionOptions {
  Isolation isolation = Isolation::kSnapshot;  ///< see there
  /// Limit on each wait for a lock; 0: do not wait. Transaction::SetLockTimeout changes it.
  std::chrono::milliseconds lock_timeout{1000};
  /// Limit on the memory of its writes and locks; values above 3 GiB mean 3 GiB.
  size_t max_bytes = size_t{64} << 20;
  /// Lives until the Transaction is destroyed; null: nobody wants to know.
  LockWaitListener* wait_listener = nullptr;
};

/// How a transaction is prepared.
struct PrepareOptions {
  /// Keeps the locks of GetForShare and of ranges, too, until the transaction is committed or rolled
  /// back. For a commit in two phases where something in between fixes the transaction's place
  /// among the others (SQL's binary log): without, who overwrites what it has read could come before
  /// it there. They are not in the log: after the database was reopened, they are gone.
  bool keep_read_locks = false;
};

/// A transaction that has begun; see the top of sluice/transaction.h.
class SLUICE_EXPORT Transaction {
 public:
  Transaction() = default;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  virtual ~Transaction() = default;

  /// Never reused while the database is open; messages name transactions by it.
  virtual uint64_t id() const = 0;

  /// Sets the limit on each wait for a lock that begins from now on. With 0 a call does not wait: a
  /// row that another transaction has locked gives TimedOut at once, and the message names that
  /// transaction. The caller may then go on without the row (SQL's SKIP LOCKED).
  virtual void SetLockTimeout(std::chrono::milliseconds timeout) = 0;

  /// Ends the wait that is under way with Cancelled, and every later one as soon as it begins, until
  /// AllowWaits is called. What needs no wait goes on as before. Unlike all else it may be called
  /// from any thread, as long as the transaction is not destroyed: it is how a statement is stopped
  /// from outside (SQL's KILL QUERY), before it waits, while it waits, or after.
  virtual void CancelWaits() = 0;
  /// Undoes CancelWaits; where statements can be stopped, each begins with it.
  virtual void AllowWaits() = 0;

  /// As in DB, but the transaction's own writes hide what is committed. A snapshot in the options
  /// replaces the transaction's for this call; a statement that reads several rows in
  /// kReadCommitted needs one, for example.
  virtual Status Get(const ReadOptions& options, Subtable* subtable, std::string_view key,
                     std::string* value) = 0;
  /// As in DB: reads all keys from one state, beneath the transaction's own writes.
  virtual std::vector<Status> MultiGet(const ReadOptions& options, Subtable* subtable,
                                       const std::vector<std::string_view>& keys,
                                       std::vector<std::string>* values) = 0;
  /// Locks the row first, whether it exists or not, as a write would.
  virtual Status GetForUpdate(const ReadOptions& options, Subtable* subtable, std::string_view key,
                              std::string* value) = 0;
  /// As GetForUpdate, but other transactions may lock the row for share, too. One of them that
  /// writes it, or locks it for update, waits until it is the only one; of two that do so, one ends
  /// with Deadlock at once: use GetForUpdate for rows that will be written. Readers do not starve
  /// writers: a request to share a lock that a writer waits for waits behind that writer.
  virtual Status GetForShare(const ReadOptions& options, Subtable* subtable, std::string_view key,
                             std::string* value) = 0;
  /// @{
  /// Locks the keys in [begin, end), whether they exist or not, until the transaction ends. An
  /// empty `end` means no bound, and of an empty range nothing is locked. Other transactions wait
  /// that want to lock or to write a row in it, or to lock a range that overlaps it, and it waits
  /// for those that have; with ForShare only where the other lock is for update, or a write. What
  /// the transaction then reads in the range stays so: no row of it changes, goes or comes. Locked
  /// before it is scanned, and with all that is read locked, it makes transactions serializable.
  /// Ranges that overlap or touch become one. There is no Unlock of a range, and that of a row
  /// leaves the ranges around it locked.
  ///
  /// Plain reads never wait, as always. From the first such call on, locks of the sub-table's rows
  /// share a mutex and are searched for in a tree, which is still fast, but less so on many cores;
  /// other sub-tables notice nothing. In kSnapshot a transaction that already has its snapshot
  /// looks whether a row in the range was written since: in memtables, and if one was flushed since
  /// the snapshot, in all records of the range. Lock ranges before the first read, and it need not.
  virtual Status LockRangeForUpdate(Subtable* subtable, std::string_view begin,
                                    std::string_view end) = 0;
  virtual Status LockRangeForShare(Subtable* subtable, std::string_view begin,
                                   std::string_view end) = 0;
  /// @}
  /// Takes back one GetForUpdate or GetForShare of the row, because what it read does not matter (a
  /// row that SQL's WHERE clause rejects): others need not wait for the end of the transaction. The
  /// row stays locked, as strongly as it is, if the transaction has locked it more often, or has
  /// written it. InvalidArgument if it has not locked the row, or only as one in a range.
  virtual Status Unlock(Subtable* subtable, std::string_view key) = 0;
  /// Never null. Shows those of the transaction's writes that came before this call. Destroy it
  /// before the transaction. After a RollbackToSavepoint, an older iterator may miss what was
  /// undone.
  virtual std::unique_ptr<Iterator> NewIterator(const ReadOptions& options, Subtable* subtable) = 0;

  /// Locks the row, and writes it when the transaction commits.
  virtual Status Put(Subtable* subtable, std::string_view key, std::string_view value) = 0;
  /// Locks the row, and deletes it when the transaction commits; no error if it is absent.
  virtual Status Delete(Subtable* subtable, std::string_view key) = 0;
  /// @{
  /// As Put and Delete, but the row is not locked, and it does not matter whether it was written
  /// since the transaction's snapshot: for rows that no other transaction writes, such as those of a table
  /// that is being loaded. If others do write the row, the last commit stands.
  virtual Status PutUntracked(Subtable* subtable, std::string_view key, std::string_view value) = 0;
  virtual Status DeleteUntracked(Subtable* subtable, std::string_view key) = 0;
  /// @}

  /// Sets a savepoint on top of those there are. Rolling back to one keeps the locks taken since.
  virtual void SetSavepoint() = 0;
  /// Undoes the writes since the newest savepoint and removes it. NotFound if there is none.
  virtual Status RollbackToSavepoint() = 0;
  /// Removes the newest savepoint and keeps the writes. NotFound if there is none.
  virtual Status ReleaseSavepoint() = 0;

  /// How Prepare, Commit and Rollback write from now on, instead of as BeginTransaction was told.
  virtual void SetWriteOptions(const WriteOptions& options) = 0;
  /// All writes take effect at once, and the locks are released when every later snapshot sees
  /// them. Ends the transaction, whatever it returns. After an error nothing is written, except
  /// that after an IoError only reopening the database tells whether the writes are there. A
  /// prepared transaction stays prepared after an error.
  virtual Status Commit() = 0;
  /// Returns as soon as the commit is queued, and calls `callback` with what Commit would return
  /// when that is known and the locks are released. The call may come from any thread, so it must
  /// neither block nor write (DB::WriteAsync). For its own thread the transaction has ended, and
  /// may be destroyed.
  virtual void CommitAsync(CommitCallback callback) = 0;
  /// The same, with the outcome as a future.
  std::future<Status> CommitAsync() {
    const auto promise = std::make_shared<std::promise<Status>>();
    CommitAsync([promise](const Status& status) { promise->set_value(status); });
    return promise->get_future();
  }
  /// The first of two phases. Once this has returned, the transaction can still be committed after
  /// the process has died and, with WriteOptions::sync, after a loss of power. Its locks and writes
  /// are kept under `name` (1 byte to 64 KiB - 1, unique among prepared transactions) until it is
  /// committed or rolled back: by this object or, once that is destroyed, by one that
  /// DB::ResumeTransaction returns, even after the database was reopened. All other calls fail from
  /// now on. The locks of GetForShare and those of ranges are released, unless the options keep them:
  /// whatever the transaction wanted to read, it has read. Until it is resolved, the redo log is kept
  /// from here on, however long it gets (TransactionStatistics::prepared_log_bytes).
  /// InvalidArgument if the name is taken; the transaction is then as before.
  virtual Status Prepare(std::string_view name, const PrepareOptions& options) = 0;
  /// The same with default options.
  Status Prepare(std::string_view name) { return Prepare(name, {}); }

  /// Ends the transaction. Ok if it was rolled back before.
  virtual Status Rollback() = 0;
};

}  // namespace sluice
