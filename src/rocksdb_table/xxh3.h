// XXH3 of 64 bits, without a seed, as the library has it. The library's vectors are those that it is
// compiled for; here those that the processor has: with AVX2 it takes less than half the time.

#pragma once

#include <cstdint>
#include <string_view>

namespace sluice {

uint64_t Xxh3(std::string_view bytes);

}  // namespace sluice
