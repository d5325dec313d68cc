// Which Bloom filter a database's tables have.

#pragma once

#include <leveldb/filter_policy.h>

#include <optional>
#include <span>

namespace sluice::ldb {

// Bits per key of LevelDB's Bloom filter, 0 without a policy. Nothing if the policy is not LevelDB's,
// whatever it calls itself and wraps: not of the class of any of `own`, which LevelDB made. Its filters
// for some keys are compared byte for byte, too. `policy` is LevelDB's that takes internal keys.
std::optional<int> BloomBitsPerKey(const leveldb::FilterPolicy* policy,
                                   std::span<const leveldb::FilterPolicy* const> own);

}  // namespace sluice::ldb
