// What the server calls at the ends of statements and transactions.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine.h"

// The server's, in no header: the session's format, if it writes the binary log.
extern "C" int thd_binlog_format(const MYSQL_THD thd);
// The answer to the client waits until as many have ended as have begun. Null if that cannot be.
extern "C" MYSQL_THD thd_increment_pending_ops(MYSQL_THD thd);
extern "C" void thd_decrement_pending_ops(void* thd);
// That one waits for a lock that the other has. If both are workers of a replica, and the other is to
// commit later, it is killed, from another thread, and tried again: it would wait for ever.
extern "C" int thd_rpl_deadlock_check(MYSQL_THD thd, MYSQL_THD other_thd);

namespace sluice::mariadb {
namespace {

// What the XA specification calls XAER_RMERR and XAER_NOTA.
constexpr int kXaFailed = -3;
constexpr int kXaUnknown = -4;

// The session of a connection, which tells the server of its waits.
class ConnectionSession final : public Session, public LockWaitListener {
 public:
  explicit ConnectionSession(THD* thd)
      : Session(engine->db.get(), &engine->entry_locks), thd_(thd) {}

  void OnWait(LockWaitListener* holder) override {
    (void)thd_rpl_deadlock_check(thd_, static_cast<ConnectionSession*>(holder)->thd_);
  }

