// The extents of one run in key order, as an immutable value: an edit makes a new index that shares
// all leaves it does not touch (X-Engine 3.1.3), so readers of the old one need no lock.
//
// Copying an index costs a reference. Thread-safe, as immutable values are.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "tree/extent.h"
#include "tree/key_words.h"
#include "util/status.h"

namespace sluice {

using ExtentPtr = std::shared_ptr<const Extent>;

class RunIndex {
 public:
  // What is known of neighbouring extents, some hundred MiB of them, without looking at each.
  struct Summary {
    uint64_t weight = 0;  // Extent::weight
    uint64_t entries = 0;
    uint64_t tombstones = 0;
    bool sliced = false;                  // one is
    uint32_t least_bytes = ~uint32_t{0};  // of those that are not full

    friend bool operator==(const Summary&, const Summary&) = default;
  };

 private:
  struct Leaf {
    std::vector<ExtentPtr> extents;
    Summary summary;
    KeyWords last_keys;  // of the extents
  };
  using Leaves = std::vector<std::shared_ptr<const Leaf>>;

 public:
  RunIndex() : leaves_(std::make_shared<const Leaves>()) {}

  size_t extents() const { return extents_; }
  uint64_t bytes() const { return bytes_; }              // live ones
  uint64_t weight() const { return weight_; }            // Extent::weight
  uint64_t whole_pages() const { return whole_pages_; }  // of extents that are no slices
  bool empty() const { return extents_ == 0; }

  // The index without `removed`, which are found by number and smallest key, and with `added`.
  // Corruption if one of `removed` is not here, or if extents of the result overlap. Costs
  // O(extents touched * leaf + leaves).
  Status Edit(const std::vector<ExtentPtr>& removed, const std::vector<ExtentPtr>& added,
              RunIndex* result) const;

  // The first extent whose largest key is at or after `internal_key`; null if there is none. Valid
  // as long as the index.
  const Extent* Find(std::string_view internal_key) const;

  // Whether an extent may have a key from the user key `first` to `last`, by its bounds.
  bool Overlaps(std::string_view first, std::string_view last) const;

  // Calls visit(first extent, summary) for some hundred MiB after another. Edits leave most of
  // these borders where they are.
  template <typename Visit>
  void VisitLeaves(const Visit& visit) const {
    for (const auto& leaf : *leaves_) {
      visit(*leaf->extents.front(), leaf->summary);
    }
  }

  // Walks the extents in order; keeps its index alive.
  class Iterator {
   public:
    explicit Iterator(const RunIndex& index) : leaves_(index.leaves_) {}

    bool Valid() const { return leaf_ < leaves_->size(); }
    void SeekToFirst();
    void SeekToLast();
    // The first extent whose largest key is at or after `internal_key`.
    void Seek(std::string_view internal_key);
    // The rest REQUIRES Valid().
    void Next();
    void Prev();
    const ExtentPtr& extent() const { return (*leaves_)[leaf_]->extents[at_]; }
    // The summary that begins with this extent; null if none does.
    const Summary* summary() const { return at_ == 0 ? &(*leaves_)[leaf_]->summary : nullptr; }
    // Over all extents of the summary that it is in.
    void NextSummary() {
      ++leaf_;
      at_ = 0;
    }

   private:
    std::shared_ptr<const Leaves> leaves_;
    size_t leaf_ = ~size_t{0};
    size_t at_ = 0;
  };

 private:
  static constexpr size_t kLeafExtents = 64;

  // As Find; *at only if there is a leaf.
  static void SeekIn(const Leaves& leaves, std::string_view internal_key, size_t* leaf, size_t* at);
  static std::shared_ptr<const Leaf> MakeLeaf(std::vector<ExtentPtr> extents);
  // The number of the leaf that has, or would have, an extent with this smallest key.
  static size_t LeafOf(const Leaves& leaves, std::string_view smallest);

  std::shared_ptr<const Leaves> leaves_;  // none is empty
  size_t extents_ = 0;
  uint64_t bytes_ = 0;
  uint64_t weight_ = 0;
  uint64_t whole_pages_ = 0;
};

}  // namespace sluice
