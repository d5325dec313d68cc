// A memtable or run without the records that range deletions cover.

#pragma once

#include <memory>
#include <string>
#include <utility>

#include "mem/range_deletions.h"
#include "table/record_iterator.h"

namespace sluice {

// Passes with one seek over a stretch of keys where all that there is is older than the deletion
// that covers it; elsewhere over record after record.
class UncoveredIterator final : public RecordIterator {
 public:
  // `newest`: where a deletion above this covers one record of `of`, all of its records that the
  // deletion covers are older. For a run that is 0 (Version::cuts).
  UncoveredIterator(std::unique_ptr<RecordIterator> of,
                    std::shared_ptr<const RangeDeletions> deletions, SequenceNumber snapshot,
                    SequenceNumber newest)
      : at_(std::move(of)),
        deletions_(std::move(deletions)),
        snapshot_(snapshot),
        newest_(newest) {}

  void SeekToFirst() override {
    at_->SeekToFirst();
    FindForward();
  }
  void SeekToLast() override {
    at_->SeekToLast();
    FindBackward();
  }
  void Seek(std::string_view user_key) override {
    at_->Seek(user_key);
    FindForward();
  }
  void SeekForPrev(std::string_view user_key) override {
    at_->SeekForPrev(user_key);
    FindBackward();
  }
  void Next() override {
    at_->Next();
    FindForward();
  }
  void Prev() override {
    at_->Prev();
    FindBackward();
  }
  Status status() const override { return at_->status(); }
  Status value_status() const override { return at_->value_status(); }

 private:
  // REQUIRES: at_ is valid. Most records lie in the same stretch as the one before.
  bool IsCovered() {
    if (!has_span_ || !span_.Contains(at_->user_key())) {
      span_ = deletions_->At(at_->user_key(), snapshot_);
      has_span_ = true;
    }
    return TrailerSequence(at_->trailer()) < span_.sequence;
  }
  void FindForward() {
    while (at_->Valid() && IsCovered()) {
      if (span_.sequence <= newest_) {
        at_->Next();
      } else if (span_.has_end) {
        at_->Seek(span_.end);
      } else {
        SetNone();  // all that follows is covered
        return;
      }
    }
    ShowRecord();
  }
  void FindBackward() {
    while (at_->Valid() && IsCovered()) {
      if (span_.sequence > newest_ && at_->user_key() > span_.begin) {
        at_->SeekForPrev(span_.begin);
        continue;  // at a key before the stretch, or at its first one
      }
      at_->Prev();
    }
    ShowRecord();
  }
  std::string_view ValueApart() const override { return at_->value(); }
  void ShowRecord() {
    if (at_->Valid()) {
      Set(at_->user_key(), at_->trailer(), at_->stored_value());
    } else {
      SetNone();
    }
  }

  const std::unique_ptr<RecordIterator> at_;
  const std::shared_ptr<const RangeDeletions> deletions_;
  const SequenceNumber snapshot_;
  const SequenceNumber newest_;
  RangeDeletions::Span span_;
  bool has_span_ = false;
};

}  // namespace sluice
