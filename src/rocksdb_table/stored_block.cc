#include "rocksdb_table/stored_block.h"

#include <fmt/format.h>

namespace sluice {

namespace {

constexpr uint8_t kRocksLz4Hc = 5;
constexpr uint8_t kRocksZstd = 7;

uint8_t RocksTypeOf(Compression compression) {
  return compression == Compression::kZstd ? kRocksZstd : static_cast<uint8_t>(compression);
}

Status UncompressZstd(std::string_view stored, std::string* out) {
  uint32_t bytes;
  if (!GetVarint32(&stored, &bytes)) {
    return Status::Corruption("compressed block without its length");
  }
  SLUICE_RETURN_IF_ERROR(Uncompress(Compression::kZstd, stored, out));
  if (out->size() != bytes) {
    return Status::Corruption(
        fmt::format("compressed block claims {} bytes, but has {}", bytes, out->size()));
  }
  return {};
}

Status UncompressRocks(uint8_t type, std::string_view stored, std::string* out) {
  switch (type) {
    case static_cast<uint8_t>(Compression::kSnappy):
      return Uncompress(Compression::kSnappy, stored, out);
    case static_cast<uint8_t>(Compression::kLz4):
    case kRocksLz4Hc:
      return Uncompress(Compression::kLz4, stored, out);
    case kRocksZstd:
      return UncompressZstd(stored, out);
    default:
      return Status::NotSupported(
          fmt::format("block is compressed by {}", RocksCompressionName(type)));
  }
}

}  // namespace

std::string_view RocksCompressionName(uint8_t type) {
  constexpr std::string_view kNames[] = {"none", "snappy", "zlib",   "bzip2",
                                         "lz4",  "lz4hc",  "xpress", "zstd"};
  return type < std::size(kNames) ? kNames[type] : "an unknown compression";
}

Status ReadRocksBlock(std::string_view image, uint64_t end, const RocksFooter& footer,
                      const BlockHandle& handle, std::string* buffer, std::string_view* contents) {
  if (!HandleFits(handle, end)) {
    return Status::Corruption(fmt::format("offset {}: block of {} bytes reaches past the end at {}",
                                          handle.offset, handle.size, end));
  }
  const std::string_view stored = image.substr(handle.offset, handle.size + 1);
  const uint32_t actual =
      RocksBlockChecksum(footer.checksum, stored) + footer.ChecksumModifier(handle.offset);
  const uint32_t expected = DecodeFixed32(stored.data() + stored.size());
  if (actual != expected && footer.checksum != RocksChecksum::kNone) {
    return Status::Corruption(
        fmt::format("offset {}: block of {} bytes has checksum {:08x}, but {:08x} is stored",
                    handle.offset, handle.size, actual, expected));
  }
  *contents = stored.substr(0, handle.size);
  if (const auto type = static_cast<uint8_t>(stored.back()); type != 0) {
    SLUICE_RETURN_IF_ERROR(UncompressRocks(type, *contents, buffer)
                               .WithContext(fmt::format("offset {}", handle.offset)));
    *contents = *buffer;
  }
  return {};
}

namespace {

// Gives the block that `out` has from `begin` on its trailer.
BlockHandle AddTrailer(size_t begin, Compression type, const RocksFooter& footer, uint64_t base,
                       std::string* out) {
  const BlockHandle handle{base + begin, out->size() - begin};
  out->push_back(static_cast<char>(RocksTypeOf(type)));
  const uint32_t checksum =
      RocksBlockChecksum(footer.checksum, std::string_view(*out).substr(begin));
  PutFixed32(out, checksum + footer.ChecksumModifier(handle.offset));
  return handle;
}

}  // namespace

BlockHandle AppendRocksBlock(std::string_view contents, const RocksFooter& footer,
                             const Codec& wanted, std::string* buffer, uint64_t base,
                             std::string* out) {
  const size_t begin = out->size();
  Compression type = Compression::kNone;
  std::string_view stored = contents;
  if (Compress(wanted, contents, buffer)) {
    if (wanted.type == Compression::kZstd) {
      std::string length;
      PutVarint(&length, contents.size());
      buffer->insert(0, length);
    }
    if (buffer->size() < contents.size() - contents.size() / 8) {
      type = wanted.type;
      stored = *buffer;
    }
  }
  out->append(stored);
  return AddTrailer(begin, type, footer, base, out);
}

BlockHandle EndRocksBlock(size_t begin, const RocksFooter& footer, uint64_t base,
                          std::string* out) {
  return AddTrailer(begin, Compression::kNone, footer, base, out);
}

}  // namespace sluice
