#include "log/log_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

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

namespace {

class Reader {
 public:
  Reader(Env* env, const std::string& dir, LogPosition from, LogContents* contents)
      : env_(env), dir_(dir), from_(from), contents_(contents) {}

  Status Run(const LogVisitor& visit) {
    SLUICE_RETURN_IF_ERROR(MapSegments());
    contents_->end = from_;
    const std::vector<uint64_t> chain = Chain();
    if (chain.empty()) {
      return CheckNothingSyncedBehind(from_);
    }
    for (size_t i = 0; i < chain.size(); ++i) {
      const LogPosition limit =
          i + 1 < chain.size() ? previous_end_.at(chain[i + 1]) : ~uint64_t{0};
      contents_->live.push_back(chain[i]);
      SLUICE_RETURN_IF_ERROR(ReadSegment(chain[i], limit, visit));
      if (contents_->end < limit) {
        return CheckNothingSyncedBehind(contents_->end);
      }
    }
    return {};
  }

 private:
  Status MapSegments() {
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
      if (segment < LogSegment(from_)) {
        continue;
      }
      SLUICE_RETURN_IF_ERROR(env_->MapFile(LogSegmentPath(dir_, segment), &files_[segment]));
      LogEntry head;
      if (Read(MakeLogPosition(segment, 0), &head) && head.payload.size() == 8) {
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
      }
    }
    return {};
  }

  Status ReadSegment(uint64_t segment, LogPosition limit, const LogVisitor& visit) {
    LogPosition at = std::max(from_, MakeLogPosition(segment, 0));
    LogEntry entry;
    while (at < limit && Read(at, &entry)) {
      const LogPosition end = at + entry.bytes;
      if (!entry.is_mark() && LogOffset(at) != 0) {
        ++contents_->records;
        SLUICE_RETURN_IF_ERROR(visit(end, entry.payload));
      }
      at = end;
    }
    contents_->end = at;
    return {};
  }

  // False if there is nothing whole.
  bool Read(LogPosition at, LogEntry* entry) const {
    const std::string_view bytes = files_.at(LogSegment(at)).bytes();
    return LogOffset(at) <= bytes.size() && DecodeLogEntry(at, bytes.substr(LogOffset(at)), entry);
  }

  // The log ends at `end`, unless something behind it knows that more than that was synced.
  Status CheckNothingSyncedBehind(LogPosition end) {
    for (auto file = files_.lower_bound(LogSegment(end)); file != files_.end(); ++file) {
      const std::string_view bytes = file->second.bytes();
      const uint64_t begin = file->first == LogSegment(end) ? LogOffset(end) : 0;
      for (uint64_t offset = begin; offset + kLogMarkBytes <= bytes.size(); ++offset) {
        const LogPosition at = MakeLogPosition(file->first, offset);
        const LogPosition durable = DecodeFixed64(bytes.data() + offset + 5);
        LogEntry entry;
        if (bytes[offset + 4] == 0 && durable > end && durable <= at && Read(at, &entry)) {
          return Status::Corruption(fmt::format(
              "{}, offset {}: the record there is damaged or missing, but it was synced: so says "
              "what is at {}, offset {}",
              LogSegmentPath(dir_, LogSegment(end)), LogOffset(end),
              LogSegmentPath(dir_, file->first), offset));
        }
      }
    }
    return {};
  }

  Env* const env_;
  const std::string& dir_;
  const LogPosition from_;
  LogContents* const contents_;
  std::map<uint64_t, MappedFile> files_;          // from from_'s segment on
  std::map<uint64_t, LogPosition> previous_end_;  // of those that begin as a segment must
};

}  // namespace

Status ReadLog(Env* env, const std::string& dir, LogPosition from, const LogVisitor& visit,
               LogContents* contents) {
  *contents = {};
  return Reader(env, dir, from, contents).Run(visit);
}

}  // namespace sluice
