// A unit of what is needed to read an extent besides its data blocks, as the table cache holds it.
//
// Immutable but for the cache's marks; counted references, because readers keep a unit beyond an
// epoch while the table cache lets go of it.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "table/codec.h"
#include "tree/block_index.h"
#include "util/status.h"

namespace sluice {

class HeadUnit {
 public:
  HeadUnit(const HeadUnit&) = delete;
  HeadUnit& operator=(const HeadUnit&) = delete;

  size_t memory_bytes() const { return memory_bytes_; }
  void Ref() { references_.fetch_add(1, std::memory_order_relaxed); }
  void Unref() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete this;
    }
  }

 protected:
  HeadUnit() = default;
  virtual ~HeadUnit() = default;

  size_t memory_bytes_ = 0;

 private:
  friend class TableCache;

  std::atomic<uint32_t> references_{1};
  std::atomic<bool> used_{true};
  uint32_t number_ = 0;  // in the cache's clock
};

// A counted reference; T has Ref and Unref.
template <typename T>
class CountedRef {
 public:
  CountedRef() = default;
  CountedRef(const CountedRef&) = delete;
  CountedRef& operator=(const CountedRef&) = delete;
  ~CountedRef() { Reset(nullptr); }

  // Holds `object` from now on; the caller's guard or reference keeps it alive meanwhile.
  void Reset(T* object) {
    if (object != nullptr) {
      object->Ref();
    }
    if (T* const before = std::exchange(object_, object); before != nullptr) {
      before->Unref();
    }
  }
  T* operator->() const { return object_; }
  T* get() const { return object_; }

 private:
  T* object_ = nullptr;
};

// An index with what is needed to read its blocks. It is one of two: all of a table's index, without
// filters, for who goes through the whole table; or a part of the extent's head, with the filters of
// its blocks (extent_tail.h).
class TableHead final : public HeadUnit, public BlockIndex {
 public:
  // Corruption if it has no blocks, or does not end with `last_key`.
  static Status Make(std::string_view contents, std::string_view last_key, TableHead** head,
                     std::shared_ptr<const ZstdDictionary> dictionary = nullptr);

  // What data blocks are compressed with, if this is a whole index; null if there is none.
  const ZstdDictionary* dictionary() const { return dictionary_.get(); }

 private:
  std::shared_ptr<const ZstdDictionary> dictionary_;
};

using TableHeadRef = CountedRef<TableHead>;

// What an extent's data blocks are compressed with.
class HeadDictionary final : public HeadUnit {
 public:
  explicit HeadDictionary(std::unique_ptr<const ZstdDictionary> dictionary)
      : dictionary_(std::move(dictionary)) {
    memory_bytes_ = sizeof(HeadDictionary) + dictionary_->memory_bytes();
  }

  const std::shared_ptr<const ZstdDictionary>& dictionary() const { return dictionary_; }

 private:
  const std::shared_ptr<const ZstdDictionary> dictionary_;
};

}  // namespace sluice
