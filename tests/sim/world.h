// What the clients of one life share.

#pragma once

#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "model.h"
#include "scheduler.h"
#include "sluice/db.h"
#include "sluice/transaction.h"
#include "util/fault_env.h"

namespace sluice::sim {

// What will go wrong in a life, beside its end.
enum class Trouble { kNone, kCrash, kFailure, kNoSpace, kFailedRead };

// What a crash at some moment of the life would have left.
struct Image {
  FileImage files;
  Model model;
  Span span;
};

// A transaction under way, whose waits any client may cancel.
struct Cancellable {
  Transaction* transaction;
  bool cancelled = false;
  bool noticed = false;  // it waits for nobody, or may wait again
};

struct World {
  Options options;
  Trouble trouble = Trouble::kNone;
  uint64_t synced_percent = 0;  // of the writes
  uint64_t mix = 0;             // a seed: how often clients do what
  // Clients wait for a row until they have it, so that a lost wake-up shows.
  bool patient = false;
  FaultEnv* env = nullptr;
  DB* db = nullptr;
  Model* model = nullptr;
  std::vector<Image> images;
  std::mutex cancellable_mutex;  // transactions that are listed are not destroyed
  std::vector<std::shared_ptr<Cancellable>> cancellable;
  uint64_t named = 0;       // of what needs a new name
  uint64_t operations = 0;  // done by clients

  bool Troubled() const { return env->crashed() || !env->failure().empty(); }
  std::string NewName(std::string_view what) { return fmt::format("{}{}", what, ++named); }
};

inline const std::set<std::string>& FixedTables() {
  static const std::set<std::string> tables = {"default", "a", "b"};
  return tables;
}

// Ends the process if something is wrong.
inline void Expect(bool right, const std::string& wrong) {
  if (!right) {
    Scheduler::Get()->Fail(wrong);
  }
}
inline void ExpectRight(const std::string& wrong, const std::string& where) {
  Expect(wrong.empty(), where + ":\n" + wrong);
}

// All records of those sub-tables that `wanted` names (empty: of all there are). Ok, or the error
// of a read.
Status ReadAll(DB* db, const ReadOptions& options, const std::set<std::string>& wanted,
               State* found, std::set<std::string>* tables);

}  // namespace sluice::sim
