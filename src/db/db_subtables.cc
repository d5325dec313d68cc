// Creating and dropping sub-tables, and their options.

#include <fmt/format.h>

#include <utility>

#include "db/db_impl.h"
#include "tree/subtable_options.h"
#include "util/epoch.h"
#include "util/mutex.h"

namespace sluice {

namespace {

// Ids of sub-tables are never given twice.
constexpr uint32_t kMaxSubtables = ~uint32_t{0};

Status CheckOptions(const SubtableOptions& options, uint32_t extent_bytes) {
  const char* const bad = OutOfRange(options, extent_bytes);
  return bad == nullptr ? Status()
                        : Status::InvalidArgument(fmt::format(
                              "SubtableOptions::{} is out of its range (sluice/options.h)", bad));
}

}  // namespace

void DBImpl::AddSubtable(const StateLock& lock, uint32_t id, const Metadata::Subtable& metadata) {
  auto subtable = std::make_unique<SubtableImpl>(&db_.subtables, id, metadata.name);
  auto* const version = new Version;
  version->format = std::make_shared<const SubtableFormat>(metadata.options, db_.options);
  version->active = db_.NewMemtable();
  version->flushed = metadata.flushed;
  version->SetRuns(metadata, subtable->totals.Update(metadata));
  subtable->Install(lock, version);
  db_.schedule.Recheck(lock, subtable.get());
  if (!metadata.cuts.empty()) {
    db_.schedule.AddCuts(lock, subtable.get());
  }
  db_.subtables.Add(lock, std::move(subtable));
}

Status DBImpl::CreateSubtable(const SubtableOptions& options, std::string_view name,
                              Subtable** subtable) {
  SLUICE_RETURN_IF_ERROR(db_.CheckWritable());
  SLUICE_RETURN_IF_ERROR(CheckOptions(options, db_.options.extent_bytes));
  if (name.empty()) {
    return Status::InvalidArgument("a sub-table needs a name");
  }
  Status status = Create(options, name, subtable);
  while (status.IsNoSpace() && writes_.WaitWhilePassing()) {
    status = Create(options, name, subtable);
  }
  return status;
}

Status DBImpl::Create(const SubtableOptions& options, std::string_view name, Subtable** subtable) {
  const ExclusiveWrites exclusive(writes_.pipeline());
  const MutexLock metadata_lock(db_.metadata_mutex);
  if (db_.subtables.Find(name) != nullptr) {
    return Status::InvalidArgument(fmt::format("there is a sub-table '{}'", name));
  }
  MetadataEdit edit;
  const uint32_t id = db_.metadata->state().next_subtable;
  if (id == kMaxSubtables) {
    return Status::TooLarge(
        fmt::format("{} sub-tables were created, and there are no more ids", kMaxSubtables));
  }
  edit.created.push_back({id, std::string(name)});
  if (options != SubtableOptions()) {
    edit.options.push_back({id, options});
  }
  edit.next_subtable = id + 1;
  SLUICE_RETURN_IF_ERROR(db_.ApplyGrowth(edit));
  // The metadata has it. Without the memory to follow, the process ends.
  [&]() noexcept {
    const StateLock lock(db_.mutex);
    AddSubtable(lock, id, db_.metadata->state().subtables.at(id));
    *subtable = db_.subtables.all().at(id).get();
    db_.work.notify_all();  // it counts as work until it is looked at
  }();
  return {};
}

Status DBImpl::DropSubtable(Subtable* subtable) {
  SLUICE_RETURN_IF_ERROR(db_.CheckWritable());
  SubtableImpl* const target = Resolve(subtable);
  if (target == db_.subtables.default_subtable()) {
    return Status::InvalidArgument("the default sub-table cannot be dropped");
  }
  bool tried = false;
  Status status = Drop(target);
  while (status.IsNoSpace() && db_.WaitForSpace(&tried)) {
    status = Drop(target);
  }
  return status;
}

Status DBImpl::Drop(SubtableImpl* target) {
  const ExclusiveWrites exclusive(writes_.pipeline());
  const MutexLock metadata_lock(db_.metadata_mutex);
  SLUICE_RETURN_IF_ERROR(db_.subtables.CheckLive(*target));
  MetadataEdit edit;
  edit.dropped.push_back(target->id());
  SLUICE_RETURN_IF_ERROR(db_.ApplyOrMakeSpace(edit));
  // As in CreateSubtable.
  [&]() noexcept {
    const StateLock lock(db_.mutex);
    target->dropped = true;
    target->totals.Update({});
    const std::shared_ptr<const SubtableFormat> format = target->version(lock).format;
    // NOLINTBEGIN(bugprone-unhandled-exception-at-new): as is said above
    if (db_.dropped == nullptr) {
      auto* const empty = new Version;
      empty->format = std::make_shared<const SubtableFormat>(SubtableOptions(), db_.options);
      empty->active = db_.NewMemtable();
      db_.dropped = {empty, [](const Version* version) { version->Unref(); }};
    }
    if (format->own == SubtableOptions()) {
      db_.dropped->Ref();
      db_.InstallVersion(lock, target, db_.dropped.get());
    } else {
      auto* const empty = new Version(*db_.dropped);
      empty->format = format;  // the handle still tells them
      db_.InstallVersion(lock, target, empty);
    }
    // NOLINTEND(bugprone-unhandled-exception-at-new)
    db_.schedule.Forget(lock, *target);
    db_.subtables.Drop(lock, *target);
  }();
  target->dead_stretches.Close();
  db_.transactions.locks.ForgetSubtable(target->id());
  EpochReclaim();
  db_.full.RetryNow();
  return {};
}

Status DBImpl::SetSubtableOptions(Subtable* subtable, const SubtableOptions& options) {
  SLUICE_RETURN_IF_ERROR(db_.CheckWritable());
  SLUICE_RETURN_IF_ERROR(CheckOptions(options, db_.options.extent_bytes));
  SubtableImpl* const target = Resolve(subtable);
  Status status = SetOptions(target, options);
  while (status.IsNoSpace() && writes_.WaitWhilePassing()) {
    status = SetOptions(target, options);
  }
  return status;
}

Status DBImpl::SetOptions(SubtableImpl* target, const SubtableOptions& options) {
  const MutexLock metadata_lock(db_.metadata_mutex);
  SLUICE_RETURN_IF_ERROR(db_.subtables.CheckLive(*target));
  MetadataEdit edit;
  edit.options.push_back({target->id(), options});
  SLUICE_RETURN_IF_ERROR(db_.ApplyGrowth(edit));
  // As in CreateSubtable.
  [&]() noexcept {
    const StateLock lock(db_.mutex);
    // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): as is said above
    auto* const version = new Version(target->version(lock));
    version->format = std::make_shared<const SubtableFormat>(options, db_.options);
    db_.InstallVersion(lock, target, version);
  }();
  return {};
}

}  // namespace sluice
