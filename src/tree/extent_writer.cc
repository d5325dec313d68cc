#include "tree/extent_writer.h"

#include <algorithm>
#include <utility>

#include "util/alignment.h"

namespace sluice {

ExtentWriter::ExtentWriter(ExtentSpace* space, size_t tier, std::atomic<uint64_t>* next_number,
                           Use use, RateLimiter* limiter)
    : space_(*space),
      tier_(tier),
      next_number_(*next_number),
      use_(use),
      limiter_(limiter),
      queue_(IoQueue::New(kPieces)) {
  // Memory must not run out in Done: the kernel may write from what unwinding would free.
  spare_.reserve(kExtents);
  writing_back_.reserve(kWritingBack + 2 * kExtents);
}

Status ExtentWriter::Write(BuiltExtent* built, uint64_t number) {
  built->extent.number = number;
  SLUICE_RETURN_IF_ERROR(Submit(built, tier_));
  extents_.push_back(built->extent);
  return {};
}

Status ExtentWriter::WriteValues(std::string* bytes, size_t tier, Extent* pages) {
  BuiltExtent built;
  built.table = std::move(*bytes);
  built.extent = *pages;
  SLUICE_RETURN_IF_ERROR(Submit(&built, tier));
  pages->address = built.extent.address;
  pages->place = built.extent.place;
  *bytes = std::move(built.table);
  bytes->clear();
  return {};
}

Status ExtentWriter::Submit(BuiltExtent* built, size_t tier) {
  while (IoRequest* const done = queue_->Poll()) {
    SLUICE_RETURN_IF_ERROR(Done(done));
  }
  while (pending_.size() >= kExtents) {
    SLUICE_RETURN_IF_ERROR(Done(queue_->Wait()));
  }
  if (use_ == Use::kCompaction) {
    SLUICE_RETURN_IF_ERROR(FinishWriteback(kWritingBack));
  }
  Extent& extent = built->extent;
  extent.place = space_.Allocate(tier, extent.bytes);
  extent.address = extent.place->address();
  DataFile* const file = extent.place->file();
  if (!files_.contains(file)) {
    files_[file] = space_.FailedSyncs(file);
  }
  bytes_ += extent.bytes;
  auto pending = std::make_unique<Pending>();
  pending->place = extent.place;
  const uint64_t alignment = file->write_descriptor().alignment;
  const size_t whole = RoundUp(built->table.size(), kPageBytes);
  char* const table = TakeTable(&built->table, alignment, pending.get());
  const size_t piece = alignment > 1 ? kDirectPieceBytes : kPieceBytes;
  for (size_t at = 0; at < whole; at += piece) {
    pending->pieces.push_back({.kind = IoRequest::Kind::kWrite,
                               .file = file,
                               .offset = extent.place->offset() + at,
                               .data = table + at,
                               .bytes = std::min(piece, whole - at),
                               .status = {}});
  }
  pending->under_way = pending->pieces.size();
  pending_.push_back(std::move(pending));
  for (IoRequest& piece : pending_.back()->pieces) {
    if (limiter_ != nullptr) {
      limiter_->Take(use_, piece.bytes);
    }
    queue_->Submit(&piece);
  }
  return {};
}

// Whole pages are written, so that none keeps bytes of an extent that was there before.
char* ExtentWriter::TakeTable(std::string* table, uint64_t alignment, Pending* pending) {
  std::string spare;
  if (!spare_.empty()) {
    spare = std::move(spare_.back());
    spare_.pop_back();
  }
  const size_t whole = RoundUp(table->size(), kPageBytes);
  if (alignment == 1) {
    pending->memory = std::exchange(*table, std::move(spare));
    pending->memory.resize(whole);
    return pending->memory.data();
  }
  pending->memory = std::move(spare);
  if (pending->memory.size() < whole + alignment) {
    pending->memory.resize(whole + alignment);
  }
  char* const begin = AlignUp(pending->memory.data(), alignment);
  std::fill(std::copy(table->begin(), table->end(), begin), begin + whole, '\0');
  return begin;
}

Status ExtentWriter::Done(IoRequest* done) {
  const auto at = std::find_if(pending_.begin(), pending_.end(), [&](const auto& pending) {
    return std::any_of(pending->pieces.begin(), pending->pieces.end(),
                       [&](const IoRequest& piece) { return &piece == done; });
  });
  Pending& pending = **at;
  if (pending.status.ok()) {
    pending.status = std::move(done->status);
  }
  if (--pending.under_way > 0) {
    return {};
  }
  const Status status = std::move(pending.status);
  const std::shared_ptr<ExtentPlace>& place = pending.place;
  place->file()->StartWriteback(place->offset(), place->bytes());
  if (use_ == Use::kCompaction) {
    writing_back_.push_back(place);
  }
  spare_.push_back(std::move(pending.memory));
  pending_.erase(at);
  return status;
}

Status ExtentWriter::WaitForAll() {
  Status status;
  while (!pending_.empty()) {
    if (Status one = Done(queue_->Wait()); !one.ok() && status.ok()) {
      status = std::move(one);
    }
  }
  return status;
}

Status ExtentWriter::FinishWriteback(size_t most) {
  for (; writing_back_.size() > most; writing_back_.erase(writing_back_.begin())) {
    const ExtentPlace& place = *writing_back_.front();
    SLUICE_RETURN_IF_ERROR(space_.FinishWriteback(place.file(), place.offset(), place.bytes()));
  }
  return {};
}

Status ExtentWriter::Finish(std::vector<Extent>* extents) {
  SLUICE_RETURN_IF_ERROR(WaitForAll());
  for (const auto& [file, failed_syncs] : files_) {
    SLUICE_RETURN_IF_ERROR(space_.Sync(file, failed_syncs));
  }
  *extents = std::move(extents_);
  return {};
}

}  // namespace sluice
