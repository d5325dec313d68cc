// The transaction of one connection, and the statements in it.
//
// A Session is used by one thread at a time, as a Transaction is. It knows nothing of the server.

#pragma once

#include <sluice/db.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "entry_locks.h"
#include "row_counts.h"

namespace sluice::mariadb {

class Cursor;

// How a read locks its row.
struct RowLock {
  bool shared = false;
  bool skip = false;  // a row that another transaction has locked gives TimedOut at once
};

class Session {
 public:
  Session(DB* db, EntryLocks* entry_locks) : db_(db), entry_locks_(entry_locks) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  // Rolls back what is neither committed nor prepared.
  virtual ~Session();

  // Begins a transaction if there is none. One that is `serializable` keeps all of its locks, and its
  // cursors may guard what they read; REQUIRES: its isolation is kReadCommitted.
  void Begin(const TransactionOptions& options, const WriteOptions& write_options,
             bool serializable = false);
  // Begins a statement if there is none, and says whether it did. It can be undone by itself if
  // `undoable`; otherwise it is the only one of its transaction. It waits for a row no longer than
  // `lock_timeout`.
  bool BeginStatement(bool undoable, std::chrono::milliseconds lock_timeout);
  // Ends the statement's wait for a row with Cancelled, and every further one. From any thread.
  void CancelWaits();
  // Fixes what the transaction sees, in Isolation::kSnapshot.
  Status FixSnapshot();

  bool active() const { return transaction_ != nullptr; }
  bool serializable() const { return serializable_; }
  // The name of the prepared transaction; empty if it is not prepared.
  const std::string& prepared_name() const { return prepared_name_; }
  // Whether the statement's reads may not see this table, because it was made after what they see.
  bool Precedes(uint64_t created);

  // Reads what the statement sees, and the transaction's own writes.
  Status Get(Subtable* subtable, std::string_view key, std::string* value);
  std::vector<Status> MultiGet(Subtable* subtable, const std::vector<std::string_view>& keys,
                               std::vector<std::string>* values);
  // No two sessions have had the same.
  uint64_t id() const { return id_; }
  // Changes with each statement.
  uint64_t statement() const { return statement_; }
  // Changes with each write, and when writes are undone.
  uint64_t changes() const { return changes_; }
  // Over what the statement sees or, if `newest`, what the transaction may overwrite. It must be
  // destroyed before the statement ends.
  std::unique_ptr<Iterator> NewIterator(Subtable* subtable, bool newest);
  // About what the statement sees, for estimates: what the transaction sees is not fixed by it.
  std::unique_ptr<Iterator> NewEstimatingIterator(Subtable* subtable);
  // Locks the row, and reads what the transaction may overwrite.
  Status GetLocked(Subtable* subtable, std::string_view key, RowLock lock, std::string* value);
  // Locks a key that stands for what is in no sub-table, until UnlockToken; as often as it was locked.
  Status LockToken(Subtable* subtable, std::string_view key, bool shared);
  void UnlockToken(Subtable* subtable, std::string_view key);
  // Locks such a key that stands for all that begin with it, up to `end`, for whoever looks for one of
  // them before it writes another. Conflict if there is one that the transaction does not see.
  Status LockPrefix(Subtable* subtable, std::string_view prefix, std::string_view end);
  // A row that GetLocked read does not matter to the statement. It stays locked nevertheless where
  // the transaction must see one state (Isolation::kSnapshot), or is serializable.
  void Unlock(Subtable* subtable, std::string_view key);
  Status Put(Subtable* subtable, std::string_view key, std::string_view value);
  Status Delete(Subtable* subtable, std::string_view key);
  // For entries of indexes that only who has locked their row writes: these lock them only if they
  // must (EntryLocks).
  Status PutEntry(Subtable* subtable, std::string_view key, std::string_view value);
  Status DeleteEntry(Subtable* subtable, std::string_view key);

  // Counts a row that was written, until that is undone.
  void CountRow(const RowCounter& rows, int64_t difference) {
    row_counts_.Add(rows, difference, savepoints_.size());
  }

