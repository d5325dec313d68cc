// The format of the redo log.
//
//   log      := segments NNNNNN.log, numbers ascending, files of a fixed size
//   segment  := record, whose payload is the fixed64 position where the log before it ends
//               (0 in the first), then records of the log's user, then whatever an earlier use of
//               the file left
//   record   := header crc (fixed32) | payload crc (fixed32) | payload bytes (fixed32, >= 1)
//               | durable position (fixed64) | payload
//   position := segment number << 32 | offset in the segment
//
// The header's CRC32C (masked) covers the record's own position and what follows it in the header,
// so no record is ever taken for another: not one left by an earlier use of the file, not one at
// another offset. The durable position says what its writer knew to be on disk: everything before
// it. That tells a tail lost with the power (allowed) from damage to what was synced (an error):
// behind damage, a record that claims a durable position beyond it.
//
// No file ever holds a record of a segment number above its own, durable, name; so numbers, taken
// in ascending order, never meet records that an earlier use left for them.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "util/coding.h"
#include "util/crc32c.h"

namespace sluice {

using LogPosition = uint64_t;

inline constexpr size_t kLogHeaderBytes = 20;

inline LogPosition MakeLogPosition(uint64_t segment, uint64_t offset) {
  return segment << 32 | offset;
}
inline uint64_t LogSegment(LogPosition position) { return position >> 32; }
inline uint64_t LogOffset(LogPosition position) { return position & 0xffffffff; }

struct LogRecordHeader {
  uint32_t payload_crc = 0;  // masked
  uint32_t payload_bytes = 0;
  LogPosition durable = 0;

  // Writes kLogHeaderBytes.
  void EncodeTo(LogPosition position, char* out) const {
    EncodeFixed32(out + 4, payload_crc);
    EncodeFixed32(out + 8, payload_bytes);
    EncodeFixed64(out + 12, durable);
    EncodeFixed32(out, Crc(position, out));
  }

  // False if there is no header of a record at `position` in these kLogHeaderBytes.
  bool DecodeFrom(LogPosition position, const char* in) {
    payload_crc = DecodeFixed32(in + 4);
    payload_bytes = DecodeFixed32(in + 8);
    durable = DecodeFixed64(in + 12);
    return payload_bytes != 0 && DecodeFixed32(in) == Crc(position, in);
  }

 private:
  static uint32_t Crc(LogPosition position, const char* header) {
    char bytes[8];
    EncodeFixed64(bytes, position);
    return MaskCrc(ExtendCrc32c(Crc32c({bytes, sizeof(bytes)}), {header + 4, kLogHeaderBytes - 4}));
  }
};

std::string LogSegmentPath(const std::string& dir, uint64_t segment);
// False if `name` is not that of a segment.
bool ParseLogSegmentName(std::string_view name, uint64_t* segment);

}  // namespace sluice
