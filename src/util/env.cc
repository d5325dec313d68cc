#include "sluice/env.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <utility>

#include "util/alignment.h"
#include "util/files.h"
#include "util/fork_mark.h"
#include "util/kept_buffer.h"
#include "util/mutex.h"
#include "util/thread_owned.h"

namespace sluice {

namespace {

// `doing` reads "cannot open".
Status PathError(std::string_view path, std::string_view doing) {
  const int error = errno;
  return Status::FromErrno(fmt::format("{}: {}", path, doing), error);
}

// After it nobody knows what is on disk, and the next sync may say ok. NoSpace would promise that
// the same may be tried again.
Status SyncError(std::string_view path, std::string_view doing) {
  const Status status = PathError(path, doing);
  return status.IsNoSpace() ? Status::IoError(status.message()) : status;
}

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Close() { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_ = -1;
};

FileDescriptor Open(const std::string& path, int flags) {
  int fd;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
  } while (fd < 0 && errno == EINTR);
  return FileDescriptor(fd);
}

class PosixWritableFile final : public WritableFile {
 public:
  PosixWritableFile(std::string path, FileDescriptor fd)
      : path_(std::move(path)), fd_(std::move(fd)) {}
  ~PosixWritableFile() override {
    if (fd_.valid()) {
      (void)Close();
    }
  }

  Status Append(std::string_view bytes) override {
    if (buffer_.size() + bytes.size() > kBufferBytes) {
      SLUICE_RETURN_IF_ERROR(Flush());
    }
    if (bytes.size() > kBufferBytes) {
      return Write(bytes);
    }
    buffer_.append(bytes);
    return {};
  }

  Status Flush() override {
    SLUICE_RETURN_IF_ERROR(Write(buffer_));
    buffer_.clear();
    return {};
  }

  Status Sync() override {
    SLUICE_RETURN_IF_ERROR(Flush());
    return ::fdatasync(fd_.get()) == 0 ? Status() : SyncError(path_, "cannot sync");
  }

  Status Close() override {
    Status status = Flush();
    if (fd_.Close() != 0 && status.ok()) {
      return PathError(path_, "cannot close");
    }
    return status;
  }

 private:
  static constexpr size_t kBufferBytes = 64 << 10;

  Status Write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_.get(), bytes.data(), bytes.size());
      if (n >= 0) {
        bytes.remove_prefix(n);
      } else if (errno != EINTR) {
        return PathError(path_, "cannot write");
      }
    }
    return {};
  }

  const std::string path_;
  FileDescriptor fd_;
  std::string buffer_;
};

// Writes all of it; `doing` reads "cannot write".
Status WriteAt(const std::string& path, int fd, uint64_t offset, std::string_view bytes,
               std::string_view doing) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n >= 0) {
      bytes.remove_prefix(n);
      offset += n;
    } else if (errno != EINTR) {
      return PathError(path, fmt::format("{} at offset {}", doing, offset));
    }
  }
  return {};
}

// Whether a page of a file there that was written once can be written again without new space. Only
// then may it be written through a map: a store to a map that finds the disk full is a SIGBUS. XFS
// is none of these, for its files may share blocks with copies that were made meanwhile (reflinks).
bool WritesInPlace(int fd) {
  struct statfs info;
  return ::fstatfs(fd, &info) == 0 &&
         (info.f_type == EXT4_SUPER_MAGIC || info.f_type == TMPFS_MAGIC);
}

// Whether a read there only copies: in the kernel's queue it would wait for a thread of the kernel.
bool ReadsFromMemory(int fd) {
  struct statfs info;
  return ::fstatfs(fd, &info) == 0 && (info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC);
}

// Written through a shared map where that is safe: the pages belong to the system from the moment
// of the copy.
class PosixReservedFile final : public ReservedFile {
 public:
  // `map`: of the file and what will be reserved of it; null if it is not to be mapped.
  PosixReservedFile(std::string path, FileDescriptor fd, char* map, size_t map_bytes)
      : path_(std::move(path)), fd_(std::move(fd)), map_(map), map_bytes_(map_bytes) {}
  ~PosixReservedFile() override {
    if (map_ != nullptr) {
      ::munmap(map_, map_bytes_);
    }
  }

