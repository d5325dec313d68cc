// A file system that crashes on demand and forgets what was not synced, or fails a single call.
//
// It lives in memory. A crash test runs a piece of work once to count its operations, then once
// more for each operation k, crashing there, and checks that the work's promises hold for whatever
// survives:
//
//   for (uint64_t k = 0; k < operations; ++k) {
//     FaultEnv env(before);
//     env.CrashAt(k, seed);
//     (void)Work(&env);
//     FileImage after = env.Survivors(CrashKind::kPower, seed);
//     ... FaultEnv(after), or StoreFiles(after, ...) for those who want real files ...
//   }
//
// What a loss of power leaves is chosen at random, as harshly as POSIX allows:
//  * of a file, what was synced and any part of what was written since, 512-byte sectors of that
//    perhaps zero; of a file truncated since its last sync, perhaps the old contents; of a file
//    written in place, each sector written since as it was or as it is;
//  * of names, those durable at the last SyncDir of their directory, and any subset of the
//    creations, renames and removals since, whatever their order, each whole or not at all.
// A kill of the process leaves everything handed to the system, and of what only stood in the
// process' buffers any prefix.
//
// A sync that fails (FailAt) does as on Linux (Rebello et al., "Can applications recover from fsync
// failures?", ATC'20): each dirty page reaches the disk or not, and all are marked clean. Reads go
// on to see what was written; a later sync says ok and writes none of it; a loss of power forgets
// it, unless the page was written to again, and synced, in between. All that outlives the process,
// so a test of it opens again in the same FaultEnv (Restart), and takes the power away afterwards.
// After a failed sync of a directory, its names are as durable as before: they go to a journal, and
// no later sync says ok unless the journal has them.
//
// Thread-safe. Paths are compared as they are spelt. Directories are durable once made.

#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/env.h"
#include "util/mutex.h"
#include "util/status.h"

namespace sluice {

struct FaultInode;

// Paths and contents.
using FileImage = std::map<std::string, std::string>;

enum class CrashKind { kProcess, kPower };

class FaultEnv : public Env {
 public:
  // Holds `files`, all durable, and the directories they are in.
  explicit FaultEnv(const FileImage& files = {});
  ~FaultEnv() override;

  // Operation number `operation`, counted from 0, and all that come after it fail, reads too. It
  // has no effect itself, except that an Append or Write may get some bytes through.
  void CrashAt(uint64_t operation, uint64_t seed);
  // Calls so far that may change something: NewWritableFile, NewReservedFile, NewDataFile, Append,
  // Reserve, Write, Flush, Sync, Discard, CloneFrom, Truncate, Close, RemoveFile, RenameFile,
  // CreateDir, RemoveDir, SyncDir, LockFile.
  uint64_t operations() const;
  bool crashed() const;

  // Operation number `operation` alone fails, as if the system had answered `error` (EIO, ENOSPC).
  // It has no effect itself, except that an Append or Write gets a part of its bytes through, and a
  // sync does as above.
  void FailAt(uint64_t operation, int error, uint64_t seed);
  // From operation `from` on and before `to`, others have taken all space of the device: what needs
  // more than was given back since fails with ENOSPC, an Append or Write with a part of its bytes.
  void FillUp(uint64_t from, uint64_t to, uint64_t seed);
  // As FailAt, of calls that only read: NewRandomAccessFile, Read, ReadFile, MapFile, GetChildren,
  // FileExists, GetFileSize, counted apart. A Read may fill a part of its buffer.
  void FailReadAt(uint64_t read, int error, uint64_t seed);
  uint64_t reads() const;
  // Whether a DataFile can Discard.
  void SetMakesHoles(bool makes_holes) { makes_holes_ = makes_holes; }
  // Whether a DataFile can CloneFrom another; at first it cannot.
  void SetClones(bool clones) { clones_ = clones; }
  // What the last call said that failed by any of these, "path: cannot sync: ..."; empty before,
  // and after a Restart.
  std::string failure() const;

  // The process is gone, killed where it crashed or now, and another comes up on the same system:
  // what that reads is what was handed to the system, on disk or not. REQUIRES: what was opened
  // before is not used any more, but to be destroyed.
  void Restart(uint64_t seed);

  // What a restart after a crash right now would find. May be asked for often, before a crash too.
  FileImage Survivors(CrashKind kind, uint64_t seed) const;

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
  // As LockFile, for one at a time, too.
  Status LockFileShared(const std::string& path, std::unique_ptr<FileLock>* lock) override;

 private:
  using Inode = FaultInode;
  struct Opened;  // what the files of all kinds have
  class Writable;
  class Reserved;
  class Data;
  class Readable;
  class Lock;
  using Names = std::map<std::string, std::shared_ptr<Inode>>;

  static constexpr uint64_t kNameBytes = 1;  // that a new name takes of a full device

