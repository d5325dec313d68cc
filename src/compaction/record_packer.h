// Packs records that come in order into the extents of a run, large values apart: for flushes and
// ingestions, which merge nothing.
//
// Thread-compatible.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "table/block_builder.h"
#include "table/internal_key.h"
#include "tree/extent_builder.h"
#include "tree/extent_writer.h"
#include "tree/value_writer.h"
#include "util/coding.h"
#include "util/status.h"

namespace sluice {

struct RunFormat {
  ExtentFormat extent;
  uint32_t block_bytes = 4 << 10;
  uint32_t restart_interval = 16;
  size_t tier = 0;  // where they are written (tree/extent_space.h)
  ValueFormat values{};

  // Whether some of it may lie elsewhere than in the database's own directory.
  bool in_tiers() const { return tier != 0 || (values.least_bytes > 0 && values.tier != 0); }
};

class RecordPacker {
 public:
  // `writer` outlives it.
  RecordPacker(const RunFormat& format, ExtentWriter* writer)
      : block_bytes_(format.block_bytes),
        block_(format.restart_interval),
        values_(format.values, writer),
        extents_(
            format.extent,
            [writer](BuiltExtent* built) { return writer->Write(built, writer->TakeNumber()); },
            [this](uint64_t number) { return values_.Find(number); }) {}

  Status Add(std::string_view user_key, uint64_t trailer, std::string_view value) {
    if (values_.Wants(value)) {
      SLUICE_RETURN_IF_ERROR(values_.Add(user_key, value, &reference_));
      trailer = MakeTrailer(TrailerSequence(trailer), kTypeValueReference);
      value = reference_;
    }
    key_.assign(user_key);
    PutFixed64(&key_, trailer);
    block_.Add(key_, value);
    return block_.bytes() >= block_bytes_ ? EndBlock() : Status();
  }
  // To be called before the ExtentWriter's Finish.
  Status Finish() {
    if (!block_.empty()) {
      SLUICE_RETURN_IF_ERROR(EndBlock());
    }
    SLUICE_RETURN_IF_ERROR(extents_.EndExtent());
    return values_.Finish();
  }
  // The number of large values among the records so far.
  uint64_t values_apart() const { return values_.values(); }

 private:
  Status EndBlock() {
    const Status status = extents_.AddBlock(block_.Finish());
    block_.Reset();
    return status;
  }

  const uint32_t block_bytes_;
  BlockBuilder block_;
  ValueWriter values_;
  ExtentBuilder extents_;
  std::string key_;
  std::string reference_;
};

}  // namespace sluice
