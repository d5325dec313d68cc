// Incremental cache replacement (X-Engine 3.1.4): blocks that a compaction makes take the places,
// in the block cache, of cached blocks that they come from, so that a compaction leaves the cache
// as warm as it was.
//
// Thread-compatible.

#pragma once

#include <map>
#include <string>
#include <string_view>

#include "cache/block_key.h"
#include "cache/cache.h"
#include "tree/extent_builder.h"
#include "util/status.h"

namespace sluice {

class BlockCacheHandover {
 public:
  explicit BlockCacheHandover(Cache* cache) : cache_(*cache) {}

  // A block with keys from `low` to `high` (user keys) goes into the compaction.
  void AddInput(const BlockKey& block, std::string_view low, std::string_view high);
  // `built` comes out of it, as extent `number`. Inputs and outputs come in key order each, inputs
  // before the outputs that they go into. An input that is cached is replaced by the first output
  // that shares a key's range with it and has not replaced another.
  Status AddOutput(const BuiltExtent& built, uint64_t number);

 private:
  struct Input {
    BlockKey block;
    std::string low;
  };

  Cache& cache_;
  std::multimap<std::string, Input, std::less<>> inputs_;  // by their last keys
};

}  // namespace sluice
