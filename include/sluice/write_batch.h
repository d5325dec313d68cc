/// @file
/// Writes, possibly to several sub-tables, that take effect together or not at all.
///
/// Thread-compatible.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sluice/export.h"

namespace sluice {

class Subtable;

/// Writes to be done together, in the order in which they were added.
class SLUICE_EXPORT WriteBatch {
 public:
  /// Adds a put. `subtable` belongs to the database that the batch is written to; null means the
  /// default one. Cost: a copy of key and value.
  void Put(const Subtable* subtable, std::string_view key, std::string_view value);
  /// Adds a put to the default sub-table.
  void Put(std::string_view key, std::string_view value) { Put(nullptr, key, value); }
  /// Adds a deletion; deleting an absent key is no error.
  void Delete(const Subtable* subtable, std::string_view key);
  /// Adds a deletion from the default sub-table.
  void Delete(std::string_view key) { Delete(nullptr, key); }
  /// Adds the deletion of all keys from `begin` to before `end`, those among them that the batch
  /// puts before; an empty `end` means no bound. Adds nothing if the range is empty.
  void DeleteRange(const Subtable* subtable, std::string_view begin, std::string_view end);
  /// Adds a deletion of a range from the default sub-table.
  void DeleteRange(std::string_view begin, std::string_view end) {
    DeleteRange(nullptr, begin, end);
  }

  /// Removes all writes.
  void Clear();
  /// How many writes it holds.
  uint32_t count() const { return count_; }
  /// What they take of the log, and about what they take of memory.
  size_t bytes() const { return rep_.size(); }
  /// The writes, in the format of the redo log (docs/formats.md).
  std::string_view rep() const { return rep_; }
  /// Takes the writes out in that format, and leaves the batch empty. Cost: O(1).
  std::string TakeRep();

 private:
  std::string rep_;
  uint32_t count_ = 0;
};

}  // namespace sluice
