// The outcome of a call in the words of LevelDB, and of Sluice.

#pragma once

#include <leveldb/status.h>

#include <string>

#include "sluice/status.h"

namespace sluice {

inline Status FromLevelDb(const leveldb::Status& status) {
  const std::string message = status.ToString();
  return status.ok()                    ? Status()
         : status.IsNotFound()          ? Status::NotFound(message)
         : status.IsCorruption()        ? Status::Corruption(message)
         : status.IsNotSupportedError() ? Status::NotSupported(message)
         : status.IsInvalidArgument()   ? Status::InvalidArgument(message)
                                        : Status::IoError(message);
}

inline leveldb::Status ToLevelDb(const Status& status) {
  switch (status.code()) {
    case Status::Code::kOk:
      return leveldb::Status::OK();
    case Status::Code::kNotFound:
      return leveldb::Status::NotFound(status.message());
    case Status::Code::kCorruption:
      return leveldb::Status::Corruption(status.message());
    case Status::Code::kNotSupported:
      return leveldb::Status::NotSupported(status.message());
    case Status::Code::kInvalidArgument:
      return leveldb::Status::InvalidArgument(status.message());
    default:
      return leveldb::Status::IOError(status.ToString());
  }
}

}  // namespace sluice
