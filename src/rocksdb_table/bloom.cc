#include "rocksdb_table/bloom.h"

#include <algorithm>

namespace sluice {

namespace {

constexpr size_t kLineBytes = 64;
constexpr size_t kTailBytes = 5;
constexpr uint32_t kGoldenRatio = 0x9e3779b9;
constexpr uint64_t kMostBytes = 0xffffffc0;

int ProbesFor(uint32_t millibits_per_key) {
  // The most thousandths of a bit per key for which so many probes are best.
  constexpr uint32_t kMost[] = {2080,  3580,  5100,  6640,  8300,  10070,
                                11720, 14001, 16050, 18300, 22001, 25501};
  if (millibits_per_key > 50000) {
    return 24;
  }
  const auto* const most = std::lower_bound(std::begin(kMost), std::end(kMost), millibits_per_key);
  return most != std::end(kMost) ? static_cast<int>(most - std::begin(kMost)) + 1
                                 : static_cast<int>((millibits_per_key - 1) / 2000) - 1;
}

// Where the line of a key with this hash begins.
size_t LineOf(uint64_t hash, size_t bytes) {
  return ((hash & 0xffffffff) * (bytes / kLineBytes) >> 32) * kLineBytes;
}

// Calls visit(byte, mask) for each probe, until it answers false.
template <typename Visit>
bool ForEachProbe(uint64_t hash, size_t bytes, int probes, const Visit& visit) {
  const size_t line = LineOf(hash, bytes);
  auto h = static_cast<uint32_t>(hash >> 32);
  for (int i = 0; i < probes; ++i, h *= kGoldenRatio) {
    const uint32_t bit = h >> 23;
    if (!visit(line + bit / 8, static_cast<char>(1 << bit % 8))) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string RocksBloomBuilder::Finish() const {
  const uint64_t wanted =
      std::min<uint64_t>((hashes_.size() * millibits_per_key_ + 7999) / 8000, kMostBytes);
  const size_t bytes = (wanted + kLineBytes - 1) / kLineBytes * kLineBytes;
  const int probes = ProbesFor(millibits_per_key_);
  std::string filter(bytes + kTailBytes, '\0');
  // For the compiler what is stored in the string could be where it has its memory.
  char* const bits = filter.data();
  for (size_t i = 0; i < hashes_.size(); ++i) {
    constexpr size_t kAhead = 8;
    if (i + kAhead < hashes_.size()) {
      __builtin_prefetch(bits + LineOf(hashes_[i + kAhead], bytes), 1);
    }
    ForEachProbe(hashes_[i], bytes, probes, [bits](size_t byte, char mask) {
      bits[byte] = static_cast<char>(bits[byte] | mask);
      return true;
    });
  }
  filter[bytes] = static_cast<char>(0xff);
  filter[bytes + 2] = static_cast<char>(probes);
  return filter;
}

bool IsRocksBloom(std::string_view filter) {
  if (filter.size() < kLineBytes + kTailBytes || filter.size() % kLineBytes != kTailBytes) {
    return false;
  }
  const std::string_view tail = filter.substr(filter.size() - kTailBytes);
  return tail[0] == static_cast<char>(0xff) && tail[1] == 0 && tail[2] >= 1 && tail[2] <= 30 &&
         tail[3] == 0 && tail[4] == 0;
}

bool RocksBloomMayMatch(std::string_view filter, std::string_view user_key) {
  const size_t bytes = filter.size() - kTailBytes;
  return ForEachProbe(RocksHash64(user_key), bytes, filter[bytes + 2],
                      [filter](size_t byte, char mask) { return (filter[byte] & mask) != 0; });
}

}  // namespace sluice