  Status Reserve(uint64_t bytes) override {
    static constexpr std::array<char, size_t{64} << 10> zeros{};
    for (uint64_t at = reserved_; at < bytes;) {
      const std::string_view piece(zeros.data(), std::min<uint64_t>(bytes - at, zeros.size()));
      Status status = WriteAt(path_, fd_.get(), at, piece, "cannot reserve");
      if (!status.ok()) {
        (void)!::ftruncate(fd_.get(), static_cast<off_t>(reserved_));  // it may help others
        return status;
      }
      at += piece.size();
    }
    if (bytes > reserved_ && map_ != nullptr) {
      SLUICE_RETURN_IF_ERROR(Populate(bytes));
    }
    reserved_ = std::max(reserved_, bytes);
    return {};
  }

  Status Write(uint64_t offset, std::string_view bytes) override {
    if (map_ == nullptr) {
      return WriteAt(path_, fd_.get(), offset, bytes, "cannot write");
    }
    if (!bytes.empty()) {  // an empty view's data may be null, which memcpy does not take
      std::memcpy(map_ + offset, bytes.data(), bytes.size());
    }
    return {};
  }

  Status Sync() override {
    return ::fdatasync(fd_.get()) == 0 ? Status() : SyncError(path_, "cannot sync");
  }

 private:
  // One call instead of a fault for each page; and where a fault would be a SIGBUS, it is an error.
  Status Populate(uint64_t end) {
#ifdef MADV_POPULATE_WRITE
    static const auto kPage = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    const uint64_t begin = reserved_ / kPage * kPage;
    if (::madvise(map_ + begin, end - begin, MADV_POPULATE_WRITE) != 0 && errno != EINVAL) {
      return PathError(path_, "cannot reserve");
    }
#endif
    return {};
  }

  const std::string path_;
  const FileDescriptor fd_;
  char* const map_;
  const size_t map_bytes_;
  uint64_t reserved_ = 0;
};

Status ReadAt(const std::string& path, int fd, uint64_t offset, size_t n, char* out) {
  for (size_t done = 0; done < n;) {
    const ssize_t got = ::pread(fd, out + done, n - done, static_cast<off_t>(offset + done));
    if (got == 0) {
      return Status::IoError(fmt::format("{}: ends before offset {}", path, offset + n));
    }
    if (got > 0) {
      done += got;
    } else if (errno != EINTR) {
      return PathError(path, fmt::format("cannot read at offset {}", offset + done));
    }
  }
  return {};
}

// A descriptor with O_DIRECT, or none, and what the system asks of I/O through it.
struct DirectDescriptor {
  FileDescriptor fd;
  // What direct I/O asks of offsets, lengths and memory addresses. As a rule a sector of the
  // device: a page would make most blocks one page longer.
  uint64_t alignment = 0;

  IoDescriptor AsIoDescriptor() const {
    return {.fd = fd.get(), .alignment = static_cast<uint32_t>(alignment)};
  }
};

Status ReadDirect(const std::string& path, const DirectDescriptor& direct, uint64_t offset,
                  size_t n, char* out) {
  const uint64_t alignment = direct.alignment;
  const uint64_t begin = RoundDown(offset, alignment);
  const size_t skipped = offset - begin;
  thread_local ThreadOwned<std::string> kept;
  KeptBuffer buffer(&*kept);
  buffer->resize(alignment + RoundUp(skipped + n, alignment));
  char* const aligned = AlignUp(buffer->data(), alignment);
  const size_t whole = buffer->size() - alignment;
  size_t done = 0;
  while (done < skipped + n) {
    const ssize_t got =
        ::pread(direct.fd.get(), aligned + done, whole - done, static_cast<off_t>(begin + done));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return PathError(path, fmt::format("cannot read at offset {}", offset));
    }
    done += got;
    if (got % alignment != 0 || got == 0) {
      break;  // the end of the file
    }
  }
  if (done < skipped + n) {
    return Status::IoError(fmt::format("{}: ends before offset {}", path, offset + n));
  }
  std::memcpy(out, aligned + skipped, n);
  return {};
}

