// A record of a type that LevelDB does not have, under a right CRC.

#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "sluice/env.h"
#include "table/table_reader.h"
#include "util/crc32c.h"

namespace sluice {

// Makes a reference of the first value in the middle one of the table's data blocks. Returns the
// block's offset. REQUIRES: blocks are not compressed, and have a restart at every entry.
inline uint64_t ForgeReference(const std::string& path) {
  std::unique_ptr<TableReader> table;
  EXPECT_TRUE(TableReader::Open(Env::Posix(), path, &table).ok());
  BlockIterator at(table->index());
  at.SeekToFirst();
  for (uint32_t block = 0; block < table->index().restarts() / 2; ++block) {
    at.Next();
  }
  BlockHandle handle;
  EXPECT_TRUE(at.Valid() && table->ReadHandle(at, &handle).ok());
  std::string bytes(table->image().substr(handle.offset, handle.size + kBlockTrailerBytes));
  Block block;
  EXPECT_TRUE(Block::Parse(std::string_view(bytes).substr(0, handle.size), &block).ok());
  BlockIterator entry(block);
  entry.SeekToFirst();
  while (entry.Valid() &&
         TrailerType(Trailer(entry.key())) != static_cast<uint8_t>(RecordType::kValue)) {
    entry.Next();
  }
  EXPECT_TRUE(entry.Valid());
  bytes[entry.end_offset() - entry.value().size() - kTrailerBytes] =
      static_cast<char>(kTypeValueReference);
  EncodeFixed32(bytes.data() + handle.size + 1,
                MaskCrc(Crc32c(std::string_view(bytes).substr(0, handle.size + 1))));
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(handle.offset));
  file << bytes;
  return handle.offset;
}

}  // namespace sluice
