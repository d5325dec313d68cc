// Snappy as the Compaction Unit compresses with it (hw/rtl/encode/cu_snappy_encoder.sv), byte for
// byte, so that executors which compress can stand in for one another. The library reads what it
// makes, which is as small as the library's within a tenth.
//
// Four places of a block are looked up at once. A table keeps, under a hash of the four bytes that
// begin there, the last place of each; a place goes without if an earlier one of its group has taken
// the same sixteenth of the table. The first match of four bytes or more behind the last one is
// taken, and goes on for as long as the bytes do.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice {

// Longer blocks are not compressed.
inline constexpr size_t kMaxUnitSnappyBytes = 8192;

// Compresses a block of 1 to `most` bytes into `*out`, replacing what it holds. False: the block is
// longer than that, or would not become smaller by more than an eighth (LevelDB's rule). `most`: a
// power of two, up to 65,536.
bool CompressAsUnits(std::string_view block, std::string* out, size_t most = kMaxUnitSnappyBytes);

}  // namespace sluice
