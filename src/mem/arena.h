// Memory that many threads take and that is given back all at once.
//
// Thread-safe: threads bump a pointer in the open block of one of a few shards, without a lock
// until the block is full. A shard's blocks grow from 1 KiB to 2 MiB, so that a little used arena
// stays small; the big ones ask for huge pages, because what lies here is read at random.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <vector>

#include "mem/memory_account.h"
#include "util/mutex.h"

namespace sluice {

class Arena {
 public:
  // `account` (may be null) outlives it.
  explicit Arena(MemoryAccount* account = nullptr) : account_(account) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  // `bytes` bytes, aligned for a pointer; valid as long as the arena. Throws std::bad_alloc.
  char* Allocate(size_t bytes);

 private:
  // `used` can run past `size`: then the block is full for good.
  struct Block {
    char* data;
    size_t size;
    std::atomic<size_t> used;
  };
  struct alignas(64) Shard {
    std::atomic<Block*> open{nullptr};
    Mutex refill;
  };

  Block* AddBlock(size_t bytes);

  MemoryAccount* const account_;  // of what is taken from the system; an open block counts whole
  std::array<Shard, 8> shards_;
  Mutex blocks_mutex_;
  std::vector<Block*> blocks_ SLUICE_GUARDED_BY(blocks_mutex_);
};

}  // namespace sluice
