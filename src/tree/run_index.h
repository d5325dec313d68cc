// The extents of one run in key order, as an immutable value: an edit makes a new index that shares
// all leaves, and nodes of leaves, that it does not touch (X-Engine 3.1.3), so readers of the old one
// need no lock, and what an edit changed can be told from the two.
//
// Copying an index costs a reference. Thread-safe, as immutable values are.

#pragma once

#include <algorithm>
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
    uint64_t shadowed = 0;
    bool sliced = false;       // one is
    uint64_t thin_slices = 0;  // slices of less than half of their tables
    // The sizes of the first and the last one, and the least that two neighbours have, of which the
    // larger counts. Full ones are of any size.
    uint32_t first_bytes = ~uint32_t{0};
    uint32_t last_bytes = ~uint32_t{0};
    uint32_t least_pair_bytes = ~uint32_t{0};

    static Summary Of(const Extent& extent);
    // Those that come right behind.
    void Append(const Summary& next);
    friend bool operator==(const Summary&, const Summary&) = default;
  };

 private:
  struct Leaf {
    std::vector<ExtentPtr> extents;
    Summary summary;
    KeyWords last_keys;  // of the extents
  };
  using Leaves = std::vector<std::shared_ptr<const Leaf>>;
  struct Node {
    Leaves leaves;
    Summary summary;

    const Extent& first() const { return *leaves.front()->extents.front(); }
    const Extent& last() const { return *leaves.back()->extents.back(); }
  };
  using Nodes = std::vector<std::shared_ptr<const Node>>;

 public:
  RunIndex() : nodes_(std::make_shared<const Nodes>()) {}

  size_t extents() const { return extents_; }
  uint64_t bytes() const { return bytes_; }              // live ones
  uint64_t weight() const { return weight_; }            // Extent::weight
  uint64_t whole_pages() const { return whole_pages_; }  // of extents that are no slices
  bool empty() const { return extents_ == 0; }

  // The index without `removed`, which are found by number and smallest key, and with `added`.
  // Corruption if one of `removed` is not here, or if extents of the result overlap. Costs
  // O(extents touched * leaf + nodes touched * node + nodes).
  Status Edit(const std::vector<ExtentPtr>& removed, const std::vector<ExtentPtr>& added,
              RunIndex* result) const;

  // The first extent whose largest key is at or after `internal_key`; null if there is none. Valid
  // as long as the index.
  const Extent* Find(std::string_view internal_key) const;

  // Whether an extent may have a key from the user key `first` to `last`, by its bounds.
  bool Overlaps(std::string_view first, std::string_view last) const;

  // Calls visit(first extent, summary) for some hundred MiB after another: for every `step`th of
  // those from the `first` up to the `end`. Edits leave most of these borders where they are.
  template <typename Visit>
  void VisitLeaves(const Visit& visit, size_t first = 0, size_t end = ~size_t{0},
                   size_t step = 1) const {
    size_t at = 0;  // the first leaf of the node
    for (auto node = nodes_->begin(); node != nodes_->end() && first < end; ++node) {
      const Leaves& leaves = (*node)->leaves;
      for (; first < std::min(at + leaves.size(), end); first += step) {
        visit(*leaves[first - at]->extents.front(), leaves[first - at]->summary);
      }
      at += leaves.size();
    }
  }
  size_t leaves() const;
  // How many of them begin before the user key.
  size_t LeavesBefore(std::string_view user_key) const;

  // The summaries that two indexes do not share, by their places: those before `first` are the same
  // in both, and those from `before_end` on in the one, and from `after_end` on in the other.
  struct LeafChange {
    size_t first = 0;
    size_t before_end = 0;
    size_t after_end = 0;
  };
  static LeafChange ChangedLeaves(const RunIndex& before, const RunIndex& after);

  // Calls gone(extent) for those of `before`, and come(extent) for those of `after`, that the other
  // index does not have, each in key order. Costs O(nodes + leaves that are not shared), if the one
  // was made by edits of the other.
  template <typename Gone, typename Come>
  static void VisitChanges(const RunIndex& before, const RunIndex& after, const Gone& gone,
                           const Come& come) {
    if (before.nodes_ == after.nodes_) {
      return;
    }
    Iterator a(before);
    Iterator b(after);
    a.SeekToFirst();
    b.SeekToFirst();
    while (a.Valid() || b.Valid()) {
      if (a.Valid() && b.Valid() && a.SkipShared(&b)) {
        continue;
      }
      if (!b.Valid() ||
          (a.Valid() && CompareInternalKeys(a.extent()->smallest, b.extent()->smallest) <= 0)) {
        gone(a.extent());
        a.Next();
      } else {
        come(b.extent());
        b.Next();
      }
    }
  }

  // Walks the extents in order; keeps its index alive.
  class Iterator {
   public:
    explicit Iterator(const RunIndex& index) : nodes_(index.nodes_) {}

    bool Valid() const { return node_ < nodes_->size(); }
    void SeekToFirst();
    void SeekToLast();
    // The first extent whose largest key is at or after `internal_key`.
    void Seek(std::string_view internal_key);
    // The rest REQUIRES Valid().
    void Next();
    void Prev();
    const ExtentPtr& extent() const { return leaf().extents[at_]; }
    // The summary that begins with this extent; null if none does.
    const Summary* summary() const { return at_ == 0 ? &leaf().summary : nullptr; }
    // The one behind that; null if there is none.
    const Summary* next_summary() const;
    // Over all extents of the summary that it is in.
    void NextSummary();
    // The same for a hundred summaries or so, that is some ten GiB.
    const Summary* large_summary() const {
      return at_ == 0 && leaf_ == 0 ? &(*nodes_)[node_]->summary : nullptr;
    }
    const Summary* next_large_summary() const {
      return node_ + 1 < nodes_->size() ? &(*nodes_)[node_ + 1]->summary : nullptr;
    }
    void NextLargeSummary() {
      ++node_;
      leaf_ = at_ = 0;
    }

   private:
    friend class RunIndex;

    const Leaf& leaf() const { return *(*nodes_)[node_]->leaves[leaf_]; }
    // Both go on behind what they stand at, if that is the same.
    bool SkipShared(Iterator* other);

    std::shared_ptr<const Nodes> nodes_;
    size_t node_ = ~size_t{0};
    size_t leaf_ = 0;
    size_t at_ = 0;
  };

 private:
  static constexpr size_t kLeafExtents = 64;
  static constexpr size_t kNodeLeaves = 128;

  // As Find; leaf and at only if there is a node.
  struct Position {
    size_t node = 0;
    size_t leaf = 0;
    size_t at = 0;
  };
  static Position SeekIn(const Nodes& nodes, std::string_view internal_key);
  static std::shared_ptr<const Leaf> MakeLeaf(std::vector<ExtentPtr> extents);
  static std::shared_ptr<const Node> MakeNode(Leaves leaves);
  // The leaf that has, or would have, an extent with this smallest key.
  static Position LeafOf(const Nodes& nodes, std::string_view smallest);
  class Editing;

  std::shared_ptr<const Nodes> nodes_;  // none is empty
  size_t extents_ = 0;
  uint64_t bytes_ = 0;
  uint64_t weight_ = 0;
  uint64_t whole_pages_ = 0;
};

}  // namespace sluice
