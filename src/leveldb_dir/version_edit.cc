#include "leveldb_dir/version_edit.h"

#include <fmt/format.h>

#include "table/internal_key.h"
#include "util/coding.h"

namespace sluice {

namespace {

enum Tag : uint32_t {
  kComparator = 1,
  kLogNumber = 2,
  kNextFileNumber = 3,
  kLastSequence = 4,
  kCompactPointer = 5,
  kDeletedFile = 6,
  kNewFile = 7,
  kPreviousLogNumber = 9,  // 8 was once used for large values
};

bool GetLevel(std::string_view* in, uint32_t* level) {
  return GetVarint32(in, level) && *level < kNumLevels;
}

bool GetInternalKey(std::string_view* in, std::string* key) {
  std::string_view bytes;
  if (!GetLengthPrefixed(in, &bytes) || bytes.size() < kTrailerBytes) {
    return false;
  }
  *key = bytes;
  return true;
}

bool GetNumber(std::string_view* in, std::optional<uint64_t>* number) {
  return GetVarint64(in, &number->emplace());
}

// Reads what follows `tag`; false if malformed. `*known` tells whether LevelDB has that tag.
bool ParseField(uint32_t tag, std::string_view* in, VersionEdit* edit, bool* known) {
  std::string_view bytes;
  switch (tag) {
    case kComparator:
      if (!GetLengthPrefixed(in, &bytes)) {
        return false;
      }
      edit->comparator = bytes;
      return true;
    case kLogNumber:
      return GetNumber(in, &edit->log_number);
    case kPreviousLogNumber:
      return GetNumber(in, &edit->previous_log_number);
    case kNextFileNumber:
      return GetNumber(in, &edit->next_file_number);
    case kLastSequence:
      return GetNumber(in, &edit->last_sequence);
    case kCompactPointer: {
      auto& [level, key] = edit->compact_pointers.emplace_back();
      return GetLevel(in, &level) && GetInternalKey(in, &key);
    }
    case kDeletedFile: {
      auto& [level, number] = edit->deleted_files.emplace_back();
      return GetLevel(in, &level) && GetVarint64(in, &number);
    }
    case kNewFile: {
      auto& [level, file] = edit->new_files.emplace_back();
      return GetLevel(in, &level) && GetVarint64(in, &file.number) &&
             GetVarint64(in, &file.bytes) && GetInternalKey(in, &file.smallest) &&
             GetInternalKey(in, &file.largest);
    }
    default:
      *known = false;
      return false;
  }
}

void PutNumber(Tag tag, const std::optional<uint64_t>& number, std::string* out) {
  if (number) {
    PutVarint(out, tag);
    PutVarint(out, *number);
  }
}

}  // namespace

void VersionEdit::AppendTo(std::string* out) const {
  if (comparator) {
    PutVarint(out, kComparator);
    PutLengthPrefixed(out, *comparator);
  }
  PutNumber(kLogNumber, log_number, out);
  PutNumber(kPreviousLogNumber, previous_log_number, out);
  PutNumber(kNextFileNumber, next_file_number, out);
  PutNumber(kLastSequence, last_sequence, out);
  for (const auto& [level, key] : compact_pointers) {
    PutVarint(out, kCompactPointer);
    PutVarint(out, level);
    PutLengthPrefixed(out, key);
  }
  for (const auto& [level, number] : deleted_files) {
    PutVarint(out, kDeletedFile);
    PutVarint(out, level);
    PutVarint(out, number);
  }
  for (const auto& [level, file] : new_files) {
    PutVarint(out, kNewFile);
    PutVarint(out, level);
    PutVarint(out, file.number);
    PutVarint(out, file.bytes);
    PutLengthPrefixed(out, file.smallest);
    PutLengthPrefixed(out, file.largest);
  }
}

Status VersionEdit::Parse(std::string_view record, VersionEdit* out) {
  *out = {};
  std::string_view in = record;
  while (!in.empty()) {
    const size_t at = record.size() - in.size();
    uint32_t tag;
    if (!GetVarint32(&in, &tag)) {
      return Status::Corruption(fmt::format("malformed tag at byte {} of the edit", at));
    }
    bool known = true;
    if (ParseField(tag, &in, out, &known)) {
      continue;
    }
    return known ? Status::Corruption(
                       fmt::format("malformed field with tag {} at byte {} of the edit", tag, at))
                 : Status::NotSupported(
                       fmt::format("tag {} at byte {} of the edit is none of LevelDB's", tag, at));
  }
  return {};
}

}  // namespace sluice
