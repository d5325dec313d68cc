#include "bench/records.h"

#include <algorithm>

namespace sluice::bench {

namespace {

constexpr size_t kPieceBytes = 100;
constexpr size_t kPoolBytes = size_t{1} << 20;

}  // namespace

ValueSource::ValueSource(size_t min_bytes, size_t max_bytes, uint64_t seed)
    : min_(min_bytes), max_(max_bytes), random_(seed) {
  pool_.reserve(std::max(kPoolBytes, max_) + kPieceBytes);
  while (pool_.size() < std::max(kPoolBytes, max_)) {
    const size_t begin = pool_.size();
    for (size_t i = 0; i < kPieceBytes / 2; ++i) {
      pool_ += static_cast<char>(' ' + random_.Below(95));
    }
    pool_.append(pool_, begin, kPieceBytes / 2);
  }
}

std::string_view ValueSource::Next() {
  const size_t bytes = min_ == max_ ? min_ : min_ + random_.Below(max_ - min_ + 1);
  if (at_ + bytes > pool_.size()) {
    at_ = 0;
  }
  const std::string_view value(pool_.data() + at_, bytes);
  at_ += bytes;
  return value;
}

}  // namespace sluice::bench
