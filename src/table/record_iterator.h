// What the parts of a tree, memtables and runs, look like to a reader of one state: of each user
// key the newest version that the state sees, tombstones too.

#pragma once

#include <cstdint>
#include <string_view>

#include "table/internal_key.h"
#include "util/status.h"

namespace sluice {

// Keeps the record that it is at at hand, so that looking at it costs no call.
//
// Thread-compatible.
class RecordIterator {
 public:
  RecordIterator() = default;
  RecordIterator(const RecordIterator&) = delete;
  RecordIterator& operator=(const RecordIterator&) = delete;
  virtual ~RecordIterator() = default;

  bool Valid() const { return valid_; }
  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  virtual void Seek(std::string_view user_key) = 0;         // the first key at or after it
  virtual void SeekForPrev(std::string_view user_key) = 0;  // the last key at or before it
  // REQUIRES of the following: Valid().
  virtual void Next() = 0;
  virtual void Prev() = 0;
  // These live until the iterator moves.
  std::string_view user_key() const { return user_key_; }
  uint64_t trailer() const { return trailer_; }
  // Read only when it is asked for, if it is stored apart.
  std::string_view value() const {
    return IsValueReference(trailer_) ? ValueApart() : stored_value_;
  }
  // The value, or where it is.
  std::string_view stored_value() const { return stored_value_; }

  // Not ok where an error ended the walk.
  virtual Status status() const { return {}; }
  // Not ok if value() could not be read, and is empty; the walk goes on all the same. REQUIRES: that
  // was called last.
  virtual Status value_status() const { return {}; }

 protected:
  // For who moved: it is at no record, or at this one, whose bytes live until it moves again.
  void SetNone() { valid_ = false; }
  void Set(std::string_view user_key, uint64_t trailer, std::string_view stored_value) {
    valid_ = true;
    user_key_ = user_key;
    trailer_ = trailer;
    stored_value_ = stored_value;
  }
  // REQUIRES: the record has a reference for a value.
  virtual std::string_view ValueApart() const { return stored_value_; }

 private:
  bool valid_ = false;
  uint64_t trailer_ = 0;
  std::string_view user_key_{};
  std::string_view stored_value_{};
};

}  // namespace sluice
