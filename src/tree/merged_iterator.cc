#include "tree/merged_iterator.h"

#include <utility>

#include "table/internal_key.h"
#include "tree/block_reads.h"

namespace sluice {

namespace {

bool IsTombstone(const RecordIterator& at) {
  return TrailerType(at.trailer()) == static_cast<uint8_t>(RecordType::kDeletion);
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

bool MergedIterator::CheckParts() {
  for (const Part& part : parts_) {
    if (!part.valid) {
      if (status_ = part.at->status(); !status_.ok()) {
        current_ = nullptr;
        return false;
      }
    }
  }
  return true;
}

bool MergedIterator::StepForward() {
  if (runner_up_ == nullptr || runner_up_->key != current_->key) [[likely]] {
    current_->at->Next();
    current_->Update();
    return current_->valid && (runner_up_ == nullptr || current_->key < runner_up_->key);
  }
  // current_'s own key goes last: the others are compared with it.
  for (Part& part : parts_) {
    if (&part != current_ && part.valid && part.key == current_->key) {
      part.at->Next();
      part.Update();
    }
  }
  current_->at->Next();
  current_->Update();
  return false;
}

void MergedIterator::StepBackward() {
  for (Part& part : parts_) {
    if (&part != current_ && part.valid && part.key == current_->key) {
      part.at->Prev();
      part.Update();
    }
  }
  current_->at->Prev();
  current_->Update();
}

void MergedIterator::FindForward() {
  forward_ = true;
  for (bool still_in_front = false;; still_in_front = StepForward()) {
    if (!still_in_front) {
      current_ = nullptr;
      runner_up_ = nullptr;
      for (Part& part : parts_) {
        if (!part.valid) {
          continue;
        }
        const int order = current_ == nullptr ? -1 : part.key.compare(current_->key);
        if (order < 0 || (order == 0 && part.at->trailer() > current_->at->trailer())) {
          runner_up_ = current_;
          current_ = &part;
        } else if (runner_up_ == nullptr || part.key < runner_up_->key) {
          runner_up_ = &part;
        }
      }
      if (!CheckParts() || current_ == nullptr) {
        return;
      }
    }
    if (upper_ != nullptr && current_->key >= *upper_) {
      current_ = nullptr;
      return;
    }
    if (!IsTombstone(*current_->at)) {
      return;
    }
  }
}

void MergedIterator::FindBackward() {
  forward_ = false;
  for (;;) {
    current_ = nullptr;
    for (Part& part : parts_) {
      if (!part.valid) {
        continue;
      }
      const int order = current_ == nullptr ? 1 : part.key.compare(current_->key);
      if (order > 0 || (order == 0 && part.at->trailer() > current_->at->trailer())) {
        current_ = &part;
      }
    }
    if (!CheckParts() || current_ == nullptr) {
      return;
    }
    if (lower_ != nullptr && current_->key < *lower_) {
      current_ = nullptr;
      return;
    }
    if (!IsTombstone(*current_->at)) {
      return;
    }
    StepBackward();
  }
}

void MergedIterator::SeekToFirst() {
  if (lower_ != nullptr) {
    Seek(*lower_);
    return;
  }
  for (Part& part : parts_) {
    part.at->SeekToFirst();
    part.Update();
  }
  FindForward();
}

void MergedIterator::SeekToLast() {
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
    part.Update();
  }
  FindBackward();
}

void MergedIterator::Seek(std::string_view key) {
  if (lower_ != nullptr && key < *lower_) {
    key = *lower_;
  }
  SeekParts(key);
  FindForward();
}

void MergedIterator::SeekParts(std::string_view key) {
  BlockReads some;
  BlockReads* const reads = several_runs_ ? &some : nullptr;
  for (const Part& part : parts_) {
    if (part.run != nullptr) {
      part.run->Aim(key, reads);
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
    part.Update();
  };
  for (Part& part : parts_) {
    if (part.run != nullptr) {
      land(part);
    } else {
      part.at->Seek(key);
      part.Update();
    }
  }
  while (std::exchange(waiting, false)) {
    some.Read();
    for (Part& part : parts_) {
      if (part.waits) {
        part.run->Aim(key, reads);
        land(part);
      }
    }
  }
}

void MergedIterator::SeekForPrev(std::string_view key) {
  if (upper_ != nullptr && key >= *upper_) {
    SeekToLast();
    return;
  }
  for (Part& part : parts_) {
    part.at->SeekForPrev(key);
    part.Update();
  }
  FindBackward();
}

void MergedIterator::Next() {
  if (!forward_) {
    // The others stand before the current key.
    turn_.assign(current_->key);
    for (Part& part : parts_) {
      part.at->Seek(turn_);
      part.Update();
      if (part.valid && part.key == turn_) {
        part.at->Next();
        part.Update();
      }
    }
  } else if (StepForward() && (upper_ == nullptr || current_->key < *upper_) &&
             !IsTombstone(*current_->at)) {
    return;
  }
  FindForward();
}

void MergedIterator::Prev() {
  if (forward_) {
    turn_.assign(current_->key);
    for (Part& part : parts_) {
      part.at->SeekForPrev(turn_);
      part.Update();
      if (part.valid && part.key == turn_) {
        part.at->Prev();
        part.Update();
      }
    }
  } else {
    StepBackward();
  }
  FindBackward();
}

}  // namespace sluice
