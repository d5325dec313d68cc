#include "leveldb_dir/log_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "leveldb_dir/log_format.h"
#include "util/coding.h"
#include "util/crc32c.h"

namespace sluice {

namespace {

uint32_t FragmentBytes(const char* header) {
  return static_cast<uint8_t>(header[4]) | static_cast<uint8_t>(header[5]) << 8;
}

}  // namespace

LogReader::Step LogReader::Fail(uint64_t offset, std::string_view what) {
  status_ = Status::Corruption(fmt::format("offset {}: {}", offset, what));
  return Step::kEnd;
}

bool LogReader::HasFragmentWithin(uint64_t begin, uint64_t end) const {
  for (uint64_t at = begin; at + kLogHeaderBytes <= end; ++at) {
    const char* header = log_.data() + at;
    const uint32_t bytes = FragmentBytes(header);
    if (header[6] < static_cast<char>(LogFragment::kFull) ||
        header[6] > static_cast<char>(LogFragment::kLast) || bytes > end - at - kLogHeaderBytes) {
      continue;
    }
    if (DecodeFixed32(header) == MaskCrc(Crc32c({header + 6, 1 + size_t{bytes}}))) {
      return true;
    }
  }
  return false;
}

bool LogReader::OnlyZerosFrom(uint64_t offset) const {
  return log_.find_first_not_of('\0', offset) == std::string_view::npos;
}

LogReader::Step LogReader::ReadFragment(uint8_t* type, std::string_view* payload) {
  const uint64_t block_end =
      std::min<uint64_t>(log_.size(), (position_ / kLogBlockBytes + 1) * kLogBlockBytes);
  const uint64_t in_block = block_end - position_;
  if (in_block < kLogHeaderBytes) {  // the zeros that fill a block, or a header cut off
    position_ = block_end;
    return block_end == log_.size() ? Step::kEnd : Step::kPadding;
  }
  fragment_offset_ = position_;
  const char* header = log_.data() + position_;
  const uint32_t bytes = FragmentBytes(header);
  *type = static_cast<uint8_t>(header[6]);
  if (bytes > in_block - kLogHeaderBytes) {
    if (block_end % kLogBlockBytes != 0 && !HasFragmentWithin(position_ + 1, block_end)) {
      position_ = block_end;
      return Step::kEnd;
    }
    return Fail(position_,
                fmt::format("log record fragment claims {} bytes, which leaves its block", bytes));
  }
  if (*type == static_cast<uint8_t>(LogFragment::kZero) && bytes == 0) {
    position_ = block_end;
    return Step::kZeros;
  }
  *payload = log_.substr(position_ + kLogHeaderBytes, bytes);
  const uint32_t stored = DecodeFixed32(header);
  const uint32_t computed = MaskCrc(Crc32c({header + 6, 1 + size_t{bytes}}));
  if (stored != computed && OnlyZerosFrom(position_ + kLogHeaderBytes + bytes - 1)) {
    // The file had got its length before the power went, and not all of its bytes.
    position_ = log_.size();
    return Step::kEnd;
  }
  if (stored != computed) {
    return Fail(position_,
                fmt::format("log record checksum mismatch: stored {:08x}, computed {:08x}", stored,
                            computed));
  }
  position_ += kLogHeaderBytes + bytes;
  return Step::kFragment;
}

bool LogReader::Next(std::string_view* record) {
  bool open = false;  // a first fragment waits for its last
  joined_.clear();
  while (status_.ok()) {
    uint8_t type;
    std::string_view payload;
    const Step step = ReadFragment(&type, &payload);
    if (step == Step::kEnd) {
      return false;
    }
    if (step == Step::kZeros && open) {
      if (!OnlyZerosFrom(fragment_offset_)) {
        Fail(fragment_offset_, "zeros in the middle of a log record");
      }
      return false;
    }
    if (step != Step::kFragment) {
      continue;
    }
    switch (static_cast<LogFragment>(type)) {
      case LogFragment::kFull:
      case LogFragment::kFirst:
        // An empty first fragment at the end of a block, then the record anew: LevelDB's early
        // writers did that.
        if (open && !joined_.empty()) {
          Fail(record_offset_, "log record without end");
          return false;
        }
        record_offset_ = fragment_offset_;
        if (static_cast<LogFragment>(type) == LogFragment::kFull) {
          *record = payload;
          return true;
        }
        open = true;
        joined_ = payload;
        break;
      case LogFragment::kMiddle:
      case LogFragment::kLast:
        if (!open) {
          Fail(fragment_offset_, "log record without start");
          return false;
        }
        joined_ += payload;
        if (static_cast<LogFragment>(type) == LogFragment::kLast) {
          *record = joined_;
          return true;
        }
        break;
      default:
        Fail(fragment_offset_, fmt::format("log record fragment of unknown type {}", type));
        return false;
    }
  }
  return false;
}

}  // namespace sluice
