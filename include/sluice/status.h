/// @file
/// Status: the outcome of an operation, an error code with a message for human readers.
///
/// A code exists only where callers act on it differently. A Status is cheap when ok, and must not
/// be ignored: it is [[nodiscard]]. Thread-compatible, as values are.

#pragma once

#include <string>
#include <string_view>

#include "sluice/export.h"

namespace sluice {

/// An error code and a message, or ok.
class [[nodiscard]] SLUICE_EXPORT Status {
 public:
  /// What went wrong, as far as callers act on it differently.
  enum class Code {
    kOk,               ///< nothing
    kNotFound,         ///< what was asked for does not exist
    kCorruption,       ///< stored bytes are not what they must be
    kNotSupported,     ///< valid, but Sluice does not understand it, or this device cannot do it
    kInvalidArgument,  ///< misuse
    kBusy,             ///< held by another process or object
    kIoError,          ///< the system failed an operation
    kNoSpace,          ///< the device is full: free some space and go on
    // For transactions (sluice/transaction.h):
    kDeadlock,   ///< begin the transaction again
    kConflict,   ///< begin the transaction again, to see what was committed in the meantime
    kTimedOut,   ///< another transaction held the lock for longer than the caller would wait
    kTooLarge,   ///< split the transaction
    kCancelled,  ///< another thread called it off
  };

  Status() = default;  ///< ok

  /// @{
  /// An error of this code.
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
  static Status Cancelled(std::string message) { return {Code::kCancelled, std::move(message)}; }
  /// @}

  /// An I/O error that says what was tried and what the system answered. ENOENT becomes kNotFound,
  /// ENOSPC and EDQUOT become kNoSpace.
  static Status FromErrno(std::string_view context, int error);

  /// Whether there is no error.
  bool ok() const { return code_ == Code::kOk; }
  /// The error's code.
  Code code() const { return code_; }
  /// @{
  /// Whether it is an error of this code.
  bool IsNotFound() const { return code_ == Code::kNotFound; }
  bool IsCorruption() const { return code_ == Code::kCorruption; }
  bool IsNotSupported() const { return code_ == Code::kNotSupported; }
  bool IsNoSpace() const { return code_ == Code::kNoSpace; }
  /// @}

  /// Whether a transaction that failed with it may succeed when it is begun again.
  bool IsRetryable() const {
    return code_ == Code::kDeadlock || code_ == Code::kConflict || code_ == Code::kTimedOut;
  }

  /// What happened, for people; empty when ok.
  const std::string& message() const { return message_; }
  /// "corruption: 000012.ldb, offset 4096: ..."; "ok" when ok.
  std::string ToString() const;
  /// The same error, with `context` and ": " in front of its message.
  Status WithContext(std::string_view context) const;

 private:
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  Code code_ = Code::kOk;
  std::string message_;
};

/// Returns the status of `expr` from the enclosing function unless it is ok.
#define SLUICE_RETURN_IF_ERROR(expr)                                      \
  do {                                                                    \
    if (::sluice::Status sluice_outcome = (expr); !sluice_outcome.ok()) { \
      return sluice_outcome;                                              \
    }                                                                     \
  } while (false)

}  // namespace sluice
