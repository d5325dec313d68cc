// What is on its way to the device, for tests.

#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "util/fault_env.h"

namespace sluice {

// Counts what is on its way to the device; FinishWriteback fails if `fails`.
class WritebackEnv final : public FaultEnv {
 public:
  explicit WritebackEnv(const FileImage& files) : FaultEnv(files) {}
  uint64_t under_way = 0;
  uint64_t most = 0;
  bool fails = false;

  Status NewDataFile(const std::string& path, std::unique_ptr<DataFile>* file) override {
    std::unique_ptr<DataFile> base;
    SLUICE_RETURN_IF_ERROR(FaultEnv::NewDataFile(path, &base));
    *file = std::make_unique<File>(this, std::move(base));
    return {};
  }

 private:
  class File final : public DataFile {
   public:
    File(WritebackEnv* env, std::unique_ptr<DataFile> base) : env_(*env), base_(std::move(base)) {}

    Status Read(uint64_t offset, size_t n, char* out) const override {
      return base_->Read(offset, n, out);
    }
    Status Write(uint64_t offset, std::string_view bytes) override {
      return base_->Write(offset, bytes);
    }
    Status Sync() override { return base_->Sync(); }
    void StartWriteback(uint64_t /*offset*/, uint64_t bytes) override {
      env_.under_way += bytes;
      env_.most = std::max(env_.most, env_.under_way);
    }
    Status FinishWriteback(uint64_t /*offset*/, uint64_t bytes) override {
      env_.under_way -= bytes;
      return env_.fails ? Status::IoError("writeback") : Status();
    }
    Status Discard(uint64_t, uint64_t) override { return {}; }
    Status Truncate(uint64_t bytes) override { return base_->Truncate(bytes); }
    Status GetDiskBytes(uint64_t* bytes) const override { return base_->GetDiskBytes(bytes); }
    const std::string& path() const override { return base_->path(); }

   private:
    WritebackEnv& env_;
    const std::unique_ptr<DataFile> base_;
  };
};

}  // namespace sluice
