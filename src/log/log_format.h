// The format of the redo log.
//
//   log      := segments NNNNNN.log, numbers ascending; a file is used once
//   segment  := record, whose payload is the fixed64 position where the log before it ends
//               (0 in the first), then marks and records of the log's user, then zeros
//   record   := crc (fixed32) | payload bytes (varint32, >= 1) | payload
//   mark     := crc (fixed32) | 0 (1 byte) | durable position (fixed64)
//   position := segment number << 32 | offset in the segment
//
// The CRC32C (masked) covers the record's or mark's own position and what follows it, so none is
// ever taken for another: not one of another file, not one at another offset.
//
// The position before a segment need not be where the file before it ends: a recovery begins its
// segments with copies of what it found after that position (redo_log.h). While it makes them they
// are named NNNNNN.log.tmp, so a segment that can be found by its name has all of its copies.
//
// A loss of power may tear the end of a log, in any way; that is no damage, and what is lost was
// not promised to anyone. Damage can be told from it only if something on disk contradicts it:
//  * a mark in the log says that everything before its durable position was. It stands in front of
//    a record when there is more of that than the last mark said, and after the first record of a
//    segment. So it is on disk with the next sync, and can be found after what cannot be read, for
//    its length and its fifth byte are known;
//  * the file beside the log (durable_mark.h) says so too, and survives where the end of the log
//    was cut off. It is written after each sync, so it is exact when only the process ended; on
//    disk it is when the system wrote it back, and at the latest when the log is opened, closed, or
//    released up to a later segment;
//  * the caller that reads the log from a position on knows that it was there.
//
// What is not detected: of a log that was not closed, damage to what was synced since what these
// say, namely
//  * after a loss of power, bits of the last sync's records, when nothing was appended and synced
//    after them, and the file beside the log did not reach the disk either;
//  * after a loss of power, that the end of the log is missing (truncated, removed, an older copy),
//    from what that file last said on disk;
//  * both at once, the log and every witness that contradicts it.
// Then the log looks just as one that a loss of power tore. To shut this gap would cost a second
// sync for each.

#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "util/coding.h"
#include "util/crc32c.h"

namespace sluice {

using LogPosition = uint64_t;

inline constexpr size_t kMostLogHeaderBytes = 4 + kMaxVarint32Bytes;
inline constexpr size_t kLogMarkBytes = 4 + 1 + 8;

inline LogPosition MakeLogPosition(uint64_t segment, uint64_t offset) {
  return segment << 32 | offset;
}
inline uint64_t LogSegment(LogPosition position) { return position >> 32; }
inline uint64_t LogOffset(LogPosition position) { return position & 0xffffffff; }

// What is at a position: a record, or a mark.
struct LogEntry {
  std::string_view payload;  // empty: a mark
  LogPosition durable = 0;   // of a mark
  size_t bytes = 0;          // of the whole

  bool is_mark() const { return payload.empty(); }
};

// Writes what stands in front of a record's payload; returns its bytes, kMostLogHeaderBytes at
// most.
inline size_t EncodeLogHeader(LogPosition position, std::string_view payload, char* out) {
  char covered[8 + kMaxVarint32Bytes];
  EncodeFixed64(covered, position);
  const size_t covered_bytes = EncodeVarint(covered + 8, payload.size()) - covered;
  EncodeFixed32(out, MaskCrc(ExtendCrc32c(Crc32c({covered, covered_bytes}), payload)));
  std::memcpy(out + 4, covered + 8, covered_bytes - 8);
  return 4 + covered_bytes - 8;
}

// Writes kLogMarkBytes.
inline void EncodeLogMark(LogPosition position, LogPosition durable, char* out) {
  char covered[8 + 1 + 8] = {};
  EncodeFixed64(covered, position);
  EncodeFixed64(covered + 9, durable);
  EncodeFixed32(out, MaskCrc(Crc32c({covered, sizeof(covered)})));
  std::memcpy(out + 4, covered + 8, sizeof(covered) - 8);
}

// How long what begins with `in` says it is; 0 if that makes no sense. kMostLogHeaderBytes suffice.
inline uint64_t LogEntryBytes(std::string_view in) {
  if (in.size() < 4) {
    return 0;
  }
  uint32_t payload_bytes = 0;
  const char* const body = DecodeVarint32(in.data() + 4, in.data() + in.size(), &payload_bytes);
  return body == nullptr ? 0
                         : body - in.data() + (payload_bytes == 0 ? 8 : uint64_t{payload_bytes});
}

// Reads what is at `position`, where a segment goes on with `in`. False if there is nothing whole.
inline bool DecodeLogEntry(LogPosition position, std::string_view in, LogEntry* entry) {
  const uint64_t bytes = LogEntryBytes(in);
  if (bytes == 0 || bytes > in.size()) {
    return false;
  }
  uint32_t payload_bytes = 0;
  const char* const body = DecodeVarint32(in.data() + 4, in.data() + in.size(), &payload_bytes);
  char covered[8];
  EncodeFixed64(covered, position);
  const uint32_t crc = ExtendCrc32c(Crc32c({covered, sizeof(covered)}), in.substr(4, bytes - 4));
  entry->bytes = bytes;
  entry->payload = {body, payload_bytes};
  entry->durable = payload_bytes == 0 ? DecodeFixed64(body) : 0;
  return DecodeFixed32(in.data()) == MaskCrc(crc);
}

std::string LogSegmentPath(const std::string& dir, uint64_t segment);
// False if `name` is not that of a segment.
bool ParseLogSegmentName(std::string_view name, uint64_t* segment);
// What a segment is named while a recovery makes it.
inline constexpr std::string_view kLogDraftSuffix = ".tmp";
// The file beside the segments (durable_mark.h).
inline constexpr std::string_view kDurableMarkName = "durable";
// Whether a log has files of this name.
bool IsLogFileName(std::string_view name);

}  // namespace sluice
