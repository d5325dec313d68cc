// One run of a merge task as batches of decoded records: walks the tables, their indexes and data
// blocks, and checks all of it. For the CPU executor.
//
// Keys are rebuilt in an arena, values stay where they are in the block. A batch never spans
// blocks. It decodes in two passes, because the first is bound by latency (every entry says where
// the next one begins) and the second is not.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "merge/foreign_table.h"
#include "merge/record.h"
#include "sluice/executor.h"

namespace sluice {

struct RecordLimits {
  uint64_t max_key_bytes = UINT64_MAX;  // of user keys
  uint64_t max_value_bytes = UINT64_MAX;
};

// A malformed input: what sluice/executor.h's status, fault and error say of it.
struct ReadFault {
  MergeStatus status = MergeStatus::kOk;
  uint32_t table = 0;
  uint64_t offset = 0;
  std::string detail;  // more than the status says; may be empty
};

class RunReader {
 public:
  // All must outlive the reader.
  RunReader(const MergeTask& task, const MergeRun& run, const RecordLimits& limits)
      : RunReader(task, &run, nullptr, limits) {}
  RunReader(const MergeTask& task, const ForeignRun& run, const RecordLimits& limits)
      : RunReader(task, nullptr, &run, limits) {}

  // Decodes the next batch: records in [begin, end) of the task that share their first
  // min(*skip, ...) bytes with the last record of the batch before, and have words for it; *skip
  // is lowered to what they do share. Leaves an empty batch at the end of the run. False: a fault.
  //
  // The keys of the batch before this one stay valid, its values do not.
  bool NextBatch(size_t* skip);

  const Record* begin() const { return batch_begin_; }
  const Record* end() const { return batch_end_; }
  // How far behind a value of the batch the same place of the next block is likely to be.
  size_t ahead() const { return ahead_; }
  // Gives the records of the batch from `first` on words for another `skip`.
  void Reword(const Record* first, size_t skip);

  const ReadFault& fault() const { return fault_; }
  uint64_t input_records() const { return input_records_; }
  uint64_t input_bytes() const { return input_bytes_; }

 private:
  // A block's bytes: in the image, or in a buffer if they were compressed or if the image ends too
  // close behind them for kSlackBytes.
  struct Block {
    uint64_t offset = 0;
    const char* next = nullptr;   // the entry to decode next
    const char* limit = nullptr;  // where the entries end
    bool bad_restarts = false;    // a fault, but one that is found only behind the entries
    std::vector<char> buffer;

    // Has its own copy of what it is given.
    std::string_view Keep(std::string_view content);
  };

  struct Arena {
    std::unique_ptr<char[]> bytes;
    size_t capacity = 0;
  };

  RunReader(const MergeTask& task, const MergeRun* run, const ForeignRun* foreign,
            const RecordLimits& limits);

  size_t tables() const { return foreign_ == nullptr ? run_->size() : foreign_->size(); }
  bool Fail(MergeStatus status, uint64_t offset, std::string detail = {});
  // These return false at a fault; *found = false at the end of the run. The first has the run begin
  // with the last block that lies below the range, as index keys tell.
  bool FindBegin();
  bool NextBlock(bool* found);
  bool OpenTable();
  bool NextHandle(BlockHandle* handle, bool* found);

  // The run goes on with block `blocks` of table `tables`.
  void PassOver(size_t tables, size_t blocks);
  // Whether the block's first key is below the range. Then so are all blocks before it, or the run
  // is not in order.
  bool StartsBelowBegin() const;

  std::string_view image() const;  // of the open table
  // The open table; null if it is LevelDB's.
  ForeignTable* foreign_table() const {
    return foreign_ == nullptr ? nullptr : (*foreign_)[table_ - 1];
  }
  bool LoadBlock(const BlockHandle& handle, bool is_index, Block* block);
  bool ReadDataBlock(ForeignTable* table, const BlockHandle& handle);
  bool SetContent(std::string_view content, uint64_t offset, bool is_index, Block* block);
  bool Uncompress(std::string_view compressed, Block* block, std::string_view* content);
  bool DecodeBatch(size_t* skip);
  // Pass one: headers, bounds, keys. False: a malformed entry comes next.
  bool DecodeEntries(Arena* arena, size_t* skip, size_t* count);
  // Pass two: trailers, words, order, checksums.
  bool FinishRecords(size_t count, size_t skip);
  bool CheckRecord(const Record& record, std::string_view previous);
  void ClipToRange();

  const MergeTask& task_;
  const MergeRun* const run_;  // null, or else foreign_ is
  const ForeignRun* const foreign_;
  const uint8_t most_type_;  // of records
  const RecordLimits& limits_;

  size_t table_ = 0;  // the one to open next; the open one is table_ - 1
  bool table_open_ = false;
  bool begun_ = false;
  bool ended_ = false;
  size_t passed_over_ = 0;       // blocks of the open table that are not to be read
  bool unproven_begin_ = false;  // blocks were passed over, as nothing but the index tells
  Block index_;
  uint64_t handle_end_ = 0;  // in the open table: of the block that its index named last
  std::string index_key_;    // of the index entry read last

  Block block_;
  bool block_open_ = false;
  size_t ahead_ = 0;
  uint32_t base_bytes_ = 0;    // of the key that the next entry may share with; 0 as a block begins
  std::string_view last_key_;  // internal key decoded last in this run; null: none yet

  Arena arenas_[2];
  int arena_ = 0;
  std::unique_ptr<Record[]> records_;
  const Record* batch_begin_ = nullptr;
  const Record* batch_end_ = nullptr;

  ReadFault fault_;
  uint64_t input_records_ = 0;
  uint64_t input_bytes_ = 0;
};

}  // namespace sluice
