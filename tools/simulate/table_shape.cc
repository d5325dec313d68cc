#include "simulate/table_shape.h"

#include <algorithm>

#include "table/format.h"
#include "table/internal_key.h"
#include "tree/extent.h"
#include "tree/extent_space.h"

namespace sluice::simulate {

namespace {

constexpr uint64_t kTailBytes = 224;        // properties, metaindex, footer and trailers
constexpr uint64_t kHandleBytes = 7;        // of a block, in the index
constexpr uint64_t kFilterSpread = 512;     // a filter's offset takes 4 bytes of so many
constexpr uint64_t kControlBytes = 16;      // of a shared_ptr that make_shared makes
constexpr uint64_t kHeapHeaderBytes = 8;    // of a piece of the heap
constexpr uint64_t kShortStringBytes = 15;  // a string holds these itself

uint64_t VarintBytes(uint64_t value) {
  uint64_t bytes = 1;
  for (; value >= 0x80; value >>= 7) {
    ++bytes;
  }
  return bytes;
}

uint64_t HeapBytes(uint64_t bytes) { return (bytes + kHeapHeaderBytes + 15) / 16 * 16; }

}  // namespace

TableShape::TableShape(const Options& options, const RecordSize& record)
    : key_bytes_(record.key_bytes + kTrailerBytes),
      bits_per_key_(std::max(options.bloom_bits_per_key, 0)) {
  const uint64_t entry = 1 + VarintBytes(key_bytes_) + VarintBytes(record.value_bytes) +
                         key_bytes_ + record.value_bytes;
  do {
    ++block_records_;
    block_bytes_ =
        block_records_ * entry + 4 * (1 + (block_records_ - 1) / options.restart_interval) + 4;
  } while (block_bytes_ < options.block_bytes);
  block_bytes_ += kBlockTrailerBytes;
  for (extent_records_ = block_records_;
       BytesOf(extent_records_ + block_records_) <= options.extent_bytes;
       extent_records_ += block_records_) {
  }
}

uint64_t TableShape::BytesOf(uint64_t records) const {
  const uint64_t data = records * block_bytes_ / block_records_;
  return data + BlocksOf(records) * (3 + key_bytes_ + kHandleBytes + 4) +
         records * bits_per_key_ / 8 + data / kFilterSpread + kTailBytes;
}

uint64_t TableShape::MetadataBytes(bool sliced) const {
  const uint64_t key = key_bytes_ > kShortStringBytes ? HeapBytes(key_bytes_ + 1) : 0;
  return HeapBytes(kControlBytes + sizeof(Extent)) + (sliced ? 3 : 2) * key +
         HeapBytes(kControlBytes + sizeof(ExtentPlace)) + 2 * sizeof(void*);
}

}  // namespace sluice::simulate
