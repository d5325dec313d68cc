// The multi-version memtable (X-Engine 3.2.1): a lock-free list of distinct user keys in their order;
// the versions of a key hang off its node, newest first. A hot key costs one search however often it
// was written, and its newest version one hop. Beside the list stand two indexes of it: one for point
// lookups (key_index.h), and one for the place of a key that is not there (order_index.h).
//
// Thread-safe: any number of threads add and read at once, without locks; nothing is ever removed.
// An Add is visible to reads that start after it returned. Costs O(log distinct keys), and O(log
// versions newer than the one asked for): versions have, beside the link to the one before, one
// that jumps over many (Myers, "An applicative random-access stack", 1983), but for a key's first,
// so that rows that are not updated pay nothing for it.
//
// The paper's is a skiplist. Its nodes lie anywhere in memory, so that a search waits for each that it
// looks at: with 80,000 keys that was half of what a put cost.
//
// Range deletions stand beside the keys: whoever reads asks for them, if there are any, and leaves
// out what they cover. Each makes a new value of them all, so readers take no lock for them either.
//
// Takes no memory until the first Add, and little for few records.

#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "mem/arena.h"
#include "mem/key_index.h"
#include "mem/memory_account.h"
#include "mem/order_index.h"
#include "mem/range_deletions.h"
#include "table/internal_key.h"
#include "util/epoch.h"
#include "util/hash.h"
#include "util/mutex.h"

namespace sluice {

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): members in the order of their lives
class Memtable {
 public:
  // One version of one key. Its value follows it in the arena.
  class Version {
   public:
    SequenceNumber sequence() const { return TrailerSequence(trailer_); }
    RecordType type() const { return static_cast<RecordType>(TrailerType(trailer_)); }
    uint64_t trailer() const { return trailer_; }
    std::string_view value() const {
      return {reinterpret_cast<const char*>(this + 1), value_bytes_};
    }
    // The version before this one; nullptr if this is the oldest here.
    const Version* older() const { return older_.load(std::memory_order_acquire); }
    // This one, or the newest before it, that is at or below `snapshot`; nullptr if there is none.
    // `*steps` (may be null) counts the links that are followed.
    const Version* At(SequenceNumber snapshot, size_t* steps = nullptr) const {
      const Version* version = this;
      while (version != nullptr && version->sequence() > snapshot) {
        if (steps != nullptr) {
          ++*steps;
        }
        const Version* const jump = version->jump();
        version = jump != nullptr && jump->sequence() > snapshot ? jump : version->older();
      }
      return version;
    }

   private:
    friend class Memtable;
    // In front of the object if span_ is not 0; set before anybody sees it.
    Version*& jump_field() { return reinterpret_cast<Version**>(this)[-1]; }
    Version* jump() const {
      return span_ == 0 ? nullptr : const_cast<Version*>(this)->jump_field();
    }
    // Jumps, over one version or over two jumps of the same span, so that they nest.
    void SetJump(Version* older);

    std::atomic<Version*> older_;
    uint64_t trailer_;
    uint32_t value_bytes_;
    uint32_t span_;  // of the jump, in versions; 0: there is none
  };

  // `expected_bytes`: of memory, when it is full; decides how large the index of keys is.
  // What it takes is added to `all` (may be null), which outlives it.
  explicit Memtable(size_t expected_bytes, MemtableMemory* all = nullptr);
  Memtable(const Memtable&) = delete;
  Memtable& operator=(const Memtable&) = delete;
  ~Memtable();

  struct Record {
    SequenceNumber sequence;
    RecordType type;
    std::string_view user_key;
    std::string_view value;
  };
  static constexpr size_t kMostAtOnce = 16;
  // The searches for several records wait together for memory that the processor has not cached.
  // REQUIRES: they are at most kMostAtOnce; no two records of a key here have one sequence number;
  // keys and values are shorter than 4 GiB.
  void Add(std::span<const Record> records);
  void Add(SequenceNumber sequence, RecordType type, std::string_view user_key,
           std::string_view value) {
    const Record record{sequence, type, user_key, value};
    Add({&record, 1});
  }

  // Deletes everything here and elsewhere that is older, from `begin` to before `end` (empty: no
  // bound).
  void DeleteRange(SequenceNumber sequence, std::string_view begin, std::string_view end);

