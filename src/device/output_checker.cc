#include "device/output_checker.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "merge/fold.h"
#include "table/block.h"
#include "table/stored_block.h"

namespace sluice {

static_assert(OutputChecker::kSlack >= kSlackBytes);

Status OutputChecker::CheckBlock(std::string_view contents, std::string_view last_key,
                                 MergeOutput* output) {
  Block block;
  SLUICE_RETURN_IF_ERROR(Block::Parse(contents, &block));
  const char* p = block.entries().data();
  const char* const limit = p + block.entries().size();
  if (p == limit) {
    return Status::IoError("block without an entry");
  }
  size_t may_share = 0;
  while (p < limit) {
    EntryHeader header;
    p = DecodeEntryHeader(p, limit, &header);
    if (p == nullptr || header.shared > may_share || header.unshared < kTrailerBytes ||
        uint64_t{header.unshared} + header.value_bytes > static_cast<size_t>(limit - p)) {
      return Status::IoError("malformed entry");
    }
    const size_t rest_bytes = header.unshared - kTrailerBytes;
    const std::string_view rest(p, rest_bytes);
    const uint64_t trailer = DecodeFixed64(p + rest_bytes);
    const int order =
        std::string_view(key_.data() + header.shared, user_bytes_ - header.shared).compare(rest);
    if (order > 0 || (order == 0 && trailer > trailer_)) {
      return Status::IoError("keys out of order");
    }
    if (order == 0 && trailer_ != kNoTrailer && trailer >= ShadowedFrom(snapshots_, trailer_)) {
      return Status::IoError("version that another one shadows");
    }
    user_bytes_ = header.shared + rest_bytes;
    trailer_ = trailer;
    may_share = user_bytes_;
    if (key_.size() < user_bytes_ + kTrailerBytes + kSlack) {
      key_.resize(2 * (user_bytes_ + kTrailerBytes + kSlack));
    }
    std::memcpy(key_.data() + header.shared, p, header.unshared);
    p += header.unshared;

    if (output->entries++ == 0) {
      output->smallest = key();
    }
    output->tombstones += TrailerType(trailer) == static_cast<uint8_t>(RecordType::kDeletion);
    // RecordChecksum, at the speed of the caches.
    checksum_ += Fold<false>(key_.data(), user_bytes_, nullptr) ^ std::rotl(trailer, 3) ^
                 std::rotl(Fold<false>(p, header.value_bytes, nullptr), 5) ^
                 (uint64_t{user_bytes_ + kTrailerBytes} << 32 | header.value_bytes);
    p += header.value_bytes;
  }
  if (key() != last_key) {
    return Status::IoError("block that does not end with the key of its index entry");
  }
  return {};
}

Status OutputChecker::Check(std::string_view data, std::string_view index, MergeOutput* output) {
  *output = {};
  output->data = data;
  output->index = index;
  if (index.size() < kBlockTrailerBytes) {
    return Status::IoError("index block too short");
  }
  std::string_view contents;
  SLUICE_RETURN_IF_ERROR(
      ReadStoredBlock(index, {0, index.size() - kBlockTrailerBytes}, &buffer_, &contents));
  Block block;
  SLUICE_RETURN_IF_ERROR(Block::Parse(contents, &block));
  BlockIterator entry(block);
  uint64_t end = 0;
  uint32_t restarts = 0;  // met as entries
  for (entry.SeekToFirst(); entry.Valid(); entry.Next()) {
    restarts += restarts < block.restarts() && block.restart(restarts) == entry.offset();
    BlockHandle handle;
    std::string_view value = entry.value();
    if (!handle.ReadFrom(&value) || handle.offset != end) {
      return Status::IoError(fmt::format("index entry that does not follow offset {}", end));
    }
    Compression stored_as;
    SLUICE_RETURN_IF_ERROR(ReadStoredBlock(data, handle, &buffer_, &contents, &stored_as));
    if (stored_as != Compression::kNone) {
      return Status::IoError(fmt::format("compressed block at offset {}", handle.offset));
    }
    if (Status status = CheckBlock(contents, entry.key(), output); !status.ok()) {
      return status.WithContext(fmt::format("block at offset {}", handle.offset));
    }
    end = handle.offset + handle.size + kBlockTrailerBytes;
  }
  if (restarts != block.restarts()) {
    return Status::IoError("index restarts that are no entries");
  }
  SLUICE_RETURN_IF_ERROR(entry.status());
  if (end != data.size() || end == 0) {
    return Status::IoError(fmt::format("index covers {} of {} bytes", end, data.size()));
  }
  output->largest = key();
  records_ += output->entries;
  return {};
}

}  // namespace sluice
