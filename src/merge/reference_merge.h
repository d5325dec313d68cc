// The merge rules of sluice/executor.h once more, as plainly as they can be put: everything
// decoded, sorted and encoded record by record. For tests only; shares no code with the executors
// but varints, the CRC and, of checksums by XXH3, the hash.

#pragma once

#include <string>
#include <vector>

#include "sluice/executor.h"

namespace sluice {

struct PlainRecord {
  std::string user_key;
  uint64_t trailer = 0;
  std::string value;

  bool operator==(const PlainRecord&) const = default;
};

struct PlainTable {
  std::string data;
  std::string index;
  std::string smallest;
  std::string largest;
  uint64_t entries = 0;
  uint64_t tombstones = 0;
  std::vector<std::string> filters;
};

struct ReferenceResult {
  std::vector<PlainTable> tables;
  MergeStats stats;  // all but input_bytes, cycles and stalls
};

// Decodes a block, type byte and CRC included; throws std::runtime_error if anything is amiss.
std::vector<PlainRecord> DecodePlainBlock(std::string_view block_and_trailer);
// With `checksum` kXxh3 that is what data blocks have, and `base` is the table's.
std::vector<PlainRecord> DecodePlainTable(std::string_view image, BlockHandle index,
                                          BlockChecksum checksum = BlockChecksum::kCrc32c,
                                          uint32_t base = 0);

// REQUIRES: valid input.
ReferenceResult ReferenceMerge(const MergeTask& task);

}  // namespace sluice
