// Reads and writes under way while the caller does something else, by io_uring; where the kernel
// has none, or the file is not the system's, each is done when it is submitted.
//
// Thread-compatible: one queue for each thread that needs one.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "sluice/env.h"
#include "util/status.h"

namespace sluice {

struct IoRequest {
  // From the file's read_descriptor() and to its write_descriptor(), whose alignment it must have.
  // Without a descriptor they are the file's Read and Write.
  enum class Kind { kRead, kWrite };

  Kind kind = Kind::kRead;
  DataFile* file = nullptr;
  uint64_t offset = 0;
  char* data = nullptr;       // read into, or written; must stay until the request is back
  size_t bytes = 0;           // < 2 GiB; a read of fewer is an error
  Status status;              // once it is back
  IoRequest* next = nullptr;  // the queue's
};

class IoQueue {
 public:
  enum class Use { kKernelIfPossible, kNoKernel };

  // At most `depth` requests are under way at once; one more makes Submit wait for one. What the
  // kernel has not begun after `patience` without any that is done, the waiting thread does itself.
  static std::unique_ptr<IoQueue> New(
      unsigned depth, Use use = Use::kKernelIfPossible,
      std::chrono::milliseconds patience = std::chrono::seconds(10));
  // Waits for all that is under way.
  virtual ~IoQueue() = default;

  // Requests may overtake each other. This, Wait and Poll need no memory, and throw nothing: what is
  // under way must be waited for in any case.
  virtual void Submit(IoRequest* request) = 0;
  // A request that is done, waiting for one if need be; nullptr if none is left.
  virtual IoRequest* Wait() = 0;
  // As Wait, but nullptr if none is done yet.
  virtual IoRequest* Poll() = 0;
  // Does all of these at once, and waits for them. REQUIRES: nothing else is under way or done.
  virtual void Do(std::span<IoRequest> requests) = 0;

  // Whether the kernel does the work.
  virtual bool asynchronous() = 0;
};

}  // namespace sluice
