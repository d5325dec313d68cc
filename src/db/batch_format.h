// Writes as batches and the redo log hold them.
//
//   batch      := entry*
//   entry      := type (1 byte) and, by type,
//                 0 deletion, 4 lock:  sub-table's id (varint32) | key
//                 1 value:             sub-table's id (varint32) | key | value
//                 2 prepared:          name of a transaction | batch, of types 0, 1 and 4
//                 3 resolved:          name of a transaction
//                 where keys, values, names and batches are led by their bytes (varint32)
//   log record := sequence number of the first write (fixed64) | batch*
//
// Writes, which are deletions and values of a log record, have consecutive sequence numbers. What a
// prepared transaction would write are none: it is written again when the transaction commits, and
// in the same log record that the transaction is resolved. One that rolls back is resolved alone.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "table/internal_key.h"
#include "util/coding.h"
#include "util/status.h"

namespace sluice {

inline constexpr uint32_t kDefaultSubtableId = 0;

enum class EntryType : uint8_t {
  kDeletion = 0,
  kValue = 1,
  kPrepared = 2,
  kResolved = 3,
  kLock = 4
};

struct BatchEntry {
  EntryType type = EntryType::kValue;
  uint32_t subtable = 0;
  std::string_view key;    // or the transaction's name
  std::string_view value;  // or the batch
};

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

inline void AppendLock(uint32_t subtable, std::string_view key, std::string* out) {
  out->push_back(static_cast<char>(EntryType::kLock));
  PutVarint(out, subtable);
  PutLengthPrefixed(out, key);
}
inline void AppendPrepared(std::string_view name, std::string_view batch, std::string* out) {
  out->push_back(static_cast<char>(EntryType::kPrepared));
  PutLengthPrefixed(out, name);
  PutLengthPrefixed(out, batch);
}
inline void AppendResolved(std::string_view name, std::string* out) {
  out->push_back(static_cast<char>(EntryType::kResolved));
  PutLengthPrefixed(out, name);
}

// Takes the entry in front off `*batch`; false if there is none that makes sense.
inline bool ReadEntry(std::string_view* batch, BatchEntry* entry) {
  if (batch->empty() || static_cast<uint8_t>(batch->front()) > 4) {
    return false;
  }
  entry->type = static_cast<EntryType>(batch->front());
  batch->remove_prefix(1);
  entry->subtable = 0;
  entry->value = {};
  const bool of_row = entry->type != EntryType::kPrepared && entry->type != EntryType::kResolved;
  const bool has_value = entry->type == EntryType::kValue || entry->type == EntryType::kPrepared;
  return (!of_row || GetVarint32(batch, &entry->subtable)) &&
         GetLengthPrefixed(batch, &entry->key) &&
         (!has_value || GetLengthPrefixed(batch, &entry->value));
}

// Takes the next write, and what stands in front of it, off `*batch`; false if there is none.
inline bool ReadWrite(std::string_view* batch, BatchWrite* write) {
  for (BatchEntry entry; ReadEntry(batch, &entry);) {
    if (entry.type == EntryType::kDeletion || entry.type == EntryType::kValue) {
      *write = {static_cast<RecordType>(entry.type), entry.subtable, entry.key, entry.value};
      return true;
    }
  }
  return false;
}

}  // namespace sluice
