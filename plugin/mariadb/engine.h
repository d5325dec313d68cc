// The engine below all tables of the server, and what ties the server's connections to it.

#pragma once

#include <ctime>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "dictionary.h"
#include "server.h"
#include "session.h"

namespace sluice::mariadb {

struct Engine {
  handlerton* hton = nullptr;
  std::unique_ptr<DB> db;
  Dictionary dictionary;

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
};

// From the plugin's start to its end; see plugin.cc.
extern Engine* engine;

// The session of a connection, with a transaction and a statement that the server knows of.
Session* BeginStatement(THD* thd);

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
