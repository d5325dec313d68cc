// Finds the node of a key at once, beside the order that the list keeps: most reads of an LSM
// tree ask memtables for keys that are not there, and most writes to hot keys find theirs there.
//
// A table of slots with linear probing; slots are filled and never emptied. It begins small and
// grows by kGrowth when it fills, so that a memtable of few keys takes little. Costs one cache
// miss, or two where the key is there. Thread-safe; finding and inserting take no lock, growing
// does.
//
// Growing, a few slots with each insertion, while others find and insert:
//   1. A table has a link to the one that follows it, set before anything moves.
//   2. The slots are gone through in order: an empty one becomes kMoved, and takes nothing any
//      more; what is in a full one is inserted in the next table, and stays here, too.
//   3. Who meets kMoved, or finds no place or key within kProbes slots, goes on in the next table:
//      an insertion comes to where a later search comes, for neither passes an empty slot.
//   4. The next table becomes the first, and the old one is retired.
// Mostly there are two tables. But while who moves slots waits for a processor, others may fill the
// next one: what has no place there goes to one after it, and for the slots of that one all this is
// done in turn.

#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string_view>
#include <utility>

#include "mem/memory_account.h"
#include "util/epoch.h"
#include "util/hash.h"
#include "util/mutex.h"

namespace sluice {

// Node has `std::string_view key() const`, and stays where it is as long as the index.
template <typename Node>
class KeyIndex {
 public:
  // It grows up to a table for `keys` keys. Of more it knows some; then it says so. `account`
  // outlives it.
  KeyIndex(size_t keys, MemoryAccount* account)
      : most_slots_(std::bit_ceil(std::max(keys, kFirstSlots / 2) * 2)), account_(*account) {}
  KeyIndex(const KeyIndex&) = delete;
  KeyIndex& operator=(const KeyIndex&) = delete;
  ~KeyIndex() {
    for (Table* table = table_.load(std::memory_order_relaxed); table != nullptr;) {
      Table::Delete(std::exchange(table, table->next.load(std::memory_order_relaxed)));
    }
  }

  // Ahead of Find. REQUIRES: the caller holds an EpochGuard.
  void Prefetch(uint64_t hash) const {
    if (const Table* const table = table_.load(std::memory_order_acquire)) {
      __builtin_prefetch(&table->At(hash));
    }
  }

  // The key's node; null if it is not known. `hash`: Hash64 of the key. REQUIRES: the caller holds
  // an EpochGuard.
  Node* Find(std::string_view key, uint64_t hash) const {
    for (const Table* table = table_.load(std::memory_order_acquire); table != nullptr;
         table = table->next.load(std::memory_order_acquire)) {
      for (size_t i = 0; i < kProbes; ++i) {
        const uint64_t slot = table->At(hash + i).load(std::memory_order_acquire);
        if (slot == 0) {
          return nullptr;
        }
        if (slot == kMoved) {
          break;
        }
        if (slot >> kTagShift == hash >> kTagShift) {
          if (Node* const node = NodeOf(slot); node->key() == key) {
            return node;
          }
        }
      }
    }
    return nullptr;
  }

  // Only one node per key is ever inserted; inserting it twice does no harm. REQUIRES: the caller
  // holds an EpochGuard. Throws std::bad_alloc.
  void Insert(Node* node, uint64_t hash) {
    Table* table = table_.load(std::memory_order_acquire);
    if (table == nullptr) {
      table = First();
    }
    const uint64_t slot = reinterpret_cast<uint64_t>(node) | hash >> kTagShift << kTagShift;
    while (!InsertIn(table, slot, hash)) {
      Table* next = table->next.load(std::memory_order_acquire);
      if (next == nullptr) {
        next = table->slots < most_slots_ ? Next(table) : nullptr;
      }
      if (next == nullptr) {
        complete_.store(false, std::memory_order_release);
        return;
      }
      table = next;
    }
    // Up to two thirds full. Who finds the lock taken leaves the rest to others.
    const size_t used = table->used.fetch_add(1, std::memory_order_relaxed) + 1;
    const bool full = used > table->slots / 3 * 2 && table->slots < most_slots_;
    if (full || table_.load(std::memory_order_acquire)->next.load(std::memory_order_relaxed)) {
      if (growing_.try_lock()) {
        const MutexLock lock(growing_, std::adopt_lock);
        if (full && table == table_.load(std::memory_order_relaxed) && table->next == nullptr) {
          AddNext(table);
        }
        Move();
      }
    }
  }

  // Whether a key that it does not know is none that was inserted.
  bool complete() const { return complete_.load(std::memory_order_acquire); }

 private:
  static constexpr size_t kProbes = 64;
  static constexpr size_t kFirstSlots = 2 * kProbes;
  static constexpr size_t kGrowth = 4;
  // Slots: all have moved long before so many insertions that the next table is full, too.
  static constexpr size_t kMovedAtOnce = 16;
  static constexpr unsigned kTagShift = 48;  // addresses have fewer bits
  static constexpr uint64_t kMoved = 1;      // no node's, which are aligned
  static constexpr size_t kHugePage = size_t{2} << 20;

  struct Table {
    size_t slots;
    MemoryAccount* account;
    std::atomic<Table*> next{nullptr};
    std::atomic<size_t> used{0};
    size_t moved = 0;  // slots, to the next one; guarded by growing_
    std::atomic<uint64_t>* slot;

