#include "rocksdb_table/verify.h"

#include <fmt/format.h>

#include <memory>

#include "rocksdb_table/bloom.h"
#include "rocksdb_table/stored_block.h"
#include "rocksdb_table/table.h"
#include "table/verify_parts.h"

namespace sluice {

namespace {

class Verifier {
 public:
  Verifier(const RocksTable& table, TableReport* report, const VerifyProgress& progress)
      : table_(table),
        report_(report),
        progress_(progress),
        records_(report, RecordType::kValue, CheckOtherRocksType) {}

  Status Run();

 private:
  Status CheckMetaindex();
  Status CheckDataBlock(const BlockHandle& handle);
  Status CheckCounts();

  const RocksTable& table_;
  TableReport* const report_;
  const VerifyProgress& progress_;
  std::string filter_buffer_;
  std::string_view filter_;  // if it is one that can be asked
  RocksBlockBuffer buffer_;
  BlockPlaces places_;
  RecordChecker records_;
};

Status Verifier::Run() {
  SLUICE_RETURN_IF_ERROR(CheckMetaindex());
  SLUICE_RETURN_IF_ERROR(
      table_.ForEachIndexBlock([this](std::string_view what, const BlockHandle& handle) {
        places_.Add(handle, std::string(what));
      }));
  SLUICE_RETURN_IF_ERROR(
      table_.ForEachDataBlock([this](const std::string& key, const BlockHandle& handle) {
        SLUICE_RETURN_IF_ERROR(CheckDataBlock(handle));
        if (!records_.IndexKeyFits(key)) {
          return FaultAt(
              table_.index().offset,
              fmt::format("index key of the block at {} comes before its last key", handle.offset));
        }
        places_.Add(handle, "data block");
        return Status();
      }));
  SLUICE_RETURN_IF_ERROR(CheckCounts());
  return places_.Check();
}

Status Verifier::CheckMetaindex() {
  places_.Add(table_.footer().metaindex, "metaindex block");
  for (const RocksTable::NamedBlock& block : table_.metaindex()) {
    if (block.name == kRocksIndexBlock) {
      continue;  // ForEachIndexBlock has it
    }
    std::string buffer;
    std::string_view contents;
    SLUICE_RETURN_IF_ERROR(
        table_.ReadBlock(block.handle, &buffer, &contents).WithContext(block.name));
    places_.Add(block.handle, fmt::format("block \"{}\"", block.name));
    if (block.name.starts_with(kRocksFullFilterPrefix)) {
      report_->filter_name = block.name;
      if (IsRocksBloom(contents) &&
          table_.properties().Text("rocksdb.block.based.table.whole.key.filtering") == "1") {
        filter_buffer_ = contents;
        filter_ = filter_buffer_;
      }
    }
  }
  return {};
}

Status Verifier::CheckDataBlock(const BlockHandle& handle) {
  std::string_view contents;
  SLUICE_RETURN_IF_ERROR(table_.ReadDataBlock(handle, &buffer_, &contents));
  ++report_->data_blocks;
  report_->compressed_blocks += table_.CompressionOf(handle) != 0;
  Block block;
  if (const Status status = Block::Parse(contents, &block); !status.ok()) {
    return FaultAt(handle.offset, status.message());
  }
  SLUICE_RETURN_IF_ERROR(records_.CheckBlock(block, handle.offset, [&](std::string_view user_key) {
    return filter_.empty() || RocksBloomMayMatch(filter_, user_key);
  }));
  if (progress_) {
    progress_(handle.offset + handle.size, table_.image().size());
  }
  return {};
}

Status Verifier::CheckCounts() {
  const RocksProperties& properties = table_.properties();
  for (const auto& [name, counted] :
       {std::pair(kRocksEntries, report_->entries), std::pair(kRocksDeletions, report_->tombstones),
        std::pair(kRocksDataBlocks, report_->data_blocks),
        std::pair(kRocksRawKeySize, report_->key_bytes),
        std::pair(kRocksRawValueSize, report_->value_bytes)}) {
    if (properties.Number(name) != counted) {
      return Status::Corruption(fmt::format("properties say {} is {}, but it is {}", name,
                                            properties.Number(name), counted));
    }
  }
  return {};
}

Status Verify(const RocksTable& table, TableReport* report, const VerifyProgress& progress) {
  TableReport ignored;
  if (report == nullptr) {
    report = &ignored;
  }
  *report = {};
  report->file_bytes = table.image().size();
  return Verifier(table, report, progress).Run().WithContext(table.name());
}

}  // namespace

Status VerifyRocksTable(Env* env, const std::string& path, TableReport* report,
                        const VerifyProgress& progress) {
  std::unique_ptr<RocksTable> table;
  SLUICE_RETURN_IF_ERROR(RocksTable::Open(env, path, &table));
  return Verify(*table, report, progress);
}

Status VerifyRocksTableImage(std::string_view image, const std::string& name, TableReport* report) {
  std::unique_ptr<RocksTable> table;
  SLUICE_RETURN_IF_ERROR(RocksTable::OpenImage(image, name, &table));
  return Verify(*table, report, nullptr);
}

}  // namespace sluice
