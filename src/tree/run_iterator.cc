#include "tree/run_iterator.h"

#include <fmt/format.h>

#include <utility>

#include "util/epoch.h"

namespace sluice {

bool RunIterator::OpenExtent() {
  if (!extent_.Valid()) {
    data_.Reset({});  // it may be at a record that is not a slice's
    return false;
  }
  const Extent& extent = *extent_.extent();
  status_ = reader_.OpenHead(extent, &head_);
  if (!status_.ok()) {
    return false;
  }
  sliced_ = extent.sliced;
  blocks_ = LiveBlocks(extent, *head_.get());
  if (blocks_.first >= blocks_.end) {
    status_ = Status::Corruption(
        fmt::format("{}: the index has no block of the extent's", reader_.Describe(extent, 0)));
  }
  return status_.ok();
}

bool RunIterator::EnterFront() {
  if (!OpenExtent() || !OpenBlock(blocks_.first)) {
    return false;
  }
  sliced_ ? data_.Seek(extent_.extent()->smallest) : data_.SeekToFirst();
  return true;
}

bool RunIterator::EnterBack() {
  if (!OpenExtent() || !OpenBlock(blocks_.end - 1)) {
    return false;
  }
  sliced_ ? data_.Seek(extent_.extent()->largest) : data_.SeekToLast();
  return true;
}

bool RunIterator::OpenBlock(size_t block) {
  block_ = block;
  Block parsed;
  ahead_.Aim(head_.get(), block, blocks_.end);
  status_ = reader_.ReadBlock(*extent_.extent(), head_->block(block), fill_cache_, &contents_,
                              &parsed, &ahead_, reads_);
  if (!status_.ok() || contents_.get() == nullptr) {
    return false;
  }
  data_.Reset(parsed);
  return true;
}

bool RunIterator::Check() {
  if (const Status status = data_.status(); !status.ok()) {
    status_ = status.WithContext(reader_.Describe(*extent_.extent(), head_->block(block_).offset));
    return false;
  }
  return true;
}

bool RunIterator::StepForward() {
  data_.Next();
  while (!data_.Valid() || BehindSlice()) {
    if (!data_.Valid() && !Check()) {
      return false;
    }
    if (block_ + 1 < blocks_.end) {
      if (!OpenBlock(block_ + 1)) {
        return false;
      }
      data_.SeekToFirst();
    } else {
      extent_.Next();
      if (!EnterFront()) {
        return false;
      }
    }
  }
  return true;
}

bool RunIterator::StepBackward() {
  data_.Prev();
  while (!data_.Valid() || BeforeSlice()) {
    if (!data_.Valid() && !Check()) {
      return false;
    }
    if (block_ > blocks_.first) {
      if (!OpenBlock(block_ - 1)) {
        return false;
      }
      data_.SeekToLast();
    } else {
      extent_.Prev();
      if (!EnterBack()) {
        return false;
      }
    }
  }
  return true;
}

bool RunIterator::AimRaw(std::string_view internal_key) {
  ahead_.Seek();
  extent_.Seek(internal_key);
  if (!OpenExtent()) {
    return false;
  }
  if (sliced_ && CompareInternalKeys(internal_key, extent_.extent()->smallest) < 0) {
    internal_key = extent_.extent()->smallest;
  }
  target_ = internal_key;
  target_block_ = head_->Find(internal_key);
  if (target_block_ >= blocks_.end) {
    status_ = Status::Corruption(fmt::format("{}: the index ends before the extent's last key",
                                             reader_.Describe(*extent_.extent(), 0)));
    return false;
  }
  return true;
}

bool RunIterator::LandRaw() {
  if (!OpenBlock(target_block_)) {
    return false;
  }
  data_.Seek(target_);
  return data_.Valid() || (Check() && StepForward());
}

bool RunIterator::SeekRawLast() {
  ahead_.Seek();
  extent_.SeekToLast();
  return EnterBack() && (data_.Valid() || Check());
}

void RunIterator::FindForward() {
  backward_ = false;
  while (TrailerSequence(Trailer(data_.key())) > snapshot_) {
    if (!StepForward()) {
      return;
    }
  }
  valid_ = true;
}

void RunIterator::FindBackward() {
  backward_ = true;
  do {
    if (TrailerSequence(Trailer(data_.key())) <= snapshot_) {
      // A candidate; versions before it in the run are newer.
      key_.assign(UserKey(data_.key()));
      do {
        trailer_ = Trailer(data_.key());
        value_.assign(data_.value());
        valid_ = true;
      } while (StepBackward() && UserKey(data_.key()) == key_ &&
               TrailerSequence(Trailer(data_.key())) <= snapshot_);
      valid_ = status_.ok();
      return;
    }
  } while (StepBackward());
}

void RunIterator::SeekToFirst() {
  valid_ = false;
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
  valid_ = false;
  if (SeekRawLast() && data_.Valid()) {
    FindBackward();
  }
}

void RunIterator::Aim(std::string_view user_key) {
  valid_ = false;
  key_.assign(user_key);
  PutFixed64(&key_, MakeTrailer(snapshot_, RecordType{0xff}));
  aimed_ = AimRaw(key_);
  if (aimed_) {
    reader_.PrefetchPlace(*extent_.extent(), head_->block(target_block_));
  }
}

bool RunIterator::Land(BlockReads* reads) {
  reads_ = reads;
  if (std::exchange(aimed_, false) && LandRaw()) {
    FindForward();
  }
  reads_ = nullptr;
  return reads == nullptr || !reads->TakeWanted();
}

void RunIterator::Seek(std::string_view user_key) {
  Aim(user_key);
  Land(nullptr);
}

void RunIterator::SeekForPrev(std::string_view user_key) {
  valid_ = false;
  // Behind all versions of the key; trailers descend.
  std::string end(user_key);
  end.push_back('\0');
  PutFixed64(&end, MakeTrailer(kMaxSequence, RecordType{0xff}));
  if (AimRaw(end) && LandRaw()) {
    if (StepBackward()) {
      FindBackward();
    }
  } else if (status_.ok() && SeekRawLast() && data_.Valid()) {
    FindBackward();
  }
}

void RunIterator::Next() {
  if (backward_) {
    const std::string after = key_ + '\0';
    Seek(after);
    return;
  }
  valid_ = false;
  key_.assign(UserKey(data_.key()));
  do {
    if (!StepForward()) {
      return;
    }
  } while (UserKey(data_.key()) == key_);
  FindForward();
}

void RunIterator::Prev() {
  if (!backward_) {
    valid_ = false;
    key_.assign(UserKey(data_.key()));
    do {
      if (!StepBackward()) {
        return;
      }
    } while (UserKey(data_.key()) == key_);
    FindBackward();
    return;
  }
  valid_ = false;
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
