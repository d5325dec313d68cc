#include "db/full_device.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "util/alignment.h"

namespace sluice {

namespace {

constexpr std::array<char, size_t{64} << 10> kZeros{};  // are written at once

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

bool FullDevice::Failed(const Status& status, bool* news) {
  const MutexLock lock(mutex_);
  *news = status_.ok();
  status_ = status;
  full_.store(true, std::memory_order_release);
  if (GiveUp() || std::exchange(filled_in_vain_, false)) {
    next_attempt_ = {};
    return true;
  }
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
  while (bytes < kOpeningBytes && file->Write(bytes, std::string(kPageBytes, '\0')).ok()) {
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
  status = file->Write(bytes, std::string(kOpeningBytes - bytes, '\0'));
  if (!status.ok()) {
    (void)file->Truncate(bytes);
  }
  return status;
}

// Keeps what there was of the file if it cannot grow.
Status FullDevice::FillReserve(const std::string& path, uint64_t bytes) {
  uint64_t there = 0;
  Status status = env_->GetFileSize(path, &there);
  if (status.ok() && there >= bytes) {
    return status;
  }
  std::unique_ptr<DataFile> file;
  status = env_->NewDataFile(path, &file);
  for (uint64_t end = there; status.ok() && end < bytes; end += kZeros.size()) {
    status = file->Write(end, {kZeros.data(), std::min(bytes - end, kZeros.size())});
  }
  if (status.IsNoSpace()) {
    // A part of it may have been allocated.
    (void)(there == 0 ? env_->RemoveFile(path) : file->Truncate(there));
  }
  return status;
}

void FullDevice::ReserveForCompactions(uint64_t bytes) {
  const MutexLock lock(mutex_);
  compaction_bytes_ = std::max(compaction_bytes_, bytes);
}

void FullDevice::FillForCompactions() {
  const MutexLock lock(mutex_);
  if (compaction_bytes_ > 0 && !full() &&
      !FillReserve(compaction_reserve_, compaction_bytes_).ok()) {
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
  const uint64_t wanted = RoundUp(metadata_bytes_, kZeros.size());
  if (there >= wanted && there / 4 <= wanted) {
    return {};
  }
  std::unique_ptr<DataFile> file;
  SLUICE_RETURN_IF_ERROR(env_->NewDataFile(metadata_reserve_, &file));
  if (there > wanted) {
    SLUICE_RETURN_IF_ERROR(file->Truncate(wanted));
    there = wanted;
  }
  for (; there < wanted; there = RoundUp(there + 1, kZeros.size())) {
    const size_t piece = kZeros.size() - there % kZeros.size();
    if (const Status status = file->Write(there, {kZeros.data(), piece}); !status.ok()) {
      (void)file->Truncate(there);
      filled_in_vain_ = true;
      return status;
    }
  }
  return {};
}

Status FullDevice::Fill() {
  const MutexLock lock(mutex_);
  Status status = FillOpeningReserve();
  if (status.ok()) {
    status = FillReserve(reserve_, reserve_bytes_);
  }
  if (status.ok()) {
    status = FillMetadataReserve();
  }
  if (status.ok() && compaction_bytes_ > 0) {
    status = FillReserve(compaction_reserve_, compaction_bytes_);
  }
  if (status.ok()) {
    status_ = {};
    full_.store(false, std::memory_order_release);
    delay_ = kFirstDelay;
    return {};
  }
  if (!status.IsNoSpace()) {
    return status;
  }
  filled_in_vain_ = true;
  if (status_.ok()) {
    status_ = status;
  }
  full_.store(true, std::memory_order_release);
  next_attempt_ = Clock::now() + delay_;
  delay_ = std::min(2 * delay_, kLongestDelay);
  return {};
}

}  // namespace sluice
