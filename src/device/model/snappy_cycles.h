// How long cu_snappy_decoder takes for a block: it makes a piece of up to V bytes per cycle, of at
// most one literal and one copy behind it (docs/hardware.md, Snappy).

#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::model {

// Besides its pieces, about: the preamble, what lies behind the last one, and the lengths of long
// literals.
inline constexpr uint64_t kSnappyBlockCycles = 3;

// Pieces of a block that Snappy has compressed, at `v` bytes per cycle. What is malformed ends it.
uint64_t SnappyPieces(std::string_view block, uint64_t v);

// From how many bytes back the decoder can copy; the library, too, writes no copy from further.
inline constexpr uint64_t kSnappyHistoryBytes = 65536;

// Whether a block, which is sound, has a copy from further back.
bool SnappyReachesTooFar(std::string_view block);

}  // namespace sluice::model
