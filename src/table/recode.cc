#include "table/recode.h"

#include <fmt/format.h>

#include "table/block_builder.h"
#include "table/index_walk.h"
#include "table/key_scan.h"
#include "table/stored_block.h"
#include "table/table_writer.h"

namespace sluice {

namespace {

Status Recode(std::string_view data, const OpenIndex& index, Compression to,
              const ZstdDictionary* dictionary, const BlockSum& sum, RecodedTable* out) {
  out->image.clear();
  out->image.reserve(to == Compression::kNone ? 2 * data.size() : data.size());
  BlockBuilder new_index(1);
  std::string raw;
  std::string compressed;
  std::string encoded;
  uint64_t end = 0;
  SLUICE_RETURN_IF_ERROR(index.ForEachBlock([&](std::string_view key, const BlockHandle& handle) {
    std::string_view contents;
    Compression stored_as;
    SLUICE_RETURN_IF_ERROR(
        ReadStoredBlock(data, handle, &raw, &contents, &stored_as, dictionary, sum));
    SLUICE_RETURN_IF_ERROR(CheckFollows(handle, &end));
    const uint64_t bytes = handle.size + kBlockTrailerBytes;
    BlockHandle recoded{out->image.size(), handle.size};
    if (stored_as == to && (dictionary == nullptr || to != Compression::kZstd)) {
      out->image.append(data.substr(handle.offset, bytes));
    } else {
      recoded.size = AppendStoredBlock(contents, {to}, &compressed, &out->image);
    }
    if (sum.kind != BlockChecksum::kCrc32c) {  // and maybe of its place
      sum.Seal(out->image.data(), recoded);
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
                   RecodedTable* out, const ZstdDictionary* dictionary, const BlockSum& sum) {
  OpenIndex index;
  SLUICE_RETURN_IF_ERROR(OpenIndex::In(image, index_handle, &index));
  return Recode(image, index, to, dictionary, sum, out);
}

Status RecodeBlocks(std::string_view data, std::string_view index_block, Compression to,
                    RecodedTable* out) {
  OpenIndex index;
  SLUICE_RETURN_IF_ERROR(OpenIndex::Apart(index_block, &index));
  return Recode(data, index, to, nullptr, {}, out);
}

Status FinishTable(std::string_view data, std::string_view index_block,
                   const FinishOptions& options, WritableFile* file) {
  OpenIndex index;
  SLUICE_RETURN_IF_ERROR(OpenIndex::Apart(index_block, &index));
  TableTail tail(options.bloom_bits_per_key);
  if (options.bloom_bits_per_key > 0) {
    std::string buffer;
    KeyScanner keys;
    uint64_t end = 0;
    SLUICE_RETURN_IF_ERROR(index.ForEachBlock([&](std::string_view, const BlockHandle& handle) {
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
