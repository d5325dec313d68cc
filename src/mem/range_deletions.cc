#include "mem/range_deletions.h"

#include <algorithm>
#include <utility>

namespace sluice {

namespace {

// What a block takes beside its edges and keys: itself, its references, and malloc's share.
constexpr size_t kBlockBytes = 320;

}  // namespace

void RangeDeletions::Add(RangeDeletion deletion) {
  if (!deletion.end.empty() && deletion.begin >= deletion.end) {
    return;
  }
  const SequenceNumber sequence = deletion.sequence;
  bytes_ += kBlockBytes + 2 * sizeof(Edge) + deletion.begin.size() + deletion.end.size();
  auto added = std::make_shared<Block>(
      Block{.oldest = sequence, .newest = sequence, .level = 0, .deletion = std::move(deletion)});
  added->edges.push_back({added->deletion.begin, sequence});
  if (!added->deletion.end.empty()) {
    added->edges.push_back({added->deletion.end, 0});
  }
  blocks_.push_back(std::move(added));
  while (blocks_.size() >= kFan && blocks_[blocks_.size() - kFan]->level == blocks_.back()->level) {
    const auto first = blocks_.end() - kFan;
    auto merged = std::make_shared<Block>(
        Block{.oldest = kMaxSequence, .newest = 0, .level = blocks_.back()->level + 1});
    for (auto at = first; at != blocks_.end(); ++at) {
      merged->oldest = std::min(merged->oldest, (*at)->oldest);
      merged->newest = std::max(merged->newest, (*at)->newest);
      merged->edges = Merge(merged->edges, (*at)->edges);
    }
    bytes_ += kBlockBytes + merged->edges.size() * sizeof(Edge);
    merged->smaller.assign(std::make_move_iterator(first), std::make_move_iterator(blocks_.end()));
    blocks_.erase(first, blocks_.end());
    blocks_.push_back(std::move(merged));
  }
}

void RangeDeletions::Add(const RangeDeletions& others) {
  blocks_.insert(blocks_.end(), others.blocks_.begin(), others.blocks_.end());
  bytes_ += others.bytes_;
}

RangeDeletions::Edges RangeDeletions::Merge(const Edges& a, const Edges& b) {
  Edges merged;
  merged.reserve(a.size() + b.size());
  SequenceNumber of_a = 0;
  SequenceNumber of_b = 0;
  for (auto at_a = a.begin(), at_b = b.begin(); at_a != a.end() || at_b != b.end();) {
    const std::string_view key =
        at_b == b.end() || (at_a != a.end() && at_a->key < at_b->key) ? at_a->key : at_b->key;
    if (at_a != a.end() && at_a->key == key) {
      of_a = (at_a++)->sequence;
    }
    if (at_b != b.end() && at_b->key == key) {
      of_b = (at_b++)->sequence;
    }
    const SequenceNumber newest = std::max(of_a, of_b);
    if (newest != (merged.empty() ? 0 : merged.back().sequence)) {
      merged.push_back({key, newest});
    }
  }
  merged.shrink_to_fit();
  return merged;
}

void RangeDeletions::Look(const Block& block, std::string_view user_key, SequenceNumber snapshot,
                          Span* span) {
  if (block.oldest > snapshot) {
    return;
  }
  if (block.newest > snapshot) {
    for (const auto& smaller : block.smaller) {
      Look(*smaller, user_key, snapshot, span);
    }
    return;
  }
  const auto after =
      std::upper_bound(block.edges.begin(), block.edges.end(), user_key,
                       [](std::string_view key, const Edge& edge) { return key < edge.key; });
  if (after != block.edges.end() && (!span->has_end || after->key < span->end)) {
    span->end = after->key;
    span->has_end = true;
  }
  if (after != block.edges.begin()) {
    const Edge& before = *std::prev(after);
    span->begin = std::max(span->begin, before.key);
    span->sequence = std::max(span->sequence, before.sequence);
  }
}

RangeDeletions::Span RangeDeletions::At(std::string_view user_key, SequenceNumber snapshot) const {
  Span span;
  for (const auto& block : blocks_) {
    Look(*block, user_key, snapshot, &span);
  }
  return span;
}

}  // namespace sluice