  // The newest version of the key at or below `snapshot`, covered by a range deletion or not;
  // nullptr if there is none. Valid as long as the memtable.
  const Version* Get(std::string_view user_key, SequenceNumber snapshot) const {
    return Get(user_key, Hash64(user_key), snapshot);
  }
  // The same for who has the key's Hash64.
  const Version* Get(std::string_view user_key, uint64_t hash, SequenceNumber snapshot) const;

  bool has_range_deletions() const { return ranges_.load(std::memory_order_acquire) != nullptr; }
  // Those that there are now.
  RangeDeletions range_deletions() const {
    const EpochGuard guard;
    const RangeDeletions* const ranges = ranges_.load(std::memory_order_acquire);
    return ranges == nullptr ? RangeDeletions() : *ranges;
  }
  // As RangeDeletions::Covering.
  SequenceNumber Covering(std::string_view user_key, SequenceNumber snapshot) const {
    const EpochGuard guard;
    const RangeDeletions* const ranges = ranges_.load(std::memory_order_acquire);
    return ranges == nullptr ? 0 : ranges->Covering(user_key, snapshot);
  }

  // Counts the keys in a range by the kind of their newest versions.
  struct RangeEstimate {
    uint64_t values = 0;
    uint64_t tombstones = 0;
    uint64_t bytes = 0;  // of keys and values
  };
  // What there is in [begin, end) (empty: no bound); exact up to some 64 keys, and beyond that from a
  // sample of about as many, which the index of the order gives. Heeds no range deletions.
  RangeEstimate Estimate(std::string_view begin, std::string_view end) const;

  bool empty() const { return records() == 0 && !has_range_deletions(); }
  // Counts adds that have returned.
  uint64_t records() const { return records_.load(std::memory_order_acquire); }
  size_t memory_bytes() const { return account_.bytes(); }
  // From here on it does not count as unflushed. REQUIRES: no Add is under way, or comes.
  void SetFlushed() { account_.SetFlushed(); }

 private:
  struct Node;

 public:
  // Walks the keys, ascending; sees every key added before it moved there. To be used by one
  // thread; the memtable must outlive it. Prev and the Last and Prev seeks cost O(log keys).
  class Iterator {
   public:
    explicit Iterator(const Memtable* memtable) : memtable_(memtable) {}

    bool Valid() const { return node_ != nullptr; }
    void SeekToFirst();
    void SeekToLast();
    void Seek(std::string_view user_key);         // the first key at or after it
    void SeekForPrev(std::string_view user_key);  // the last key at or before it
    // The rest REQUIRES Valid().
    void Next();
    void Prev();
    std::string_view user_key() const;
    // The newest version at or below `snapshot`; nullptr if there is none.
    const Version* VersionAt(SequenceNumber snapshot) const;
    // How many versions the key has. REQUIRES: no Add is under way.
    uint64_t versions() const;

   private:
    const Memtable* memtable_;
    const Node* node_ = nullptr;
  };

 private:
  static constexpr size_t kHeadBytes = 32;

  using OrderSearch = OrderIndex<Node>::Search;

  static const Version* VersionAt(const Node* node, SequenceNumber snapshot);

  static size_t NodeBytes(size_t key_bytes);
  static Node* MakeNode(char* memory, std::string_view user_key);
  void AddOne(const Record& record);
  Version* NewVersion(const Record& record, bool with_jump);
  void AddVersion(Node* node, Version* version);
  // Of a key whose place has been searched for, with its first version.
  void AddNode(std::string_view user_key, uint64_t hash, const OrderIndex<Node>::Place& place,
               Version* version);
  // For a node that the index of keys did not know a moment ago.
  void AddVersionOfNew(Node* node, uint64_t hash, Version* version);
  // The last node whose key is less, the head if there is none, and what comes after it.
  struct Gap {
    Node* before;
    Node* after;
    size_t passed = 0;     // nodes from where the index said
    bool differs = false;  // the key of `after` is greater
  };
  Gap Find(std::string_view user_key) const;
  Gap Find(std::string_view user_key, const OrderIndex<Node>::Place& place) const;

  MemoryAccount account_;
  Arena arena_;
  KeyIndex<Node> index_;
  OrderIndex<Node> order_;
  alignas(void*) char head_memory_[kHeadBytes];
  Node* const head_;
  std::atomic<uint64_t> records_{0};

  Mutex ranges_mutex_;  // of those who add some
  std::atomic<const RangeDeletions*> ranges_{nullptr};
};

}  // namespace sluice
