// For tests: replaces operators new and delete of the program. To be included by one file of it,
// which defines OnAllocation.

#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace sluice {

// Called before each allocation, on any thread. May throw, in place of the operator.
void OnAllocation(std::size_t bytes);

inline void* Allocate(std::size_t bytes, std::size_t alignment) {
  OnAllocation(bytes);
  void* const memory =
      alignment == 0
          ? std::malloc(bytes)
          : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

}  // namespace sluice

// Not in line: GCC would see malloc's memory freed by delete in one place and not the other.
[[gnu::noinline]] void* operator new(std::size_t bytes) { return sluice::Allocate(bytes, 0); }
[[gnu::noinline]] void* operator new[](std::size_t bytes) { return sluice::Allocate(bytes, 0); }
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return sluice::Allocate(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
