// Turns exceptions into a status, for work whose caller must be told how it ended.

#pragma once

#include <exception>
#include <new>
#include <string>

#include "util/status.h"

namespace sluice {

// What `work` returns; IoError if it throws, as it does when memory runs out.
template <typename Work>
Status NoThrow(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Status::IoError("out of memory");
  } catch (const std::exception& e) {
    return Status::IoError(e.what());
  }
}

}  // namespace sluice
