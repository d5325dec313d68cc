// Sluice's file system on a leveldb::Env, for tests that bring an Env of their own: one that fails,
// forgets what was not synced, or lives in memory.
//
// A file that Sluice writes in place (ReservedFile, DataFile) is a journal of its writes
// (journal.h). Names are those that LevelDB's tests look for, all in one directory:
//
//   DIR/NNNNNN.data        NNNNNN.ldb
//   DIR/log/NNNNNN.log     NNNNNN.log; while it is named .log.tmp, there is an empty NNNNNN.draft
//   DIR/meta/NNNNNN.log    MANIFEST-NNNNNN; while it is named .log.tmp, MANIFEST-NNNNNN.draft
//   DIR/*/durable          log-durable, meta-durable
//
// A directory is synced by syncing a new file in it, as LevelDB's Envs have it.

#pragma once

#include <leveldb/env.h>

#include <memory>
#include <string>
#include <vector>

#include "sluice/env.h"

namespace sluice {

class EnvBridge : public Env {
 public:
  // `target` outlives it.
  explicit EnvBridge(leveldb::Env* target) : target_(target) {}

  Status NewWritableFile(const std::string& path, std::unique_ptr<WritableFile>* file) override;
  Status NewReservedFile(const std::string& path, uint64_t most_bytes,
                         std::unique_ptr<ReservedFile>* file) override;
  Status NewDataFile(const std::string& path, std::unique_ptr<DataFile>* file) override;
  Status NewRandomAccessFile(const std::string& path,
                             std::unique_ptr<RandomAccessFile>* file) override;
  Status ReadFile(const std::string& path, std::string* contents) override;
  Status MapFile(const std::string& path, MappedFile* file) override;
  Status GetChildren(const std::string& dir, std::vector<std::string>* names) override;
  Status FileExists(const std::string& path) override;
  Status GetFileSize(const std::string& path, uint64_t* bytes) override;
  Status GetFileId(const std::string& path, std::string* id) override;
  Status RemoveFile(const std::string& path) override;
  Status RenameFile(const std::string& from, const std::string& to) override;
  Status CreateDir(const std::string& dir) override;
  Status RemoveDir(const std::string& dir) override;
  Status SyncDir(const std::string& dir) override;
  Status LockFile(const std::string& path, std::unique_ptr<FileLock>* lock) override;
  Status LockFileShared(const std::string& path, std::unique_ptr<FileLock>* lock) override;

 private:
  Status Touch(const std::string& path);

  leveldb::Env* const target_;
};

}  // namespace sluice
