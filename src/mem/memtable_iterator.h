// A memtable as a reader of one state sees it.

#pragma once

#include <string>
#include <string_view>

#include "mem/memtable.h"
#include "table/record_iterator.h"

namespace sluice {

class MemtableIterator final : public RecordIterator {
 public:
  // The memtable outlives it. Of keys below `lower`, and from `upper` on (null: no bound), it shows
  // none or some: it looks for nothing there.
  MemtableIterator(const Memtable* memtable, SequenceNumber snapshot,
                   const std::string* lower = nullptr, const std::string* upper = nullptr)
      : at_(memtable), snapshot_(snapshot), lower_(lower), upper_(upper) {}

  void SeekToFirst() override {
    at_.SeekToFirst();
    FindForward();
  }
  void SeekToLast() override {
    if (upper_ != nullptr) {
      at_.Seek(*upper_);
    }
    if (upper_ != nullptr && at_.Valid()) {
      at_.Prev();
    } else {
      at_.SeekToLast();
    }
    FindBackward();
  }
  void Seek(std::string_view user_key) override {
    at_.Seek(user_key);
    FindForward();
  }
  void SeekForPrev(std::string_view user_key) override {
    at_.SeekForPrev(user_key);
    FindBackward();
  }
  void Next() override {
    at_.Next();
    FindForward();
  }
  void Prev() override {
    at_.Prev();
    FindBackward();
  }

 private:
  // Past keys that have no version yet that the snapshot sees.
  void FindForward() {
    SetNone();
    while (at_.Valid() && !LookAt() && (upper_ == nullptr || at_.user_key() < *upper_)) {
      at_.Next();
    }
  }
  void FindBackward() {
    SetNone();
    while (at_.Valid() && !LookAt() && (lower_ == nullptr || at_.user_key() >= *lower_)) {
      at_.Prev();
    }
  }
  bool LookAt() {
    const Memtable::Version* const version = at_.VersionAt(snapshot_);
    if (version == nullptr) {
      return false;
    }
    Set(at_.user_key(), version->trailer(), version->value());
    return true;
  }

  Memtable::Iterator at_;
  const SequenceNumber snapshot_;
  const std::string* const lower_;
  const std::string* const upper_;
};

}  // namespace sluice
