#include "table/recode.h"

#include <fmt/format.h>

#include "table/block.h"
#include "table/block_builder.h"
#include "table/key_scan.h"
#include "table/stored_block.h"
#include "table/table_writer.h"

namespace sluice {

namespace {

// An index block with its trailer, opened.
struct Index {
  std::string buffer;
  std::string_view contents;
  Block block;
  uint64_t offset = 0;  // of the block, for errors
};

Status OpenIndex(std::string_view image, const BlockHandle& handle, Index* index) {
  index->offset = handle.offset;
  SLUICE_RETURN_IF_ERROR(
      ReadStoredBlock(image, handle, &index->buffer, &index->contents).WithContext("index block"));
  return Block::Parse(index->contents, &index->block)
      .WithContext(fmt::format("offset {}: index block", handle.offset));
}

Status OpenIndex(std::string_view index_block, Index* index) {
  if (index_block.size() < kBlockTrailerBytes) {
    return Status::Corruption(
        fmt::format("index block of {} bytes has no trailer", index_block.size()));
  }
  return OpenIndex(index_block, {0, index_block.size() - kBlockTrailerBytes}, index);
}

// Calls visit(index key, handle) for each entry.
template <typename Visit>
Status ForEachBlock(const Index& index, const Visit& visit) {
  BlockIterator entry(index.block);
  for (entry.SeekToFirst(); entry.Valid(); entry.Next()) {
    BlockHandle handle;
    std::string_view encoded = entry.value();
    if (!handle.ReadFrom(&encoded)) {
      return Status::Corruption(
          fmt::format("offset {}: index block: malformed block handle in the entry at byte {}",
                      index.offset, entry.offset()));
    }
    SLUICE_RETURN_IF_ERROR(visit(entry.key(), handle));
  }
  return entry.status().WithContext(fmt::format("offset {}: index block", index.offset));
}

// Checks that blocks stand in the order of the index. `*end`: the end of the block before, and then
// of this one, which lies in the table.
Status CheckFollows(const BlockHandle& handle, uint64_t* end) {
  if (handle.offset < *end) {
    return Status::Corruption(
        fmt::format("offset {}: block starts before the one before it ends", handle.offset));
  }
  *end = handle.offset + handle.size + kBlockTrailerBytes;
  return {};
}

Status Recode(std::string_view data, const Index& index, Compression to,
              const ZstdDictionary* dictionary, RecodedTable* out) {
  out->image.clear();
  out->image.reserve(to == Compression::kNone ? 2 * data.size() : data.size());
  BlockBuilder new_index(1);
  std::string raw;
  std::string compressed;
  std::string encoded;
  uint64_t end = 0;
  SLUICE_RETURN_IF_ERROR(ForEachBlock(index, [&](std::string_view key, const BlockHandle& handle) {
    std::string_view contents;
    Compression stored_as;
    SLUICE_RETURN_IF_ERROR(ReadStoredBlock(data, handle, &raw, &contents, &stored_as, dictionary));
    // An index that names one block over and over must not make an image without end.
    SLUICE_RETURN_IF_ERROR(CheckFollows(handle, &end));
    const uint64_t bytes = handle.size + kBlockTrailerBytes;
    BlockHandle recoded{out->image.size(), handle.size};
    if (stored_as == to && (dictionary == nullptr || to != Compression::kZstd)) {
      out->image.append(data.substr(handle.offset, bytes));
    } else {
      recoded.size = AppendStoredBlock(contents, {to}, &compressed, &out->image);
    }
    encoded.clear();
    recoded.AppendTo(&encoded);
    new_index.Add(key, encoded);
    return Status();
  }));
  const std::string_view contents = new_index.Finish();
  out->index = {out->image.size(), contents.size()};
  AppendStoredBlock(contents, {}, &compressed, &out->image);
  return {};
}

// Adds the keys of the block at `handle` to the filter.
Status AddKeys(std::string_view data, const BlockHandle& handle, std::string* buffer,
               KeyScanner* keys, TableTail* tail) {
  std::string_view contents;
  SLUICE_RETURN_IF_ERROR(ReadStoredBlock(data, handle, buffer, &contents));
  Block block;
  SLUICE_RETURN_IF_ERROR(
      Block::Parse(contents, &block).WithContext(fmt::format("offset {}", handle.offset)));
  tail->StartBlock(handle.offset);
  return keys->Scan(block, [&](std::string_view key, bool) { tail->AddKey(UserKey(key)); })
      .WithContext(fmt::format("offset {}", handle.offset));
}

}  // namespace

Status RecodeTable(std::string_view image, const BlockHandle& index_handle, Compression to,
                   RecodedTable* out, const ZstdDictionary* dictionary) {
  Index index;
  SLUICE_RETURN_IF_ERROR(OpenIndex(image, index_handle, &index));
  return Recode(image, index, to, dictionary, out);
}

Status RecodeBlocks(std::string_view data, std::string_view index_block, Compression to,
                    RecodedTable* out) {
  Index index;
  SLUICE_RETURN_IF_ERROR(OpenIndex(index_block, &index));
  return Recode(data, index, to, nullptr, out);
}

Status FinishTable(std::string_view data, std::string_view index_block,
                   const FinishOptions& options, WritableFile* file) {
  Index index;
  SLUICE_RETURN_IF_ERROR(OpenIndex(index_block, &index));
  TableTail tail(options.bloom_bits_per_key);
  if (options.bloom_bits_per_key > 0) {
    std::string buffer;
    KeyScanner keys;
    uint64_t end = 0;
    SLUICE_RETURN_IF_ERROR(ForEachBlock(index, [&](std::string_view, const BlockHandle& handle) {
      SLUICE_RETURN_IF_ERROR(AddKeys(data, handle, &buffer, &keys, &tail));
      return CheckFollows(handle, &end);
    }));
  }
  SLUICE_RETURN_IF_ERROR(file->Append(data));
  std::string bytes;
  tail.Finish(data.size(), index.contents, {options.compression}, &bytes);
  return file->Append(bytes);
}

}  // namespace sluice
