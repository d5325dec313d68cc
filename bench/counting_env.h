// An Env for LevelDB that counts what goes through it, and knows when its background thread rests.
//
// Thread-safe.

#pragma once

#include <leveldb/env.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace sluice::bench {

class CountingEnv : public leveldb::EnvWrapper {
 public:
  CountingEnv() : leveldb::EnvWrapper(leveldb::Env::Default()) {}
  // A database that is closed may leave the end of its last work behind.
  ~CountingEnv() override { WaitForBackgroundWork(); }

  // What the calling thread has asked to read of tables, mapped ones too.
  static uint64_t ThreadBytesRead();

  uint64_t log_bytes_written() const { return log_written_; }
  uint64_t table_bytes_written() const { return table_written_; }
  uint64_t background_bytes_read() const { return background_read_; }

  // Until no work is queued or under way. LevelDB queues what a piece of work gives rise to before
  // it ends.
  void WaitForBackgroundWork();

  leveldb::Status NewWritableFile(const std::string& path, leveldb::WritableFile** file) override;
  leveldb::Status NewAppendableFile(const std::string& path, leveldb::WritableFile** file) override;
  leveldb::Status NewRandomAccessFile(const std::string& path,
                                      leveldb::RandomAccessFile** file) override;
  void Schedule(void (*function)(void*), void* argument) override;

 private:
  struct Work;

  static void Run(void* work);
  // The counter that a file of this name goes to; null: none.
  std::atomic<uint64_t>* CounterOf(const std::string& path);

  std::atomic<uint64_t> log_written_ = 0;
  std::atomic<uint64_t> table_written_ = 0;
  std::atomic<uint64_t> background_read_ = 0;
  std::mutex mutex_;
  std::condition_variable idle_;
  int works_ = 0;  // queued or under way; guarded by mutex_
};

}  // namespace sluice::bench
