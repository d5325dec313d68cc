// A memtable or run of which the records that range deletions cover are tombstones.

#pragma once

#include <memory>
#include <string>
#include <utility>

#include "mem/range_deletions.h"
#include "table/record_iterator.h"

namespace sluice {

// Shows one tombstone for a stretch of keys where all that there is is older than the deletion that
// covers it, and passes over the rest with one seek; elsewhere one for each record. So whoever merges
// it learns that keys are dead there, and can note it (DeadStretches).
class CoveredIterator final : public RecordIterator {
 public:
  // `newest`: where a deletion above this covers one record of `of`, all of its records that the
  // deletion covers are older. For a run that is 0 (Version::cuts).
  CoveredIterator(std::unique_ptr<RecordIterator> of,
                  std::shared_ptr<const RangeDeletions> deletions, SequenceNumber snapshot,
                  SequenceNumber newest)
      : at_(std::move(of)),
        deletions_(std::move(deletions)),
        snapshot_(snapshot),
        newest_(newest) {}

  void SeekToFirst() override {
    at_->SeekToFirst();
    Show();
  }
  void SeekToLast() override {
    at_->SeekToLast();
    Show();
  }
  void Seek(std::string_view user_key) override {
    at_->Seek(user_key);
    Show();
  }
  void SeekForPrev(std::string_view user_key) override {
    at_->SeekForPrev(user_key);
    Show();
  }
  void Next() override {
    if (!is_covered_ || span_.sequence <= newest_) {
      at_->Next();
    } else if (span_.has_end) {
      at_->Seek(span_.end);
    } else {
      SetNone();  // all that follows is covered
      return;
    }
    Show();
  }
  void Prev() override {
    if (is_covered_ && span_.sequence > newest_ && at_->user_key() > span_.begin) {
      at_->SeekForPrev(span_.begin);  // to a key before the stretch, or to its first one
    } else {
      at_->Prev();
    }
    Show();
  }
  Status status() const override { return at_->status(); }
  Status value_status() const override { return at_->value_status(); }

 private:
  std::string_view ValueApart() const override { return at_->value(); }
  void Show() {
    if (!at_->Valid()) {
      SetNone();
      return;
    }
    // Most records lie in the same stretch as the one before.
    if (!has_span_ || !span_.Contains(at_->user_key())) {
      span_ = deletions_->At(at_->user_key(), snapshot_);
      has_span_ = true;
    }
    const SequenceNumber sequence = TrailerSequence(at_->trailer());
    is_covered_ = sequence < span_.sequence;
    if (is_covered_) {
      Set(at_->user_key(), MakeTrailer(sequence, RecordType::kDeletion), {});
    } else {
      Set(at_->user_key(), at_->trailer(), at_->stored_value());
    }
  }

  const std::unique_ptr<RecordIterator> at_;
  const std::shared_ptr<const RangeDeletions> deletions_;
  const SequenceNumber snapshot_;
  const SequenceNumber newest_;
  RangeDeletions::Span span_;
  bool has_span_ = false;
  bool is_covered_ = false;  // the record that it is at
};

}  // namespace sluice
