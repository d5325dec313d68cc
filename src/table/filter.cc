#include "table/filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace sluice {

namespace {

constexpr uint8_t kFilterBaseLg = 11;
constexpr int kMostProbes = 30;

uint32_t ProbeStep(uint32_t hash) { return hash >> 17 | hash << 15; }

// Bytes of Bloom bits for `keys` keys. Few keys would make a filter that matches too much.
size_t BloomBytes(uint64_t keys, int bits_per_key) {
  return (std::max<uint64_t>(keys * bits_per_key, 64) + 7) / 8;
}

// Divides by one number over and over, with two multiplications (Lemire, Kaser, Kurz: Faster
// remainder by direct computation, 2019; exact for all 32-bit numbers).
class Remainder {
 public:
  explicit Remainder(uint32_t divisor) : inverse_(UINT64_MAX / divisor + 1), divisor_(divisor) {}
  uint32_t Of(uint32_t n) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<uint32_t>(Wide{inverse_ * n} * divisor_ >> 64);
  }

 private:
  const uint64_t inverse_;
  const uint32_t divisor_;
};

}  // namespace

// LevelDB rounds 0.69 (ln 2) times the bits per key down.
int BloomProbes(int bits_per_key) {
  return std::clamp(static_cast<int>(bits_per_key * 0.69), 1, kMostProbes);
}

size_t BloomFilterBytes(uint64_t keys, int bits_per_key) {
  return BloomBytes(keys, bits_per_key) + 1;
}

bool IsBloomFilterOf(std::string_view filter, uint64_t keys, int bits_per_key) {
  return filter.size() == BloomFilterBytes(keys, bits_per_key) &&
         filter.back() == static_cast<char>(BloomProbes(bits_per_key));
}

void AppendBloomFilter(const std::vector<uint32_t>& hashes, int bits_per_key, std::string* out) {
  const size_t bytes = BloomBytes(hashes.size(), bits_per_key);
  const auto bits = static_cast<uint32_t>(8 * bytes);
  const int probes = BloomProbes(bits_per_key);
  const size_t start = out->size();
  out->resize(start + bytes);
  out->push_back(static_cast<char>(probes));
  char* const array = out->data() + start;
  const Remainder remainder(bits);
  for (uint32_t h : hashes) {
    const uint32_t step = ProbeStep(h);
    for (int i = 0; i < probes; ++i) {
      const uint32_t bit = remainder.Of(h);
      array[bit / 8] = static_cast<char>(array[bit / 8] | 1 << (bit % 8));
      h += step;
    }
  }
}

bool BloomMayMatch(std::string_view filter, uint32_t hash) {
  if (filter.size() < 2) {
    return false;
  }
  const auto bits = static_cast<uint32_t>(8 * (filter.size() - 1));
  const auto probes = static_cast<uint8_t>(filter.back());
  if (probes > kMostProbes) {
    return true;  // reserved by LevelDB for other encodings
  }
  const uint32_t step = ProbeStep(hash);
  for (int i = 0; i < probes; ++i) {
    const uint32_t bit = hash % bits;
    if ((filter[bit / 8] & 1 << (bit % 8)) == 0) {
      return false;
    }
    hash += step;
  }
  return true;
}

void FilterBlockBuilder::StartBlock(uint64_t offset) {
  assert(offset >> kFilterBaseLg >= offsets_.size());
  while (offsets_.size() < offset >> kFilterBaseLg) {
    EndFilter();
  }
}

void FilterBlockBuilder::EndFilter() {
  offsets_.push_back(static_cast<uint32_t>(block_.size()));
  if (!hashes_.empty()) {
    AppendBloomFilter(hashes_, bits_per_key_, &block_);
    hashes_.clear();
  }
}

std::string_view FilterBlockBuilder::Finish() {
  if (!hashes_.empty()) {
    EndFilter();
  }
  const auto filters_end = static_cast<uint32_t>(block_.size());
  for (const uint32_t offset : offsets_) {
    PutFixed32(&block_, offset);
  }
  PutFixed32(&block_, filters_end);
  block_.push_back(static_cast<char>(kFilterBaseLg));
  return block_;
}

Status FilterBlock::Parse(std::string_view contents, FilterBlock* block) {
  if (contents.size() < 5) {
    return Status::Corruption(
        fmt::format("filter block has {} bytes, needs 5 at least", contents.size()));
  }
  const size_t offsets_end = contents.size() - 5;
  const uint32_t filters_end = DecodeFixed32(contents.data() + offsets_end);
  block->base_lg_ = static_cast<uint8_t>(contents.back());
  if (block->base_lg_ >= 64) {
    return Status::Corruption(fmt::format("filter block has base {}", block->base_lg_));
  }
  if (filters_end > offsets_end || (offsets_end - filters_end) % 4 != 0) {
    return Status::Corruption(fmt::format(
        "filter offsets stand from byte {} to {} of the filter block", filters_end, offsets_end));
  }
  // The word behind the last offset is the end of the last filter, so count_ + 1 may be read.
  block->count_ = static_cast<uint32_t>((offsets_end - filters_end) / 4);
  block->filters_ = contents.substr(0, filters_end);
  for (uint32_t i = 0, last = 0; i <= block->count_; ++i) {
    const uint32_t offset = DecodeFixed32(contents.data() + filters_end + 4 * size_t{i});
    if (offset < last || offset > filters_end) {
      return Status::Corruption(
          fmt::format("filter {} starts at byte {} of the filter block", i, offset));
    }
    last = offset;
  }
  return {};
}

std::string_view FilterBlock::FilterOf(uint64_t offset) const {
  const uint64_t i = IndexOf(offset);
  if (i >= count_) {
    return {};
  }
  const char* const offsets = filters_.data() + filters_.size() + 4 * i;
  const uint32_t start = DecodeFixed32(offsets);
  return filters_.substr(start, DecodeFixed32(offsets + 4) - start);
}

bool FilterBlock::KeyMayMatch(uint64_t offset, std::string_view user_key) const {
  // A block past the last filter is one that LevelDB, too, takes to match.
  return IndexOf(offset) >= count_ || BloomMayMatch(FilterOf(offset), BloomHash(user_key));
}

void BloomBitsEstimate::Add(std::string_view filter, uint64_t keys) {
  if (filter.size() < 2 || keys == 0) {
    return;
  }
  const auto explains = [&](int bits) { return IsBloomFilterOf(filter, keys, bits); };
  // Both size and probes grow with the bits per key: what explains the filter is one interval.
  while (low_ <= high_ && !explains(low_)) {
    ++low_;
  }
  while (low_ <= high_ && !explains(high_)) {
    --high_;
  }
}

}  // namespace sluice
