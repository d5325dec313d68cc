// A system call that goes by nobody: syscall() itself comes to the scheduler (kernel.cc).

#pragma once

namespace sluice::sim {

// What the kernel says: an error is -errno.
inline long RawSyscall(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

}  // namespace sluice::sim
