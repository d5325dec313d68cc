#include "tree/extent_builder.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "table/block.h"
#include "table/filter.h"
#include "table/stored_block.h"
#include "util/check.h"

namespace sluice {

Status ExtentBuilder::AddBlock(std::string_view contents, std::string_view stored,
                               std::string_view filter) {
  if (WantsDictionary() && tail_ == nullptr && extents_until_sampling_ == 0) {
    dictionary_.reset();
    return HoldBack(contents, filter);
  }
  return StoreBlock(contents, stored, filter);
}

Status ExtentBuilder::HoldBack(std::string_view contents, std::string_view filter) {
  Block block;
  SLUICE_RETURN_IF_ERROR(Block::Parse(contents, &block));
  // What else may be wrong with it is found when it is stored.
  SLUICE_RETURN_IF_ERROR(
      sample_keys_.Scan(block, [&](std::string_view, bool) { ++held_back_entries_; }));
  samples_.append(contents);
  sample_sizes_.push_back(contents.size());
  sample_filters_.emplace_back(filter);
  const bool enough = samples_.size() >= kSampleRatio * format_.codec.dictionary_bytes;
  return enough ? EndSampling() : Status();
}

Status ExtentBuilder::EndSampling() {
  // With fewer samples, those of about one small extent, a dictionary would not pay.
  extents_until_sampling_ = 1;
  if (samples_.size() >= kLeastSampleRatio * format_.codec.dictionary_bytes) {
    dictionary_ = ZstdDictionary::Train(samples_, sample_sizes_, format_.codec);
    extents_until_sampling_ = kExtentsOfADictionary;
  }
  const std::string samples = std::exchange(samples_, {});
  const std::vector<size_t> sizes = std::exchange(sample_sizes_, {});
  const std::vector<std::string> filters = std::exchange(sample_filters_, {});
  held_back_entries_ = 0;
  size_t at = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    SLUICE_RETURN_IF_ERROR(
        AddBlock(std::string_view(samples).substr(at, sizes[i]), {}, filters[i]));
    at += sizes[i];
  }
  return {};
}

Status ExtentBuilder::CountBlock(const Block& block, std::string_view filter) {
  Extent& extent = built_.extent;
  const uint64_t before = entries_;
  Status values;
  const auto visit = [&](std::string_view key, bool shadowed, std::string_view value) {
    // Each block has a filter of its own.
    if (filter.empty() && (!shadowed || entries_ == before)) {
      tail_->AddKey(UserKey(key));
    }
    extent.Count(key, shadowed);
    ++entries_;
    if (IsValueReference(Trailer(key)) && values.ok()) [[unlikely]] {
      values = shares_.Add(value, find_values_);
    }
  };
  SLUICE_RETURN_IF_ERROR(keys_.Scan(block, visit));
  SLUICE_RETURN_IF_ERROR(values);
  if (!filter.empty() && (!IsBloomFilterOf(filter, entries_ - before, format_.bloom_bits_per_key) ||
                          !BloomMayMatch(filter, BloomHash(UserKey(keys_.last_key()))))) {
    return Status::Corruption("a block with the filter of another");
  }
  return {};
}

Status ExtentBuilder::StoreBlock(std::string_view contents, std::string_view stored,
                                 std::string_view filter) {
  Block block;
  std::string_view first_key;
  SLUICE_RETURN_IF_ERROR(Block::Parse(contents, &block));
  SLUICE_RETURN_IF_ERROR(KeyScanner::FirstKey(block, &first_key));
  // Stored bytes decide how full an extent is: if extents were cut by their bytes before
  // compression, all of a database that compresses well would count as small.
  std::string_view as_stored = stored;
  if (stored.empty() && format_.codec.type != Compression::kNone) {
    stored_.clear();
    AppendStoredBlock(contents, format_.codec, &scratch_, &stored_, dictionary_.get());
    as_stored = stored_;
  }
  const uint64_t stored_bytes =
      as_stored.empty() ? contents.size() + kBlockTrailerBytes : as_stored.size();
  const std::string_view last_key = keys_.last_key();
  if (!last_key.empty() && CompareInternalKeys(last_key, first_key) >= 0) {
    return Status::Corruption("blocks out of order");
  }
  const uint64_t end = built_.table.size() + stored_bytes;
  const size_t dictionary_bytes = dictionary_ != nullptr ? dictionary_->bytes().size() : 0;
  if (tail_ != nullptr && end + tail_->BytesAt(end, dictionary_bytes) > format_.extent_bytes) {
    built_.extent.full = true;
    SLUICE_RETURN_IF_ERROR(FinishExtent());
    if (WantsDictionary()) {
      return AddBlock(contents, stored, filter);  // the next extent may have another
    }
  }
  if (tail_ == nullptr) {
    tail_ =
        std::make_unique<ExtentTail>(format_.bloom_bits_per_key, format_.prefix_bytes, properties_);
    built_.table.reserve(format_.extent_bytes);
    built_.extent.smallest.assign(first_key);
  }
  BlockHandle handle{.offset = built_.table.size()};
  SLUICE_RETURN_IF_ERROR(CountBlock(block, filter));
  handle.size = stored_bytes - kBlockTrailerBytes;
  if (!as_stored.empty()) {
    built_.table += as_stored;
  } else {
    AppendStoredBlock(contents, {}, &scratch_, &built_.table);
  }
  tail_->EndBlock(handle, keys_.last_key(), filter);
  return {};
}

Status ExtentBuilder::EndExtent() {
  while (!sample_sizes_.empty()) {
    SLUICE_RETURN_IF_ERROR(EndSampling());
  }
  return tail_ != nullptr ? FinishExtent() : Status();
}

Status ExtentBuilder::FinishExtent() {
  tail_->Finish(format_.codec, dictionary_ != nullptr ? dictionary_->bytes() : std::string_view(),
                &built_.table);
  built_.dictionary = dictionary_;
  tail_.reset();
  built_.extent.largest = keys_.last_key();
  shares_.MoveTo(&built_.extent);
  // A table has 1 GiB at most, or a single block that ends with a record of 1 GiB at most.
  SLUICE_CHECK(built_.table.size() <= std::numeric_limits<uint32_t>::max());
  built_.extent.bytes = static_cast<uint32_t>(built_.table.size());
  const Status status = sink_(&built_);
  built_.extent = {};
  built_.table.clear();
  extents_until_sampling_ -= extents_until_sampling_ > 0 ? 1 : 0;
  return status;
}

}  // namespace sluice
