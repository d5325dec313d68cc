// A key that is put together from pieces of a block.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

namespace sluice {

// Most keys take no allocation, where a std::string allocates from 16 bytes on.
class KeyBuffer {
 public:
  // Not "= default", after which KeyBuffer() would clear what is never read before it is written.
  // NOLINTNEXTLINE(modernize-use-equals-default)
  KeyBuffer() {}
  KeyBuffer(const KeyBuffer& other) : KeyBuffer() { Assign(other.view()); }
  KeyBuffer& operator=(const KeyBuffer& other) {
    if (this != &other) {
      Assign(other.view());
    }
    return *this;
  }

  size_t size() const { return size_; }
  const char* data() const { return data_; }
  std::string_view view() const { return {data_, size_}; }

  void Clear() { size_ = 0; }
  void Assign(std::string_view key) { Replace(0, key.data(), key.size(), key.size()); }
  void Append(std::string_view more) { Replace(size_, more.data(), more.size(), more.size()); }
  // Puts `bytes` bytes behind the first `kept`. So many as `readable` can be read, which is not less;
  // REQUIRES: kept <= size().
  void Replace(size_t kept, const char* more, size_t bytes, size_t readable) {
    if (kept + std::max(bytes, kPiece) > capacity_) [[unlikely]] {
      Grow(kept, std::max(bytes, kPiece));
    }
    if (bytes <= kPiece && readable >= kPiece) [[likely]] {
      std::memcpy(data_ + kept, more, kPiece);
    } else if (bytes > 0) {
      std::memcpy(data_ + kept, more, bytes);
    }
    size_ = kept + bytes;
  }

 private:
  static constexpr size_t kPiece = 32;  // is copied faster than what is shorter

  void Grow(size_t kept, size_t bytes) {
    const size_t capacity = std::max(2 * capacity_, kept + bytes);
    auto memory = std::make_unique_for_overwrite<char[]>(capacity);
    std::memcpy(memory.get(), data_, kept);
    heap_ = std::move(memory);
    data_ = heap_.get();
    capacity_ = capacity;
  }

  size_t size_ = 0;
  size_t capacity_ = sizeof(here_);
  char* data_ = here_;
  std::unique_ptr<char[]> heap_;
  char here_[96];
};

}  // namespace sluice
