// Reads extents through the table cache and the block cache.
//
// Thread-safe. Every block read from disk is checked against its CRC. Errors name file and offset.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "cache/block_key.h"
#include "cache/cache.h"
#include "table/block.h"
#include "table/block_search.h"
#include "tree/block_reads.h"
#include "tree/extent.h"
#include "tree/table_cache.h"
#include "util/status.h"

namespace sluice {

using BlockRef = CountedRef<const Cache::Entry>;

// A part of an extent's head, valid as long as an EpochGuard.
struct PartPlace {
  TableHead* head = nullptr;
  size_t number = 0;
  size_t parts = 0;         // of the extent
  size_t prefix_bytes = 0;  // TableTop::prefix_bytes
};

// One that is held.
struct HeadPart {
  TableHeadRef head;
  size_t number = 0;
  size_t parts = 0;
  size_t prefix_bytes = 0;

  void Hold(const PartPlace& place) {
    head.Reset(place.head);
    number = place.number;
    parts = place.parts;
    prefix_bytes = place.prefix_bytes;
  }
};

// The blocks of an extent's table that have its records; `head`: all of its index.
struct LiveBlocks {
  LiveBlocks() = default;
  LiveBlocks(const Extent& extent, const TableHead& head)
      : first(extent.sliced ? head.Find(extent.smallest) : 0),
        end(extent.sliced ? std::min(head.Find(extent.largest) + 1, head.blocks())
                          : head.blocks()) {}

  size_t first = 0;
  size_t end = 0;  // not above `first`: the index is not that of this extent
};

// How far iterators go on after a seek, in bytes of blocks beyond the first one: a mean of late, of
// those that had to read. Thread-safe.
class SeekReach {
 public:
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // What threads note at once may be lost.
  void Note(uint64_t bytes) {
    const uint64_t before = this->bytes();
    bytes_.store(before - before / kWeight + std::min(bytes, kMostBytes) / kWeight,
                 std::memory_order_relaxed);
  }

 private:
  static constexpr uint64_t kWeight = 16;
  static constexpr uint64_t kMostBytes = uint64_t{64} << 10;

  std::atomic<uint64_t> bytes_{0};
};

// Reads stored blocks for an iterator, so that few of them wait for the device: at a seek as much as
// seeks have made use of lately, and later what is read in order in ever larger pieces.
class ReadAhead {
 public:
  // `reach`, which may be null, outlives it. Pieces have `least` bytes from the first on, if there is
  // as much.
  explicit ReadAhead(SeekReach* reach, uint64_t least = 0) : reach_(reach), least_(least) {}
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;
  ~ReadAhead() { Seek(); }

  // What is read from now on is a new walk's.
  void Seek();
  // Says that this block of the head may be read next, and those behind it up to `end`. `more`:
  // others follow those.
  void Aim(const TableHead* head, size_t block, size_t end, bool more);
  // That block with its trailer, valid until the next call. Empty if it was put off: then `reads`,
  // which may be null, wants it.
  Status Read(const Extent& extent, BlockReads* reads, std::string_view* stored);

 private:
  static constexpr uint64_t kFirstPiece = 2;  // reads in order before it
  static constexpr uint64_t kLeastBytes = uint64_t{16} << 10;
  static constexpr uint64_t kDoublings = 3;

  // From the block that was aimed at on, as many as make up to `wanted` bytes. `beyond`: where the
  // head ends before, so many bytes, though the last block may not be whole.
  uint64_t PieceBytes(const Extent& extent, uint64_t wanted, bool beyond) const;

  SeekReach* const reach_;
  const uint64_t least_;
  const TableHead* head_ = nullptr;
  size_t block_ = 0;
  size_t end_ = 0;
  bool more_ = false;
  uint64_t walked_ = 0;    // bytes of blocks that were aimed at since the seek, but for the first
  bool first_ = true;      // none was yet
  bool has_read_ = false;  // since the seek
  uint64_t extent_ = 0;
  uint64_t next_ = 0;      // the offset after the block read last
  uint64_t in_order_ = 0;  // reads of the file so far that followed each other
  uint64_t offset_ = 0;    // of bytes_, within the extent
  std::string bytes_;
};

// Whether an extent that was read with this error is what stands in the way: it is damaged, or has
// blocks of a kind that only another version knows.
inline bool IsOfTheInput(const Status& status) {
  return status.IsCorruption() || status.IsNotSupported() ||
         status.code() == Status::Code::kIoError;
}

// A block read with `fill_cache` counts as an access to its extent; others, such as compactions',
// leave no trace.
class ExtentReader {
 public:
  ExtentReader(TableCache* tables, Cache* blocks) : tables_(*tables), blocks_(*blocks) {}

