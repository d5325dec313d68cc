// Writes as batches and the redo log hold them.
//
//   batch      := entry*
//   entry      := type + 8 x sub-table's id (varint64) and, by type,
//                 0 deletion, 4 lock:  key
//                 1 value:             key | value
//                 5 range deletion:    first key | first key beyond it, or empty: no bound
//                 2 prepared:          name of a transaction | batch, of types 0, 1, 4 and 6
//                 3 resolved:          name of a transaction
//                 6 untracked:         nothing, as a key: the row of the next entry is not locked
//                 where keys, values, names and batches are led by their bytes (varint32), and
//                 2 and 3 are of no sub-table (0)
//   log record := sequence number of the first write (varint64) | batch*
//
// Writes, which are the deletions, values and range deletions of a log record, have consecutive
// sequence numbers. What a prepared transaction would write are none: it is written again when the
// transaction commits, and in the same log record that the transaction is resolved. One that rolls
// back is resolved alone.

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
  kLock = 4,
  kRangeDeletion = 5,
  kUntracked = 6
};

struct BatchEntry {
  EntryType type = EntryType::kValue;
  uint32_t subtable = 0;
  std::string_view key;    // or the transaction's name, or where a range begins
  std::string_view value;  // or the batch, or where a range ends
};

// A BatchEntry that is a write.
using BatchWrite = BatchEntry;

inline uint64_t EntryTag(EntryType type, uint32_t subtable) {
  return uint64_t{subtable} << 3 | static_cast<uint64_t>(type);
}

inline void AppendWrite(const BatchWrite& write, std::string* out) {
  // The lengths and what they lead, in one go.
  char head[kMaxVarint64Bytes + kMaxVarint32Bytes];
  char* p = EncodeVarint(head, EntryTag(write.type, write.subtable));
  p = EncodeVarint(p, write.key.size());
  out->append(head, p - head);
  out->append(write.key);
  if (write.type != EntryType::kDeletion) {
    p = EncodeVarint(head, write.value.size());
    out->append(head, p - head);
    out->append(write.value);
  }
}

inline void AppendLock(uint32_t subtable, std::string_view key, std::string* out) {
  PutVarint(out, EntryTag(EntryType::kLock, subtable));
  PutLengthPrefixed(out, key);
}
inline void AppendUntracked(std::string* out) {
  PutVarint(out, EntryTag(EntryType::kUntracked, 0));
  PutLengthPrefixed(out, {});
}
inline void AppendPrepared(std::string_view name, std::string_view batch, std::string* out) {
  PutVarint(out, EntryTag(EntryType::kPrepared, 0));
  PutLengthPrefixed(out, name);
  PutLengthPrefixed(out, batch);
}
inline void AppendResolved(std::string_view name, std::string* out) {
  PutVarint(out, EntryTag(EntryType::kResolved, 0));
  PutLengthPrefixed(out, name);
}

// Takes the entry in front off `*batch`; false if there is none that makes sense.
inline bool ReadEntry(std::string_view* batch, BatchEntry* entry) {
  uint64_t tag;
  if (!GetVarint64(batch, &tag) || (tag & 7) > 6 || tag >> 35 != 0) {
    return false;
  }
  entry->type = static_cast<EntryType>(tag & 7);
  entry->subtable = static_cast<uint32_t>(tag >> 3);
  entry->value = {};
  const bool has_value = entry->type == EntryType::kValue || entry->type == EntryType::kPrepared ||
                         entry->type == EntryType::kRangeDeletion;
  return GetLengthPrefixed(batch, &entry->key) &&
         (!has_value || GetLengthPrefixed(batch, &entry->value));
}

// Takes the next write, and what stands in front of it, off `*batch`; false if there is none.
inline bool ReadWrite(std::string_view* batch, BatchWrite* write) {
  while (ReadEntry(batch, write)) {
    if (write->type == EntryType::kDeletion || write->type == EntryType::kValue ||
        write->type == EntryType::kRangeDeletion) {
      return true;
    }
  }
  return false;
}

}  // namespace sluice
