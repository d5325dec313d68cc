// Finds the node of a key at once, beside the order that the skiplist keeps: most reads of an LSM
// tree ask memtables for keys that are not there, and most writes to hot keys find theirs there.
//
// A table of slots with linear probing; slots are filled and never emptied. Thread-safe, without
// locks. Costs one cache miss, or two where the key is there, and 8 bytes of memory per slot, as
// they come in use.

#pragma once

#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

namespace sluice {

// Node has `std::string_view key() const`, and stays where it is as long as the index.
template <typename Node>
class KeyIndex {
 public:
  // For about `keys` keys. Of more it knows some; then it says so. Throws std::bad_alloc.
  explicit KeyIndex(size_t keys)
      : mask_(std::bit_ceil(keys < kProbes ? 2 * kProbes : 2 * keys) - 1) {
    void* const memory =
        ::mmap(nullptr, memory_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      throw std::bad_alloc();
    }
    (void)::madvise(memory, memory_bytes(), MADV_HUGEPAGE);
    slots_ = static_cast<std::atomic<uint64_t>*>(memory);
  }
  KeyIndex(const KeyIndex&) = delete;
  KeyIndex& operator=(const KeyIndex&) = delete;
  ~KeyIndex() { ::munmap(static_cast<void*>(slots_), memory_bytes()); }

  // The key's node; null if it is not known. `hash`: Hash64 of the key.
  Node* Find(std::string_view key, uint64_t hash) const {
    for (size_t i = 0; i < kProbes; ++i) {
      const uint64_t slot = slots_[(hash + i) & mask_].load(std::memory_order_acquire);
      if (slot == 0) {
        return nullptr;
      }
      if (slot >> kTagShift == hash >> kTagShift) {
        if (Node* const node = NodeOf(slot); node->key() == key) {
          return node;
        }
      }
    }
    return nullptr;
  }

  // Of one key only one node is ever inserted; twice does no harm.
  void Insert(Node* node, uint64_t hash) {
    const uint64_t wanted = reinterpret_cast<uint64_t>(node) | hash >> kTagShift << kTagShift;
    for (size_t i = 0; i < kProbes; ++i) {
      uint64_t empty = 0;
      std::atomic<uint64_t>& slot = slots_[(hash + i) & mask_];
      if (slot.load(std::memory_order_relaxed) == 0 &&
          slot.compare_exchange_strong(empty, wanted, std::memory_order_release,
                                       std::memory_order_relaxed)) {
        return;
      }
    }
    complete_.store(false, std::memory_order_release);
  }

  // Whether a key that it does not know is none that was inserted.
  bool complete() const { return complete_.load(std::memory_order_acquire); }
  size_t memory_bytes() const { return (mask_ + 1) * sizeof(std::atomic<uint64_t>); }

 private:
  static constexpr size_t kProbes = 64;
  static constexpr unsigned kTagShift = 48;  // addresses have fewer bits

  static Node* NodeOf(uint64_t slot) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the tag is taken off
    return reinterpret_cast<Node*>(slot & ((uint64_t{1} << kTagShift) - 1));
  }

  const size_t mask_;
  std::atomic<uint64_t>* slots_;
  std::atomic<bool> complete_{true};
};

}  // namespace sluice
