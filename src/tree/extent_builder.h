// Packs blocks into extents: what flushes, merges and copies all end in.
//
// Blocks come whole and in key order, from the flush of a memtable, from an executor, or from
// another extent whose blocks are reused (X-Engine 3.3.2). An extent ends before a block that would
// take it beyond its size, even between two versions of one key: a run may have versions of a key
// in several extents, which compactions take together.
//
// Where blocks are to be compressed with a dictionary, the first ones are held back until there are
// enough to train it. The dictionary is stored in, and serves, each of the extents that follow,
// until a new one is due to be trained.
//
// Thread-compatible. Costs a look at every key, for counts, and for the filter if that does not come
// with the block.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "table/codec.h"
#include "table/key_scan.h"
#include "tree/extent.h"
#include "tree/extent_tail.h"
#include "tree/table_scan.h"
#include "tree/value_extent.h"
#include "util/status.h"

namespace sluice {

struct ExtentFormat {
  uint32_t extent_bytes = 2 << 20;
  Codec codec{};
  int bloom_bits_per_key = 10;  // 0: no filter
  uint32_t subtable = 0;        // whose it is: written into it, for repairs without metadata
  uint32_t prefix_bytes = 0;    // of keys, which filters have, too; 0: they do not
};

// A whole table, and what is known of it but number and place.
struct BuiltExtent {
  std::string table;
  Extent extent;
  std::shared_ptr<const ZstdDictionary> dictionary{};  // of its blocks; null: none
};

// Takes the extent from its argument, and may leave a string in `table` there, whose memory is
// reused.
using ExtentSink = std::function<Status(BuiltExtent*)>;

class ExtentBuilder {
 public:
  // `find_values` finds the value extents that records may refer to; empty: there are none.
  ExtentBuilder(const ExtentFormat& format, ExtentSink sink, FindValueExtent find_values = {})
      : format_(format),
        properties_(ExtentProperties(format.subtable)),
        sink_(std::move(sink)),
        find_values_(std::move(find_values)) {}

  // `contents`: of a data block, uncompressed, not empty, without trailer. `stored`: the same as it
  // stands in another table, with its trailer, if that is compressed, or not, as this one is to be;
  // or empty.
  // `filter`: as MergeOutput has it, with the format's bits per key; or empty, and always if the
  // filters have prefixes.
  // Corruption if it is malformed or out of order, or if that is not its filter, as far as a look at
  // it and one of its keys tells; other errors are the sink's. No call after an error.
  Status AddBlock(std::string_view contents, std::string_view stored = {},
                  std::string_view filter = {});
  // Hands the open extent to the sink, if there is one.
  Status EndExtent();
  uint64_t entries() const { return entries_ + held_back_entries_; }  // of all blocks added

 private:
  static constexpr size_t kSampleRatio = 64;  // bytes of blocks for one of their dictionary
  static constexpr size_t kLeastSampleRatio = 8;
  static constexpr uint32_t kExtentsOfADictionary = 64;

  bool WantsDictionary() const {
    return format_.codec.type == Compression::kZstd && format_.codec.dictionary_bytes > 0;
  }
  Status StoreBlock(std::string_view contents, std::string_view stored, std::string_view filter);
  // Scans the block's keys, for the tail and counts.
  Status CountBlock(const Block& block, std::string_view filter);
  Status HoldBack(std::string_view contents, std::string_view filter);
  // Trains a dictionary, if there is enough to do so, and stores what was held back.
  Status EndSampling();
  Status FinishExtent();

  const ExtentFormat format_;
  const std::string properties_;
  const ExtentSink sink_;
  const FindValueExtent find_values_;

  BuiltExtent built_;
  std::unique_ptr<ExtentTail> tail_;  // null: no extent is open
  KeyScanner keys_;                   // of all blocks so far
  ValueShareCounter shares_;          // of the open extent
  uint64_t entries_ = 0;
  std::string scratch_;
  std::string stored_;  // the block, compressed

  std::string samples_;               // blocks held back, one behind the other
  std::vector<size_t> sample_sizes_;  // and their sizes
  std::vector<std::string> sample_filters_;
  KeyScanner sample_keys_;  // of all blocks so far
  uint64_t held_back_entries_ = 0;
  std::shared_ptr<const ZstdDictionary> dictionary_;
  uint32_t extents_until_sampling_ = 0;
};

}  // namespace sluice
