// Looking after a database: flushes and compactions on demand, checkpoints, verification.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "db/db_impl.h"
#include "table/verify.h"
#include "tree/order_check.h"
#include "tree/slice.h"
#include "tree/value_check.h"
#include "tree/value_extent.h"
#include "util/epoch.h"
#include "util/mutex.h"

namespace sluice {

namespace {

Status ReadTable(const Extent& extent, std::string* table) {
  table->resize(extent.bytes);
  return extent.place->file()->Read(extent.place->offset(), table->size(), table->data());
}

// Reads all of it, and checks all there is to check.
Status ReadVerified(const Extent& extent, ExtentReader* reader, std::string* contents) {
  SLUICE_RETURN_IF_ERROR(ReadTable(extent, contents));
  const std::string_view table = *contents;
  TableReport report;
  const std::string name = ExtentReader::Describe(extent, 0);
  SLUICE_RETURN_IF_ERROR(VerifyTableImage(table, name, &report));
  if (extent.sliced) {
    Extent slice;
    SLUICE_RETURN_IF_ERROR(MakeSlice(extent, {}, {}, reader, &slice));
    report.entries = slice.entries;
    report.tombstones = slice.tombstones;
    report.smallest = slice.smallest;
    report.largest = slice.largest;
  }
  if (report.entries != extent.entries || report.tombstones != extent.tombstones ||
      report.smallest != extent.smallest || report.largest != extent.largest) {
    return Status::Corruption(fmt::format(
        "{}: {} entries, of them {} tombstones, but the metadata says {} and {}, or other first "
        "and last keys",
        name, report.entries, report.tombstones, extent.entries, extent.tombstones));
  }
  return CheckValues(extent, table);
}

// Brings extents to another space, with what they refer to: tables and value extents, each once.
// Where the file system can, they share their space with the originals, and are not read.
class ExtentCopies {
 public:
  ExtentCopies(ExtentReader* reader, ExtentSpace* space) : reader_(*reader), space_(*space) {}

  // The extent, and all that it refers to, lies in the other space then. Corruption if what had to
  // be read is damaged.
  Status Redirect(Extent* extent) {
    const auto read = [&] { return ReadVerified(*extent, &reader_, &contents_); };
    Table& table = tables_[extent->place.get()];
    if (table.place == nullptr) {
      SLUICE_RETURN_IF_ERROR(Copy(*extent, read, &table.place, &table.cloned));
    } else if (!table.cloned) {
      SLUICE_RETURN_IF_ERROR(read());  // another slice of it, to be checked
    }
    extent->place = table.place;
    extent->address = table.place->address();
    return RedirectValues(extent);
  }
  Status Sync() { return file_ == nullptr ? Status() : space_.Sync(file_, 0); }

 private:
  struct Table {
    std::shared_ptr<ExtentPlace> place{};  // of the copy
    bool cloned = false;
  };

  Status RedirectValues(Extent* extent) {
    if (extent->values == nullptr) {
      return {};
    }
    auto copied = std::make_shared<ValueShares>(*extent->values);
    for (ValueShares::Share& share : copied->shares) {
      ValueExtentPtr& copy = values_[share.extent->pages.number];
      if (copy == nullptr) {
        Extent pages = share.extent->pages;
        bool cloned;
        SLUICE_RETURN_IF_ERROR(Copy(
            pages, [&] { return ReadTable(pages, &contents_); }, &pages.place, &cloned));
        pages.address = pages.place->address();
        copy = std::make_shared<const ValueExtent>(std::move(pages));
      }
      share.extent = copy;
    }
    extent->values = std::move(copied);
    return {};
  }

  // `read` reads the extent into contents_.
  template <typename Read>
  Status Copy(const Extent& extent, const Read& read, std::shared_ptr<ExtentPlace>* copy,
              bool* cloned) {
    const std::shared_ptr<ExtentPlace> place = space_.Allocate(0, extent.bytes);
    file_ = place->file();
    const Status status = file_->CloneFrom(*extent.place->file(), extent.place->offset(),
                                           place->offset(), place->bytes());
    *cloned = status.ok();
    if (status.IsNotSupported()) {
      SLUICE_RETURN_IF_ERROR(read());
      contents_.resize(place->bytes());  // whole pages, which can be cloned in their turn
      SLUICE_RETURN_IF_ERROR(file_->Write(place->offset(), contents_));
      file_->StartWriteback(place->offset(), place->bytes());
    } else if (!status.ok()) {
      return status;
    }
    *copy = place;
    return {};
  }

