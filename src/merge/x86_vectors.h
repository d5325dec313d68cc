// The vector instructions of x86-64, for parts that are compiled for more than the rest.

#pragma once

#ifdef __x86_64__

#pragma GCC diagnostic push
#ifndef __clang__
// GCC 12 warns about its own _mm512_undefined_epi32.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop

#define SLUICE_AVX2 __attribute__((target("avx2,bmi,bmi2")))
#define SLUICE_AVX512 __attribute__((target("avx512f,avx512bw,bmi,bmi2")))

namespace sluice::internal {

inline bool HasAvx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"); }

inline bool HasAvx512() {
  return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("bmi2");
}

}  // namespace sluice::internal

#endif
