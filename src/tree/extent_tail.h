// What comes behind an extent's data blocks: its index, and its head in parts of a page.
//
//   tail := [dictionary block] | properties block | index block | zeros?
//           | (part | zeros?)* | top | metaindex block | footer
//   part := a block: last key of a data block -> its handle, its filter
//   top  := a block: last key of a part -> its handle, and, if filters have prefixes of keys, too,
//           how long these are (fixed32)
//
// A lookup reads a page with the top, a page with a part, and a data block. So no part goes over the
// end of a page, nor does what is from the top on, as far as they fit in one: zeros stand before it.
// An extent begins with a page. Whoever needs all blocks reads the index. Real LevelDB finds no
// filter, and reads the rest.
//
// Thread-compatible.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "table/block_builder.h"
#include "table/codec.h"
#include "table/format.h"

namespace sluice {

class ExtentTail {
 public:
  // `prefix_bytes`: what filters have beside keys, 0: nothing. `properties`: contents of a block;
  // outlives this.
  ExtentTail(int bloom_bits_per_key, uint32_t prefix_bytes, std::string_view properties)
      : bloom_bits_per_key_(bloom_bits_per_key),
        prefix_bytes_(bloom_bits_per_key > 0 ? prefix_bytes : 0),
        properties_(properties) {}

  // For each data block: its keys, then its place and its last internal key. With a filter that was
  // made elsewhere, which has whole keys only, its keys need not come.
  void AddKey(std::string_view user_key);
  void EndBlock(const BlockHandle& handle, std::string_view last_key, std::string_view filter = {});

  // At most so many bytes follow data blocks that end at `offset` of the extent.
  uint64_t BytesAt(uint64_t offset, size_t dictionary_bytes) const;
  // Appends the tail to the data blocks in `out`. `dictionary` may be empty.
  void Finish(const Codec& codec, std::string_view dictionary, std::string* out);

 private:
  static constexpr uint32_t kRestartInterval = 16;

  struct Part {
    std::string contents;
    std::string last_key;
  };

  void EndPart();
  // Where the first part begins, were the index to end at `at`.
  uint64_t PlaceFirst(uint64_t at) const;
  uint64_t StoredBytes(size_t part) const {
    return kBlockTrailerBytes +
           (part < parts_.size() ? parts_[part].contents.size() : part_.bytes());
  }
  // What is from the top on, at most.
  uint64_t EndBytes() const;

  const int bloom_bits_per_key_;
  const uint32_t prefix_bytes_;
  const std::string_view properties_;
  BlockBuilder index_{1};
  std::vector<Part> parts_;  // those that are full
  BlockBuilder part_{kRestartInterval};
  uint64_t parts_bytes_ = 0;      // of parts_, in whole pages
  uint64_t parts_entries_ = 0;    // bytes of their entries in the top, at most
  std::vector<uint32_t> hashes_;  // of the block's keys, and of their prefixes
  std::string prefix_;            // the last of these; empty: the block has none yet
  std::string value_;
};

}  // namespace sluice
