// Writes as batches and the redo log hold them.
//
//   batch      := write*
//   write      := type (1 byte: 0 deletion, 1 value) | sub-table's id (varint32)
//                 | key bytes (varint32) | key | and of a value: value bytes (varint32) | value
//   log record := sequence number of the first write (fixed64) | batch*
//
// Writes have consecutive sequence numbers.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "table/internal_key.h"
#include "util/coding.h"
#include "util/status.h"

namespace sluice {

inline constexpr uint32_t kDefaultSubtableId = 0;

struct BatchWrite {
  RecordType type = RecordType::kValue;
  uint32_t subtable = 0;
  std::string_view key;
  std::string_view value;
};

inline void AppendWrite(const BatchWrite& write, std::string* out) {
  // The lengths and what they lead, in one go.
  char head[1 + 2 * kMaxVarint32Bytes];
  head[0] = static_cast<char>(write.type);
  char* p = EncodeVarint(head + 1, write.subtable);
  p = EncodeVarint(p, write.key.size());
  out->append(head, p - head);
  out->append(write.key);
  if (write.type == RecordType::kValue) {
    p = EncodeVarint(head, write.value.size());
    out->append(head, p - head);
    out->append(write.value);
  }
}

// Takes the write in front off `*batch`; false if there is none that makes sense.
inline bool ReadWrite(std::string_view* batch, BatchWrite* write) {
  if (batch->empty() || static_cast<uint8_t>(batch->front()) > 1) {
    return false;
  }
  write->type = static_cast<RecordType>(batch->front());
  batch->remove_prefix(1);
  write->value = {};
  return GetVarint32(batch, &write->subtable) && GetLengthPrefixed(batch, &write->key) &&
         (write->type == RecordType::kDeletion || GetLengthPrefixed(batch, &write->value));
}

}  // namespace sluice
