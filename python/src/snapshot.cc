#include "snapshot.h"

#include "table.h"

namespace sluice::python {

SnapshotPart::SnapshotPart(const Table& table) : Part(table.state()) {
  const Call call(state().get());
  const nanobind::gil_scoped_release release;
  snapshot_ = state()->db()->GetSnapshot();
}

void SnapshotPart::Yield(Remains* remains) {
  if (snapshot_ != nullptr) {
    remains->snapshots.push_back(std::exchange(snapshot_, nullptr));
  }
}

uint64_t SnapshotPart::sequence() const {
  if (released_) {
    ThrowClosed("the snapshot is released");
  }
  state()->CheckOpen();
  return snapshot_->sequence();
}

void SnapshotPart::Release() {
  released_ = true;
  if (pins_ == 0) {
    End();
  }
}

SnapshotPart::Pin::Pin(const State* state, SnapshotPart* snapshot) : part_(snapshot) {
  if (part_ == nullptr) {
    return;
  }
  if (part_->state().get() != state) {
    ThrowInvalidArgument("the snapshot is one of another database");
  }
  if (part_->released_) {
    ThrowClosed("the snapshot is released");
  }
  ++part_->pins_;
}

SnapshotPart::Pin::~Pin() {
  if (part_ != nullptr && --part_->pins_ == 0 && part_->released_) {
    part_->End();
  }
}

}  // namespace sluice::python
