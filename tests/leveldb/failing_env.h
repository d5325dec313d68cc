// The real file system, with operations that fail on demand: a full disk, a rename refused.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "sluice/env.h"

namespace sluice {

class FailingEnv : public Env {
 public:
  // Asked before each operation that changes something, "append", "rename" and so on; an error
  // stands for what the operation would have answered.
  using Hook = std::function<Status(std::string_view operation, const std::string& path)>;

  explicit FailingEnv(Hook hook) : hook_(std::move(hook)) {}

  Status NewWritableFile(const std::string& path, std::unique_ptr<WritableFile>* file) override {
    SLUICE_RETURN_IF_ERROR(hook_("create", path));
    std::unique_ptr<WritableFile> target;
    SLUICE_RETURN_IF_ERROR(target_->NewWritableFile(path, &target));
    *file = std::make_unique<File>(this, path, std::move(target));
    return {};
  }
  Status NewReservedFile(const std::string& path, uint64_t most_bytes,
                         std::unique_ptr<ReservedFile>* file) override {
    return target_->NewReservedFile(path, most_bytes, file);
  }
  Status NewDataFile(const std::string& path, std::unique_ptr<DataFile>* file) override {
    return target_->NewDataFile(path, file);
  }
  Status NewRandomAccessFile(const std::string& path,
                             std::unique_ptr<RandomAccessFile>* file) override {
    return target_->NewRandomAccessFile(path, file);
  }
  Status ReadFile(const std::string& path, std::string* contents) override {
    return target_->ReadFile(path, contents);
  }
  Status MapFile(const std::string& path, MappedFile* file) override {
    return target_->MapFile(path, file);
  }
  Status GetChildren(const std::string& dir, std::vector<std::string>* names) override {
    return target_->GetChildren(dir, names);
  }
  Status FileExists(const std::string& path) override { return target_->FileExists(path); }
  Status GetFileSize(const std::string& path, uint64_t* bytes) override {
    return target_->GetFileSize(path, bytes);
  }
  Status GetFileId(const std::string& path, std::string* id) override {
    return target_->GetFileId(path, id);
  }
  Status RemoveFile(const std::string& path) override {
    SLUICE_RETURN_IF_ERROR(hook_("remove", path));
    return target_->RemoveFile(path);
  }
  Status RenameFile(const std::string& from, const std::string& to) override {
    SLUICE_RETURN_IF_ERROR(hook_("rename", to));
    return target_->RenameFile(from, to);
  }
  Status CreateDir(const std::string& dir) override { return target_->CreateDir(dir); }
  Status RemoveDir(const std::string& dir) override { return target_->RemoveDir(dir); }
  Status SyncDir(const std::string& dir) override {
    SLUICE_RETURN_IF_ERROR(hook_("sync directory", dir));
    return target_->SyncDir(dir);
  }
  Status LockFile(const std::string& path, std::unique_ptr<FileLock>* lock) override {
    return target_->LockFile(path, lock);
  }
  Status LockFileShared(const std::string& path, std::unique_ptr<FileLock>* lock) override {
    return target_->LockFileShared(path, lock);
  }

 private:
  class File : public WritableFile {
   public:
    File(FailingEnv* env, std::string path, std::unique_ptr<WritableFile> target)
        : env_(env), path_(std::move(path)), target_(std::move(target)) {}

    Status Append(std::string_view bytes) override {
      SLUICE_RETURN_IF_ERROR(env_->hook_("append", path_));
      return target_->Append(bytes);
    }
    Status Flush() override { return target_->Flush(); }
    Status Sync() override {
      SLUICE_RETURN_IF_ERROR(env_->hook_("sync", path_));
      return target_->Sync();
    }
    Status Close() override {
      SLUICE_RETURN_IF_ERROR(env_->hook_("close", path_));
      return target_->Close();
    }

   private:
    FailingEnv* const env_;
    const std::string path_;
    const std::unique_ptr<WritableFile> target_;
  };

  Env* const target_ = Env::Posix();
  const Hook hook_;
};

}  // namespace sluice
