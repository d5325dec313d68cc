#include "rocksdb_table/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "util/check.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sluice {

namespace {

constexpr size_t kPlaceBytes = 40;
constexpr std::string_view kExtendedMagic("\x3e\x00\x7a\x00", 4);
constexpr size_t kFooterChecksumOffset = 1 + 4;  // in the footer

constexpr struct {
  uint64_t magic;
  std::string_view name;
} kOtherTables[] = {
    {kTableMagic, "a LevelDB table, or one of RocksDB's format_version 0 or 1"},
    {0x8242229663bf9564ull, "a plain table of RocksDB"},
    {0x4f3418eb7a8f13b8ull, "a plain table of RocksDB"},
    {0x926789d0c5f17873ull, "a cuckoo table of RocksDB"},
};

// Of the records in data blocks.
constexpr std::pair<uint8_t, std::string_view> kOtherTypes[] = {
    {0x02, "merge operand"}, {0x07, "single deletion"},
    {0x11, "blob index"},    {0x14, "deletion with a timestamp"},
    {0x16, "wide columns"},  {0x18, "value with a preferred sequence number"},
};

uint64_t MagicOf(std::string_view image) {
  return image.size() < 8 ? 0 : DecodeFixed64(image.data() + image.size() - 8);
}

// Of a table with LevelDB's footer, which is also that of RocksDB's format_version 0.
bool HasRocksProperties(std::string_view image) {
  Footer footer;
  if (image.size() < kFooterBytes ||
      !Footer::Parse(image.substr(image.size() - kFooterBytes), image.size(), &footer).ok()) {
    return false;
  }
  return image.substr(footer.metaindex.offset, footer.metaindex.size).find("rocksdb.properties") !=
         std::string_view::npos;
}

Status CheckMagic(std::string_view image) {
  const uint64_t magic = MagicOf(image);
  for (const auto& other : kOtherTables) {
    if (magic == other.magic) {
      return Status::NotSupported(
          fmt::format("{}, not a block-based table of RocksDB", other.name));
    }
  }
  if (image.size() < kRocksFooterBytes) {
    return Status::Corruption(fmt::format("too short for a table: {} bytes, a footer alone has {}",
                                          image.size(), kRocksFooterBytes));
  }
  if (magic != kRocksTableMagic) {
    return Status::Corruption(
        fmt::format("offset {}: not a RocksDB table: magic {:016x}, not {:016x}", image.size() - 8,
                    magic, kRocksTableMagic));
  }
  return {};
}

Status FooterFault(uint64_t offset, std::string_view what) {
  return Status::Corruption(fmt::format("offset {}: {}", offset, what));
}

// The place as version 6 has it. `bytes`: the footer.
Status ParseExtended(std::string_view bytes, uint64_t offset, RocksFooter* footer) {
  if (bytes.substr(1, 4) != kExtendedMagic) {
    return FooterFault(offset, "footer of version 6 without its second magic number");
  }
  std::string plain(bytes);
  EncodeFixed32(plain.data() + kFooterChecksumOffset, 0);
  footer->checksum_base = DecodeFixed32(bytes.data() + 9);
  if (footer->checksum_base == 0) {
    return FooterFault(offset, "footer has no base for context checksums");
  }
  const uint32_t stored = DecodeFixed32(bytes.data() + kFooterChecksumOffset);
  const uint32_t computed =
      RocksBlockChecksum(footer->checksum, plain) + footer->ChecksumModifier(offset);
  if (stored != computed) {  // without checksums, too, the place is in what is stored
    return FooterFault(
        offset, fmt::format("footer has checksum {:08x}, but {:08x} is stored", computed, stored));
  }
  if (DecodeFixed64(bytes.data() + 1 + kPlaceBytes - 8) != 0) {
    return Status::NotSupported(
        fmt::format("offset {}: footer with a feature of later versions", offset));
  }
  footer->metaindex.size = DecodeFixed32(bytes.data() + 13);
  if (footer->metaindex.size + kBlockTrailerBytes > offset) {
    return FooterFault(offset, fmt::format("footer claims a metaindex block of {} bytes before it",
                                           footer->metaindex.size));
  }
  footer->metaindex.offset = offset - kBlockTrailerBytes - footer->metaindex.size;
  return {};
}

Status ParseHandles(std::string_view place, uint64_t offset, RocksFooter* footer) {
  if (!footer->metaindex.ReadFrom(&place) || !footer->index.ReadFrom(&place)) {
    return FooterFault(offset, "malformed footer");
  }
  for (const auto& [name, handle] :
       {std::pair("metaindex", footer->metaindex), std::pair("index", footer->index)}) {
    if (!HandleFits(handle, offset)) {
      return FooterFault(
          offset,
          fmt::format("footer places the {} block at {} with {} bytes, but blocks end at {}", name,
                      handle.offset, handle.size, offset));
    }
  }
  return {};
}

}  // namespace

