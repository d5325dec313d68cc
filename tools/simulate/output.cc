#include "simulate/output.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice::simulate {

void Output::BeginExtent() {
  spans_.clear();
  records_ = 0;
  // Keys lie as chance has it, so the interval that has so many is longer or shorter than on
  // average. Without that, runs of the same size would consist of the same intervals.
  const auto records = static_cast<double>(shape_.extent_records());
  full_records_ =
      std::max(1.0, records + std::sqrt(records) * std::normal_distribution<double>()(random_));
}

void Output::End(bool full) {
  if (records_ > 0) {
    extents_.push_back(tables_.Make(next_number_++, std::move(spans_), end_, full));
    bytes_ += extents_.back().bytes;
  }
  BeginExtent();
}

void Output::Add(Key begin, Key end, const Written& written) {
  while (begin < end) {
    if (spans_.empty() || begin != end_ || spans_.back().written != written) {
      if (!spans_.empty() && begin != end_) {
        spans_.push_back({end_, {}});
      }
      spans_.push_back({begin, written});
    }
    const double records = tables_.Records(begin, end, written);
    const double room = full_records_ - records_;
    if (records <= room) {
      records_ += records;
      end_ = end;
      return;
    }
    const auto length = static_cast<Key>(static_cast<double>(end - begin) * room / records);
    end_ = begin + std::clamp<Key>(length, 1, end - begin);
    records_ = full_records_;
    End(/*full=*/true);
    begin = end_;
  }
}

}  // namespace sluice::simulate
