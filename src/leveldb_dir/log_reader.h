// Reading record logs.
//
// A log ends where its writer stopped, which can be anywhere: like LevelDB (without its paranoid
// checks), the reader takes a record that the end of the file cuts off, and zeros up to the end of
// the file, as never written. Unlike LevelDB, which skips what is damaged elsewhere and goes on,
// it reports that as corruption: rewriting a database must not lose records silently.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "util/status.h"

namespace sluice {

class LogReader {
 public:
  // `log` is the whole file and must outlive the reader.
  explicit LogReader(std::string_view log) : log_(log) {}

  // Reads the next record into `*record`, valid until the next call. Returns false at the end or
  // on corruption; status() tells which.
  bool Next(std::string_view* record);

  const Status& status() const { return status_; }  // messages start with "offset N: "
  // Where the record last read starts in the log.
  uint64_t record_offset() const { return record_offset_; }

 private:
  enum class Step {
    kFragment,
    kPadding,  // what is left of a block that has no room for another header
    kZeros,    // the rest of a block that was allocated but never written
    kEnd,      // of the log, or a fault in status_
  };

  // Reads the fragment at position_ and moves past it.
  Step ReadFragment(uint8_t* type, std::string_view* payload);
  Step Fail(uint64_t offset, std::string_view what);
  // Whether a whole fragment starts and ends in [begin, end): then what stands before it was not
  // cut off by the end of the file, but has a damaged length.
  bool HasFragmentWithin(uint64_t begin, uint64_t end) const;
  bool OnlyZerosFrom(uint64_t offset) const;

  const std::string_view log_;
  uint64_t position_ = 0;
  uint64_t fragment_offset_ = 0;
  uint64_t record_offset_ = 0;
  std::string joined_;  // fragments of the current record, if it has several
  Status status_;
};

}  // namespace sluice
