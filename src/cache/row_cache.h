// The row cache (X-Engine 3.1.2): the newest versions of records, for point lookups. Memory and
// threads: cache/cache.h.
//
// What it holds, and why that is right:
//
//   1. An entry is the newest version of its key that the extents of the sub-table hold, and not a
//      deletion. Memtables come first: a lookup asks here only for a key of which it found no
//      version that it may see in the memtables of the tree version that it pinned.
//   2. A flush brings newer versions into the extents. Each sub-table counts its flushes, which may
//      overlap. A flush, of a memtable that takes no more writes,
//        a. calls BeginFlush, which adds to the counter;
//        b. calls Flushed for the newest version of every key of the memtable, which replaces the
//           entry if there is an older one, or erases it if the version is a deletion, and calls
//           FlushedRanges, which erases what a range deletion of the memtable covers;
//        c. and only then publishes the tree version without the memtable.
//      Who pins that tree version finds no entry older than its extents. Who pinned one before
//      finds what is newer in a memtable, or may not see it: entries newer than the snapshot are no
//      hits.
//   3. A reader fills in what it read from the extents. It may have pinned its tree version long
//      ago, so it reads the counter before it pins, and Fill checks, with the shard locked, that it
//      still stands there. If it does, (b) of the next flush is still to come and finds the entry:
//      after (a) has locked each shard once, fills either are done or see the new counter. And
//      every flush that began before the counter was read either was published before the reader
//      pinned, or has its memtable still in what the reader pinned: there it found no version of
//      the key and no range deletion that covers it, so the flush has none.
//
//   4. An ingestion brings newer versions into the extents that no memtable has. It publishes its tree
//      version first, in which nobody may see them as yet, then does (a), and (b) by FlushedRanges for
//      the range of its keys, and only then makes them visible. Until then entries of before are
//      right, and who reads the new tree version fills in nothing, because its snapshot is older than
//      what the extents have. What readers of earlier tree versions fill in is erased by (b), or
//      refused after (a).
//
// Compactions change none. Numbers of sub-tables must not be used again.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "cache/cache.h"
#include "mem/range_deletions.h"
#include "table/internal_key.h"

namespace sluice {

class RowCache {
 public:
  explicit RowCache(size_t capacity_bytes);

  // The newest version, if it is here and not newer than `snapshot`: value() is the record's, tag()
  // its trailer. Valid while the caller's guard is held. nullptr: ask the extents. REQUIRES: a
  // guard; `key_hash` is Hash64 of the user key, which the memtables want as well.
  const Cache::Entry* Get(uint32_t subtable, std::string_view user_key, uint64_t key_hash,
                          SequenceNumber snapshot) const;

  // Keeps what a reader found, unless a flush came between, or the cache is full and the key was
  // not filled in lately: a row that is asked for once pushes out none that is asked for often (a
  // doorkeeper, as in TinyLFU, Einziger et al. 2017). REQUIRES: it is a value, the newest
  // version in the extents that the reader pinned, and there is no version of the key, and no range
  // deletion that covers it, in the memtables that it pinned, not even one newer than its snapshot;
  // `flushes` stood at `flushes_seen` before it pinned.
  void Fill(uint32_t subtable, std::string_view user_key, uint64_t trailer, std::string_view value,
            const std::atomic<uint64_t>& flushes, uint64_t flushes_seen);

  // Returns whether there is anything here, else Flushed need not be called for this flush.
  bool BeginFlush(std::atomic<uint64_t>* flushes);
  // Costs a look at a bucket when the key is not here. REQUIRES: BeginFlush returned.
  void Flushed(uint32_t subtable, std::string_view user_key, uint64_t trailer,
               std::string_view value);

  // For all range deletions of the memtable. Costs a look at every entry.
  void FlushedRanges(uint32_t subtable, const RangeDeletions& deletions);

  Cache::Stats stats() const { return cache_.stats(); }

 private:
  struct Free {
    void operator()(std::atomic<uint64_t>* marks) const { std::free(marks); }
  };

  // Whether this is not the first call with this hash since the marks were last cleared.
  bool SeenBefore(uint64_t hash);

  Cache cache_;
  // One bit for each of about as many keys as fit in the cache.
  const size_t mark_mask_;  // words, less one
  std::unique_ptr<std::atomic<uint64_t>[], Free> marks_;
  std::atomic<size_t> marked_{0};
};

}  // namespace sluice
