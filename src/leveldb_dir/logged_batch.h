// Write batches: the records of a write-ahead log.
//
//   batch  := sequence number (fixed64) | count (fixed32) | record{count}
//   record := 1 | key (lp) | value (lp)      put
//           | 0 | key (lp)                   delete
//
// The i-th record (from 0) was written with sequence number + i.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "table/internal_key.h"
#include "util/status.h"

namespace sluice {

struct LoggedRecord {
  std::string_view user_key;
  uint64_t trailer;
  std::string_view value;  // empty for deletions
};

// Appends the records of `batch`, as views of it.
Status ParseWriteBatch(std::string_view batch, std::vector<LoggedRecord>* records);

}  // namespace sluice
