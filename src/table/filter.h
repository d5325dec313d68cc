// LevelDB's filter block with its built-in Bloom filter, byte for byte.
//
//   filter block := filter* | offset of each filter (fixed32)*
//                   | where these offsets start (fixed32) | base_lg (1 byte, 11)
//   filter       := Bloom bits | number of probes (1 byte); or nothing, if no key falls to it
//
// Filter i is for the user keys of the data blocks that start in [i << base_lg, (i + 1) << base_lg)
// of the file. The metaindex names the block "filter." followed by the policy's name.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "table/format.h"
#include "util/status.h"

namespace sluice {

inline constexpr std::string_view kFilterPrefix = "filter.";
inline constexpr std::string_view kBloomFilterName = "filter.leveldb.BuiltinBloomFilter2";

// The hash that LevelDB's Bloom filter is made of.
inline uint32_t BloomHash(std::string_view key) {
  constexpr uint32_t kSeed = 0xbc9f1d34;
  constexpr uint32_t kMultiplier = 0xc6a4a793;
  uint32_t h = kSeed ^ static_cast<uint32_t>(key.size() * kMultiplier);
  while (key.size() >= 4) {
    h = (h + DecodeFixed32(key.data())) * kMultiplier;
    h ^= h >> 16;
    key.remove_prefix(4);
  }
  if (!key.empty()) {
    for (size_t i = 0; i < key.size(); ++i) {
      h += uint32_t{static_cast<uint8_t>(key[i])} << (8 * i);
    }
    h *= kMultiplier;
    h ^= h >> 24;
  }
  return h;
}

// Appends the Bloom filter of the keys with these hashes to `out`.
void AppendBloomFilter(const std::vector<uint32_t>& hashes, int bits_per_key, std::string* out);

// Bytes of the filter of so many keys, its number of probes counted.
size_t BloomFilterBytes(uint64_t keys, int bits_per_key);

// Whether `filter` has the size and the number of probes of one that AppendBloomFilter makes of so
// many keys.
bool IsBloomFilterOf(std::string_view filter, uint64_t keys, int bits_per_key);

// Probes of a key, and so the last byte of a filter.
int BloomProbes(int bits_per_key);

// False only if no key with this hash is in `filter`.
bool BloomMayMatch(std::string_view filter, uint32_t hash);

// Prefetches what BloomMayMatch reads first of `filter`.
inline void PrefetchBloom(std::string_view filter, uint32_t hash) {
  if (filter.size() >= 2) {
    __builtin_prefetch(filter.data() + filter.size() - 1);
    __builtin_prefetch(filter.data() + hash % static_cast<uint32_t>(8 * (filter.size() - 1)) / 8);
  }
}

// Builds a table's filter block. Call order: (StartBlock AddKey*)* Finish.
class FilterBlockBuilder {
 public:
  // REQUIRES: bits_per_key >= 1.
  explicit FilterBlockBuilder(int bits_per_key) : bits_per_key_(bits_per_key) {}

  // A data block starts at `offset` of the file, after those so far. To match LevelDB's bytes, also
  // call it with the offset where the last data block ends.
  void StartBlock(uint64_t offset);
  void AddKey(std::string_view user_key) { hashes_.push_back(BloomHash(user_key)); }
  // The block; lives as long as this does.
  std::string_view Finish();

 private:
  void EndFilter();

  const int bits_per_key_;
  std::vector<uint32_t> hashes_;  // of the filter being built
  std::vector<uint32_t> offsets_;
  std::string block_;
};

// Views a filter block, which outlives it.
class FilterBlock {
 public:
  FilterBlock() = default;

  // Checks that offsets and filters lie within the block.
  static Status Parse(std::string_view contents, FilterBlock* block);

  // How many filters there are.
  uint32_t count() const { return count_; }
  // The filter for the data block at `offset`, empty if it has none.
  std::string_view FilterOf(uint64_t offset) const;
  // Which filter serves the data block at `offset`; may be past the last.
  uint64_t IndexOf(uint64_t offset) const { return offset >> base_lg_; }
  // False only if the data block at `offset` does not hold the key.
  bool KeyMayMatch(uint64_t offset, std::string_view user_key) const;

 private:
  std::string_view filters_;  // and, behind them, the offsets
  uint32_t count_ = 0;
  uint8_t base_lg_ = 0;
};

// Finds out with how many bits per key the Bloom filters at hand were built.
class BloomBitsEstimate {
 public:
  // A filter that serves `keys` keys.
  void Add(std::string_view filter, uint64_t keys);
  // Whether a single value is left.
  bool exact() const { return low_ == high_; }
  // The largest value that explains all filters added; 0 if none does.
  int bits_per_key() const { return low_ <= high_ ? high_ : 0; }

 private:
  int low_ = 1;
  int high_ = kMostBits;

  // LevelDB caps the probes at 30; with more bits than this per key a filter only wastes space.
  static constexpr int kMostBits = 1000;
};

}  // namespace sluice
