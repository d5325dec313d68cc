// Memory for many small allocations of a thread.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>

namespace sluice {

// As std::malloc, but has it take memory from the kernel for 120 KiB of such allocations at once, if it
// has none free. Outside of the first thread glibc grows its heap by the pages that it lacks, with a
// call of mprotect each time: for a block of 4 KiB that takes longer than reading and checking it.
inline void* MallocAhead(size_t bytes) {
  constexpr size_t kAhead = size_t{120} << 10;  // what is larger has a mapping of its own
  thread_local size_t left = 0;
  if (bytes > left) {
    void* volatile ahead = std::malloc(kAhead);  // volatile: or else it would be optimised away
    std::free(ahead);
    left = kAhead;
  }
  left -= std::min(bytes, left);
  return std::malloc(bytes);
}

}  // namespace sluice
