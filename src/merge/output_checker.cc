#include "merge/output_checker.h"

#include <fmt/format.h>

#include <bit>

#include "merge/block_scan.h"
#include "merge/fold.h"
#include "table/block.h"
#include "table/filter.h"
#include "table/key_front.h"
#include "table/stored_block.h"
#include "util/crc32c.h"

namespace sluice {

namespace {

// A copy that strays while a block is compressed may be one of bytes that no record has.
Status CheckRestarts(std::string_view contents) {
  Block block;
  SLUICE_RETURN_IF_ERROR(Block::Parse(contents, &block));
  const char* const begin = block.entries().data();
  const char* const limit = begin + block.entries().size();
  uint32_t met = 0;
  for (const char* p = begin; p < limit;) {
    EntryHeader header;
    const char* const rest = DecodeEntryHeader(p, limit, &header);
    if (rest == nullptr ||
        uint64_t{header.unshared} + header.value_bytes > static_cast<size_t>(limit - rest)) {
      return Status::IoError("malformed entry");
    }
    met += met < block.restarts() && header.shared == 0 &&
           block.restart(met) == static_cast<size_t>(p - begin);
    p = rest + header.unshared + header.value_bytes;
  }
  return met == block.restarts() ? Status() : Status::IoError("restarts that are no entries");
}

}  // namespace

bool OutputChecker::BlockKeys::MayHave(std::string_view filter, int bits_per_key) const {
  return IsBloomFilterOf(filter, records, bits_per_key) && BloomMayMatch(filter, last_hash);
}

Status OutputChecker::CheckBlock(std::string_view contents, std::string_view last_key,
                                 MergeOutput* output) {
  Block block;
  SLUICE_RETURN_IF_ERROR(Block::Parse(contents, &block));
  const char* p = block.entries().data();
  const char* const limit = p + block.entries().size();
  if (p == limit) {
    return Status::IoError("block without an entry");
  }
  ScannedKey last{.bytes = key_.data(), .user_bytes = user_bytes_};
  ScannedRecords records;
  if (ScanAscending(p, limit, &last, &records)) {
    if (output->entries == 0) {
      EntryHeader header{};
      p = DecodeEntryHeader(p, limit, &header);
      output->smallest.assign(p, header.unshared);
    }
    user_bytes_ = last.user_bytes;
    trailer_ = last.trailer;
    EncodeFixed64(key_.data() + user_bytes_, trailer_);
    output->entries += records.entries;
    output->tombstones += records.tombstones;
    checksum_ += records.checksum;
  } else {
    SLUICE_RETURN_IF_ERROR(CheckEntries(p, limit, output));
  }
  if (key() != last_key) {
    return Status::IoError("block that does not end with the key of its index entry");
  }
  return {};
}

Status OutputChecker::CheckEntries(const char* p, const char* limit, MergeOutput* output) {
  // In registers: what is written through pointers to characters could be any member.
  char* previous = key_.data();
  size_t user_bytes = user_bytes_;
  uint64_t trailer = trailer_;
  uint64_t entries = 0;
  uint64_t tombstones = 0;
  size_t batched = 0;
  size_t may_share = 0;
  KeyFront front;
  while (p < limit) {
    EntryHeader header;
    p = DecodeEntryHeader(p, limit, &header);
    if (p == nullptr || header.shared > may_share || header.unshared < kTrailerBytes ||
        uint64_t{header.unshared} + header.value_bytes > static_cast<size_t>(limit - p)) {
      return Status::IoError("malformed entry");
    }
    const size_t rest_bytes = header.unshared - kTrailerBytes;
    const uint64_t next_trailer = DecodeFixed64(p + rest_bytes);
    // The bytes behind what is shared decide, but for restarts and for versions of one key.
    int order = static_cast<uint8_t>(previous[header.shared]) - static_cast<uint8_t>(*p);
    if (order == 0 || header.shared == user_bytes || rest_bytes == 0) {
      order = std::string_view(previous + header.shared, user_bytes - header.shared)
                  .compare({p, rest_bytes});
    }
    if (order > 0 || (order == 0 && next_trailer > trailer)) {
      return Status::IoError("keys out of order");
    }
    if (order == 0 && trailer != kNoTrailer && next_trailer >= ShadowedFrom(snapshots_, trailer)) {
      return Status::IoError("version that another one shadows");
    }
    may_share = user_bytes = header.shared + rest_bytes;
    trailer = next_trailer;
    if (key_.size() < user_bytes + kTrailerBytes + kSlack) [[unlikely]] {
      key_.resize(2 * (user_bytes + kTrailerBytes + kSlack));
      previous = key_.data();
    }
    front.Rebuild(previous, user_bytes + kTrailerBytes, header.shared, p, previous);
    p += header.unshared;

    if (entries++ == 0 && output->entries == 0) {
      output->smallest.assign(previous, user_bytes + kTrailerBytes);
    }
    tombstones += TrailerType(trailer) == static_cast<uint8_t>(RecordType::kDeletion);
    batch_[batched] = {.value = p,
                       .value_bytes = header.value_bytes,
                       .hash = Fold<false>(previous, user_bytes, nullptr) ^ std::rotl(trailer, 3) ^
                               (uint64_t{user_bytes + kTrailerBytes} << 32 | header.value_bytes)};
    if (++batched == kFoldBatch) {
      checksum_ += SumChecksums(&batch_, batched);
      batched = 0;
    }
    p += header.value_bytes;
  }
  checksum_ += SumChecksums(&batch_, batched);
  user_bytes_ = user_bytes;
  trailer_ = trailer;
  output->entries += entries;
  output->tombstones += tombstones;
  return {};
}

Status OutputChecker::ReadBlock(std::string_view data, const BlockHandle& handle,
                                std::string_view* contents) {
  static_assert(kSlack >= kSlackBytes);
  Compression stored_as;
  SLUICE_RETURN_IF_ERROR(
      ReadStoredBlock(data, handle, &buffer_, contents, &stored_as, nullptr, sum_));
  if (compressed_) {
    content_sum_ += stored_as == Compression::kNone && sum_.kind == BlockChecksum::kCrc32c
                        ? UnmaskCrc(DecodeFixed32(data.data() + handle.offset + handle.size + 1))
                        : RawBlockCrc(*contents);
  }
  if (stored_as == Compression::kNone) {
    if (data.size() - (handle.offset + handle.size) >= kSlack) {
      return {};
    }
    buffer_ = *contents;
  } else if (stored_as != Compression::kSnappy || !compressed_) {
    return Status::IoError(fmt::format("compressed block at offset {}", handle.offset));
  } else if (Status status = CheckRestarts(*contents); !status.ok()) {
    return status.WithContext(fmt::format("block at offset {}", handle.offset));
  }
  buffer_.append(kSlack, '\0');
  *contents = {buffer_.data(), buffer_.size() - kSlack};
  return {};
}

Status OutputChecker::Check(std::string_view data, std::string_view index, MergeOutput* output) {
  *output = {};
  block_keys_.clear();
  output->data = data;
  output->index = index;
  const bool first = records_ == 0;
  const std::string key_before(first ? std::string_view() : UserKey(key()));
  if (index.size() < kBlockTrailerBytes) {
    return Status::IoError("index block too short");
  }
  std::string_view contents;
  SLUICE_RETURN_IF_ERROR(
      ReadStoredBlock(index, {0, index.size() - kBlockTrailerBytes}, &index_buffer_, &contents));
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
    SLUICE_RETURN_IF_ERROR(ReadBlock(data, handle, &contents));
    const uint64_t before = output->entries;
    if (Status status = CheckBlock(contents, entry.key(), output); !status.ok()) {
      return status.WithContext(fmt::format("block at offset {}", handle.offset));
    }
    block_keys_.push_back({output->entries - before, BloomHash(UserKey(key()))});
    end = handle.offset + handle.size + kBlockTrailerBytes;
  }
  if (restarts != block.restarts()) {
    return Status::IoError("index restarts that are no entries");
  }
  SLUICE_RETURN_IF_ERROR(entry.status());
  if (end != data.size() || end == 0) {
    return Status::IoError(fmt::format("index covers {} of {} bytes", end, data.size()));
  }
  if (!first && key_before == UserKey(output->smallest)) {
    return Status::IoError("user key that the table before has, too");
  }
  output->largest = key();
  records_ += output->entries;
  return {};
}

}  // namespace sluice
