// The space that extents lie in: data files, one for each directory (data_dir.h), in pages.
//
// Which pages are taken is not stored: the metadata names every extent that lives, and recovery
// takes their pages again (Adopt); all others are free. So there are no orphans, whatever the
// moment of a crash. Pages come free when the last reference to their extent is gone, be it of a
// reader, the metadata or a checkpoint. So a page is never written again while it may be read nor,
// because the metadata is changed durably before its reference goes, while a restart may find it
// named.
//
// Free pages go back to the file system: a thread of the space punches holes in the files, from
// their ends on, and cuts off what is free at the end. Some stay, to be written again soon.
//
// Thread-safe. The space outlives all places.

#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "sluice/env.h"
#include "tree/extent.h"
#include "tree/page_runs.h"
#include "util/mutex.h"
#include "util/status.h"

namespace sluice {

class ExtentSpace;
class HeadUnit;

// Pages that are taken, and what the process knows of the extent on them.
class ExtentPlace {
 public:
  ExtentPlace(ExtentSpace* space, DataFile* file, ExtentAddress address, uint64_t pages)
      : space_(space), file_(file), address_(address), pages_(pages) {}
  ExtentPlace(const ExtentPlace&) = delete;
  ExtentPlace& operator=(const ExtentPlace&) = delete;
  ~ExtentPlace();  // gives the pages back

  ExtentAddress address() const { return address_; }
  DataFile* file() const { return file_; }
  uint64_t offset() const { return address_.page * kPageBytes; }
  uint64_t bytes() const { return pages_ * kPageBytes; }

  // Its temperature: reads that came to the extent, halved from time to time (CoolDown in
  // compaction/compaction_picker.h). Some are lost when threads count at once.
  uint32_t accesses() const { return accesses_.load(std::memory_order_relaxed); }
  void Touch() { accesses_.store(accesses() + 1, std::memory_order_relaxed); }
  void Halve() { accesses_.store(accesses() / 2, std::memory_order_relaxed); }

 private:
  friend class TableCache;

  ExtentSpace* const space_;
  DataFile* const file_;
  const ExtentAddress address_;
  const uint64_t pages_;
  std::atomic<uint32_t> accesses_{0};
  std::atomic<HeadUnit*> top_{nullptr};  // the table cache's
};

// "path, offset 123 (extent 7)", for errors in what is at `offset` of the extent.
std::string DescribePlace(const Extent& extent, uint64_t offset);

class ExtentSpace {
 public:
  struct Dir {
    std::string path;
    uint64_t number = 0;  // no other has it
  };

  // `dirs`: of the tiers, the database's own first.
  static Status Open(Env* env, const std::vector<Dir>& dirs, std::unique_ptr<ExtentSpace>* space);
  // As Open, for reading only: no file is made, nothing is allocated.
  static Status OpenReadOnly(Env* env, const std::vector<Dir>& dirs,
                             std::unique_ptr<ExtentSpace>* space);
  ~ExtentSpace();

  // Takes pages for `bytes` bytes in the file of tier `tier`.
  std::shared_ptr<ExtentPlace> Allocate(size_t tier, uint64_t bytes);
  // Takes the pages of an extent that the metadata names; slices of one table share a place.
  // Corruption if there is no such file, if the file ends before it, or if another extent has one
  // of them.
  Status Adopt(const Extent& extent, std::shared_ptr<ExtentPlace>* place);
  // The error for a data file that is in none of the directories, though it has this extent.
  static Status FileNotThere(uint64_t file, uint64_t extent);

  // The pages of an extent that may be in the file of tier `tier`, for reading only: they are not
  // taken, and may be another extent's. REQUIRES: the space is frozen.
  std::shared_ptr<ExtentPlace> At(size_t tier, const Extent& extent);

  // From now on blocks and heads are read past the system's page cache. To be called before the
  // first is; NotSupported, naming the file, where the file system cannot do that.
  Status BypassPageCache();

