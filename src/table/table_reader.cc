#include "table/table_reader.h"

#include <fmt/format.h>

#include "table/stored_block.h"

namespace sluice {

namespace {

Status AtOffset(const Status& status, uint64_t offset) {
  return status.WithContext(fmt::format("offset {}", offset));
}

// Reads and parses a block whose bytes stay in `image` or `buffer`.
Status ReadBlock(std::string_view image, const BlockHandle& handle, std::string* buffer,
                 Block* block, const ZstdDictionary* dictionary = nullptr) {
  std::string_view contents;
  SLUICE_RETURN_IF_ERROR(ReadStoredBlock(image, handle, buffer, &contents, dictionary));
  return AtOffset(Block::Parse(contents, block), handle.offset);
}

}  // namespace

Status TableReader::Open(Env* env, const std::string& path, std::unique_ptr<TableReader>* table) {
  MappedFile file;
  SLUICE_RETURN_IF_ERROR(env->MapFile(path, &file));
  std::unique_ptr<TableReader> opened;
  SLUICE_RETURN_IF_ERROR(OpenImage(file.bytes(), path, &opened));
  opened->file_ = std::move(file);
  *table = std::move(opened);
  return {};
}

Status TableReader::OpenImage(std::string_view image, std::string name,
                              std::unique_ptr<TableReader>* table) {
  std::unique_ptr<TableReader> opened(new TableReader);
  opened->image_ = image;
  opened->name_ = std::move(name);
  SLUICE_RETURN_IF_ERROR(opened->Init().WithContext(opened->name_));
  *table = std::move(opened);
  return {};
}

Status TableReader::Init() {
  const size_t footer_bytes = std::min(image_.size(), kFooterBytes);
  SLUICE_RETURN_IF_ERROR(
      Footer::Parse(image_.substr(image_.size() - footer_bytes), image_.size(), &footer_));
  blocks_ = image_.substr(0, image_.size() - kFooterBytes);
  SLUICE_RETURN_IF_ERROR(
      ReadBlock(blocks_, footer_.index, &index_buffer_, &index_).WithContext("index block"));
  SLUICE_RETURN_IF_ERROR(ReadBlock(blocks_, footer_.metaindex, &metaindex_buffer_, &metaindex_)
                             .WithContext("metaindex block"));
  return InitMetaindex();
}

Status TableReader::InitMetaindex() {
  BlockIterator entry(metaindex_, KeyKind::kPlain);
  for (entry.SeekToFirst(); entry.Valid(); entry.Next()) {
    if (entry.key().starts_with(kFilterPrefix) && !has_filter_) {
      filter_name_ = entry.key();
    }
    const bool is_dictionary = entry.key() == kDictionaryName;
    if (!is_dictionary && entry.key() != kBloomFilterName) {
      continue;
    }
    BlockHandle handle;
    std::string_view encoded = entry.value();
    if (!handle.ReadFrom(&encoded)) {
      return Status::Corruption(
          fmt::format("offset {}: metaindex block: malformed handle of the {} block",
                      footer_.metaindex.offset, is_dictionary ? "dictionary" : "filter"));
    }
    SLUICE_RETURN_IF_ERROR(is_dictionary ? InitDictionary(handle) : InitFilter(handle));
  }
  return AtOffset(entry.status().WithContext("metaindex block"), footer_.metaindex.offset);
}

Status TableReader::InitFilter(const BlockHandle& handle) {
  std::string_view contents;
  SLUICE_RETURN_IF_ERROR(
      ReadStoredBlock(blocks_, handle, &filter_buffer_, &contents).WithContext("filter block"));
  SLUICE_RETURN_IF_ERROR(AtOffset(FilterBlock::Parse(contents, &filter_), handle.offset));
  has_filter_ = true;
  return {};
}

Status TableReader::InitDictionary(const BlockHandle& handle) {
  std::string buffer;
  std::string_view contents;
  SLUICE_RETURN_IF_ERROR(
      ReadStoredBlock(blocks_, handle, &buffer, &contents).WithContext("dictionary block"));
  return AtOffset(ZstdDictionary::Parse(contents, &dictionary_), handle.offset);
}

Status TableReader::ReadHandle(const BlockIterator& index, BlockHandle* handle) const {
  std::string_view encoded = index.value();
  if (!handle->ReadFrom(&encoded)) {
    return Status::Corruption(
        fmt::format("offset {}: index block: malformed block handle in the entry at byte {}",
                    footer_.index.offset, index.offset()));
  }
  return {};
}

Status TableReader::ReadDataBlock(const BlockHandle& handle, std::string* buffer,
                                  Block* block) const {
  return ReadBlock(blocks_, handle, buffer, block, dictionary_.get());
}

Status TableReader::Get(std::string_view user_key, SequenceNumber snapshot, uint64_t* trailer,
                        std::string* value) const {
  std::string target(user_key);
  PutFixed64(&target, FirstTrailer(snapshot));
  BlockIterator index(index_);
  index.Seek(target);
  if (!index.Valid()) {
    SLUICE_RETURN_IF_ERROR(AtOffset(index.status(), footer_.index.offset).WithContext(name_));
    return Status::NotFound("no such key");
  }
  BlockHandle handle;
  SLUICE_RETURN_IF_ERROR(ReadHandle(index, &handle).WithContext(name_));
  if (has_filter_ && !filter_.KeyMayMatch(handle.offset, user_key)) {
    return Status::NotFound("no such key");
  }
  std::string buffer;
  Block block;
  SLUICE_RETURN_IF_ERROR(ReadDataBlock(handle, &buffer, &block).WithContext(name_));
  BlockIterator data(block);
  data.Seek(target);
  SLUICE_RETURN_IF_ERROR(AtOffset(data.status(), handle.offset).WithContext(name_));
  if (!data.Valid() || UserKey(data.key()) != user_key) {
    return Status::NotFound("no such key");
  }
  *trailer = Trailer(data.key());
  value->assign(data.value());
  return {};
}

TableIterator::TableIterator(const TableReader* table) : table_(table), index_(table->index()) {}

Status TableIterator::status() const {
  if (!status_.ok()) {
    return status_.WithContext(table_->name());
  }
  if (const Status status = index_.status(); !status.ok()) {
    return AtOffset(status.WithContext("index block"), table_->footer().index.offset)
        .WithContext(table_->name());
  }
  return AtOffset(data_.status(), handle_.offset).WithContext(table_->name());
}

bool TableIterator::OpenBlock() {
  data_ = BlockIterator();
  if (!index_.Valid()) {
    return false;
  }
  status_ = table_->ReadHandle(index_, &handle_);
  Block block;
  if (status_.ok()) {
    status_ = table_->ReadDataBlock(handle_, &buffer_, &block);
  }
  if (!status_.ok()) {
    return false;
  }
  data_ = BlockIterator(block);
  return true;
}

void TableIterator::SkipForward() {
  while (!data_.Valid() && data_.status().ok() && index_.Valid()) {
    index_.Next();
    if (!OpenBlock()) {
      return;
    }
    data_.SeekToFirst();
  }
}

void TableIterator::SkipBackward() {
  while (!data_.Valid() && data_.status().ok() && index_.Valid()) {
    index_.Prev();
    if (!OpenBlock()) {
      return;
    }
    data_.SeekToLast();
  }
}

void TableIterator::SeekToFirst() {
  status_ = {};
  index_.SeekToFirst();
  if (OpenBlock()) {
    data_.SeekToFirst();
    SkipForward();
  }
}

void TableIterator::SeekToLast() {
  status_ = {};
  index_.SeekToLast();
  if (OpenBlock()) {
    data_.SeekToLast();
    SkipBackward();
  }
}

void TableIterator::Seek(std::string_view internal_key) {
  status_ = {};
  index_.Seek(internal_key);
  if (OpenBlock()) {
    data_.Seek(internal_key);
    SkipForward();
  }
}

void TableIterator::Next() {
  data_.Next();
  SkipForward();
}

void TableIterator::Prev() {
  data_.Prev();
  SkipBackward();
}

Status FindBloomBitsPerKey(const TableReader& table, int* bits_per_key) {
  *bits_per_key = 0;
  const FilterBlock* const filter = table.filter();
  if (filter == nullptr) {
    return {};
  }
  BloomBitsEstimate estimate;
  BlockIterator index(table.index());
  std::string buffer;
  // Keys counted so far in the blocks that one filter serves, and where such a block stands.
  uint64_t keys = 0;
  uint64_t served = 0;
  for (index.SeekToFirst(); index.Valid() && !estimate.exact(); index.Next()) {
    BlockHandle handle;
    Block block;
    SLUICE_RETURN_IF_ERROR(table.ReadHandle(index, &handle).WithContext(table.name()));
    SLUICE_RETURN_IF_ERROR(table.ReadDataBlock(handle, &buffer, &block).WithContext(table.name()));
    if (filter->IndexOf(handle.offset) != filter->IndexOf(served)) {
      estimate.Add(filter->FilterOf(served), keys);
      keys = 0;
    }
    served = handle.offset;
    BlockIterator entry(block);
    for (entry.SeekToFirst(); entry.Valid(); entry.Next()) {
      ++keys;
    }
    SLUICE_RETURN_IF_ERROR(AtOffset(entry.status(), handle.offset).WithContext(table.name()));
  }
  SLUICE_RETURN_IF_ERROR(
      AtOffset(index.status(), table.footer().index.offset).WithContext(table.name()));
  if (!estimate.exact()) {
    estimate.Add(filter->FilterOf(served), keys);
  }
  *bits_per_key = estimate.bits_per_key();
  return {};
}

}  // namespace sluice
