// Writes built extents where they shall live, while the next ones are built (X-Engine 3.3.2,
// asynchronous I/O).
//
// All writers of a file wait for each other's pages, because a sync waits for all that the system
// writes of the file. So a compaction leaves it few bytes to write at once: a flush, for which
// writers may be waiting, is held up by no more than these.
//
// Thread-compatible.

#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tree/extent_builder.h"
#include "tree/extent_space.h"
#include "util/io_queue.h"
#include "util/rate_limiter.h"
#include "util/status.h"

namespace sluice {

class ExtentWriter {
 public:
  using Use = RateLimiter::Use;

  // Extents go to tier `tier` and get numbers from `next_number` on. `limiter` outlives this; null:
  // no limit.
  ExtentWriter(ExtentSpace* space, size_t tier, std::atomic<uint64_t>* next_number,
               Use use = Use::kFlush, RateLimiter* limiter = nullptr);
  // Waits for what is under way; what was written is free space again unless Finish returned it.
  ~ExtentWriter() { (void)WaitForAll(); }

  // Takes `*built`, and leaves it memory of a table written before if it can. `number` is from
  // TakeNumber.
  Status Write(BuiltExtent* built, uint64_t number);
  // Writes a value extent (value_extent.h) to another tier; takes `*bytes`. Sets the place of
  // `pages`, which has number and bytes.
  Status WriteValues(std::string* bytes, size_t tier, Extent* pages);
  uint64_t TakeNumber() { return next_number_.fetch_add(1); }
  // Waits for all writes and makes them durable. The extents in the order they were written.
  Status Finish(std::vector<Extent>* extents);

  uint64_t bytes() const { return bytes_; }

 private:
  static constexpr unsigned kExtents = 4;  // under way at once
  // Written at once. The page cache takes pages as large as a write is, and where memory is
  // fragmented, or goes back to a hypervisor when free, 2 MiB in one piece cost it ten times the
  // copy.
  static constexpr size_t kPieceBytes = size_t{64} << 10;
  static constexpr unsigned kPieces = 128;
  // The same past the page cache, where each piece is a request of the device's.
  static constexpr size_t kDirectPieceBytes = size_t{256} << 10;
  // A compaction's extents that are on their way from the page cache to the device.
  static constexpr size_t kWritingBack = 4;

  struct Pending {
    std::shared_ptr<ExtentPlace> place;
    std::string memory;  // with the table
    std::vector<IoRequest> pieces;
    size_t under_way = 0;
    Status status;  // the first error
  };

  // Takes the bytes of `*built`, whose extent has number and length, and gives it a place.
  Status Submit(BuiltExtent* built, size_t tier);
  // The bytes of `*table` as whole pages at a multiple of `alignment`, in memory of `*pending`. Leaves
  // `*table` memory for the next.
  char* TakeTable(std::string* table, uint64_t alignment, Pending* pending);
  // A piece is written: returns the status of its extent if that was its last piece, else ok. Does
  // not throw.
  Status Done(IoRequest* done);
  Status WaitForAll();
  // Waits until the device has all but the newest `most` extents that were begun to be written back.
  Status FinishWriteback(size_t most);

  ExtentSpace& space_;
  const size_t tier_;
  std::atomic<uint64_t>& next_number_;
  const Use use_;
  RateLimiter* const limiter_;
  std::deque<std::unique_ptr<Pending>> pending_;
  std::vector<std::string> spare_;  // memory of tables that are written
  std::unique_ptr<IoQueue> queue_;  // destroyed before what it works on
  std::vector<Extent> extents_;
  std::vector<std::shared_ptr<ExtentPlace>> writing_back_;
  std::map<DataFile*, uint64_t> files_;  // with their FailedSyncs before the first write
  uint64_t bytes_ = 0;
};

}  // namespace sluice
