#include "tree/extent_tail.h"

#include <utility>

#include "table/filter.h"
#include "table/stored_block.h"
#include "tree/extent.h"

namespace sluice {

namespace {

constexpr size_t kRestartBytes = 4;
// For a handle within an extent, whose offsets have 32 bits.
constexpr size_t kMaxHandleBytes = 2 * kMaxVarint32Bytes;
// For the place of a part in its entry of the top.
constexpr size_t kMaxPlaceBytes = kMaxHandleBytes + sizeof(uint32_t);
// The metaindex with its trailer and all names, and the footer.
constexpr uint64_t kMaxFixedEndBytes = 192;

// What an entry takes in a block, at most.
size_t MostEntryBytes(size_t key, size_t value) {
  return (key < 0x80 && value < 0x80 ? 3 : kMaxEntryHeaderBytes) + key + value + kRestartBytes;
}

uint64_t RoundUp(uint64_t n) { return (n + kPageBytes - 1) / kPageBytes * kPageBytes; }

// Where `bytes` begin that are to be in one page if they fit, from `at` on.
uint64_t InOnePage(uint64_t at, uint64_t bytes) {
  const uint64_t before = at % kPageBytes;
  return before == 0 || before + bytes <= kPageBytes ? at : at - before + kPageBytes;
}

}  // namespace

void ExtentTail::AddKey(std::string_view user_key) {
  if (bloom_bits_per_key_ == 0) {
    return;
  }
  hashes_.push_back(BloomHash(user_key));
  if (prefix_bytes_ > 0 && user_key.size() >= prefix_bytes_) {
    const std::string_view prefix = user_key.substr(0, prefix_bytes_);
    if (prefix != prefix_) {
      prefix_.assign(prefix);
      hashes_.push_back(BloomHash(prefix));
    }
  }
}

void ExtentTail::EndBlock(const BlockHandle& handle, std::string_view last_key,
                          std::string_view filter) {
  value_.clear();
  handle.AppendTo(&value_);
  index_.Add(last_key, value_);
  if (!filter.empty()) {
    value_ += filter;
  } else if (bloom_bits_per_key_ > 0) {
    AppendBloomFilter(hashes_, bloom_bits_per_key_, &value_);
    hashes_.clear();
    prefix_.clear();
  }
  if (!part_.empty() &&
      part_.bytes() + MostEntryBytes(last_key.size(), value_.size()) + kBlockTrailerBytes >
          kPageBytes) {
    EndPart();
  }
  part_.Add(last_key, value_);
}

void ExtentTail::EndPart() {
  parts_bytes_ += RoundUp(kBlockTrailerBytes + part_.bytes());
  parts_entries_ += MostEntryBytes(part_.last_key().size(), kMaxPlaceBytes);
  parts_.push_back({std::string(part_.Finish()), part_.last_key()});
  part_.Reset();
}

uint64_t ExtentTail::EndBytes() const {
  const uint64_t entries =
      parts_entries_ +
      (part_.empty() ? 0 : MostEntryBytes(part_.last_key().size(), kMaxPlaceBytes));
  return entries + kRestartBytes + kBlockTrailerBytes + kMaxFixedEndBytes;
}

uint64_t ExtentTail::PlaceFirst(uint64_t at) const {
  const bool is_only_one = parts_.size() + (part_.empty() ? 0 : 1) == 1;
  return InOnePage(at, StoredBytes(0) + (is_only_one ? EndBytes() : 0));
}

uint64_t ExtentTail::BytesAt(uint64_t offset, size_t dictionary_bytes) const {
  uint64_t at = offset + properties_.size() + index_.bytes() + 2 * kBlockTrailerBytes;
  if (dictionary_bytes > 0) {
    at += dictionary_bytes + kBlockTrailerBytes;
  }
  at = PlaceFirst(at);
  if (!parts_.empty()) {
    at = RoundUp(at) + parts_bytes_;
  }
  if (!part_.empty()) {
    at = InOnePage(at, StoredBytes(parts_.size())) + StoredBytes(parts_.size());
  }
  return InOnePage(at, EndBytes()) + EndBytes() - offset;
}

void ExtentTail::Finish(const Codec& codec, std::string_view dictionary, std::string* out) {
  std::string buffer;
  const auto append = [&](std::string_view contents, const Codec& wanted) {
    const uint64_t offset = out->size();
    return BlockHandle{offset, AppendStoredBlock(contents, wanted, &buffer, out)};
  };
  BlockBuilder metaindex(1);
  const auto name = [&](std::string_view block, const BlockHandle& handle) {
    value_.clear();
    handle.AppendTo(&value_);
    metaindex.Add(block, value_);
  };
  if (!dictionary.empty()) {
    name(kDictionaryName, append(dictionary, {}));
  }
  const BlockHandle properties = append(properties_, {});
  Footer footer;
  footer.index = append(index_.Finish(), codec);
  if (!part_.empty()) {
    EndPart();
  }
  BlockBuilder top(1);
  out->resize(PlaceFirst(out->size()));
  for (const Part& part : parts_) {
    out->resize(InOnePage(out->size(), kBlockTrailerBytes + part.contents.size()));
    value_.clear();
    append(part.contents, {}).AppendTo(&value_);  // Bloom bits do not compress
    if (prefix_bytes_ > 0) {
      PutFixed32(&value_, prefix_bytes_);
    }
    top.Add(part.last_key, value_);
  }
  out->resize(InOnePage(out->size(), EndBytes()));
  name(kPartsName, append(top.Finish(), {}));
  name(kPropertiesName, properties);
  footer.metaindex = append(metaindex.Finish(), codec);
  footer.AppendTo(out);
}

}  // namespace sluice
