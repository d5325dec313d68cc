#include "mem/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <memory>
#include <new>

namespace sluice {

namespace {

constexpr size_t kFirstBlock = size_t{1} << 10;
constexpr size_t kLarge = size_t{16} << 10;  // such get a block of their own
constexpr size_t kHugePage = size_t{2} << 20;

// Threads take shards in turn, so that a few of them never share one.
size_t ThreadNumber() {
  static std::atomic<size_t> next{0};
  thread_local const size_t number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

}  // namespace

Arena::~Arena() {
  for (Block* const block : blocks_) {
    std::free(block->data);
    delete block;
  }
}

char* Arena::Allocate(size_t bytes) {
  bytes = (bytes + alignof(void*) - 1) & ~(alignof(void*) - 1);
  if (bytes > kLarge) {
    return AddBlock(bytes)->data;
  }
  Shard& shard = shards_[ThreadNumber() % shards_.size()];
  while (true) {
    Block* const block = shard.open.load(std::memory_order_acquire);
    if (block != nullptr) {
      const size_t at = block->used.fetch_add(bytes, std::memory_order_relaxed);
      if (at + bytes <= block->size) {
        return block->data + at;
      }
    }
    const MutexLock lock(shard.refill);
    if (shard.open.load(std::memory_order_relaxed) == block) {
      const size_t size = block == nullptr ? kFirstBlock : std::min(2 * block->size, kHugePage);
      // What is left of the block before, less than was wanted, is lost.
      shard.open.store(AddBlock(std::max(size, std::bit_ceil(bytes))), std::memory_order_release);
    }
  }
}

Arena::Block* Arena::AddBlock(size_t bytes) {
  const bool huge = bytes == kHugePage;
  auto block = std::make_unique<Block>();
  block->data =
      static_cast<char*>(huge ? std::aligned_alloc(kHugePage, bytes) : std::malloc(bytes));
  if (block->data == nullptr) {
    throw std::bad_alloc();
  }
  if (huge) {
    ::madvise(block->data, bytes, MADV_HUGEPAGE);  // a hint: nothing depends on it
  }
  block->size = bytes;
  const MutexLock lock(blocks_mutex_);
  blocks_.push_back(block.get());
  if (account_ != nullptr) {
    account_->Add(bytes);
  }
  return block.release();
}

}  // namespace sluice
