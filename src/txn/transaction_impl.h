// A transaction: its locks and write buffer, over the read and write path of a database.
//
// A write, GetForUpdate or GetForShare
//   1. locks the row, and waits for that if need be;
//   2. takes the snapshot, if there is none yet: what the lock's last holder has written is in it;
//   3. in kSnapshot, checks that the row has not been written since the snapshot. A later writer
//      must have the lock, so that the check holds until the end: first committer wins. Who has
//      shared the lock until now need not check again.
// The lock of a range is taken likewise, but 3. is done only if there was a snapshot before: one
// that is taken now has all that was committed.
// The locks are given back after the commit's writes are visible: who gets one next reads, or
// checks against, a state that has them.

#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/transaction.h"
#include "txn/lock_table.h"
#include "txn/memory_budget.h"
#include "txn/transaction_store.h"
#include "txn/transactions.h"
#include "txn/write_buffer.h"

namespace sluice {

class TransactionImpl final : public Transaction {
 public:
  using Transaction::CommitAsync;
  using Transaction::Prepare;

  // Both outlive it.
  TransactionImpl(TransactionStore* store, Transactions* all, const TransactionOptions& options,
                  const WriteOptions& write_options);
  // For a prepared transaction, which was taken (PreparedTransactions::Take) for this.
  TransactionImpl(TransactionStore* store, Transactions* all, PreparedPtr prepared,
                  const WriteOptions& write_options);
  ~TransactionImpl() override;

  uint64_t id() const override { return id_; }
  void SetLockTimeout(std::chrono::milliseconds timeout) override {
    options_.lock_timeout = timeout;
  }
  void CancelWaits() override { all_.locks.CancelWaits(locks_.get()); }
  void AllowWaits() override { all_.locks.AllowWaits(locks_.get()); }
  Status Get(const ReadOptions& options, Subtable* subtable, std::string_view key,
             std::string* value) override;
  std::vector<Status> MultiGet(const ReadOptions& options, Subtable* subtable,
                               const std::vector<std::string_view>& keys,
                               std::vector<std::string>* values) override;
  Status GetForUpdate(const ReadOptions& options, Subtable* subtable, std::string_view key,
                      std::string* value) override {
    return GetLocked(LockMode::kExclusive, options, subtable, key, value);
  }
  Status GetForShare(const ReadOptions& options, Subtable* subtable, std::string_view key,
                     std::string* value) override {
    return GetLocked(LockMode::kShared, options, subtable, key, value);
  }
  Status LockRangeForUpdate(Subtable* subtable, std::string_view begin,
                            std::string_view end) override {
    return LockRange(LockMode::kExclusive, subtable, begin, end);
  }
  Status LockRangeForShare(Subtable* subtable, std::string_view begin,
                           std::string_view end) override {
    return LockRange(LockMode::kShared, subtable, begin, end);
  }
  Status Unlock(Subtable* subtable, std::string_view key) override;
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options, Subtable* subtable) override;
  Status Put(Subtable* subtable, std::string_view key, std::string_view value) override;
  Status Delete(Subtable* subtable, std::string_view key) override;
  Status PutUntracked(Subtable* subtable, std::string_view key, std::string_view value) override;
  Status DeleteUntracked(Subtable* subtable, std::string_view key) override;
  void SetSavepoint() override;
  Status RollbackToSavepoint() override;
  Status ReleaseSavepoint() override;
  Status Prepare(std::string_view name, const PrepareOptions& options) override;
  void SetWriteOptions(const WriteOptions& options) override { write_options_ = options; }
  Status Commit() override;
  void CommitAsync(CommitCallback callback) override;
  Status Rollback() override;

 private:
  // Ok if it has not ended.
  Status CheckActive() const;
  // With the transaction's snapshot, if it reads at one and the options have none.
  ReadOptions WithSnapshot(const ReadOptions& options);
  // Whether the transaction itself has written the key, and what it reads there.
  bool ReadOwn(uint32_t subtable, std::string_view key, std::string* value, Status* status) const;
  Status Read(const ReadOptions& options, Subtable* subtable, std::string_view key,
              std::string* value);
  Status GetLocked(LockMode mode, const ReadOptions& options, Subtable* subtable,
                   std::string_view key, std::string* value);
  Status Write(Subtable* subtable, std::string_view key, RecordType type, std::string_view value,
               bool tracked);
  // Steps 1 to 3.
  Status Lock(Subtable* subtable, std::string_view key, LockMode mode);
  Status LockRange(LockMode mode, Subtable* subtable, std::string_view begin, std::string_view end);
  // The wait would have closed a cycle.
  Status GiveWay(const Status& deadlock);
  Status Changed(std::string_view what);
  // TooLarge if max_bytes has no room for a lock of the key, and `more` bytes.
  Status CheckRoom(std::string_view key, size_t more) const;
  // Takes what the buffer will need from the memory of all, or gives back what it does not need.
  Status GrowMemory(size_t more) { return memory_.Grow(sizeof(*this) + writes_.bytes() + more); }
  void FitMemory() { memory_.Set(sizeof(*this) + writes_.bytes()); }
  Status MakeBatch(WriteBatch* batch) const;
  // What in the log ends a prepared transaction.
  std::string ResolvingRecord(bool commit) const;
  // Once that is visible, or the commit of one that is not prepared; or it failed. One that is
  // prepared stays so then.
  static void Finish(Transactions* transactions, const PreparedPtr& prepared,
                     LockTable::Owner* locks, bool commit, const Status& outcome);
  // Every call fails from now on. Keeps the locks; the writes are gone.
  void End();

  TransactionStore& store_;
  Transactions& all_;
  TransactionOptions options_;
  WriteOptions write_options_;
  const uint64_t id_;
  // Lives on until the commit is visible, when that comes later.
  std::shared_ptr<LockTable::Owner> locks_;
  WriteBuffer writes_;
  MemoryShare memory_;    // this, and writes_
  PreparedPtr prepared_;  // null unless it is prepared, and not resolved
  const Snapshot* snapshot_ = nullptr;
  size_t lock_bytes_ = 0;   // of rows
  bool untracked_ = false;  // some of writes_ may be of rows that are not locked
  // Once it has ended, or is prepared:
  bool ended_ = false;
  bool rolled_back_ = false;
  Status why_;  // every call fails with this, if it is an error
};

}  // namespace sluice
