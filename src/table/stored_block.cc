#include "table/stored_block.h"

#include <fmt/format.h>
#include <snappy.h>

namespace sluice {

namespace {

// Snappy's densest element copies 64 bytes and takes 3. A length above that is a lie, better found
// before memory is set aside for it.
bool PossibleSnappyLength(size_t compressed, size_t length) { return length / 22 <= compressed; }

Status Unsnap(std::string_view stored, uint64_t offset, std::string* buffer) {
  size_t length;
  if (!snappy::GetUncompressedLength(stored.data(), stored.size(), &length) ||
      !PossibleSnappyLength(stored.size(), length)) {
    return Status::Corruption(
        fmt::format("offset {}: compressed block claims an impossible length", offset));
  }
  buffer->resize(length);
  if (!snappy::RawUncompress(stored.data(), stored.size(), buffer->data())) {
    return Status::Corruption(fmt::format("offset {}: malformed Snappy data", offset));
  }
  return {};
}

}  // namespace

Status ReadStoredBlock(std::string_view image, const BlockHandle& handle, std::string* buffer,
                       std::string_view* contents, Compression* stored_as) {
  if (!HandleFits(handle, image.size())) {
    return Status::Corruption(fmt::format("offset {}: block of {} bytes reaches past the end at {}",
                                          handle.offset, handle.size, image.size()));
  }
  const std::string_view stored = image.substr(handle.offset, handle.size);
  const char* const trailer = stored.data() + stored.size();
  const uint32_t expected = UnmaskCrc(DecodeFixed32(trailer + 1));
  const uint32_t actual = Crc32c({stored.data(), stored.size() + 1});
  if (actual != expected) {
    return Status::Corruption(
        fmt::format("offset {}: block of {} bytes has checksum {:08x}, but {:08x} is stored",
                    handle.offset, handle.size, actual, expected));
  }
  switch (static_cast<uint8_t>(*trailer)) {
    case static_cast<uint8_t>(Compression::kNone):
      *stored_as = Compression::kNone;
      *contents = stored;
      return {};
    case static_cast<uint8_t>(Compression::kSnappy):
      *stored_as = Compression::kSnappy;
      SLUICE_RETURN_IF_ERROR(Unsnap(stored, handle.offset, buffer));
      *contents = *buffer;
      return {};
    default:
      return Status::NotSupported(fmt::format("offset {}: block has unknown compression type {}",
                                              handle.offset, static_cast<uint8_t>(*trailer)));
  }
}

Status ReadStoredBlock(std::string_view image, const BlockHandle& handle, std::string* buffer,
                       std::string_view* contents) {
  Compression ignored;
  return ReadStoredBlock(image, handle, buffer, contents, &ignored);
}

size_t AppendStoredBlock(std::string_view contents, Compression wanted, std::string* buffer,
                         std::string* out) {
  Compression type = Compression::kNone;
  if (wanted == Compression::kSnappy) {
    buffer->resize(snappy::MaxCompressedLength(contents.size()));
    size_t length;
    snappy::RawCompress(contents.data(), contents.size(), buffer->data(), &length);
    if (length < contents.size() - contents.size() / 8) {
      type = Compression::kSnappy;
      contents = std::string_view(*buffer).substr(0, length);
    }
  }
  out->append(contents);
  AppendBlockTrailer(contents, type, out);
  return contents.size();
}

}  // namespace sluice
