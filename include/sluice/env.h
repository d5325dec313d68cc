/// @file
/// The file system, behind an interface: everything that Sluice does to files goes through an Env.
///
/// Env::Posix() is the real one. Another, given to a database by Options::env, may count
/// operations, inject faults, encrypt, or keep everything in memory; CheckEnv
/// (sluice/conformance.h) tells whether it keeps the contract below, on which durability rests.
///
/// Errors name the path and what the system answered. An Env is thread-safe. The files that it
/// opens are thread-compatible; RandomAccessFile::Read and the operations of a DataFile are
/// thread-safe. After NoSpace the same call may be made again, except for Append. A Sync never
/// answers NoSpace: when it has failed, it is unknown which of the bytes written since the last one
/// are durable.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/export.h"
#include "sluice/status.h"

namespace sluice {

/// A file being written from its start to its end. Destroying one that is not closed closes it and
/// ignores errors: for error paths only.
class SLUICE_EXPORT WritableFile {
 public:
  WritableFile() = default;
  WritableFile(const WritableFile&) = delete;
  WritableFile& operator=(const WritableFile&) = delete;
  virtual ~WritableFile() = default;

  /// May keep the bytes in a buffer.
  virtual Status Append(std::string_view bytes) = 0;
  /// Hands what is buffered to the system: it survives this process, but not a loss of power.
  virtual Status Flush() = 0;
  /// Flushes and makes the contents durable. The file's name is durable only after SyncDir.
  virtual Status Sync() = 0;
  /// Flushes and closes; does not make anything durable. The file takes no calls after it.
  virtual Status Close() = 0;
};

/// A file written in place, in space that was reserved before. Sync, Reserve and Write may run
/// beside one another; of each, one at a time.
class SLUICE_EXPORT ReservedFile {
 public:
  ReservedFile() = default;
  ReservedFile(const ReservedFile&) = delete;
  ReservedFile& operator=(const ReservedFile&) = delete;
  virtual ~ReservedFile() = default;

  /// Makes the file at least `bytes` long, by zeros that are written, not only promised. NoSpace
  /// and other errors leave what was reserved as it was; the call may be repeated.
  virtual Status Reserve(uint64_t bytes) = 0;
  /// Survives this process at once, but not a loss of power. Where the file system writes in place
  /// (ext4, tmpfs) it costs a copy to a memory map, no system call, and cannot fail; but the process
  /// dies if anything else shortens the file, or if a page of it that memory gave up cannot be read
  /// again. Elsewhere, as where a write may take new space (btrfs, ZFS, XFS), it costs a system call,
  /// about a microsecond more, which may say NoSpace with a part written.
  /// REQUIRES: offset + bytes.size() <= what is reserved.
  virtual Status Write(uint64_t offset, std::string_view bytes) = 0;
  /// Makes durable what was written and reserved before. The file's name is durable only after
  /// SyncDir.
  virtual Status Sync() = 0;
};

/// How reads or writes of a file are queued in the kernel.
struct IoDescriptor {
  int fd = -1;  ///< the file descriptor; -1: they cannot be queued
  /// Offsets, lengths and memory must be multiples of it: a power of two, for reads 64 KiB at most,
  /// for writes 4 KiB.
  uint32_t alignment = 1;
};

/// A file read and written anywhere, by any number of threads; what is being written must not be
/// read. Longer than it was after a write beyond its end, with zeros in between.
class SLUICE_EXPORT DataFile {
 public:
  DataFile() = default;
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;
  virtual ~DataFile() = default;

  /// Reads exactly `n` bytes; fewer is an error.
  virtual Status Read(uint64_t offset, size_t n, char* out) const = 0;
  /// Survives this process at once, but not a loss of power.
  virtual Status Write(uint64_t offset, std::string_view bytes) = 0;
  /// Makes durable what was written before. The file's name is durable only after SyncDir.
  virtual Status Sync() = 0;
  /// Lets the system begin to write these bytes to the device, so that the next Sync, by any
  /// thread, finds less to do. Only a hint.
  virtual void StartWriteback(uint64_t /*offset*/, uint64_t /*bytes*/) {}
  /// Waits until the device has what StartWriteback began to write of these bytes. They are durable
  /// only after a Sync; an error counts as one of a Sync, which may not tell it again.
  virtual Status FinishWriteback(uint64_t /*offset*/, uint64_t /*bytes*/) { return {}; }
  /// These bytes are no longer needed: their space goes back to the file system. They read as they
  /// did before, or as zeros. NotSupported, and no effect, where the file system cannot do that.
  virtual Status Discard(uint64_t offset, uint64_t bytes) = 0;
  /// Makes these bytes those that `source`, another file, has at `source_offset`, without a copy:
  /// both files share the space until one of them is written to there. Offsets and length are
  /// multiples of 4 KiB, and `source` has that many bytes, which are not written meanwhile. Durable
  /// after a Sync. NotSupported, and no effect, where the file system cannot do that.
  virtual Status CloneFrom(const DataFile& source, uint64_t /*source_offset*/, uint64_t /*offset*/,
                           uint64_t /*bytes*/) {
    return Status::NotSupported(source.path() + ": its file system shares no space between files");
  }
  /// Cuts the file to `bytes`; it has at least as many. What is beyond must not be read or written
  /// at the same time.
  virtual Status Truncate(uint64_t bytes) = 0;
  /// Space that the file occupies on the device.
  virtual Status GetDiskBytes(uint64_t* bytes) const = 0;
  /// From now on Read, and what is queued by read_descriptor and write_descriptor, goes past the
  /// system's page cache, and what is durable leaves that with each Sync. Called before any other
  /// operation. NotSupported, and no effect, where the file system cannot do that.
  virtual Status BypassPageCache() {
    return Status::NotSupported("its file system reads nothing past a page cache");
  }