Status OpenDirect(const std::string& path, int access, DirectDescriptor* direct) {
  FileDescriptor fd = Open(path, access | O_DIRECT);
  if (!fd.valid()) {
    return errno == EINVAL ? Status::NotSupported(
                                 "its file system reads nothing past the page cache (O_DIRECT)")
                           : PathError(path, "cannot open");
  }
  direct->fd = std::move(fd);
  direct->alignment = 4096;  // enough everywhere
#ifdef STATX_DIOALIGN
  struct statx info;
  if (::statx(direct->fd.get(), "", AT_EMPTY_PATH, STATX_DIOALIGN, &info) == 0 &&
      (info.stx_mask & STATX_DIOALIGN) != 0 && info.stx_dio_offset_align != 0) {
    direct->alignment = std::max(info.stx_dio_offset_align, info.stx_dio_mem_align);
  }
#endif
  return {};
}

class PosixDataFile final : public DataFile {
 public:
  PosixDataFile(std::string path, FileDescriptor fd)
      : path_(std::move(path)), fd_(std::move(fd)), in_memory_(ReadsFromMemory(fd_.get())) {}

  Status Read(uint64_t offset, size_t n, char* out) const override {
    return direct_.fd.valid() ? ReadDirect(path_, direct_, offset, n, out)
                              : ReadAt(path_, fd_.get(), offset, n, out);
  }

  Status Write(uint64_t offset, std::string_view bytes) override {
    return WriteAt(path_, fd_.get(), offset, bytes, "cannot write");
  }

  Status Sync() override {
    if (::fdatasync(fd_.get()) != 0) {
      return SyncError(path_, "cannot sync");
    }
    if (direct_.fd.valid()) {
      (void)::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_DONTNEED);
    }
    return {};
  }

  Status BypassPageCache() override { return OpenDirect(path_, O_RDWR, &direct_); }

  void StartWriteback(uint64_t offset, uint64_t bytes) override {
    (void)::sync_file_range(fd_.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes),
                            SYNC_FILE_RANGE_WRITE);
  }

  Status FinishWriteback(uint64_t offset, uint64_t bytes) override {
    // Where there is none, there is nothing to wait for either.
    return ::sync_file_range(fd_.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes),
                             SYNC_FILE_RANGE_WAIT_BEFORE) == 0 ||
                   errno == ENOSYS || errno == EINVAL || errno == ESPIPE
               ? Status()
               : SyncError(path_, "cannot write to the device");
  }

  Status Discard(uint64_t offset, uint64_t bytes) override {
    if (::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0) {
      return {};
    }
    if (errno == EOPNOTSUPP || errno == ENOSYS) {
      return Status::NotSupported(fmt::format("{}: its file system makes no holes", path_));
    }
    return PathError(path_, fmt::format("cannot give back space at offset {}", offset));
  }

  Status CloneFrom(const DataFile& source, uint64_t source_offset, uint64_t offset,
                   uint64_t bytes) override {
    if (bytes == 0) {  // the system would take it for all there is
      return {};
    }
    file_clone_range range{.src_fd = source.descriptor(),
                           .src_offset = source_offset,
                           .src_length = bytes,
                           .dest_offset = offset};
    if (::ioctl(fd_.get(), FICLONERANGE, &range) == 0) {
      return {};
    }
    switch (errno) {
      case ENOSPC:
      case EDQUOT:
      case EIO:
        return PathError(path_, fmt::format("cannot share the space of {}", source.path()));
      default:  // systems differ in how they refuse what they cannot do
        return DataFile::CloneFrom(source, source_offset, offset, bytes);
    }
  }

  Status Truncate(uint64_t bytes) override {
    return ::ftruncate(fd_.get(), static_cast<off_t>(bytes)) == 0
               ? Status()
               : PathError(path_, "cannot truncate");
  }

  Status Allocate(uint64_t offset, uint64_t bytes) override {
    if (::fallocate(fd_.get(), 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0) {
      return {};
    }
    if (errno == EOPNOTSUPP || errno == ENOSYS) {
      return DataFile::Allocate(offset, bytes);
    }
    return PathError(path_, fmt::format("cannot allocate at offset {}", offset));
  }

  Status GetDiskBytes(uint64_t* bytes) const override {
    struct stat info;
    if (::fstat(fd_.get(), &info) != 0) {
      return PathError(path_, "cannot ask for its size");
    }
    *bytes = static_cast<uint64_t>(info.st_blocks) * 512;
    return {};
  }

  const std::string& path() const override { return path_; }
  int descriptor() const override { return fd_.get(); }
  IoDescriptor read_descriptor() const override {
    return in_memory_           ? IoDescriptor()
           : direct_.fd.valid() ? direct_.AsIoDescriptor()
                                : IoDescriptor{.fd = fd_.get()};
  }
  IoDescriptor write_descriptor() const override {
    return direct_.fd.valid() && direct_.alignment <= 4096 ? direct_.AsIoDescriptor()
                                                           : IoDescriptor{.fd = fd_.get()};
  }

 private:
  const std::string path_;
  const FileDescriptor fd_;
  const bool in_memory_;
  DirectDescriptor direct_;  // for all but Write
};

