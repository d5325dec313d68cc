// Invariants that guard data, checked in release, too:
//
//   SLUICE_CHECK(space.Take(pages));
//
// One that does not hold is a defect of Sluice or of the process around it, and what is in memory
// cannot be believed any more: the process ends, with the condition on stderr, before anything is
// written that the next Open would believe. Not for what files, devices and arguments bring, which
// is answered with a Status, nor where it would cost for each record.

#pragma once

#include <cstdio>
#include <cstdlib>

namespace sluice {

[[noreturn, gnu::cold, gnu::noinline]] inline void CheckFailed(const char* condition,
                                                               const char* file, int line) {
  std::fprintf(stderr, "sluice: %s:%d: this must hold, and does not: %s\n", file, line, condition);
  std::abort();
}

}  // namespace sluice

#define SLUICE_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::sluice::CheckFailed(#condition, __FILE__, __LINE__))
