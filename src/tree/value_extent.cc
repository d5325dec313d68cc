#include "tree/value_extent.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tree/block_reads.h"
#include "tree/extent_reader.h"
#include "tree/extent_space.h"
#include "util/coding.h"
#include "util/crc32c.h"
#include "util/kept_buffer.h"
#include "util/thread_owned.h"

namespace sluice {

namespace {

constexpr std::string_view kMagic = "slcvalue";
constexpr size_t kCrcBytes = 4;
constexpr uint32_t kLeastRecordBytes = kCrcBytes + 2;

// What is left of a record behind its key.
Status SplitRecord(std::string_view record, std::string_view user_key, Compression* compression,
                   std::string_view* stored) {
  std::string_view rest = record.substr(kCrcBytes);
  *compression = Compression{static_cast<uint8_t>(rest.front())};
  rest.remove_prefix(1);
  std::string_view key;
  if (!GetLengthPrefixed(&rest, &key)) {
    return Status::Corruption("a malformed value record");
  }
  if (key != user_key) {
    return Status::Corruption("the value of another key");
  }
  *stored = rest;
  return {};
}

}  // namespace

bool SameValues(const Extent& a, const Extent& b) {
  if (a.values == nullptr || b.values == nullptr) {
    return a.values == b.values;
  }
  return a.values->shares == b.values->shares;
}

std::string ValueReference::Encode() const {
  std::string bytes;
  PutFixed64(&bytes, extent);
  PutFixed32(&bytes, offset);
  PutFixed32(&bytes, this->bytes);
  PutFixed32(&bytes, crc);
  return bytes;
}

bool ValueReference::ReadFrom(std::string_view in) {
  if (in.size() != kValueReferenceBytes) {
    return false;
  }
  extent = DecodeFixed64(in.data());
  offset = DecodeFixed32(in.data() + 8);
  bytes = DecodeFixed32(in.data() + 12);
  crc = DecodeFixed32(in.data() + 16);
  return true;
}

const ValueShares::Share* ValueShares::Find(uint64_t number) const {
  const auto at = std::lower_bound(
      shares.begin(), shares.end(), number,
      [](const Share& share, uint64_t wanted) { return share.extent->pages.number < wanted; });
  return at != shares.end() && at->extent->pages.number == number ? &*at : nullptr;
}

FindValueExtent ValueExtentsOf(const Extent& extent) {
  return [&extent](uint64_t number) -> ValueExtentPtr {
    const ValueShares::Share* const share =
        extent.values == nullptr ? nullptr : extent.values->Find(number);
    return share == nullptr ? nullptr : share->extent;
  };
}

Status ValueShareCounter::Add(std::string_view value, const FindValueExtent& find) {
  ValueReference reference;
  if (!reference.ReadFrom(value)) {
    return Status::Corruption(fmt::format("a reference to a value has {} bytes, not {}",
                                          value.size(), kValueReferenceBytes));
  }
  ValueShares::Share& share = shares_[reference.extent];
  if (share.extent == nullptr) {
    share.extent = find ? find(reference.extent) : nullptr;
    if (share.extent == nullptr) {
      return Status::Corruption(
          fmt::format("a record refers to value extent {}, which is not there", reference.extent));
    }
  }
  share.bytes += reference.bytes;
  return {};
}

void ValueShareCounter::MoveTo(Extent* extent) {
  extent->values.reset();
  extent->value_bytes = 0;
  if (shares_.empty()) {
    return;
  }
  auto values = std::make_shared<ValueShares>();
  values->shares.reserve(shares_.size());
  for (auto& [number, share] : shares_) {
    extent->value_bytes += share.bytes;
    values->shares.push_back(std::move(share));
  }
  extent->values = std::move(values);
  shares_.clear();
}

void AppendValueRecord(std::string_view user_key, std::string_view value, const Codec& codec,
                       std::string* buffer, std::string* out, ValueReference* reference) {
  const size_t begin = out->size();
  out->append(kCrcBytes, '\0');
  const bool smaller = codec.type != Compression::kNone && Compress(codec, value, buffer) &&
                       buffer->size() < value.size() - value.size() / 8;
  out->push_back(static_cast<char>(smaller ? codec.type : Compression::kNone));
  PutLengthPrefixed(out, user_key);
  out->append(smaller ? std::string_view(*buffer) : value);
  reference->bytes = static_cast<uint32_t>(out->size() - begin);
  reference->crc = MaskCrc(Crc32c(std::string_view(*out).substr(begin + kCrcBytes)));
  EncodeFixed32(out->data() + begin, reference->crc);
}

Status CheckValueRecord(std::string_view record, const ValueReference& reference,
                        std::string_view user_key) {
  if (record.size() < kLeastRecordBytes || record.size() != reference.bytes) {
    return Status::Corruption("a malformed value record");
  }
  if (DecodeFixed32(record.data()) != reference.crc ||
      MaskCrc(Crc32c(record.substr(kCrcBytes))) != reference.crc) {
    return Status::Corruption("value checksum mismatch");
  }
  Compression compression;
  std::string_view stored;
  return SplitRecord(record, user_key, &compression, &stored);
}

Status ReadValueRecord(std::string_view record, const ValueReference& reference,
                       std::string_view user_key, std::string* value) {
  SLUICE_RETURN_IF_ERROR(CheckValueRecord(record, reference, user_key));
  Compression compression;
  std::string_view stored;
  SLUICE_RETURN_IF_ERROR(SplitRecord(record, user_key, &compression, &stored));
  if (compression == Compression::kNone) {
    value->assign(stored);
    return {};
  }
  return Uncompress(compression, stored, value);
}

std::string EncodeValueExtentHeader(const ValueExtent& extent, uint32_t subtable) {
  std::string bytes(kMagic);
  PutFixed64(&bytes, extent.pages.number);
  PutFixed32(&bytes, extent.pages.bytes);
  PutFixed32(&bytes, subtable);
  PutFixed32(&bytes, static_cast<uint32_t>(extent.pages.entries));
  PutFixed32(&bytes, MaskCrc(Crc32c(bytes)));
  return bytes;
}

bool ReadValueExtentHeader(std::string_view bytes, Extent* pages, uint32_t* subtable) {
  if (bytes.size() < kValueExtentHeaderBytes || !bytes.starts_with(kMagic) ||
      DecodeFixed32(bytes.data() + kValueExtentHeaderBytes - kCrcBytes) !=
          MaskCrc(Crc32c(bytes.substr(0, kValueExtentHeaderBytes - kCrcBytes)))) {
    return false;
  }
  pages->number = DecodeFixed64(bytes.data() + kMagic.size());
  pages->bytes = DecodeFixed32(bytes.data() + 16);
  *subtable = DecodeFixed32(bytes.data() + 20);
  pages->entries = DecodeFixed32(bytes.data() + 24);
  return true;
}

namespace {

using Share = ValueShares::Share;

// Those that the reference of one of the extent's records names: one, but where no metadata say which
// of several with its number is alive (DB::Repair).
Status Resolve(const Extent& extent, std::string_view bytes, ValueReference* reference,
               std::span<const Share>* named) {
  const Share* first = nullptr;
  if (reference->ReadFrom(bytes) && extent.values != nullptr) {
    first = extent.values->Find(reference->extent);
  }
  if (first == nullptr) {
    return Status::Corruption(fmt::format("{}: a record refers to a value that is not there",
                                          extent.place == nullptr
                                              ? fmt::format("extent {}", extent.number)
                                              : ExtentReader::Describe(extent, 0)));
  }
  const Share* const end = extent.values->shares.data() + extent.values->shares.size();
  *named = {first, std::find_if(first, end, [first](const Share& share) {
              return share.extent->pages.number != first->extent->pages.number;
            })};
  return {};
}

Status CheckBounds(const ValueExtent& values, const ValueReference& reference) {
  if (values.pages.place == nullptr) {
    return Status::Corruption(
        fmt::format("value extent {}: its pages are not in the data file", values.pages.number));
  }
  return reference.offset >= kValueExtentHeaderBytes && reference.bytes >= kLeastRecordBytes &&
                 uint64_t{reference.offset} + reference.bytes <= values.pages.bytes
             ? Status()
             : Status::Corruption(fmt::format(
                   "{}: a reference to a value of {} bytes reaches past the value extent's end",
                   ExtentReader::Describe(values.pages, reference.offset), reference.bytes));
}

Status WithPlace(const Status& status, const ValueExtent& values, const ValueReference& reference) {
  return status.ok() ? status
                     : status.WithContext(ExtentReader::Describe(values.pages, reference.offset));
}

}  // namespace

Status ReadStoredValue(const ValueExtent& values, const ValueReference& reference,
                       std::string_view user_key, std::string* record) {
  SLUICE_RETURN_IF_ERROR(CheckBounds(values, reference));
  const ExtentPlace& place = *values.pages.place;
  record->resize(reference.bytes);
  SLUICE_RETURN_IF_ERROR(
      place.file()->Read(place.offset() + reference.offset, record->size(), record->data()));
  return WithPlace(CheckValueRecord(*record, reference, user_key), values, reference);
}

namespace {

Status ReadValueIn(const ValueExtent& values, const ValueReference& reference,
                   std::string_view user_key, BlockReads* reads, std::string* value) {
  SLUICE_RETURN_IF_ERROR(CheckBounds(values, reference));
  thread_local ThreadOwned<std::string> kept;
  KeptBuffer buffer(&*kept);
  std::string_view record;
  SLUICE_RETURN_IF_ERROR(
      ReadPiece(values.pages, reference.offset, reference.bytes, reads, &*buffer, &record));
  if (record.empty()) {
    return {};
  }
  return WithPlace(ReadValueRecord(record.substr(0, reference.bytes), reference, user_key, value),
                   values, reference);
}

}  // namespace

Status ReadValue(const Extent& extent, std::string_view user_key, std::string_view reference_bytes,
                 BlockReads* reads, std::string* value) {
  ValueReference reference;
  std::span<const Share> named;
  SLUICE_RETURN_IF_ERROR(Resolve(extent, reference_bytes, &reference, &named));
  Status status;
  for (const Share& share : named) {
    status = ReadValueIn(*share.extent, reference, user_key, reads, value);
    if (status.ok()) {
      break;
    }
  }
  return status;
}

}  // namespace sluice
