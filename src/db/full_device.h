// What becomes of a database whose device is full.
//
// Nothing is lost: writes fail with NoSpace, reads go on, and what failed is tried again until there
// is space. To get out of it by its own means, a database keeps a reserve, files that it never writes
// to. The first one, of some hundred KiB, is for deletions and what makes space: from the first
// failure on only they are taken, until the reserve can be had again. The second one is for flushes:
// it grows with what memtables hold, and with the first is large enough to flush it all. Deletions
// may take no more than leaves room to flush them too (Take). The third one is for opening alone,
// which takes some pages for new logs: whatever the last process used up, the next one can begin. It
// is given up bit by bit, so that a full device can be opened again and again, read and deleted from.
// The fourth one is for compactions, which write before they free anything (DbState::PlanReserve),
// and the fifth for the metadata, once that is large: whatever it takes of the device, so much is
// there to write it anew, which frees what edits since the last time have taken.
//
// What is given up anybody can have who writes to the device. It is the database's as long as no
// other program takes it.
//
// Thread-safe.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "sluice/env.h"
#include "util/mutex.h"
#include "util/status.h"

namespace sluice {

class FullDevice {
 public:
  using Clock = std::chrono::steady_clock;

  // `reserve_bytes`: the size of the first file and that for opening together, more than 256 KiB.
  FullDevice(Env* env, const std::string& dir, uint64_t reserve_bytes)
      : env_(env),
        reserve_(dir + "/RESERVE"),
        flush_reserve_(dir + "/RESERVE.flush"),
        opening_reserve_(dir + "/RESERVE.open"),
        compaction_reserve_(dir + "/RESERVE.compact"),
        metadata_reserve_(dir + "/RESERVE.meta"),
        reserve_bytes_(reserve_bytes - kOpeningBytes) {}

  // Whether only deletions are taken; cheap.
  bool full() const { return full_.load(std::memory_order_acquire); }
  // Whether that may be over soon: it has not been full for long, and nothing has been tried in vain
  // since. Cheap.
  bool passing() const {
    const Clock::time_point until = passing_until_.load(std::memory_order_acquire);
    return until != Clock::time_point() && Clock::now() < until;
  }
  // NoSpace while it is full, ok else.
  Status status() const;
  // The number of attempts that failed so far, and the error of the last one.
  uint64_t failures() const;
  Status last_failure() const;

  // Whether flushes that write so much will find the space. Cheap.
  bool Covers(uint64_t unflushed) const {
    return unflushed <= covered_.load(std::memory_order_relaxed);
  }
  // Takes space for them; false if the device has not that much, or flushes under way need it.
  bool Cover(uint64_t unflushed);
  // Before closing: gives back what was taken for them, if they do not need it. Until then it stays, or
  // it would be written again and again.
  void Uncover(uint64_t unflushed);
  // They are due now, and get it: true if there was any. None is taken until they are done.
  bool GiveUpForFlushes();
  void FlushesDone() { flushes_need_it_.store(false, std::memory_order_relaxed); }

  // Something that must be done failed with `status`, NoSpace. True if it may be tried again at
  // once, because some of the reserve was given up for it, or because a vain attempt to Fill the
  // reserve held space meanwhile; else it may be tried from next_attempt() on, later with each
  // failure. A flush gets what there is for compactions, too, for those make space only after it.
  // `unflushed`: what flushes have to write.
  enum class Need { kFlush, kOther };
  bool Failed(const Status& status, Need need, uint64_t unflushed);
  // Nothing is given up, but from now on the device counts as full.
  void SetFull(const Status& status, uint64_t unflushed);
  // NoSpace once, when something was tried in vain since it became full; ok else.
  Status TakeNews();
  // Whether a full device has space for so much more, beside what flushes have to write.
  bool HasLeft(uint64_t bytes) const;
  // The same, and it is taken if so.
  bool Take(uint64_t bytes);
  // When to try again what failed last, and to Fill the reserve.
  Clock::time_point next_attempt() const;
  // Something may have come free: the next attempt is due.
  void RetryNow();
  // Gives up a bit of the reserve for opening or, if that is gone, the other; false if both are
  // gone.
  bool GiveUpForOpening() { return GiveUpABit() || GiveUp(); }
  // Whether a process before this one had to give up some of what there is for opening, or all of the
  // first file.
  bool IsReserveUsed();
  // After opening: takes back what was given up for it, page by page as far as there is space.
  void RegainForOpening();
  // From now on there shall be so many bytes for compactions: Fill takes them.
  void ReserveForCompactions(uint64_t bytes);
  // So does this, if the device is not full and has that much. Else what there was of them stays.
  void FillForCompactions();
  // A compaction may take them, until they are filled again: true if any were there. If nothing is to
  // be flushed meanwhile (`alone`), the rest of the reserve comes after them.
  bool GiveUpForCompaction(bool alone);
  // From now on there are so many bytes to write the metadata anew, if they are many; NoSpace if the
  // device has not that much.
  Status ReserveForMetadata(uint64_t bytes);
  // They may be taken for that, until ReserveForMetadata is called again: true if some were there.
  bool GiveUpForMetadata();
  // Fills the reserve; the device no longer counts as full if that succeeds. Otherwise it keeps what
  // there is. Returns errors other than NoSpace. `compactions_due`: no deletions are taken while that
  // leaves them less than half of what they shall have, or deletions would use that up bit by bit.
  Status Fill(uint64_t unflushed, bool compactions_due);
  // How often that was tried in vain.
  uint64_t vain_fills() const;

