// One libFuzzer program per target, which SLUICE_FUZZ_TARGET names.

#include <cstddef>
#include <cstdint>

#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (const sluice::fuzz::Target& target : sluice::fuzz::kTargets) {
    if (target.name == SLUICE_FUZZ_TARGET) {
      target.run({reinterpret_cast<const char*>(data), size});
    }
  }
  return 0;
}
