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

 private:
  // Past keys that have no version yet that the snapshot sees.
  void FindForward() {
    SetNone();
    while (at_.Valid() && !LookAt()) {
      at_.Next();
    }
  }
  void FindBackward() {
    SetNone();
    while (at_.Valid() && !LookAt()) {
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
};

}  // namespace sluice
