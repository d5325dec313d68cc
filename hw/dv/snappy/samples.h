// Data to compress, blocks as no compressor would write them, and damage.

#pragma once

#include <cstddef>
#include <random>
#include <string>

namespace sluice::dv {

enum class Kind { kText, kJson, kRandom, kHalf };
inline constexpr Kind kKinds[] = {Kind::kText, Kind::kJson, Kind::kRandom, Kind::kHalf};
const char* KindName(Kind kind);

// `n` bytes: a passage of this repository's documents; records in JSON; random bytes; or what
// LevelDB's db_bench writes by default, of which 100 bytes are 50 random ones, twice.
std::string Sample(Kind kind, size_t n, std::mt19937_64* random);

// A valid block whose elements are drawn from all that the format allows: every form of every
// length and offset, offsets around `width`, multiples of it, and `history`.
std::string OddBlock(size_t elements, size_t width, size_t history, std::mt19937_64* random);

// Changes, removes, doubles or adds some bytes, or writes the preamble in five bytes.
void Damage(std::string* block, std::mt19937_64* random);

}  // namespace sluice::dv
