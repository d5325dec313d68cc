// A table's data blocks, by way of its index block.

#pragma once

#include <string>
#include <string_view>

#include "table/block.h"
#include "table/format.h"
#include "util/status.h"

namespace sluice {

// An index block, opened.
struct OpenIndex {
  // The one at `handle` of a table's image.
  static Status In(std::string_view image, const BlockHandle& handle, OpenIndex* index);
  // One that stands apart from its data, with its trailer.
  static Status Apart(std::string_view index_block, OpenIndex* index);

  // Calls visit(index key, handle) for each entry.
  template <typename Visit>
  Status ForEachBlock(const Visit& visit) const {
    BlockIterator entry(block);
    for (entry.SeekToFirst(); entry.Valid(); entry.Next()) {
      BlockHandle handle;
      std::string_view encoded = entry.value();
      if (!handle.ReadFrom(&encoded)) {
        return MalformedHandle(entry.offset());
      }
      SLUICE_RETURN_IF_ERROR(visit(entry.key(), handle));
    }
    return AtIndex(entry.status());
  }

  std::string buffer;
  std::string_view contents;
  Block block;
  uint64_t offset = 0;  // of the block, for errors

 private:
  Status MalformedHandle(size_t entry_offset) const;
  Status AtIndex(const Status& status) const;
};

// Checks that blocks stand in the order of the index: an index that names one block over and over
// must not make work without end. `*end`: the end of the block before, and then of this one, which
// lies in the table.
Status CheckFollows(const BlockHandle& handle, uint64_t* end);

}  // namespace sluice
