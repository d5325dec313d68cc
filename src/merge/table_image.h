// Builds LevelDB tables in memory, as LevelDB itself writes them: prefix compression of whole
// internal keys (trailers too), index blocks with shortest separators, restart interval 1 in the
// index, empty metaindex, footer. For inputs of tests, benches and synthetic tasks; what
// executors write is another, simpler dialect (sluice/executor.h).

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "table/block_sum.h"
#include "table/format.h"
#include "table/internal_key.h"

namespace sluice {

struct TableImageOptions {
  uint32_t restart_interval = 16;
  uint32_t block_bytes = 4096;
  Compression compression = Compression::kNone;  // of data and index blocks
  bool share_trailers = true;                    // LevelDB: yes; executors: no
  bool short_separators = true;                  // LevelDB: yes; executors: the plain last key
};

// One block: entries in, bytes without trailer out. Keys may come in any order, so that tests can
// build what a reader must refuse.
class BlockImageBuilder {
 public:
  explicit BlockImageBuilder(uint32_t restart_interval, bool share_trailers = true)
      : restart_interval_(restart_interval), share_trailers_(share_trailers) {}

  void Add(std::string_view internal_key, std::string_view value);
  bool empty() const { return entries_.empty(); }
  // The size of the block so far.
  size_t bytes() const { return entries_.size() + 4 * restarts_.size() + 4; }
  // The block; the builder is empty again.
  std::string Finish();

 private:
  const uint32_t restart_interval_;
  const bool share_trailers_;
  std::string entries_;
  std::vector<uint32_t> restarts_{0};
  uint32_t since_restart_ = 0;
  std::string last_key_;
};

struct TableImage {
  std::string file;  // a whole table, footer included
  BlockHandle index;
  std::vector<BlockHandle> blocks;
  BlockSum sum;  // of these

  // Gives data blocks whose checksum is right this one instead; what is wrong stays wrong.
  void Reseal(const BlockSum& sum);
  // Appends a block, right or wrong, as the index; the one before stays where it is.
  void ReplaceIndex(std::string_view block, Compression type = Compression::kNone);
};

class TableImageBuilder {
 public:
  explicit TableImageBuilder(const TableImageOptions& options = {});

  void Add(std::string_view internal_key, std::string_view value);
  // Bytes of finished data blocks, trailers counted.
  uint64_t finished_bytes() const { return image_.file.size(); }
  // Ends the open block, if there is one.
  void EndBlock();
  // Adds a data block of the caller's making, indexed under `last_key`.
  void AddRawBlock(std::string_view block, std::string_view last_key);
  TableImage Finish();

 private:
  BlockHandle Append(std::string_view block);
  void AddPendingIndexEntry(std::string_view separator);

  const TableImageOptions options_;
  TableImage image_;
  BlockImageBuilder block_;
  BlockImageBuilder index_;
  std::string last_key_;
  bool pending_ = false;  // the last block waits for its index entry
};

// The shortest internal key that is >= `last` and < `next`, as LevelDB's BytewiseComparator
// chooses it.
std::string ShortestSeparator(std::string_view last, std::string_view next);
// The shortest short internal key that is >= `last`.
std::string ShortSuccessor(std::string_view last);

std::string MakeInternalKey(std::string_view user_key, SequenceNumber sequence, RecordType type);

}  // namespace sluice
