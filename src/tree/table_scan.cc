#include "tree/table_scan.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "table/block_builder.h"
#include "table/stored_block.h"
#include "table/table_reader.h"
#include "tree/value_extent.h"
#include "util/coding.h"

namespace sluice {

namespace {

constexpr std::string_view kSubtableProperty = "subtable";
constexpr uint64_t kScanPieceBytes = uint64_t{4} << 20;

bool ReadSubtable(const TableReader& table, uint32_t* subtable) {
  BlockIterator at(table.metaindex(), KeyKind::kPlain);
  for (at.SeekToFirst(); at.Valid() && at.key() != kPropertiesName; at.Next()) {
  }
  BlockHandle handle;
  std::string buffer;
  std::string_view contents = at.Valid() ? at.value() : std::string_view();
  Block properties;
  if (!handle.ReadFrom(&contents) || !HandleFits(handle, table.image().size()) ||
      !ReadStoredBlock(table.image(), handle, &buffer, &contents).ok() ||
      !Block::Parse(contents, &properties).ok()) {
    return false;
  }
  BlockIterator property(properties, KeyKind::kPlain);
  for (property.SeekToFirst(); property.Valid(); property.Next()) {
    if (property.key() == kSubtableProperty) {
      std::string_view value = property.value();
      return GetVarint32(&value, subtable);
    }
  }
  return false;
}

// The first key that can be read, or the last one of the block before it.
bool FindKeys(const TableReader& table, Extent* extent) {
  BlockIterator index(table.index());
  bool first_found = false;
  for (index.SeekToFirst(); index.Valid(); index.Next()) {
    BlockHandle handle;
    if (!table.ReadHandle(index, &handle).ok()) {
      return false;
    }
    if (!first_found) {
      std::string buffer;
      Block block;
      if (table.ReadDataBlock(handle, &buffer, &block).ok()) {
        BlockIterator record(block);
        record.SeekToLast();
        // Otherwise the block is of an extent that has taken these pages since.
        first_found = record.Valid() && record.key() == index.key();
        record.SeekToFirst();
        if (first_found && extent->smallest.empty()) {
          extent->smallest.assign(record.key());
        }
      }
      if (extent->smallest.empty()) {
        extent->smallest.assign(index.key());
      }
    }
    extent->largest.assign(index.key());
  }
  return index.status().ok() && !extent->smallest.empty();
}

// The table that ends with this footer, at `end`; its first byte, or false if that cannot be.
bool FindBegin(std::string_view footer, uint64_t end, uint64_t* begin) {
  Footer parsed;
  constexpr uint64_t kMostBytes = std::numeric_limits<uint32_t>::max();
  if (!Footer::Parse(footer, kMostBytes, &parsed).ok()) {
    return false;
  }
  // The metaindex is what comes last.
  const uint64_t bytes =
      parsed.metaindex.offset + parsed.metaindex.size + kBlockTrailerBytes + kFooterBytes;
  *begin = end - bytes;
  return bytes <= std::min(end, kMostBytes) && *begin % kPageBytes == 0;
}

}  // namespace

std::string ExtentProperties(uint32_t subtable) {
  std::string value;
  PutVarint(&value, subtable);
  BlockBuilder properties(1);
  properties.Add(kSubtableProperty, value);
  return std::string(properties.Finish());
}

Status ScanForExtents(Env* env, const std::string& path, uint64_t number,
                      const std::function<void(FoundExtent)>& found) {
  uint64_t file_bytes;
  SLUICE_RETURN_IF_ERROR(env->GetFileSize(path, &file_bytes));
  std::unique_ptr<RandomAccessFile> file;
  SLUICE_RETURN_IF_ERROR(env->NewRandomAccessFile(path, &file));
  std::string magic;
  PutFixed64(&magic, kTableMagic);
  std::string piece;  // begins with the last bytes of the one before, which may hold a footer's
  std::string image;
  for (uint64_t at = 0; at < file_bytes;) {
    const size_t kept = std::min(piece.size(), kFooterBytes - 1);
    piece.erase(0, piece.size() - kept);
    const uint64_t bytes = std::min(kScanPieceBytes, file_bytes - at);
    piece.resize(kept + bytes);
    SLUICE_RETURN_IF_ERROR(file->Read(at, bytes, piece.data() + kept));
    const uint64_t piece_begin = at - kept;
    at += bytes;
    for (size_t hit = 0; (hit = piece.find(magic, hit)) != std::string::npos;) {
      hit += magic.size();
      uint64_t begin;
      if (hit < kFooterBytes ||
          !FindBegin(std::string_view(piece).substr(hit - kFooterBytes, kFooterBytes),
                     piece_begin + hit, &begin)) {
        continue;
      }
      image.resize(piece_begin + hit - begin);
      SLUICE_RETURN_IF_ERROR(file->Read(begin, image.size(), image.data()));
      std::unique_ptr<TableReader> table;
      FoundExtent extent;
      extent.extent.address = {number, begin / kPageBytes};
      extent.extent.bytes = static_cast<uint32_t>(image.size());
      if (TableReader::OpenImage(image, path, &table).ok() &&
          ReadSubtable(*table, &extent.subtable) && FindKeys(*table, &extent.extent)) {
        found(std::move(extent));
      }
    }
  }
  return {};
}

Status ScanForValueExtents(Env* env, const std::string& path, uint64_t number,
                           const std::function<void(FoundExtent)>& found) {
  uint64_t file_bytes;
  SLUICE_RETURN_IF_ERROR(env->GetFileSize(path, &file_bytes));
  std::unique_ptr<RandomAccessFile> file;
  SLUICE_RETURN_IF_ERROR(env->NewRandomAccessFile(path, &file));
  std::string piece;
  for (uint64_t at = 0; at < file_bytes; at += kScanPieceBytes) {
    piece.resize(std::min(kScanPieceBytes, file_bytes - at));
    SLUICE_RETURN_IF_ERROR(file->Read(at, piece.size(), piece.data()));
    for (size_t page = 0; page < piece.size(); page += kPageBytes) {
      FoundExtent values;
      Extent& pages = values.extent;
      if (ReadValueExtentHeader(std::string_view(piece).substr(page), &pages, &values.subtable) &&
          at + page + pages.bytes <= file_bytes) {
        pages.address = {number, (at + page) / kPageBytes};
        found(std::move(values));
      }
    }
  }
  return {};
}

}  // namespace sluice
