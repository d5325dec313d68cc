#include "leveldb_dir/output_tables.h"

#include "leveldb_dir/file_names.h"

namespace sluice {

namespace {

Status WriteTable(const MergeOutput& output, const OutputTableOptions& options,
                  WritableFile* file) {
  const FinishOptions finish{.bloom_bits_per_key = options.bloom_bits_per_key,
                             .compression = options.compression};
  if (options.compression == Compression::kNone) {
    return FinishTable(output.data, output.index, finish, file);
  }
  RecodedTable recoded;
  SLUICE_RETURN_IF_ERROR(RecodeBlocks(output.data, output.index, options.compression, &recoded));
  return FinishTable(recoded.data(), recoded.index_block(), finish, file);
}

}  // namespace

OutputTables::~OutputTables() {
  if (!kept_) {
    Truncate(0);
  }
}

Status OutputTables::Write(const MergeOutput& output) {
  TableFile& table = tables_.emplace_back();
  table.number = NewFileNumber();
  table.smallest = output.smallest;
  table.largest = output.largest;
  const std::string path = database_.Path(TableFileName(table.number));
  std::unique_ptr<WritableFile> file;
  SLUICE_RETURN_IF_ERROR(env_->NewWritableFile(path, &file));
  SLUICE_RETURN_IF_ERROR(WriteTable(output, options_, file.get()).WithContext(path));
  SLUICE_RETURN_IF_ERROR(file->Sync());
  SLUICE_RETURN_IF_ERROR(file->Close());
  return env_->GetFileSize(path, &table.bytes);
}

void OutputTables::Truncate(size_t count) {
  while (tables_.size() > count) {
    // A file that cannot be removed is garbage that LevelDB removes.
    (void)env_->RemoveFile(database_.Path(TableFileName(tables_.back().number)));
    tables_.pop_back();
  }
}

uint64_t OutputTables::file_bytes() const {
  uint64_t bytes = 0;
  for (const TableFile& table : tables_) {
    bytes += table.bytes;
  }
  return bytes;
}

}  // namespace sluice
