#include "tree/extent_space.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>

#include "tree/data_dir.h"
#include "tree/table_cache.h"
#include "util/check.h"
#include "util/epoch.h"

namespace sluice {

namespace {

uint64_t PagesOf(uint64_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes; }

class ReadOnlyFile final : public DataFile {
 public:
  // `file` may be null: there is none, and nothing in it.
  ReadOnlyFile(std::string path, std::unique_ptr<RandomAccessFile> file, uint64_t bytes)
      : path_(std::move(path)), file_(std::move(file)), bytes_(bytes) {}

  Status Read(uint64_t offset, size_t n, char* out) const override {
    return file_ != nullptr ? file_->Read(offset, n, out) : Refused();
  }
  Status Write(uint64_t, std::string_view) override { return Refused(); }
  Status Sync() override { return Refused(); }
  Status Discard(uint64_t, uint64_t) override { return Refused(); }
  Status Truncate(uint64_t) override { return Refused(); }
  Status GetDiskBytes(uint64_t* bytes) const override {
    *bytes = bytes_;
    return {};
  }
  Status BypassPageCache() override {
    return file_ != nullptr ? file_->BypassPageCache() : Status();
  }
  const std::string& path() const override { return path_; }
  IoDescriptor read_descriptor() const override {
    return file_ != nullptr ? file_->read_descriptor() : IoDescriptor();
  }

 private:
  Status Refused() const {
    return Status::InvalidArgument(fmt::format("{}: opened read-only", path_));
  }

