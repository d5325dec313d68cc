#include "log/log_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <utility>

#include "log/durable_mark.h"

namespace sluice {

std::string LogSegmentPath(const std::string& dir, uint64_t segment) {
  return fmt::format("{}/{:06}.log", dir, segment);
}

bool ParseLogSegmentName(std::string_view name, uint64_t* segment) {
  constexpr std::string_view kSuffix = ".log";
  if (!name.ends_with(kSuffix)) {
    return false;
  }
  const char* const end = name.data() + name.size() - kSuffix.size();
  const auto parsed = std::from_chars(name.data(), end, *segment);
  return parsed.ec == std::errc() && parsed.ptr == end && *segment > 0 && *segment >> 32 == 0;
}

bool IsLogFileName(std::string_view name) {
  uint64_t segment;
  if (name.ends_with(kLogDraftSuffix)) {
    name.remove_suffix(kLogDraftSuffix.size());
  }
  return name == kDurableMarkName || ParseLogSegmentName(name, &segment);
}

namespace {

constexpr size_t kWindowBytes = size_t{256} << 10;
constexpr size_t kHeadBytes = kMostLogHeaderBytes + sizeof(LogPosition);  // of an entry, or a mark

// A segment's file, seen through a window that moves on with who looks.
class SegmentFile {
 public:
  static Status Open(Env* env, const std::string& dir, uint64_t number, size_t window_bytes,
                     std::unique_ptr<SegmentFile>* segment) {
    segment->reset(new SegmentFile(number, window_bytes));
    const std::string path = LogSegmentPath(dir, number);
    SLUICE_RETURN_IF_ERROR(env->GetFileSize(path, &(*segment)->bytes_));
    return env->NewRandomAccessFile(path, &(*segment)->file_);
  }

  uint64_t bytes() const { return bytes_; }

  // `*view`: what the file holds from `offset` on, `n` bytes or more where there are so many. Valid
  // until the next call.
  Status View(uint64_t offset, size_t n, std::string_view* view) {
    const uint64_t left = offset < bytes_ ? bytes_ - offset : 0;
    n = std::min<uint64_t>(n, left);
    if (offset < window_offset_ || offset + n > window_offset_ + window_.size()) {
      window_.resize(std::min<uint64_t>(std::max(n, window_bytes_), left));
      window_offset_ = offset;
      SLUICE_RETURN_IF_ERROR(file_->Read(offset, window_.size(), window_.data()));
    }
    *view = std::string_view(window_).substr(std::min(offset - window_offset_, window_.size()));
    return {};
  }

  // `*whole`: whether there is something at `offset`. `*entry` is valid until the next call.
  Status ReadEntry(uint64_t offset, LogEntry* entry, bool* whole) {
    *whole = false;
    std::string_view view;
    SLUICE_RETURN_IF_ERROR(View(offset, kHeadBytes, &view));
    const uint64_t bytes = LogEntryBytes(view);
    if (bytes == 0 || offset + bytes > bytes_) {
      return {};
    }
    SLUICE_RETURN_IF_ERROR(View(offset, bytes, &view));
    *whole = DecodeLogEntry(MakeLogPosition(number_, offset), view, entry);
    return {};
  }

 private:
  SegmentFile(uint64_t number, size_t window_bytes)
      : number_(number), window_bytes_(window_bytes) {}

  const uint64_t number_;
  const size_t window_bytes_;
  std::unique_ptr<RandomAccessFile> file_;
  uint64_t bytes_ = 0;
  std::string window_;
  uint64_t window_offset_ = 0;
};

class Reader {
 public:
  Reader(Env* env, const std::string& dir, LogPosition from, LogPosition until,
         LogContents* contents)
      : env_(env), dir_(dir), from_(from), until_(until), contents_(contents) {}

  Status Run(const LogVisitor& visit) {
    // Before the segments, for they may be growing.
    SLUICE_RETURN_IF_ERROR(DurableMark::Read(env_, dir_, &marked_));
    SLUICE_RETURN_IF_ERROR(FindSegments());
    contents_->begin = contents_->end = contents_->durable = from_;
    const std::vector<uint64_t> chain = Chain();
    if (chain.empty() && from_ != 0) {
      return Lost(from_, "the log is needed from there on");
    }
    for (size_t i = 0; i < chain.size(); ++i) {
      const LogPosition limit =
          std::min(until_, i + 1 < chain.size() ? previous_end_.at(chain[i + 1]) : kLogEnd);
      SLUICE_RETURN_IF_ERROR(ReadSegment(chain[i], limit, visit));
      // The mark may be older than the chain, and be in a segment that was given up: of what copies
      // that one it says nothing.
      if (chain[i] <= LogSegment(marked_)) {
        contents_->durable = std::max(contents_->durable, std::min(marked_, contents_->end));
      }
      if (contents_->end < limit) {
        break;
      }
    }
    if (contents_->end >= until_) {
      return {};
    }
    return CheckNothingSyncedBehind(contents_->end);
  }

