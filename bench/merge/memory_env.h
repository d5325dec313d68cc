// An Env for LevelDB with its files in memory, so that what is measured is compaction and not the
// kernel's file system. Reads cost nothing but a pointer (as LevelDB's own mapped files), writes
// one copy into memory that has been touched before.

#pragma once

#include <leveldb/env.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sluice::bench {

class MemoryEnv : public leveldb::EnvWrapper {
 public:
  MemoryEnv() : leveldb::EnvWrapper(leveldb::Env::Default()) {}

  using File = std::shared_ptr<std::string>;
  using Files = std::map<std::string, File>;

  void Put(const std::string& path, const std::string& contents);
  Files files();
  // Makes `files` all there is. What was there and is not in it has its memory reused.
  void Restore(const Files& files);

  leveldb::Status NewSequentialFile(const std::string& path,
                                    leveldb::SequentialFile** file) override;
  leveldb::Status NewRandomAccessFile(const std::string& path,
                                      leveldb::RandomAccessFile** file) override;
  leveldb::Status NewWritableFile(const std::string& path, leveldb::WritableFile** file) override;
  leveldb::Status NewAppendableFile(const std::string& path, leveldb::WritableFile** file) override;
  bool FileExists(const std::string& path) override;
  leveldb::Status GetChildren(const std::string& directory,
                              std::vector<std::string>* children) override;
  leveldb::Status RemoveFile(const std::string& path) override;
  leveldb::Status CreateDir(const std::string&) override { return {}; }
  leveldb::Status RemoveDir(const std::string&) override { return {}; }
  leveldb::Status GetFileSize(const std::string& path, uint64_t* bytes) override;
  leveldb::Status RenameFile(const std::string& from, const std::string& to) override;
  leveldb::Status LockFile(const std::string&, leveldb::FileLock** lock) override;
  leveldb::Status UnlockFile(leveldb::FileLock* lock) override;
  leveldb::Status NewLogger(const std::string&, leveldb::Logger** logger) override;

 private:
  File Find(const std::string& path);
  void Recycle(File file);

  std::mutex mutex_;
  Files files_;
  std::vector<File> spare_;
};

}  // namespace sluice::bench