  const std::string path_;
  const std::unique_ptr<RandomAccessFile> file_;
  const uint64_t bytes_;
};

}  // namespace

std::string DescribePlace(const Extent& extent, uint64_t offset) {
  return fmt::format("{}, offset {} (extent {})", extent.place->file()->path(),
                     extent.place->offset() + offset, extent.number);
}

ExtentPlace::~ExtentPlace() {
  const EpochGuard guard;  // the cache may be giving up the top just now
  TableCache::Forget(top_.load(std::memory_order_acquire));
  space_->Free(address_, pages_);
}

Status ExtentSpace::Open(Env* env, const std::vector<Dir>& dirs,
                         std::unique_ptr<ExtentSpace>* space) {
  space->reset(new ExtentSpace(env));
  for (const Dir& dir : dirs) {
    SLUICE_RETURN_IF_ERROR((*space)->OpenFile(dir, /*read_only=*/false));
  }
  return {};
}

Status ExtentSpace::OpenReadOnly(Env* env, const std::vector<Dir>& dirs,
                                 std::unique_ptr<ExtentSpace>* space) {
  space->reset(new ExtentSpace(env));
  for (const Dir& dir : dirs) {
    SLUICE_RETURN_IF_ERROR((*space)->OpenFile(dir, /*read_only=*/true));
  }
  (*space)->Freeze();
  return {};
}

Status ExtentSpace::BypassPageCache() {
  for (const File& file : files_) {
    if (Status status = file.file->BypassPageCache(); !status.ok()) {
      return status.WithContext(file.file->path());
    }
  }
  return {};
}

Status ExtentSpace::OpenFile(const Dir& dir, bool read_only) {
  File& file = files_.emplace_back();
  file.dir = dir;
  file.sync_mutex = std::make_unique<Mutex>();
  const std::string path = DataFilePath(dir.path, dir.number);
  const Status exists = env_->GetFileSize(path, &file.bytes);
  if (!exists.ok() && !exists.IsNotFound()) {
    return exists;
  }
  file.is_new = exists.IsNotFound();
  file.length = PagesOf(file.bytes);
  if (!read_only) {
    return env_->NewDataFile(path, &file.file);
  }
  std::unique_ptr<RandomAccessFile> readable;
  if (exists.ok()) {
    SLUICE_RETURN_IF_ERROR(env_->NewRandomAccessFile(path, &readable));
  }
  file.file = std::make_unique<ReadOnlyFile>(path, std::move(readable), file.bytes);
  return {};
}

std::shared_ptr<ExtentPlace> ExtentSpace::Allocate(size_t tier, uint64_t bytes) {
  const uint64_t pages = PagesOf(bytes);
  const MutexLock lock(mutex_);
  File& file = files_[std::min(tier, files_.size() - 1)];
  // First fit: what is taken stays at the front of the file.
  const auto fit = file.free.FindFirst(pages);
  const uint64_t page = fit ? fit->first : file.end;
  SLUICE_CHECK(Take(&file, page, pages));
  return std::make_shared<ExtentPlace>(this, file.file.get(), ExtentAddress{file.dir.number, page},
                                       pages);
}

Status ExtentSpace::FileNotThere(uint64_t file, uint64_t extent) {
  return Status::Corruption(fmt::format(
      "extent {} is in data file {:06}.data, which is not there; is a level's path missing?",
      extent, file));
}

Status ExtentSpace::Adopt(const Extent& extent, std::shared_ptr<ExtentPlace>* place) {
  const MutexLock lock(mutex_);
  const auto file = std::find_if(files_.begin(), files_.end(), [&](const File& candidate) {
    return candidate.dir.number == extent.address.file;
  });
  if (file == files_.end()) {
    return FileNotThere(extent.address.file, extent.number);
  }
  if (file->is_new) {
    // The empty file that was made in its place would only hide what happened.
    (void)env_->RemoveFile(file->file->path());
    return Status::Corruption(
        fmt::format("{}: missing, but extent {} is in it", file->file->path(), extent.number));
  }
  const uint64_t pages = PagesOf(extent.bytes);
  const uint64_t offset = extent.address.page * kPageBytes;
  if (const auto shared = sliced_.find(extent.address); extent.sliced && shared != sliced_.end()) {
    if (*place = shared->second.lock();
        *place != nullptr && (*place)->bytes() == pages * kPageBytes) {
      return {};
    }
  }
  if (extent.address.page > file->bytes / kPageBytes || offset + extent.bytes > file->bytes) {
    return Status::Corruption(fmt::format("{}: {} bytes, but extent {} ends at {}",
                                          file->file->path(), file->bytes, extent.number,
                                          offset + extent.bytes));
  }
  if (!Take(&*file, extent.address.page, pages)) {
    return Status::Corruption(fmt::format("{}, offset {}: extent {} overlaps another",
                                          file->file->path(), offset, extent.number));
  }
  *place = std::make_shared<ExtentPlace>(this, file->file.get(), extent.address, pages);
  if (extent.sliced) {
    sliced_[extent.address] = *place;
  }
  return {};
}

std::shared_ptr<ExtentPlace> ExtentSpace::At(size_t tier, const Extent& extent) {
  return std::make_shared<ExtentPlace>(this, files_[tier].file.get(), extent.address,
                                       PagesOf(extent.bytes));
}

bool ExtentSpace::Take(File* file, uint64_t page, uint64_t pages) {
  if (page >= file->end) {
    if (page > file->end) {
      file->free.Add(file->end, page - file->end);
    }
    file->end = page + pages;
    file->length = std::max(file->length, file->end);
  } else if (file->free.Contains(page, pages)) {
    file->free.Remove(page, pages);
  } else {
    return false;
  }
  file->kept.Remove(page, pages);
  return true;
}

void ExtentSpace::PutBack(File* file, uint64_t page, uint64_t pages) {
  file->free.Add(page, pages);
  if (const auto last = file->free.Last(); last->end() == file->end) {
    file->end = last->first;
    file->free.Remove(last->first, last->pages);
  }
}

void ExtentSpace::Free(ExtentAddress address, uint64_t pages) {
  const MutexLock lock(mutex_);
  if (frozen_) {
    return;
  }
  const auto file = std::find_if(files_.begin(), files_.end(), [&](const File& candidate) {
    return candidate.dir.number == address.file;
  });
  SLUICE_CHECK(file != files_.end() && address.page + pages <= file->end);
  PutBack(&*file, address.page, pages);
  file->kept.Add(address.page, pages);
  if (FileToShrink() != nullptr) {
    changed_.notify_one();
  }
}

ExtentSpace::~ExtentSpace() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.notify_one();
  }
  if (giver_.joinable()) {
    giver_.join();
  }
}

void ExtentSpace::KeepFree() {
  for (File& file : files_) {
    file.kept = file.free;
    if (file.length > file.end) {
      file.kept.Add(file.end, file.length - file.end);
    }
  }
}

void ExtentSpace::StartGivingBack(uint64_t least_bytes, uint64_t most_bytes) {
  const MutexLock lock(mutex_);
  least_pages_ = least_bytes / kPageBytes;
  most_pages_ = std::max(least_bytes, most_bytes) / kPageBytes;
  KeepFree();
  giver_ = std::thread([this] { GiveBackLoop(); });
}

void ExtentSpace::GiveBackAtOnce() {
  const MutexLock lock(mutex_);
  KeepFree();
  give_all_ = true;
  while (File* const file = FileToShrink()) {
    GiveBackSome(file);
  }
  give_all_ = false;
}

