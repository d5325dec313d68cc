#include "log/redo_log.h"

#include <algorithm>
#include <utility>

namespace sluice {

namespace {

// The record that begins a segment, and two marks: behind it, and in front of the next.
constexpr size_t kMostSegmentHeadBytes =
    kMostLogHeaderBytes + sizeof(LogPosition) + 2 * kLogMarkBytes;

}  // namespace

Status RedoLog::Open(Env* env, const std::string& dir, const RedoLogOptions& options,
                     const LogContents& found, std::unique_ptr<RedoLog>* log) {
  std::unique_ptr<RedoLog> opened(new RedoLog(env, dir, options));
  const std::lock_guard lock(opened->mutex_);
  for (const uint64_t number : found.segments) {
    uint64_t bytes;
    SLUICE_RETURN_IF_ERROR(env->GetFileSize(LogSegmentPath(dir, number), &bytes));
    // Those given up may hold records of numbers that are yet to come in use again, never of the
    // same number: the next number is above them all.
    const bool live = std::find(found.live.begin(), found.live.end(), number) != found.live.end();
    if (!live) {
      opened->spares_.push_back({number, bytes, nullptr});
      continue;
    }
    std::unique_ptr<FixedFile> file;
    SLUICE_RETURN_IF_ERROR(env->NewFixedFile(LogSegmentPath(dir, number), bytes, &file));
    SLUICE_RETURN_IF_ERROR(file->Sync());
    opened->segments_.push_back({number, bytes, nullptr});
  }
  SLUICE_RETURN_IF_ERROR(env->SyncDir(dir));
  opened->end_ = opened->durable_ = found.end;
  const uint64_t newest = found.segments.empty() ? 0 : found.segments.back();
  SLUICE_RETURN_IF_ERROR(
      opened->OpenSegment(std::max(newest, LogSegment(found.end)) + 1, options.segment_bytes));
  *log = std::move(opened);
  return {};
}

Status RedoLog::Append(std::string_view payload, LogPosition* end) {
  const std::lock_guard lock(mutex_);
  SLUICE_RETURN_IF_ERROR(status_);
  if (LogOffset(end_) + kLogMarkBytes + kMostLogHeaderBytes + payload.size() >
      segments_.back().bytes) {
    status_ = Roll(payload.size());
    SLUICE_RETURN_IF_ERROR(status_);
  }
  if (marked_ != durable_) {
    WriteMark();
  }
  WriteRecord(payload);
  *end = end_;
  return status_;
}

Status RedoLog::Roll(uint64_t payload_bytes) {
  return OpenSegment(
      segments_.back().number + 1,
      std::max<uint64_t>(options_.segment_bytes,
                         kMostSegmentHeadBytes + kMostLogHeaderBytes + payload_bytes));
}

Status RedoLog::OpenSegment(uint64_t number, uint64_t bytes) {
  const std::string path = LogSegmentPath(dir_, number);
  const auto spare = std::find_if(spares_.begin(), spares_.end(),
                                  [&](const Segment& segment) { return segment.bytes == bytes; });
  if (spare != spares_.end()) {
    // The name must be durable before the first byte: were it lost and the bytes not, a later
    // segment of the same number could be made of the file that has them.
    SLUICE_RETURN_IF_ERROR(env_->RenameFile(LogSegmentPath(dir_, spare->number), path));
    SLUICE_RETURN_IF_ERROR(env_->SyncDir(dir_));
    spares_.erase(spare);
  }
  std::unique_ptr<FixedFile> file;
  SLUICE_RETURN_IF_ERROR(env_->NewFixedFile(path, bytes, &file));
  names_changed_ = true;
  segments_.push_back({number, bytes, std::move(file)});
  char before[sizeof(LogPosition)];
  EncodeFixed64(before, end_);
  end_ = MakeLogPosition(number, 0);
  WriteRecord({before, sizeof(before)});
  WriteMark();
  return status_;
}

void RedoLog::WriteRecord(std::string_view payload) {
  char header[kMostLogHeaderBytes];
  WriteBytes({header, EncodeLogHeader(end_, payload, header)}, payload);
}

void RedoLog::WriteMark() {
  char mark[kLogMarkBytes];
  EncodeLogMark(end_, durable_, mark);
  WriteBytes({mark, sizeof(mark)}, {});
  marked_ = durable_;
}

void RedoLog::WriteBytes(std::string_view head, std::string_view body) {
  FixedFile* const file = segments_.back().file.get();
  if (status_.ok()) {
    status_ = file->Write(LogOffset(end_), head);
  }
  if (status_.ok()) {
    status_ = file->Write(LogOffset(end_) + head.size(), body);
  }
  if (status_.ok()) {
    end_ += head.size() + body.size();
    written_bytes_ += head.size() + body.size();
  }
}

Status RedoLog::Sync() {
  const std::lock_guard one_at_a_time(sync_mutex_);
  std::vector<std::shared_ptr<FixedFile>> files;
  LogPosition end;
  bool names_changed;
  {
    const std::lock_guard lock(mutex_);
    SLUICE_RETURN_IF_ERROR(status_);
    if (durable_ == end_) {
      return {};
    }
    end = end_;
    names_changed = std::exchange(names_changed_, false);
    for (const Segment& segment : segments_) {
      if (segment.file != nullptr) {
        files.push_back(segment.file);
      }
    }
  }
  Status status;
  for (size_t i = 0; i < files.size() && status.ok(); ++i) {
    status = files[i]->Sync();
  }
  if (status.ok() && names_changed) {
    status = env_->SyncDir(dir_);
  }
  const std::lock_guard lock(mutex_);
  if (!status.ok()) {
    // What a failed sync left on disk is unknown, and a second one would say ok (PostgreSQL's
    // fsync lesson): nothing may be promised from here on.
    status_ = status;
    return status;
  }
  durable_ = end;
  for (Segment& segment : segments_) {
    if (segment.number < LogSegment(end)) {
      segment.file.reset();
    }
  }
  return {};
}

Status RedoLog::Release(LogPosition position) {
  const std::lock_guard one_at_a_time(sync_mutex_);  // Sync holds on to files by their names
  const std::lock_guard lock(mutex_);
  SLUICE_RETURN_IF_ERROR(status_);
  while (segments_.front().number < LogSegment(position)) {
    Segment segment = std::move(segments_.front());
    segments_.pop_front();
    segment.file.reset();
    spares_.push_back(std::move(segment));
  }
  // Odd sizes first: only those of the usual size are ever used again.
  std::stable_partition(spares_.begin(), spares_.end(), [&](const Segment& segment) {
    return segment.bytes == options_.segment_bytes;
  });
  while (spares_.size() > options_.spare_segments) {
    SLUICE_RETURN_IF_ERROR(env_->RemoveFile(LogSegmentPath(dir_, spares_.back().number)));
    spares_.pop_back();
  }
  return {};
}

LogPosition RedoLog::end() const {
  const std::lock_guard lock(mutex_);
  return end_;
}

LogPosition RedoLog::durable() const {
  const std::lock_guard lock(mutex_);
  return durable_;
}

uint64_t RedoLog::written_bytes() const {
  const std::lock_guard lock(mutex_);
  return written_bytes_;
}

uint64_t RedoLog::file_bytes() const {
  const std::lock_guard lock(mutex_);
  uint64_t bytes = 0;
  for (const Segment& segment : segments_) {
    bytes += segment.bytes;
  }
  for (const Segment& segment : spares_) {
    bytes += segment.bytes;
  }
  return bytes;
}

}  // namespace sluice
