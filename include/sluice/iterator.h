// Walks the keys of a sub-table both ways, as they were when it was made.
//
// Thread-compatible. Holds what it reads in place: memory and disk space of extents and memtables
// that are replaced meanwhile are given back only when it is destroyed. Must be destroyed before
// its database is closed.

#pragma once

#include <string_view>

#include "sluice/status.h"

namespace sluice {

class Iterator {
 public:
  Iterator() = default;
  Iterator(const Iterator&) = delete;
  Iterator& operator=(const Iterator&) = delete;
  virtual ~Iterator() = default;

  virtual bool Valid() const = 0;
  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  virtual void Seek(std::string_view key) = 0;         // to the first key at or after it
  virtual void SeekForPrev(std::string_view key) = 0;  // to the last key at or before it
  // REQUIRES of the following: Valid().
  virtual void Next() = 0;
  virtual void Prev() = 0;
  // Both live until the iterator moves.
  virtual std::string_view key() const = 0;
  virtual std::string_view value() const = 0;

  // Not ok if the iterator stopped because of an error; an end of the keys is none.
  virtual Status status() const = 0;
};

}  // namespace sluice