  /// The path that was given to NewDataFile.
  virtual const std::string& path() const = 0;
  /// The file descriptor, for what the system does with two files; -1: there is none.
  virtual int descriptor() const { return -1; }
  /// What Read reads from, so that several such reads can be queued in the kernel and wait for the
  /// device together. Without it they are calls of Read, one after the other.
  virtual IoDescriptor read_descriptor() const { return {}; }
  /// What such writes go to as do those of Write. Without it they are calls of Write.
  virtual IoDescriptor write_descriptor() const { return {.fd = descriptor()}; }
  /// Takes space for these bytes, which are behind the file's end, and makes it so long; they read as
  /// zeros. After an error the file may be longer than it was. By default it writes zeros.
  virtual Status Allocate(uint64_t offset, uint64_t bytes) {
    return Write(offset, std::string(bytes, '\0'));
  }
};

/// A file that is read only.
class SLUICE_EXPORT RandomAccessFile {
 public:
  RandomAccessFile() = default;
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;
  virtual ~RandomAccessFile() = default;

  /// Reads exactly `n` bytes at `offset` to `out`; fewer is an error.
  virtual Status Read(uint64_t offset, size_t n, char* out) const = 0;
  /// As DataFile's.
  virtual Status BypassPageCache() {
    return Status::NotSupported("its file system reads nothing past a page cache");
  }
  /// As DataFile's.
  virtual IoDescriptor read_descriptor() const { return {}; }
};

/// The bytes of a whole file, for as long as this object lives. From Env::Posix() it is a memory
/// map: if anything shortens the file in the meantime, the process dies.
class SLUICE_EXPORT MappedFile {
 public:
  MappedFile() = default;
  /// `owner` keeps `bytes` valid.
  MappedFile(std::string_view bytes, std::shared_ptr<const void> owner)
      : bytes_(bytes), owner_(std::move(owner)) {}
  MappedFile(MappedFile&&) = default;
  MappedFile& operator=(MappedFile&&) = default;

  /// The file's contents.
  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
  std::shared_ptr<const void> owner_;
};

/// A lock that is held; released when this is destroyed.
class SLUICE_EXPORT FileLock {
 public:
  FileLock() = default;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  virtual ~FileLock() = default;
};

/// A file system.
class SLUICE_EXPORT Env {
 public:
  /// The real file system. Never destroyed.
  static Env* Posix();

  virtual ~Env() = default;

  /// Creates the file, or empties it if it exists.
  virtual Status NewWritableFile(const std::string& path, std::unique_ptr<WritableFile>* file) = 0;
  /// Creates the file, or empties it if it exists. At most `most_bytes` will be reserved in it.
  virtual Status NewReservedFile(const std::string& path, uint64_t most_bytes,
                                 std::unique_ptr<ReservedFile>* file) = 0;
  /// Opens the file, or creates it.
  virtual Status NewDataFile(const std::string& path, std::unique_ptr<DataFile>* file) = 0;
  /// Opens an existing file; NotFound if there is none.
  virtual Status NewRandomAccessFile(const std::string& path,
                                     std::unique_ptr<RandomAccessFile>* file) = 0;
  /// Reads the whole file; NotFound if there is none.
  virtual Status ReadFile(const std::string& path, std::string* contents) = 0;
  /// Makes the whole file readable as memory; NotFound if there is none, InvalidArgument if it is no
  /// regular file.
  virtual Status MapFile(const std::string& path, MappedFile* file) = 0;

  /// Names in `dir`, sorted, without "." and "..".
  virtual Status GetChildren(const std::string& dir, std::vector<std::string>* names) = 0;
  /// Ok if there is a file or directory at `path`, NotFound if not.
  virtual Status FileExists(const std::string& path) = 0;
  /// Its length in bytes; NotFound if there is none.
  virtual Status GetFileSize(const std::string& path, uint64_t* bytes) = 0;
  /// Tells the file or directory at `path` from all others, however the path is spelt.
  virtual Status GetFileId(const std::string& path, std::string* id) = 0;

  /// NotFound if there is none. Durable only after SyncDir.
  virtual Status RemoveFile(const std::string& path) = 0;
  /// Replaces a file at `to` atomically.
  virtual Status RenameFile(const std::string& from, const std::string& to) = 0;
  /// Ok if the directory exists already; if not, it is there durably.
  virtual Status CreateDir(const std::string& dir) = 0;
  /// An error if the directory is not empty.
  virtual Status RemoveDir(const std::string& dir) = 0;
  /// Makes the names in `dir` durable: files created, renamed and removed there.
  virtual Status SyncDir(const std::string& dir) = 0;

  /// Locks the file at `path`, created if missing, against this process and others, with LevelDB's
  /// protocol (POSIX record lock on the whole file), so that a real LevelDB is kept out too. Busy
  /// if it is held already. Opening and closing the file by other means in this process loses the
  /// lock.
  virtual Status LockFile(const std::string& path, std::unique_ptr<FileLock>* lock) = 0;
  /// The same for readers, of which any number may hold the lock at once; writes nothing. The file
  /// must exist, and may be on a file system that is mounted read-only.
  virtual Status LockFileShared(const std::string& path, std::unique_ptr<FileLock>* lock) = 0;
};

}  // namespace sluice
