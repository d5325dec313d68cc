// LevelDB's table files, through LevelDB's Env.

#pragma once

#include <leveldb/env.h>

#include <memory>
#include <string>
#include <string_view>

#include "sluice/env.h"
#include "sluice/table_format.h"
#include "util/status.h"

namespace sluice::ldb {

// The whole of a file that is read only. The environment's own memory, if it has the file mapped.
class FileImage {
 public:
  // IoError if the file is not as long.
  static Status Read(leveldb::Env* env, const std::string& path, uint64_t bytes, FileImage* image);

  std::string_view bytes() const { return bytes_; }

 private:
  std::unique_ptr<leveldb::RandomAccessFile> file_;
  std::unique_ptr<char[]> buffer_;
  std::string_view bytes_;
};

// A file of LevelDB's environment, for what writes tables.
class EnvFile : public WritableFile {
 public:
  static Status Create(leveldb::Env* env, const std::string& path, std::unique_ptr<EnvFile>* file);

  Status Append(std::string_view bytes) override;
  Status Flush() override;
  Status Sync() override;
  Status Close() override;
  uint64_t bytes() const { return bytes_; }

 private:
  explicit EnvFile(std::string path) : path_(std::move(path)) {}

  const std::string path_;
  std::unique_ptr<leveldb::WritableFile> file_;
  uint64_t bytes_ = 0;
};

// 000012.ldb in `dir`, or by its older name, 000012.sst.
std::string TablePath(const std::string& dir, uint64_t number);
std::string OldTablePath(const std::string& dir, uint64_t number);

// What the data blocks of a table have as stored, and as they are when uncompressed.
struct DataBytes {
  uint64_t stored = 0;
  uint64_t raw = 0;
};
Status CountDataBytes(std::string_view image, const BlockHandle& index, DataBytes* bytes);

// Checks a table as it stands in a file: its footer, each block, that the data blocks follow each
// other, and that the first and last keys are these.
Status CheckTable(std::string_view image, std::string_view smallest, std::string_view largest);

}  // namespace sluice::ldb
