// The real file system, counting the bytes of extents that a database reads and writes: how far
// work is that does not tell.
//
// Thread-safe.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sluice/env.h"

namespace sluice::tools {

class WatchedEnv : public Env {
 public:
  uint64_t read() const { return read_.load(std::memory_order_relaxed); }
  uint64_t written() const { return written_.load(std::memory_order_relaxed); }

  Status NewWritableFile(const std::string& path, std::unique_ptr<WritableFile>* file) override {
    return real_.NewWritableFile(path, file);
  }
  Status NewReservedFile(const std::string& path, uint64_t most_bytes,
                         std::unique_ptr<ReservedFile>* file) override {
    return real_.NewReservedFile(path, most_bytes, file);
  }
  Status NewDataFile(const std::string& path, std::unique_ptr<DataFile>* file) override;
  Status NewRandomAccessFile(const std::string& path,
                             std::unique_ptr<RandomAccessFile>* file) override;
  Status ReadFile(const std::string& path, std::string* contents) override {
    return real_.ReadFile(path, contents);
  }
  Status MapFile(const std::string& path, MappedFile* file) override {
    return real_.MapFile(path, file);
  }
  Status GetChildren(const std::string& dir, std::vector<std::string>* names) override {
    return real_.GetChildren(dir, names);
  }
  Status FileExists(const std::string& path) override { return real_.FileExists(path); }
  Status GetFileSize(const std::string& path, uint64_t* bytes) override {
    return real_.GetFileSize(path, bytes);
  }
  Status GetFileId(const std::string& path, std::string* id) override {
    return real_.GetFileId(path, id);
  }
  Status RemoveFile(const std::string& path) override { return real_.RemoveFile(path); }
  Status RenameFile(const std::string& from, const std::string& to) override {
    return real_.RenameFile(from, to);
  }
  Status CreateDir(const std::string& dir) override { return real_.CreateDir(dir); }
  Status RemoveDir(const std::string& dir) override { return real_.RemoveDir(dir); }
  Status SyncDir(const std::string& dir) override { return real_.SyncDir(dir); }
  Status LockFile(const std::string& path, std::unique_ptr<FileLock>* lock) override {
    return real_.LockFile(path, lock);
  }
  Status LockFileShared(const std::string& path, std::unique_ptr<FileLock>* lock) override {
    return real_.LockFileShared(path, lock);
  }

 private:
  Env& real_ = *Env::Posix();
  std::atomic<uint64_t> read_ = 0;
  std::atomic<uint64_t> written_ = 0;
};

}  // namespace sluice::tools