 private:
  THD* const thd_;
};

Session* SessionOf(THD* thd) {
  Session* session = ExistingSession(thd);
  if (session == nullptr) {
    session = new ConnectionSession(thd);
    thd_set_ha_data(thd, engine->hton, session);
  }
  return session;
}

// One of several threads that do a primary's transactions at once, and commit them in its order.
bool IsParallelWorker(THD* thd) {
  return thd->rgi_slave != nullptr && thd->rgi_slave->is_parallel_exec;
}

// A statement by itself reads the newest state, as there is nothing that it must agree with: it
// never fails because of what was committed since it began. A transaction that is serializable locks
// what it reads, so that the newest state is the only one that it sees. What copies a table must see what
// it has written past the transaction, and nobody else writes to either table.
Isolation IsolationOf(THD* thd) {
  return InTransaction(thd) && thd_tx_isolation(thd) == ISO_REPEATABLE_READ && !CopiesTable(thd)
             ? Isolation::kSnapshot
             : Isolation::kReadCommitted;
}

void Begin(THD* thd, Session* session) {
  TransactionOptions options;
  options.isolation = IsolationOf(thd);
  options.max_bytes = MaxTransactionBytes(thd);
  options.wait_listener = static_cast<ConnectionSession*>(session);
  bool serializable = thd_tx_isolation(thd) == ISO_SERIALIZABLE;
  if (IsParallelWorker(thd)) {
    // A statement of the binary log must find what it found on the primary, where all that comes
    // before it was committed: what it has read, an earlier transaction must not change any more. That
    // one would wait for this one's locks, which then gives way (thd_rpl_deadlock_check).
    serializable = true;
    options.isolation = Isolation::kReadCommitted;
    // From now on, so that an earlier transaction never waits for that of a later one (AwaitEntryLocks).
    (void)engine->entry_locks.Require(engine->db.get());
  }
  session->Begin(options, {.sync = SyncCommits()}, serializable);
}

// A name for a prepared transaction: all of the XID but what its text does not have.
std::string NameOf(const XID& xid) {
  std::string name(sizeof(int64_t) + 2, '\0');
  const auto format = static_cast<int64_t>(xid.formatID);
  std::memcpy(name.data(), &format, sizeof(format));
  name[8] = static_cast<char>(xid.gtrid_length);
  name[9] = static_cast<char>(xid.bqual_length);
  name.append(xid.data, xid.gtrid_length + xid.bqual_length);
  return name;
}

bool ToXid(const std::string& name, XID* xid) {
  if (name.size() < 10) {
    return false;
  }
  const auto gtrid = static_cast<unsigned char>(name[8]);
  const auto bqual = static_cast<unsigned char>(name[9]);
  if (gtrid > MAXGTRIDSIZE || bqual > MAXBQUALSIZE || name.size() != size_t{10} + gtrid + bqual) {
    return false;
  }
  int64_t format = 0;
  std::memcpy(&format, name.data(), sizeof(format));
  xid->set(static_cast<long>(format), name.data() + 10, gtrid, name.data() + 10 + gtrid, bqual);
  return true;
}

// All that is committed is made durable, and the binary log told so.
void ReachCheckpoint(void* cookie) {
  if (engine->db->Write({.sync = true}, {}).ok()) {
    commit_checkpoint_notify_ha(cookie);
  }
}

// Whether the connection's thread has nothing else to do than to wait for its statement.
bool HasOwnThread(THD* thd) {
  return thd->scheduler == nullptr || thd->scheduler->thd_resume == nullptr;
}

void CheckDurable(const Status& status) {
  if (!status.ok()) {
    // As InnoDB does: there is no other way not to answer that all is well.
    sql_print_error("Sluice: cannot make a commit durable: %s", status.ToString().c_str());
    std::abort();
  }
}

// Of what is committed already. Threads of a pool go on with others' statements; the client gets its
// answer later. A thread that would do nothing else waits here, because the server's way costs more:
// who has synced would wake it with a mutex locked that it needs, and be interrupted.
void Sync(THD* thd) {
  if (HasOwnThread(thd) || thd_increment_pending_ops(thd) == nullptr) {
    CheckDurable(engine->db->Write({.sync = true}, {}));
    return;
  }
  engine->db->WriteAsync({.sync = true}, {}, [thd](const Status& status) {
    CheckDurable(status);
    thd_decrement_pending_ops(thd);
  });
}

// Commits what is not prepared, and is to be durable.
Status CommitDurably(THD* thd, Session* session) {
  const bool wrote = session->wrote();
  const Status status = session->Commit(/*sync=*/false);
  if (wrote && status.ok()) {
    Sync(thd);
  }
  return status;
}

int Commit(handlerton* /*hton*/, THD* thd, bool all) {
  Session* const session = ExistingSession(thd);
  if (session == nullptr || !session->active()) {
    return 0;
  }
  if (all || !InTransaction(thd)) {
    const std::string name = session->prepared_name();
    const std::optional<uint64_t> place = session->place();
    const int error = ToServer(
        thd, name.empty() && SyncCommits() ? CommitDurably(thd, session) : session->Commit());
    engine->attached.Remove(name);
    if (place) {
      std::ranges::for_each(engine->commit_order.Leave(*place), ReachCheckpoint);
      if (thd->rgi_slave != nullptr) {
        // A replica's workers say next how far it has come, and who waits for that (MASTER_GTID_WAIT)
        // is to see all that came before.
        engine->commit_order.AwaitUpTo(*place);
      }
    }
    return error;
  }
  session->EndStatement();
  return 0;
}

int Rollback(handlerton* /*hton*/, THD* thd, bool all) {
  Session* const session = ExistingSession(thd);
  if (session == nullptr || !session->active()) {
    return 0;
  }
  if (all || !InTransaction(thd)) {
    const std::string name = session->prepared_name();
    const int error = ToServer(thd, session->Rollback());
    engine->attached.Remove(name);
    return error;
  }
  if (!session->RollbackStatement().ok()) {
    // Only where the whole is rolled back already.
    thd->mark_transaction_to_rollback(true);
  }
  return 0;
}

int Prepare(handlerton* /*hton*/, THD* thd, bool all) {
  Session* const session = ExistingSession(thd);
  if (session == nullptr || !session->active()) {
    return 0;
  }
  if (!all && InTransaction(thd)) {
    session->EndStatement();
    return 0;
  }
  XID xid;
  thd_get_xid(thd, reinterpret_cast<MYSQL_XID*>(&xid));
  const std::string name = NameOf(xid);
  engine->attached.Add(name);
  const Status status = session->Prepare(name);
  if (!status.ok()) {
    engine->attached.Remove(name);
  }
  return ToServer(thd, status);
}

// The binary log, or what stands for it between engines, has the transaction, whose commit will
// follow. It is called from any connection's thread, and of all transactions in turn, so that all
// else is left to Commit.
void FixPlace(handlerton* /*hton*/, THD* thd, bool /*all*/) {
  Session* const session = ExistingSession(thd);
  if (session == nullptr || session->prepared_name().empty()) {
    return;
  }
  XID xid;
  thd_get_xid(thd, reinterpret_cast<MYSQL_XID*>(&xid));
  // Of an XA transaction nobody else knows whether it was committed.
  session->FixPlace(engine->commit_order.Enter(), xid.get_my_xid() != 0);
}

int Recover(handlerton* /*hton*/, XID* xids, uint size) {
  uint found = 0;
  for (const std::string& name : engine->db->ListPrepared()) {
    if (found == size) {
      break;
    }
    if (ToXid(name, &xids[found])) {
      ++found;
    }
  }
  return static_cast<int>(found);
}

int Resolve(const XID& xid, bool commit) {
  std::unique_ptr<Transaction> transaction;
  const Status status =
      engine->db->ResumeTransaction(NameOf(xid), {.sync = SyncCommits()}, &transaction);
  if (!status.ok()) {
    return status.IsNotFound() ? kXaUnknown : kXaFailed;
  }
  return (commit ? transaction->Commit() : transaction->Rollback()).ok() ? 0 : kXaFailed;
}

int CommitByXid(handlerton* /*hton*/, XID* xid) { return Resolve(*xid, true); }

int RollbackByXid(handlerton* /*hton*/, XID* xid) { return Resolve(*xid, false); }

int CloseConnection(handlerton* /*hton*/, THD* thd) {
  Session* const session = ExistingSession(thd);
  thd_set_ha_data(thd, engine->hton, nullptr);
  engine->attached.Remove(session->prepared_name());
  delete session;  // what is prepared stays
  return 0;
}

int SetSavepoint(handlerton* /*hton*/, THD* thd, void* savepoint) {
  Session* const session = SessionOf(thd);
  Begin(thd, session);
  *static_cast<size_t*>(savepoint) = session->SetSavepoint();
  return 0;
}

int RollbackToSavepoint(handlerton* /*hton*/, THD* thd, void* savepoint) {
  Session* const session = SessionOf(thd);
  const Status status = session->RollbackToSavepoint(*static_cast<size_t*>(savepoint));
  return status.IsNotFound() ? HA_ERR_NO_SAVEPOINT : ToServer(thd, status);
}

int ReleaseSavepoint(handlerton* /*hton*/, THD* thd, void* savepoint) {
  Session* const session = SessionOf(thd);
  const size_t number = *static_cast<size_t*>(savepoint);
  // The server gives up the one whose name is set anew, and keeps those that were set since.
  return ToServer(thd, thd_sql_command(thd) == SQLCOM_SAVEPOINT
                           ? session->ForgetSavepoint(number)
                           : session->ReleaseSavepoint(number));
}

int StartConsistentSnapshot(handlerton* hton, THD* thd) {
  Session* const session = SessionOf(thd);
  engine->commit_order.Await();  // the server lets no other commit have a place meanwhile
  Begin(thd, session);
  trans_register_ha(thd, true, hton, 0);
  return ToServer(thd, session->FixSnapshot());
}

// From the thread that kills: the connection's own waits, if it does anything here.
void KillQuery(handlerton* /*hton*/, THD* thd, enum thd_kill_levels /*level*/) {
  ExistingSession(thd)->CancelWaits();
}

// The binary log asks when all that has a place until now is durable.
void RequestCheckpoint(void* cookie) {
  if (engine->commit_order.Checkpoint(cookie)) {
    ReachCheckpoint(cookie);
  }
}

}  // namespace

Session* ExistingSession(THD* thd) {
  return static_cast<Session*>(thd_get_ha_data(thd, engine->hton));
}

Session* BeginStatement(THD* thd) {
  Session* const session = SessionOf(thd);
  const bool in_transaction = InTransaction(thd);
  Begin(thd, session);
  if (session->BeginStatement(in_transaction, LockTimeout(thd)) &&
      thd_kill_level(thd) != THD_IS_NOT_KILLED) {
    session->CancelWaits();  // KillQuery may have come before the statement
  }
  trans_register_ha(thd, false, engine->hton, 0);
  if (in_transaction) {
    trans_register_ha(thd, true, engine->hton, 0);
  }
  return session;
}

// NOWAIT and WAIT set the server's own limit for the statement.
std::chrono::milliseconds LockTimeout(THD* thd) {
  const double seconds =
      std::min(LockWaitSeconds(thd), static_cast<double>(thd->variables.lock_wait_timeout));
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

// This happens once in a server's life, so it is good enough to look now and then. The transaction
// has no locks yet, as all that take some come here first: nobody waits for it.
Status AwaitEntryLocks(THD* thd) {
  const auto deadline = std::chrono::steady_clock::now() + LockTimeout(thd);
  while (!engine->entry_locks.Require(engine->db.get())) {
    if (thd_kill_level(thd) != THD_IS_NOT_KILLED) {
      return Status::Cancelled("killed");
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      return Status::TimedOut(
          "transactions that began before any was serializable have not ended yet");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return {};
}

Status DropTable(THD* thd, std::string_view name) {
  // Temporary tables, which are not below the data directory, have only their own transaction's
  // writes.
  if (thd != nullptr && name.starts_with("./") && DropsWrittenByDetached(thd, name)) {
    return Status::Busy(kDetached);
  }
  Session* const session = thd == nullptr ? nullptr : ExistingSession(thd);
  if (session == nullptr || !session->wrote()) {
    return engine->dictionary.Drop(name);
  }
  std::vector<Subtable*> left;
  const Status status = engine->dictionary.Drop(name, &left);
  session->DropAtEnd(left);
  return status;
}

bool CopiesTable(THD* thd) {
  const int command = thd_sql_command(thd);
  // CHECK PARTITION and the like leave all as it is.
  constexpr auto kEmptying = ALTER_PARTITION_ADMIN | ALTER_PARTITION_TRUNCATE;
  if ((thd->lex->alter_info.partition_flags & kEmptying) == ALTER_PARTITION_ADMIN) {
    return false;
  }
  return command == SQLCOM_ALTER_TABLE || command == SQLCOM_CREATE_INDEX ||
         command == SQLCOM_DROP_INDEX;
}

bool InTransaction(THD* thd) {
  return thd_test_options(thd, OPTION_NOT_AUTOCOMMIT | OPTION_BEGIN) != 0;
}

bool LogsStatements(THD* thd) {
  return thd_tx_isolation(thd) == ISO_SERIALIZABLE && thd_binlog_format(thd) == BINLOG_FORMAT_STMT;
}

int ToServer(THD* thd, const Status& status) {
  switch (status.code()) {
    case Status::Code::kOk:
      return 0;
    case Status::Code::kNotFound:
      return HA_ERR_KEY_NOT_FOUND;
    case Status::Code::kCorruption:
      return HA_ERR_CRASHED;
    case Status::Code::kNoSpace:
      return HA_ERR_RECORD_FILE_FULL;
    case Status::Code::kCancelled:
      return HA_ERR_ABORTED_BY_USER;
    case Status::Code::kDeadlock:
      engine->NoteDeadlock(status.ToString());
      thd->mark_transaction_to_rollback(true);
      return HA_ERR_LOCK_DEADLOCK;
    case Status::Code::kConflict:
      // It cannot overwrite what it does not see; all it can do is begin anew.
      thd->mark_transaction_to_rollback(true);
      return HA_ERR_RECORD_CHANGED;
    case Status::Code::kTimedOut:
      return HA_ERR_LOCK_WAIT_TIMEOUT;
    default:
      return kOtherError;
  }
}

void SetTransactionFunctions(handlerton* hton) {
  hton->commit = Commit;
  hton->rollback = Rollback;
  hton->prepare = Prepare;
  hton->commit_ordered = FixPlace;
  hton->recover = Recover;
  hton->commit_by_xid = CommitByXid;
  hton->rollback_by_xid = RollbackByXid;
  hton->close_connection = CloseConnection;
  hton->savepoint_offset = sizeof(size_t);
  hton->savepoint_set = SetSavepoint;
  hton->savepoint_rollback = RollbackToSavepoint;
  hton->savepoint_release = ReleaseSavepoint;
  hton->savepoint_rollback_can_release_mdl = [](handlerton*, THD*) { return true; };
  hton->start_consistent_snapshot = StartConsistentSnapshot;
  hton->kill_query = KillQuery;
  hton->commit_checkpoint_request = RequestCheckpoint;
}

}  // namespace sluice::mariadb
