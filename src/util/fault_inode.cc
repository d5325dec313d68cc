#include "util/fault_inode.h"

#include <algorithm>
#include <utility>

namespace sluice {

namespace {

constexpr size_t kSectorBytes = 512;
constexpr size_t kPageBytes = 4096;  // of the page cache

// Puts `before` back where it stood in `*contents`, as far as they go.
void Restore(size_t offset, const std::string& before, std::string* contents) {
  if (offset < contents->size()) {
    const size_t bytes = std::min(before.size(), contents->size() - offset);
    contents->replace(offset, bytes, before, 0, bytes);
  }
}

}  // namespace

size_t TornLength(TestRandom* random, size_t low, size_t high) {
  switch (Uniform(random, 0, 2)) {
    case 0:
      return low;
    case 1:
      return high;
    default:
      return Uniform(random, low, high);
  }
}

std::string FaultInode::AfterKill(TestRandom* random) const {
  return data.substr(0, TornLength(random, flushed, data.size()));
}

std::string FaultInode::AfterPowerLoss(TestRandom* random) const {
  if (before_truncation && Uniform(random, 0, 1) == 0) {
    return *before_truncation;
  }
  std::string left = data.substr(0, TornLength(random, synced, data.size()));
  if (left.size() > synced && Uniform(random, 0, 1) == 0) {
    const size_t at = Uniform(random, synced, left.size() - 1);
    const size_t sector = at / kSectorBytes * kSectorBytes;
    const size_t begin = std::max(sector, synced);
    const size_t end = std::min(sector + kSectorBytes, left.size());
    std::fill(left.data() + begin, left.data() + end, '\0');
  }
  // None, all, or some of the sectors got through.
  const uint64_t mode = Uniform(random, 0, 3);
  for (const auto& [offset, before] : sectors_before) {
    if (offset < left.size() && (mode == 0 || (mode >= 2 && Uniform(random, 0, 1) == 0))) {
      Restore(offset, before, &left);
    }
  }
  for (const auto& [offset, before] : dropped) {
    Restore(offset, before, &left);
  }
  return left;
}

void FaultInode::MakeDirty(size_t begin, size_t end) {
  auto at = dropped.lower_bound(begin / kPageBytes * kPageBytes);
  while (at != dropped.end() && at->first < (end + kPageBytes - 1) / kPageBytes * kPageBytes) {
    sectors_before.insert(dropped.extract(at++));
  }
}

void FaultInode::Append(std::string_view bytes) {
  MakeDirty(data.size(), data.size() + bytes.size());
  data.append(bytes);
}

void FaultInode::Overwrite(size_t offset, std::string_view bytes) {
  MakeDirty(offset, offset + bytes.size());
  if (offset + bytes.size() > data.size()) {
    data.resize(offset + bytes.size());
    flushed = data.size();
  }
  for (size_t sector = offset / kSectorBytes * kSectorBytes; sector < offset + bytes.size();
       sector += kSectorBytes) {
    if (!sectors_before.contains(sector)) {
      sectors_before[sector] = data.substr(sector, kSectorBytes);
    }
  }
  data.replace(offset, bytes.size(), bytes);
}

void FaultInode::Resize(size_t bytes) {
  data.resize(bytes);
  flushed = bytes;
  synced = std::min(synced, bytes);
  sectors_before.erase(sectors_before.lower_bound(bytes), sectors_before.end());
  dropped.erase(dropped.lower_bound(bytes), dropped.end());
}

void FaultInode::Truncate() {
  if (!before_truncation) {
    before_truncation = data.substr(0, synced);
    for (const auto* const sectors : {&sectors_before, &dropped}) {
      for (const auto& [offset, before] : *sectors) {
        Restore(offset, before, &*before_truncation);
      }
    }
  }
  Resize(0);
}

void FaultInode::MarkSynced() {
  flushed = synced = data.size();
  before_truncation.reset();
  sectors_before.clear();
}

void FaultInode::FailSync(TestRandom* random) {
  flushed = data.size();
  for (size_t sector = synced / kSectorBytes * kSectorBytes; sector < data.size();
       sector += kSectorBytes) {
    std::string before = data.substr(sector, sector < synced ? synced - sector : 0);
    before.resize(kSectorBytes);
    sectors_before.emplace(sector, std::move(before));
  }
  // All pages are dropped, or each by the toss of a coin.
  const bool all = Uniform(random, 0, 1) == 0;
  size_t page = 0;
  bool drop = all || Uniform(random, 0, 1) == 0;
  for (auto& [sector, before] : sectors_before) {
    if (sector / kPageBytes != page) {
      page = sector / kPageBytes;
      drop = all || Uniform(random, 0, 1) == 0;
    }
    if (drop) {
      dropped.emplace(sector, std::move(before));
    }
  }
  sectors_before.clear();
}

}  // namespace sluice
