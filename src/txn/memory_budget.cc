#include "txn/memory_budget.h"

#include <fmt/format.h>

namespace sluice {

Status MemoryBudget::Take(size_t bytes) {
  size_t used = used_.load(std::memory_order_relaxed);
  do {
    // What must not fail may have gone beyond the limit.
    if (used > limit_ || bytes > limit_ - used) {
      return Status::TooLarge(
          fmt::format("all open transactions together have {} bytes of writes and locks, and may "
                      "have {} (Options::transaction_memory_bytes): commit or roll back this one, "
                      "or go on when others have ended",
                      used, limit_));
    }
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  return {};
}

Status MemoryShare::Grow(size_t bytes) {
  const size_t wanted = RoundUp(bytes);
  if (wanted <= bytes_) {
    return {};
  }
  SLUICE_RETURN_IF_ERROR(budget_.Take(wanted - bytes_));
  bytes_ = wanted;
  return {};
}

void MemoryShare::Set(size_t bytes) {
  const size_t wanted = RoundUp(bytes);
  if (wanted > bytes_) {
    budget_.TakeAnyway(wanted - bytes_);
  } else {
    budget_.GiveBack(bytes_ - wanted);
  }
  bytes_ = wanted;
}

}  // namespace sluice
