#include "tree/run_iterator.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "util/epoch.h"

namespace sluice {

RunIterator::RunIterator(ExtentReader* reader, const RunIndex& run, SequenceNumber snapshot,
                         bool fill_cache, SeekReach* reach, const KeyBounds& bounds)
    : reader_(*reader),
      snapshot_(snapshot),
      fill_cache_(fill_cache),
      bounds_(bounds),
      extent_(run),
      ahead_(reach) {
  if (bounds.upper != nullptr) {
    SetSeekTarget(*bounds.upper, kMaxSequence, &upper_);
  }
}

std::string_view RunIterator::ValueApart() const {
  const std::string_view reference = stored_value();
  if (apart_ == nullptr) {
    apart_ = std::make_unique<Apart>();
  }
  if (reference != apart_->reference) {
    const Extent& extent = backward_ ? *backward_extent_ : *extent_.extent();
    apart_->status = ReadValue(extent, user_key(), reference, /*reads=*/nullptr, &apart_->value);
    if (!apart_->status.ok()) {
      apart_->value.clear();
    }
    apart_->reference.assign(reference);
  }
  return apart_->value;
}

bool RunIterator::EnterExtent() {
  if (!extent_.Valid() || bounds_.AllBehind(UserKey(extent_.extent()->smallest)) ||
      bounds_.AllBefore(UserKey(extent_.extent()->largest))) {
    data_.Reset({});  // it may be at a record that is not a slice's
    return false;
  }
  sliced_ = extent_.extent()->sliced;
  return true;
}

bool RunIterator::OpenPart(size_t number, bool walk) {
  status_ = reader_.OpenPart(*extent_.extent(), number, walk, upper_.view(), &part_);
  if (status_.ok()) {
    FindEnds();
  }
  return status_.ok();
}

void RunIterator::FindEnds() {
  const TableHead& head = *part_.head.get();
  blocks_end_ = head.blocks();
  last_part_ = part_.number + 1 >= part_.parts;
  const auto end_with = [&](std::string_view internal_key) {
    if (const size_t block = head.Find(internal_key); block < blocks_end_) {
      blocks_end_ = block + 1;
      last_part_ = true;
    }
  };
  if (sliced_) {
    end_with(extent_.extent()->largest);
  }
  if (upper_.size() > 0) {
    end_with(upper_.view());
  }
}

bool RunIterator::OpenPartOf(std::string_view internal_key, BlockReads* reads) {
  const Extent& extent = *extent_.extent();
  status_ = reader_.OpenPart(extent, internal_key, reads, &part_);
  if (status_.ok() && part_.head.get() == nullptr) {
    put_off_ = reads != nullptr && reads->TakeWanted();
    if (!put_off_) {
      status_ = Status::Corruption(fmt::format("{}: the index ends before the extent's last key",
                                               reader_.Describe(extent, 0)));
    }
    return false;
  }
  if (status_.ok()) {
    FindEnds();
  }
  return status_.ok();
}

bool RunIterator::OpenBlock(size_t block) {
  block_ = block;
  const Extent& extent = *extent_.extent();
  const TableHead& head = *part_.head.get();
  Block parsed;
  // It is not known how much of the next part is within the bound.
  ahead_.Aim(&head, block, blocks_end_, !last_part_ && upper_.size() == 0);
  status_ = reader_.ReadBlock(extent, head.block(block), fill_cache_, &contents_, &parsed, &ahead_,
                              reads_);
  if (!status_.ok() || contents_.get() == nullptr) {
    return false;
  }
  data_.Reset(parsed);
  return true;
}

bool RunIterator::SeekInSlice(std::string_view bound) {
  if (!OpenPartOf(bound, nullptr) || !OpenBlock(part_.head->Find(bound))) {
    return false;
  }
  data_.Seek(bound);
  return true;
}

bool RunIterator::EnterFront() {
  if (!EnterExtent()) {
    return false;
  }
  if (sliced_) {
    return SeekInSlice(extent_.extent()->smallest);
  }
  if (!OpenPart(0, /*walk=*/true) || !OpenBlock(0)) {
    return false;
  }
  data_.SeekToFirst();
  return true;
}

bool RunIterator::EnterBack() {
  if (!EnterExtent()) {
    return false;
  }
  if (sliced_) {
    return SeekInSlice(extent_.extent()->largest);
  }
  if (!OpenPart(~size_t{0}, /*walk=*/false) || !OpenBlock(part_.head->blocks() - 1)) {
    return false;
  }
  data_.SeekToLast();
  return true;
}

bool RunIterator::EnterNextBlock() {
  const bool in_part = block_ + 1 < part_.head->blocks();
  if ((!in_part && !OpenPart(part_.number + 1, /*walk=*/true)) ||
      !OpenBlock(in_part ? block_ + 1 : 0)) {
    return false;
  }
  data_.SeekToFirst();
  PrefetchNext();
  return true;
}

void RunIterator::PrefetchNext() const {
  const Extent& extent = *extent_.extent();
  const TableHead& head = *part_.head.get();
  if (block_ + 1 < blocks_end_) {
    const BlockHandle next = head.block(block_ + 1);
    reader_.PrefetchBlock(ExtentReader::KeyOf(extent, next), next);
  }
  if (block_ + 2 < blocks_end_) {
    reader_.PrefetchPlace(ExtentReader::KeyOf(extent, head.block(block_ + 2)));
  }
}

bool RunIterator::EnterBlockBefore() {
  if (block_ == 0 && !OpenPart(part_.number - 1, /*walk=*/false)) {
    return false;
  }
  const size_t before = (block_ > 0 ? block_ : part_.head->blocks()) - 1;
  if (bounds_.AllBefore(UserKey(part_.head->last_key(before)))) {
    data_.Reset({});
    return false;
  }
  if (!OpenBlock(before)) {
    return false;
  }
  data_.SeekToLast();
  return true;
}

bool RunIterator::Check() {
  if (const Status status = data_.status(); !status.ok()) {
    status_ =
        status.WithContext(reader_.Describe(*extent_.extent(), part_.head->block(block_).offset));
    return false;
  }
  return true;
}

bool RunIterator::StepForward() {
  const bool leaves = AtSliceEnd();
  if (!leaves) {
    data_.Next();
  }
  return OpenAndGoOn(leaves);
}

bool RunIterator::OpenAndGoOn(bool leaves) {
  while (leaves || !data_.Valid() || BehindSlice()) {
    if (!leaves && !data_.Valid() && !Check()) {
      return false;
    }
    leaves = leaves || data_.Valid() || (last_part_ && block_ + 1 >= blocks_end_);
    if (leaves) {
      extent_.Next();
    }
    if (!(leaves ? EnterFront() : EnterNextBlock())) {
      return false;
    }
    leaves = false;
  }
  return true;
}

bool RunIterator::StepBackward() {
  const bool leaves = AtSliceBegin();
  if (!leaves) {
    data_.Prev();
  }
  return OpenAndGoBack(leaves);
}

bool RunIterator::OpenAndGoBack(bool leaves) {
  while (leaves || !data_.Valid() || BeforeSlice()) {
    if (!leaves && !data_.Valid() && !Check()) {
      return false;
    }
    leaves = leaves || data_.Valid() || (part_.number == 0 && block_ == 0);
    if (leaves) {
      extent_.Prev();
    }
    if (!(leaves ? EnterBack() : EnterBlockBefore())) {
      return false;
    }
    leaves = false;
  }
  return true;
}

bool RunIterator::AimRaw(std::string_view internal_key, BlockReads* reads) {
  put_off_ = false;
  ahead_.Seek();
  extent_.Seek(internal_key);
  if (!EnterExtent()) {
    return false;
  }
  if (sliced_ && CompareInternalKeys(internal_key, extent_.extent()->smallest) < 0) {
    internal_key = extent_.extent()->smallest;
  }
  if (!OpenPartOf(internal_key, reads)) {
    return false;
  }
  target_ = internal_key;
  target_block_ = part_.head->Find(internal_key);
  return true;
}

bool RunIterator::LandRaw() {
  if (!OpenBlock(target_block_)) {
    return false;
  }
  data_.Seek(target_);
  return data_.Valid() || (Check() && StepForward());
}

bool RunIterator::MayHavePrefix() const {
  const size_t bytes = part_.prefix_bytes;
  return bytes == 0 || bytes > bounds_.shared_bytes ||
         part_.head->MayHold(target_block_,
                             BloomHash(std::string_view(*bounds_.lower).substr(0, bytes)));
}

bool RunIterator::HasNothingWithin() {
  if (bounds_.shared_bytes == 0) {
    return false;
  }
  SetSeekTarget(*bounds_.lower, kMaxSequence, &own_target_);
  return !AimRaw(own_target_.view(), nullptr) || !MayHavePrefix();
}

bool RunIterator::SeekRawBefore(std::string_view internal_key) {
  ahead_.Seek();
  if (!internal_key.empty()) {
    extent_.Seek(internal_key);
  }
  if (internal_key.empty() || !extent_.Valid()) {
    extent_.SeekToLast();
  } else if (CompareInternalKeys(extent_.extent()->smallest, internal_key) >= 0) {
    extent_.Prev();
  } else {
    return AimRaw(internal_key, nullptr) && LandRaw() && StepBackward();
  }
  return EnterBack() && (data_.Valid() || Check());
}

void RunIterator::FindForward() {
  backward_ = false;
  while (TrailerSequence(Trailer(data_.key())) > snapshot_) {
    if (!(ExtentIsNewer() ? OpenAndGoOn(/*leaves=*/true) : StepForward())) {
      SetNone();
      return;
    }
  }
  Set(UserKey(data_.key()), Trailer(data_.key()), data_.value());
}

void RunIterator::FindBackward() {
  backward_ = true;
  SetNone();
  do {
    if (TrailerSequence(Trailer(data_.key())) <= snapshot_) {
      // A candidate; versions before it in the run are newer.
      key_.assign(UserKey(data_.key()));
      uint64_t trailer = 0;
      do {
        trailer = Trailer(data_.key());
        value_.assign(data_.value());
        backward_extent_ = extent_.extent();
      } while (StepBackward() && UserKey(data_.key()) == key_ &&
               TrailerSequence(Trailer(data_.key())) <= snapshot_);
      if (status_.ok()) {
        Set(key_, trailer, value_);
      }
      return;
    }
  } while (ExtentIsNewer() ? OpenAndGoBack(/*leaves=*/true) : StepBackward());
}

void RunIterator::SeekToFirst() {
  if (bounds_.lower != nullptr) {
    Seek(*bounds_.lower);
    return;
  }
  BeginSeek();
  ahead_.Seek();
  extent_.SeekToFirst();
  if (EnterFront()) {
    if (data_.Valid()) {
      FindForward();
    } else {
      (void)Check();
    }
  }
}

void RunIterator::SeekToLast() {
  BeginSeek();
  if (!HasNothingWithin() && SeekRawBefore(upper_.view()) && data_.Valid()) {
    FindBackward();
  }
}

void RunIterator::Aim(std::string_view target, BlockReads* reads) {
  BeginSeek();
  aimed_ = AimRaw(target, reads) && MayHavePrefix();
  if (aimed_) {
    target_key_ = ExtentReader::KeyOf(*extent_.extent(), part_.head->block(target_block_));
    reader_.PrefetchPlace(target_key_);
  }
}

bool RunIterator::Land(BlockReads* reads) {
  if (put_off_) {
    return false;
  }
  reads_ = reads;
  if (std::exchange(aimed_, false) && LandRaw()) {
    FindForward();
  }
  reads_ = nullptr;
  return reads == nullptr || !reads->TakeWanted();
}

void RunIterator::Seek(std::string_view user_key) {
  SetSeekTarget(user_key, snapshot_, &own_target_);
  Aim(own_target_.view(), nullptr);
  Land(nullptr);
}

void RunIterator::SeekForPrev(std::string_view user_key) {
  // Behind all versions of the key; trailers descend.
  std::string end(user_key);
  BeginSeek();
  end.push_back('\0');
  PutFixed64(&end, FirstTrailer(kMaxSequence));
  if (!HasNothingWithin() && SeekRawBefore(end) && data_.Valid()) {
    FindBackward();
  }
}

void RunIterator::Next() {
  if (backward_) {
    const std::string after = key_ + '\0';
    Seek(after);
    return;
  }
  if (!sliced_) [[likely]] {
    do {
      data_.Next();
    } while (data_.repeats());
    if (data_.Valid()) [[likely]] {
      FindForward();
      return;
    }
  }
  NextFar();
}

void RunIterator::NextFar() {
  SetNone();
  key_.assign(UserKey(data_.key()));  // which stands behind the last entry of a block, too
  bool moved = sliced_ ? StepForward() : OpenAndGoOn(/*leaves=*/false);
  while (moved && UserKey(data_.key()) == key_) {
    moved = StepForward();
  }
  if (moved) {
    FindForward();
  }
}

void RunIterator::Prev() {
  SetNone();
  if (!backward_) {
    key_.assign(UserKey(data_.key()));
    do {
      if (!StepBackward()) {
        return;
      }
    } while (UserKey(data_.key()) == key_);
    FindBackward();
    return;
  }
  if (!data_.Valid()) {
    return;  // nothing before the first key
  }
  // Newer versions that the snapshot does not see.
  while (UserKey(data_.key()) == key_) {
    if (!StepBackward()) {
      return;
    }
  }
  FindBackward();
}

}  // namespace sluice