class PosixRandomAccessFile final : public RandomAccessFile {
 public:
  PosixRandomAccessFile(std::string path, FileDescriptor fd)
      : path_(std::move(path)), fd_(std::move(fd)) {}

  Status Read(uint64_t offset, size_t n, char* out) const override {
    return direct_.fd.valid() ? ReadDirect(path_, direct_, offset, n, out)
                              : ReadAt(path_, fd_.get(), offset, n, out);
  }

  Status BypassPageCache() override { return OpenDirect(path_, O_RDONLY, &direct_); }
  IoDescriptor read_descriptor() const override {
    return direct_.fd.valid() ? direct_.AsIoDescriptor() : IoDescriptor{.fd = fd_.get()};
  }

 private:
  const std::string path_;
  const FileDescriptor fd_;
  DirectDescriptor direct_;
};

// Record locks belong to a process, and closing any descriptor of a file drops them all. So a
// second lock of a file this process holds must be refused, or share the first one's descriptor,
// before the file is even opened. Each process has a table: locks are not passed on by a fork.
class FileLockTable {
 public:
  using FileId = std::pair<dev_t, ino_t>;

  Status Lock(const std::string& path, bool shared, FileId* id) {
    const MutexLock guard(mutex_);
    for (;;) {
      bool stale;
      SLUICE_RETURN_IF_ERROR(TryLock(path, shared, id, &stale));
      if (!stale) {
        return {};
      }
    }
  }

  void Unlock(const FileId& id) {
    const MutexLock guard(mutex_);
    const auto held = held_.find(id);
    if (held == held_.end()) {
      return;  // a copy of a lock of the process's parent
    }
    if (held->second.sharers > 1) {
      --held->second.sharers;
    } else {
      held_.erase(held);
    }
  }

 private:
  struct Held {
    FileDescriptor fd;
    size_t sharers;  // 0: one that excludes others
  };

