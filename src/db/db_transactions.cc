// Beginning transactions, and getting hold of prepared ones.

#include "db/db_impl.h"
#include "txn/transaction_impl.h"

namespace sluice {

std::unique_ptr<Transaction> DBImpl::BeginTransaction(const TransactionOptions& options,
                                                      const WriteOptions& write_options) {
  TransactionStore* const store = this;
  return std::make_unique<TransactionImpl>(store, &db_.transactions, options, write_options);
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