  // To be called once, when all extents are adopted: from now on free pages are given back to the
  // file system, those found free first. In each file a share of what is in use stays, but
  // `least_bytes` at the least and `most_bytes` at the most.
  void StartGivingBack(uint64_t least_bytes, uint64_t most_bytes);
  // Before StartGivingBack: gives all that is free back at once, for a full device.
  void GiveBackAtOnce();
  // From now on no pages come free. To be called before the process forgets extents that the
  // metadata on disk may still name, because a change of it failed or the database is closed.
  void Freeze();
  // To be called if the device is full: soon gives back all that is free now.
  void GiveAllBack();

  // How many syncs of `file` have failed. A writer asks before it writes.
  uint64_t FailedSyncs(const DataFile* file);
  // Makes durable what was written to `file` since FailedSyncs was `failed_syncs`, and the file's
  // name. If any sync has failed since, it may have dropped these pages, too, and left them clean:
  // then this one fails, though the system would say ok.
  Status Sync(DataFile* file, uint64_t failed_syncs);
  // Waits until the device has what was begun to be written of these bytes. An error is as that of
  // a Sync for all who wrote to the file.
  Status FinishWriteback(DataFile* file, uint64_t offset, uint64_t bytes);
  // The file of a tier.
  const DataFile* FileOf(size_t tier) const { return files_[tier].file.get(); }

  uint64_t used_bytes() const;
  uint64_t disk_bytes() const;  // of the device, for all files

 private:
  friend class ExtentPlace;

  struct File {
    Dir dir;
    std::unique_ptr<DataFile> file;
    std::unique_ptr<Mutex> sync_mutex;  // one sync of it at a time; taken before mutex_
    uint64_t failed_syncs = 0;
    std::string failed_sync;   // how the last one did; guarded by sync_mutex
    bool name_synced = false;  // by this process: one before may have failed to
    bool is_new = false;       // there was none when it was opened
    uint64_t bytes = 0;        // as it was found
    uint64_t end = 0;          // no page from here on is taken
    uint64_t length = 0;       // the file has no page from here on
    PageRuns free;             // below `end`
    PageRuns kept;             // free, or from `end` on, and perhaps taking space of the device
    bool makes_holes = true;
  };

  explicit ExtentSpace(Env* env) : env_(env) {}
  Status OpenFile(const Dir& dir, bool read_only);
  // The entry of `file`.
  File& Of(const DataFile* file);
  // With the file's sync_mutex held: a sync has failed.
  void NoteFailedSync(File* file, const Status& status);
  void Free(ExtentAddress address, uint64_t pages);
  // With mutex_ held; takes the pages out of the free ones. False if one is taken.
  static bool Take(File* file, uint64_t page, uint64_t pages);
  // The pages are not taken any more.
  static void PutBack(File* file, uint64_t page, uint64_t pages);
  // All that is free may take space of the device.
  void KeepFree() SLUICE_REQUIRES(mutex_);
  void GiveBackLoop();
  // A file with more free pages than are to stay; null if there is none.
  File* FileToShrink() SLUICE_REQUIRES(mutex_);
  // Gives some pages of it back, from its end on; lets go of mutex_ meanwhile.
  void GiveBackSome(File* file) SLUICE_REQUIRES(mutex_);

  static constexpr uint64_t kUsedShare = 16;                        // of what is in use, to stay
  static constexpr uint64_t kBatchPages = (64 << 20) / kPageBytes;  // given back at once

  Env* const env_;
  mutable Mutex mutex_;
  std::vector<File> files_;  // by tier
  uint64_t least_pages_ SLUICE_GUARDED_BY(mutex_) = 0;
  uint64_t most_pages_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::map<ExtentAddress, std::weak_ptr<ExtentPlace>> sliced_ SLUICE_GUARDED_BY(mutex_);  // adopted
  bool give_all_ SLUICE_GUARDED_BY(mutex_) = false;
  bool frozen_ SLUICE_GUARDED_BY(mutex_) = false;
  bool stopping_ SLUICE_GUARDED_BY(mutex_) = false;
  CondVar changed_;
  std::thread giver_;
};

}  // namespace sluice
