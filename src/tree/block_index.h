// Which block of a table may have a key: last keys, places and filters of blocks that follow each
// other, laid out for search.
//
// Immutable once parsed.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "table/filter.h"
#include "table/format.h"
#include "tree/key_words.h"
#include "util/status.h"

namespace sluice {

class BlockIndex {
 public:
  // From the contents of an index block, or of one whose values have a filter behind the handle. An
  // empty index is none.
  static Status Parse(std::string_view contents, BlockIndex* index);

  size_t blocks() const { return blocks_.size(); }
  BlockHandle block(size_t i) const { return {blocks_[i].offset, blocks_[i].bytes}; }
  std::string_view last_key(size_t i) const {
    return std::string_view(keys_).substr(key_ends_[i], key_ends_[i + 1] - key_ends_[i]);
  }
  // What follows the handle of block `i`: its filter, as a rule.
  std::string_view filter(size_t i) const {
    return std::string_view(filters_).substr(blocks_[i].filter, blocks_[i].filter_bytes);
  }
  // The first block whose last key is at or after `internal_key`; blocks() if there is none.
  size_t Find(std::string_view internal_key) const {
    return last_keys_.Find(internal_key, [this](size_t i) { return last_key(i); });
  }
  // False only if block `i` holds no version of the user key with this BloomHash.
  bool MayHold(size_t i, uint32_t hash) const {
    const BlockPlace& place = blocks_[i];
    return place.filter_bytes == 0 ||
           BloomMayMatch({filters_.data() + place.filter, place.filter_bytes}, hash);
  }
  // Prefetch what MayHold is going to read: first where the block's filter is, then, once that is
  // there, the filter.
  void PrefetchPlace(size_t i) const { __builtin_prefetch(blocks_.data() + i); }
  void PrefetchFilter(size_t i, uint32_t hash) const {
    const BlockPlace& place = blocks_[i];
    PrefetchBloom({filters_.data() + place.filter, place.filter_bytes}, hash);
  }

  // Beyond the object itself.
  size_t heap_bytes() const;

 private:
  // A block, without its trailer, and its filter in filters_.
  struct BlockPlace {
    uint32_t offset;
    uint32_t bytes;
    uint32_t filter;
    uint32_t filter_bytes;  // 0: it has none
  };

  // What a search reads comes first.
  KeyWords last_keys_;
  std::vector<BlockPlace> blocks_;
  std::string filters_;
  std::string keys_;  // last keys, one after the other
  std::vector<uint32_t> key_ends_{0};
};

}  // namespace sluice
