#include "db/repair.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "db/directories.h"
#include "db/replayer.h"
#include "log/durable_mark.h"
#include "log/log_reader.h"
#include "tree/metadata_log.h"
#include "tree/order_check.h"
#include "tree/subtable_options.h"
#include "tree/table_scan.h"
#include "tree/version.h"
#include "util/epoch.h"

namespace sluice {

namespace {

constexpr size_t kBatchBytes = size_t{1} << 20;

// The name given to a sub-table whose own name was lost with the metadata.
std::string SubtableName(uint32_t id) {
  return id == kDefaultSubtableId ? std::string(kDefaultSubtable) : fmt::format("subtable-{}", id);
}

// Walks the records of one extent that can be read.
class ExtentSalvage {
 public:
  ExtentSalvage(ExtentPtr extent, ExtentReader* reader, RepairReport* report)
      : extent_(std::move(extent)), reader_(*reader), report_(*report) {
    if (extent_->place == nullptr) {
      Lose(Status::Corruption("its pages are not in the data file"), {}, {});
    } else if (const Status status = reader_.OpenHead(*extent_, &head_); !status.ok()) {
      Lose(status, {}, {});
    } else {
      const LiveBlocks blocks(*extent_, *head_.get());
      next_ = blocks.first;
      end_ = blocks.end;
    }
    Find();
  }

  bool Valid() const { return record_.Valid(); }
  std::string_view user_key() const { return UserKey(record_.key()); }
  uint64_t trailer() const {
    const uint64_t trailer = Trailer(record_.key());
    return apart_ ? MakeTrailer(TrailerSequence(trailer), RecordType::kValue) : trailer;
  }
  std::string_view value() const { return apart_ ? value_ : record_.value(); }
  void Next() {
    ++read_;
    record_.Next();
    Find();
  }
  // Records that could not be read. To be called at the end, when Valid() is false.
  uint64_t lost() const { return extent_->entries - std::min(extent_->entries, read_); }

 private:
  // If the record's value cannot be read, goes on to the next record.
  void Find() {
    for (FindRecord(); Valid(); record_.Next(), FindRecord()) {
      apart_ = IsValueReference(Trailer(record_.key()));
      if (!apart_) {
        return;
      }
      const Status status =
          ReadValue(*extent_, user_key(), record_.value(), /*reads=*/nullptr, &value_);
      if (status.ok()) {
        return;
      }
      Lose(status, user_key(), user_key());
    }
  }
  // If the block is at its end, goes on to the next one that can be read.
  void FindRecord() {
    if (record_.Valid() && extent_->sliced &&
        CompareInternalKeys(record_.key(), extent_->largest) > 0) {
      record_ = BlockIterator();
    }
    while (!record_.Valid() && head_.get() != nullptr) {
      const auto bounds = [&](size_t block) {
        return std::pair<std::string_view, std::string_view>(
            UserKey(block == 0 ? std::string_view(extent_->smallest) : head_->last_key(block - 1)),
            UserKey(head_->last_key(block)));
      };
      if (const Status status = record_.status(); !status.ok()) {
        const auto [low, high] = bounds(next_ - 1);
        Lose(status, low, high);
      }
      if (next_ >= end_) {
        return;
      }
      const size_t at = next_++;
      Block block;
      Status status =
          reader_.ReadBlock(*extent_, head_->block(at), /*fill_cache=*/false, &contents_, &block);
      record_ = status.ok() ? BlockIterator(block) : BlockIterator();
      if (status.ok()) {
        // If the pages were given to another extent, a sound block of that may be as long as this
        // one.
        record_.SeekToLast();
        if (record_.Valid() && record_.key() != head_->last_key(at)) {
          status = Status::Corruption("the block of another extent");
          record_ = BlockIterator();
        }
      }
      if (status.ok() && extent_->sliced) {
        record_.Seek(extent_->smallest);
      } else if (status.ok()) {
        record_.SeekToFirst();
      } else {
        const auto [low, high] = bounds(at);
        Lose(status, low, high);
      }
    }
  }

  void Lose(const Status& why, std::string_view low, std::string_view high) {
    if (low.empty() && high.empty()) {
      low = UserKey(extent_->smallest);
      high = UserKey(extent_->largest);
    }
    report_.losses.push_back(fmt::format("extent {}, keys {} to {}: {}", extent_->number,
                                         ShowKey(low), ShowKey(high), why.ToString()));
  }