    static Table* New(size_t slots, MemoryAccount* account) {
      const size_t bytes = slots * sizeof(std::atomic<uint64_t>);
      void* memory = nullptr;
      if (bytes >= kHugePage) {
        memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) {
          throw std::bad_alloc();
        }
        (void)::madvise(memory, bytes, MADV_HUGEPAGE);
      } else if (memory = std::calloc(slots, sizeof(std::atomic<uint64_t>)); memory == nullptr) {
        throw std::bad_alloc();
      }
      account->Add(bytes);
      auto* const table = new Table;
      table->slots = slots;
      table->account = account;
      table->slot = static_cast<std::atomic<uint64_t>*>(memory);
      return table;
    }
    static void Delete(Table* table) {
      const size_t bytes = table->slots * sizeof(std::atomic<uint64_t>);
      if (bytes >= kHugePage) {
        ::munmap(static_cast<void*>(table->slot), bytes);
      } else {
        std::free(static_cast<void*>(table->slot));
      }
      delete table;
    }
    std::atomic<uint64_t>& At(uint64_t hash) const { return slot[hash & (slots - 1)]; }
  };

  static Node* NodeOf(uint64_t slot) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the tag is taken off
    return reinterpret_cast<Node*>(slot & ((uint64_t{1} << kTagShift) - 1));
  }

  static bool InsertIn(Table* table, uint64_t wanted, uint64_t hash) {
    for (size_t i = 0; i < kProbes; ++i) {
      std::atomic<uint64_t>& slot = table->At(hash + i);
      uint64_t found = slot.load(std::memory_order_relaxed);
      if (found == 0 && slot.compare_exchange_strong(found, wanted, std::memory_order_release,
                                                     std::memory_order_acquire)) {
        return true;
      }
      if (found == kMoved) {
        return false;
      }
    }
    return false;
  }

  Table* First() {
    const MutexLock lock(growing_);
    Table* first = table_.load(std::memory_order_relaxed);
    if (first == nullptr) {
      first = Table::New(kFirstSlots, &account_);
      table_.store(first, std::memory_order_release);
    }
    return first;
  }

  // The table after `table`, which is made if there is none.
  Table* Next(Table* table) {
    const MutexLock lock(growing_);
    if (table->next.load(std::memory_order_relaxed) == nullptr) {
      AddNext(table);
    }
    return table->next.load(std::memory_order_relaxed);
  }

  // REQUIRES: `table` has none after it.
  void AddNext(Table* table) SLUICE_REQUIRES(growing_) {
    Table* const next = Table::New(std::min(table->slots * kGrowth, most_slots_), &account_);
    table->next.store(next, std::memory_order_release);
  }

  // In `table`, or in one after it. False if there is no place for it.
  bool InsertMoved(Table* table, uint64_t slot, uint64_t hash) SLUICE_REQUIRES(growing_) {
    while (!InsertIn(table, slot, hash)) {
      if (table->slots == most_slots_) {
        return false;
      }
      if (table->next.load(std::memory_order_relaxed) == nullptr) {
        AddNext(table);
      }
      table = table->next.load(std::memory_order_relaxed);
    }
    table->used.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

  // The next kMovedAtOnce slots of the first table, if another follows it.
  void Move() SLUICE_REQUIRES(growing_) {
    Table* const table = table_.load(std::memory_order_relaxed);
    Table* const next = table->next.load(std::memory_order_relaxed);
    if (next == nullptr) {
      return;
    }
    // Keys and places are all over memory, which sends them while others are moved: the places of
    // these slots, and the keys that the next call will look at.
    const size_t slots = std::min(kMovedAtOnce, table->slots - table->moved);
    uint64_t hashes[kMovedAtOnce] = {};
    for (size_t i = 0; i < slots; ++i) {
      if (const Node* const node = NodeOf(table->slot[table->moved + i])) {
        hashes[i] = Hash64(node->key());
        __builtin_prefetch(&next->At(hashes[i]));
      }
    }
    for (size_t i = 0; i < slots; ++i, ++table->moved) {
      uint64_t slot = 0;
      if (table->slot[table->moved].compare_exchange_strong(slot, kMoved, std::memory_order_acq_rel,
                                                            std::memory_order_acquire)) {
        continue;
      }
      // It may have been taken a moment ago.
      const uint64_t hash = hashes[i] != 0 ? hashes[i] : Hash64(NodeOf(slot)->key());
      if (!InsertMoved(next, slot, hash)) {
        complete_.store(false, std::memory_order_release);
      }
    }
    for (size_t i = table->moved; i < std::min(table->moved + kMovedAtOnce, table->slots); ++i) {
      if (const Node* const node = NodeOf(table->slot[i])) {
        __builtin_prefetch(node);
        __builtin_prefetch(node + 1);
      }
    }
    if (table->moved == table->slots) {
      table_.store(next, std::memory_order_release);
      account_.Subtract(table->slots * sizeof(std::atomic<uint64_t>));
      EpochRetire(table, [](void* old) { Table::Delete(static_cast<Table*>(old)); });
    }
  }

  const size_t most_slots_;
  MemoryAccount& account_;
  std::atomic<Table*> table_{nullptr};
  std::atomic<bool> complete_{true};
  Mutex growing_;  // held to add a table, or to move slots to it
};

}  // namespace sluice
