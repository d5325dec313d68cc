// Beginning transactions, and finding prepared ones.

#include "db/db_impl.h"
#include "txn/transaction_impl.h"
#include "write/batch_format.h"

namespace sluice {

std::unique_ptr<Transaction> DBImpl::BeginTransaction(const TransactionOptions& options,
                                                      const WriteOptions& write_options) {
  TransactionStore* const store = this;
  return std::make_unique<TransactionImpl>(store, &db_.transactions, options, write_options);
}

std::vector<std::string> DBImpl::ListPreparedIn(Subtable* subtable) {
  const uint32_t id = Resolve(subtable)->id();
  return db_.transactions.prepared.Names([id](const PreparedTransaction& transaction) {
    std::string_view writes = transaction.writes;
    for (BatchWrite write; ReadWrite(&writes, &write);) {
      if (write.subtable == id) {
        return true;
      }
    }
    return false;
  });
}

Status DBImpl::ResumeTransaction(std::string_view name, const WriteOptions& write_options,
                                 std::unique_ptr<Transaction>* transaction) {
  PreparedPtr prepared;
  SLUICE_RETURN_IF_ERROR(db_.transactions.prepared.Take(name, &prepared));
  TransactionStore* const store = this;
  *transaction = std::make_unique<TransactionImpl>(store, &db_.transactions, std::move(prepared),
                                                   write_options);
  return {};
}

}  // namespace sluice
