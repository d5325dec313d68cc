// What is read first of an extent: where its index, its dictionary and the parts of its head are,
// and which part has which keys. Once they are read, these hang here (table_cache.h).
//
// Thread-safe.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "table/format.h"
#include "tree/extent.h"
#include "tree/head_unit.h"
#include "util/status.h"

namespace sluice {

class TableCache;

// What was read of an extent's table, from `begin` on.
struct TablePiece {
  uint64_t begin = 0;
  std::string_view bytes;

  // From where one page, as a rule, has all that a top is made of. REQUIRES: the extent has a
  // footer.
  static uint64_t BeginOf(const Extent& extent);
  bool Has(const BlockHandle& handle) const { return handle.offset >= begin; }
  Status ReadBlock(const BlockHandle& handle, std::string* buffer,
                   std::string_view* contents) const;
};

class TableTop final : public HeadUnit {
 public:
  // From the end of an extent's table, footer included. If that begins too late, `*top` is null and `*from` says where
  // it must begin. Errors do not name the file.
  static Status Make(const Extent& extent, const TablePiece& end, TableTop** top, uint64_t* from);

  size_t parts() const { return parts_.blocks(); }
  BlockHandle part(size_t i) const { return parts_.block(i); }
  // The last key of its blocks.
  std::string_view last_key(size_t i) const { return parts_.last_key(i); }
  // The length of the key prefixes that the filters of all parts hold beside keys; 0: none.
  size_t prefix_bytes() const { return prefix_bytes_; }
  // The part with the first block whose last key is at or after `internal_key`; parts() if there is
  // none.
  size_t Find(std::string_view internal_key) const { return parts_.Find(internal_key); }

  const BlockHandle& index() const { return index_; }
  // Has no bytes if there is no dictionary.
  const BlockHandle& dictionary() const { return dictionary_; }
  bool has_dictionary() const { return dictionary_.size > 0; }

 private:
  friend class TableCache;

  using Slot = std::atomic<HeadUnit*>;

  TableTop() = default;

  Slot* part_slot(size_t i) { return &slots_[i]; }
  Slot* index_slot() { return &slots_[parts()]; }
  Slot* dictionary_slot() { return &slots_[parts() + 1]; }
  size_t slots() const { return parts() + 2; }

  std::unique_ptr<Slot[]> slots_;  // null, or what is in memory
  BlockIndex parts_;               // its "blocks" are the parts
  BlockHandle index_;
  BlockHandle dictionary_;
  size_t prefix_bytes_ = 0;
  TableCache* cache_ = nullptr;  // set once
  // With the cache's mutex held.
  bool is_in_cache_ = false;
  size_t hanging_ = 0;  // slots that are not null
};

}  // namespace sluice
