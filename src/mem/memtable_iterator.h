// A memtable as a reader of one state sees it.

#pragma once

#include "mem/memtable.h"
#include "table/record_iterator.h"

namespace sluice {

class MemtableIterator final : public RecordIterator {
 public:
  // The memtable outlives it.
  MemtableIterator(const Memtable* memtable, SequenceNumber snapshot)
      : at_(memtable), snapshot_(snapshot) {}

  bool Valid() const override { return at_.Valid(); }
  void SeekToFirst() override {
    at_.SeekToFirst();
    FindForward();
  }
  void SeekToLast() override {
    at_.SeekToLast();
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
  std::string_view user_key() const override { return at_.user_key(); }
  std::string_view value() const override { return version_->value(); }
  uint64_t trailer() const override { return version_->trailer(); }

 private:
  // Past keys that have no version yet that the snapshot sees.
  void FindForward() {
    while (at_.Valid() && (version_ = at_.VersionAt(snapshot_)) == nullptr) {
      at_.Next();
    }
  }
  void FindBackward() {
    while (at_.Valid() && (version_ = at_.VersionAt(snapshot_)) == nullptr) {
      at_.Prev();
    }
  }

  Memtable::Iterator at_;
  const SequenceNumber snapshot_;
  const Memtable::Version* version_ = nullptr;
};

}  // namespace sluice
