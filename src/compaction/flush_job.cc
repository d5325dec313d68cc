#include "compaction/flush_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

Status FlushMemtables(const std::vector<MemtablePtr>& memtables,
                      const std::vector<SequenceNumber>& snapshots, FlushRanges* ranges,
                      const RunFormat& format, ExtentWriter* writer, FlushResult* result) {
  std::vector<Memtable::Iterator> ways;
  for (const MemtablePtr& memtable : memtables) {
    result->input_records += memtable->table.records();
    ways.emplace_back(&memtable->table).SeekToFirst();
  }
  RecordPacker out(format, writer);
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
      uint64_t written = 0;
      for (const Memtable::Version* version = way.VersionAt(kMaxSequence);
           version != nullptr && unserved > 0;) {
        if (ranges != nullptr && version->type() == RecordType::kValue) {
          SLUICE_RETURN_IF_ERROR(add_deletion(version->sequence()));
        }
        above = version->sequence();
        if (serves(version->sequence())) {
          SLUICE_RETURN_IF_ERROR(out.Add(user_key, version->trailer(), version->value()));
          ++written;
        }
        version = version->older();
        if (version != nullptr && ranges == nullptr && unserved > 0 &&
            unserved < snapshots.size()) {
          version = version->At(snapshots[unserved - 1]);
        }
      }
      result->output_records += written;
      result->shadowed += way.versions() - written;
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