  const ExtentPtr extent_;
  ExtentReader& reader_;
  RepairReport& report_;
  TableHeadRef head_;
  size_t next_ = 0;  // block
  size_t end_ = 0;
  BlockRef contents_;
  BlockIterator record_;
  bool apart_ = false;  // the value is in value_
  std::string value_;
  uint64_t read_ = 0;
};

// Walks the records of a run that can be read, extent by extent.
class RunSalvage {
 public:
  RunSalvage(const RunIndex& run, ExtentReader* reader, RepairReport* report)
      : reader_(reader), report_(*report), extent_(run) {
    extent_.SeekToFirst();
    Find();
  }

  bool Valid() const { return at_ != nullptr; }
  const ExtentSalvage& at() const { return *at_; }
  void Next() {
    at_->Next();
    Find();
  }

 private:
  void Find() {
    while (at_ == nullptr || !at_->Valid()) {
      if (at_ != nullptr) {
        report_.records_lost += at_->lost();
        report_.extents_damaged += at_->lost() > 0;
        at_.reset();
        extent_.Next();
      }
      if (!extent_.Valid()) {
        return;
      }
      ++report_.extents;
      at_ = std::make_unique<ExtentSalvage>(extent_.extent(), reader_, &report_);
    }
  }

  ExtentReader* const reader_;
  RepairReport& report_;
  RunIndex::Iterator extent_;
  std::unique_ptr<ExtentSalvage> at_;
};

}  // namespace

Repairer::Repairer(const Options& options, std::string path, std::string to, RepairReport* report)
    : options_(options),
      env_(options.env != nullptr ? options.env : Env::Posix()),
      path_(std::move(path)),
      to_(std::move(to)),
      report_(*report) {}

Repairer::~Repairer() {
  metadata_ = {};
  EpochDrain();  // heads and blocks that were read
}

Status Repairer::Run() {
  report_ = {};
  SLUICE_RETURN_IF_ERROR(env_->FileExists(path_));
  if (const Status exists = env_->FileExists(to_); !exists.IsNotFound()) {
    if (!exists.ok() || !HoldsRemains(env_, to_)) {
      return exists.ok() ? Status::InvalidArgument(fmt::format("{}: exists", to_)) : exists;
    }
  }
  // Makes no file: what is no database is left as it is. Whoever has one open has made it.
  if (const Status locked = env_->LockFileShared(LockPath(path_), &lock_);
      !locked.ok() && !locked.IsNotFound()) {
    return locked;
  }
  const Status metadata = ReadMetadata();
  without_metadata_ |= metadata.IsCorruption();
  if (!metadata.ok() && !without_metadata_) {
    return metadata;
  }
  SLUICE_RETURN_IF_ERROR(OpenSpace());
  if (without_metadata_) {
    SLUICE_RETURN_IF_ERROR(FindExtents());
    const bool has_log = FindLog().ok();
    if (metadata_.subtables.empty() && !has_log) {
      return metadata;
    }
    FindGaps();
  } else {
    AdoptExtents();
  }
  SLUICE_RETURN_IF_ERROR(DB::Open(TargetOptions(), to_, &target_));
  const Status saved = Save();
  if (!saved.ok()) {
    target_.reset();
    (void)DB::Destroy(TargetOptions(), to_);
  }
  return saved;
}

// Until all is saved, the new database is marked as one that is being destroyed: what a crash leaves
// of it is nobody's.
Status Repairer::Save() {
  SLUICE_RETURN_IF_ERROR(MarkTarget(DirIdentity::State::kDestroying));
  for (const auto& [id, subtable] : metadata_.subtables) {
    Subtable* made = nullptr;
    SLUICE_RETURN_IF_ERROR(FindSubtable(id, &made));
  }
  for (const auto& [id, subtable] : metadata_.subtables) {
    SLUICE_RETURN_IF_ERROR(SaveSubtable(id, subtable, nullptr));
  }
  SLUICE_RETURN_IF_ERROR(SaveLog());
  for (Subtable* const subtable : target_->ListSubtables()) {
    SLUICE_RETURN_IF_ERROR(target_->Flush(subtable));
  }
  SLUICE_RETURN_IF_ERROR(target_->Write({.sync = true}, {}));
  SLUICE_RETURN_IF_ERROR(MarkTarget(DirIdentity::State::kWhole));
  return target_->Close();
}

Status Repairer::MarkTarget(DirIdentity::State state) {
  DirIdentity identity;
  SLUICE_RETURN_IF_ERROR(ReadIdentity(env_, to_, &identity));
  identity.state = state;
  return WriteIdentity(env_, to_, identity);
}

Status Repairer::ReadMetadata() {
  const std::string dir = path_ + "/meta";
  bool whole = false;
  const auto apply = [&](LogPosition, std::string_view payload) -> Status {
    MetadataEdit edit;
    SLUICE_RETURN_IF_ERROR(edit.ReadFrom(payload));
    if (!whole && !edit.whole) {
      return {};  // changes what is not known
    }
    Metadata changed = metadata_;
    SLUICE_RETURN_IF_ERROR(changed.Apply(edit));
    metadata_ = std::move(changed);
    whole = true;
    return {};
  };
  LogPosition start = 0;
  const Status current = MetadataLog::ReadCurrent(env_, path_, &start);
  if (!current.ok()) {
    Lost(fmt::format("where the metadata begins: {}", current.ToString()));
  }
  std::vector<LogPosition> from;
  std::vector<std::string> names;
  if (const Status status = env_->GetChildren(dir, &names); !status.ok()) {
    Lost(fmt::format("changes of the metadata: {}", status.ToString()));
  }
  for (const std::string& name : names) {
    if (uint64_t segment; ParseLogSegmentName(name, &segment)) {
      from.push_back(MakeLogPosition(segment, 0));
    }
  }
  // What is left of the log may lack its beginning and have gaps, so the last whole state is
  // searched from the end.
  std::sort(from.rbegin(), from.rend());
  if (current.ok()) {
    from.insert(from.begin(), start);
  }
  for (const LogPosition begin : from) {
    LogContents contents;
    const Status status = ReadLog(env_, dir, begin, apply, &contents);
    if (!status.ok() && (whole || begin == start)) {
      Lost(fmt::format("changes of the metadata: {}", status.ToString()));
      without_metadata_ |= whole;
    } else if (whole) {
      CheckMark(dir, "the last changes of the metadata");
    }
    if (whole) {
      return {};
    }
  }
  return Status::Corruption(fmt::format(
      "{}/meta: no whole state of the metadata is left, so nothing says which extents there are",
      path_));
}

Status Repairer::OpenSpace() {
  DirIdentity home;
  if (const Status status = ReadIdentity(env_, path_, &home); !status.ok()) {
    Lost(fmt::format("the directory's identity: {}", status.ToString()));
  } else if (without_metadata_) {
    metadata_.database = home.database;
  } else if (home.database != metadata_.database) {
    Lost(
        fmt::format("the directory's identity: it is that of database {}, but the metadata is "
                    "that of {}",
                    home.database, metadata_.database));
  }
  const auto add = [&](const std::string& dir, uint64_t number) {
    const bool known = std::any_of(dirs_.begin(), dirs_.end(),
                                   [&](const auto& other) { return other.number == number; });
    if (!known && env_->FileExists(DataFilePath(dir, number)).ok()) {
      dirs_.push_back({dir, number});
    }
  };
  add(path_, kHomeDir);
  for (const std::string& dir : options_.level_paths) {
    if (dir.empty()) {
      continue;
    }
    DirIdentity tier;
    Status status = ReadIdentity(env_, dir, &tier);
    if (status.ok() && metadata_.database.empty()) {
      metadata_.database = tier.database;  // nothing else is left that says whose this is
    }
    if (status.ok() && tier.database != metadata_.database) {
      // The two databases' extents may lie at the same places and have the same lengths.
      status =
          Status::InvalidArgument(fmt::format("{}: belongs to another database, {}; this one "
                                              "is {}",
                                              dir, tier.database, metadata_.database));
    }
    if (status.ok()) {
      add(dir, tier.number);
    } else if (!status.IsNotFound()) {
      Lost(fmt::format("a level's directory: {}", status.ToString()));
    }
  }
  return ExtentSpace::OpenReadOnly(env_, dirs_, &space_);
}

void Repairer::AdoptExtents() {
  for (const auto& [id, subtable] : metadata_.subtables) {
    for (const auto& [run_id, run] : subtable.runs) {
      RunIndex::Iterator at(run);
      for (at.SeekToFirst(); at.Valid(); at.Next()) {
        if (!space_->Adopt(*at.extent(), &at.extent()->place).ok()) {
          at.extent()->place.reset();
        }
      }
    }
    for (const auto& [number, use] : subtable.values) {
      if (!space_->Adopt(use.extent->pages, &use.extent->pages.place).ok()) {
        use.extent->pages.place.reset();
      }
    }
  }
}

Status Repairer::FindExtents() {
  std::map<uint32_t, std::shared_ptr<ValueShares>> values;
  SLUICE_RETURN_IF_ERROR(FindValueExtents(&values));
  std::map<uint32_t, std::vector<ExtentPtr>> found;
  uint64_t count = 0;
  for (size_t tier = 0; tier < dirs_.size(); ++tier) {
    const ExtentSpace::Dir& dir = dirs_[tier];
    SLUICE_RETURN_IF_ERROR(ScanForExtents(
        env_, DataFilePath(dir.path, dir.number), dir.number, [&](FoundExtent table) {
          table.extent.number = ++count;
          table.extent.place = space_->At(tier, table.extent);
          table.extent.values = values[table.subtable];
          found[table.subtable].push_back(std::make_shared<const Extent>(std::move(table.extent)));
        }));
  }
  Lost(fmt::format(
      "the metadata: {} is left. {} extents were found without it; what was deleted before may be "
      "back, and sub-tables that it does not name are named by their numbers",
      metadata_.subtables.empty() ? "no whole state of it" : "only an earlier state of it", count));
  for (auto& [id, subtable] : metadata_.subtables) {
    subtable.runs.clear();
    subtable.values.clear();
    subtable.flushed = 0;
  }
  for (auto& [id, extents] : found) {
    std::sort(extents.begin(), extents.end(), [](const ExtentPtr& a, const ExtentPtr& b) {
      return CompareInternalKeys(a->smallest, b->smallest) < 0;
    });
    // Extents that follow each other make a run, so that there are few.
    std::vector<std::vector<ExtentPtr>> runs;
    for (const ExtentPtr& extent : extents) {
      const auto run = std::find_if(runs.begin(), runs.end(), [&](const auto& before) {
        return CompareInternalKeys(before.back()->largest, extent->smallest) < 0;
      });
      (run != runs.end() ? *run : runs.emplace_back()).push_back(extent);
    }
    const auto [known, is_new] = metadata_.subtables.try_emplace(id);
    Metadata::Subtable& subtable = known->second;
    if (is_new) {
      subtable.name = SubtableName(id);
    }
    for (const std::vector<ExtentPtr>& run : runs) {
      RunIndex& index = subtable.runs[{kAsideLevel, run.front()->number}];
      SLUICE_RETURN_IF_ERROR(index.Edit({}, run, &index));
    }
  }
  return {};
}

// All of each sub-table, since nothing says which of them an extent's records refer to.
Status Repairer::FindValueExtents(std::map<uint32_t, std::shared_ptr<ValueShares>>* values) {
  for (size_t tier = 0; tier < dirs_.size(); ++tier) {
    const ExtentSpace::Dir& dir = dirs_[tier];
    SLUICE_RETURN_IF_ERROR(ScanForValueExtents(
        env_, DataFilePath(dir.path, dir.number), dir.number, [&](FoundExtent value_extent) {
          Extent& pages = value_extent.extent;
          pages.place = space_->At(tier, pages);
          std::shared_ptr<ValueShares>& of_subtable = (*values)[value_extent.subtable];
          if (of_subtable == nullptr) {
            of_subtable = std::make_shared<ValueShares>();
          }
          of_subtable->shares.push_back({std::make_shared<const ValueExtent>(pages), 0});
        }));
  }
  for (const auto& [id, of_subtable] : *values) {
    std::sort(of_subtable->shares.begin(), of_subtable->shares.end(),
              [](const auto& a, const auto& b) {
                return a.extent->pages.number < b.extent->pages.number;
              });
  }
  return {};
}

// Finds where the redo log begins; NotFound if there is none.
Status Repairer::FindLog() {
  std::vector<std::string> names;
  SLUICE_RETURN_IF_ERROR(env_->GetChildren(path_ + "/log", &names));
  uint64_t first = 0;
  for (const std::string& name : names) {
    if (uint64_t segment; ParseLogSegmentName(name, &segment)) {
      first = first == 0 ? segment : std::min(first, segment);
    }
  }
  metadata_.log_start = MakeLogPosition(first, 0);
  return first == 0 ? Status::NotFound("no log") : Status();
}

Options Repairer::TargetOptions() const {
  Options options = options_;
  options.create_if_missing = true;
  options.error_if_exists = true;
  options.level_paths.clear();
  options.transaction_memory_bytes = SIZE_MAX;  // all prepared transactions must fit
  return options;
}

Status Repairer::FindSubtable(uint32_t id, Subtable** subtable) {
  auto known = metadata_.subtables.find(id);
  if (known == metadata_.subtables.end() && without_metadata_) {
    known = metadata_.subtables.emplace(id, Metadata::Subtable{.name = SubtableName(id)}).first;
  }
  if (known == metadata_.subtables.end()) {
    *subtable = nullptr;
    return {};
  }
  Subtable*& found = subtables_[id];
  if (found == nullptr) {
    found = target_->FindSubtable(known->second.name);  // the default one
    if (found == nullptr) {
      SLUICE_RETURN_IF_ERROR(target_->CreateSubtable(known->second.name, &found));
    }
    // As an Open with these options has them.
    const SubtableOptions own = CutTo(known->second.options, options_.extent_bytes);
    if (own != SubtableOptions()) {
      SLUICE_RETURN_IF_ERROR(target_->SetSubtableOptions(found, own));
    }
  }
  *subtable = found;
  return {};
}

Status Repairer::SaveSubtable(uint32_t id, const Metadata::Subtable& subtable, const Gap* gap) {
  RepairReport counted_before;
  std::deque<RunSalvage> runs;
  for (const auto& [run_id, run] : subtable.runs) {
    runs.emplace_back(run, &reader_, gap == nullptr ? &report_ : &counted_before);
  }
  std::string key;
  std::string value;
  for (;;) {
    const RunSalvage* first = nullptr;
    for (const RunSalvage& run : runs) {
      if (run.Valid() && (first == nullptr || run.at().user_key() < first->at().user_key())) {
        first = &run;
      }
    }
    if (first == nullptr) {
      break;
    }
    key.assign(first->at().user_key());
    uint64_t newest = 0;
    bool found = false;
    for (RunSalvage& run : runs) {
      for (; run.Valid() && run.at().user_key() == key; run.Next()) {
        const SequenceNumber sequence = TrailerSequence(run.at().trailer());
        if (gap == nullptr) {
          NoteGap(id, sequence);
        } else if (sequence <= gap->last_before || sequence >= gap->first_after) {
          continue;
        }
        if (!found || run.at().trailer() > newest) {
          found = true;
          newest = run.at().trailer();
          value.assign(run.at().value());
        }
      }
    }
    const bool is_value = TrailerType(newest) == static_cast<uint8_t>(RecordType::kValue) &&
                          TrailerSequence(newest) >= subtable.cuts.Covering(key, kMaxSequence);
    if (found && is_value) {
      report_.records_saved += gap == nullptr ? 1 : 0;
      SLUICE_RETURN_IF_ERROR(Add({EntryType::kValue, id, key, value}));
    } else if (found && gap != nullptr) {
      SLUICE_RETURN_IF_ERROR(Add({EntryType::kDeletion, id, key, {}}));
    }
  }
  return WriteBatchOut();
}

void Repairer::FindGaps() {
  SequenceNumber last = 0;
  LoggedTransactions ignored;
  LogContents contents;
  (void)ReadLog(
      env_, path_ + "/log", metadata_.log_start,
      [&](LogPosition begin, std::string_view payload) -> Status {
        SLUICE_RETURN_IF_ERROR(CheckRecord(payload, begin, &ignored));
        SequenceNumber sequence = 0;
        GetVarint64(&payload, &sequence);
        for (BatchWrite write; ReadWrite(&payload, &write); ++sequence) {
          if (last != 0 && sequence > last + 1) {
            gaps_.push_back({last, sequence, {}});
          }
          last = std::max(last, sequence);
        }
        return {};
      },
      &contents);
  if (last != 0) {
    gaps_.push_back({last, kMaxSequence + 1, {}});
  }
}

void Repairer::NoteGap(uint32_t id, SequenceNumber sequence) {
  const auto gap = std::upper_bound(
      gaps_.begin(), gaps_.end(), sequence,
      [](SequenceNumber number, const Gap& other) { return number < other.first_after; });
  if (gap != gaps_.end() && sequence > gap->last_before) {
    gap->subtables.insert(id);
  }
}

Status Repairer::SaveGap(const Gap& gap) {
  for (const uint32_t id : gap.subtables) {
    SLUICE_RETURN_IF_ERROR(SaveSubtable(id, metadata_.subtables.at(id), &gap));
  }
  return {};
}

Status Repairer::SaveLog() {
  LoggedTransactions prepared;
  LogContents contents;
  Status failed;  // of the new database
  auto gap = gaps_.cbegin();
  const Status status = ReadLog(
      env_, path_ + "/log", metadata_.log_start,
      [&](LogPosition begin, std::string_view payload) -> Status {
        SLUICE_RETURN_IF_ERROR(CheckRecord(payload, begin, &prepared));
        SequenceNumber sequence = 0;
        std::string_view rest = payload;
        GetVarint64(&rest, &sequence);
        for (; failed.ok() && gap != gaps_.end() && gap->first_after <= sequence; ++gap) {
          failed = SaveGap(*gap);
        }
        return failed.ok() ? failed = SaveWrites(payload) : failed;
      },
      &contents);
  for (; failed.ok() && gap != gaps_.end(); ++gap) {
    failed = SaveGap(*gap);
  }
  SLUICE_RETURN_IF_ERROR(failed);
  if (!status.ok()) {
    Lost(fmt::format("what was written last, from here on: {}", status.ToString()));
  } else {
    CheckMark(path_ + "/log", "what was written last");
  }
  SLUICE_RETURN_IF_ERROR(WriteBatchOut());
  for (const auto& [name, transaction] : prepared) {
    SLUICE_RETURN_IF_ERROR(Prepare(name, transaction.entries));
  }
  return {};
}

void Repairer::CheckMark(const std::string& dir, std::string_view what) {
  LogPosition durable = 0;
  if (const Status status = DurableMark::Read(env_, dir, &durable); !status.ok() || durable == 0) {
    Lost(
        fmt::format("perhaps {}: {}/{}, which tells whether the log was cut, is damaged or missing",
                    what, dir, kDurableMarkName));
  }
}

Status Repairer::SaveWrites(std::string_view payload) {
  SequenceNumber sequence = 0;
  GetVarint64(&payload, &sequence);
  for (BatchWrite write; ReadWrite(&payload, &write); ++sequence) {
    Subtable* subtable = nullptr;
    SLUICE_RETURN_IF_ERROR(FindSubtable(write.subtable, &subtable));
    if (subtable != nullptr && sequence > metadata_.subtables.at(write.subtable).flushed) {
      ++report_.log_writes_saved;
      SLUICE_RETURN_IF_ERROR(Add(write));
    }
  }
  return {};
}

Status Repairer::Prepare(const std::string& name, std::string_view entries) {
  const auto transaction = target_->BeginTransaction({.max_bytes = SIZE_MAX}, {});
  bool tracked = true;
  for (BatchEntry entry; ReadEntry(&entries, &entry);) {
    if (entry.type == EntryType::kUntracked) {
      tracked = false;
      continue;
    }
    const bool lock = std::exchange(tracked, true);
    Subtable* subtable = nullptr;
    SLUICE_RETURN_IF_ERROR(FindSubtable(entry.subtable, &subtable));
    if (subtable == nullptr) {
      continue;  // it is dropped
    }
    if (entry.type == EntryType::kValue) {
      SLUICE_RETURN_IF_ERROR(lock ? transaction->Put(subtable, entry.key, entry.value)
                                  : transaction->PutUntracked(subtable, entry.key, entry.value));
    } else if (entry.type == EntryType::kDeletion) {
      SLUICE_RETURN_IF_ERROR(lock ? transaction->Delete(subtable, entry.key)
                                  : transaction->DeleteUntracked(subtable, entry.key));
    } else if (std::string value; entry.type == EntryType::kLock) {
      const Status status = transaction->GetForUpdate({}, subtable, entry.key, &value);
      if (!status.ok() && !status.IsNotFound()) {
        return status;
      }
    }
  }
  ++report_.prepared_saved;
  return transaction->Prepare(name);
}

Status Repairer::Add(const BatchWrite& write) {
  Subtable* const subtable = subtables_.at(write.subtable);
  if (write.type == EntryType::kValue) {
    batch_.Put(subtable, write.key, write.value);
  } else if (write.type == EntryType::kRangeDeletion) {
    batch_.DeleteRange(subtable, write.key, write.value);
  } else {
    batch_.Delete(subtable, write.key);
  }
  return batch_.rep().size() >= kBatchBytes ? WriteBatchOut() : Status();
}

Status Repairer::WriteBatchOut() {
  const Status status = target_->Write({}, batch_);
  batch_.Clear();
  return status;
}

Status DB::Repair(const Options& options, const std::string& path, const std::string& to,
                  RepairReport* report) {
  return Repairer(options, path, to, report).Run();
}

}  // namespace sluice
