#include "tree/extent_builder.h"

#include <fmt/format.h>

#include <utility>

#include "table/block.h"
#include "table/stored_block.h"

namespace sluice {

namespace {

// Of metaindex, footer and trailers.
constexpr uint64_t kFixedTailBytes = 160;

}  // namespace

uint64_t ExtentBuilder::TailBytes() const {
  return index_.bytes() + built_.extent.entries * format_.bloom_bits_per_key / 8 + kFixedTailBytes +
         built_.table.size() / 512;  // filter offsets
}

Status ExtentBuilder::AddBlock(std::string_view contents) {
  Block block;
  SLUICE_RETURN_IF_ERROR(Block::Parse(contents, &block));
  BlockIterator at(block);
  at.SeekToFirst();
  if (!at.Valid()) {
    SLUICE_RETURN_IF_ERROR(at.status());
    return Status::Corruption("data block without entries");
  }
  if (!last_key_.empty() && CompareInternalKeys(last_key_, at.key()) >= 0) {
    return Status::Corruption("blocks out of order");
  }
  if (tail_ != nullptr &&
      built_.table.size() + contents.size() + kBlockTrailerBytes + TailBytes() >
          format_.extent_bytes &&
      UserKey(last_key_) != UserKey(at.key())) {
    SLUICE_RETURN_IF_ERROR(EndExtent());
  }
  if (tail_ == nullptr) {
    tail_ = std::make_unique<TableTail>(format_.bloom_bits_per_key);
    built_.table.reserve(format_.extent_bytes);
    built_.extent.smallest.assign(at.key());
  }
  BlockHandle handle{.offset = built_.table.size()};
  tail_->StartBlock(handle.offset);
  for (bool first = true; at.Valid(); at.Next(), first = false) {
    const std::string_view user_key = UserKey(at.key());
    const bool shadowed = !last_key_.empty() && user_key == UserKey(last_key_);
    if (!shadowed || first) {
      tail_->AddKey(user_key);  // each block has a filter of its own
    }
    last_key_.assign(at.key());
    built_.extent.shadowed += shadowed;
    ++built_.extent.entries;
    built_.extent.tombstones +=
        TrailerType(Trailer(at.key())) == static_cast<uint8_t>(RecordType::kDeletion);
  }
  SLUICE_RETURN_IF_ERROR(at.status());
  handle.size = AppendStoredBlock(contents, format_.compression, &scratch_, &built_.table);
  std::string value;
  handle.AppendTo(&value);
  index_.Add(last_key_, value);
  return {};
}

Status ExtentBuilder::EndExtent() {
  if (tail_ == nullptr) {
    return {};
  }
  tail_->Finish(built_.table.size(), index_.Finish(), format_.compression, &built_.table);
  tail_.reset();
  index_.Reset();
  built_.extent.largest = last_key_;
  built_.extent.bytes = static_cast<uint32_t>(built_.table.size());
  return sink_(std::exchange(built_, {}));
}

}  // namespace sluice
