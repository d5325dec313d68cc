// What an executor hands back, checked as far as the host can without merging again: checksums of
// blocks, every entry, the order of keys over all tables, that no user key is in two of them, that no
// version was kept which another one kept shadows, entries and tombstones counted, records summed up.
//
// A block's checksum tells that it is as a unit sealed it; the sum of RecordChecksum, compared with
// the one that the unit took, that it sealed the records which it merged.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "merge/fold.h"
#include "sluice/executor.h"
#include "table/block_sum.h"
#include "util/status.h"

namespace sluice {

// For the output tables of one task, in their order. Costs 10 ns for a record of 150 bytes, CRC
// included: a quarter of what merging it costs the CPU. On an older processor, with AVX2 alone, it is
// 18 ns, a third; and 26 ns there where block_scan.h says that it leaves a block to others.
class OutputChecker {
 public:
  // `snapshots`, as MergeTask has them, must outlive the checker. `compressed`: data blocks may be.
  // `sum`: their checksums.
  explicit OutputChecker(const std::vector<SequenceNumber>& snapshots, bool compressed = false,
                         const BlockSum& sum = {})
      : snapshots_(snapshots), compressed_(compressed), sum_(sum) {}

  // Makes *output of a table's data blocks and index block, with trailers.
  Status Check(std::string_view data, std::string_view index, MergeOutput* output);

  // What a filter of a block can be held against.
  struct BlockKeys {
    uint64_t records = 0;
    uint32_t last_hash = 0;  // BloomHash of the last user key

    // Whether `filter` has the size and the probes of one of so many keys, and the last of them.
    bool MayHave(std::string_view filter, int bits_per_key) const;
  };
  // Of the table checked last.
  const std::vector<BlockKeys>& block_keys() const { return block_keys_; }
  // Totals over all tables so far.
  uint64_t records() const { return records_; }
  uint64_t checksum() const { return checksum_; }
  // Of blocks that may be compressed: as CONTENT_SUM in abi/sluice.rdl says. Keys share bytes, so that
  // what strays on its way into a compressed block can change several records, and leave the sum of
  // their checksums as it was.
  uint64_t content_sum() const { return content_sum_; }

 private:
  // Bytes that must be readable behind a block's contents.
  static constexpr size_t kSlack = 64;

  // The data block at `handle` as one that has them behind it.
  Status ReadBlock(std::string_view data, const BlockHandle& handle, std::string_view* contents);
  // `contents` must hold records, the last of them `last_key`, and all after those before.
  Status CheckBlock(std::string_view contents, std::string_view last_key, MergeOutput* output);

  // As above, for what ScanAscending leaves.
  Status CheckEntries(const char* p, const char* limit, MergeOutput* output);

  // The last record's internal key.
  std::string_view key() const { return {key_.data(), user_bytes_ + kTrailerBytes}; }

  const std::vector<SequenceNumber>& snapshots_;
  const bool compressed_;
  const BlockSum sum_;
  std::vector<char> key_ = std::vector<char>(2 * kSlack);  // with slack after it
  size_t user_bytes_ = 0;
  // Before the first record, which may have any.
  static constexpr uint64_t kNoTrailer = UINT64_MAX;
  uint64_t trailer_ = kNoTrailer;
  std::vector<BlockKeys> block_keys_;
  uint64_t records_ = 0;
  uint64_t checksum_ = 0;
  uint64_t content_sum_ = 0;
  std::array<UnfoldedRecord, kFoldBatch> batch_;
  std::string index_buffer_;
  std::string buffer_;  // of a block that was compressed, or is the last, with slack after it
};

}  // namespace sluice