  // New bindings of names that become durable together; null unbinds.
  struct Change {
    std::vector<std::pair<std::string, std::shared_ptr<Inode>>> bindings;

    bool Touches(const std::string& dir) const;
    void ApplyTo(Names* names) const;
  };

  struct FaultPoint {
    uint64_t at = ~uint64_t{0};
    int error = 0;
    uint64_t seed = 0;
  };

  // To be called before an operation that changes something, or one that reads; an error is the
  // crash, or the failure. `doing` reads "cannot open".
  Status CountOperation(const std::string& path, std::string_view doing) SLUICE_REQUIRES(mutex_);
  // The same of an operation that takes so much space.
  Status CountOperation(const std::string& path, std::string_view doing, uint64_t bytes)
      SLUICE_REQUIRES(mutex_);
  // The same of a sync.
  Status CountSync(const std::string& path, std::string_view doing) SLUICE_REQUIRES(mutex_);
  Status CountRead(const std::string& path, std::string_view doing) SLUICE_REQUIRES(mutex_);
  // The last operation gave so much space back.
  void GiveBack(uint64_t bytes) SLUICE_REQUIRES(mutex_);
  bool Full() const SLUICE_REQUIRES(mutex_);  // at the last operation
  Status CheckAlive(const std::string& path) const SLUICE_REQUIRES(mutex_);
  Status Fail(const std::string& path, std::string_view doing, const FaultPoint& fault)
      SLUICE_REQUIRES(mutex_);
  // What the last operation, an Append or Write of `bytes` that crashes or fails, gets through.
  std::string_view Torn(std::string_view bytes) const SLUICE_REQUIRES(mutex_);
  // As the two above find a file; NotFound in the words of the real thing.
  Status Find(const std::string& path, std::shared_ptr<Inode>* inode) const SLUICE_REQUIRES(mutex_);
  Status CheckDirOf(const std::string& path) const SLUICE_REQUIRES(mutex_);
  void Bind(Change change) SLUICE_REQUIRES(mutex_);
  void CreateOrEmpty(const std::string& path, std::shared_ptr<Inode>* inode)
      SLUICE_REQUIRES(mutex_);
  void FindOrCreate(const std::string& path, std::shared_ptr<Inode>* inode) SLUICE_REQUIRES(mutex_);

  // For files of every kind. They take mutex_.
  Status Read(const std::string& path, const Inode& inode, uint64_t offset, size_t n, char* out);
  // `space`: what it takes of the device.
  Status Overwrite(const std::string& path, Inode* inode, uint64_t offset, std::string_view bytes,
                   uint64_t space);
  Status Sync(const std::string& path, Inode* inode);
  Status Discard(const std::string& path, Inode* inode, uint64_t offset, uint64_t bytes);
  Status Truncate(const std::string& path, Inode* inode, uint64_t bytes);

  mutable Mutex mutex_;
  Names names_ SLUICE_GUARDED_BY(mutex_);    // as the process sees them
  Names durable_ SLUICE_GUARDED_BY(mutex_);  // as the disk has them, without:
  std::vector<Change> pending_ SLUICE_GUARDED_BY(mutex_);
  std::set<std::string> dirs_ SLUICE_GUARDED_BY(mutex_);
  std::map<std::string, int> locked_ SLUICE_GUARDED_BY(mutex_);  // readers, or kWriter
  uint64_t operations_ SLUICE_GUARDED_BY(mutex_) = 0;
  uint64_t reads_ SLUICE_GUARDED_BY(mutex_) = 0;
  uint64_t crash_at_ SLUICE_GUARDED_BY(mutex_) = ~uint64_t{0};
  bool crashed_ SLUICE_GUARDED_BY(mutex_) = false;
  FaultPoint failing_operation_ SLUICE_GUARDED_BY(mutex_);
  FaultPoint failing_read_ SLUICE_GUARDED_BY(mutex_);
  uint64_t full_from_ SLUICE_GUARDED_BY(mutex_) = ~uint64_t{0};
  uint64_t full_to_ SLUICE_GUARDED_BY(mutex_) = ~uint64_t{0};
  uint64_t full_seed_ SLUICE_GUARDED_BY(mutex_) = 0;
  uint64_t given_back_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::string failure_ SLUICE_GUARDED_BY(mutex_);
  std::atomic<bool> makes_holes_{true};
  std::atomic<bool> clones_{false};
  // Decides what the last operation gets through, if it crashes or fails.
  uint64_t tear_seed_ SLUICE_GUARDED_BY(mutex_) = 0;
};

// All files of `dir`, which has no directories in it.
Status LoadFiles(Env* env, const std::string& dir, FileImage* files);
// Writes those of `files` that lie in `from_dir` to `to_dir`, made if missing. Nothing is synced.
Status StoreFiles(const FileImage& files, const std::string& from_dir, Env* env,
                  const std::string& to_dir);

}  // namespace sluice
