// The engine below all tables of the server, and what ties the server's connections to it.

#pragma once

#include <sluice/transaction.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "commit_order.h"
#include "detached.h"
#include "dictionary.h"
#include "entry_locks.h"
#include "server.h"
#include "session.h"

namespace sluice::mariadb {

struct Engine {
  handlerton* hton = nullptr;
  std::unique_ptr<DB> db;
  Dictionary dictionary;
  EntryLocks entry_locks;
  CommitOrder commit_order;
  std::mutex ingestion_mutex;  // a database takes one ingestion at a time
  // Tables that had lost their list of partitions when the server started.
  std::vector<std::string> unlisted;

  // For people: when the last deadlock was, and what it consisted of.
  void NoteDeadlock(std::string_view cycle) {
    const time_t now = std::time(nullptr);
    struct tm local;
    char when[32];
    localtime_r(&now, &local);
    const size_t length = std::strftime(when, sizeof(when), "%F %T ", &local);
    const std::lock_guard guard(deadlock_mutex);
    last_deadlock.assign(when, length).append(cycle);
  }
  std::mutex deadlock_mutex;
  std::string last_deadlock;

  AttachedTransactions attached;
};

// From the plugin's start to its end; see plugin.cc.
extern Engine* engine;

// The session of a connection; null if it has none yet.
Session* ExistingSession(THD* thd);
// The same, with a transaction and a statement that the server knows of.
Session* BeginStatement(THD* thd);
// How long the connection's statement waits for a lock.
std::chrono::milliseconds LockTimeout(THD* thd);
// Before a transaction locks ranges: waits until all who write entries of indexes lock them.
Status AwaitEntryLocks(THD* thd);

// Tells a table's definitions apart: the part of a UUID of the server's that is the time.
uint64_t DefinitionVersion(const LEX_CUSTRING& uuid);

// The server's list of a table's partitions is a file, whose name is the table's and this, and so is its
// definition of the table.
constexpr char kPartitionList[] = ".par";
constexpr char kDefinition[] = ".frm";

// Drops a table. A temporary one may be dropped within the transaction that has written it.
Status DropTable(THD* thd, std::string_view name);

// Whether the statement may copy a table.
bool CopiesTable(THD* thd);

// Whether the statement is one of several in a transaction.
bool InTransaction(THD* thd);

// Whether statements that write go to the binary log as such, so that they must find there what they
// have found here: they are locked for that, until the transaction is in the log.
bool LogsStatements(THD* thd);

// The server's number for an error, and what it must be told with it: after a deadlock the
// transaction is gone.
int ToServer(THD* thd, const Status& status);

// In handler::get_error_message: errors that the server has no number for.
inline constexpr int kOtherError = HA_ERR_LAST + 100;

// hton's functions for transactions.
void SetTransactionFunctions(handlerton* hton);

// System variables of plugin.cc.
bool SyncCommits();
double LockWaitSeconds(THD* thd);
size_t MaxTransactionBytes(THD* thd);

}  // namespace sluice::mariadb
