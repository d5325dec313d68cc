#include "compaction/flush_ranges.h"

#include <algorithm>
#include <utility>

#include "tree/version_iterator.h"

namespace sluice {

namespace {

// What FlushRanges::to_walk_ says of a stretch of keys.
constexpr SequenceNumber kWalk = 1;
constexpr SequenceNumber kCut = 2;

}  // namespace

FlushRanges::FlushRanges(std::shared_ptr<const Version> version, ExtentReader* reader,
                         uint64_t extent_bytes, SequenceNumber oldest_snapshot)
    : version_(std::move(version)),
      reader_(reader),
      extent_bytes_(extent_bytes),
      few_keys_(extent_bytes / kBytesOfAKey),
      oldest_snapshot_(oldest_snapshot) {}

uint64_t FlushRanges::KeysInRuns(std::string_view begin, std::string_view end) {
  std::string from(begin);
  PutFixed64(&from, FirstTrailer(kMaxSequence));
  uint64_t within = 0;   // bytes of extents that a cut leaves out as a whole
  uint64_t entered = 0;  // bytes of those that it reads
  // Where there are many records in extents within, the walk is spared.
  const auto has_many = [&](const RunIndex& run) {
    uint64_t records = 0;
    RunIndex::Iterator at(run);
    for (at.Seek(from); at.Valid() && records <= few_keys_; at.Next()) {
      const Extent& extent = *at.extent();
      if (!end.empty() && UserKey(extent.smallest) >= end) {
        break;
      }
      if (UserKey(extent.smallest) >= begin && (end.empty() || UserKey(extent.largest) < end)) {
        within += extent.live_bytes();
        records += extent.entries;
      } else {
        entered += extent.live_bytes();
      }
    }
    return records > few_keys_;
  };
  for (const std::vector<Version::Run>& level : version_->levels) {
    for (const Version::Run& run : level) {
      if (has_many(run.index)) {
        return few_keys_ + 1;
      }
    }
  }
  if (within >= std::max(extent_bytes_, entered)) {
    return few_keys_ + 1;
  }
  if (runs_ == nullptr) {
    runs_ = NewIteratorOverRuns(version_, reader_);
  }
  uint64_t keys = 0;
  for (runs_->Seek(begin);
       runs_->Valid() && keys <= few_keys_ && (end.empty() || runs_->key() < end); runs_->Next()) {
    ++keys;
  }
  if (!runs_->status().ok()) {
    // What cannot be read can be cut, if it lies within as a whole.
    runs_.reset();
    return few_keys_ + 1;
  }
  return keys;
}

void FlushRanges::Plan() {
  for (auto memtable = version_->waiting.rbegin(); memtable != version_->waiting.rend();
       ++memtable) {
    if ((*memtable)->table.has_range_deletions()) {
      all_.Add((*memtable)->table.range_deletions());
    }
  }
  all_.ForEach([&](const RangeDeletion& deletion) { deletions_.push_back(deletion); });
  std::sort(deletions_.begin(), deletions_.end(),
            [](const auto& a, const auto& b) { return a.begin < b.begin; });
  for (const RangeDeletion& deletion : deletions_) {
    planned_.push_back({&deletion, false});
  }
  const auto is_old = [&](const Planned& planned) {
    return planned.deletion->sequence <= oldest_snapshot_;
  };
  std::optional<std::string_view> walks_from;
  const auto walk = [&](const std::string& begin, const std::string& end) {
    walks_from = walks_from ? std::min<std::string_view>(*walks_from, begin) : begin;
    to_walk_.Add({begin, end, kWalk});
  };
  // Those that all readers see, and that touch each other, are dealt with as one.
  for (auto first = planned_.begin(); first != planned_.end();) {
    if (!is_old(*first)) {
      walk(first->deletion->begin, first->deletion->end);
      ++first;
      continue;
    }
    const std::string& begin = first->deletion->begin;
    std::string end = first->deletion->end;
    auto behind = first;
    for (; behind != planned_.end() && (end.empty() || behind->deletion->begin <= end); ++behind) {
      if (is_old(*behind) && !end.empty()) {
        end = behind->deletion->end.empty() ? std::string() : std::max(end, behind->deletion->end);
      }
    }
    const uint64_t keys = KeysInRuns(begin, end);
    for (auto at = first; at != behind; ++at) {
      if (is_old(*at)) {
        at->cut = keys > few_keys_;
      } else {
        walk(at->deletion->begin, at->deletion->end);
      }
    }
    if (keys > few_keys_) {
      cuts_.push_back({begin, end, version_->flushed + 1});
      to_walk_.Add({begin, end, kCut});
    } else if (keys > 0) {
      walk(begin, end);
    }
    first = behind;
  }
  if (walks_from) {
    runs_ = NewIteratorOverRuns(version_, reader_);
    runs_->Seek(*walks_from);
    walks_ = true;
    FindInRuns();
  }
}

void FlushRanges::FindInRuns() {
  while (runs_->Valid()) {
    const RangeDeletions::Span span = to_walk_.At(runs_->key(), kMaxSequence);
    if (span.sequence == kWalk) {
      return;
    }
    if (!span.has_end) {
      walks_ = false;
      return;
    }
    runs_->Seek(span.end);
  }
}

void FlushRanges::MoveTo(std::string_view user_key) {
  while (!ends_.empty() && ends_.top()->deletion->end <= user_key) {
    here_.erase(ends_.top()->deletion->sequence);
    ends_.pop();
  }
  for (; next_ < planned_.size() && planned_[next_].deletion->begin <= user_key; ++next_) {
    const Planned& planned = planned_[next_];
    if (!planned.deletion->Covers(user_key)) {
      continue;  // it ended between the last key and this one
    }
    here_[planned.deletion->sequence] = &planned;
    if (!planned.deletion->end.empty()) {
      ends_.push(&planned);
    }
  }
  in_runs_ = NextInRuns() == user_key;
}

std::optional<FlushRanges::Deletion> FlushRanges::DeletedBy(SequenceNumber sequence,
                                                            SequenceNumber above) const {
  const auto oldest = here_.upper_bound(sequence);
  if (oldest == here_.end() || oldest->first >= above || (sequence == 0 && !in_runs_)) {
    return std::nullopt;
  }
  // For nobody but a snapshot, and what the runs have, is a tombstone needed.
  return Deletion{oldest->first, oldest->second->cut,
                  !oldest->second->cut && (in_runs_ || oldest->first > oldest_snapshot_)};
}

void FlushRanges::MoveOn() {
  if (in_runs_) {
    runs_->Next();
    FindInRuns();
  }
}

}  // namespace sluice
