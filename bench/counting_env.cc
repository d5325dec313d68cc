#include "bench/counting_env.h"

#include <pthread.h>

#include <memory>
#include <string>

namespace sluice::bench {

namespace {

thread_local uint64_t bytes_read = 0;
thread_local bool in_background = false;

class CountingWritableFile : public leveldb::WritableFile {
 public:
  CountingWritableFile(leveldb::WritableFile* file, std::atomic<uint64_t>* counter)
      : file_(file), counter_(counter) {}

  leveldb::Status Append(const leveldb::Slice& data) override {
    counter_->fetch_add(data.size(), std::memory_order_relaxed);
    return file_->Append(data);
  }
  leveldb::Status Close() override { return file_->Close(); }
  leveldb::Status Flush() override { return file_->Flush(); }
  leveldb::Status Sync() override { return file_->Sync(); }

 private:
  const std::unique_ptr<leveldb::WritableFile> file_;
  std::atomic<uint64_t>* const counter_;
};

class CountingRandomAccessFile : public leveldb::RandomAccessFile {
 public:
  CountingRandomAccessFile(leveldb::RandomAccessFile* file, std::atomic<uint64_t>* background)
      : file_(file), background_(background) {}

  leveldb::Status Read(uint64_t offset, size_t n, leveldb::Slice* result,
                       char* scratch) const override {
    bytes_read += n;
    if (in_background) {
      background_->fetch_add(n, std::memory_order_relaxed);
    }
    return file_->Read(offset, n, result, scratch);
  }

 private:
  const std::unique_ptr<leveldb::RandomAccessFile> file_;
  std::atomic<uint64_t>* const background_;
};

}  // namespace

struct CountingEnv::Work {
  CountingEnv* env;
  void (*function)(void*);
  void* argument;
};

uint64_t CountingEnv::ThreadBytesRead() { return bytes_read; }

void CountingEnv::WaitForBackgroundWork() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return works_ == 0; });
}

std::atomic<uint64_t>* CountingEnv::CounterOf(const std::string& path) {
  return path.ends_with(".log")   ? &log_written_
         : path.ends_with(".ldb") ? &table_written_
                                  : nullptr;
}

leveldb::Status CountingEnv::NewWritableFile(const std::string& path,
                                             leveldb::WritableFile** file) {
  const leveldb::Status status = target()->NewWritableFile(path, file);
  if (auto* const counter = CounterOf(path); status.ok() && counter != nullptr) {
    *file = std::make_unique<CountingWritableFile>(*file, counter).release();
  }
  return status;
}

leveldb::Status CountingEnv::NewAppendableFile(const std::string& path,
                                               leveldb::WritableFile** file) {
  const leveldb::Status status = target()->NewAppendableFile(path, file);
  if (auto* const counter = CounterOf(path); status.ok() && counter != nullptr) {
    *file = std::make_unique<CountingWritableFile>(*file, counter).release();
  }
  return status;
}

leveldb::Status CountingEnv::NewRandomAccessFile(const std::string& path,
                                                 leveldb::RandomAccessFile** file) {
  const leveldb::Status status = target()->NewRandomAccessFile(path, file);
  if (status.ok()) {
    *file = std::make_unique<CountingRandomAccessFile>(*file, &background_read_).release();
  }
  return status;
}

void CountingEnv::Schedule(void (*function)(void*), void* argument) {
  {
    const std::lock_guard lock(mutex_);
    ++works_;
  }
  target()->Schedule(
      Run, std::make_unique<Work>(Work{.env = this, .function = function, .argument = argument})
               .release());
}

void CountingEnv::Run(void* argument) {
  const std::unique_ptr<Work> work(static_cast<Work*>(argument));
  if (!in_background) {
    in_background = true;
    ::pthread_setname_np(::pthread_self(), "leveldb");
  }
  work->function(work->argument);
  const std::lock_guard lock(work->env->mutex_);
  if (--work->env->works_ == 0) {
    work->env->idle_.notify_all();
  }
}

}  // namespace sluice::bench
