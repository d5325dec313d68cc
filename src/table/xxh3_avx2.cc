// The only source that is compiled for AVX2. It has no inline function that others could have, too:
// the linker keeps one of several, and the processor may not have AVX2.

#include "table/xxh3.h"

#ifdef __x86_64__

#define XXH_INLINE_ALL
#include <xxhash.h>

static_assert(XXH_VECTOR == XXH_AVX2);

uint64_t sluice::Xxh3Avx2(const char* bytes, size_t n) { return XXH3_64bits(bytes, n); }

#endif
