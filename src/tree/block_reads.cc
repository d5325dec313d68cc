#include "tree/block_reads.h"

#include <algorithm>
#include <span>

#include "sluice/env.h"
#include "tree/extent_space.h"
#include "util/alignment.h"
#include "util/fork_mark.h"
#include "util/io_queue.h"
#include "util/thread_owned.h"

namespace sluice {

namespace {

constexpr unsigned kDepth = 32;

// The thread's own. A child after fork makes a new one: the ring that it has a copy of is its
// parent's.
IoQueue& ThreadQueue() {
  struct Queue {
    std::unique_ptr<IoQueue> queue = IoQueue::New(kDepth);
    ForkMark made;
  };
  thread_local ThreadOwned<Queue> own;
  Queue& queue = *own;
  if (queue.made.IsCopy()) [[unlikely]] {
    queue = {};
  }
  // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDelete): what was deleted is not what is there now
  return *queue.queue;
}

}  // namespace

bool BlockReads::Want(const Extent& extent, uint64_t offset, uint64_t bytes) {
  const auto same = std::find_if(pieces_.begin(), pieces_.end(), [&](const Piece& piece) {
    return piece.number == extent.number && piece.offset == offset;
  });
  if (same != pieces_.end()) {
    if (static_cast<size_t>(same - pieces_.begin()) < tried_) {
      return false;
    }
    same->bytes = std::max(same->bytes, bytes);
  } else {
    if (bytes > kMostBytes - bytes_) {
      return false;
    }
    bytes_ += bytes;
    pieces_.push_back({&extent, extent.number, offset, bytes, nullptr});
  }
  wanted_ = true;
  return true;
}

void BlockReads::Read() {
  // Each piece at a multiple of the largest alignment, with what its own makes it longer.
  uint64_t alignment = 1;
  for (size_t i = tried_; i < pieces_.size(); ++i) {
    const DataFile& file = *pieces_[i].extent->place->file();
    alignment = std::max<uint64_t>(alignment, file.read_descriptor().alignment);
  }
  std::vector<IoRequest> requests;
  uint64_t bytes = 0;
  for (size_t i = tried_; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    const uint64_t begin = piece.extent->place->offset() + piece.offset;
    IoRequest& request = requests.emplace_back();
    request.kind = IoRequest::Kind::kRead;
    request.file = piece.extent->place->file();
    request.offset = RoundDown(begin, alignment);
    request.bytes = RoundUp(begin + piece.bytes, alignment) - request.offset;
    bytes += request.bytes;
  }
  char* const memory =
      memory_.emplace_back(std::make_unique_for_overwrite<char[]>(bytes + alignment)).get();
  char* at = AlignUp(memory, alignment);
  for (IoRequest& request : requests) {
    request.data = at;
    at += request.bytes;
  }
  ThreadQueue().Do(requests);
  for (const IoRequest& request : requests) {
    Piece& piece = pieces_[tried_++];
    if (request.status.ok()) {
      piece.data = request.data + piece.extent->place->offset() + piece.offset - request.offset;
    }
  }
}

std::string_view BlockReads::Find(const Extent& extent, uint64_t offset, uint64_t least) const {
  for (const Piece& piece : pieces_) {
    if (piece.number == extent.number && piece.offset == offset && piece.data != nullptr &&
        piece.bytes >= least) {
      return {piece.data, piece.bytes};
    }
  }
  return {};
}

void BlockReads::Clear() {
  pieces_.clear();
  memory_.clear();
  tried_ = 0;
  bytes_ = 0;
  wanted_ = false;
}

Status ReadPiece(const Extent& extent, uint64_t offset, uint64_t bytes, BlockReads* reads,
                 std::string* buffer, std::string_view* piece) {
  *piece = reads == nullptr ? std::string_view() : reads->Find(extent, offset, bytes);
  if (!piece->empty() || (reads != nullptr && reads->Want(extent, offset, bytes))) {
    return {};
  }
  buffer->resize(bytes);
  *piece = *buffer;
  return extent.place->file()->Read(extent.place->offset() + offset, bytes, buffer->data());
}

}  // namespace sluice
