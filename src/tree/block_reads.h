// Pieces of extents that are read together, because one after the other each would wait for the
// device.
//
// A reader asks for what it needs and is not in memory (Want), and is put off; when several are, all
// is read (Read), and each reader begins anew and finds its piece here (Find). What could not be read
// is not here: the reader reads it by itself, and so finds the words for what is wrong.
//
// Thread-compatible. Costs nothing while nothing is wanted.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tree/extent.h"
#include "util/status.h"

namespace sluice {

class BlockReads {
 public:
  // What one object takes; beyond it Want refuses.
  static constexpr size_t kMostBytes = size_t{1} << 20;

  // Whether the piece, which is not here, is going to be read: false if that was tried already, or
  // there is no room. The extent must outlive Read.
  bool Want(const Extent& extent, uint64_t offset, uint64_t bytes);
  // Whether something was wanted since the last call of TakeWanted.
  bool wanted() const { return wanted_; }
  bool TakeWanted() { return std::exchange(wanted_, false); }
  // Reads what is wanted.
  void Read();
  // What was read from this offset on, as long as it was asked for; empty if that is not `least`
  // bytes. Valid until Clear.
  std::string_view Find(const Extent& extent, uint64_t offset, uint64_t least) const;
  void Clear();

 private:
  struct Piece {
    const Extent* extent;
    uint64_t number;  // the extent's
    uint64_t offset;
    uint64_t bytes;
    const char* data;  // null: not read, or not yet
  };

  std::vector<Piece> pieces_;
  size_t tried_ = 0;  // so many of them were read, or could not be
  uint64_t bytes_ = 0;
  bool wanted_ = false;
  std::vector<std::unique_ptr<char[]>> memory_;
};

// What the extent has there, in `*buffer` or in `reads`, which may be null; or nothing, if `reads`
// wants it now.
Status ReadPiece(const Extent& extent, uint64_t offset, uint64_t bytes, BlockReads* reads,
                 std::string* buffer, std::string_view* piece);

}  // namespace sluice
