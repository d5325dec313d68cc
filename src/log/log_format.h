// The format of the redo log.
//
//   log      := segments NNNNNN.log, numbers ascending, files of a fixed size
//   segment  := record, whose payload is the fixed64 position where the log before it ends
//               (0 in the first), then marks and records of the log's user, then whatever an
//               earlier use of the file left
//   record   := crc (fixed32) | payload bytes (varint32, >= 1) | payload
//   mark     := crc (fixed32) | 0 (1 byte) | durable position (fixed64)
//   position := segment number << 32 | offset in the segment
//
// The CRC32C (masked) covers the record's or mark's own position and what follows it, so none is
// ever taken for another: not one left by an earlier use of the file, not one at another offset.
//
// A mark says what its writer knew to be on disk: everything before the durable position. It stands
// in front of a record when there is more of that than the last mark said, and after the first
// record of a segment. Marks tell a tail lost with the power (allowed) from damage to what was
// synced (an error): behind damage there is one that says that more was durable. They can be found
// behind what cannot be read, for their length and their fifth byte are known.
//
// No file ever holds a record of a segment number above its own, durable, name; so numbers, taken
// in ascending order, never meet records that an earlier use left for them.

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

// Reads what is at `position`, where a segment goes on with `in`. False if there is nothing whole.
inline bool DecodeLogEntry(LogPosition position, std::string_view in, LogEntry* entry) {
  if (in.size() < 4) {
    return false;
  }
  uint32_t payload_bytes;
  const char* const body = DecodeVarint32(in.data() + 4, in.data() + in.size(), &payload_bytes);
  if (body == nullptr) {
    return false;
  }
  const size_t body_bytes = payload_bytes == 0 ? 8 : payload_bytes;
  const size_t head_bytes = body - in.data();
  if (body_bytes > in.size() - head_bytes) {
    return false;
  }
  char covered[8];
  EncodeFixed64(covered, position);
  const uint32_t crc =
      ExtendCrc32c(Crc32c({covered, sizeof(covered)}), in.substr(4, head_bytes - 4 + body_bytes));
  entry->bytes = head_bytes + body_bytes;
  entry->payload = in.substr(head_bytes, payload_bytes);
  entry->durable = payload_bytes == 0 ? DecodeFixed64(body) : 0;
  return DecodeFixed32(in.data()) == MaskCrc(crc);
}

std::string LogSegmentPath(const std::string& dir, uint64_t segment);
// False if `name` is not that of a segment.
bool ParseLogSegmentName(std::string_view name, uint64_t* segment);

}  // namespace sluice
