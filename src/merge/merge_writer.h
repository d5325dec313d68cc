// The output side of the CPU executor: kept records in, finished tables to the sink, by the rules
// of sluice/executor.h.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "merge/fold.h"
#include "merge/foreign_table.h"
#include "merge/record.h"
#include "sluice/executor.h"
#include "table/block_sum.h"
#include "table/filter.h"

namespace sluice {

class MergeWriter {
 public:
  MergeWriter(const MergeTask& task, const MergeSink& sink) : MergeWriter(task, &sink, nullptr) {}
  // Blocks go to `foreign` as they end: no table is held.
  MergeWriter(const MergeTask& task, ForeignSink* foreign) : MergeWriter(task, nullptr, foreign) {}

  // True once a record of a new user key must not go to the open table any more.
  bool table_full() const { return table_full_; }

  // Appends a record that shares `shared` bytes of its user key with the one before, and returns
  // the fold of its value. Prefetches what stands `ahead` bytes behind the value.
  uint64_t Add(const Record& record, uint32_t shared, size_t ahead) {
    if (until_restart_ == 0) {
      Restart();
      shared = 0;
    }
    --until_restart_;
    const uint32_t unshared = record.user_bytes + static_cast<uint32_t>(kTrailerBytes) - shared;
    const uint64_t room = uint64_t{unshared} + record.value_bytes + kEntryMargin;
    if (static_cast<uint64_t>(limit_ - out_) < room) [[unlikely]] {
      Grow(room);
    }
    char* p = WriteHeader(out_, shared, unshared, record.value_bytes);
    CopyKey(p, record.key + shared, unshared);
    p += unshared;
    if (bloom_bits_per_key_ > 0) {
      hashes_.push_back(BloomHash(record.user_key()));
    }
    const uint64_t fold = Fold<true>(record.value, record.value_bytes, p, ahead);
    out_ = p + record.value_bytes;
    ++entries_;
    tombstones_ += (record.trailer & 0xff) == static_cast<uint64_t>(RecordType::kDeletion);
    if (static_cast<uint64_t>(out_ - block_) + restart_bytes_ >= block_bytes_) {
      EndBlock(record.internal_key());
    }
    return fold;
  }

  // Ends the open block and table, if there are any. `last_key`: internal key of the record added
  // last.
  Status EndTable(std::string_view last_key);

  // Sums over the tables ended.
  uint64_t output_records() const { return output_records_; }
  uint64_t output_bytes() const { return output_bytes_; }
  uint64_t output_tables() const { return output_tables_; }

 private:
  // Beyond key and value an entry takes its header, and vectors are stored whole.
  static constexpr size_t kEntryMargin = 3 * kMaxVarint32Bytes + kSlackBytes;

  static char* WriteHeader(char* p, uint32_t shared, uint32_t unshared, uint32_t value_bytes) {
    if ((shared | unshared) < 0x80 && value_bytes < 0x4000) [[likely]] {
      if (value_bytes < 0x80) {
        EncodeFixed32(p, shared | unshared << 8 | value_bytes << 16);
        return p + 3;
      }
      EncodeFixed32(p, shared | unshared << 8 | (value_bytes & 0x7f) << 16 | 0x800000 |
                           (value_bytes >> 7) << 24);
      return p + 4;
    }
    return EncodeVarint(EncodeVarint(EncodeVarint(p, shared), unshared), value_bytes);
  }

  static void CopyKey(char* out, const char* key, uint32_t n) {
    StoreVector(out, LoadVector(key));
    StoreVector(out + 16, LoadVector(key + 16));
    if (n > 32) [[unlikely]] {
      std::memcpy(out + 32, key + 32, n - 32);
    }
  }

  MergeWriter(const MergeTask& task, const MergeSink* sink, ForeignSink* foreign);

  void Restart();
  void EndBlock(std::string_view last_key);
  // Gives the block from block_ to out_ its trailer, and an entry of the index.
  void StoreBlock(std::string_view last_key);
  void EndFilter();
  // Compresses the block from block_ to out_, if that pays. How it is stored then.
  Compression CompressBlock();
  // Those of the open table.
  std::vector<std::string_view> Filters() const;
  // Makes room for so many bytes at out_.
  void Grow(uint64_t bytes);

  const MergeSink* const sink_;  // null, or else foreign_ is
  ForeignSink* const foreign_;
  Status foreign_status_;
  const uint64_t block_bytes_;
  const uint64_t table_bytes_;
  const uint32_t restart_interval_;
  const uint32_t bloom_bits_per_key_;
  const bool compress_;
  const BlockSum sum_;

  std::unique_ptr<char[]> data_;  // data blocks of the open table
  uint64_t raw_bytes_ = 0;        // of these, as if none were compressed; trailers counted
  char* out_ = nullptr;
  char* limit_ = nullptr;
  char* block_ = nullptr;  // where the open block begins
  std::vector<uint32_t> restarts_;
  uint64_t restart_bytes_ = 4;  // of the open block's restart array and count
  uint32_t until_restart_ = 0;  // entries
  bool table_full_ = false;
  std::string compressed_;  // scratch space

  std::vector<uint32_t> hashes_;  // of the open block's keys
  std::string filters_;           // of the open table's blocks, one behind the other
  std::vector<size_t> filter_ends_;

  std::string index_;
  std::vector<uint32_t> index_restarts_;
  std::string smallest_;
  uint64_t entries_ = 0;
  uint64_t tombstones_ = 0;

  uint64_t output_records_ = 0;
  uint64_t output_bytes_ = 0;
  uint64_t output_tables_ = 0;
};

}  // namespace sluice
