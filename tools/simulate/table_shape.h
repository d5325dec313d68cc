// How many bytes tables of records of one size take.

#pragma once

#include <cstdint>

#include "sluice/options.h"

namespace sluice::simulate {

struct RecordSize {
  uint64_t key_bytes = 16;
  uint64_t value_bytes = 100;

  uint64_t bytes() const { return key_bytes + value_bytes; }
};

// Keys are taken to share no bytes, and nothing to be compressed.
class TableShape {
 public:
  TableShape(const Options& options, const RecordSize& record);

  uint64_t BlocksOf(uint64_t records) const {
    return (records + block_records_ - 1) / block_records_;
  }
  uint64_t block_bytes() const { return block_bytes_; }
  uint64_t BytesOf(uint64_t records) const;
  // The records of an extent that no further block fits into.
  uint64_t extent_records() const { return extent_records_; }
  // What the process holds of each extent of the metadata.
  uint64_t MetadataBytes(bool sliced) const;

 private:
  uint64_t key_bytes_;
  uint64_t bits_per_key_;
  uint64_t block_records_ = 0;
  uint64_t block_bytes_ = 0;  // full, with its trailer
  uint64_t extent_records_ = 0;
};

}  // namespace sluice::simulate
