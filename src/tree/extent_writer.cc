#include "tree/extent_writer.h"

#include <algorithm>
#include <utility>

namespace sluice {

Status ExtentWriter::Write(BuiltExtent built, uint64_t number) {
  while (pending_.size() >= kDepth) {
    SLUICE_RETURN_IF_ERROR(WaitForOne());
  }
  auto pending = std::make_unique<Pending>();
  pending->built = std::move(built);
  Extent& extent = pending->built.extent;
  extent.number = number;
  extent.place = space_.Allocate(tier_, extent.bytes);
  extent.address = extent.place->address();
  extents_.push_back(extent);
  files_.insert(extent.place->file());
  bytes_ += extent.bytes;
  // Whole pages, so that no page is half that of an extent before.
  std::string& table = pending->built.table;
  table.resize((table.size() + kPageBytes - 1) / kPageBytes * kPageBytes);
  pending->request = {.kind = IoRequest::Kind::kWrite,
                      .file = extent.place->file(),
                      .offset = extent.place->offset(),
                      .data = table.data(),
                      .bytes = table.size(),
                      .status = {}};
  pending_.push_back(std::move(pending));
  queue_->Submit(&pending_.back()->request);
  return {};
}

Status ExtentWriter::WaitForOne() {
  IoRequest* const done = queue_->Wait();
  const auto pending = std::find_if(pending_.begin(), pending_.end(),
                                    [&](const auto& p) { return &p->request == done; });
  const Status status = std::move((*pending)->request.status);
  pending_.erase(pending);
  return status;
}

Status ExtentWriter::WaitForAll() {
  Status status;
  while (!pending_.empty()) {
    if (Status one = WaitForOne(); !one.ok() && status.ok()) {
      status = std::move(one);
    }
  }
  return status;
}

Status ExtentWriter::Finish(std::vector<Extent>* extents) {
  SLUICE_RETURN_IF_ERROR(WaitForAll());
  for (DataFile* const file : files_) {
    SLUICE_RETURN_IF_ERROR(space_.Sync(file));
  }
  *extents = std::move(extents_);
  return {};
}

}  // namespace sluice
