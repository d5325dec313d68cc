// Walks the records of one run, block by block through the caches. What it reads forward from a
// device it reads ahead. It reads no block that has nothing within its bounds, if it can know that.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "table/block.h"
#include "table/key_buffer.h"
#include "table/record_iterator.h"
#include "tree/extent_reader.h"
#include "tree/key_bounds.h"
#include "tree/run_index.h"
#include "tree/value_extent.h"

namespace sluice {

// The place of the key's newest version that the snapshot sees, as an internal key.
inline void SetSeekTarget(std::string_view user_key, SequenceNumber snapshot, KeyBuffer* target) {
  char trailer[kTrailerBytes];
  EncodeFixed64(trailer, FirstTrailer(snapshot));
  target->Assign(user_key);
  target->Append({trailer, sizeof(trailer)});
}

class RunIterator final : public RecordIterator {
 public:
  // Sees versions up to `snapshot`. The reader outlives it; the run's extents are kept by it.
  // `reach`: what is known of seeks in such runs; may be null, or else outlives it. It shows all
  // records within `bounds`, and of those outside what it comes across. REQUIRES: Seek is not to a
  // key before them, SeekForPrev not to one behind.
  RunIterator(ExtentReader* reader, const RunIndex& run, SequenceNumber snapshot, bool fill_cache,
              SeekReach* reach = nullptr, const KeyBounds& bounds = {});

  // Seek in three steps, so that several runs wait for memory, or for the device, at once: after Aim
  // it is known which block it needs, Fetch prefetches that, Land does the rest. `target`, from
  // SetSeekTarget with the iterator's snapshot, lives until Land has returned true.
  void Aim(std::string_view target, BlockReads* reads);
  void Fetch() const {
    if (aimed_) {
      reader_.PrefetchBlock(target_key_, part_.head->block(target_block_));
    }
  }
  // False if it was put off, or if Aim was, because it needs something, which `reads` (may be null)
  // wants then: the seek is to be done again when that has been read.
  bool Land(BlockReads* reads);

  void SeekToFirst() override;
  void SeekToLast() override;
  void Seek(std::string_view user_key) override;
  void SeekForPrev(std::string_view user_key) override;
  void Next() override;
  void Prev() override;
  Status status() const override { return status_; }
  Status value_status() const override { return apart_ == nullptr ? Status() : apart_->status; }

 private:
  std::string_view ValueApart() const override;
  // At no record, and without the error that an earlier seek or step met.
  void BeginSeek() {
    SetNone();
    if (!status_.ok()) [[unlikely]] {
      status_ = {};
    }
  }
  // Each returns false, at no record, at an end or an error, or where it is put off.
  bool EnterExtent();  // at extent_
  bool OpenPart(size_t number, bool walk);
  void FindEnds();  // of what the open part has
  bool OpenPartOf(std::string_view internal_key, BlockReads* reads);
  bool OpenBlock(size_t block);  // of the open part
  // data_ to the first or the last record of the extent at extent_; valid, but for damage.
  bool EnterFront();
  bool EnterBack();
  bool SeekInSlice(std::string_view bound);
  // data_ to a record of the block behind this one, or before it. REQUIRES: there is one.
  bool EnterNextBlock();
  // Prefetches from the blocks behind this one: memory sends them while this one is read.
  void PrefetchNext() const;
  bool EnterBlockBefore();
  // Whether data_, valid, is at a record of the table that is not the slice's.
  bool BeforeSlice() const {
    return sliced_ && CompareInternalKeys(data_.key(), extent_.extent()->smallest) < 0;
  }
  bool BehindSlice() const {
    return sliced_ && CompareInternalKeys(data_.key(), extent_.extent()->largest) > 0;
  }
  // Whether data_ is at the slice's first record, or at its last: no need to look at the next block.
  bool AtSliceBegin() const {
    return sliced_ && data_.Valid() &&
           CompareInternalKeys(data_.key(), extent_.extent()->smallest) <= 0;
  }
  bool AtSliceEnd() const {
    return sliced_ && data_.Valid() &&
           CompareInternalKeys(data_.key(), extent_.extent()->largest) >= 0;
  }
  bool StepForward();  // data_ to the next record, wherever it is
  bool StepBackward();
  bool OpenAndGoOn(bool leaves);  // data_ is past its block, or `leaves` its extent
  bool OpenAndGoBack(bool leaves);
  bool ExtentIsNewer() const { return extent_.extent()->oldest > snapshot_; }
  void NextFar();  // as Next, where that is not the next record of the block
  // The block with the first record at or after `internal_key`, which lives until LandRaw.
  bool AimRaw(std::string_view internal_key, BlockReads* reads);
  bool LandRaw();  // data_ to that record
  // Whether the filter of the block that was found has the prefix of all keys within the bounds: if
  // not, none comes from there on, because the first one would be in this block.
  bool MayHavePrefix() const;
  // Whether filters tell, or else extents, that there is no key within the bounds at all.
  bool HasNothingWithin();
  // data_ to the last record before `internal_key`, or of all if that is empty.
  bool SeekRawBefore(std::string_view internal_key);
  bool Check();  // data_'s status, where it is not valid

  // From data_ on, the first record that the snapshot sees.
  void FindForward();
  // From data_ back, the newest visible version of the last key that has one.
  void FindBackward();

  ExtentReader& reader_;
  const SequenceNumber snapshot_;
  const bool fill_cache_;
  const KeyBounds bounds_;
  KeyBuffer upper_;  // the place before all versions of the upper bound; empty: no bound

  RunIndex::Iterator extent_;
  HeadPart part_;  // of the extent's head, open
  bool sliced_ = false;
  size_t block_ = 0;  // of the part
  // The end of the part's blocks that have records of the extent within the bound, and whether no
  // block behind them has any, in other parts either.
  size_t blocks_end_ = 0;
  bool last_part_ = false;
  ReadAhead ahead_;
  // From Aim to Land.
  bool aimed_ = false;
  bool put_off_ = false;
  size_t target_block_ = 0;
  BlockKey target_key_;
  std::string_view target_;
  KeyBuffer own_target_;
  BlockReads* reads_ = nullptr;  // during Land
  BlockRef contents_;
  BlockIterator data_;
  // Going backward, data_ stands before the record, which is here: what is older than the newest
  // version comes first.
  bool backward_ = false;
  std::string key_;
  std::string value_;
  ExtentPtr backward_extent_;  // that it is in
  Status status_;
  // The value that was read apart last.
  struct Apart {
    std::string value;
    std::string reference;  // to it
    Status status;          // of the last attempt
  };
  mutable std::unique_ptr<Apart> apart_;  // if there was one
};

// Iterators are made for each scan, however short, and glibc gives only what is not larger from a
// thread's own memory.
static_assert(sizeof(RunIterator) <= 1032);

}  // namespace sluice