 private:
  Status FindSegments() {
    std::vector<std::string> names;
    SLUICE_RETURN_IF_ERROR(env_->GetChildren(dir_, &names));
    for (const std::string& name : names) {
      uint64_t segment;
      if (ParseLogSegmentName(name, &segment)) {
        contents_->segments.push_back(segment);
      }
    }
    std::sort(contents_->segments.begin(), contents_->segments.end());
    for (const uint64_t segment : contents_->segments) {
      if (segment < LogSegment(from_) || segment > LogSegment(until_)) {
        continue;  // a later one may be made anew just now
      }
      std::unique_ptr<SegmentFile> file;
      SLUICE_RETURN_IF_ERROR(SegmentFile::Open(env_, dir_, segment, kHeadBytes, &file));
      LogEntry head;
      bool whole;
      SLUICE_RETURN_IF_ERROR(file->ReadEntry(0, &head, &whole));
      if (whole && head.payload.size() == sizeof(LogPosition)) {
        previous_end_[segment] = DecodeFixed64(head.payload.data());
      }
    }
    return {};
  }

  // The segments that hold the log, found from the newest back: each says where the one before it
  // ends. One that nothing leads to was given up by an earlier recovery.
  std::vector<uint64_t> Chain() const {
    for (auto newest = previous_end_.rbegin(); newest != previous_end_.rend(); ++newest) {
      std::vector<uint64_t> chain;
      for (auto at = previous_end_.find(newest->first); at != previous_end_.end();
           at = previous_end_.find(LogSegment(at->second))) {
        chain.push_back(at->first);
        if (at->first == LogSegment(from_) || at->second <= from_) {
          std::reverse(chain.begin(), chain.end());
          return chain;
        }
        if (LogSegment(at->second) >= at->first) {
          break;
        }
      }
    }
    return {};
  }

  Status ReadSegment(uint64_t segment, LogPosition limit, const LogVisitor& visit) {
    std::unique_ptr<SegmentFile> file;
    SLUICE_RETURN_IF_ERROR(SegmentFile::Open(env_, dir_, segment, kWindowBytes, &file));
    LogPosition at = std::max(from_, MakeLogPosition(segment, 0));
    if (file->bytes() < LogOffset(at)) {
      return Lost(at, fmt::format("the file has {} bytes", file->bytes()));
    }
    while (at < limit) {
      LogEntry entry;
      bool whole;
      SLUICE_RETURN_IF_ERROR(file->ReadEntry(LogOffset(at), &entry, &whole));
      if (!whole) {
        break;
      }
      const LogPosition end = at + entry.bytes;
      if (entry.is_mark()) {
        contents_->durable = std::max(contents_->durable, entry.durable);
      } else if (LogOffset(at) != 0) {
        ++contents_->records;
        SLUICE_RETURN_IF_ERROR(visit(end, entry.payload));
      }
      at = end;
    }
    contents_->live.push_back({segment, LogOffset(at)});
    contents_->end = at;
    return {};
  }

  // The log ends at `end`, unless something says that more than that was synced.
  Status CheckNothingSyncedBehind(LogPosition end) {
    if (marked_ > end) {
      return Lost(end,
                  fmt::format("it was synced up to {}, offset {}: so says {}/durable",
                              LogSegmentPath(dir_, LogSegment(marked_)), LogOffset(marked_), dir_));
    }
    for (const uint64_t segment : contents_->segments) {
      if (segment >= LogSegment(end)) {
        SLUICE_RETURN_IF_ERROR(LookForMarks(segment, end));
      }
    }
    return {};
  }

  Status LookForMarks(uint64_t segment, LogPosition end) {
    std::unique_ptr<SegmentFile> file;
    SLUICE_RETURN_IF_ERROR(SegmentFile::Open(env_, dir_, segment, kWindowBytes, &file));
    uint64_t offset = segment == LogSegment(end) ? LogOffset(end) : 0;
    for (;;) {
      std::string_view view;
      SLUICE_RETURN_IF_ERROR(file->View(offset, kWindowBytes, &view));
      if (view.size() < kLogMarkBytes) {
        return {};
      }
      for (; view.size() >= kLogMarkBytes; view.remove_prefix(1), ++offset) {
        const LogPosition at = MakeLogPosition(segment, offset);
        const LogPosition durable = DecodeFixed64(view.data() + 5);
        LogEntry entry;
        if (view[4] == 0 && durable > end && durable <= at && DecodeLogEntry(at, view, &entry)) {
          return Lost(end, fmt::format("it was synced: so says what is at {}, offset {}",
                                       LogSegmentPath(dir_, segment), offset));
        }
      }
    }
  }

  Status Lost(LogPosition at, const std::string& why) const {
    return Status::Corruption(
        fmt::format("{}, offset {}: the record there is damaged or missing, "
                    "but {}",
                    LogSegmentPath(dir_, LogSegment(at)), LogOffset(at), why));
  }

  Env* const env_;
  const std::string& dir_;
  const LogPosition from_;
  const LogPosition until_;
  LogContents* const contents_;
  LogPosition marked_ = 0;                        // in the file beside the log
  std::map<uint64_t, LogPosition> previous_end_;  // of those that begin as a segment must
};

}  // namespace

Status ReadLog(Env* env, const std::string& dir, LogPosition from, const LogVisitor& visit,
               LogContents* contents, LogPosition until) {
  *contents = {};
  return Reader(env, dir, from, until, contents).Run(visit);
}

}  // namespace sluice
