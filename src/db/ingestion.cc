#include "db/ingestion.h"

#include <fmt/format.h>

#include <utility>

#include "util/no_throw.h"

namespace sluice {

// Written for the last level, where most of it ends, and where all of it goes if it overlaps nothing.
IngestionImpl::Part::Part(DbState* db, SubtableImpl* of)
    : subtable(of),
      hurry(&db->limiter),
      writer(db->space.get(), db->FormatOf(*of, kLastLevel).tier, &db->next_number,
             ExtentWriter::Use::kCompaction, &db->limiter),
      packer(db->FormatOf(*of, kLastLevel), &writer) {}

Status IngestionImpl::Begin() {
  if (db_.ingesting.exchange(true)) {
    return Status::Busy("another ingestion is under way");
  }
  ended_ = false;
  // The visible ones include those from before the database was opened.
  const SequenceNumber last = std::max(db_.visible.load(), db_.given_sequence.load());
  const SequenceNumber gap = SequenceGap(last);
  sequence_ = last + gap;
  return gap > 0 ? Status()
                 : Status::TooLarge("the database has no sequence numbers left for ingestions");
}

Status IngestionImpl::CheckUnderWay() const {
  if (committed_) {
    return Status::InvalidArgument("the ingestion is committed");
  }
  SLUICE_RETURN_IF_ERROR(db_.CheckWritable());
  if (db_.failed) {
    return db_.BackgroundError();
  }
  return failed_;
}

Status IngestionImpl::Add(Subtable* subtable, std::string_view key, std::string_view value) {
  SLUICE_RETURN_IF_ERROR(CheckUnderWay());
  if (finished_) {
    return Status::InvalidArgument("the ingestion was to be committed: no more can be added");
  }
  SubtableImpl* target = nullptr;
  SLUICE_RETURN_IF_ERROR(check_(&target, subtable, key, value));
  std::unique_ptr<Part>& part = parts_[target->id()];
  if (part == nullptr) {
    part = std::make_unique<Part>(&db_, target);
  }
  if (!part->empty && key <= part->last_key) {
    return Status::InvalidArgument(
        fmt::format("ingested keys must ascend: in sub-table '{}' one is not above the one before",
                    target->name()));
  }
  failed_ = NoThrow(
      [&] { return part->packer.Add(key, MakeTrailer(sequence_, RecordType::kValue), value); });
  part->empty = false;
  part->last_key.assign(key);
  part->user_bytes += key.size() + value.size();
  return failed_;
}

Status IngestionImpl::FinishExtents() {
  for (const auto& [id, part] : parts_) {
    if (part->empty) {
      continue;
    }
    IngestedRun run{part->subtable, {}};
    SLUICE_RETURN_IF_ERROR(part->packer.Finish());
    SLUICE_RETURN_IF_ERROR(part->writer.Finish(&run.extents));
    bytes_ += part->writer.bytes();
    user_bytes_ += part->user_bytes;
    runs_.push_back(std::move(run));
  }
  return {};
}

Status IngestionImpl::Commit() {
  SLUICE_RETURN_IF_ERROR(CheckUnderWay());
  if (!std::exchange(finished_, true)) {
    Status status = NoThrow([&] { return FinishExtents(); });
    parts_.clear();
    if (!status.ok()) {
      // What was in memory is gone: to call again would lead to nothing.
      failed_ = status.IsNoSpace()
                    ? Status::InvalidArgument("an ingestion that found no space is to begin again")
                    : status;
      return status;
    }
  }
  if (!runs_.empty()) {
    SLUICE_RETURN_IF_ERROR(install_(runs_, sequence_));
    db_.counters.ingestion_bytes.fetch_add(bytes_);
    db_.counters.user_bytes.fetch_add(user_bytes_);
    db_.GrowReserve();
    runs_.clear();
  }
  committed_ = true;
  End();
  return {};
}

void IngestionImpl::End() {
  if (!std::exchange(ended_, true)) {
    db_.ingesting.store(false);
  }
}

}  // namespace sluice
