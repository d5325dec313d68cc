// A sub-table while its database is open.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "compaction/run_totals.h"
#include "db/read_credit.h"
#include "db/state_mutex.h"
#include "sluice/db.h"
#include "tree/dead_stretches.h"
#include "tree/extent_reader.h"
#include "tree/version.h"
#include "util/epoch.h"

namespace sluice {

// Where a sub-table stands in the backlog (backlog.h).
struct BacklogEntry {
  LogPosition filling = kNoLog;
  LogPosition waiting = kNoLog;
  size_t waiting_bytes = 0;
  uint64_t live_bytes = 0;  // tree/space_use.h
  uint64_t cut_bytes = 0;   // of compactions under way (CompactionPick)
  double space_left = 0;    // for memtables
  double need = 0;          // for compactions
  bool behind = false;
};

class SubtableImpl final : public Subtable {
 public:
  // `database` tells those of one database from others'.
  SubtableImpl(const void* database, uint32_t id, std::string name)
      : database_(database), id_(id), name_(std::move(name)) {}
  ~SubtableImpl() override {
    if (const Version* const version = version_.load()) {
      version->Unref();
    }
  }

  const std::string& name() const override { return name_; }
  uint32_t id() const override { return id_; }
  const void* database() const { return database_; }

  // The current version. Valid while the guard is held.
  const Version& version(const EpochGuard&) const {
    return *version_.load(std::memory_order_acquire);
  }
  // Valid while the lock is held: versions are installed with it.
  const Version& version(const StateLock& lock) const {
    lock.AssertHeld();
    return *version_.load(std::memory_order_acquire);
  }
  // The current version, for longer than a guard should be held.
  std::shared_ptr<const Version> PinVersion() const {
    const EpochGuard guard;
    const Version& current = version(guard);
    current.Ref();
    return {&current, [](const Version* held) { held->Unref(); }};
  }
  // Of new extents.
  std::shared_ptr<const SubtableFormat> format() const {
    const EpochGuard guard;
    return version(guard).format;
  }
  struct State {
    std::shared_ptr<const Version> version;
    SequenceNumber snapshot = 0;
  };
  // The current version, and the last visible sequence number, which `visible` returns: of what is
  // visible as of that, the version has all, as dead_stretches.h needs it. The number must be asked
  // for last (db_read.cc), so it may be that of a write to a memtable that the version does not have
  // yet. Then both are taken again.
  template <typename Visible>
  State PinState(const Visible& visible) const {
    State state;
    const MemtableInfo* active = nullptr;
    do {
      state.version = PinVersion();
      state.snapshot = visible();
      const EpochGuard guard;
      active = version(guard).active.get();
    } while (active != state.version->active.get());
    return state;
  }
  // `version`'s one reference becomes the sub-table's.
  void Install(const StateLock& lock, const Version* version) {
    lock.AssertHeld();
    if (const Version* const before = version_.exchange(version, std::memory_order_acq_rel)) {
      EpochRetire(const_cast<Version*>(before),
                  [](void* old) { static_cast<const Version*>(old)->Unref(); });
    }
  }

  // The count of flushes that row_cache.h asks for.
  std::atomic<uint64_t> flushes{0};
  std::atomic<bool> dropped{false};
  ReadCredit read_credit;
  std::array<SeekReach, kLevels> seek_reach;  // in runs of each level
  DeadStretches dead_stretches;

  RunTotals totals;  // of the runs of the metadata

  // Used by the database, under its mutex.
  BacklogEntry backlog;
  bool flushing = false;
  bool compacting = false;    // or its cuts are carried out
  bool nothing_due = false;   // no compaction, as of when it was last looked at
  size_t ranges_waiting = 0;  // calls of CompactRange that wait for the compaction under way
  bool range_next = false;    // one of them goes next, even if others are due

 private:
  const void* const database_;
  const uint32_t id_;
  const std::string name_;
  std::atomic<const Version*> version_{nullptr};
};

}  // namespace sluice
