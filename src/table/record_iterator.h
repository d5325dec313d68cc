// What the parts of a tree, memtables and runs, look like to a reader of one state: of each user
// key the newest version that the state sees, tombstones too.

#pragma once

#include <cstdint>
#include <string_view>

#include "util/status.h"

namespace sluice {

// Thread-compatible.
class RecordIterator {
 public:
  RecordIterator() = default;
  RecordIterator(const RecordIterator&) = delete;
  RecordIterator& operator=(const RecordIterator&) = delete;
  virtual ~RecordIterator() = default;

  virtual bool Valid() const = 0;
  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  virtual void Seek(std::string_view user_key) = 0;         // the first key at or after it
  virtual void SeekForPrev(std::string_view user_key) = 0;  // the last key at or before it
  // REQUIRES of the following: Valid().
  virtual void Next() = 0;
  virtual void Prev() = 0;
  // These live until the iterator moves.
  virtual std::string_view user_key() const = 0;
  virtual std::string_view value() const = 0;
  virtual uint64_t trailer() const = 0;

  // Not ok where an error ended the walk.
  virtual Status status() const { return {}; }
  // Not ok if value() could not be read, and is empty; the walk goes on all the same. REQUIRES: that
  // was called last.
  virtual Status value_status() const { return {}; }
};

}  // namespace sluice
