// Large buffers that are used again and again: fresh pages cost the kernel more than it takes to
// fill them.

#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "util/mutex.h"

namespace sluice {

// Thread-safe. Buffers may outlive the pool.
class BufferPool {
 public:
  // `most`: bytes of buffers that nobody uses which are kept.
  explicit BufferPool(size_t most) : idle_(std::make_shared<Idle>(most)) {}

  // At least `bytes`, with whatever is in them. Comes back to the pool with its last copy.
  std::shared_ptr<char> Take(size_t bytes) {
    Buffer buffer = idle_->Take(bytes);
    if (buffer.data == nullptr) {
      // Sizes vary a little from one use to the next.
      buffer.bytes = (bytes + bytes / 8 + kPage) & ~(kPage - 1);
      buffer.data = std::make_unique_for_overwrite<char[]>(buffer.bytes);
    }
    char* const data = buffer.data.release();
    return {data, [idle = idle_, bytes = buffer.bytes](char* back) {
              idle->Put({std::unique_ptr<char[]>(back), bytes});
            }};
  }

  // Total size of the buffers that nobody uses.
  size_t idle_bytes() const { return idle_->bytes(); }

 private:
  static constexpr size_t kPage = 4096;

  struct Buffer {
    std::unique_ptr<char[]> data;
    size_t bytes = 0;
  };

  class Idle {
   public:
    explicit Idle(size_t most) : most_(most) {}

    // The smallest that is large enough; none is there if data is null.
    Buffer Take(size_t bytes) {
      const MutexLock lock(mutex_);
      const auto at =
          std::lower_bound(buffers_.begin(), buffers_.end(), bytes,
                           [](const Buffer& buffer, size_t least) { return buffer.bytes < least; });
      if (at == buffers_.end()) {
        // The new one takes the place of the largest: else those that are too small would stay.
        if (!buffers_.empty()) {
          bytes_ -= buffers_.back().bytes;
          buffers_.pop_back();
        }
        return {};
      }
      Buffer found = std::move(*at);
      buffers_.erase(at);
      bytes_ -= found.bytes;
      return found;
    }

    size_t bytes() const {
      const MutexLock lock(mutex_);
      return bytes_;
    }

    void Put(Buffer buffer) {
      const MutexLock lock(mutex_);
      if (buffer.bytes > most_ - std::min(most_, bytes_)) {
        return;  // which frees it
      }
      bytes_ += buffer.bytes;
      const auto at =
          std::upper_bound(buffers_.begin(), buffers_.end(), buffer.bytes,
                           [](size_t size, const Buffer& other) { return size < other.bytes; });
      buffers_.insert(at, std::move(buffer));
    }

   private:
    const size_t most_;
    mutable Mutex mutex_;
    std::vector<Buffer> buffers_ SLUICE_GUARDED_BY(mutex_);  // by size
    size_t bytes_ SLUICE_GUARDED_BY(mutex_) = 0;             // of them all
  };

  const std::shared_ptr<Idle> idle_;
};

}  // namespace sluice
