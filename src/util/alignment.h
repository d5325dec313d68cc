// Offsets, lengths and memory as direct I/O asks for them. Alignments are powers of two.

#pragma once

#include <cstdint>

namespace sluice {

inline uint64_t RoundDown(uint64_t n, uint64_t alignment) { return n / alignment * alignment; }
inline uint64_t RoundUp(uint64_t n, uint64_t alignment) {
  return RoundDown(n + alignment - 1, alignment);
}
// At or less than `alignment` bytes behind `memory`.
inline char* AlignUp(char* memory, uint64_t alignment) {
  return memory + (-reinterpret_cast<uintptr_t>(memory)) % alignment;
}

}  // namespace sluice
