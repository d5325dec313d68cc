// Range deletions: of which ranges of user keys everything older than a sequence number is deleted.
//
// A value: copies share what they have, so a reader can keep the state of a moment. Where ranges
// overlap, what a reader sees is decided by the newest deletion that its snapshot sees, so each
// snapshot may see other stretches of keys deleted. Deletions are therefore kept in blocks of 1, 8,
// 64 and so on, in the order in which they were added: eight blocks of one size become one of the
// next. A block has the stretches that its newest deletions cut the keys into, for those who see
// all of it, and the blocks that it was made of, for those who do not. So n deletions take memory
// in proportion to n * log(n), however they overlap, and a look-up costs O(log(n)^2).
//
// Thread-compatible.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "table/internal_key.h"

namespace sluice {

// Deletes everything older of the user keys from `begin` to before `end` (empty: no bound).
struct RangeDeletion {
  std::string begin;
  std::string end;
  SequenceNumber sequence = 0;

  bool Covers(std::string_view user_key) const {
    return user_key >= begin && (end.empty() || user_key < end);
  }
  friend bool operator==(const RangeDeletion&, const RangeDeletion&) = default;
};

class RangeDeletions {
 public:
  // A stretch of user keys that the same deletion is the newest of. Its bounds live as long as a
  // value that has the deletions.
  struct Span {
    std::string_view begin{};
    std::string_view end{};
    bool has_end = false;
    SequenceNumber sequence = 0;  // 0: nothing deletes them

    bool Contains(std::string_view user_key) const {
      return user_key >= begin && (!has_end || user_key < end);
    }
  };

  // Those of an empty range are left out. Costs O(log(n)), on average.
  void Add(RangeDeletion deletion);
  void Add(const RangeDeletions& others);

  bool empty() const { return blocks_.empty(); }
  size_t bytes() const { return bytes_; }  // of memory

  // The sequence number of the newest deletion of the key that is at or below `snapshot`; 0 if
  // there is none.
  SequenceNumber Covering(std::string_view user_key, SequenceNumber snapshot) const {
    return At(user_key, snapshot).sequence;
  }
  // The stretch around the key, as this snapshot sees it; its neighbours may be deleted by the
  // same.
  Span At(std::string_view user_key, SequenceNumber snapshot) const;

  // Calls visit(deletion) for each, in the order in which they were added.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (const auto& block : blocks_) {
      ForEachOf(*block, visit);
    }
  }

 private:
  // Where a stretch begins, and the newest deletion that covers it.
  struct Edge {
    std::string_view key;
    SequenceNumber sequence;
  };
  using Edges = std::vector<Edge>;  // ascending; nothing covers the keys before the first
  struct Block {
    SequenceNumber oldest;
    SequenceNumber newest;
    unsigned level;
    Edges edges{};
    RangeDeletion deletion{};                             // of a block of one
    std::vector<std::shared_ptr<const Block>> smaller{};  // of others
  };
  static constexpr size_t kFan = 8;

  static Edges Merge(const Edges& a, const Edges& b);
  static void Look(const Block& block, std::string_view user_key, SequenceNumber snapshot,
                   Span* span);
  template <typename Visit>
  static void ForEachOf(const Block& block, const Visit& visit) {
    if (block.smaller.empty()) {
      visit(block.deletion);
    }
    for (const auto& smaller : block.smaller) {
      ForEachOf(*smaller, visit);
    }
  }

  std::vector<std::shared_ptr<const Block>> blocks_;
  size_t bytes_ = 0;
};

}  // namespace sluice
