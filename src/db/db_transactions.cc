// Beginning transactions, and getting hold of prepared ones.

#include "db/db_impl.h"
#include "db/transaction_impl.h"

namespace sluice {

std::unique_ptr<Transaction> DBImpl::BeginTransaction(const TransactionOptions& options,
                                                      const WriteOptions& write_options) {
  return std::make_unique<TransactionImpl>(this, options, write_options);
}

Status DBImpl::ResumeTransaction(std::string_view name, const WriteOptions& write_options,
                                 std::unique_ptr<Transaction>* transaction) {
  PreparedPtr prepared;
  SLUICE_RETURN_IF_ERROR(transactions_.prepared.Take(name, &prepared));
  *transaction = std::make_unique<TransactionImpl>(this, std::move(prepared), write_options);
  return {};
}

Status DBImpl::RecoverPrepared(const LoggedTransactions& logged) {
  for (const auto& [name, found] : logged) {
    auto prepared = std::make_shared<PreparedTransaction>(&transactions_.memory);
    prepared->name = name;
    prepared->locks =
        std::make_shared<LockTable::Owner>(&transactions_.locks, transactions_.next_id++);
    std::string_view entries = found.entries;
    for (BatchEntry entry; ReadEntry(&entries, &entry);) {
      // What it wrote to a sub-table that was dropped is gone.
      if (subtables_.count(entry.subtable) == 0) {
        continue;
      }
      bool taken;
      SLUICE_RETURN_IF_ERROR(transactions_.locks.Acquire(prepared->locks.get(), entry.subtable,
                                                         entry.key, {}, &taken));
      if (entry.type != EntryType::kLock) {
        AppendWrite({static_cast<RecordType>(entry.type), entry.subtable, entry.key, entry.value},
                    &prepared->writes);
        ++prepared->count;
      }
    }
    prepared->CountMemory();
    const LogPosition begin = found.begin;
    SLUICE_RETURN_IF_ERROR(transactions_.prepared.Add(prepared, [begin] { return begin; }));
  }
  return {};
}

}  // namespace sluice
