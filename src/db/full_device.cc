#include "db/full_device.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "util/alignment.h"

namespace sluice {

namespace {

constexpr uint64_t kPiece = uint64_t{64} << 10;  // is taken at once where space is short

}  // namespace

Status FullDevice::status() const {
  const MutexLock lock(mutex_);
  return status_;
}

uint64_t FullDevice::failures() const {
  const MutexLock lock(mutex_);
  return failures_;
}

Status FullDevice::last_failure() const {
  const MutexLock lock(mutex_);
  return last_failure_;
}

FullDevice::Clock::time_point FullDevice::next_attempt() const {
  const MutexLock lock(mutex_);
  return next_attempt_;
}

uint64_t FullDevice::vain_fills() const {
  const MutexLock lock(mutex_);
  return vain_fills_;
}

uint64_t FullDevice::SizeOf(const std::string& path) const {
  uint64_t bytes = 0;
  return env_->GetFileSize(path, &bytes).ok() ? bytes : 0;
}

bool FullDevice::Cover(uint64_t unflushed) {
  const MutexLock lock(mutex_);
  if (flushes_need_it_.load(std::memory_order_relaxed)) {
    return false;
  }
  const Status status = CoverLocked(unflushed);
  filled_in_vain_ = filled_in_vain_ || status.IsNoSpace();
  return status.ok();
}

Status FullDevice::CoverLocked(uint64_t unflushed) {
  const uint64_t bytes = unflushed <= kCoveredByFirst ? 0 : RoundUp(unflushed, kCoverStep);
  const Status status =
      bytes == 0 ? Status() : FillReserve(flush_reserve_, bytes, IfShort::kKeepWhatWas);
  covered_.store(std::max(kCoveredByFirst, SizeOf(flush_reserve_)), std::memory_order_relaxed);
  return status;
}

void FullDevice::Uncover(uint64_t unflushed) {
  const MutexLock lock(mutex_);
  if (!full() && unflushed <= kCoveredByFirst) {
    (void)env_->RemoveFile(flush_reserve_);
    covered_.store(kCoveredByFirst, std::memory_order_relaxed);
  }
}

bool FullDevice::GiveUpForFlushes() {
  const MutexLock lock(mutex_);
  flushes_need_it_.store(true, std::memory_order_relaxed);
  covered_.store(kCoveredByFirst, std::memory_order_relaxed);
  return env_->RemoveFile(flush_reserve_).ok();
}

bool FullDevice::HasLeft(uint64_t bytes) const {
  const MutexLock lock(mutex_);
  return bytes <= left_;
}

bool FullDevice::Take(uint64_t bytes) {
  const MutexLock lock(mutex_);
  if (bytes > left_) {
    return false;
  }
  left_ -= bytes;
  return true;
}

void FullDevice::CountLeft(uint64_t unflushed, bool compactions_due) {
  if (compactions_due && SizeOf(compaction_reserve_) < compaction_bytes_ / 2) {
    left_ = 0;
    return;
  }
  const uint64_t first = SizeOf(reserve_);
  const uint64_t there = first + SizeOf(flush_reserve_);
  // If others took what flushes would need, some deletions are taken nevertheless: they are durable.
  left_ =
      std::max(there - std::min(there, unflushed + kForTheRest), std::min(kLeastLeft, first / 4));
}

bool FullDevice::GiveUpForCompaction(bool alone) {
  if (env_->RemoveFile(compaction_reserve_).ok()) {
    return true;
  }
  const MutexLock lock(mutex_);
  if (!alone || !GiveUp()) {
    return false;
  }
  left_ = 0;
  return true;
}

void FullDevice::SetFull(const Status& status, uint64_t unflushed) {
  const MutexLock lock(mutex_);
  SetFullLocked(status, unflushed);
}

Status FullDevice::TakeNews() {
  const MutexLock lock(mutex_);
  return decided_ && !std::exchange(told_, true) ? status_ : Status();
}

void FullDevice::SetFullLocked(const Status& status, uint64_t unflushed) {
  if (status_.ok()) {
    CountLeft(unflushed, /*compactions_due=*/false);
    // More is not to be had, as a rule.
    compaction_bytes_ = std::clamp(SizeOf(compaction_reserve_), planned_bytes_ / 2, planned_bytes_);
    passing_until_.store(Clock::now() + kLongestPassing, std::memory_order_release);
  }
  status_ = status;
  full_.store(true, std::memory_order_release);
}

void FullDevice::Decide() {
  passing_until_.store({}, std::memory_order_release);
  decided_ = true;
}

bool FullDevice::Failed(const Status& status, Need need, uint64_t unflushed) {
  const MutexLock lock(mutex_);
  SetFullLocked(status, unflushed);
  const bool in_vain = std::exchange(filled_in_vain_, false);
  if (GiveUp() || in_vain || (need == Need::kFlush && env_->RemoveFile(compaction_reserve_).ok())) {
    next_attempt_ = {};
    return true;
  }
  Decide();
  ++failures_;
  last_failure_ = status;
  next_attempt_ = Clock::now() + delay_;
  delay_ = std::min(2 * delay_, kLongestDelay);
  return false;
}

void FullDevice::RetryNow() {
  const MutexLock lock(mutex_);
  delay_ = kFirstDelay;
  next_attempt_ = {};
}

bool FullDevice::IsReserveUsed() {
  uint64_t bytes = 0;
  return !env_->GetFileSize(opening_reserve_, &bytes).ok() || bytes < kOpeningBytes ||
         !env_->FileExists(reserve_).ok();
}

bool FullDevice::GiveUpABit() {
  std::unique_ptr<DataFile> file;
  uint64_t bytes = 0;
  return env_->GetFileSize(opening_reserve_, &bytes).ok() && bytes > 0 &&
         env_->NewDataFile(opening_reserve_, &file).ok() &&
         file->Truncate(bytes - std::min(bytes, kBitBytes)).ok();
}

void FullDevice::RegainForOpening() {
  constexpr uint64_t kPageBytes = 4096;
  std::unique_ptr<DataFile> file;
  uint64_t bytes = 0;
  if (!env_->GetFileSize(opening_reserve_, &bytes).ok() || bytes >= kOpeningBytes ||
      !env_->NewDataFile(opening_reserve_, &file).ok()) {
    return;
  }
  while (bytes < kOpeningBytes && file->Allocate(bytes, kPageBytes).ok()) {
    bytes += kPageBytes;
  }
  (void)file->Truncate(bytes);
}

// Keeps what there is of the file if it cannot grow.
Status FullDevice::FillOpeningReserve() {
  std::unique_ptr<DataFile> file;
  uint64_t bytes = 0;
  Status status = env_->GetFileSize(opening_reserve_, &bytes);
  if (status.ok() && bytes >= kOpeningBytes) {
    return status;
  }
  SLUICE_RETURN_IF_ERROR(env_->NewDataFile(opening_reserve_, &file));
  status = file->Allocate(bytes, kOpeningBytes - bytes);
  if (!status.ok()) {
    (void)file->Truncate(bytes);
  }
  return status;
}

Status FullDevice::FillReserve(const std::string& path, uint64_t bytes, IfShort if_short) {
  uint64_t there = SizeOf(path);
  if (there >= bytes && there > 0) {
    return {};
  }
  std::unique_ptr<DataFile> file;
  SLUICE_RETURN_IF_ERROR(env_->NewDataFile(path, &file));
  uint64_t end = there;
  Status status = file->Allocate(there, bytes - there);
  if (status.IsNoSpace() && if_short == IfShort::kKeepWhatIs) {
    (void)file->Truncate(there);
    for (status = {}; status.ok() && end < bytes;) {
      const uint64_t piece = std::min(bytes - end, kPiece);
      status = file->Allocate(end, piece);
      end += status.ok() ? piece : 0;
    }
  }
  if (status.IsNoSpace()) {
    // A part of what was written last may have been allocated. Some pages are left for the log, which
    // may need a new segment before deletions are taken.
    there = if_short == IfShort::kKeepWhatIs ? end - std::min(end, kPiece) : there;
    (void)(there == 0 ? env_->RemoveFile(path) : file->Truncate(there));
  }
  return status;
}

Status FullDevice::FillFirstHalf() {
  const uint64_t half = reserve_bytes_ / 2;
  Status status = FillReserve(reserve_, half, IfShort::kKeepWhatIs);
  const uint64_t others = SizeOf(compaction_reserve_);
  std::unique_ptr<DataFile> file;
  if (status.IsNoSpace() && others >= 4 * half &&
      env_->NewDataFile(compaction_reserve_, &file).ok() && file->Truncate(others - half).ok()) {
    status = FillReserve(reserve_, half, IfShort::kKeepWhatIs);
  }
  return status;
}

void FullDevice::ReserveForCompactions(uint64_t bytes) {
  const MutexLock lock(mutex_);
  planned_bytes_ = std::max(planned_bytes_, bytes);
  compaction_bytes_ = planned_bytes_;
}

void FullDevice::FillForCompactions() {
  const MutexLock lock(mutex_);
  if (compaction_bytes_ > 0 && !full() &&
      !FillReserve(compaction_reserve_, compaction_bytes_, IfShort::kKeepWhatWas).ok()) {
    filled_in_vain_ = true;
  }
}

Status FullDevice::ReserveForMetadata(uint64_t bytes) {
  const MutexLock lock(mutex_);
  metadata_bytes_ = bytes < kLeastForMetadata ? 0 : bytes;
  return FillMetadataReserve();
}

bool FullDevice::GiveUpForMetadata() {
  const MutexLock lock(mutex_);
  metadata_bytes_there_ = 0;
  return env_->RemoveFile(metadata_reserve_).ok();
}

// Grows by steps, and keeps what there is if it cannot grow.
Status FullDevice::FillMetadataReserve() {
  if (!metadata_bytes_there_) {
    uint64_t bytes = 0;
    const Status status = env_->GetFileSize(metadata_reserve_, &bytes);
    if (!status.ok() && !status.IsNotFound()) {
      return status;
    }
    metadata_bytes_there_ = bytes;
  }
  uint64_t& there = *metadata_bytes_there_;
  const uint64_t wanted = RoundUp(metadata_bytes_, kPiece);
  if (there >= wanted && there / 4 <= wanted) {
    return {};
  }
  std::unique_ptr<DataFile> file;
  SLUICE_RETURN_IF_ERROR(env_->NewDataFile(metadata_reserve_, &file));
  if (there > wanted) {
    SLUICE_RETURN_IF_ERROR(file->Truncate(wanted));
    there = wanted;
  }
  for (; there < wanted; there = RoundUp(there + 1, kPiece)) {
    const uint64_t piece = kPiece - there % kPiece;
    if (const Status status = file->Allocate(there, piece); !status.ok()) {
      (void)file->Truncate(there);
      filled_in_vain_ = true;
      return status;
    }
  }
  return {};
}

Status FullDevice::Fill(uint64_t unflushed, bool compactions_due) {
  const MutexLock lock(mutex_);
  Status status = FillOpeningReserve();
  if (status.ok()) {
    status = FillMetadataReserve();
  }
  // Deletions add to what there is until compactions have done with them: these come first, but not
  // before some deletions can be taken.
  if (status.ok()) {
    status = FillFirstHalf();
  }
  if (status.ok() && compaction_bytes_ > 0) {
    status = FillReserve(compaction_reserve_, compaction_bytes_, IfShort::kKeepWhatIs);
  }
  if (status.ok()) {
    status = FillReserve(reserve_, reserve_bytes_, IfShort::kKeepWhatIs);
  }
  if (status.ok()) {
    status = CoverLocked(unflushed);
  }
  if (status.ok()) {
    status_ = {};
    full_.store(false, std::memory_order_release);
    passing_until_.store({}, std::memory_order_release);
    decided_ = told_ = false;
    delay_ = kFirstDelay;
    return {};
  }
  if (!status.IsNoSpace()) {
    return status;
  }
  Decide();
  filled_in_vain_ = true;
  ++vain_fills_;
  CountLeft(unflushed, compactions_due);
  if (status_.ok()) {
    status_ = status;
  }
  full_.store(true, std::memory_order_release);
  next_attempt_ = Clock::now() + delay_;
  delay_ = std::min(2 * delay_, kLongestDelay);
  return {};
}

}  // namespace sluice
