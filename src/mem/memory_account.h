// What memtables take, counted as it is taken.

#pragma once

#include <atomic>
#include <cstddef>

namespace sluice {

// The memory of many memtables together. Thread-safe.
struct MemtableMemory {
  std::atomic<size_t> held{0};       // by all that readers or the tree still refer to
  std::atomic<size_t> unflushed{0};  // by those that hold what is in no extent yet
};

// That of one memtable. Thread-safe, except that SetFlushed is called once, after the last Add.
class MemoryAccount {
 public:
  // `all` (may be null) outlives this.
  explicit MemoryAccount(MemtableMemory* all) : all_(all) {}
  MemoryAccount(const MemoryAccount&) = delete;
  MemoryAccount& operator=(const MemoryAccount&) = delete;
  ~MemoryAccount() {
    SetFlushed();
    if (all_ != nullptr) {
      all_->held.fetch_sub(bytes(), std::memory_order_relaxed);
    }
  }

  void Add(size_t bytes) {
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
    if (all_ != nullptr) {
      all_->held.fetch_add(bytes, std::memory_order_relaxed);
      all_->unflushed.fetch_add(bytes, std::memory_order_relaxed);
    }
  }
  void Subtract(size_t bytes) { Add(~bytes + 1); }
  // From here on it does not count as unflushed.
  void SetFlushed() {
    if (all_ != nullptr && !flushed_) {
      all_->unflushed.fetch_sub(bytes(), std::memory_order_relaxed);
    }
    flushed_ = true;
  }
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  MemtableMemory* const all_;
  std::atomic<size_t> bytes_{0};
  bool flushed_ = false;
};

}  // namespace sluice
