#include "tree/merged_iterator.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "table/internal_key.h"
#include "tree/block_reads.h"
#include "util/epoch.h"

namespace sluice {

namespace {

// Dead keys between two looks at whether another iterator has noted that more of them follow.
constexpr uint64_t kLookEvery = 8;

// The word of a part that has ended. A key may have it, too.
constexpr uint64_t kNoWord = ~uint64_t{0};

// The first bytes of a key as a number: of two keys, the one with the lesser number comes first.
uint64_t KeyWord(std::string_view key) {
  uint64_t word = 0;
  if (key.size() >= sizeof(word)) [[likely]] {
    word = DecodeFixed64(key.data());
  } else {
    std::memcpy(&word, key.data(), key.size());
  }
  return __builtin_bswap64(word);
}

}  // namespace

std::string_view MergedIterator::value() const {
  const std::string_view value = current_->at->value();
  if (IsValueReference(current_->at->trailer())) [[unlikely]] {
    if (Status status = current_->at->value_status(); !status.ok() && value_status_.ok()) {
      value_status_ = std::move(status);
    }
  }
  return value;
}

inline bool MergedIterator::HasEnded(Part* part, bool* ok) {
  if (part->at->Valid()) {
    return false;
  }
  if (!part->ended) {
    status_ = part->at->status();
    *ok = part->ended = status_.ok();
  }
  return true;
}

inline void MergedIterator::NoteMove(Part* part) {
  if (part->at->Valid()) [[likely]] {
    part->word = KeyWord(part->at->user_key());
    return;
  }
  part->word = kNoWord;
  bool ok = true;
  if (!failed_ && HasEnded(part, &ok)) {
    failed_ = !ok;
  }
}

void MergedIterator::NoteMoves() {
  failed_ = false;
  for (Part& part : parts_) {
    NoteMove(&part);
  }
}

bool MergedIterator::StepForward() {
  if (!same_key_) [[likely]] {
    current_->Next();
    NoteMove(current_);
    return current_->word < next_word_ ||
           (current_->word == next_word_ && runner_up_ != nullptr && current_->at->Valid() &&
            CompareUserKeys(current_->at->user_key(), runner_up_->at->user_key()) < 0);
  }
  // current_'s own key goes last: the others are compared with it.
  for (Part& part : parts_) {
    if (part.word == current_->word && &part != current_ && part.at->Valid() &&
        part.at->user_key() == current_->at->user_key()) {
      part.Next();
      NoteMove(&part);
    }
  }
  current_->Next();
  NoteMove(current_);
  return false;
}

void MergedIterator::StepBackward() {
  for (Part& part : parts_) {
    if (&part != current_ && part.at->Valid() && part.at->user_key() == current_->at->user_key()) {
      part.at->Prev();
    }
  }
  current_->at->Prev();
}

bool MergedIterator::FindFront() {
  uint64_t least = kNoWord;
  uint64_t next = kNoWord;
  Part* front = nullptr;
  // Without branches: which part is in front cannot be predicted.
  for (Part& part : parts_) {
    const bool less = part.word < least;
    next = less ? least : std::min(next, part.word);
    least = less ? part.word : least;
    front = less ? &part : front;
  }
  next_word_ = next;
  if (least < next) [[likely]] {
    current_ = front;
    runner_up_ = nullptr;
    same_key_ = false;
  } else {
    FindFrontOf(least);
  }
  if (failed_ || (current_ != nullptr && !BelowUpper())) {
    current_ = nullptr;
  }
  return current_ != nullptr;
}

void MergedIterator::FindFrontOf(uint64_t word) {
  Part* first = nullptr;
  Part* second = nullptr;
  bool same = false;
  for (Part& part : parts_) {
    if (part.word != word || !part.at->Valid()) {
      continue;
    }
    const int order =
        first == nullptr ? -1 : CompareUserKeys(part.at->user_key(), first->at->user_key());
    if (order < 0 || (order == 0 && part.at->trailer() > first->at->trailer())) {
      same = order == 0;
      second = std::exchange(first, &part);
    } else if (order == 0) {
      same = true;
      second = &part;
    } else if (second == nullptr ||
               CompareUserKeys(part.at->user_key(), second->at->user_key()) < 0) {
      second = &part;
    }
  }
  current_ = first;
  runner_up_ = second;
  same_key_ = same;
}

bool MergedIterator::FindBack() {
  Part* last = nullptr;
  bool ok = true;
  for (Part& part : parts_) {
    if (HasEnded(&part, &ok)) {
      if (!ok) {
        current_ = nullptr;
        return false;
      }
      continue;
    }
    const int order =
        last == nullptr ? 1 : CompareUserKeys(part.at->user_key(), last->at->user_key());
    if (order > 0 || (order == 0 && part.at->trailer() > last->at->trailer())) {
      last = &part;
    }
  }
  current_ = last;
  if (current_ != nullptr && lower_ != nullptr &&
      CompareUserKeys(current_->at->user_key(), *lower_) < 0) {
    current_ = nullptr;
  }
  return current_ != nullptr;
}

void MergedIterator::FindForward() {
  forward_ = true;
  if (FindFront() && IsTombstone(current_->at->trailer())) {
    PassDeadForward();
  }
}

void MergedIterator::FindBackward() {
  forward_ = false;
  if (FindBack() && IsTombstone(current_->at->trailer())) {
    PassDeadBackward();
  }
}

bool MergedIterator::FindEndOfDead(std::string_view key, KeyBuffer* end) const {
  if (dead_.stretches == nullptr) {
    return false;
  }
  const EpochGuard guard;
  const DeadStretches::Stretch* const stretch = dead_.stretches->Find(key, snapshot_);
  if (stretch != nullptr) {
    end->Assign(stretch->end);
  }
  return stretch != nullptr;
}

bool MergedIterator::FindBeginOfDead(std::string_view key, KeyBuffer* begin) const {
  if (dead_.stretches == nullptr) {
    return false;
  }
  const EpochGuard guard;
  const DeadStretches::Stretch* const stretch = dead_.stretches->Find(key, snapshot_);
  if (stretch != nullptr) {
    begin->Assign(stretch->begin);
  }
  return stretch != nullptr && begin->view() < key;
}

void MergedIterator::PassDeadForward() {
  KeyBuffer begin;
  begin.Assign(key());
  uint64_t keys = 0;
  for (bool is_dead = true; is_dead; ++keys) {
    KeyBuffer end;
    if (keys % kLookEvery == 0 && FindEndOfDead(key(), &end)) {
      if (end.size() == 0 || (upper_ != nullptr && end.view() >= *upper_)) {
        current_ = nullptr;
      } else {
        SeekParts(end.view());
        (void)FindFront();
      }
    } else if (!StepForward()) {
      (void)FindFront();
    } else if (!BelowUpper()) {
      current_ = nullptr;
    }
    is_dead = current_ != nullptr && IsTombstone(current_->at->trailer());
  }
  if (keys >= DeadStretches::kLeastKeys && dead_.stretches != nullptr && status_.ok()) {
    const std::string_view end = current_ != nullptr ? key()
                                 : upper_ != nullptr ? std::string_view(*upper_)
                                                     : std::string_view();
    dead_.stretches->Note(begin.view(), end, keys, snapshot_, *dead_.given);
  }
}

void MergedIterator::PassDeadBackward() {
  constexpr std::string_view kBehind("\0", 1);
  KeyBuffer end;
  end.Assign(key());
  end.Append(kBehind);
  uint64_t keys = 0;
  for (bool is_dead = true; is_dead; ++keys) {
    KeyBuffer begin;
    if (keys % kLookEvery == 0 && FindBeginOfDead(key(), &begin)) {
      for (Part& part : parts_) {
        part.at->SeekForPrev(begin.view());
        part.ended = false;
      }
    } else {
      StepBackward();
    }
    is_dead = FindBack() && IsTombstone(current_->at->trailer());
  }
  if (keys >= DeadStretches::kLeastKeys && dead_.stretches != nullptr && status_.ok()) {
    KeyBuffer begin;
    if (current_ != nullptr) {
      begin.Assign(key());
      begin.Append(kBehind);
    } else if (lower_ != nullptr) {
      begin.Assign(*lower_);
    }
    dead_.stretches->Note(begin.view(), end.view(), keys, snapshot_, *dead_.given);
  }
}

void MergedIterator::SeekToFirst() {
  if (lower_ != nullptr) {
    Seek(*lower_);
    return;
  }
  BeginSeek();
  for (Part& part : parts_) {
    part.at->SeekToFirst();
    part.ended = false;
  }
  NoteMoves();
  FindForward();
}

void MergedIterator::SeekToLast() {
  BeginSeek();
  for (Part& part : parts_) {
    if (upper_ != nullptr) {
      // The last key below the bound: from the first at or above it, or from the end.
      part.at->Seek(*upper_);
      if (part.at->Valid()) {
        part.at->Prev();
      } else if (part.at->status().ok()) {
        part.at->SeekToLast();
      }
    } else {
      part.at->SeekToLast();
    }
    part.ended = false;
  }
  FindBackward();
}

void MergedIterator::Seek(std::string_view key) {
  BeginSeek();
  if (lower_ != nullptr && key < *lower_) {
    key = *lower_;
  }
  if (upper_ != nullptr && key >= *upper_) {
    forward_ = true;
    current_ = nullptr;
    return;
  }
  KeyBuffer end;
  if (FindEndOfDead(key, &end)) {
    key = end.view();
    if (end.size() == 0) {
      forward_ = true;
      current_ = nullptr;
      return;
    }
  }
  SeekParts(key);
  FindForward();
}

void MergedIterator::SeekParts(std::string_view key) {
  SetSeekTarget(key, snapshot_, &target_);
  const std::string_view target = target_.view();
  key = UserKey(target);  // it may have been one of the parts' own
  BlockReads some;
  BlockReads* const reads = several_runs_ ? &some : nullptr;
  for (const Part& part : parts_) {
    if (part.run != nullptr) {
      part.run->Aim(target, reads);
    }
  }
  for (const Part& part : parts_) {
    if (part.run != nullptr) {
      part.run->Fetch();
    }
  }
  bool waiting = false;
  const auto land = [&](Part& part) {
    part.waits = !part.run->Land(reads);
    waiting = waiting || part.waits;
  };
  for (Part& part : parts_) {
    part.ended = false;
    if (part.run != nullptr) {
      land(part);
    } else {
      part.at->Seek(key);
    }
  }
  while (std::exchange(waiting, false)) {
    some.Read();
    for (Part& part : parts_) {
      if (part.waits) {
        part.run->Aim(target, reads);
        land(part);
      }
    }
  }
  NoteMoves();
}

void MergedIterator::SeekForPrev(std::string_view key) {
  BeginSeek();
  if (upper_ != nullptr && key >= *upper_) {
    SeekToLast();
    return;
  }
  if (lower_ != nullptr && key < *lower_) {
    forward_ = false;
    current_ = nullptr;
    return;
  }
  turn_.assign(key);  // it may be one of the parts' own
  for (Part& part : parts_) {
    part.at->SeekForPrev(turn_);
    part.ended = false;
  }
  FindBackward();
}

void MergedIterator::Next() {
  if (!forward_) {
    // The others stand before the current key.
    turn_.assign(current_->at->user_key());
    for (Part& part : parts_) {
      part.at->Seek(turn_);
      part.ended = false;
      if (part.at->Valid() && part.at->user_key() == turn_) {
        part.at->Next();
      }
    }
    NoteMoves();
  } else if (StepForward()) {
    if (!BelowUpper()) {
      current_ = nullptr;
    } else if (IsTombstone(current_->at->trailer())) {
      PassDeadForward();
    }
    return;
  }
  FindForward();
}

void MergedIterator::Prev() {
  if (forward_) {
    turn_.assign(current_->at->user_key());
    for (Part& part : parts_) {
      part.at->SeekForPrev(turn_);
      part.ended = false;
      if (part.at->Valid() && part.at->user_key() == turn_) {
        part.at->Prev();
      }
    }
  } else {
    StepBackward();
  }
  FindBackward();
}

}  // namespace sluice
