#include "table/dump.h"

#include <fmt/format.h>

#include <memory>

#include "table/block.h"
#include "table/filter.h"
#include "table/stored_block.h"
#include "table/table_reader.h"
#include "table/table_text.h"

namespace sluice {

namespace {

class Dumper {
 public:
  Dumper(const TableReader& table, const LineSink& line) : table_(table), line_(line) {}

  Status Run() {
    DumpFooter();
    DumpMetaindex();
    DumpFilter();
    BlockIterator index(table_.index());
    for (index.SeekToFirst(); index.Valid(); index.Next()) {
      Note(DumpDataBlock(index));
    }
    Note(index.status().WithContext(
        fmt::format("offset {}: index block", table_.footer().index.offset)));
    return first_fault_.WithContext(table_.name());
  }

 private:
  void Note(const Status& status) {
    if (status.ok()) {
      return;
    }
    line_(fmt::format("  !! {}", status.message()));
    if (first_fault_.ok()) {
      first_fault_ = status;
    }
  }

  void DumpFooter() {
    line_(fmt::format("footer at {}: metaindex {}, index {}", table_.image().size() - kFooterBytes,
                      HandleText(table_.footer().metaindex), HandleText(table_.footer().index)));
  }

  void DumpMetaindex() {
    BlockIterator entry(table_.metaindex(), KeyKind::kPlain);
    for (entry.SeekToFirst(); entry.Valid(); entry.Next()) {
      BlockHandle handle;
      std::string_view encoded = entry.value();
      const bool sound = handle.ReadFrom(&encoded);
      line_(fmt::format("metaindex: {} {}", Quoted(entry.key()),
                        sound ? HandleText(handle) : Quoted(entry.value())));
      if (sound && entry.key() == kPartsName) {
        DumpParts(handle);
      }
    }
    Note(entry.status().WithContext(
        fmt::format("offset {}: metaindex block", table_.footer().metaindex.offset)));
  }

  void DumpParts(const BlockHandle& place) {
    const auto visit = [&](const BlockHandle& block, const auto& entry_visit) -> Status {
      std::string buffer;
      std::string_view contents;
      Block parsed;
      SLUICE_RETURN_IF_ERROR(ReadStoredBlock(table_.image(), block, &buffer, &contents));
      SLUICE_RETURN_IF_ERROR(Block::Parse(contents, &parsed));
      BlockIterator entry(parsed);
      for (entry.SeekToFirst(); entry.Valid(); entry.Next()) {
        entry_visit(entry);
      }
      return entry.status();
    };
    Note(visit(place, [&](const BlockIterator& part) {
           BlockHandle handle;
           std::string_view encoded = part.value();
           size_t blocks = 0;
           const Status status = handle.ReadFrom(&encoded)
                                     ? visit(handle, [&](const BlockIterator&) { ++blocks; })
                                     : Status::Corruption("malformed block handle");
           line_(fmt::format("part of the head {}: {} blocks, last key {}", HandleText(handle),
                             blocks, KeyText(part.key())));
           Note(status.WithContext(fmt::format("offset {}: part of the head", handle.offset)));
         }).WithContext(fmt::format("offset {}: parts block", place.offset)));
  }

  void DumpFilter() {
    if (table_.filter() == nullptr) {
      return;
    }
    int bits = 0;
    // If the table is too broken to find out, the dump of its data blocks says why.
    const bool known = FindBloomBitsPerKey(table_, &bits).ok() && bits > 0;
    line_(fmt::format("filter: {} filters, {} bits per key", table_.filter()->count(),
                      known ? fmt::format("{}", bits) : "unknown"));
  }

  Status DumpDataBlock(const BlockIterator& index) {
    BlockHandle handle;
    SLUICE_RETURN_IF_ERROR(table_.ReadHandle(index, &handle));
    std::string buffer;
    Block block;
    Status read = table_.ReadDataBlock(handle, &buffer, &block);
    if (!read.ok()) {
      line_(fmt::format("data block at {}: {} bytes, index key {}", handle.offset, handle.size,
                        KeyText(index.key())));
      return read;
    }
    const Compression stored_as{static_cast<uint8_t>(table_.image()[handle.offset + handle.size])};
    line_(fmt::format("data block at {}: {} bytes, {}, {} restarts, index key {}", handle.offset,
                      handle.size,
                      stored_as == Compression::kNone ? "raw" : CompressionName(stored_as),
                      block.restarts(), KeyText(index.key())));
    return PrintRecords(block, line_).WithContext(fmt::format("offset {}", handle.offset));
  }

  const TableReader& table_;
  const LineSink& line_;
  Status first_fault_;
};

}  // namespace

Status DumpTable(Env* env, const std::string& path, const LineSink& line) {
  std::unique_ptr<TableReader> table;
  SLUICE_RETURN_IF_ERROR(TableReader::Open(env, path, &table));
  return Dumper(*table, line).Run();
}

Status DumpTableImage(std::string_view image, const std::string& name, const LineSink& line) {
  std::unique_ptr<TableReader> table;
  SLUICE_RETURN_IF_ERROR(TableReader::OpenImage(image, name, &table));
  return Dumper(*table, line).Run();
}

}  // namespace sluice
