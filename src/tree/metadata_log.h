// The durable metadata: a log of edits, and the file CURRENT, which says where in it a whole state
// stands.
//
//   DIR/meta/NNNNNN.log   in the redo log's format; each payload is one edit
//   DIR/CURRENT           "sluice 4 POSITION CRC": the edit from there on makes the state out of
//                         nothing, the later ones change it or make it anew
//
// Thread-compatible.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "log/redo_log.h"
#include "sluice/env.h"
#include "tree/metadata.h"
#include "util/status.h"

namespace sluice {

class MetadataLog {
 public:
  // Reads the state of the database in `dir`; or, if `first` is given, creates it there with the
  // state that `first` makes. The directory must exist. NotFound if it has no CURRENT, Corruption
  // naming the file if what is there is damaged.
  static Status Open(Env* env, const std::string& dir, const MetadataEdit* first,
                     std::unique_ptr<MetadataLog>* log);

  // The position of a whole state, which CURRENT gives.
  static Status ReadCurrent(Env* env, const std::string& dir, LogPosition* position);
  // Reads it, and writes nothing; Apply fails.
  static Status OpenReadOnly(Env* env, const std::string& dir, std::unique_ptr<MetadataLog>* log);

  const Metadata& state() const { return state_; }

  // Makes the edit part of the state, durably. NoSpace: nothing has changed, and it may be tried
  // again. After any other error, of the file system or because the edit does not fit the state
  // (which is not written then), the next Open may or may not find the edit; no more are taken, and
  // `state` is not to be used.
  Status Apply(const MetadataEdit& edit);
  // Writes the whole state anew, in a segment of its own if what was before is as large, so that its
  // space comes free. As Apply: after NoSpace nothing has changed.
  Status Rewrite();
  // The size of the whole state, at most: of a sub-table it says a little more than edits do.
  uint64_t whole_bytes() const { return state_bytes_ + edit_bytes_ + edit_bytes_ / 4; }
  // Whether Rewrite would free some space worth its cost, as far as is known.
  bool worth_rewriting() const;

  // From now on, no damage to the edits so far is taken for the end of a write that a crash cut
  // off.
  Status Seal();

 private:
  // The log holds at most this much beyond twice the state.
  static constexpr uint64_t kSlackBytes = uint64_t{256} << 10;

  // Space of the log that is reserved before it is needed.
  static constexpr uint64_t kAheadBytes = uint64_t{64} << 10;

  MetadataLog(Env* env, std::string dir) : env_(env), dir_(std::move(dir)) {}

  Status Read(LogContents* contents);
  Status Write(const std::string& payload);
  // Writes the whole state as one edit and lets CURRENT point to it. `device_full`: as in Rewrite.
  Status WriteState(bool device_full = false);

  Env* const env_;
  const std::string dir_;
  std::unique_ptr<RedoLog> log_;
  Metadata state_;
  Status status_;             // the first error
  uint64_t state_bytes_ = 0;  // of the whole state when it was last written, or should have been
  uint64_t edit_bytes_ = 0;   // since then
  uint64_t most_edit_bytes_ = 0;  // beyond which a whole state is written
};

}  // namespace sluice
