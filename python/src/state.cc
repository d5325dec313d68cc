#include "state.h"

#include <pthread.h>

#include <utility>

namespace sluice::python {

namespace nb = nanobind;

namespace {

std::atomic<uint64_t> forks = 0;

// With the GIL.
std::list<std::weak_ptr<State>>& OpenStates() {
  static auto* const states = new std::list<std::weak_ptr<State>>;
  return *states;
}

}  // namespace

void Remains::Destroy(DB* db) {
  iterators.clear();  // before the transactions that they belong to
  transactions.clear();
  for (const Snapshot* snapshot : snapshots) {
    db->ReleaseSnapshot(snapshot);
  }
  snapshots.clear();
}

Part::Part(std::shared_ptr<State> state) : state_(std::move(state)) {
  self_ = state_->parts_.insert(state_->parts_.end(), this);
}

Part::~Part() { state_->parts_.erase(self_); }

void Part::End() noexcept {
  Remains remains;
  Yield(&remains);
  if (remains.iterators.empty() && remains.transactions.empty() && remains.snapshots.empty()) {
    return;
  }
  if (state_->Forked()) {
    (void)new Remains(std::move(remains));  // to be destroyed by nobody
    return;
  }
  // Not a Call, which would refuse: what it held must go, and Close waits until it has.
  state_->calls_->Enter();
  {
    const nb::gil_scoped_release release;
    remains.Destroy(state_->db_.get());
  }
  state_->calls_->Leave();
}

std::shared_ptr<State> State::Open(const Options& options, const std::string& path) {
  static const int installed = pthread_atfork(nullptr, nullptr, [] { ++forks; });
  (void)installed;
  const auto state = std::make_shared<State>();
  state->generation_ = forks;
  Status status;
  {
    const nb::gil_scoped_release release;
    status = DB::Open(options, path, &state->db_);
  }
  if (!status.ok()) {
    state->closing_ = true;
    state->closed_ = true;
  }
  ThrowIfError(status);
  OpenStates().remove_if([](const std::weak_ptr<State>& other) { return other.expired(); });
  OpenStates().push_back(state);
  return state;
}

void State::CloseAll() {
  std::vector<std::shared_ptr<State>> states;
  for (const std::weak_ptr<State>& weak : OpenStates()) {
    if (auto state = weak.lock(); state != nullptr && state->open()) {
      states.push_back(std::move(state));
    }
  }
  for (const auto& state : states) {
    (void)state->Close();  // nobody is left to be told
  }
}

State::~State() {
  if (Forked()) {
    (void)db_.release();
    return;
  }
  (void)Close();
}

bool State::Forked() const { return generation_ != forks.load(std::memory_order_relaxed); }

void State::CheckOpen() const {
  if (open()) [[likely]] {
    return;
  }
  ThrowClosed(Forked() ? "the database was opened before the process forked"
                       : "the database is closed");
}

Status State::Close() {
  if (Forked()) {
    return {};  // it is the parent's
  }
  if (std::exchange(closing_, true)) {
    const nb::gil_scoped_release release;
    closed_.wait(false);
    return {};
  }
  for (Part* part : parts_) {
    part->CancelWaits();
  }
  // With the GIL, so that none comes between the last look and what follows. What Part::End
  // destroys may still come while the GIL is released.
  while (!calls_->IsZero()) {
    const nb::gil_scoped_release release;
    calls_->WaitForZero();
  }
  Remains remains;
  for (Part* part : parts_) {
    part->Yield(&remains);
  }
  Status status;
  {
    const nb::gil_scoped_release release;
    remains.Destroy(db_.get());
    status = db_->Close();
    db_.reset();
    closed_.store(true);
    closed_.notify_all();
  }
  return status;
}

}  // namespace sluice::python