void ExtentSpace::Freeze() {
  const MutexLock lock(mutex_);
  frozen_ = true;
}

void ExtentSpace::GiveAllBack() {
  const MutexLock lock(mutex_);
  give_all_ = true;
  changed_.notify_one();
}

ExtentSpace::File* ExtentSpace::FileToShrink() {
  if (frozen_) {
    return nullptr;
  }
  for (File& file : files_) {
    const uint64_t stay = give_all_ ? 0
                                    : std::clamp((file.end - file.free.pages()) / kUsedShare,
                                                 least_pages_, most_pages_);
    if (file.kept.pages() > stay && (file.makes_holes || file.length > file.end)) {
      return &file;
    }
  }
  return nullptr;
}

void ExtentSpace::GiveBackLoop() {
  ::pthread_setname_np(::pthread_self(), "slc-space");
  MutexLock lock(mutex_);
  while (!stopping_) {
    if (File* const file = FileToShrink(); file != nullptr) {
      GiveBackSome(file);
      continue;
    }
    give_all_ = false;
    changed_.wait(lock);
  }
}

void ExtentSpace::GiveBackSome(File* file) {
  if (file->makes_holes) {
    PageRuns::Run run = *file->kept.Last();
    if (run.pages > kBatchPages) {
      run = {run.end() - kBatchPages, kBatchPages};
    }
    // Nobody can allocate them meanwhile.
    SLUICE_CHECK(Take(file, run.first, run.pages));
    mutex_.unlock();
    const Status status = file->file->Discard(run.first * kPageBytes, run.pages * kPageBytes);
    mutex_.lock();
    PutBack(file, run.first, run.pages);
    if (status.IsNotSupported()) {
      file->makes_holes = false;
      file->kept.Add(run.first, run.pages);
    }
    // After any other error the pages keep their space until they are used, or found free again.
  }
  if (file->length > file->end) {
    // The lock is held, because an extent that got pages there would lose what is written to it.
    // This is quick: no blocks are left to free, unless the file system makes no holes.
    if (file->file->Truncate(file->end * kPageBytes).ok()) {
      file->kept.Remove(file->end, file->length - file->end);
    }
    file->length = file->end;
  }
}

ExtentSpace::File& ExtentSpace::Of(const DataFile* file) {
  return *std::find_if(files_.begin(), files_.end(),
                       [&](const File& candidate) { return candidate.file.get() == file; });
}

uint64_t ExtentSpace::FailedSyncs(const DataFile* file) {
  const MutexLock lock(mutex_);
  return Of(file).failed_syncs;
}

Status ExtentSpace::Sync(DataFile* file, uint64_t failed_syncs) {
  File& of = Of(file);  // files_ does not change once it is open
  // If two ran at once, one might be told of the error and the other not.
  const MutexLock one_at_a_time(*of.sync_mutex);
  if (of.failed_syncs != failed_syncs) {
    return Status::IoError(
        fmt::format("{}: another sync failed, and may have dropped what was written: {}",
                    file->path(), of.failed_sync));
  }
  Status status = file->Sync();
  if (status.ok() && !of.name_synced) {
    status = env_->SyncDir(of.dir.path);
    of.name_synced = status.ok();
  }
  if (!status.ok()) {
    NoteFailedSync(&of, status);
  }
  return status;
}

Status ExtentSpace::FinishWriteback(DataFile* file, uint64_t offset, uint64_t bytes) {
  File& of = Of(file);
  // Not beside a sync, which might be told nothing of an error that this one is told of.
  const MutexLock one_at_a_time(*of.sync_mutex);
  const Status status = file->FinishWriteback(offset, bytes);
  if (!status.ok()) {
    NoteFailedSync(&of, status);
  }
  return status;
}

void ExtentSpace::NoteFailedSync(File* file, const Status& status) {
  file->failed_sync = status.message();
  const MutexLock lock(mutex_);
  ++file->failed_syncs;
}

uint64_t ExtentSpace::used_bytes() const {
  const MutexLock lock(mutex_);
  uint64_t pages = 0;
  for (const File& file : files_) {
    pages += file.end - file.free.pages();
  }
  return pages * kPageBytes;
}

uint64_t ExtentSpace::disk_bytes() const {
  uint64_t bytes = 0;
  for (const File& file : files_) {
    uint64_t one = 0;
    if (file.file->GetDiskBytes(&one).ok()) {
      bytes += one;
    }
  }
  return bytes;
}

}  // namespace sluice
