// Up to where a log is known to be on disk, kept beside the segments: damage to them, a truncated
// or missing one, or an older copy of one, does not take with it what tells of it.
//
//   DIR/durable := slot | slot, of 512 bytes, written in turn
//   slot        := crc (fixed32) | position (fixed64) | zeros
//
// It holds a lower bound: it is written after a sync of the log, and synced itself only when that
// costs little (Sync). A loss of power may take it back to any position that it held since.
//
// Thread-compatible.

#pragma once

#include <memory>
#include <string>

#include "log/log_format.h"
#include "sluice/env.h"
#include "util/status.h"

namespace sluice {

class DurableMark {
 public:
  // `*position`: 0 if there is no mark, or none that can be read.
  static Status Read(Env* env, const std::string& dir, LogPosition* position);

  // Opens the mark, or makes one.
  static Status Open(Env* env, const std::string& dir, std::unique_ptr<DurableMark>* mark);

  // Everything before `position` is on disk. Positions ascend.
  Status Set(LogPosition position);
  Status Sync() { return file_->Sync(); }

 private:
  explicit DurableMark(std::unique_ptr<DataFile> file) : file_(std::move(file)) {}

  const std::unique_ptr<DataFile> file_;
  size_t slot_ = 0;  // the next to be written
};

}  // namespace sluice
