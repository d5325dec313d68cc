#include "merge/run_reader.h"

#include <fmt/format.h>
#include <snappy.h>

#include <algorithm>
#include <utility>

#include "merge/fold.h"
#include "table/block_sum.h"

namespace sluice {

namespace {

constexpr size_t kBatchRecords = 128;
// A batch ends when its keys have filled so much, whatever their number.
constexpr size_t kArenaBytes = 16 << 10;
// A byte of Snappy's output costs at least 3/64 bytes of input: a copy element makes up to 64 bytes
// from 3.
constexpr uint64_t kMaxSnappyRatio = 22;

// As DecodeEntryHeader, in line for values of up to 16 KiB. Reads up to 4 bytes at `p`.
inline const char* DecodeHeader(const char* p, const char* limit, EntryHeader* header) {
  const uint32_t bytes = DecodeFixed32(p);
  if ((bytes & 0x808080) == 0 && limit - p >= 3) {
    header->shared = bytes & 0x7f;
    header->unshared = bytes >> 8 & 0x7f;
    header->value_bytes = bytes >> 16 & 0x7f;
    return p + 3;
  }
  if ((bytes & 0x80808080) == 0x800000 && limit - p >= 4) {
    header->shared = bytes & 0x7f;
    header->unshared = bytes >> 8 & 0x7f;
    header->value_bytes = (bytes >> 16 & 0x7f) | (bytes >> 24) << 7;
    return p + 4;
  }
  return DecodeEntryHeader(p, limit, header);
}

}  // namespace

RunReader::RunReader(const MergeTask& task, const MergeRun* run, const ForeignRun* foreign,
                     const RecordLimits& limits)
    : task_(task),
      run_(run),
      foreign_(foreign),
      most_type_(
          static_cast<uint8_t>(foreign == nullptr ? kTypeValueReference : RecordType::kValue)),
      limits_(limits),
      records_(std::make_unique_for_overwrite<Record[]>(kBatchRecords)) {
  batch_begin_ = batch_end_ = records_.get();
}

bool RunReader::Fail(MergeStatus status, uint64_t offset, std::string detail) {
  fault_ = {status, static_cast<uint32_t>(table_ - 1), offset, std::move(detail)};
  return false;
}

bool RunReader::NextBatch(size_t* skip) {
  batch_begin_ = batch_end_ = records_.get();
  if (!begun_) {
    begun_ = true;
    if (task_.has_begin && !FindBegin()) {
      return false;
    }
  }
  while (!ended_ && batch_begin_ == batch_end_) {
    if (!block_open_) {
      bool found = false;
      if (!NextBlock(&found)) {
        return false;
      }
      ended_ = !found;
    } else if (block_.next == block_.limit) {
      if (block_.bad_restarts) {
        return Fail(MergeStatus::kBlockCorrupt, block_.offset, "the restart array does not fit");
      }
      block_open_ = false;
    } else if (!DecodeBatch(skip)) {
      return false;
    }
  }
  input_records_ += batch_end_ - batch_begin_;
  return true;
}

bool RunReader::FindBegin() {
  // The last block whose index key is below, by the number of its table and within that.
  size_t table = 0;
  size_t block = 0;
  for (size_t t = 0; t < tables(); ++t) {
    table_ = t + 1;
    if (!OpenTable()) {
      return false;
    }
    BlockHandle handle;
    bool in_table = true;
    for (size_t b = 0; in_table; ++b) {
      if (!NextHandle(&handle, &in_table)) {
        return false;
      }
      if (in_table && UserKey(index_key_) >= task_.begin) {
        PassOver(table, block);
        return true;
      }
      if (in_table) {
        table = t;
        block = b;
      }
    }
  }
  PassOver(table, block);
  return true;
}

void RunReader::PassOver(size_t tables, size_t blocks) {
  table_ = tables;
  table_open_ = false;
  passed_over_ = blocks;
  unproven_begin_ = tables > 0 || blocks > 0;
}

bool RunReader::StartsBelowBegin() const {
  EntryHeader header;
  const char* const key = DecodeEntryHeader(block_.next, block_.limit, &header);
  return key != nullptr && header.unshared >= kTrailerBytes &&
         header.unshared <= static_cast<size_t>(block_.limit - key) &&
         UserKey({key, header.unshared}) < task_.begin;
}

bool RunReader::NextBlock(bool* found) {
  *found = false;
  while (!*found) {
    if (!table_open_) {
      if (table_ == tables()) {
        return true;
      }
      ++table_;
      if (!OpenTable()) {
        return false;
      }
    }
    BlockHandle handle;
    bool in_table = false;
    if (!NextHandle(&handle, &in_table)) {
      return false;
    }
    if (!in_table) {
      table_open_ = false;
      continue;
    }
    if (passed_over_ > 0) {
      --passed_over_;
      continue;
    }
    ForeignTable* const foreign = foreign_table();
    if (!(foreign == nullptr ? LoadBlock(handle, false, &block_)
                             : ReadDataBlock(foreign, handle))) {
      return false;
    }
    input_bytes_ += handle.size + kBlockTrailerBytes;
    ahead_ = handle.size + kBlockTrailerBytes;
    if (unproven_begin_) {
      unproven_begin_ = false;
      if (!StartsBelowBegin()) {
        PassOver(0, 0);
        input_bytes_ = 0;
        continue;
      }
    }
    base_bytes_ = 0;
    block_open_ = true;
    *found = true;
  }
  return true;
}

std::string_view RunReader::image() const {
  return foreign_ == nullptr ? (*run_)[table_ - 1].image : foreign_table()->image();
}

bool RunReader::OpenTable() {
  if (ForeignTable* const foreign = foreign_table(); foreign != nullptr) {
    if (!SetContent(foreign->index(), 0, true, &index_)) {
      return false;
    }
  } else if (const BlockHandle& handle = (*run_)[table_ - 1].index;
             !HandleFits(handle, image().size())) {
    return Fail(MergeStatus::kBadHandle, handle.offset,
                fmt::format("an index block of {} bytes does not fit in a table of {}", handle.size,
                            image().size()));
  } else if (!LoadBlock(handle, true, &index_)) {
    return false;
  }
  index_key_.clear();
  handle_end_ = 0;
  table_open_ = true;
  return true;
}

bool RunReader::NextHandle(BlockHandle* handle, bool* found) {
  const auto corrupt = [this](std::string_view what) {
    return Fail(MergeStatus::kIndexCorrupt, index_.offset, std::string(what));
  };
  *found = index_.next != index_.limit;
  if (!*found) {
    return index_.bad_restarts ? corrupt("the restart array does not fit") : true;
  }
  EntryHeader header;
  const char* p = DecodeEntryHeader(index_.next, index_.limit, &header);
  if (p == nullptr) {
    return corrupt("malformed entry header");
  }
  const uint64_t key_bytes = uint64_t{header.shared} + header.unshared;
  if (header.shared > index_key_.size() || key_bytes < kTrailerBytes ||
      uint64_t{header.unshared} + header.value_bytes > static_cast<uint64_t>(index_.limit - p)) {
    return corrupt("an entry's lengths do not fit");
  }
  index_key_.resize(header.shared);
  index_key_.append(p, header.unshared);
  std::string_view value(p + header.unshared, header.value_bytes);
  if (!handle->ReadFrom(&value)) {  // what follows it is for later formats, as in LevelDB
    return corrupt("malformed block handle");
  }
  const uint64_t table_bytes = image().size();
  if (!HandleFits(*handle, table_bytes)) {
    return Fail(MergeStatus::kBadHandle, index_.offset,
                fmt::format("a block of {} bytes at {} does not fit in a table of {}", handle->size,
                            handle->offset, table_bytes));
  }
  // Otherwise a small table could name one block over and over, and its merge take any time.
  if (handle->offset < handle_end_) {
    return Fail(MergeStatus::kBadHandle, index_.offset,
                fmt::format("a block at {} starts before the one before it ends, at {}",
                            handle->offset, handle_end_));
  }
  handle_end_ = handle->offset + handle->size + kBlockTrailerBytes;
  index_.next = p + header.unshared + header.value_bytes;
  return true;
}

bool RunReader::LoadBlock(const BlockHandle& handle, bool is_index, Block* block) {
  const MergeStatus corrupt = is_index ? MergeStatus::kIndexCorrupt : MergeStatus::kBlockCorrupt;
  const std::string_view image = this->image();
  const std::string_view covered = image.substr(handle.offset, handle.size + 1);
  const uint32_t stored = DecodeFixed32(covered.data() + covered.size());
  const BlockSum sum =
      is_index ? BlockSum{} : BlockSum{task_.checksum, (*run_)[table_ - 1].checksum_base};
  if (const uint32_t computed = sum.Of(covered, handle.offset); computed != stored) {
    return Fail(is_index ? MergeStatus::kIndexChecksum : MergeStatus::kBlockChecksum, handle.offset,
                fmt::format("stored {:08x}, computed {:08x}", stored, computed));
  }
  std::string_view content = covered.substr(0, handle.size);
  const auto type = static_cast<uint8_t>(covered.back());
  if (type == static_cast<uint8_t>(Compression::kSnappy)) {
    if (!Uncompress(content, block, &content)) {
      return Fail(corrupt, handle.offset, "malformed Snappy data");
    }
  } else if (type != static_cast<uint8_t>(Compression::kNone)) {
    return Fail(is_index ? corrupt : MergeStatus::kBlockType, handle.offset,
                fmt::format("compression type {}", type));
  } else if (image.size() - handle.offset - handle.size < kSlackBytes) {
    content = block->Keep(content);
  }
  return SetContent(content, handle.offset, is_index, block);
}

std::string_view RunReader::Block::Keep(std::string_view content) {
  if (buffer.size() < content.size() + kSlackBytes) {
    buffer.resize(content.size() + kSlackBytes);
  }
  std::memcpy(buffer.data(), content.data(), content.size());
  return {buffer.data(), content.size()};
}

bool RunReader::ReadDataBlock(ForeignTable* table, const BlockHandle& handle) {
  std::string_view content;
  if (const Status status = table->ReadBlock(handle, &content); !status.ok()) {
    return Fail(status.IsNotSupported() ? MergeStatus::kBlockType : MergeStatus::kBlockCorrupt,
                handle.offset, std::string(status.message()));
  }
  const std::string_view image = table->image();
  const char* const end = image.data() + image.size();
  const bool in_image = content.data() >= image.data() && content.data() < end;
  if (!in_image || static_cast<size_t>(end - content.data()) < content.size() + kSlackBytes) {
    content = block_.Keep(content);
  }
  return SetContent(content, handle.offset, false, &block_);
}

bool RunReader::SetContent(std::string_view content, uint64_t offset, bool is_index, Block* block) {
  const MergeStatus corrupt = is_index ? MergeStatus::kIndexCorrupt : MergeStatus::kBlockCorrupt;
  block->offset = offset;
  if (content.size() < 8 || content.size() > UINT32_MAX) {
    return Fail(corrupt, offset, fmt::format("{} bytes", content.size()));
  }
  const uint32_t restarts = DecodeFixed32(content.data() + content.size() - 4);
  block->next = content.data();
  block->limit = content.data() + content.size();
  block->bad_restarts = restarts == 0 || restarts > (content.size() - 4) / 4 ||
                        DecodeFixed32(block->limit - 4 - 4 * size_t{restarts}) != 0;
  // A bad array is reported where it would have been met; no entry reaches into the least there is.
  block->limit -= block->bad_restarts ? 8 : 4 + 4 * size_t{restarts};
  return true;
}

bool RunReader::Uncompress(std::string_view compressed, Block* block, std::string_view* content) {
  size_t bytes = 0;
  if (!snappy::GetUncompressedLength(compressed.data(), compressed.size(), &bytes) ||
      bytes > compressed.size() * kMaxSnappyRatio) {
    return false;
  }
  if (block->buffer.size() < bytes + kSlackBytes) {
    block->buffer.resize(bytes + kSlackBytes);
  }
  if (!snappy::RawUncompress(compressed.data(), compressed.size(), block->buffer.data())) {
    return false;
  }
  *content = {block->buffer.data(), bytes};
  return true;
}

bool RunReader::DecodeBatch(size_t* skip) {
  Arena* const arena = &arenas_[arena_ ^ 1];
  size_t count = 0;
  const bool entries_ok = DecodeEntries(arena, skip, &count);
  // Records before a malformed entry come first: the first of several faults counts.
  if (!FinishRecords(count, *skip)) {
    return false;
  }
  if (!entries_ok) {
    return Fail(
        MergeStatus::kBlockCorrupt, block_.offset,
        block_.bad_restarts ? "the restart array does not fit" : "an entry's lengths do not fit");
  }
  arena_ ^= 1;
  last_key_ = records_[count - 1].internal_key();
  base_bytes_ = static_cast<uint32_t>(last_key_.size());
  batch_begin_ = records_.get();
  batch_end_ = batch_begin_ + count;
  if (task_.has_begin || task_.has_end) {
    ClipToRange();
  }
  return true;
}

bool RunReader::DecodeEntries(Arena* arena, size_t* skip, size_t* count) {
  if (arena->capacity == 0) {
    arena->capacity = kArenaBytes + kSlackBytes;
    arena->bytes = std::make_unique_for_overwrite<char[]>(arena->capacity);
  }
  const char* p = block_.next;
  const char* const limit = block_.limit;
  std::string_view previous = last_key_;
  uint64_t base_bytes = base_bytes_;
  KeyFront front;
  if (base_bytes > 0) {
    front.Load(previous.data());
  }
  size_t n = 0;
  size_t used = 0;
  bool ok = true;
  while (n < kBatchRecords && p < limit) {
    EntryHeader header;
    const char* const suffix = DecodeHeader(p, limit, &header);
    const uint64_t bytes = uint64_t{header.shared} + header.unshared;
    if (suffix == nullptr || header.shared > base_bytes || bytes < kTrailerBytes ||
        uint64_t{header.unshared} + header.value_bytes > static_cast<uint64_t>(limit - suffix)) {
      ok = false;
      break;
    }
    if (used + bytes + kSlackBytes > arena->capacity) {
      if (n > 0) {
        break;
      }
      arena->capacity = bytes + kSlackBytes;
      arena->bytes = std::make_unique_for_overwrite<char[]>(arena->capacity);
    }
    char* const key = arena->bytes.get() + used;
    front.Rebuild(key, bytes, header.shared, suffix, previous.data());
    const std::string_view internal(key, bytes);
    if (std::min<uint64_t>(header.shared, bytes - kTrailerBytes) < *skip) {
      *skip = std::min<size_t>(*skip, CommonPrefix(UserKey(previous), UserKey(internal)));
    }
    Record& record = records_[n++];
    record.key = key;
    record.user_bytes = static_cast<uint32_t>(bytes - kTrailerBytes);
    record.value = suffix + header.unshared;
    record.value_bytes = header.value_bytes;
    p = record.value + header.value_bytes;
    used += bytes;
    previous = internal;
    base_bytes = bytes;
  }
  block_.next = p;
  *count = n;
  return ok;
}

bool RunReader::FinishRecords(size_t count, size_t skip) {
  KeyWord previous_word = 0;
  std::string_view previous = last_key_;
  for (size_t i = 0; i < count; ++i) {
    Record& record = records_[i];
    record.trailer = DecodeFixed64(record.key + record.user_bytes);
    record.word = LoadKeyWord(record.key, record.user_bytes, skip);
    record.hash = Fold<false>(record.key, record.user_bytes, nullptr) ^
                  std::rotl(record.trailer, 3) ^
                  ((uint64_t{record.user_bytes} + kTrailerBytes) << 32 | record.value_bytes);
    const bool plainly_fine =
        record.word > previous_word && i > 0 && TrailerType(record.trailer) <= most_type_ &&
        record.user_bytes <= limits_.max_key_bytes && record.value_bytes <= limits_.max_value_bytes;
    if (!plainly_fine && !CheckRecord(record, previous)) {
      return false;
    }
    previous_word = record.word;
    previous = record.internal_key();
  }
  return true;
}

bool RunReader::CheckRecord(const Record& record, std::string_view previous) {
  const uint64_t offset = block_.offset;
  if (record.user_bytes > limits_.max_key_bytes) {
    return Fail(MergeStatus::kKeyTooLong, offset,
                fmt::format("a key of {} bytes, the limit is {}", record.user_bytes,
                            limits_.max_key_bytes));
  }
  if (record.value_bytes > limits_.max_value_bytes) {
    return Fail(MergeStatus::kValueTooLong, offset,
                fmt::format("a value of {} bytes, the limit is {}", record.value_bytes,
                            limits_.max_value_bytes));
  }
  if (TrailerType(record.trailer) > most_type_) {
    return Fail(MergeStatus::kRecordType, offset,
                fmt::format("type {}", TrailerType(record.trailer)));
  }
  const bool first = previous.data() == nullptr;
  if (!first && CompareInternalKeys(previous, record.internal_key()) >= 0) {
    return Fail(MergeStatus::kUnsorted, offset);
  }
  return true;
}

void RunReader::ClipToRange() {
  const auto below = [](const Record& record, const std::string& key) {
    return record.user_key() < key;
  };
  if (task_.has_begin && below(*batch_begin_, task_.begin)) {
    batch_begin_ = std::lower_bound(batch_begin_, batch_end_, task_.begin, below);
  }
  if (task_.has_end && !below(batch_end_[-1], task_.end)) {
    batch_end_ = std::lower_bound(batch_begin_, batch_end_, task_.end, below);
    ended_ = true;
  }
}

void RunReader::Reword(const Record* first, size_t skip) {
  for (Record* record = records_.get() + (first - records_.get()); record != batch_end_; ++record) {
    record->word = LoadKeyWord(record->key, record->user_bytes, skip);
  }
}

}  // namespace sluice