  ExtentReader& reader_;
  ExtentSpace& space_;
  DataFile* file_ = nullptr;                    // the other space's
  std::map<const ExtentPlace*, Table> tables_;  // by the original's, which slices share
  std::map<uint64_t, ValueExtentPtr> values_;   // by number
  std::string contents_;
};

}  // namespace

Status DBImpl::SwitchToFlush(SubtableImpl* subtable, MemtablePtr* newest) {
  SLUICE_RETURN_IF_ERROR(db_.subtables.CheckLive(*subtable));
  const StateLock lock(db_.mutex);
  db_.BeginLogSegment(lock);
  if (!subtable->version(lock).active->table.empty()) {
    db_.SwitchMemtable(lock, subtable);
  }
  const std::vector<MemtablePtr>& waiting = subtable->version(lock).waiting;
  *newest = waiting.empty() ? nullptr : waiting.front();
  return {};
}

Status DBImpl::Flush(Subtable* subtable) {
  SLUICE_RETURN_IF_ERROR(CheckWritable());
  SubtableImpl* const target = Resolve(subtable);
  MemtablePtr newest;
  {
    const ExclusiveWrites exclusive(writes_.pipeline());
    SLUICE_RETURN_IF_ERROR(SwitchToFlush(target, &newest));
  }
  return newest == nullptr ? Status() : background_.WaitForFlush(target, newest);
}

Status DBImpl::CompactRange(Subtable* subtable, std::string_view begin, std::string_view end) {
  SubtableImpl* const target = Resolve(subtable);
  const Status flushed = Flush(target);
  if (flushed.IsNoSpace()) {
    // What is compacted first may make the space for it.
    SLUICE_RETURN_IF_ERROR(background_.CompactRange(target, begin, end));
    SLUICE_RETURN_IF_ERROR(Flush(target));
  } else if (!flushed.ok()) {
    return flushed;
  }
  return background_.CompactRange(target, begin, end);
}

Status DBImpl::WaitForBackgroundWork() {
  if (db_.made.IsCopy()) {
    return db_.CheckWritable();
  }
  return db_.options.read_only ? Status() : background_.WaitUntilIdle();
}

// The copy holds the state of one instant, at which writes stop for a moment: the metadata, and the
// log that goes with it up to then. References in the copied metadata keep the extents; the log is
// held until it is copied, which comes first.
Status DBImpl::CreateCheckpoint(const std::string& path) {
  SLUICE_RETURN_IF_ERROR(db_.CheckWritable());
  SLUICE_RETURN_IF_ERROR(CheckFree(db_.env, path));
  HomeDir home;
  const Status status = CopyTo(path, &home);
  if (!status.ok()) {
    UndoCreation(db_.env, path, &home);
  }
  return status;
}

Status DBImpl::CopyTo(const std::string& path, HomeDir* home) {
  Metadata state;
  LogPosition end;
  {
    const ExclusiveWrites exclusive(writes_.pipeline());
    const MutexLock metadata_lock(db_.metadata_mutex);
    SLUICE_RETURN_IF_ERROR(db_.BackgroundError());
    state = db_.metadata->state();
    end = db_.log_end;
    ++db_.log_holders;
  }
  std::unique_ptr<ExtentSpace> space;
  MetadataEdit edit = state.ToEdit();  // its extents will lie in `space`
  std::unique_ptr<RedoLog> log;
  const auto copy_log = [&]() -> Status {
    SLUICE_RETURN_IF_ERROR(CreateHome(db_.env, path, home));
    SLUICE_RETURN_IF_ERROR(db_.env->CreateDir(path + "/log"));
    SLUICE_RETURN_IF_ERROR(RedoLog::Open(
        db_.env, path + "/log", {.segment_bytes = db_.options.log_segment_bytes}, {}, &log));
    edit.log_start = log->end();
    LogContents contents;
    SLUICE_RETURN_IF_ERROR(ReadLog(
        db_.env, db_.path + "/log", state.log_start,
        [&](LogPosition, std::string_view payload) {
          LogPosition ignored;
          return log->Append(payload, &ignored);
        },
        &contents, end));
    if (contents.end < end) {
      return Status::Corruption("the log ends before its end");
    }
    return log->Sync();
  };
  const Status copied = copy_log();
  db_.HoldLog(-1);
  SLUICE_RETURN_IF_ERROR(copied);
  SLUICE_RETURN_IF_ERROR(ExtentSpace::Open(db_.env, {{path, kHomeDir}}, &space));
  edit.database = home->identity.database;
  ExtentCopies copies(&db_.reader, space.get());
  for (MetadataEdit::Added& added : edit.added) {
    SLUICE_RETURN_IF_ERROR(copies.Redirect(&added.extent));
  }
  SLUICE_RETURN_IF_ERROR(copies.Sync());
  // Last, because it makes a database of the files.
  std::unique_ptr<MetadataLog> metadata;
  SLUICE_RETURN_IF_ERROR(MetadataLog::Open(db_.env, path, &edit, &metadata));
  return FinishCreation(db_.env, path, home);
}

Status DBImpl::Verify(const std::function<void(uint64_t, uint64_t)>& progress) {
  struct Pinned {
    std::string name;
    std::shared_ptr<const Version> version;
  };
  std::vector<Pinned> subtables;
  std::vector<ExtentPtr> extents;
  uint64_t total = 0;
  const auto add = [&](const RunIndex& run) {
    RunIndex::Iterator at(run);
    for (at.SeekToFirst(); at.Valid(); at.Next()) {
      extents.push_back(at.extent());
      total += 2 * uint64_t{at.extent()->bytes};  // read by itself, and among its neighbours
    }
  };
  {
    const StateLock lock(db_.mutex);
    for (const auto& [id, subtable] : db_.subtables.all()) {
      if (!subtable->dropped) {
        subtables.push_back({subtable->name(), subtable->PinVersion()});
      }
    }
  }
  for (const Pinned& subtable : subtables) {
    for (const std::vector<Version::Run>& level : subtable.version->levels) {
      for (const Version::Run& run : level) {
        add(run.index);
      }
    }
    for (const RunIndex& aside : subtable.version->aside) {
      add(aside);
    }
  }
  uint64_t done = 0;
  std::string table;
  const auto advance = [&](uint64_t bytes) {
    done = std::min(done + bytes, total);
    if (progress) {
      progress(done, total);
    }
  };
  for (const ExtentPtr& extent : extents) {
    SLUICE_RETURN_IF_ERROR(ReadVerified(*extent, &db_.reader, &table));
    advance(extent->bytes);
  }
  for (const Pinned& subtable : subtables) {
    SLUICE_RETURN_IF_ERROR(CheckRunOrder(*subtable.version, &db_.reader, advance)
                               .WithContext(fmt::format("sub-table '{}'", subtable.name)));
  }
  if (progress) {
    progress(total, total);
  }
  return {};
}

}  // namespace sluice
