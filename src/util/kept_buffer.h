// Buffers that are kept for use again, and what they may keep.

#pragma once

#include <cstddef>
#include <string>

namespace sluice {

// A few buffers of a thread together stay below 1 MiB.
inline constexpr size_t kMostKeptBytes = size_t{192} << 10;

// Clears a buffer that is used again and again, and at the end of the use gives its memory back if
// that is more than `most` bytes.
class KeptBuffer {
 public:
  explicit KeptBuffer(std::string* buffer, size_t most = kMostKeptBytes)
      : buffer_(*buffer), most_(most) {
    buffer_.clear();
  }
  KeptBuffer(const KeptBuffer&) = delete;
  KeptBuffer& operator=(const KeptBuffer&) = delete;
  ~KeptBuffer() {
    if (buffer_.capacity() > most_) {
      std::string().swap(buffer_);
    }
  }

  std::string& operator*() { return buffer_; }
  std::string* operator->() { return &buffer_; }

 private:
  std::string& buffer_;
  const size_t most_;
};

}  // namespace sluice
