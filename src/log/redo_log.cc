#include "log/redo_log.h"

#include <pthread.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "util/check.h"

namespace sluice {

namespace {

// The record that begins a segment, the mark after it, and a mark before the next record.
constexpr size_t kMostSegmentHeadBytes =
    kMostLogHeaderBytes + sizeof(LogPosition) + 2 * kLogMarkBytes;

// The record that begins a segment, and the mark after it: one that has no more holds nothing.
constexpr uint64_t kEmptySegmentBytes = 4 + 1 + sizeof(LogPosition) + kLogMarkBytes;

// Longer payloads are written by themselves, not by way of the buffer.
constexpr size_t kMostBuffered = size_t{16} << 10;
constexpr uint64_t kPageBytes = 4096;

// Of what has been written, one byte in so many is reserved ahead, in so many pieces.
constexpr uint64_t kWrittenPerAhead = 16;
constexpr uint64_t kPiecesAhead = 16;

// Writes what is not known to be on disk over itself, so that its pages are dirty again, and syncs
// it. A loss of power in between leaves of it what one before would have, or more.
Status WriteTailAnew(Env* env, const std::string& dir, const LogContents& found) {
  constexpr uint64_t kPieceBytes = uint64_t{256} << 10;
  std::string piece;
  for (const LogContents::Segment& live : found.live) {
    if (live.number < LogSegment(found.durable)) {
      continue;
    }
    const std::string path = LogSegmentPath(dir, live.number);
    std::unique_ptr<DataFile> file;
    SLUICE_RETURN_IF_ERROR(env->NewDataFile(path, &file));
    uint64_t at = live.number == LogSegment(found.durable) ? LogOffset(found.durable) : 0;
    for (; at < live.bytes; at += piece.size()) {
      piece.resize(std::min(kPieceBytes, live.bytes - at));
      SLUICE_RETURN_IF_ERROR(file->Read(at, piece.size(), piece.data()));
      SLUICE_RETURN_IF_ERROR(file->Write(at, piece));
    }
    SLUICE_RETURN_IF_ERROR(file->Sync());
  }
  return env->SyncDir(dir);
}

// Where the segments begin that Open makes: all before it is on disk. Segments at the end that hold
// nothing are given up, or each Open would leave one more.
LogPosition NewSegmentsFrom(const LogContents& found) {
  LogPosition from = std::max(found.begin, found.durable);
  for (size_t count = found.live.size(); count > 0; --count) {
    const LogContents::Segment& last = found.live[count - 1];
    if (last.number != LogSegment(from) || last.bytes > kEmptySegmentBytes) {
      break;
    }
    from = count > 1 ? MakeLogPosition(found.live[count - 2].number, found.live[count - 2].bytes)
                     : found.begin;
  }
  return std::max(from, found.begin);
}

}  // namespace

Status RedoLog::Open(Env* env, const std::string& dir, const RedoLogOptions& options,
                     const LogContents& found, std::unique_ptr<RedoLog>* log) {
  bool published;
  Status status = OpenBehind(env, dir, options, found, log, &published);
  if (!status.IsNoSpace() || published || found.durable >= found.end) {
    return status;
  }
  SLUICE_RETURN_IF_ERROR(WriteTailAnew(env, dir, found));
  LogContents durable = found;
  durable.durable = found.end;
  return OpenBehind(env, dir, options, durable, log, &published);
}

RedoLog::~RedoLog() {
  if (!ahead_thread_.joinable()) {
    return;
  }
  {
    const MutexLock lock(mutex_);
    closing_ = true;
    ahead_due_.notify_one();
  }
  ahead_thread_.join();
  const MutexLock lock(mutex_);
  if (next_.file != nullptr) {
    (void)env_->RemoveFile(PathOf(next_.number));  // or the next Open does
  }
}

Status RedoLog::OpenBehind(Env* env, const std::string& dir, const RedoLogOptions& options,
                           const LogContents& found, std::unique_ptr<RedoLog>* log,
                           bool* published) {
  *published = false;
  std::unique_ptr<RedoLog> opened(new RedoLog(env, dir, options));
  SLUICE_RETURN_IF_ERROR(DurableMark::Open(env, dir, &opened->mark_));
  if (Status status = opened->GoOn(found); !status.ok()) {
    *published = !opened->drafts_;
    opened->segments_.clear();
    (void)opened->RemoveOthers();  // drafts, that is, for the space they take
    return status;
  }
  if (options.most_ahead_bytes > 0) {
    opened->ahead_thread_ = std::thread([log = opened.get()] { log->ReserveAheadLoop(); });
  }
  *log = std::move(opened);
  return {};
}

Status RedoLog::GoOn(const LogContents& found) {
  const LogPosition copied_from = NewSegmentsFrom(found);
  for (const LogContents::Segment& live : found.live) {
    const bool needed = copied_from > found.begin && live.number <= LogSegment(copied_from);
    if (needed) {
      uint64_t file_bytes;
      SLUICE_RETURN_IF_ERROR(env_->GetFileSize(LogSegmentPath(dir_, live.number), &file_bytes));
      segments_.push_back(
          {.number = live.number,
           .bytes = live.number == LogSegment(copied_from) ? LogOffset(copied_from) : live.bytes,
           .reserved = file_bytes,
           .file = nullptr});
    }
  }
  const uint64_t newest = found.segments.empty() ? 0 : found.segments.back();
  next_number_ = std::max(newest, LogSegment(found.end)) + 1;
  end_ = durable_ = copied_from;
  drafts_ = true;
  {
    const MutexLock lock(mutex_);
    SLUICE_RETURN_IF_ERROR(Roll(0));
  }
  if (copied_from < found.end) {
    LogContents copied;
    SLUICE_RETURN_IF_ERROR(ReadLog(
        env_, dir_, copied_from,
        [this](LogPosition, std::string_view payload) {
          LogPosition ignored;
          return Append(payload, &ignored);
        },
        &copied));
  }
  SLUICE_RETURN_IF_ERROR(Publish());
  written_bytes_ = 0;
  durable_ = end_;
  SLUICE_RETURN_IF_ERROR(mark_->Set(durable_));
  SLUICE_RETURN_IF_ERROR(mark_->Sync());
  return RemoveOthers();
}

Status RedoLog::Publish() {
  std::vector<uint64_t> numbers;
  for (const Segment& segment : segments_) {
    if (segment.file != nullptr) {
      SLUICE_RETURN_IF_ERROR(segment.file->Sync());
      numbers.push_back(segment.number);
    }
  }
  drafts_ = false;
  // The first one last: without it nothing leads to the others, and what they copy is read.
  for (; !numbers.empty(); numbers.pop_back()) {
    if (numbers.size() == 1 && segments_.back().number != numbers.front()) {
      SLUICE_RETURN_IF_ERROR(env_->SyncDir(dir_));
    }
    const std::string path = PathOf(numbers.back());
    SLUICE_RETURN_IF_ERROR(env_->RenameFile(path + std::string(kLogDraftSuffix), path));
  }
  SLUICE_RETURN_IF_ERROR(env_->SyncDir(dir_));
  names_changed_ = false;
  return {};
}

Status RedoLog::RemoveOthers() {
  std::vector<std::string> names;
  SLUICE_RETURN_IF_ERROR(env_->GetChildren(dir_, &names));
  for (const std::string& name : names) {
    uint64_t number;
    const bool unneeded =
        ParseLogSegmentName(name, &number) && !segments_.empty() &&
        std::none_of(segments_.begin(), segments_.end(),
                     [&](const Segment& segment) { return segment.number == number; });
    if (unneeded || (name.ends_with(kLogDraftSuffix) && IsLogFileName(name))) {
      SLUICE_RETURN_IF_ERROR(env_->RemoveFile(dir_ + "/" + name));
    }
  }
  return {};
}

std::string RedoLog::PathOf(uint64_t number) const {
  std::string path = LogSegmentPath(dir_, number);
  if (drafts_) {
    path += kLogDraftSuffix;
  }
  return path;
}

Status RedoLog::ReserveFor(uint64_t payload_bytes) {
  MutexLock lock(mutex_);
  SLUICE_RETURN_IF_ERROR(status_);
  return MakeRoom(lock, payload_bytes);
}

Status RedoLog::MakeRoom(MutexLock& lock, uint64_t payload_bytes) {
  const uint64_t most_bytes = kLogMarkBytes + kMostLogHeaderBytes + payload_bytes;
  const auto must_roll = [&]() SLUICE_REQUIRES(mutex_) {
    return rolling_ || LogOffset(end_) + most_bytes > segments_.back().limit;
  };
  const auto has_room = [&]() SLUICE_REQUIRES(mutex_) {
    return must_roll() ? kMostSegmentHeadBytes + most_bytes <= next_.reserved
                       : LogOffset(end_) + most_bytes <= segments_.back().reserved;
  };
  while (reserving_ahead_ && !has_room()) {
    ahead_done_.wait(lock);
  }
  if (must_roll()) {
    SLUICE_RETURN_IF_ERROR(Roll(payload_bytes));
  }
  return Reserve(&segments_.back(), LogOffset(end_) + most_bytes);
}

Status RedoLog::Append(std::string_view payload, LogPosition* end) {
  MutexLock lock(mutex_);
  SLUICE_RETURN_IF_ERROR(status_);
  SLUICE_RETURN_IF_ERROR(MakeRoom(lock, payload.size()));
  Segment& segment = segments_.back();
  buffer_.clear();
  if (marked_ != durable_) {
    BufferMark(end_);
  }
  BufferHeader(end_ + buffer_.size(), payload);
  const std::string_view apart = payload.size() > kMostBuffered ? payload : std::string_view();
  if (apart.empty()) {
    buffer_.append(payload);
  }
  Status status = segment.file->Write(LogOffset(end_), buffer_);
  if (status.ok() && !apart.empty()) {
    status = segment.file->Write(LogOffset(end_) + buffer_.size(), apart);
  }
  if (!status.ok()) {
    // What a device did that failed otherwise than for want of space, nobody knows.
    status_ = status.IsNoSpace() ? Status() : status;
    if (status_.ok()) {
      // A record of which only zeros are missing is whole. The next one is written over it, but a
      // crash may come first.
      (void)segment.file->Write(LogOffset(end_), std::string(kMostLogHeaderBytes, '\0'));
    }
    return status;
  }
  const uint64_t bytes = buffer_.size() + apart.size();
  SLUICE_CHECK(LogOffset(end_) + bytes <= segment.reserved);
  end_ += bytes;
  written_bytes_ += bytes;
  marked_ = durable_;
  *end = end_;
  if (!reserving_ahead_ && NextAhead().first != nullptr) {
    ahead_due_.notify_one();
  }
  return {};
}

Status RedoLog::Roll(uint64_t payload_bytes) {
  // Once the new segment says where the log before it ends, that must not go on. An error leaves a
  // file that the next attempt begins anew.
  rolling_ = true;
  Segment segment = std::exchange(next_, {});
  const uint64_t most_bytes = kMostSegmentHeadBytes + kMostLogHeaderBytes + payload_bytes;
  if (segment.file == nullptr || most_bytes > segment.limit) {
    segment = {};
    segment.number = next_number_;
    segment.limit = std::max(options_.segment_bytes, most_bytes);
    std::unique_ptr<ReservedFile> file;
    SLUICE_RETURN_IF_ERROR(env_->NewReservedFile(PathOf(segment.number), segment.limit, &file));
    segment.file = std::move(file);
  }
  names_changed_ = true;
  SLUICE_RETURN_IF_ERROR(Reserve(&segment, kMostSegmentHeadBytes));
  char before[sizeof(LogPosition)];
  EncodeFixed64(before, end_);
  const LogPosition begin = MakeLogPosition(segment.number, 0);
  buffer_.clear();
  BufferHeader(begin, {before, sizeof(before)});
  buffer_.append(before, sizeof(before));
  BufferMark(begin + buffer_.size());
  SLUICE_RETURN_IF_ERROR(segment.file->Write(0, buffer_));
  if (!segments_.empty() && segments_.back().file != nullptr) {
    segments_.back().bytes = LogOffset(end_);
  }
  segments_.push_back(std::move(segment));
  ++next_number_;
  end_ = begin + buffer_.size();
  written_bytes_ += buffer_.size();
  marked_ = durable_;
  rolling_ = false;
  return {};
}

Status RedoLog::Reserve(Segment* segment, uint64_t bytes) {
  if (bytes <= segment->reserved) {
    return {};
  }
  const uint64_t step = options_.step_bytes;
  uint64_t wanted = std::min((bytes + step - 1) / step * step, segment->limit);
  Status status = segment->file->Reserve(wanted);
  // What a full device has left is to last.
  const uint64_t least =
      std::min((bytes + kPageBytes - 1) / kPageBytes * kPageBytes, segment->limit);
  if (status.IsNoSpace() && least < wanted) {
    wanted = least;
    status = segment->file->Reserve(wanted);
  } else if (status.ok()) {
    ahead_failed_ = false;
  }
  SLUICE_RETURN_IF_ERROR(status);
  segment->reserved = wanted;
  return {};
}

std::pair<RedoLog::Segment*, uint64_t> RedoLog::NextAhead() {
  // A log that little is appended to takes no more space than it needs.
  const uint64_t written = written_bytes_ - written_before_full_;
  const uint64_t ahead = std::min(options_.most_ahead_bytes, written / kWrittenPerAhead);
  const uint64_t step = options_.step_bytes;
  const uint64_t piece = std::max(step, ahead / kPiecesAhead / step * step);
  const uint64_t wanted = LogOffset(end_) + ahead;
  Segment& last = segments_.back();
  if (ahead < step || ahead_failed_ || rolling_ || !status_.ok()) {
    return {};
  }
  if (last.reserved < last.limit) {
    return last.reserved + piece <= wanted
               ? std::pair(&last, std::min(last.reserved + piece, last.limit))
               : std::pair<Segment*, uint64_t>();
  }
  return next_.reserved < options_.segment_bytes && last.limit + next_.reserved + piece <= wanted
             ? std::pair(&next_, std::min(next_.reserved + piece, options_.segment_bytes))
             : std::pair<Segment*, uint64_t>();
}

void RedoLog::ReserveAheadLoop() {
  ::pthread_setname_np(::pthread_self(), "slc-ahead");
  MutexLock lock(mutex_);
  while (!closing_) {
    const auto [segment, bytes] = NextAhead();
    if (segment == nullptr) {
      ahead_due_.wait(lock);
      continue;
    }
    if (segment == &next_ && next_.file == nullptr) {
      next_.number = next_number_;
      next_.limit = options_.segment_bytes;
    }
    const uint64_t number = segment->number;
    const std::string path = PathOf(number);
    std::shared_ptr<ReservedFile> file = segment->file;
    reserving_ahead_ = true;
    lock.unlock();
    Status status;
    if (file == nullptr) {
      std::unique_ptr<ReservedFile> created;
      status = env_->NewReservedFile(path, options_.segment_bytes, &created);
      file = std::move(created);
    }
    if (status.ok()) {
      status = file->Reserve(bytes);
    }
    lock.lock();
    reserving_ahead_ = false;
    if (status.ok()) {
      // The next segment may be the last one by now.
      Segment& reserved = segments_.back().number == number ? segments_.back() : next_;
      reserved.file = std::move(file);
      reserved.reserved = bytes;
    }
    // Append tells of the error, if it meets it, too.
    ahead_failed_ = !status.ok();
    ahead_done_.notify_all();
  }
}

void RedoLog::BufferHeader(LogPosition position, std::string_view payload) {
  char header[kMostLogHeaderBytes];
  buffer_.append(header, EncodeLogHeader(position, payload, header));
}

void RedoLog::BufferMark(LogPosition position) {
  char mark[kLogMarkBytes];
  EncodeLogMark(position, durable_, mark);
  buffer_.append(mark, sizeof(mark));
}

Status RedoLog::Sync() {
  const MutexLock one_at_a_time(sync_mutex_);
  std::vector<std::shared_ptr<ReservedFile>> files;
  LogPosition end;
  bool names_changed;
  {
    const MutexLock lock(mutex_);
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
  if (status.ok()) {
    // The mark may lag: it states a lower bound.
    (void)mark_->Set(end);
  }
  const MutexLock lock(mutex_);
  if (!status.ok()) {
    // A second sync would say ok (PostgreSQL's fsync lesson): nothing may be promised from here on.
    // NoSpace would say that one may go on once there is some.
    status_ = status.IsNoSpace() ? Status::IoError(status.message()) : status;
    return status_;
  }
  SLUICE_CHECK(durable_ <= end);
  durable_ = end;
  for (Segment& segment : segments_) {
    if (segment.number < LogSegment(end)) {
      segment.file.reset();
    }
  }
  return {};
}

Status RedoLog::Seal() {
  SLUICE_RETURN_IF_ERROR(Sync());
  const MutexLock one_at_a_time(sync_mutex_);
  return mark_->Sync();
}

Status RedoLog::Release(LogPosition position) {
  std::vector<uint64_t> unneeded;
  {
    const MutexLock lock(mutex_);
    SLUICE_RETURN_IF_ERROR(status_);
    // Beyond that the log may hold the only copy of what was not flushed.
    SLUICE_CHECK(position <= durable_);
    while (segments_.size() > 1 && segments_.front().number < LogSegment(position)) {
      unneeded.push_back(segments_.front().number);
      segments_.pop_front();
    }
  }
  if (unneeded.empty()) {
    return {};
  }
  {
    const MutexLock one_at_a_time(sync_mutex_);
    SLUICE_RETURN_IF_ERROR(mark_->Sync());
  }
  for (const uint64_t number : unneeded) {
    SLUICE_RETURN_IF_ERROR(env_->RemoveFile(LogSegmentPath(dir_, number)));
  }
  return {};
}

void RedoLog::EndSegment(uint64_t much) {
  const MutexLock lock(mutex_);
  written_before_full_ = written_bytes_;
  if (LogOffset(end_) >= much) {
    segments_.back().limit = LogOffset(end_);
  }
}

bool RedoLog::BeginIfEnded(LogPosition* end) {
  MutexLock lock(mutex_);
  if (!status_.ok() || (!rolling_ && LogOffset(end_) < segments_.back().limit)) {
    return false;
  }
  while (reserving_ahead_) {
    ahead_done_.wait(lock);
  }
  // The next Append tries again, and tells of any error.
  if (!Roll(0).ok()) {
    return false;
  }
  *end = end_;
  return true;
}

LogPosition RedoLog::end() const {
  const MutexLock lock(mutex_);
  return end_;
}

LogPosition RedoLog::durable() const {
  const MutexLock lock(mutex_);
  return durable_;
}

uint64_t RedoLog::BytesFrom(LogPosition position) const {
  const MutexLock lock(mutex_);
  uint64_t bytes = 0;
  for (const Segment& segment : segments_) {
    const uint64_t used = &segment == &segments_.back() ? LogOffset(end_) : segment.bytes;
    const uint64_t before = segment.number == LogSegment(position) ? LogOffset(position) : 0;
    if (segment.number >= LogSegment(position)) {
      bytes += used - std::min(used, before);
    }
  }
  return bytes;
}

uint64_t RedoLog::written_bytes() const {
  const MutexLock lock(mutex_);
  return written_bytes_;
}

uint64_t RedoLog::file_bytes() const {
  const MutexLock lock(mutex_);
  uint64_t bytes = next_.reserved;
  for (const Segment& segment : segments_) {
    bytes += segment.reserved;
  }
  return bytes;
}

}  // namespace sluice
