#include "tree/table_top.h"

#include <fmt/format.h>

#include <string>

#include "table/block.h"
#include "table/stored_block.h"

namespace sluice {

uint64_t TablePiece::BeginOf(const Extent& extent) {
  return (extent.bytes - kFooterBytes) / kPageBytes * kPageBytes;
}

Status TablePiece::ReadBlock(const BlockHandle& handle, std::string* buffer,
                             std::string_view* contents) const {
  return ReadStoredBlock(bytes, {handle.offset - begin, handle.size}, buffer, contents);
}

Status TableTop::Make(const Extent& extent, const TablePiece& end, TableTop** top, uint64_t* from) {
  *top = nullptr;
  Footer footer;
  SLUICE_RETURN_IF_ERROR(
      Footer::Parse(end.bytes.substr(end.bytes.size() - kFooterBytes), extent.bytes, &footer));
  if (!end.Has(footer.metaindex)) {
    *from = footer.metaindex.offset;
    return {};
  }
  std::string buffer;
  std::string_view contents;
  Block metaindex;
  SLUICE_RETURN_IF_ERROR(end.ReadBlock(footer.metaindex, &buffer, &contents));
  SLUICE_RETURN_IF_ERROR(Block::Parse(contents, &metaindex));
  BlockHandle parts;
  BlockHandle dictionary;
  BlockIterator at(metaindex, KeyKind::kPlain);
  for (at.SeekToFirst(); at.Valid(); at.Next()) {
    if (at.key() != kDictionaryName && at.key() != kPartsName) {
      continue;
    }
    BlockHandle& handle = at.key() == kPartsName ? parts : dictionary;
    std::string_view value = at.value();
    if (!handle.ReadFrom(&value) || !HandleFits(handle, extent.bytes)) {
      return Status::Corruption(fmt::format("malformed handle of the block \"{}\"", at.key()));
    }
  }
  SLUICE_RETURN_IF_ERROR(at.status());
  if (parts.size == 0) {
    return Status::Corruption("the table's head is not in parts");
  }
  if (!end.Has(parts)) {
    *from = parts.offset;
    return {};
  }
  auto made = std::unique_ptr<TableTop>(new TableTop);
  std::string parts_buffer;
  SLUICE_RETURN_IF_ERROR(end.ReadBlock(parts, &parts_buffer, &contents));
  SLUICE_RETURN_IF_ERROR(BlockIndex::Parse(contents, &made->parts_));
  // If the pages were given to another extent, for example by a copy of the database, they hold a
  // sound table, too.
  if (made->parts() == 0 || made->last_key(made->parts() - 1) != extent.last_of_table()) {
    return Status::Corruption("the pages hold the table of another extent");
  }
  for (size_t i = 0; i < made->parts(); ++i) {
    if (!HandleFits(made->part(i), extent.bytes)) {
      return Status::Corruption(fmt::format("part {} of the head reaches past the end", i));
    }
    size_t prefix_bytes = 0;
    if (!ReadPrefixBytes(made->parts_.filter(i), &prefix_bytes) ||
        (i > 0 && prefix_bytes != made->prefix_bytes_)) {
      return Status::Corruption(fmt::format("malformed prefix length of part {} of the head", i));
    }
    made->prefix_bytes_ = prefix_bytes;
  }
  made->index_ = footer.index;
  made->dictionary_ = dictionary;
  made->slots_ = std::make_unique<Slot[]>(made->slots());
  made->memory_bytes_ = sizeof(TableTop) + made->slots() * sizeof(Slot) + made->parts_.heap_bytes();
  *top = made.release();
  return {};
}

}  // namespace sluice
