// RocksDB's full Bloom filter, as it is from format_version 5 on.
//
//   filter := bits, in lines of 64 bytes | ff | 00 | number of probes (1 byte) | 00 00
//
// All probes of a key hit one line. Older filters, and Ribbon filters, are not understood.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rocksdb_table/hash64.h"

namespace sluice {

// What RocksDB calls its filter policies in the metaindex, behind "fullfilter.", and this one as a
// property.
inline constexpr std::string_view kRocksBloomName = "rocksdb.BuiltinBloomFilter";
inline constexpr std::string_view kRocksBloomPolicy = "bloomfilter";

// Collects the keys of a table. Thread-compatible.
class RocksBloomBuilder {
 public:
  // REQUIRES: at least 1000 thousandths of a bit per key.
  explicit RocksBloomBuilder(uint32_t millibits_per_key) : millibits_per_key_(millibits_per_key) {}

  // Adds a key; the same one over and over counts once.
  void Add(std::string_view user_key) {
    const uint64_t hash = RocksHash64(user_key);
    if (hashes_.empty() || hashes_.back() != hash) {
      hashes_.push_back(hash);
    }
  }

  uint64_t keys() const { return hashes_.size(); }
  // The contents of the filter block. REQUIRES: there are keys.
  std::string Finish() const;

 private:
  const uint32_t millibits_per_key_;
  std::vector<uint64_t> hashes_;
};

// Whether these are the contents of such a filter.
bool IsRocksBloom(std::string_view filter);
// False only if the filter does not hold the key. REQUIRES: IsRocksBloom(filter).
bool RocksBloomMayMatch(std::string_view filter, std::string_view user_key);

}  // namespace sluice
