// Reads a LevelDB table.
//
// Checks every block it reads against its CRC, always. Errors name the file, the offset of the
// block and the cause. Thread-safe; an iterator is thread-compatible.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sluice/env.h"
#include "table/block.h"
#include "table/codec.h"
#include "table/filter.h"
#include "table/format.h"
#include "util/status.h"

namespace sluice {

class TableReader;

// Walks a table's entries both ways. The reader outlives it. Stops (not Valid()) at the first block
// or entry that is corrupt, never past it.
class TableIterator {
 public:
  explicit TableIterator(const TableReader* table);

  bool Valid() const { return data_.Valid(); }
  // Ok at an entry and past either end.
  Status status() const;

  void SeekToFirst();
  void SeekToLast();
  // To the first entry at or after `internal_key`.
  void Seek(std::string_view internal_key);

  // REQUIRES of the following: Valid().
  void Next();
  void Prev();
  // Both live until the iterator moves.
  std::string_view key() const { return data_.key(); }
  std::string_view value() const { return data_.value(); }

 private:
  // Opens the data block at the index entry; false, with nothing valid, if there is none.
  bool OpenBlock();
  void SkipForward();
  void SkipBackward();

  const TableReader* table_;
  BlockIterator index_;
  BlockHandle handle_;  // of the data block at hand
  std::string buffer_;  // its contents, if it was compressed
  BlockIterator data_;
  Status status_;
};

class TableReader {
 public:
  static Status Open(Env* env, const std::string& path, std::unique_ptr<TableReader>* table);
  // Reads a file's bytes from memory, which outlives the table. `name` leads errors.
  static Status OpenImage(std::string_view image, std::string name,
                          std::unique_ptr<TableReader>* table);

  // The newest version of `user_key` with a sequence number up to `snapshot`: its trailer, which
  // says whether it is a tombstone, and its value. NotFound if there is none.
  Status Get(std::string_view user_key, SequenceNumber snapshot, uint64_t* trailer,
             std::string* value) const;

  const std::string& name() const { return name_; }
  std::string_view image() const { return image_; }
  const Footer& footer() const { return footer_; }
  const Block& index() const { return index_; }
  const Block& metaindex() const { return metaindex_; }

  // The metaindex's name of the filter block, "filter." included; empty if there is none. Only
  // kBloomFilterName is used, others are ignored.
  const std::string& filter_name() const { return filter_name_; }
  // Null if there is none that is understood.
  const FilterBlock* filter() const { return has_filter_ ? &filter_ : nullptr; }

  // What data blocks are compressed with; null if there is none.
  const ZstdDictionary* dictionary() const { return dictionary_.get(); }

  // Reads the data block that an index entry's value names. `buffer` holds its contents if it was
  // compressed, and outlives `block`. Errors say the offset, not the file.
  Status ReadDataBlock(const BlockHandle& handle, std::string* buffer, Block* block) const;
  // The handle in an index entry, at which `index` stands.
  Status ReadHandle(const BlockIterator& index, BlockHandle* handle) const;

 private:
  friend class TableIterator;

  TableReader() = default;
  Status Init();
  // The filter and the dictionary.
  Status InitMetaindex();
  Status InitFilter(const BlockHandle& handle);
  Status InitDictionary(const BlockHandle& handle);

  MappedFile file_;
  std::string_view image_;   // the whole file
  std::string_view blocks_;  // all before the footer
  std::string name_;
  Footer footer_;
  std::string index_buffer_;
  Block index_;
  std::string metaindex_buffer_;
  Block metaindex_;
  std::string filter_name_;
  std::string filter_buffer_;
  std::unique_ptr<const ZstdDictionary> dictionary_;
  bool has_filter_ = false;
  FilterBlock filter_;
};

// Finds out with how many bits per key the table's Bloom filter was built; 0 if it has none. Reads
// as many data blocks as it takes to be sure, the first few as a rule.
Status FindBloomBitsPerKey(const TableReader& table, int* bits_per_key);

}  // namespace sluice
