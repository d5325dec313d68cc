#include "fuzz/table_input.h"

#include "table/block.h"
#include "table/stored_block.h"
#include "table/testing.h"

namespace sluice::fuzz {

namespace {

void MendBlock(const BlockHandle& handle, std::string* image) {
  if (HandleFits(handle, image->size())) {
    char* const trailer = image->data() + handle.offset + handle.size;
    EncodeFixed32(trailer + 1, MaskCrc(Crc32c({image->data() + handle.offset, handle.size + 1})));
  }
}

// Mends the blocks that the values of the block at `handle` name.
void MendNamedBlocks(const BlockHandle& handle, KeyKind kind, std::string* image) {
  std::string buffer;
  std::string_view contents;
  Block block;
  if (!ReadStoredBlock(*image, handle, &buffer, &contents).ok()) {
    return;
  }
  const std::string copy(contents);  // which mending must not change
  if (!Block::Parse(copy, &block).ok()) {
    return;
  }
  BlockIterator entry(block, kind);
  for (entry.SeekToFirst(); entry.Valid(); entry.Next()) {
    BlockHandle named;
    std::string_view encoded = entry.value();
    if (named.ReadFrom(&encoded) && named != handle) {
      MendBlock(named, image);
    }
  }
}

void MendChecksums(std::string* image) {
  Footer footer;
  if (image->size() < kFooterBytes ||
      !Footer::Parse(std::string_view(*image).substr(image->size() - kFooterBytes), image->size(),
                     &footer)
           .ok()) {
    return;
  }
  MendBlock(footer.index, image);
  MendBlock(footer.metaindex, image);
  MendNamedBlocks(footer.index, KeyKind::kInternal, image);
  MendNamedBlocks(footer.metaindex, KeyKind::kPlain, image);
}

}  // namespace

std::string TableOfInput(std::string_view input) {
  if (input.empty()) {
    return "";
  }
  std::string image(input.substr(1));
  if ((input[0] & kMendChecksums) != 0) {
    MendChecksums(&image);
  }
  return image;
}

std::string MakeTableInput(Random* random) {
  TableOptions options = RandomTableOptions(random);
  options.block_bytes = static_cast<uint32_t>(Uniform(random, 1, 600));
  const auto entries = RandomEntries(
      random, {.count = Uniform(random, 0, 100), .most_key_bytes = 20, .most_value_bytes = 60});
  const char flags = Uniform(random, 0, 3) != 0 ? kMendChecksums : 0;
  return flags + (Uniform(random, 0, 3) == 0
                      ? WriteTableWithDictionary(entries, options.block_bytes)
                      : WriteTable(entries, options));
}

}  // namespace sluice::fuzz
