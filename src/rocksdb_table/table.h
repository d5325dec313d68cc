// Reads a block-based table of RocksDB, of format_version 2 to 6.
//
// Whatever makes a table say more than what LevelDB's records can is declined on opening, as
// NotSupported with a name for it: merge operands, range deletions, other comparators, ingested
// files (whose sequence number stands elsewhere), dictionaries, indexes of a user's own, keys and
// values apart. Record types show as the records are read.
//
// Checks every block it reads against its checksum. Errors name the file, the offset of the block
// and the cause. Thread-safe.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rocksdb_table/format.h"
#include "rocksdb_table/index.h"
#include "rocksdb_table/properties.h"
#include "sluice/env.h"
#include "table/block.h"
#include "util/status.h"

namespace sluice {

// What a block may need to be read.
struct RocksBlockBuffer {
  std::string uncompressed;
  std::string plain;  // without a hash index
};

class RocksTable {
 public:
  static Status Open(Env* env, const std::string& path, std::unique_ptr<RocksTable>* table);
  // Reads a file's bytes from memory, which outlives the table. `name` leads errors.
  static Status OpenImage(std::string_view image, std::string name,
                          std::unique_ptr<RocksTable>* table);

  struct NamedBlock {
    std::string name;
    BlockHandle handle;
  };

  const std::string& name() const { return name_; }
  std::string_view image() const { return image_; }
  const RocksFooter& footer() const { return footer_; }
  const RocksProperties& properties() const { return properties_; }
  const std::vector<NamedBlock>& metaindex() const { return metaindex_; }
  const BlockHandle& index() const { return index_; }
  RocksIndexType index_type() const { return index_type_; }
  RocksIndexFormat index_format() const { return index_format_; }
  // The named block of the metaindex; null if there is none.
  const NamedBlock* FindBlock(std::string_view name) const;
  // The compression of the block at `handle`, which has been read.
  uint8_t CompressionOf(const BlockHandle& handle) const {
    return static_cast<uint8_t>(image_[handle.offset + handle.size]);
  }

  // Calls visit(index key, handle) for each data block, in order. The key is an internal key that
  // none of the block's comes after. Blocks neither overlap nor go back. Errors of `visit` end the
  // walk and are returned as they are; others say the offset, not the file.
  using Visit = std::function<Status(const std::string& key, const BlockHandle& handle)>;
  Status ForEachDataBlock(const Visit& visit) const;
  // The same for each block that the index consists of, with its name.
  Status ForEachIndexBlock(
      const std::function<void(std::string_view what, const BlockHandle& handle)>& visit) const;

  // Reads a block. `*contents` views the image or `*buffer`.
  Status ReadBlock(const BlockHandle& handle, std::string* buffer,
                   std::string_view* contents) const;
  // Reads a data block, less its hash index if it has one. Errors say the offset, not the file.
  Status ReadDataBlock(const BlockHandle& handle, RocksBlockBuffer* buffer,
                       std::string_view* contents) const;

 private:
  RocksTable() = default;
  Status Init();
  Status InitMetaindex();
  // Whether the properties match their checksum as they were before the file was ingested: RocksDB
  // leaves it as it is when it puts the sequence number in.
  bool HasExternalSequence(const BlockHandle& properties) const;
  Status InitProperties();
  Status InitIndex();
  // NotSupported if there is something in the table that is not understood.
  Status CheckKnown() const;
  // Walks the index block at `handle`, and what `visit` makes of its entries.
  Status WalkIndex(const BlockHandle& handle, const RocksIndexFormat& format,
                   const Visit& visit) const;

  uint64_t blocks_end() const { return image_.size() - kRocksFooterBytes; }

  MappedFile file_;
  std::string_view image_;
  std::string name_;
  RocksFooter footer_;
  std::vector<NamedBlock> metaindex_;
  RocksProperties properties_;
  BlockHandle index_;
  RocksIndexType index_type_ = RocksIndexType::kBinarySearch;
  RocksIndexFormat index_format_;
};

}  // namespace sluice
