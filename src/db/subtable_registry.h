// The sub-tables of an open database, by id and by name.

#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db/state_mutex.h"
#include "db/subtable_impl.h"
#include "sluice/db.h"
#include "util/status.h"

namespace sluice {

// It changes while ExclusiveWrites and the database's mutex are held. Find and List may be called
// at any time; all() while the caller holds one of these two, or is a stage of the write pipeline.
class SubtableRegistry {
 public:
  using ById = std::map<uint32_t, std::unique_ptr<SubtableImpl>>;

  // The sub-table itself; the default one for null.
  SubtableImpl* Resolve(Subtable* subtable) const {
    return subtable != nullptr ? static_cast<SubtableImpl*>(subtable) : default_;
  }
  SubtableImpl* default_subtable() const { return default_; }
  // InvalidArgument if it was dropped, or is another database's.
  Status CheckLive(const SubtableImpl& subtable) const {
    if (subtable.database() != this) {
      return Status::InvalidArgument(
          fmt::format("sub-table '{}' is another database's", subtable.name()));
    }
    if (subtable.dropped.load(std::memory_order_relaxed)) {
      return Status::InvalidArgument(fmt::format("sub-table '{}' is dropped", subtable.name()));
    }
    return {};
  }

  // Null if there is none, or it was dropped.
  SubtableImpl* Find(uint32_t id) const {
    const std::shared_lock lock(mutex_);
    const auto found = by_id_.find(id);
    return found != by_id_.end() ? found->second.get() : nullptr;
  }
  SubtableImpl* Find(std::string_view name) const {
    const std::shared_lock lock(mutex_);
    const auto found = by_name_.find(name);
    return found != by_name_.end() ? found->second : nullptr;
  }
  std::vector<Subtable*> List() const {
    const std::shared_lock lock(mutex_);
    std::vector<Subtable*> list;
    for (const auto& [id, subtable] : by_id_) {
      list.push_back(subtable.get());
    }
    return list;
  }
  const ById& all() const { return by_id_; }

  // The first one becomes the default one.
  void Add(const StateLock&, std::unique_ptr<SubtableImpl> subtable) {
    const std::lock_guard lock(mutex_);
    if (default_ == nullptr) {
      default_ = subtable.get();
    }
    by_name_[subtable->name()] = subtable.get();
    by_id_[subtable->id()] = std::move(subtable);
  }
  void Drop(const StateLock&, const SubtableImpl& subtable) {
    const std::lock_guard lock(mutex_);
    by_name_.erase(subtable.name());
    dropped_.push_back(std::move(by_id_.extract(subtable.id()).mapped()));
  }
  // All handles are invalid from now on.
  void Clear() {
    by_id_.clear();
    dropped_.clear();
  }

 private:
  mutable std::shared_mutex mutex_;  // the last that is taken
  ById by_id_;
  std::map<std::string, SubtableImpl*, std::less<>> by_name_;
  std::vector<std::unique_ptr<SubtableImpl>> dropped_;  // their handles stay valid
  SubtableImpl* default_ = nullptr;
};

}  // namespace sluice
