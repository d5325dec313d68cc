/// @file
/// Walks the keys of a sub-table in both directions, as they were when the iterator was created.
///
/// Thread-compatible. An iterator pins what it reads: the memory and the disk space of extents and
/// memtables that are replaced in the meantime are freed only when it is destroyed. Destroy it
/// before its database is closed.

#pragma once

#include <string_view>

#include "sluice/export.h"
#include "sluice/status.h"

namespace sluice {

/// A position among the keys of a sub-table: on a record, or on none.
class SLUICE_EXPORT Iterator {
 public:
  Iterator() = default;
  Iterator(const Iterator&) = delete;
  Iterator& operator=(const Iterator&) = delete;
  virtual ~Iterator() = default;

  /// Whether it is on a record.
  virtual bool Valid() const = 0;
  virtual void SeekToFirst() = 0;                      ///< to the first key
  virtual void SeekToLast() = 0;                       ///< to the last key
  virtual void Seek(std::string_view key) = 0;         ///< to the first key at or after it
  virtual void SeekForPrev(std::string_view key) = 0;  ///< to the last key at or before it
  virtual void Next() = 0;                             ///< to the next key. REQUIRES: Valid()
  virtual void Prev() = 0;                             ///< to the previous key. REQUIRES: Valid()
  /// The record's key, valid until the iterator moves. REQUIRES: Valid()
  virtual std::string_view key() const = 0;
  /// The record's value, valid until the iterator moves. A value that is stored apart is read here:
  /// if that fails, an empty one is returned, and status() has the error from then on; the iterator
  /// can move on all the same. REQUIRES: Valid()
  virtual std::string_view value() const = 0;

  /// Not ok if an error stopped the iterator, until the next seek, or if a value could not be read;
  /// reaching the end of the keys is no error.
  virtual Status status() const = 0;
};

}  // namespace sluice
