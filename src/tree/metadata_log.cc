#include "tree/metadata_log.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <vector>

#include "util/crc32c.h"

namespace sluice {

namespace {

constexpr std::string_view kMagic = "sluice 2 ";
constexpr RedoLogOptions kLogOptions = {.segment_bytes = 1 << 20, .spare_segments = 1};

std::string EncodeCurrent(LogPosition position) {
  std::string text = fmt::format("{}{} ", kMagic, position);
  text += fmt::format("{:08x}\n", Crc32c(text));
  return text;
}

Status DecodeCurrent(const std::string& path, std::string_view text, LogPosition* position) {
  if (text.starts_with(kMagic)) {
    const char* const number = text.data() + kMagic.size();
    std::from_chars(number, text.data() + text.size(), *position);
    if (text == EncodeCurrent(*position)) {
      return {};
    }
  }
  return Status::Corruption(fmt::format("{}: expected \"{}POSITION CRC\", found \"{}\"", path,
                                        kMagic, text.substr(0, 60)));
}

}  // namespace

Status MetadataLog::Open(Env* env, const std::string& dir, const MetadataEdit* first,
                         std::unique_ptr<MetadataLog>* log) {
  std::unique_ptr<MetadataLog> opened(new MetadataLog(env, dir));
  const Status exists = env->FileExists(dir + "/CURRENT");
  if (exists.IsNotFound() && first != nullptr) {
    SLUICE_RETURN_IF_ERROR(env->CreateDir(dir + "/meta"));
    // What an attempt that did not come to a CURRENT left there is worth nothing.
    std::vector<std::string> names;
    SLUICE_RETURN_IF_ERROR(env->GetChildren(dir + "/meta", &names));
    for (const std::string& name : names) {
      SLUICE_RETURN_IF_ERROR(env->RemoveFile(fmt::format("{}/meta/{}", dir, name)));
    }
    SLUICE_RETURN_IF_ERROR(env->SyncDir(dir + "/meta"));
    SLUICE_RETURN_IF_ERROR(RedoLog::Open(env, dir + "/meta", kLogOptions, {}, &opened->log_));
    SLUICE_RETURN_IF_ERROR(opened->state_.Apply(*first));
  } else {
    SLUICE_RETURN_IF_ERROR(exists);
    SLUICE_RETURN_IF_ERROR(opened->Recover());
  }
  SLUICE_RETURN_IF_ERROR(opened->WriteState());
  *log = std::move(opened);
  return {};
}

Status MetadataLog::Recover() {
  const std::string path = dir_ + "/CURRENT";
  std::string text;
  SLUICE_RETURN_IF_ERROR(env_->ReadFile(path, &text));
  LogPosition start = 0;
  SLUICE_RETURN_IF_ERROR(DecodeCurrent(path, text, &start));
  LogContents contents;
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
  SLUICE_RETURN_IF_ERROR(ReadLog(env_, dir_ + "/meta", start, apply, &contents));
  if (contents.records == 0) {
    return Status::Corruption(
        fmt::format("{}: it points to offset {} of {}, where no whole state stands", path,
                    LogOffset(start), LogSegmentPath(dir_ + "/meta", LogSegment(start))));
  }
  return RedoLog::Open(env_, dir_ + "/meta", kLogOptions, contents, &log_);
}

Status MetadataLog::Apply(const MetadataEdit& edit) {
  SLUICE_RETURN_IF_ERROR(status_);
  std::string payload;
  edit.AppendTo(&payload);
  if (!payload.empty()) {
    status_ = state_.Apply(edit);
    if (status_.ok()) {
      status_ = Write(payload);
    }
  }
  return status_;
}

Status MetadataLog::Write(const std::string& payload) {
  LogPosition end;
  SLUICE_RETURN_IF_ERROR(log_->Append(payload, &end));
  SLUICE_RETURN_IF_ERROR(log_->Sync());
  edit_bytes_ += payload.size();
  return edit_bytes_ > state_bytes_ + kSlackBytes ? WriteState() : Status();
}

Status MetadataLog::WriteState() {
  std::string payload;
  state_.ToEdit().AppendTo(&payload);
  const LogPosition start = log_->end();
  LogPosition end;
  SLUICE_RETURN_IF_ERROR(log_->Append(payload, &end));
  SLUICE_RETURN_IF_ERROR(log_->Sync());
  const std::string path = dir_ + "/CURRENT";
  const std::string fresh = path + ".new";
  SLUICE_RETURN_IF_ERROR(WriteFileSynced(env_, fresh, EncodeCurrent(start)));
  SLUICE_RETURN_IF_ERROR(env_->RenameFile(fresh, path));
  SLUICE_RETURN_IF_ERROR(env_->SyncDir(dir_));
  state_bytes_ = payload.size();
  edit_bytes_ = 0;
  return log_->Release(start);
}

}  // namespace sluice
