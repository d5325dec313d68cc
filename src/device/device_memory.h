// A device's memory, given out in regions of whole pages, each to a slot. Thread-safe.

#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "util/mutex.h"
#include "util/status.h"

namespace sluice {

class DeviceMemory {
 public:
  // Addresses [begin, end), of whole pages.
  DeviceMemory(uint64_t begin, uint64_t end) : begin_(begin), end_(std::max(begin, end)) {}

  // The lowest place that is large enough; NotSupported if there is none.
  Status Allocate(uint32_t slot, uint64_t bytes, uint64_t* address) {
    const MutexLock lock(mutex_);
    const uint64_t pages = bytes / kPage + (bytes % kPage != 0);
    uint64_t at = begin_;
    auto next = regions_.begin();
    while (pages > ((next == regions_.end() ? end_ : next->begin) - at) / kPage) {
      if (next == regions_.end()) {
        return Status::NotSupported(fmt::format(
            "device memory: no {} bytes in one piece are left of {}", bytes, end_ - begin_));
      }
      at = next->end;
      ++next;
    }
    *address = at;
    if (pages != 0) {
      regions_.insert(next, {at, at + pages * kPage, slot});
    }
    return {};
  }

  // All that `slot` has.
  void Free(uint32_t slot) {
    const MutexLock lock(mutex_);
    std::erase_if(regions_, [slot](const Region& region) { return region.slot == slot; });
  }

  // Counts bytes that the host has written, for the slot that has them.
  void NoteWritten(uint64_t address, uint64_t bytes) {
    const MutexLock lock(mutex_);
    if (Region* const region = Find(address); region != nullptr) {
      region->written += bytes;
    }
  }
  // Of the slot that has `address`.
  uint64_t Written(uint64_t address) {
    const MutexLock lock(mutex_);
    const Region* const of = Find(address);
    uint64_t written = 0;
    for (const Region& region : regions_) {
      written += of != nullptr && region.slot == of->slot ? region.written : 0;
    }
    return written;
  }

 private:
  static constexpr uint64_t kPage = 4096;

  struct Region {
    uint64_t begin;
    uint64_t end;
    uint32_t slot;
    uint64_t written = 0;
  };

  Region* Find(uint64_t address) SLUICE_REQUIRES(mutex_) {
    const auto region = std::find_if(regions_.begin(), regions_.end(), [=](const Region& r) {
      return address >= r.begin && address < r.end;
    });
    return region == regions_.end() ? nullptr : &*region;
  }

  const uint64_t begin_;
  const uint64_t end_;
  Mutex mutex_;
  std::vector<Region> regions_ SLUICE_GUARDED_BY(mutex_);  // by address
};

}  // namespace sluice
