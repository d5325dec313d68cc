#include "table/xxh3.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sluice {

uint64_t Xxh3(std::string_view bytes) {
#ifdef __x86_64__
  static const bool has_avx2 = __builtin_cpu_supports("avx2");
  if (has_avx2) {
    return Xxh3Avx2(bytes.data(), bytes.size());
  }
#endif
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace sluice
