#include "table_file.h"

#include <fmt/format.h>

#include "table/block.h"
#include "table/format.h"
#include "table/index_walk.h"
#include "table/key_scan.h"
#include "table/stored_block.h"
#include "util/coding.h"

namespace sluice::ldb {

namespace {

// LevelDB's own text is lost: making it takes a function of LevelDB's that is not at hand here.
Status Failed(const std::string& path, std::string_view what) {
  return Status::IoError(fmt::format("{}: {}", path, what));
}

}  // namespace

Status FileImage::Read(leveldb::Env* env, const std::string& path, uint64_t bytes,
                       FileImage* image) {
  leveldb::RandomAccessFile* file = nullptr;
  if (!env->NewRandomAccessFile(path, &file).ok()) {
    return Failed(path, "cannot be opened");
  }
  image->file_.reset(file);
  image->buffer_ = std::make_unique_for_overwrite<char[]>(bytes);
  leveldb::Slice read;
  if (!file->Read(0, bytes, &read, image->buffer_.get()).ok()) {
    return Failed(path, "cannot be read");
  }
  if (read.size() != bytes) {
    return Failed(path, fmt::format("has {} bytes instead of {}", read.size(), bytes));
  }
  if (read.data() != image->buffer_.get()) {
    image->buffer_.reset();
  }
  image->bytes_ = {read.data(), read.size()};
  return {};
}

Status EnvFile::Create(leveldb::Env* env, const std::string& path, std::unique_ptr<EnvFile>* file) {
  leveldb::WritableFile* made = nullptr;
  if (!env->NewWritableFile(path, &made).ok()) {
    return Failed(path, "cannot be created");
  }
  file->reset(new EnvFile(path));
  (*file)->file_.reset(made);
  return {};
}

Status EnvFile::Append(std::string_view bytes) {
  bytes_ += bytes.size();
  return file_->Append({bytes.data(), bytes.size()}).ok() ? Status()
                                                          : Failed(path_, "cannot be written");
}

Status EnvFile::Flush() { return file_->Flush().ok() ? Status() : Failed(path_, "flush failed"); }

Status EnvFile::Sync() { return file_->Sync().ok() ? Status() : Failed(path_, "sync failed"); }

Status EnvFile::Close() {
  return file_->Close().ok() ? Status() : Failed(path_, "cannot be closed");
}

std::string TablePath(const std::string& dir, uint64_t number) {
  return fmt::format("{}/{:06}.ldb", dir, number);
}

std::string OldTablePath(const std::string& dir, uint64_t number) {
  return fmt::format("{}/{:06}.sst", dir, number);
}

Status CountDataBytes(std::string_view image, const BlockHandle& index_handle, DataBytes* bytes) {
  OpenIndex index;
  SLUICE_RETURN_IF_ERROR(OpenIndex::In(image, index_handle, &index));
  return index.ForEachBlock([&](std::string_view, const BlockHandle& handle) {
    if (!HandleFits(handle, image.size())) {
      return Status::Corruption(fmt::format("offset {}: outside of the table", handle.offset));
    }
    bytes->stored += handle.size;
    const char* const block = image.data() + handle.offset;
    uint32_t raw = 0;
    const bool snappy = static_cast<Compression>(block[handle.size]) == Compression::kSnappy &&
                        DecodeVarint32(block, block + handle.size, &raw) != nullptr;
    bytes->raw += snappy ? raw : handle.size;
    return Status();
  });
}

Status CheckTable(std::string_view image, std::string_view smallest, std::string_view largest) {
  Footer footer;
  if (image.size() < kFooterBytes) {
    return Status::Corruption("too short for a table");
  }
  SLUICE_RETURN_IF_ERROR(
      Footer::Parse(image.substr(image.size() - kFooterBytes), image.size(), &footer));
  OpenIndex metaindex;
  OpenIndex index;
  SLUICE_RETURN_IF_ERROR(OpenIndex::In(image, footer.metaindex, &metaindex));
  SLUICE_RETURN_IF_ERROR(OpenIndex::In(image, footer.index, &index));
  std::string buffer;
  std::string_view contents;
  SLUICE_RETURN_IF_ERROR(metaindex.ForEachBlock([&](std::string_view, const BlockHandle& handle) {
    return ReadStoredBlock(image, handle, &buffer, &contents);
  }));
  uint64_t end = 0;
  std::string last;
  SLUICE_RETURN_IF_ERROR(index.ForEachBlock([&](std::string_view key, const BlockHandle& handle) {
    SLUICE_RETURN_IF_ERROR(ReadStoredBlock(image, handle, &buffer, &contents));
    if (end == 0) {
      Block block;
      std::string_view first;
      SLUICE_RETURN_IF_ERROR(Block::Parse(contents, &block));
      SLUICE_RETURN_IF_ERROR(KeyScanner::FirstKey(block, &first));
      if (first != smallest) {
        return Status::Corruption("another first key than was told");
      }
    }
    last = key;
    return CheckFollows(handle, &end);
  }));
  if (end == 0 || last != largest) {
    return Status::Corruption("another last key than was told");
  }
  return {};
}

}  // namespace sluice::ldb