uint32_t RocksBlockChecksum(RocksChecksum type, std::string_view bytes) {
  const char* const data = bytes.data();
  SLUICE_CHECK(data != nullptr);  // there is a type at least
  switch (type) {
    case RocksChecksum::kNone:
      return 0;
    case RocksChecksum::kCrc32c:
      return MaskCrc(Crc32c(bytes));
    case RocksChecksum::kXxHash:
      return XXH32(data, bytes.size(), 0);
    case RocksChecksum::kXxHash64:
      return static_cast<uint32_t>(XXH64(data, bytes.size(), 0));
    case RocksChecksum::kXxh3:
      return Xxh3BlockSum(bytes);
  }
  return 0;
}

void RocksFooter::AppendTo(uint64_t offset, std::string* out) const {
  const size_t start = out->size();
  out->push_back(static_cast<char>(checksum));
  if (format_version >= 6) {
    out->append(kExtendedMagic);
    PutFixed32(out, 0);
    PutFixed32(out, checksum_base);
    PutFixed32(out, static_cast<uint32_t>(metaindex.size));
  } else {
    metaindex.AppendTo(out);
    index.AppendTo(out);
  }
  out->resize(start + 1 + kPlaceBytes);
  PutFixed32(out, format_version);
  PutFixed64(out, kRocksTableMagic);
  if (format_version >= 6) {
    const uint32_t sum = RocksBlockChecksum(checksum, {out->data() + start, kRocksFooterBytes});
    EncodeFixed32(out->data() + start + kFooterChecksumOffset, sum + ChecksumModifier(offset));
  }
}

Status RocksFooter::Parse(std::string_view image, RocksFooter* footer) {
  SLUICE_RETURN_IF_ERROR(CheckMagic(image));
  const uint64_t offset = image.size() - kRocksFooterBytes;
  const std::string_view bytes = image.substr(offset);
  footer->format_version = DecodeFixed32(bytes.data() + 1 + kPlaceBytes);
  if (footer->format_version < kLeastRocksFormatVersion ||
      footer->format_version > kMostRocksFormatVersion) {
    return Status::NotSupported(fmt::format("offset {}: format_version {}, known are {} to {}",
                                            offset, footer->format_version,
                                            kLeastRocksFormatVersion, kMostRocksFormatVersion));
  }
  const auto checksum = static_cast<uint8_t>(bytes[0]);
  if (checksum > static_cast<uint8_t>(RocksChecksum::kXxh3)) {
    return Status::NotSupported(fmt::format("offset {}: checksum type {}", offset, checksum));
  }
  footer->checksum = RocksChecksum{checksum};
  return footer->format_version >= 6 ? ParseExtended(bytes, offset, footer)
                                     : ParseHandles(bytes.substr(1, kPlaceBytes), offset, footer);
}

bool IsRocksTable(std::string_view image) {
  const uint64_t magic = MagicOf(image);
  if (magic == kTableMagic) {
    return HasRocksProperties(image);
  }
  return magic == kRocksTableMagic ||
         std::any_of(std::begin(kOtherTables), std::end(kOtherTables),
                     [&](const auto& other) { return other.magic == magic; });
}

Status CheckOtherRocksType(uint8_t type) {
  for (const auto& [number, name] : kOtherTypes) {
    if (number == type) {
      return Status::NotSupported(
          fmt::format("record of type {} ({}), neither a value nor a deletion", type, name));
    }
  }
  return Status::Corruption(fmt::format("unknown record type {}", type));
}

}  // namespace sluice