 private:
  static constexpr uint64_t kOpeningBytes = uint64_t{256} << 10;
  static constexpr uint64_t kBitBytes = uint64_t{32} << 10;  // enough to open with, as a rule
  // For less metadata the first file is enough.
  static constexpr uint64_t kLeastForMetadata = uint64_t{128} << 10;
  static constexpr std::chrono::seconds kLongestPassing{2};
  static constexpr std::chrono::milliseconds kFirstDelay{20};
  static constexpr std::chrono::milliseconds kLongestDelay{2000};

  // So much of the first file flushes may use, if they need no more.
  static constexpr uint64_t kCoveredByFirst = uint64_t{128} << 10;
  static constexpr uint64_t kCoverStep = uint64_t{256} << 10;
  // Metadata, and the pages that are not full, take of what is left for deletions.
  static constexpr uint64_t kForTheRest = uint64_t{128} << 10;
  static constexpr uint64_t kLeastLeft = uint64_t{64} << 10;

  // The first file, or if that is gone, the one for flushes.
  bool GiveUp() { return env_->RemoveFile(reserve_).ok() || env_->RemoveFile(flush_reserve_).ok(); }
  bool GiveUpABit();
  uint64_t SizeOf(const std::string& path) const;
  void CountLeft(uint64_t unflushed, bool compactions_due) SLUICE_REQUIRES(mutex_);
  void SetFullLocked(const Status& status, uint64_t unflushed) SLUICE_REQUIRES(mutex_);
  void Decide() SLUICE_REQUIRES(mutex_);
  enum class IfShort { kKeepWhatWas, kKeepWhatIs };
  Status FillReserve(const std::string& path, uint64_t bytes, IfShort if_short);
  Status CoverLocked(uint64_t unflushed) SLUICE_REQUIRES(mutex_);
  Status FillOpeningReserve();
  Status FillFirstHalf();
  Status FillMetadataReserve() SLUICE_REQUIRES(mutex_);

  Env* const env_;
  const std::string reserve_;
  const std::string flush_reserve_;
  const std::string opening_reserve_;
  const std::string compaction_reserve_;
  const std::string metadata_reserve_;
  const uint64_t reserve_bytes_;

  mutable Mutex mutex_;
  std::atomic<bool> full_{false};
  std::atomic<Clock::time_point> passing_until_{Clock::time_point()};
  std::atomic<uint64_t> covered_{0};
  std::atomic<bool> flushes_need_it_{false};
  uint64_t left_ SLUICE_GUARDED_BY(mutex_) = 0;  // Take's, while the device is full
  uint64_t vain_fills_ SLUICE_GUARDED_BY(mutex_) = 0;
  // Something was tried in vain since it became full, and TakeNews has said so.
  bool decided_ SLUICE_GUARDED_BY(mutex_) = false;
  bool told_ SLUICE_GUARDED_BY(mutex_) = false;
  Status status_ SLUICE_GUARDED_BY(mutex_);
  uint64_t planned_bytes_ SLUICE_GUARDED_BY(mutex_) = 0;     // for compactions
  uint64_t compaction_bytes_ SLUICE_GUARDED_BY(mutex_) = 0;  // that shall be there for them now
  uint64_t metadata_bytes_ SLUICE_GUARDED_BY(mutex_) = 0;    // that shall be there
  std::optional<uint64_t> metadata_bytes_there_ SLUICE_GUARDED_BY(mutex_);  // none: not known yet
  bool filled_in_vain_ SLUICE_GUARDED_BY(mutex_) = false;  // since the last failure
  uint64_t failures_ SLUICE_GUARDED_BY(mutex_) = 0;
  Status last_failure_ SLUICE_GUARDED_BY(mutex_);
  std::chrono::milliseconds delay_ SLUICE_GUARDED_BY(mutex_) = kFirstDelay;
  Clock::time_point next_attempt_ SLUICE_GUARDED_BY(mutex_){};
};

}  // namespace sluice
