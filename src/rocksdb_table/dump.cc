#include <fmt/format.h>

#include <memory>

#include "rocksdb_table/stored_block.h"
#include "rocksdb_table/table.h"
#include "rocksdb_table/verify.h"
#include "table/table_text.h"

namespace sluice {

namespace {

constexpr std::string_view kChecksumNames[] = {"no", "crc32c", "xxHash", "xxHash64", "xxh3"};

class Dumper {
 public:
  Dumper(const RocksTable& table, const LineSink& line) : table_(table), line_(line) {}

  Status Run() {
    DumpHead();
    Note(table_.ForEachDataBlock([this](const std::string& key, const BlockHandle& handle) {
      Note(DumpDataBlock(key, handle));
      return Status();
    }));
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

  void DumpHead() {
    const RocksFooter& footer = table_.footer();
    line_(fmt::format(
        "footer at {}: RocksDB's format_version {}, {} checksums, metaindex {}, index {}",
        table_.image().size() - kRocksFooterBytes, footer.format_version,
        kChecksumNames[static_cast<size_t>(footer.checksum)], HandleText(footer.metaindex),
        HandleText(table_.index())));
    for (const RocksTable::NamedBlock& block : table_.metaindex()) {
      line_(fmt::format("metaindex: {} {}", Quoted(block.name), HandleText(block.handle)));
    }
    for (const auto& [name, value] : table_.properties().values()) {
      line_(fmt::format("property: {} {}", Quoted(name), Quoted(value)));
    }
  }

  Status DumpDataBlock(const std::string& index_key, const BlockHandle& handle) {
    RocksBlockBuffer buffer;
    std::string_view contents;
    Block block;
    const std::string place = fmt::format("offset {}", handle.offset);
    Status read = table_.ReadDataBlock(handle, &buffer, &contents);
    if (read.ok()) {
      read = Block::Parse(contents, &block).WithContext(place);
    }
    if (!read.ok()) {
      line_(fmt::format("data block at {}: {} bytes, index key {}", handle.offset, handle.size,
                        KeyText(index_key, RecordType::kValue)));
      return read;
    }
    const uint8_t type = table_.CompressionOf(handle);
    line_(fmt::format("data block at {}: {} bytes, {}, {} restarts, index key {}", handle.offset,
                      handle.size, type == 0 ? "raw" : RocksCompressionName(type), block.restarts(),
                      KeyText(index_key, RecordType::kValue)));
    return PrintRecords(block, line_, RecordType::kValue).WithContext(place);
  }

  const RocksTable& table_;
  const LineSink& line_;
  Status first_fault_;
};

}  // namespace

Status DumpRocksTable(Env* env, const std::string& path, const LineSink& line) {
  std::unique_ptr<RocksTable> table;
  SLUICE_RETURN_IF_ERROR(RocksTable::Open(env, path, &table));
  return Dumper(*table, line).Run();
}

Status DumpRocksTableImage(std::string_view image, const std::string& name, const LineSink& line) {
  std::unique_ptr<RocksTable> table;
  SLUICE_RETURN_IF_ERROR(RocksTable::OpenImage(image, name, &table));
  return Dumper(*table, line).Run();
}

}  // namespace sluice
