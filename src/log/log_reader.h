// Reads a redo log back after a restart.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "log/log_format.h"
#include "util/env.h"
#include "util/status.h"

namespace sluice {

struct LogContents {
  std::vector<uint64_t> segments;  // all whose files there are, ascending
  std::vector<uint64_t> live;      // of them, those that hold the log
  LogPosition end = 0;             // behind the last record
  uint64_t records = 0;
};

// Gets each payload in order, with the position behind its record; an error ends the reading.
using LogVisitor = std::function<Status(LogPosition end, std::string_view payload)>;

// Visits the records of the log in `dir` that begin at or after `from`, a position that some record
// began at or that the log ended at (0: all there is). Errors: Corruption, naming file and offset,
// if something that was synced is damaged or missing; whatever the visitor returned. What was not
// synced may be lost, from some record on to the end.
Status ReadLog(Env* env, const std::string& dir, LogPosition from, const LogVisitor& visit,
               LogContents* contents);

}  // namespace sluice
