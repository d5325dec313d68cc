// What all Python objects of one open database share: the database, how many calls are inside it,
// and which objects of Python hold parts of it.
//
// The engine wants to be closed last, when no call is under way and when all iterators, snapshots
// and transactions are gone. Python programs keep no such order. So:
//
// 1. Every call into the engine holds a Call. Close lets no new ones begin and waits for those that
//    have, but ends their waits for locks, which may be those of transactions that it is to end;
//    asynchronous writes count until they are done.
// 2. Then Close takes from every Part what it holds of the engine, destroys that, and closes the
//    database. The Parts, which Python owns, go on as empty shells that raise ClosedError.
//
// The State lives as long as any Python object that uses the database, and closes it when the last
// one goes: an iterator keeps its database open. It refers to no Python object, so there are no
// cycles that the garbage collector would have to see.
//
// All of it is protected by the GIL, except the number of calls, which threads of the engine change
// when asynchronous writes are done. The GIL is released round everything that the engine does.
//
// After a fork, the child has none of the engine's threads, and its locks in any state: there every
// call raises ClosedError, and the engine's objects are never destroyed.

#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "errors.h"
#include "sluice/db.h"

namespace sluice::python {

// The number of calls inside a database. Thread-safe.
class CallCount {
 public:
  void Enter() { calls_.fetch_add(1); }
  void Leave() {
    if (calls_.fetch_sub(1) == 1 && waiting_.load()) {
      calls_.notify_all();
    }
  }
  bool IsZero() const { return calls_.load() == 0; }
  // From then on Leave wakes who waits.
  void WaitForZero() {
    waiting_.store(true);
    for (uint32_t calls = calls_.load(); calls != 0; calls = calls_.load()) {
      calls_.wait(calls);
    }
  }

 private:
  std::atomic<uint32_t> calls_ = 0;
  std::atomic<bool> waiting_ = false;
};

// Objects of the engine on their way out, in the order in which they must go.
struct Remains {
  std::vector<std::unique_ptr<Iterator>> iterators;
  std::vector<std::unique_ptr<Transaction>> transactions;
  std::vector<const Snapshot*> snapshots;

  // REQUIRES: the GIL is not held.
  void Destroy(DB* db);
};

class State;

// A Python object's hold on a part of the engine.
class Part {
 public:
  explicit Part(std::shared_ptr<State> state);
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  virtual ~Part();

  const std::shared_ptr<State>& state() const { return state_; }
  // Moves what it holds of the engine to `remains`.
  virtual void Yield(Remains* remains) = 0;
  // Has a call that waits for a lock end, and later ones not wait.
  virtual void CancelWaits() {}

 protected:
  // Destroys what it holds, at once; for destructors of derived classes, and for those who end
  // something before the database is closed. REQUIRES that no thread is using it.
  void End() noexcept;

 private:
  std::shared_ptr<State> state_;
  std::list<Part*>::iterator self_;
};

class State {
 public:
  // Throws the exception of what DB::Open returns.
  static std::shared_ptr<State> Open(const Options& options, const std::string& path);
  // Closes all databases that are open: for the end of the process.
  static void CloseAll();

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  // May be called more than once; returns when the database is closed, whoever closes it.
  Status Close();
  bool open() const { return !closing_ && !Forked(); }
  // Throws ClosedError if it is not open.
  void CheckOpen() const;
  bool Forked() const;

  DB* db() const { return db_.get(); }
  const std::shared_ptr<CallCount>& calls() const { return calls_; }

 private:
  friend class Part;

  std::unique_ptr<DB> db_;
  std::shared_ptr<CallCount> calls_ = std::make_shared<CallCount>();
  std::list<Part*> parts_;
  bool closing_ = false;
  std::atomic<bool> closed_ = false;
  uint64_t generation_ = 0;  // forks that this process descends from
};

// A call into the engine, during which the database stays open. Made and destroyed with the GIL.
// Meanwhile no exception may be made, nor anything else that may run the garbage collector: it may
// run what closes the database, which would wait for this call.
class Call {
 public:
  explicit Call(State* state) : calls_(state->calls().get()) {
    state->CheckOpen();
    calls_->Enter();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() { calls_->Leave(); }

 private:
  CallCount* const calls_;
};

// Calls `function` without the GIL while the database stays open, and throws what is not ok.
template <typename Function>
void Run(State* state, const Function& function) {
  Status status;
  {
    const Call call(state);
    const nanobind::gil_scoped_release release;
    status = function(state->db());
  }
  ThrowIfError(status);
}

}  // namespace sluice::python
