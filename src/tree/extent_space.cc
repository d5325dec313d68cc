#include "tree/extent_space.h"

#include <fmt/format.h>

#include <algorithm>

#include "tree/table_cache.h"
#include "util/epoch.h"

namespace sluice {

namespace {

constexpr std::string_view kSuffix = ".data";

uint32_t PagesOf(uint64_t bytes) {
  return static_cast<uint32_t>((bytes + kPageBytes - 1) / kPageBytes);
}

// False if `name` is not that of a data file.
bool ParseName(const std::string& name, uint32_t* number) {
  if (name.size() != 6 + kSuffix.size() || !name.ends_with(kSuffix)) {
    return false;
  }
  *number = 0;
  for (const char c : name.substr(0, 6)) {
    if (c < '0' || c > '9') {
      return false;
    }
    *number = *number * 10 + static_cast<uint32_t>(c - '0');
  }
  return true;
}

}  // namespace

ExtentPlace::~ExtentPlace() {
  const EpochGuard guard;  // the cache may be giving up the head just now
  TableCache::Forget(head_.load(std::memory_order_acquire));
  space_->Free(address_, pages_);
}

Status ExtentSpace::Open(Env* env, const std::vector<std::string>& dirs,
                         std::unique_ptr<ExtentSpace>* space) {
  space->reset(new ExtentSpace(env));
  for (const std::string& dir : dirs) {
    SLUICE_RETURN_IF_ERROR((*space)->OpenFile(dir));
  }
  // Files without a number yet get numbers that no other has.
  uint32_t next = 1;
  for (const File& file : (*space)->files_) {
    next = std::max(next, file.number + 1);
  }
  for (File& file : (*space)->files_) {
    if (file.number == 0) {
      file.number = next++;
      const std::string path = fmt::format("{}/{:06}{}", file.dir, file.number, kSuffix);
      SLUICE_RETURN_IF_ERROR(env->NewDataFile(path, &file.file));
      file.name_synced = false;
    }
  }
  return {};
}

Status ExtentSpace::OpenFile(const std::string& dir) {
  SLUICE_RETURN_IF_ERROR(env_->CreateDir(dir));
  File& file = files_.emplace_back();
  file.dir = dir;
  std::vector<std::string> names;
  SLUICE_RETURN_IF_ERROR(env_->GetChildren(dir, &names));
  for (const std::string& name : names) {
    uint32_t number;
    if (!ParseName(name, &number)) {
      continue;
    }
    if (file.number != 0) {
      return Status::Corruption(
          fmt::format("{}: two data files, {} and {}", dir, file.file->path(), name));
    }
    for (const File& other : files_) {
      if (other.number == number) {
        return Status::InvalidArgument(
            fmt::format("{}/{}: its number is taken by {}; is a directory given for two tiers?",
                        dir, name, other.file->path()));
      }
    }
    file.number = number;
    const std::string path = fmt::format("{}/{}", dir, name);
    SLUICE_RETURN_IF_ERROR(env_->NewDataFile(path, &file.file));
    SLUICE_RETURN_IF_ERROR(env_->GetFileSize(path, &file.bytes));
  }
  return {};
}

std::shared_ptr<ExtentPlace> ExtentSpace::Allocate(size_t tier, uint32_t bytes) {
  const uint32_t pages = PagesOf(bytes);
  const std::lock_guard lock(mutex_);
  File& file = files_[std::min(tier, files_.size() - 1)];
  uint32_t page = file.end;
  // First fit: what is taken stays at the front of the file.
  for (const auto& [first, count] : file.free) {
    if (count >= pages) {
      page = first;
      break;
    }
  }
  Take(&file, page, pages);
  return std::make_shared<ExtentPlace>(this, file.file.get(), ExtentAddress{file.number, page},
                                       pages);
}

Status ExtentSpace::Adopt(const Extent& extent, std::shared_ptr<ExtentPlace>* place) {
  const std::lock_guard lock(mutex_);
  const auto file = std::find_if(files_.begin(), files_.end(), [&](const File& candidate) {
    return candidate.number == extent.address.file;
  });
  if (file == files_.end()) {
    return Status::Corruption(
        fmt::format("extent {} is in data file {:06}{}, which is not there; is a level's path "
                    "missing?",
                    extent.number, extent.address.file, kSuffix));
  }
  const uint32_t pages = PagesOf(extent.bytes);
  const uint64_t offset = uint64_t{extent.address.page} * kPageBytes;
  if (offset + extent.bytes > file->bytes) {
    return Status::Corruption(fmt::format("{}: {} bytes, but extent {} ends at {}",
                                          file->file->path(), file->bytes, extent.number,
                                          offset + extent.bytes));
  }
  if (!Take(&*file, extent.address.page, pages)) {
    return Status::Corruption(fmt::format("{}, offset {}: extent {} overlaps another",
                                          file->file->path(), offset, extent.number));
  }
  *place = std::make_shared<ExtentPlace>(this, file->file.get(), extent.address, pages);
  return {};
}

bool ExtentSpace::Take(File* file, uint32_t page, uint32_t pages) {
  const uint32_t end = page + pages;
  if (page >= file->end) {
    if (page > file->end) {
      file->free[file->end] = page - file->end;
    }
    file->end = end;
    return true;
  }
  auto at = file->free.upper_bound(page);
  if (at == file->free.begin()) {
    return false;
  }
  --at;
  const uint32_t first = at->first;
  const uint32_t last = first + at->second;
  if (last < end) {
    return false;
  }
  file->free.erase(at);
  if (first < page) {
    file->free[first] = page - first;
  }
  if (end < last) {
    file->free[end] = last - end;
  }
  return true;
}

void ExtentSpace::Free(ExtentAddress address, uint32_t pages) {
  const std::lock_guard lock(mutex_);
  File& file = *std::find_if(files_.begin(), files_.end(), [&](const File& candidate) {
    return candidate.number == address.file;
  });
  auto at = file.free.emplace(address.page, pages).first;
  if (const auto next = std::next(at);
      next != file.free.end() && next->first == at->first + at->second) {
    at->second += next->second;
    file.free.erase(next);
  }
  if (at != file.free.begin()) {
    if (const auto before = std::prev(at); before->first + before->second == at->first) {
      before->second += at->second;
      file.free.erase(at);
      at = before;
    }
  }
  if (at->first + at->second == file.end) {
    file.end = at->first;
    file.free.erase(at);
  }
}

Status ExtentSpace::Sync(DataFile* file) {
  SLUICE_RETURN_IF_ERROR(file->Sync());
  std::string dir;
  {
    const std::lock_guard lock(mutex_);
    for (const File& candidate : files_) {
      if (candidate.file.get() == file && !candidate.name_synced) {
        dir = candidate.dir;
      }
    }
  }
  if (!dir.empty()) {
    SLUICE_RETURN_IF_ERROR(env_->SyncDir(dir));
    const std::lock_guard lock(mutex_);
    for (File& candidate : files_) {
      if (candidate.file.get() == file) {
        candidate.name_synced = true;
      }
    }
  }
  return {};
}

uint64_t ExtentSpace::file_bytes() const {
  const std::lock_guard lock(mutex_);
  uint64_t bytes = 0;
  for (const File& file : files_) {
    bytes += uint64_t{file.end} * kPageBytes;
  }
  return bytes;
}

uint64_t ExtentSpace::used_bytes() const {
  const std::lock_guard lock(mutex_);
  uint64_t bytes = 0;
  for (const File& file : files_) {
    bytes += uint64_t{file.end} * kPageBytes;
    for (const auto& [first, count] : file.free) {
      bytes -= uint64_t{count} * kPageBytes;
    }
  }
  return bytes;
}

}  // namespace sluice
