// Reads a redo log back after a restart, through windows: it takes the memory of the largest record
// and little more.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "log/log_format.h"
#include "sluice/env.h"
#include "util/status.h"

namespace sluice {

struct LogContents {
  struct Segment {
    uint64_t number;
    uint64_t bytes;  // of its file that the log has
  };

  std::vector<uint64_t> segments;  // all whose files there are, ascending
  std::vector<Segment> live;       // of them, those that hold the log
  LogPosition begin = 0;           // where reading began
  LogPosition end = 0;             // after the last record
  // Everything before it is on disk; what stands from there to the end was read, from a page cache
  // perhaps, and may not be. Not above `end`; not below `begin`.
  LogPosition durable = 0;
  uint64_t records = 0;
};

// Gets each payload in order, with the position after its record; an error ends the reading.
using LogVisitor = std::function<Status(LogPosition end, std::string_view payload)>;

inline constexpr LogPosition kLogEnd = ~LogPosition{0};

// Visits the records of the log in `dir` that begin at or after `from`, a position that some record
// began at or that the log ended at (0: all there is), when that was durable. Those from `until`
// on, a position after a record, are left alone: for reading a log that is being written. Errors:
// Corruption, naming file and offset, if something that was synced is damaged or missing (but see
// log_format.h); whatever the visitor returned. What was not synced may be lost, from some record
// on to the end.
Status ReadLog(Env* env, const std::string& dir, LogPosition from, const LogVisitor& visit,
               LogContents* contents, LogPosition until = kLogEnd);

}  // namespace sluice
