#include "util/status.h"

#include <cerrno>
#include <system_error>

namespace sluice {

namespace {

std::string_view CodeName(Status::Code code) {
  switch (code) {
    case Status::Code::kOk:
      return "ok";
    case Status::Code::kNotFound:
      return "not found";
    case Status::Code::kCorruption:
      return "corruption";
    case Status::Code::kNotSupported:
      return "not supported";
    case Status::Code::kInvalidArgument:
      return "invalid argument";
    case Status::Code::kBusy:
      return "busy";
    case Status::Code::kIoError:
      return "I/O error";
    case Status::Code::kNoSpace:
      return "no space";
    case Status::Code::kDeadlock:
      return "deadlock";
    case Status::Code::kConflict:
      return "conflict";
    case Status::Code::kTimedOut:
      return "timed out";
    case Status::Code::kTooLarge:
      return "too large";
    case Status::Code::kCancelled:
      return "cancelled";
  }
  return "unknown";
}

}  // namespace

Status Status::FromErrno(std::string_view context, int error) {
  std::string message(context);
  message += ": ";
  message += std::generic_category().message(error);
  switch (error) {
    case ENOENT:
      return NotFound(std::move(message));
    case ENOSPC:
    case EDQUOT:
      return NoSpace(std::move(message));
    default:
      return IoError(std::move(message));
  }
}

std::string Status::ToString() const {
  if (ok()) {
    return "ok";
  }
  std::string text(CodeName(code_));
  text += ": ";
  text += message_;
  return text;
}

Status Status::WithContext(std::string_view context) const {
  if (ok()) {
    return *this;
  }
  std::string message(context);
  message += ": ";
  message += message_;
  return {code_, std::move(message)};
}

}  // namespace sluice
