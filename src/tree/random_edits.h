// Random edits of a sub-table's metadata, for tests: flushes, merges of runs and merges into the last
// level, of random ranges of keys, until there are some thousand extents; then the last level goes, a
// range after the other.

#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tree/metadata.h"
#include "tree/testing.h"

namespace sluice {

class RandomEdits {
 public:
  static constexpr size_t kEdits = 400;

  // All extents get this place.
  explicit RandomEdits(uint64_t seed, std::shared_ptr<ExtentPlace> place = nullptr)
      : random_(seed), place_(std::move(place)) {}

  MetadataEdit Next(uint32_t id, const Metadata::Subtable& subtable) {
    edit_ = {};
    id_ = id;
    begin_ = Below(4) == 0 ? 0 : Below(kKeys);
    end_ = Below(4) == 0 ? kKeys : begin_ + 1 + Below(kKeys - begin_);
    const bool has_last = subtable.runs.contains(kLast);
    const uint64_t kind = Below(4);
    if (++edits_ > kEdits * 3 / 4) {
      if (has_last) {
        Take(kLast, subtable);
      }
    } else if (kind == 0) {
      Add({0, ++number_}, 1 + Below(30));
    } else if (kind == 1) {
      TakeSome(0, subtable);
      Add({1, ++number_}, 1 + Below(300));
    } else {
      TakeSome(1, subtable);
      if (has_last) {
        Take(kLast, subtable);
      }
      Add(kLast, 1 + Below(kind == 2 ? 1000 : 20));
    }
    return edit_;
  }

 private:
  static constexpr RunId kLast{kLastLevel, 0};
  static constexpr uint64_t kKeys = 10'000'000;
  static constexpr uint32_t kMostBytes = 400 << 10;

  uint64_t Below(uint64_t end) { return random_() % end; }
  static std::string Text(uint64_t key) { return fmt::format("{:08}", key); }
  static uint64_t KeyOf(const std::string& internal_key) {
    return std::stoull(std::string(UserKey(internal_key)));
  }

  // What lies within the range goes from a run; of what reaches into it, slices stay.
  void Take(const RunId& run, const Metadata::Subtable& subtable) {
    RunIndex::Iterator at(subtable.runs.at(run));
    for (at.SeekToFirst(); at.Valid(); at.Next()) {
      const Extent& extent = *at.extent();
      const uint64_t first = KeyOf(extent.smallest);
      const uint64_t last = KeyOf(extent.largest);
      if (last < begin_ || first >= end_) {
        continue;
      }
      edit_.removed.push_back({id_, run, extent.number, extent.smallest});
      if (first < begin_) {
        AddSlice(run, extent, first, begin_ - 1);
      }
      if (last >= end_) {
        AddSlice(run, extent, end_, last);
      }
    }
  }
  void TakeSome(uint32_t level, const Metadata::Subtable& subtable) {
    for (const auto& [run, index] : subtable.runs) {
      if (run.level == level && Below(2) == 0) {
        Take(run, subtable);
      }
    }
  }
  void AddSlice(const RunId& run, const Extent& of, uint64_t first, uint64_t last) {
    Extent slice = of;
    slice.table_largest = of.last_of_table();
    slice.smallest = InternalKey(Text(first), 9);
    slice.largest = InternalKey(Text(last), 8);
    slice.sliced = true;
    slice.slice_bytes = 1 + static_cast<uint32_t>(Below(of.live_bytes()));
    slice.entries = 1 + Below(of.entries);
    slice.tombstones = std::min(of.tombstones, slice.entries);
    edit_.added.push_back({id_, run, slice});
  }
  void Add(const RunId& run, uint64_t extents) {
    const uint64_t step = std::max<uint64_t>(2, (end_ - begin_) / extents);
    for (uint64_t at = begin_; at + step <= end_; at += step) {
      Extent extent{.number = ++number_,
                    .bytes = 1 + static_cast<uint32_t>(Below(kMostBytes)),
                    .smallest = InternalKey(Text(at), 9),
                    .largest = InternalKey(Text(at + 1 + Below(step - 1)), 8),
                    .entries = 1 + Below(2000),
                    .place = place_};
      extent.tombstones = Below(3) == 0 ? Below(extent.entries + 1) : 0;
      edit_.added.push_back({id_, run, extent});
    }
  }

  std::mt19937_64 random_;
  const std::shared_ptr<ExtentPlace> place_;
  size_t edits_ = 0;
  uint64_t number_ = 0;
  // Of the edit that is made:
  MetadataEdit edit_;
  uint32_t id_ = 0;
  uint64_t begin_ = 0;  // the range of keys
  uint64_t end_ = 0;
};

}  // namespace sluice
