// What is needed to read an extent besides its data blocks: index and filters, laid out for search,
// and its dictionary.
//
// Immutable; counted references, because readers keep one beyond an epoch while the table cache
// lets go of it.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "table/codec.h"
#include "table/filter.h"
#include "table/format.h"
#include "tree/extent.h"
#include "tree/extent_space.h"
#include "util/status.h"

namespace sluice {

class TableCache;

class TableHead {
 public:
  // Reads the head of an extent; errors name file and offset.
  static Status Read(const Extent& extent, TableHead** head);
  // From an index block's contents and a filter block's, which may be empty.
  static Status Make(std::string_view index, std::string filter, TableHead** head,
                     std::unique_ptr<const ZstdDictionary> dictionary = nullptr);

  size_t blocks() const { return blocks_.size(); }
  BlockHandle block(size_t i) const { return {blocks_[i].offset, blocks_[i].bytes}; }
  std::string_view last_key(size_t i) const {
    return std::string_view(keys_).substr(key_ends_[i], key_ends_[i + 1] - key_ends_[i]);
  }
  // The first block whose last key is at or after `internal_key`; blocks() if there is none.
  size_t Find(std::string_view internal_key) const;
  // False only if block `i` holds no version of the user key with this BloomHash.
  bool MayHold(size_t i, uint32_t hash) const {
    const BlockPlace& place = blocks_[i];
    return place.filter_bytes == kAllMatch ||
           BloomMayMatch({filter_bytes_.data() + place.filter, place.filter_bytes}, hash);
  }
  // Prefetch what MayHold is going to read: first where the block's filter is, then, once that is
  // there, the filter.
  void PrefetchPlace(size_t i) const { __builtin_prefetch(blocks_.data() + i); }
  void PrefetchFilter(size_t i, uint32_t hash) const {
    const BlockPlace& place = blocks_[i];
    if (place.filter_bytes != kAllMatch) {
      PrefetchBloom({filter_bytes_.data() + place.filter, place.filter_bytes}, hash);
    }
  }

  // What data blocks are compressed with; null if there is none.
  const ZstdDictionary* dictionary() const { return dictionary_.get(); }

  size_t memory_bytes() const { return memory_bytes_; }
  void Ref() { references_.fetch_add(1, std::memory_order_relaxed); }
  void Unref() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete this;
    }
  }

 private:
  friend class TableCache;

  static constexpr uint32_t kAllMatch = ~uint32_t{0};

  // A block, without its trailer, and its filter in filter_bytes_.
  struct BlockPlace {
    uint32_t offset;
    uint32_t bytes;
    uint32_t filter = 0;
    uint32_t filter_bytes = kAllMatch;  // or: it has none
  };

  TableHead() = default;
  ~TableHead() = default;

  std::vector<uint64_t> words_;  // of the last keys, from their byte skip_ on, big-endian
  size_t skip_ = 0;              // bytes that all last user keys begin with
  std::vector<BlockPlace> blocks_;
  std::string keys_;  // last keys, one after the other
  std::vector<uint32_t> key_ends_{0};
  std::string filter_bytes_;
  std::unique_ptr<const ZstdDictionary> dictionary_;
  size_t memory_bytes_ = 0;
  std::atomic<uint32_t> references_{1};

  // For the table cache.
  std::atomic<bool> used_{true};
  TableCache* cache_ = nullptr;
  ExtentPlace* place_ = nullptr;
  size_t slot_ = 0;
};

}  // namespace sluice
