// A snapshot, which is released when the last call that reads it has returned.

#pragma once

#include <memory>

#include "state.h"

namespace sluice::python {

class Table;

class SnapshotPart final : public Part {
 public:
  explicit SnapshotPart(const Table& table);
  ~SnapshotPart() override { End(); }

  uint64_t sequence() const;
  void Release();
  void Yield(Remains* remains) override;

  // Null without a snapshot. Made and destroyed with the GIL, round a Call.
  class Pin {
   public:
    // Throws if the snapshot is released, or belongs to another database than `state`.
    Pin(const State* state, SnapshotPart* snapshot);
    Pin(const Pin&) = delete;
    Pin& operator=(const Pin&) = delete;
    ~Pin();

    const Snapshot* get() const { return part_ == nullptr ? nullptr : part_->snapshot_; }

   private:
    SnapshotPart* part_;
  };

 private:
  const Snapshot* snapshot_ = nullptr;
  size_t pins_ = 0;
  bool released_ = false;
};

}  // namespace sluice::python
