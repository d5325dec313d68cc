#include "compaction/flush_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "table/block_builder.h"

namespace sluice {

namespace {

// Takes records in order and cuts them into blocks.
class BlockStream {
 public:
  BlockStream(const FlushFormat& format, ExtentWriter* writer)
      : block_bytes_(format.block_bytes),
        block_(format.restart_interval),
        values_(format.values, writer),
        extents_(
            format.extent,
            [writer](BuiltExtent* built) { return writer->Write(built, writer->TakeNumber()); },
            [this](uint64_t number) { return values_.Find(number); }) {}

  Status Add(std::string_view user_key, uint64_t trailer, std::string_view value) {
    if (values_.Wants(value)) {
      SLUICE_RETURN_IF_ERROR(values_.Add(user_key, value, &reference_));
      trailer = MakeTrailer(TrailerSequence(trailer), kTypeValueReference);
      value = reference_;
    }
    key_.assign(user_key);
    PutFixed64(&key_, trailer);
    block_.Add(key_, value);
    return block_.bytes() >= block_bytes_ ? EndBlock() : Status();
  }
  Status Finish() {
    if (!block_.empty()) {
      SLUICE_RETURN_IF_ERROR(EndBlock());
    }
    SLUICE_RETURN_IF_ERROR(extents_.EndExtent());
    return values_.Finish();
  }
  uint64_t values_apart() const { return values_.values(); }

 private:
  Status EndBlock() {
    const Status status = extents_.AddBlock(block_.Finish());
    block_.Reset();
    return status;
  }

  const uint32_t block_bytes_;
  BlockBuilder block_;
  ValueWriter values_;
  ExtentBuilder extents_;
  std::string key_;
  std::string reference_;
};

}  // namespace

Status FlushMemtables(const std::vector<MemtablePtr>& memtables,
                      const std::vector<SequenceNumber>& snapshots, FlushRanges* ranges,
                      const FlushFormat& format, ExtentWriter* writer, FlushResult* result) {
  std::vector<Memtable::Iterator> ways;
  for (const MemtablePtr& memtable : memtables) {
    result->input_records += memtable->table.records();
    ways.emplace_back(&memtable->table).SeekToFirst();
  }
  BlockStream out(format, writer);
  for (;;) {
    std::optional<std::string_view> first;
    for (const Memtable::Iterator& way : ways) {
      if (way.Valid() && (!first || way.user_key() < *first)) {
        first = way.user_key();
      }
    }
    if (ranges != nullptr) {
      const std::optional<std::string_view> in_runs = ranges->NextInRuns();
      first = in_runs && (!first || *in_runs < *first) ? in_runs : first;
    }
    if (!first) {
      break;
    }
    const std::string_view user_key = *first;
    // All versions in a newer memtable are newer than all in an older one. How many of `snapshots`
    // have met no version of this key yet: those that see only older ones.
    size_t unserved = snapshots.size();
    const auto serves = [&](SequenceNumber sequence) {
      const auto end = snapshots.begin() + static_cast<ptrdiff_t>(unserved);
      const auto sees = std::lower_bound(snapshots.begin(), end, sequence);
      if (unserved == 0 || (sees == end && sequence <= snapshots.back())) {
        return false;
      }
      unserved = static_cast<size_t>(sees - snapshots.begin());
      return true;
    };
    SequenceNumber above = kMaxSequence;
    // A range deletion between the version `above` and this one is a version, too.
    const auto add_deletion = [&](SequenceNumber sequence) -> Status {
      const auto deletion = ranges->DeletedBy(sequence, above);
      if (!deletion || !serves(deletion->sequence) || !deletion->needs_tombstone) {
        return {};
      }
      ++result->tombstones;
      ++result->output_records;
      return out.Add(user_key, MakeTrailer(deletion->sequence, RecordType::kDeletion), {});
    };
    if (ranges != nullptr) {
      ranges->MoveTo(user_key);
    }
    for (Memtable::Iterator& way : ways) {
      if (!way.Valid() || way.user_key() != user_key) {
        continue;
      }
      for (const Memtable::Version* version = way.VersionAt(kMaxSequence); version != nullptr;
           version = version->older()) {
        if (ranges != nullptr && version->type() == RecordType::kValue) {
          SLUICE_RETURN_IF_ERROR(add_deletion(version->sequence()));
        }
        above = version->sequence();
        if (!serves(version->sequence())) {
          ++result->shadowed;
          continue;
        }
        SLUICE_RETURN_IF_ERROR(out.Add(user_key, version->trailer(), version->value()));
        ++result->output_records;
      }
      way.Next();
    }
    if (ranges != nullptr) {
      SLUICE_RETURN_IF_ERROR(add_deletion(0));
      ranges->MoveOn();
    }
  }
  if (ranges != nullptr) {
    SLUICE_RETURN_IF_ERROR(ranges->status());
  }
  if (result->input_records + result->tombstones != result->output_records + result->shadowed) {
    return Status::Corruption(fmt::format(
        "memtables of {} records and {} tombstones of range deletions gave {} and {} shadowed ones",
        result->input_records, result->tombstones, result->output_records, result->shadowed));
  }
  SLUICE_RETURN_IF_ERROR(out.Finish());
  result->values_apart = out.values_apart();
  return writer->Finish(&result->extents);
}

}  // namespace sluice
