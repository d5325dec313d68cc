// Functional coverage of a model (hw/dv/coverage), in builds that have it (SLUICE_COVERAGE).

#pragma once

#include <verilated.h>

#if VM_COVERAGE
#include <unistd.h>
#include <verilated_cov.h>

#include <atomic>
#include <cstdlib>
#include <string>
#endif

namespace sluice::rtlsim {

// Writes the model's counts to a new file in $SLUICE_COVERAGE_DIR, if that is set. Call it before
// the model goes.
inline void WriteCoverage([[maybe_unused]] VerilatedContext* context) {
#if VM_COVERAGE
  static std::atomic<int> files = 0;
  if (const char* directory = std::getenv("SLUICE_COVERAGE_DIR"); directory != nullptr) {
    context->coveragep()->forcePerInstance(true);
    context->coveragep()->write(std::string(directory) + "/" + std::to_string(getpid()) + "-" +
                                std::to_string(files++) + ".dat");
  }
#endif
}

}  // namespace sluice::rtlsim
