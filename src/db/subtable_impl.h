// A sub-table while its database is open.

#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "db/version.h"
#include "sluice/db.h"
#include "util/epoch.h"

namespace sluice {

class SubtableImpl final : public Subtable {
 public:
  SubtableImpl(uint32_t id, std::string name) : id_(id), name_(std::move(name)) {}
  ~SubtableImpl() override {
    if (Version* const version = version_.load()) {
      version->Unref();
    }
  }

  const std::string& name() const override { return name_; }
  uint32_t id() const override { return id_; }

  // Valid as long as the caller's EpochGuard; one that changes versions needs none.
  Version* version() const { return version_.load(std::memory_order_acquire); }
  // `version`'s one reference becomes the sub-table's. Called by one thread at a time.
  void Install(Version* version) {
    if (Version* const before = version_.exchange(version, std::memory_order_acq_rel)) {
      EpochRetire(before, [](void* old) { static_cast<Version*>(old)->Unref(); });
    }
  }

  // As row_cache.h wants it.
  std::atomic<uint64_t> flushes{0};
  std::atomic<bool> dropped{false};

  // Of the database, under its mutex.
  bool flushing = false;
  bool compacting = false;
  bool checked = false;  // nothing was due when last looked, and nothing has changed since

 private:
  const uint32_t id_;
  const std::string name_;
  std::atomic<Version*> version_{nullptr};
};

}  // namespace sluice
