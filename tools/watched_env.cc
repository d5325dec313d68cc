#include "watched_env.h"

#include <utility>

namespace sluice::tools {

namespace {

using Counter = std::atomic<uint64_t>;

void Count(size_t bytes, Counter* counter) { counter->fetch_add(bytes, std::memory_order_relaxed); }

class WatchedDataFile final : public DataFile {
 public:
  WatchedDataFile(std::unique_ptr<DataFile> file, Counter* read, Counter* written)
      : file_(std::move(file)), read_(*read), written_(*written) {}

  Status Read(uint64_t offset, size_t n, char* out) const override {
    Count(n, &read_);
    return file_->Read(offset, n, out);
  }
  Status Write(uint64_t offset, std::string_view bytes) override {
    return file_->Write(offset, bytes);
  }
  Status Sync() override { return file_->Sync(); }
  // Follows each extent, however it was written: through the descriptor, mostly.
  void StartWriteback(uint64_t offset, uint64_t bytes) override {
    Count(bytes, &written_);
    file_->StartWriteback(offset, bytes);
  }
  Status Discard(uint64_t offset, uint64_t bytes) override { return file_->Discard(offset, bytes); }
  Status CloneFrom(const DataFile& source, uint64_t source_offset, uint64_t offset,
                   uint64_t bytes) override {
    return file_->CloneFrom(source, source_offset, offset, bytes);
  }
  Status Truncate(uint64_t bytes) override { return file_->Truncate(bytes); }
  Status GetDiskBytes(uint64_t* bytes) const override { return file_->GetDiskBytes(bytes); }
  const std::string& path() const override { return file_->path(); }
  int descriptor() const override { return file_->descriptor(); }

 private:
  const std::unique_ptr<DataFile> file_;
  Counter& read_;
  Counter& written_;
};

class WatchedReadableFile final : public RandomAccessFile {
 public:
  WatchedReadableFile(std::unique_ptr<RandomAccessFile> file, Counter* read)
      : file_(std::move(file)), read_(*read) {}

  Status Read(uint64_t offset, size_t n, char* out) const override {
    Count(n, &read_);
    return file_->Read(offset, n, out);
  }

 private:
  const std::unique_ptr<RandomAccessFile> file_;
  Counter& read_;
};

}  // namespace

Status WatchedEnv::NewDataFile(const std::string& path, std::unique_ptr<DataFile>* file) {
  SLUICE_RETURN_IF_ERROR(real_.NewDataFile(path, file));
  *file = std::make_unique<WatchedDataFile>(std::move(*file), &read_, &written_);
  return {};
}

Status WatchedEnv::NewRandomAccessFile(const std::string& path,
                                       std::unique_ptr<RandomAccessFile>* file) {
  SLUICE_RETURN_IF_ERROR(real_.NewRandomAccessFile(path, file));
  *file = std::make_unique<WatchedReadableFile>(std::move(*file), &read_);
  return {};
}

}  // namespace sluice::tools
