// The space that extents lie in: data files, one for each directory (tier), in pages.
//
// Which pages are taken is not stored: the metadata names every extent that lives, and recovery
// takes their pages again (Adopt); all others are free. So there are no orphans, whatever the
// moment of a crash. Pages come free when the last one forgets their extent, reader, metadata or
// checkpoint (reference counting): a page is never written while somebody may read it, nor, as the
// metadata is changed durably before it is forgotten, while a restart may find it named.
//
// Thread-safe. The space outlives all places.

#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tree/extent.h"
#include "util/env.h"
#include "util/status.h"

namespace sluice {

class ExtentSpace;
class TableHead;

// Pages that are taken, and what the process knows of the extent on them.
class ExtentPlace {
 public:
  ExtentPlace(ExtentSpace* space, DataFile* file, ExtentAddress address, uint32_t pages)
      : space_(space), file_(file), address_(address), pages_(pages) {}
  ExtentPlace(const ExtentPlace&) = delete;
  ExtentPlace& operator=(const ExtentPlace&) = delete;
  ~ExtentPlace();  // gives the pages back

  ExtentAddress address() const { return address_; }
  DataFile* file() const { return file_; }
  uint64_t offset() const { return uint64_t{address_.page} * kPageBytes; }
  uint64_t bytes() const { return uint64_t{pages_} * kPageBytes; }

  // Its temperature: reads that came to the extent, halved from time to time (CoolDown in
  // db/compaction_picker.h). Some are lost when threads count at once.
  uint32_t accesses() const { return accesses_.load(std::memory_order_relaxed); }
  void Touch() { accesses_.store(accesses() + 1, std::memory_order_relaxed); }
  void Halve() { accesses_.store(accesses() / 2, std::memory_order_relaxed); }

 private:
  friend class TableCache;

  ExtentSpace* const space_;
  DataFile* const file_;
  const ExtentAddress address_;
  const uint32_t pages_;
  std::atomic<uint32_t> accesses_{0};
  std::atomic<TableHead*> head_{nullptr};  // the table cache's
};

class ExtentSpace {
 public:
  // `dirs`: of the tiers, the database's own first; they are made if missing.
  static Status Open(Env* env, const std::vector<std::string>& dirs,
                     std::unique_ptr<ExtentSpace>* space);

  // Takes pages for `bytes` bytes in the file of tier `tier`.
  std::shared_ptr<ExtentPlace> Allocate(size_t tier, uint32_t bytes);
  // Takes the pages of an extent that the metadata names. Corruption if there is no such file, if
  // the file ends before it, or if another extent has one of them.
  Status Adopt(const Extent& extent, std::shared_ptr<ExtentPlace>* place);

  // Makes durable what was written to `file` of a place, and its name.
  Status Sync(DataFile* file);
  // Of a tier.
  const DataFile* FileOf(size_t tier) const { return files_[tier].file.get(); }

  uint64_t file_bytes() const;  // up to the last page taken, of all files
  uint64_t used_bytes() const;

 private:
  friend class ExtentPlace;

  struct File {
    std::string dir;
    uint32_t number = 0;
    std::unique_ptr<DataFile> file;
    bool name_synced = true;
    uint64_t bytes = 0;                 // as it was found
    uint32_t end = 0;                   // pages from here on were never taken
    std::map<uint32_t, uint32_t> free;  // first page -> pages, below `end`, none adjacent
  };

  explicit ExtentSpace(Env* env) : env_(env) {}
  Status OpenFile(const std::string& dir);
  void Free(ExtentAddress address, uint32_t pages);
  // With mutex_ held; takes the pages out of the free ones. False if one is taken.
  static bool Take(File* file, uint32_t page, uint32_t pages);

  Env* const env_;
  mutable std::mutex mutex_;
  std::vector<File> files_;  // by tier
};

}  // namespace sluice