  // Whether any extent was accessed since TakeAccessed was called last.
  bool accessed() const { return accessed_.load(std::memory_order_relaxed); }
  bool TakeAccessed() { return accessed_.exchange(false, std::memory_order_relaxed); }

  // The newest version of the key in `internal_key` at or before it. `hash`: BloomHash of the user
  // key. The match's value is valid as long as the EpochGuard that the caller holds.
  Status Get(const Extent& extent, std::string_view internal_key, uint32_t hash, bool fill_cache,
             BlockMatch* match) {
    return Get(Lookup{.extent = &extent}, internal_key, hash, fill_cache, nullptr, match);
  }

  // A key in an extent: `head` and `block` are known once Prepare has found the part of the head
  // in memory.
  struct Lookup {
    const Extent* extent = nullptr;
    TableTop* top = nullptr;
    TableHead* head = nullptr;
    size_t block = 0;
  };
  // Takes lookups of one key as far as heads in memory allow, and prefetches the filters of all,
  // because one after the other they would each wait for memory. Get then completes each lookup.
  // If that needs something that is not in memory, and `reads` is not null, it may be put off: then
  // `reads` wants it, and nothing is found.
  void Prepare(std::span<Lookup> lookups, std::string_view internal_key, uint32_t hash) const;
  Status Get(const Lookup& lookup, std::string_view internal_key, uint32_t hash, bool fill_cache,
             BlockReads* reads, BlockMatch* match);

  // All of the extent's index, without filters: for who goes through its blocks.
  Status OpenHead(const Extent& extent, TableHeadRef* head);
  // The part with the first block whose last key is at or after `internal_key`. Its head is null if
  // there is none, or if it was put off as in Get.
  Status OpenPart(const Extent& extent, std::string_view internal_key, BlockReads* reads,
                  HeadPart* part);
  // By its number; if that is too large, the last one. `walk`: those behind it are wanted soon, up to
  // the one with the first key at or after `walk_end`, unless that is empty.
  Status OpenPart(const Extent& extent, size_t number, bool walk, std::string_view walk_end,
                  HeadPart* part);
  // The block with the first key at or after `internal_key`: where it begins and ends among the bytes
  // of the table's blocks, of which there are about `all`, and between which user keys. Reads at most
  // the top and one part. REQUIRES: the table has such a key.
  struct BlockSpan {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t all = 0;
    std::string low;
    std::string high;
  };
  Status FindSpan(const Extent& extent, std::string_view internal_key, BlockSpan* span);
  // `contents` keeps what `block` views. `ahead`, if any: of an iterator, aimed at this block.
  // `reads`, if not null, may put it off: then `contents` is null.
  Status ReadBlock(const Extent& extent, const BlockHandle& handle, bool fill_cache,
                   BlockRef* contents, Block* block, ReadAhead* ahead = nullptr,
                   BlockReads* reads = nullptr);
  // Prefetch what ReadBlock reads of a block in memory: first where the cache has it, then, once
  // that is there, its beginning and its end.
  void PrefetchPlace(const BlockKey& key) const { blocks_.PrefetchPlace(key.hash()); }
  void PrefetchBlock(const BlockKey& key, const BlockHandle& handle) const {
    blocks_.PrefetchEntry(key.hash(), handle.size);
  }
  static BlockKey KeyOf(const Extent& extent, const BlockHandle& handle) {
    return BlockKey(extent.number, static_cast<uint32_t>(handle.offset));
  }
  // Reads and checks a block past the cache. Uncompressed, without trailer. `dictionary`: as in the
  // extent's head. `ahead` is aimed at this block.
  static Status ReadStored(const Extent& extent, const BlockHandle& handle,
                           const ZstdDictionary* dictionary, ReadAhead* ahead,
                           std::string* contents);

  Cache& blocks() { return blocks_; }
  static std::string Describe(const Extent& extent, uint64_t offset) {
    return DescribePlace(extent, offset);
  }

 private:
  // As OpenPart, without holding it.
  Status FindPart(const Extent& extent, std::string_view internal_key, BlockReads* reads,
                  PartPlace* place);
  // Valid as long as the caller's guard; null if it was put off.
  Status FindBlock(const Extent& extent, const BlockHandle& handle, bool fill_cache,
                   ReadAhead* ahead, BlockReads* reads, const Cache::Entry** entry);

  void CountAccess(const Extent& extent) {
    extent.place->Touch();
    if (!accessed()) {  // lest all threads write there
      accessed_.store(true, std::memory_order_relaxed);
    }
  }

  TableCache& tables_;
  Cache& blocks_;
  std::atomic<bool> accessed_{false};
};

}  // namespace sluice
