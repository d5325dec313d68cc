#include "leveldb_dir/reference_check.h"

#include <fmt/format.h>

#include "table/block.h"
#include "table/stored_block.h"

namespace sluice {

namespace {

bool HasReference(const Block& block) {
  BlockIterator entry(block);
  for (entry.SeekToFirst(); entry.Valid(); entry.Next()) {
    if (TrailerType(Trailer(entry.key())) == static_cast<uint8_t>(kTypeValueReference)) {
      return true;
    }
  }
  return false;
}

// False if the block is malformed.
bool ReadBlock(std::string_view image, const BlockHandle& handle, std::string* buffer,
               Block* block) {
  std::string_view contents;
  return ReadStoredBlock(image, handle, buffer, &contents).ok() &&
         Block::Parse(contents, block).ok();
}

}  // namespace

Status CheckNoReferences(std::string_view image, const BlockHandle& index, const KeyRange& range,
                         const std::string& path) {
  std::string index_buffer;
  std::string buffer;
  Block index_block;
  Block block;
  if (!ReadBlock(image, index, &index_buffer, &index_block)) {
    return {};
  }
  BlockIterator entry(index_block);
  uint64_t end = 0;       // of the block before
  bool past_end = false;  // a block lies above the index key before it
  for (entry.SeekToFirst(); entry.Valid() && !past_end; entry.Next()) {
    BlockHandle handle;
    std::string_view value = entry.value();
    // Or else an index could name one block any number of times.
    if (!handle.ReadFrom(&value) || handle.offset < end || !HandleFits(handle, image.size())) {
      return {};
    }
    end = handle.offset + handle.size;
    const std::string_view last = UserKey(entry.key());
    past_end = range.has_end && last >= range.end;
    if (range.has_begin && last < range.begin) {
      continue;
    }
    if (ReadBlock(image, handle, &buffer, &block) && HasReference(block)) {
      return Status::Corruption(
          fmt::format("{}, offset {}: a record of type {}, which LevelDB does not have", path,
                      handle.offset, static_cast<uint8_t>(kTypeValueReference)));
    }
  }
  return {};
}

}  // namespace sluice
