// DB::ApproximateSize: what a range of keys holds, from metadata and, where that says too little,
// from heads of extents.

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "db/db_impl.h"
#include "tree/extent_reader.h"

namespace sluice {

namespace {

// Heads are looked at if extents that the range ends in have more than one in so many bytes.
constexpr double kMetadataAlone = 10;

// The bytes that keys consist of behind what they have in common.
struct Digits {
  uint8_t least = 0;
  double base = 256;

  // A fraction; those of lesser keys are less.
  double NumberOf(std::string_view key) const {
    constexpr size_t kMost = 16;  // more than a double tells apart
    double number = 0;
    double unit = 1;
    for (size_t i = 0; i < std::min(key.size(), kMost); ++i) {
      unit /= base;
      number += unit * (static_cast<uint8_t>(key[i]) - least);
    }
    return number;
  }
};

bool IsDecimal(std::string_view key) {
  return std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Which share of the keys from `low` to `high` comes before `key`, if they are spread evenly.
double ShareBefore(std::string_view key, std::string_view low, std::string_view high) {
  if (key <= low) {
    return 0;
  }
  if (key > high) {
    return 1;
  }
  const auto common = std::mismatch(low.begin(), low.end(), high.begin(), high.end()).first;
  const auto shared = static_cast<size_t>(common - low.begin());
  key.remove_prefix(shared);
  low.remove_prefix(shared);
  high.remove_prefix(shared);
  const Digits digits =
      IsDecimal(key) && IsDecimal(low) && IsDecimal(high) ? Digits{'0', 10} : Digits{};
  const double first = digits.NumberOf(low);
  const double last = digits.NumberOf(high);
  return last <= first ? 0.5
                       : std::clamp((digits.NumberOf(key) - first) / (last - first), 0.0, 1.0);
}

std::string BeforeAllOf(std::string_view user_key) {
  std::string key(user_key);
  PutFixed64(&key, FirstTrailer(kMaxSequence));
  return key;
}

class Estimate {
 public:
  // No bound that is empty.
  Estimate(std::string_view begin, std::string_view end, ExtentReader* reader)
      : begin_(begin), end_(end), reader_(*reader) {}

  void AddRun(const RunIndex& run) {
    RunIndex::Iterator at(run);
    at.Seek(BeforeAllOf(begin_));
    while (at.Valid() && IsBeforeEnd(at.extent()->smallest)) {
      const Extent& extent = *at.extent();
      const bool begins_within = UserKey(extent.smallest) >= begin_;
      if (at.summary() != nullptr && begins_within) {
        // If the next one begins before the end, all keys of this one are before it.
        RunIndex::Iterator next = at;
        next.NextSummary();
        if (end_.empty() || (next.Valid() && IsBeforeEnd(next.extent()->smallest))) {
          Add(*at.summary(), 1);
          at = next;
          continue;
        }
      }
      if (begins_within && IsBeforeEnd(extent.largest)) {
        Add({.weight = extent.weight(), .entries = extent.entries, .tombstones = extent.tombstones},
            1);
      } else {
        parts_.push_back(at.extent());
        parts_weight_ += extent.weight();
      }
      at.Next();
    }
  }
  // To be called once, after all runs.
  void AddParts(bool heads) {
    heads = heads && static_cast<double>(parts_weight_) * kMetadataAlone > bytes_;
    for (const ExtentPtr& extent : parts_) {
      double share = 0;
      if (!heads || !ShareByHead(*extent, &share).ok()) {
        share = ShareByBounds(*extent);
      }
      Add({.weight = extent->weight(),
           .entries = extent->entries,
           .tombstones = extent->tombstones},
          share);
    }
    parts_.clear();
    parts_weight_ = 0;
  }
  void AddMemtable(const Memtable& memtable) {
    const Memtable::RangeEstimate some = memtable.Estimate(begin_, end_);
    records_ += static_cast<double>(some.values) - static_cast<double>(some.tombstones);
    bytes_ += static_cast<double>(some.bytes);
  }
  RangeSize result() const {
    return {.records = static_cast<uint64_t>(std::llround(std::max(records_, 0.0))),
            .bytes = static_cast<uint64_t>(std::llround(bytes_))};
  }

 private:
  bool IsBeforeEnd(std::string_view internal_key) const {
    return end_.empty() || UserKey(internal_key) < end_;
  }
  void Add(const RunIndex::Summary& extents, double share) {
    // A tombstone is no record itself, and has one less below it.
    records_ += share * (static_cast<double>(extents.entries) -
                         2 * static_cast<double>(extents.tombstones));
    bytes_ += share * static_cast<double>(extents.weight);
  }
  double ShareByBounds(const Extent& extent) const {
    const std::string_view low = UserKey(extent.smallest);
    const std::string_view high = UserKey(extent.largest);
    return std::max(
        0.0, (end_.empty() ? 1 : ShareBefore(end_, low, high)) - ShareBefore(begin_, low, high));
  }
  Status ShareByHead(const Extent& extent, double* share) {
    ExtentReader::BlockSpan span;
    const auto find = [&](std::string_view user_key, double* place) -> Status {
      SLUICE_RETURN_IF_ERROR(reader_.FindSpan(extent, BeforeAllOf(user_key), &span));
      *place = static_cast<double>(span.begin) + ShareBefore(user_key, span.low, span.high) *
                                                     static_cast<double>(span.end - span.begin);
      return {};
    };
    double first = 0;
    double last = 0;
    const bool begins_before = UserKey(extent.smallest) < begin_;
    if (begins_before || extent.sliced) {
      SLUICE_RETURN_IF_ERROR(find(begins_before ? begin_ : UserKey(extent.smallest), &first));
      last = static_cast<double>(span.all);
    }
    const bool ends_behind = !IsBeforeEnd(extent.largest);
    if (ends_behind || extent.sliced) {
      SLUICE_RETURN_IF_ERROR(find(ends_behind ? end_ : UserKey(extent.largest), &last));
    }
    const double all = static_cast<double>(extent.sliced ? extent.slice_bytes : span.all);
    *share = all <= 0 ? 0 : std::clamp((last - first) / all, 0.0, 1.0);
    return {};
  }

  const std::string_view begin_;
  const std::string_view end_;
  ExtentReader& reader_;
  double records_ = 0;
  double bytes_ = 0;
  // Extents that the range begins or ends in.
  std::vector<ExtentPtr> parts_;
  uint64_t parts_weight_ = 0;
};

}  // namespace

RangeSize DBImpl::ApproximateSize(Subtable* subtable, std::string_view begin,
                                  std::string_view end) {
  if (!end.empty() && begin >= end) {
    return {};
  }
  const std::shared_ptr<const Version> version = Resolve(subtable)->PinVersion();
  Estimate estimate(begin, end, &db_.reader);
  for (const std::vector<Version::Run>& level : version->levels) {
    for (const Version::Run& run : level) {
      estimate.AddRun(run.index);
    }
  }
  estimate.AddParts(/*heads=*/true);
  for (const RunIndex& aside : version->aside) {
    estimate.AddRun(aside);
  }
  estimate.AddParts(/*heads=*/false);
  estimate.AddMemtable(version->active->table);
  for (const MemtablePtr& memtable : version->waiting) {
    estimate.AddMemtable(memtable->table);
  }
  return estimate.result();
}

}  // namespace sluice