  // The message of the last error of the connection's.
  void NoteError(std::string_view message) { error_.assign(message); }
  const std::string& error() const { return error_; }

  // The index in which a row was found that was in the way of another one, last.
  void NoteDuplicate(unsigned index) { duplicate_index_ = index; }
  unsigned duplicate_index() const { return duplicate_index_; }

  // Ends the statement and keeps or undoes its writes.
  void EndStatement();
  Status RollbackStatement();

  // Sets a savepoint, and returns its number.
  size_t SetSavepoint();
  // Undoes all since the savepoint of this number, which stays. NotFound if it is gone.
  Status RollbackToSavepoint(size_t savepoint);
  // Releases it, and those that were set after it.
  Status ReleaseSavepoint(size_t savepoint);
  // Releases it, and none of those. Until these go, it takes the memory that it took.
  Status ForgetSavepoint(size_t savepoint);

  // Drops them when the transaction has ended, which may have written to them. REQUIRES: active()
  void DropAtEnd(const std::vector<Subtable*>& subtables) {
    drop_at_end_.insert(drop_at_end_.end(), subtables.begin(), subtables.end());
  }

  // Whether Commit has something to write.
  bool wrote() const { return wrote_; }
  // These end the transaction, whatever they return; but a prepared one that cannot be committed or
  // rolled back stays prepared. Without `sync`, Commit leaves it to the caller to make durable what
  // it has made visible.
  Status Commit(bool sync = true);
  Status Rollback();
  // Prepare leaves it to the two above, or to whoever resumes it after the session's end. One that is
  // serializable keeps all locks.
  Status Prepare(std::string_view name);
  // The prepared transaction will be committed, as this number (CommitOrder). `logged`: what says so is
  // durable, so that Commit need not sync. From any thread, while the session's waits for that.
  void FixPlace(uint64_t number, bool logged) {
    place_ = number;
    logged_ = logged;
  }
  std::optional<uint64_t> place() const { return place_; }

 private:
  friend class Cursor;

  // For the reads of a statement.
  ReadOptions StatementRead();
  // What the transaction sees is fixed by the read that follows: an iterator, a MultiGet, or a Get of
  // a key that it has not written.
  void FixSnapshotByRead();
  Status LockRange(Subtable* subtable, std::string_view begin, std::string_view end, bool shared);
  bool WritesEntriesUnlocked();
  void NoteSnapshot();
  void NoteWrite() {
    wrote_ = true;
    ++changes_;
  }
  void DetachCursors();
  // Releases the newest ones, to this many, and further ones that are forgotten.
  Status ReleaseSavepoints(size_t left);
  void End();

  static inline std::atomic<uint64_t> last_id{0};

  const uint64_t id_ = ++last_id;
  DB* db_;
  EntryLocks* entry_locks_;
  std::mutex cancel_mutex_;  // held where transaction_ is replaced, and by CancelWaits
  std::unique_ptr<Transaction> transaction_;
  std::chrono::milliseconds lock_timeout_{0};  // of the statement
  Isolation isolation_ = Isolation::kSnapshot;
  bool serializable_ = false;
  bool wrote_ = false;
  // Whether the transaction writes entries without locks; set by the first one.
  std::optional<bool> entries_unlocked_;
  std::string prepared_name_;
  std::optional<uint64_t> place_;
  bool logged_ = false;  // with place_
  bool in_statement_ = false;
  uint64_t statement_ = 0;  // number of it
  bool undoable_ = false;
  size_t statement_savepoint_ = 0;      // if undoable_
  std::vector<bool> savepoints_;        // set in the transaction; false: forgotten
  const Snapshot* snapshot_ = nullptr;  // of the statement, in kReadCommitted
  std::optional<uint64_t> sees_;        // in kSnapshot: at least this, once something was read
  bool fixed_ = false;                  // in kSnapshot: what it sees
  uint64_t changes_ = 0;                // counts writes and undoings
  std::vector<Cursor*> cursors_;        // that have an iterator
  std::vector<Subtable*> drop_at_end_;
  RowCounts row_counts_;
  unsigned duplicate_index_ = 0;
  std::string error_;
};

}  // namespace sluice::mariadb
