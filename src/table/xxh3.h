// XXH3 of 64 bits, without a seed, by the library. Its vectors are those that it is compiled for; here
// it is compiled for those that the processor has: with AVX2 it takes less than half the time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice {

uint64_t Xxh3(std::string_view bytes);
// REQUIRES: an x86-64 processor with AVX2.
uint64_t Xxh3Avx2(const char* bytes, size_t n);

}  // namespace sluice
