// Prepared transactions whose connections are gone. The server has given back its locks on the
// tables that these write (MariaDB 10.11), so that nothing but the engine keeps the tables from
// being replaced or dropped, with which the transactions' writes would be lost.

#pragma once

#include <sluice/db.h>

#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>

class THD;

namespace sluice::mariadb {

// Names of the prepared transactions that have a connection, until after they have ended.
// Thread-safe.
class AttachedTransactions {
 public:
  void Add(const std::string& name) {
    const std::lock_guard guard(mutex_);
    names_.insert(name);
  }
  // The transaction has ended, or its connection goes.
  void Remove(const std::string& name) {
    const std::lock_guard guard(mutex_);
    names_.erase(name);
  }
  bool Contains(const std::string& name) {
    const std::lock_guard guard(mutex_);
    return names_.contains(name);
  }

 private:
  std::mutex mutex_;
  std::unordered_set<std::string> names_;
};

inline constexpr char kDetached[] =
    "a transaction that writes the table is prepared, and its connection is gone; end it with XA "
    "COMMIT or XA ROLLBACK first (XA RECOVER names it)";

// Whether such a transaction writes these rows. `alone`: the server's lock on the table keeps all
// connections from writing it. Then none has such a transaction, even if it is attached still: a
// connection that goes gives up that lock before the engine hears of it.
bool IsWrittenByDetached(Subtable* rows, bool alone);

// The same of a table by its name, or of its partitions. REQUIRES: the connection is alone with it.
bool IsWrittenByDetached(std::string_view table);

// Whether the statement drops a table that must not be dropped for that, as far as this concerns
// the table of this name; or, empty: one of those that have partitions.
bool DropsWrittenByDetached(THD* thd, std::string_view name);

}  // namespace sluice::mariadb
