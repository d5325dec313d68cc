#include "util/fork_mark.h"

#include <pthread.h>

namespace sluice {

uint64_t ForkMark::forks = 0;

uint64_t ForkMark::Forks() {
  static const int installed = ::pthread_atfork(nullptr, nullptr, [] { ++forks; });
  (void)installed;
  return forks;
}

}  // namespace sluice
