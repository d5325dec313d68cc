#include "db/full_device.h"

#include <algorithm>
#include <memory>

namespace sluice {

Status FullDevice::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

uint64_t FullDevice::failures() const {
  const std::lock_guard lock(mutex_);
  return failures_;
}

Status FullDevice::last_failure() const {
  const std::lock_guard lock(mutex_);
  return last_failure_;
}

FullDevice::Clock::time_point FullDevice::next_attempt() const {
  const std::lock_guard lock(mutex_);
  return next_attempt_;
}

bool FullDevice::Failed(const Status& status, bool* news) {
  const std::lock_guard lock(mutex_);
  *news = status_.ok();
  status_ = status;
  full_.store(true, std::memory_order_release);
  if (GiveUp()) {
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
  const std::lock_guard lock(mutex_);
  delay_ = kFirstDelay;
  next_attempt_ = {};
}

Status FullDevice::Fill() {
  const std::lock_guard lock(mutex_);
  uint64_t bytes = 0;
  Status status = env_->GetFileSize(reserve_, &bytes);
  if (status.IsNotFound() || bytes < reserve_bytes_) {
    std::unique_ptr<ReservedFile> file;
    status = env_->NewReservedFile(reserve_, reserve_bytes_, &file);
    if (status.ok()) {
      status = file->Reserve(reserve_bytes_);
    }
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
  // A part of it may have been had.
  (void)env_->RemoveFile(reserve_);
  if (status_.ok()) {
    status_ = status;
  }
  full_.store(true, std::memory_order_release);
  next_attempt_ = Clock::now() + delay_;
  delay_ = std::min(2 * delay_, kLongestDelay);
  return {};
}

}  // namespace sluice
