// Status: the outcome of an operation, an error code with a message for people.
//
// Codes exist only where a caller acts differently on them. A Status is cheap when ok, and must be
// looked at: it is [[nodiscard]]. Thread-compatible, as a value.

#pragma once

#include <string>
#include <string_view>

namespace sluice {

class [[nodiscard]] Status {
 public:
  enum class Code {
    kOk,
    kNotFound,      // the thing asked for does not exist
    kCorruption,    // stored bytes are not what they must be
    kNotSupported,  // valid, but nothing that Sluice understands or that this device can do
    kInvalidArgument,
    kBusy,  // somebody else holds it
    kIoError,
    kNoSpace,  // the device is full: free some and go on
    // Of transactions (sluice/transaction.h).
    kDeadlock,  // begin the transaction again
    kConflict,  // begin the transaction again, to see what has come meanwhile
    kTimedOut,  // somebody else holds it, longer than the caller would wait
    kTooLarge,  // do it in parts
  };

  Status() = default;  // ok

  static Status NotFound(std::string message) { return {Code::kNotFound, std::move(message)}; }
  static Status Corruption(std::string message) { return {Code::kCorruption, std::move(message)}; }
  static Status NotSupported(std::string message) {
    return {Code::kNotSupported, std::move(message)};
  }
  static Status InvalidArgument(std::string message) {
    return {Code::kInvalidArgument, std::move(message)};
  }
  static Status Busy(std::string message) { return {Code::kBusy, std::move(message)}; }
  static Status IoError(std::string message) { return {Code::kIoError, std::move(message)}; }
  static Status NoSpace(std::string message) { return {Code::kNoSpace, std::move(message)}; }
  static Status Deadlock(std::string message) { return {Code::kDeadlock, std::move(message)}; }
  static Status Conflict(std::string message) { return {Code::kConflict, std::move(message)}; }
  static Status TimedOut(std::string message) { return {Code::kTimedOut, std::move(message)}; }
  static Status TooLarge(std::string message) { return {Code::kTooLarge, std::move(message)}; }
  // An I/O error that says what was tried and what the system answered; ENOENT is kNotFound, ENOSPC
  // and EDQUOT are kNoSpace.
  static Status FromErrno(std::string_view context, int error);

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  bool IsNotFound() const { return code_ == Code::kNotFound; }
  bool IsCorruption() const { return code_ == Code::kCorruption; }
  bool IsNotSupported() const { return code_ == Code::kNotSupported; }
  bool IsNoSpace() const { return code_ == Code::kNoSpace; }
  // Whether a transaction that met it may do better when it is begun again.
  bool IsRetryable() const {
    return code_ == Code::kDeadlock || code_ == Code::kConflict || code_ == Code::kTimedOut;
  }

  const std::string& message() const { return message_; }
  // "corruption: 000012.ldb, offset 4096: ..."; "ok" when ok.
  std::string ToString() const;
  // The same error, its message led by `context` and ": ".
  Status WithContext(std::string_view context) const;

 private:
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  Code code_ = Code::kOk;
  std::string message_;
};

// Leaves the function with the status of `expr` unless it is ok.
#define SLUICE_RETURN_IF_ERROR(expr)                                      \
  do {                                                                    \
    if (::sluice::Status sluice_outcome = (expr); !sluice_outcome.ok()) { \
      return sluice_outcome;                                              \
    }                                                                     \
  } while (false)

}  // namespace sluice
