#include "tree/metadata_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include "tree/data_dir.h"
#include "util/crc32c.h"
#include "util/files.h"
#include "util/no_throw.h"

namespace sluice {

namespace {

constexpr RedoLogOptions kLogOptions = {.segment_bytes = 1 << 20};

std::string EncodeCurrent(LogPosition position) {
  std::string text = fmt::format("{}{} ", kFormatMagic, position);
  text += fmt::format("{:08x}\n", Crc32c(text));
  return text;
}

Status DecodeCurrent(const std::string& path, std::string_view text, LogPosition* position) {
  if (text.starts_with(kFormatMagic)) {
    const char* const number = text.data() + kFormatMagic.size();
    std::from_chars(number, text.data() + text.size(), *position);
    if (text == EncodeCurrent(*position)) {
      return {};
    }
  }
  SLUICE_RETURN_IF_ERROR(CheckFormatVersion(path, text));
  return Status::Corruption(fmt::format("{}: expected \"{}POSITION CRC\", found \"{}\"", path,
                                        kFormatMagic, text.substr(0, 60)));
}

}  // namespace

Status MetadataLog::Open(Env* env, const std::string& dir, const MetadataEdit* first,
                         std::unique_ptr<MetadataLog>* log) {
  std::unique_ptr<MetadataLog> opened(new MetadataLog(env, dir));
  if (first != nullptr) {
    SLUICE_RETURN_IF_ERROR(env->CreateDir(dir + "/meta"));
    // Files left by an attempt that did not get as far as a CURRENT are worth nothing.
    std::vector<std::string> names;
    SLUICE_RETURN_IF_ERROR(env->GetChildren(dir + "/meta", &names));
    for (const std::string& name : names) {
      if (IsLogFileName(name)) {
        SLUICE_RETURN_IF_ERROR(env->RemoveFile(fmt::format("{}/meta/{}", dir, name)));
      }
    }
    SLUICE_RETURN_IF_ERROR(env->SyncDir(dir + "/meta"));
    SLUICE_RETURN_IF_ERROR(RedoLog::Open(env, dir + "/meta", kLogOptions, {}, &opened->log_));
    SLUICE_RETURN_IF_ERROR(opened->state_.Apply(*first));
  } else {
    LogContents contents;
    SLUICE_RETURN_IF_ERROR(opened->Read(&contents));
    SLUICE_RETURN_IF_ERROR(RedoLog::Open(env, dir + "/meta", kLogOptions, contents, &opened->log_));
  }
  // If there was a log, new edits can follow its previous state, so a full device is no error.
  const Status status = opened->WriteState();
  if (!status.ok() && (first != nullptr || !status.IsNoSpace())) {
    return status;
  }
  *log = std::move(opened);
  return {};
}

Status MetadataLog::ReadCurrent(Env* env, const std::string& dir, LogPosition* position) {
  const std::string path = dir + "/CURRENT";
  std::string text;
  SLUICE_RETURN_IF_ERROR(env->ReadFile(path, &text));
  return DecodeCurrent(path, text, position);
}

Status MetadataLog::OpenReadOnly(Env* env, const std::string& dir,
                                 std::unique_ptr<MetadataLog>* log) {
  std::unique_ptr<MetadataLog> opened(new MetadataLog(env, dir));
  LogContents contents;
  SLUICE_RETURN_IF_ERROR(opened->Read(&contents));
  opened->status_ = Status::InvalidArgument(fmt::format("{}: opened read-only", dir));
  *log = std::move(opened);
  return {};
}

Status MetadataLog::Read(LogContents* contents) {
  const std::string path = dir_ + "/CURRENT";
  LogPosition start = 0;
  SLUICE_RETURN_IF_ERROR(ReadCurrent(env_, dir_, &start));
  const auto apply = [&](LogPosition end, std::string_view payload) {
    MetadataEdit edit;
    Status status = edit.ReadFrom(payload);
    if (status.ok()) {
      status = state_.Apply(edit);
    }
    return status.WithContext(fmt::format("{}, record that ends at offset {}",
                                          LogSegmentPath(dir_ + "/meta", LogSegment(end)),
                                          LogOffset(end)));
  };
  SLUICE_RETURN_IF_ERROR(ReadLog(env_, dir_ + "/meta", start, apply, contents));
  if (contents->records == 0) {
    return Status::Corruption(
        fmt::format("{}: it points to offset {} of {}, where no whole state stands", path,
                    LogOffset(start), LogSegmentPath(dir_ + "/meta", LogSegment(start))));
  }
  return {};
}

Status MetadataLog::Apply(const MetadataEdit& edit) {
  SLUICE_RETURN_IF_ERROR(status_);
  std::string payload;
  edit.AppendTo(&payload);
  if (payload.empty()) {
    return {};
  }
  // A full device shows here, before anything has changed, or not at all.
  if (Status room = log_->ReserveFor(payload.size()); !room.ok()) {
    if (!room.IsNoSpace()) {
      status_ = room;
    }
    return room;
  }
  // An edit that took effect by half is as bad as one that was written by half.
  status_ = NoThrow([&] {
    SLUICE_RETURN_IF_ERROR(state_.Apply(edit));
    return Write(payload);
  });
  return status_;
}

Status MetadataLog::Rewrite() {
  SLUICE_RETURN_IF_ERROR(status_);
  const Status status = NoThrow([&] { return WriteState(/*device_full=*/true); });
  if (!status.IsNoSpace()) {
    status_ = status;
  }
  return status;
}

bool MetadataLog::worth_rewriting() const {
  constexpr uint64_t kLeastBytes = 4096;
  return edit_bytes_ >= std::min(kAheadBytes, std::max(state_bytes_ / 8, kLeastBytes)) ||
         log_->file_bytes() >= whole_bytes() + 3 * kAheadBytes;
}

Status MetadataLog::Seal() { return status_.ok() && log_ != nullptr ? log_->Seal() : status_; }

Status MetadataLog::Write(const std::string& payload) {
  LogPosition end;
  if (const Status status = log_->Append(payload, &end); !status.ok()) {
    // The state is changed already, so that it is too late to go on as before.
    return status.IsNoSpace() ? Status::IoError(status.message()) : status;
  }
  SLUICE_RETURN_IF_ERROR(log_->Sync());
  edit_bytes_ += payload.size();
  // Reserves ahead, so that a full device still takes edits that give space back.
  if (const Status status = log_->ReserveFor(kAheadBytes); !status.ok() && !status.IsNoSpace()) {
    return status;
  }
  if (edit_bytes_ <= most_edit_bytes_) {
    return {};
  }
  // Nothing depends on the new state: without space, the edits still follow the previous one.
  const Status status = WriteState();
  return status.IsNoSpace() ? Status() : status;
}

Status MetadataLog::WriteState(bool device_full) {
  std::string payload;
  state_.ToEdit().AppendTo(&payload);
  state_bytes_ = payload.size();
  edit_bytes_ = 0;
  most_edit_bytes_ = kSlackBytes;  // if this fails
  if (device_full) {
    log_->EndSegment(payload.size());
  }
  // If that begins a segment, the state is in it, and no earlier one is needed.
  SLUICE_RETURN_IF_ERROR(log_->ReserveFor(payload.size()));
  const LogPosition start = log_->end();
  LogPosition end;
  SLUICE_RETURN_IF_ERROR(log_->Append(payload, &end));
  SLUICE_RETURN_IF_ERROR(log_->Sync());
  const std::string path = dir_ + "/CURRENT";
  const std::string fresh = path + ".new";
  SLUICE_RETURN_IF_ERROR(WriteFileSynced(env_, fresh, EncodeCurrent(start)));
  SLUICE_RETURN_IF_ERROR(env_->RenameFile(fresh, path));
  SLUICE_RETURN_IF_ERROR(env_->SyncDir(dir_));
  most_edit_bytes_ = state_bytes_ + kSlackBytes;
  return log_->Release(start);
}

}  // namespace sluice
