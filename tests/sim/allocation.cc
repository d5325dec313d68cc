// The heap of the simulation, for this executable and all its libraries: blocks of a size class
// from one piece of memory at a fixed address, those that are given back first.
//
// So addresses, and what malloc_usable_size says, hang on the seed alone; and what is given back is
// written over, so that whoever still looks at it sees nonsense, in every run of the seed.
//
// No locks: only one thread runs at a time, and what a thread does before it first has the baton
// needs no memory.

#include "allocation.h"

#include <malloc.h>
#include <sys/mman.h>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sluice::sim {

namespace {

constexpr uintptr_t kBegin = uintptr_t{0x100000000000};
constexpr size_t kBytes = size_t{64} << 30;  // of addresses: memory is what is used of them
constexpr size_t kHead = 16;                 // in front of each block: its class
constexpr size_t kClasses = 256;
constexpr int kNonsense = 0xdd;

struct Block {
  Block* next;
};

Block* free_blocks[kClasses];
char* unused = nullptr;
bool disturbed = false;

// Four classes for each power of two, from 16 bytes on.
size_t ClassOf(size_t bytes) {
  if (bytes <= 64) {
    return bytes == 0 ? 0 : (bytes - 1) / 16;
  }
  const auto power = static_cast<size_t>(std::bit_width(bytes - 1));  // bytes <= 1 << power
  return 4 * (power - 6) + (bytes - 1 - (size_t{1} << (power - 1))) / (size_t{1} << (power - 3));
}

size_t BytesOf(size_t size_class) {
  if (size_class < 4) {
    return 16 * (size_class + 1);
  }
  const size_t power = size_class / 4 + 6;
  return (size_t{1} << (power - 1)) + (size_class % 4 + 1) * (size_t{1} << (power - 3));
}

char* TakeUnused(size_t bytes) {
  if (unused == nullptr) {
    void* const memory =
        ::mmap(reinterpret_cast<void*>(kBegin), kBytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory == MAP_FAILED) {
      return nullptr;
    }
    unused = static_cast<char*>(memory);
  }
  char* const taken = unused;
  unused += bytes;
  return unused <= reinterpret_cast<char*>(kBegin) + kBytes ? taken : nullptr;
}

size_t& ClassOfBlock(void* memory) {
  return *reinterpret_cast<size_t*>(static_cast<char*>(memory) - kHead);
}

void* Take(size_t bytes) {
  const size_t size_class = ClassOf(bytes);
  Block*& first = free_blocks[size_class];
  // The second that is free, where addresses are to be others.
  Block*& chosen = disturbed && first != nullptr && first->next != nullptr ? first->next : first;
  if (Block* const block = chosen) {
    chosen = block->next;
    return block;
  }
  char* const memory = TakeUnused(kHead + BytesOf(size_class));
  if (memory == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  ClassOfBlock(memory + kHead) = size_class;
  return memory + kHead;
}

void GiveBack(void* memory) {
  if (memory == nullptr) {
    return;
  }
  const size_t size_class = ClassOfBlock(memory);
  std::memset(memory, kNonsense, BytesOf(size_class));
  auto* const block = static_cast<Block*>(memory);
  block->next = free_blocks[size_class];
  free_blocks[size_class] = block;
}

// Its block is never used again as another's: few ask for it.
void* TakeAligned(size_t alignment, size_t bytes) {
  if (alignment <= 16) {
    return Take(bytes);
  }
  const size_t size_class = ClassOf(bytes);
  char* const memory = TakeUnused(kHead + alignment + BytesOf(size_class));
  if (memory == nullptr) {
    return nullptr;
  }
  const auto at = (reinterpret_cast<uintptr_t>(memory) + kHead + alignment - 1) & ~(alignment - 1);
  auto* const aligned = reinterpret_cast<char*>(at);
  ClassOfBlock(aligned) = size_class;
  // What comes behind it is aligned as all else is.
  unused = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(unused) + 15) & ~uintptr_t{15});
  return aligned;
}

}  // namespace

void DisturbAddresses() { disturbed = true; }

}  // namespace sluice::sim

using namespace sluice::sim;

extern "C" {

void* malloc(size_t bytes) noexcept { return Take(bytes); }
void free(void* memory) noexcept { GiveBack(memory); }

void* calloc(size_t count, size_t bytes) noexcept {
  size_t all;
  void* const memory = __builtin_mul_overflow(count, bytes, &all) ? nullptr : Take(all);
  return memory != nullptr ? std::memset(memory, 0, all) : nullptr;
}

void* realloc(void* memory, size_t bytes) noexcept {
  void* const other = Take(bytes);
  if (memory != nullptr && other != nullptr) {
    const size_t had = BytesOf(ClassOfBlock(memory));
    std::memcpy(other, memory, had < bytes ? had : bytes);
    GiveBack(memory);
  }
  return other;
}

void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  return TakeAligned(alignment, bytes);
}
void* memalign(size_t alignment, size_t bytes) noexcept { return TakeAligned(alignment, bytes); }
int posix_memalign(void** memory, size_t alignment, size_t bytes) noexcept {
  *memory = TakeAligned(alignment, bytes);
  return *memory != nullptr ? 0 : ENOMEM;
}

size_t malloc_usable_size(void* memory) noexcept {
  return memory != nullptr ? BytesOf(ClassOfBlock(memory)) : 0;
}

}  // extern "C"
