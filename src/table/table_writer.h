// Writes a LevelDB table, entry by entry.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sluice/env.h"
#include "table/block_builder.h"
#include "table/codec.h"
#include "table/filter.h"
#include "table/format.h"
#include "util/status.h"

namespace sluice {

struct TableOptions {
  uint32_t block_bytes = 4096;  // a block ends once it has as many, before compression
  uint32_t restart_interval = 16;
  Compression compression = Compression::kNone;
  int bloom_bits_per_key = 0;  // 0: no filter
};

// What comes behind the data blocks: filter, metaindex, index, footer.
class TableTail {
 public:
  explicit TableTail(int bloom_bits_per_key);

  // To be called for each data block before its keys, with its offset in the file.
  void StartBlock(uint64_t offset) {
    if (filter_) {
      filter_->StartBlock(offset);
    }
  }
  void AddKey(std::string_view user_key) {
    if (filter_) {
      filter_->AddKey(user_key);
    }
  }
  // Appends the tail to `out`, for a file whose data blocks end at `offset`. `dictionary`: contents
  // of a block that the metaindex names kDictionaryName, if they are not empty.
  void Finish(uint64_t offset, std::string_view index_contents, const Codec& codec,
              std::string* out, std::string_view dictionary = {});

 private:
  std::optional<FilterBlockBuilder> filter_;
};

class TableWriter {
 public:
  // `file`, empty so far, outlives the writer, which neither syncs nor closes it.
  TableWriter(const TableOptions& options, WritableFile* file);

  // Keys are internal keys, in strictly ascending order: any other is InvalidArgument. After an
  // error nothing more is written and every call returns that error.
  Status Add(std::string_view internal_key, std::string_view value);
  // Writes what is left; the table is complete. REQUIRES: no call after it.
  Status Finish();

  uint64_t entries() const { return entries_; }
  // Written so far; after Finish, the file's size.
  uint64_t file_bytes() const { return file_bytes_; }

 private:
  Status CheckAdd(std::string_view internal_key, std::string_view value) const;
  Status EndBlock();
  // Writes what stands in out_.
  Status WriteOut();

  const TableOptions options_;
  WritableFile* const file_;
  TableTail tail_;
  BlockBuilder data_;
  BlockBuilder index_{1};
  std::string last_key_;
  uint64_t entries_ = 0;
  uint64_t file_bytes_ = 0;
  std::string out_;
  std::string compressed_;
  Status status_;
};

// A file in memory.
class StringFile : public WritableFile {
 public:
  Status Append(std::string_view bytes) override {
    contents_.append(bytes);
    return {};
  }
  Status Flush() override { return {}; }
  Status Sync() override { return {}; }
  Status Close() override { return {}; }

  const std::string& contents() const { return contents_; }

 private:
  std::string contents_;
};

}  // namespace sluice
