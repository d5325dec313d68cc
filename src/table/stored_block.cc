#include "table/stored_block.h"

#include <fmt/format.h>

namespace sluice {

Status ReadStoredBlock(std::string_view image, const BlockHandle& handle, std::string* buffer,
                       std::string_view* contents, Compression* stored_as,
                       const ZstdDictionary* dictionary, const BlockSum& sum) {
  if (!HandleFits(handle, image.size())) {
    return Status::Corruption(fmt::format("offset {}: block of {} bytes reaches past the end at {}",
                                          handle.offset, handle.size, image.size()));
  }
  const std::string_view stored = image.substr(handle.offset, handle.size);
  const char* const trailer = stored.data() + stored.size();
  // The sum first: it reads the block from front to back, as prefetchers like it, and the trailer is
  // in a cache then.
  const uint32_t actual = sum.Of({stored.data(), stored.size() + 1}, handle.offset);
  const uint32_t expected = DecodeFixed32(trailer + 1);
  if (actual != expected) {
    return Status::Corruption(
        fmt::format("offset {}: block of {} bytes has checksum {:08x}, but {:08x} is stored",
                    handle.offset, handle.size, actual, expected));
  }
  *stored_as = static_cast<Compression>(*trailer);
  if (*stored_as == Compression::kNone) {
    *contents = stored;
    return {};
  }
  if (Status status = Uncompress(*stored_as, stored, buffer, dictionary); !status.ok()) {
    return status.WithContext(fmt::format("offset {}", handle.offset));
  }
  *contents = *buffer;
  return {};
}

Status ReadStoredBlock(std::string_view image, const BlockHandle& handle, std::string* buffer,
                       std::string_view* contents, const ZstdDictionary* dictionary) {
  Compression ignored;
  return ReadStoredBlock(image, handle, buffer, contents, &ignored, dictionary);
}

uint32_t RawBlockCrc(std::string_view contents) {
  const char type = static_cast<char>(Compression::kNone);
  return ExtendCrc32c(Crc32c(contents), {&type, 1});
}

size_t AppendStoredBlock(std::string_view contents, const Codec& wanted, std::string* buffer,
                         std::string* out, const ZstdDictionary* dictionary) {
  Compression type = Compression::kNone;
  if (Compress(wanted, contents, buffer, dictionary) &&
      buffer->size() < contents.size() - contents.size() / 8) {
    type = wanted.type;
    contents = *buffer;
  }
  out->append(contents);
  AppendBlockTrailer(contents, type, out);
  return contents.size();
}

}  // namespace sluice
