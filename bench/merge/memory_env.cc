#include "bench/merge/memory_env.h"

#include <algorithm>
#include <cstdarg>
#include <utility>

namespace sluice::bench {

namespace {

using leveldb::Slice;
using leveldb::Status;

class MemorySequentialFile : public leveldb::SequentialFile {
 public:
  explicit MemorySequentialFile(MemoryEnv::File file) : file_(std::move(file)) {}

  Status Read(size_t n, Slice* result, char*) override {
    n = std::min(n, file_->size() - position_);
    *result = Slice(file_->data() + position_, n);
    position_ += n;
    return {};
  }
  Status Skip(uint64_t n) override {
    position_ = std::min<uint64_t>(position_ + n, file_->size());
    return {};
  }

 private:
  const MemoryEnv::File file_;
  size_t position_ = 0;
};

class MemoryRandomAccessFile : public leveldb::RandomAccessFile {
 public:
  explicit MemoryRandomAccessFile(MemoryEnv::File file) : file_(std::move(file)) {}

  Status Read(uint64_t offset, size_t n, Slice* result, char*) const override {
    if (offset > file_->size() || n > file_->size() - offset) {
      return Status::IOError("read past the end");
    }
    *result = Slice(file_->data() + offset, n);
    return {};
  }

 private:
  const MemoryEnv::File file_;
};

class MemoryWritableFile : public leveldb::WritableFile {
 public:
  explicit MemoryWritableFile(MemoryEnv::File file) : file_(std::move(file)) {}

  Status Append(const Slice& data) override {
    file_->append(data.data(), data.size());
    return {};
  }
  Status Close() override { return {}; }
  Status Flush() override { return {}; }
  Status Sync() override { return {}; }

 private:
  const MemoryEnv::File file_;
};

class NoLogger : public leveldb::Logger {
 public:
  void Logv(const char*, std::va_list) override {}
};

}  // namespace

void MemoryEnv::Put(const std::string& path, const std::string& contents) {
  const std::lock_guard lock(mutex_);
  files_[path] = std::make_shared<std::string>(contents);
}

MemoryEnv::Files MemoryEnv::files() {
  const std::lock_guard lock(mutex_);
  return files_;
}

void MemoryEnv::Restore(const Files& files) {
  const std::lock_guard lock(mutex_);
  for (auto& [path, file] : std::exchange(files_, {})) {
    Recycle(std::move(file));
  }
  files_ = files;
}

MemoryEnv::File MemoryEnv::Find(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto it = files_.find(path);
  return it == files_.end() ? nullptr : it->second;
}

void MemoryEnv::Recycle(File file) {
  if (file.use_count() == 1) {
    file->clear();
    spare_.push_back(std::move(file));
  }
}

Status MemoryEnv::NewSequentialFile(const std::string& path, leveldb::SequentialFile** file) {
  const File found = Find(path);
  *file = found ? new MemorySequentialFile(found) : nullptr;
  return found ? Status() : Status::NotFound(path);
}

Status MemoryEnv::NewRandomAccessFile(const std::string& path, leveldb::RandomAccessFile** file) {
  const File found = Find(path);
  *file = found ? new MemoryRandomAccessFile(found) : nullptr;
  return found ? Status() : Status::NotFound(path);
}

Status MemoryEnv::NewWritableFile(const std::string& path, leveldb::WritableFile** file) {
  const std::lock_guard lock(mutex_);
  // The roomiest first: tables come one after another, all of a size.
  const auto best =
      std::max_element(spare_.begin(), spare_.end(),
                       [](const File& a, const File& b) { return a->capacity() < b->capacity(); });
  File contents = std::make_shared<std::string>();
  if (best != spare_.end()) {
    contents = std::move(*best);
    spare_.erase(best);
  }
  files_[path] = contents;
  *file = new MemoryWritableFile(std::move(contents));
  return {};
}

Status MemoryEnv::NewAppendableFile(const std::string& path, leveldb::WritableFile** file) {
  if (const File found = Find(path)) {
    *file = new MemoryWritableFile(found);
    return {};
  }
  return NewWritableFile(path, file);
}

bool MemoryEnv::FileExists(const std::string& path) { return Find(path) != nullptr; }

Status MemoryEnv::GetChildren(const std::string& directory, std::vector<std::string>* children) {
  const std::lock_guard lock(mutex_);
  children->clear();
  for (const auto& [path, file] : files_) {
    if (path.starts_with(directory + "/")) {
      children->push_back(path.substr(directory.size() + 1));
    }
  }
  return {};
}

Status MemoryEnv::RemoveFile(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto it = files_.find(path);
  if (it == files_.end()) {
    return Status::NotFound(path);
  }
  File file = std::move(it->second);
  files_.erase(it);
  Recycle(std::move(file));
  return {};
}

Status MemoryEnv::GetFileSize(const std::string& path, uint64_t* bytes) {
  const File found = Find(path);
  *bytes = found ? found->size() : 0;
  return found ? Status() : Status::NotFound(path);
}

Status MemoryEnv::RenameFile(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  const auto it = files_.find(from);
  if (it == files_.end()) {
    return Status::NotFound(from);
  }
  files_[to] = it->second;
  files_.erase(it);
  return {};
}

Status MemoryEnv::LockFile(const std::string&, leveldb::FileLock** lock) {
  *lock = new leveldb::FileLock();
  return {};
}

Status MemoryEnv::UnlockFile(leveldb::FileLock* lock) {
  delete lock;
  return {};
}

Status MemoryEnv::NewLogger(const std::string&, leveldb::Logger** logger) {
  *logger = new NoLogger();
  return {};
}

}  // namespace sluice::bench
