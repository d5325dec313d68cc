// What a unit leaves in the area for filters: those of all blocks of a job, in order, each with a
// trailer as a raw block has. Where one ends follows from the number of its block's records.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "merge/output_checker.h"
#include "sluice/executor.h"
#include "util/status.h"

namespace sluice {

// Bytes that are enough for all filters of the task, if its output has `data_bytes`.
uint64_t FilterRoom(const MergeTask& task, uint64_t data_bytes);

// Takes filters from the area, table by table.
class FilterArea {
 public:
  // `area`: as far as it is used. Lives as long as what Take returns is to.
  FilterArea(std::string_view area, uint32_t bits_per_key)
      : left_(area), bits_per_key_(static_cast<int>(bits_per_key)) {}

  // Those of the next blocks. IoError if one does not match its CRC, if its size or its number of
  // probes is not that of so many keys, or if the last of them is not in it.
  Status Take(const std::vector<OutputChecker::BlockKeys>& blocks,
              std::vector<std::string_view>* filters);
  // IoError if more is left than what fills the last word.
  Status Finish() const;

 private:
  std::string_view left_;
  const int bits_per_key_;
  std::string buffer_;
};

}  // namespace sluice