  // `*stale`: the file was removed, by who held it before, when it was open here already. To lock
  // that keeps nobody out, for others make a new one.
  Status TryLock(const std::string& path, bool shared, FileId* id, bool* stale) {
    *stale = false;
    struct stat info;
    if (::stat(path.c_str(), &info) == 0) {
      *id = {info.st_dev, info.st_ino};
      if (const auto held = held_.find(*id); held != held_.end()) {
        if (!shared || held->second.sharers == 0) {
          return Status::Busy(fmt::format("{}: this process holds the lock already", path));
        }
        ++held->second.sharers;
        return {};
      }
    }
    FileDescriptor fd = Open(path, shared ? O_RDONLY : O_RDWR | O_CREAT);
    if (!fd.valid() || ::fstat(fd.get(), &info) != 0) {
      return PathError(path, "cannot open lock file");
    }
    struct flock request = {};
    request.l_type = static_cast<short>(shared ? F_RDLCK : F_WRLCK);
    request.l_whence = SEEK_SET;  // from 0 to the end, however long
    if (::fcntl(fd.get(), F_SETLK, &request) != 0) {
      if (errno == EACCES || errno == EAGAIN) {
        return Status::Busy(fmt::format("{}: another process holds the lock", path));
      }
      return PathError(path, "cannot lock");
    }
    *id = {info.st_dev, info.st_ino};
    if (::stat(path.c_str(), &info) == 0) {
      *stale = FileId(info.st_dev, info.st_ino) != *id;
    } else if (errno == ENOENT) {
      *stale = true;
    } else {
      return PathError(path, "cannot find lock file");
    }
    if (!*stale) {
      held_.emplace(*id, Held{std::move(fd), shared ? size_t{1} : size_t{0}});
    }
    return {};
  }

  Mutex mutex_;
  std::map<FileId, Held> held_;
};

class PosixFileLock final : public FileLock {
 public:
  explicit PosixFileLock(FileLockTable::FileId id) : id_(id) {}
  ~PosixFileLock() override { PerProcess<FileLockTable>::Get().Unlock(id_); }

 private:
  const FileLockTable::FileId id_;
};

class PosixEnv final : public Env {
 public:
  Status NewWritableFile(const std::string& path, std::unique_ptr<WritableFile>* file) override {
    FileDescriptor fd = Open(path, O_WRONLY | O_CREAT | O_TRUNC);
    if (!fd.valid()) {
      return PathError(path, "cannot create");
    }
    *file = std::make_unique<PosixWritableFile>(path, std::move(fd));
    return {};
  }

  Status NewReservedFile(const std::string& path, uint64_t most_bytes,
                         std::unique_ptr<ReservedFile>* file) override {
    FileDescriptor fd = Open(path, O_RDWR | O_CREAT | O_TRUNC);
    if (!fd.valid()) {
      return PathError(path, "cannot create");
    }
    void* map = nullptr;
    if (WritesInPlace(fd.get())) {
      map = ::mmap(nullptr, most_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
      if (map == MAP_FAILED) {
        return PathError(path, "cannot map");
      }
    }
    *file = std::make_unique<PosixReservedFile>(path, std::move(fd), static_cast<char*>(map),
                                                most_bytes);
    return {};
  }

  Status NewDataFile(const std::string& path, std::unique_ptr<DataFile>* file) override {
    FileDescriptor fd = Open(path, O_RDWR | O_CREAT);
    if (!fd.valid()) {
      return PathError(path, "cannot open");
    }
    *file = std::make_unique<PosixDataFile>(path, std::move(fd));
    return {};
  }

  Status NewRandomAccessFile(const std::string& path,
                             std::unique_ptr<RandomAccessFile>* file) override {
    FileDescriptor fd = Open(path, O_RDONLY);
    if (!fd.valid()) {
      return PathError(path, "cannot open");
    }
    *file = std::make_unique<PosixRandomAccessFile>(path, std::move(fd));
    return {};
  }

  Status ReadFile(const std::string& path, std::string* contents) override {
    const FileDescriptor fd = Open(path, O_RDONLY);
    struct stat info;
    if (!fd.valid() || ::fstat(fd.get(), &info) != 0) {
      return PathError(path, "cannot open");
    }
    contents->resize(info.st_size);
    for (size_t size = 0;;) {
      if (size == contents->size()) {
        contents->resize(size + 4096);  // files of /proc say 0 bytes, others may have grown
      }
      const ssize_t n = ::read(fd.get(), contents->data() + size, contents->size() - size);
      if (n == 0) {
        contents->resize(size);
        return {};
      }
      if (n > 0) {
        size += n;
      } else if (errno != EINTR) {
        return PathError(path, "cannot read");
      }
    }
  }

  Status MapFile(const std::string& path, MappedFile* file) override {
    const FileDescriptor fd =
        Open(path, O_RDONLY | O_NONBLOCK);  // or a pipe's would wait for a writer
    struct stat info;
    if (!fd.valid() || ::fstat(fd.get(), &info) != 0) {
      return PathError(path, "cannot open");
    }
    if (!S_ISREG(info.st_mode)) {
      return Status::InvalidArgument(path + ": not a regular file");
    }
    const auto size = static_cast<size_t>(info.st_size);
    if (size == 0) {  // which mmap refuses
      *file = {};
      return {};
    }
    void* map = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (map == MAP_FAILED) {
      return PathError(path, "cannot map");
    }
    *file = {{static_cast<const char*>(map), size},
             std::shared_ptr<const void>(map, [map, size](const void*) { ::munmap(map, size); })};
    return {};
  }

  Status GetChildren(const std::string& dir, std::vector<std::string>* names) override {
    names->clear();
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(dir.c_str()), ::closedir);
    if (stream == nullptr) {
      return PathError(dir, "cannot open directory");
    }
    errno = 0;
    while (const dirent* entry = ::readdir(stream.get())) {
      if (const std::string_view name = entry->d_name; name != "." && name != "..") {
        names->emplace_back(name);
      }
    }
    if (errno != 0) {
      return PathError(dir, "cannot read directory");
    }
    std::sort(names->begin(), names->end());
    return {};
  }

