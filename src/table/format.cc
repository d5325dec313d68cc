#include "table/format.h"

#include <fmt/format.h>

namespace sluice {

void BlockHandle::AppendTo(std::string* out) const {
  PutVarint(out, offset);
  PutVarint(out, size);
}

bool BlockHandle::ReadFrom(std::string_view* in) {
  return GetVarint64(in, &offset) && GetVarint64(in, &size);
}

void Footer::AppendTo(std::string* out) const {
  const size_t start = out->size();
  metaindex.AppendTo(out);
  index.AppendTo(out);
  out->resize(start + kFooterBytes - 8);
  PutFixed64(out, kTableMagic);
}

bool HandleFits(const BlockHandle& handle, uint64_t table_bytes) {
  return table_bytes >= kBlockTrailerBytes && handle.offset <= table_bytes - kBlockTrailerBytes &&
         handle.size <= table_bytes - kBlockTrailerBytes - handle.offset;
}

Status Footer::Parse(std::string_view footer, uint64_t file_bytes, Footer* out) {
  if (file_bytes < kFooterBytes || footer.size() != kFooterBytes) {
    return Status::Corruption(fmt::format("too short for a table: {} bytes, a footer alone has {}",
                                          file_bytes, kFooterBytes));
  }
  const uint64_t footer_offset = file_bytes - kFooterBytes;
  if (const uint64_t magic = DecodeFixed64(footer.data() + kFooterBytes - 8);
      magic != kTableMagic) {
    return Status::Corruption(
        fmt::format("offset {}: not a LevelDB table: magic {:016x}, not {:016x}", file_bytes - 8,
                    magic, kTableMagic));
  }
  std::string_view in = footer.substr(0, kFooterBytes - 8);
  if (!out->metaindex.ReadFrom(&in) || !out->index.ReadFrom(&in)) {
    return Status::Corruption(fmt::format("offset {}: malformed footer", footer_offset));
  }
  for (const auto& [name, handle] :
       {std::pair("metaindex", out->metaindex), std::pair("index", out->index)}) {
    if (!HandleFits(handle, footer_offset)) {
      return Status::Corruption(fmt::format(
          "offset {}: footer places the {} block at {} with {} bytes, but blocks end at {}",
          footer_offset, name, handle.offset, handle.size, footer_offset));
    }
  }
  return {};
}

void AppendBlockTrailer(std::string_view block, Compression type, std::string* out) {
  char trailer[kBlockTrailerBytes];
  EncodeBlockTrailer(trailer, type, Crc32c(block));
  out->append(trailer, sizeof(trailer));
}

}  // namespace sluice