  Status FileExists(const std::string& path) override {
    struct stat info;
    return ::stat(path.c_str(), &info) == 0 ? Status() : PathError(path, "cannot find");
  }

  Status GetFileSize(const std::string& path, uint64_t* bytes) override {
    struct stat info;
    if (::stat(path.c_str(), &info) != 0) {
      return PathError(path, "cannot find");
    }
    *bytes = info.st_size;
    return {};
  }

  Status GetFileId(const std::string& path, std::string* id) override {
    struct stat info;
    if (::stat(path.c_str(), &info) != 0) {
      return PathError(path, "cannot find");
    }
    *id = fmt::format("{}:{}", info.st_dev, info.st_ino);
    return {};
  }

  Status RemoveFile(const std::string& path) override {
    return ::unlink(path.c_str()) == 0 ? Status() : PathError(path, "cannot remove");
  }

  Status RenameFile(const std::string& from, const std::string& to) override {
    return std::rename(from.c_str(), to.c_str()) == 0
               ? Status()
               : PathError(from, fmt::format("cannot rename to {}", to));
  }

  Status CreateDir(const std::string& dir) override {
    if (::mkdir(dir.c_str(), 0755) == 0) {
      return SyncDir(DirName(dir));
    }
    const int error = errno;
    struct stat info;
    if (error == EEXIST && ::stat(dir.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
      return {};
    }
    errno = error;
    return PathError(dir, "cannot create directory");
  }

  Status RemoveDir(const std::string& dir) override {
    return ::rmdir(dir.c_str()) == 0 ? Status() : PathError(dir, "cannot remove directory");
  }

  Status SyncDir(const std::string& dir) override {
    const FileDescriptor fd = Open(dir, O_RDONLY | O_DIRECTORY);
    if (!fd.valid()) {
      return PathError(dir, "cannot open directory");
    }
    return ::fsync(fd.get()) == 0 ? Status() : SyncError(dir, "cannot sync directory");
  }

  Status LockFile(const std::string& path, std::unique_ptr<FileLock>* lock) override {
    return Lock(path, /*shared=*/false, lock);
  }
  Status LockFileShared(const std::string& path, std::unique_ptr<FileLock>* lock) override {
    return Lock(path, /*shared=*/true, lock);
  }

 private:
  Status Lock(const std::string& path, bool shared, std::unique_ptr<FileLock>* lock) {
    FileLockTable::FileId id;
    SLUICE_RETURN_IF_ERROR(PerProcess<FileLockTable>::Get().Lock(path, shared, &id));
    *lock = std::make_unique<PosixFileLock>(id);
    return {};
  }
};

}  // namespace

Env* Env::Posix() {
  // Leaked, so that it outlives every static that holds a file.
  static Env* const env = std::make_unique<PosixEnv>().release();
  return env;
}

}  // namespace sluice
