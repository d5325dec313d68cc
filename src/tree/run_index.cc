#include "tree/run_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

namespace sluice {

namespace {

uint64_t WholePages(const Extent& extent) {
  return extent.sliced ? 0 : (uint64_t{extent.bytes} + kPageBytes - 1) / kPageBytes;
}

bool Before(const ExtentPtr& a, const ExtentPtr& b) {
  return CompareInternalKeys(a->smallest, b->smallest) < 0;
}

}  // namespace

RunIndex::Summary RunIndex::Summary::Of(const Extent& extent) {
  const uint32_t bytes = extent.full ? ~uint32_t{0} : extent.bytes;
  return {.weight = extent.weight(),
          .entries = extent.entries,
          .tombstones = extent.tombstones,
          .shadowed = extent.shadowed,
          .sliced = extent.sliced,
          .thin_slices = extent.sliced && extent.live_bytes() < extent.bytes / 2 ? 1u : 0u,
          .first_bytes = bytes,
          .last_bytes = bytes};
}

void RunIndex::Summary::Append(const Summary& next) {
  weight += next.weight;
  entries += next.entries;
  tombstones += next.tombstones;
  shadowed += next.shadowed;
  sliced = sliced || next.sliced;
  thin_slices += next.thin_slices;
  least_pair_bytes =
      std::min({least_pair_bytes, next.least_pair_bytes, std::max(last_bytes, next.first_bytes)});
  last_bytes = next.last_bytes;
}

RunIndex::Position RunIndex::LeafOf(const Nodes& nodes, std::string_view smallest) {
  if (nodes.empty()) {
    return {};
  }
  const auto place = [](auto first, auto end, const auto& begins) {
    const auto behind = std::partition_point(first, end, begins);
    return static_cast<size_t>(behind == first ? 0 : behind - first - 1);
  };
  Position found;
  found.node = place(nodes.begin(), nodes.end(), [&](const auto& node) {
    return CompareInternalKeys(node->first().smallest, smallest) <= 0;
  });
  const Leaves& leaves = nodes[found.node]->leaves;
  found.leaf = place(leaves.begin(), leaves.end(), [&](const auto& leaf) {
    return CompareInternalKeys(leaf->extents.front()->smallest, smallest) <= 0;
  });
  return found;
}

std::shared_ptr<const RunIndex::Leaf> RunIndex::MakeLeaf(std::vector<ExtentPtr> extents) {
  auto leaf = std::make_shared<Leaf>();
  leaf->summary = Summary::Of(*extents.front());
  for (size_t i = 1; i < extents.size(); ++i) {
    leaf->summary.Append(Summary::Of(*extents[i]));
  }
  leaf->last_keys =
      KeyWords(extents.size(), [&](size_t i) -> std::string_view { return extents[i]->largest; });
  leaf->extents = std::move(extents);
  return leaf;
}

std::shared_ptr<const RunIndex::Node> RunIndex::MakeNode(Leaves leaves) {
  auto node = std::make_shared<Node>();
  node->summary = leaves.front()->summary;
  for (size_t i = 1; i < leaves.size(); ++i) {
    node->summary.Append(leaves[i]->summary);
  }
  node->leaves = std::move(leaves);
  return node;
}

// Puts together the nodes of an index from leaves that stay and extents that are new.
class RunIndex::Editing {
 public:
  explicit Editing(size_t nodes) { nodes_.reserve(nodes + 1); }

  // What is new is checked against what comes before it and, where a leaf that stays comes next,
  // after it.
  Status Keep(const std::shared_ptr<const Leaf>& leaf) {
    if (std::exchange(last_is_new_, false)) {
      SLUICE_RETURN_IF_ERROR(Check(*leaf->extents.front()));
    }
    leaves_.push_back(leaf);
    last_ = leaf->extents.back().get();
    return {};
  }
  // REQUIRES: at the end of a node.
  Status Keep(const std::shared_ptr<const Node>& node) {
    if (std::exchange(last_is_new_, false)) {
      SLUICE_RETURN_IF_ERROR(Check(node->first()));
    }
    nodes_.push_back(node);
    last_ = &node->last();
    return {};
  }
  Status Add(std::vector<ExtentPtr> extents) {
    for (const ExtentPtr& extent : extents) {
      SLUICE_RETURN_IF_ERROR(Check(*extent));
      last_ = extent.get();
    }
    ForPieces(&extents, kLeafExtents,
              [&](std::vector<ExtentPtr> piece) { leaves_.push_back(MakeLeaf(std::move(piece))); });
    last_is_new_ = last_ != nullptr;
    return {};
  }
  void EndNode() {
    ForPieces(&leaves_, kNodeLeaves,
              [&](Leaves piece) { nodes_.push_back(MakeNode(std::move(piece))); });
    leaves_.clear();
  }
  Nodes TakeNodes() { return std::move(nodes_); }

 private:
  Status Check(const Extent& extent) const {
    return last_ == nullptr || CompareInternalKeys(last_->largest, extent.smallest) < 0
               ? Status()
               : Status::Corruption(
                     fmt::format("extents {} and {} overlap", last_->number, extent.number));
  }
  // Halves, quarters and so on rather than full ones and a rest: the next edit may come here too.
  template <typename T, typename Take>
  static void ForPieces(std::vector<T>* all, size_t most, const Take& take) {
    const size_t pieces = (all->size() + most - 1) / most;
    for (size_t piece = 0; piece < pieces; ++piece) {
      take(std::vector<T>(
          std::make_move_iterator(all->begin() + all->size() * piece / pieces),
          std::make_move_iterator(all->begin() + all->size() * (piece + 1) / pieces)));
    }
  }

  Nodes nodes_;
  Leaves leaves_;  // of the node that has not ended
  const Extent* last_ = nullptr;
  bool last_is_new_ = false;
};

Status RunIndex::Edit(const std::vector<ExtentPtr>& removed, const std::vector<ExtentPtr>& added,
                      RunIndex* result) const {
  // Leaves, by node and place in it, with what they shall hold.
  std::map<std::pair<size_t, size_t>, std::vector<ExtentPtr>> touched;
  const auto touch = [&](const ExtentPtr& extent) -> std::vector<ExtentPtr>& {
    const Position leaf = LeafOf(*nodes_, extent->smallest);
    const auto [at, fresh] = touched.try_emplace({leaf.node, leaf.leaf});
    if (fresh && !nodes_->empty()) {
      at->second = (*nodes_)[leaf.node]->leaves[leaf.leaf]->extents;
    }
    return at->second;
  };
  RunIndex edited = *this;
  for (const ExtentPtr& extent : removed) {
    std::vector<ExtentPtr>& extents = touch(extent);
    const auto at = std::lower_bound(extents.begin(), extents.end(), extent, Before);
    if (at == extents.end() || (*at)->number != extent->number) {
      return Status::Corruption(
          fmt::format("extent {} is not where it is removed", extent->number));
    }
    --edited.extents_;
    edited.bytes_ -= (*at)->live_bytes();
    edited.weight_ -= (*at)->weight();
    edited.whole_pages_ -= WholePages(**at);
    extents.erase(at);
  }
  for (const ExtentPtr& extent : added) {
    std::vector<ExtentPtr>& extents = touch(extent);
    extents.insert(std::upper_bound(extents.begin(), extents.end(), extent, Before), extent);
    ++edited.extents_;
    edited.bytes_ += extent->live_bytes();
    edited.weight_ += extent->weight();
    edited.whole_pages_ += WholePages(*extent);
  }

  Editing editing(nodes_->size());
  auto at = touched.begin();
  for (size_t i = 0; i < nodes_->size(); ++i) {
    const std::shared_ptr<const Node>& node = (*nodes_)[i];
    if (at == touched.end() || at->first.first != i) {
      SLUICE_RETURN_IF_ERROR(editing.Keep(node));
      continue;
    }
    for (size_t j = 0; j < node->leaves.size(); ++j) {
      if (at != touched.end() && at->first == std::pair(i, j)) {
        SLUICE_RETURN_IF_ERROR(editing.Add(std::move((at++)->second)));
      } else {
        SLUICE_RETURN_IF_ERROR(editing.Keep(node->leaves[j]));
      }
    }
    editing.EndNode();
  }
  if (at != touched.end()) {  // there was no leaf
    SLUICE_RETURN_IF_ERROR(editing.Add(std::move(at->second)));
    editing.EndNode();
  }
  edited.nodes_ = std::make_shared<const Nodes>(editing.TakeNodes());
  *result = std::move(edited);
  return {};
}

RunIndex::LeafChange RunIndex::ChangedLeaves(const RunIndex& before, const RunIndex& after) {
  // How many leaves are the same from one end on; `at(leaves, i)`: the i-th from there.
  const auto same = [&](const auto& at) {
    size_t leaves = 0;
    size_t i = 0;  // node and leaf, in each
    size_t j = 0;
    size_t k = 0;
    size_t l = 0;
    while (i < before.nodes_->size() && k < after.nodes_->size()) {
      const auto& a = at(*before.nodes_, i);
      const auto& b = at(*after.nodes_, k);
      if (j == 0 && l == 0 && a == b) {
        leaves += a->leaves.size();
        ++i;
        ++k;
        continue;
      }
      if (at(a->leaves, j) != at(b->leaves, l)) {
        break;
      }
      ++leaves;
      if (++j == a->leaves.size()) {
        ++i;
        j = 0;
      }
      if (++l == b->leaves.size()) {
        ++k;
        l = 0;
      }
    }
    return leaves;
  };
  const size_t leaves_before = before.leaves();
  const size_t leaves_after = after.leaves();
  const size_t first = same([](const auto& all, size_t i) -> const auto& { return all[i]; });
  if (first == leaves_before && first == leaves_after) {
    return {first, first, first};
  }
  const size_t behind =
      same([](const auto& all, size_t i) -> const auto& { return all[all.size() - 1 - i]; });
  return {first, leaves_before - behind, leaves_after - behind};
}

RunIndex::Position RunIndex::SeekIn(const Nodes& nodes, std::string_view internal_key) {
  if (nodes.empty()) {
    return {};
  }
  Position found;
  found.node =
      std::partition_point(nodes.begin(), nodes.end() - 1,
                           [&](const auto& node) {
                             return CompareInternalKeys(node->last().largest, internal_key) < 0;
                           }) -
      nodes.begin();
  const Leaves& leaves = nodes[found.node]->leaves;
  found.leaf = std::partition_point(leaves.begin(), leaves.end(),
                                    [&](const auto& leaf) {
                                      return CompareInternalKeys(leaf->extents.back()->largest,
                                                                 internal_key) < 0;
                                    }) -
               leaves.begin();
  if (found.leaf == leaves.size()) {
    return {nodes.size(), 0, 0};
  }
  const std::vector<ExtentPtr>& extents = leaves[found.leaf]->extents;
  found.at = leaves[found.leaf]->last_keys.Find(
      internal_key, [&](size_t i) -> std::string_view { return extents[i]->largest; });
  return found;
}

size_t RunIndex::leaves() const {
  return std::accumulate(
      nodes_->begin(), nodes_->end(), size_t{0},
      [](size_t leaves, const auto& node) { return leaves + node->leaves.size(); });
}

size_t RunIndex::LeavesBefore(std::string_view user_key) const {
  const auto before = [&](const Extent& first) { return UserKey(first.smallest) < user_key; };
  const auto behind = std::partition_point(nodes_->begin(), nodes_->end(),
                                           [&](const auto& node) { return before(node->first()); });
  size_t leaves = 0;
  for (auto node = nodes_->begin(); node != behind; ++node) {
    const Leaves& of = (*node)->leaves;
    leaves += node + 1 != behind
                  ? of.size()
                  : std::partition_point(of.begin(), of.end(), [&](const auto& leaf) {
                      return before(*leaf->extents.front());
                    }) - of.begin();
  }
  return leaves;
}

const Extent* RunIndex::Find(std::string_view internal_key) const {
  const Position found = SeekIn(*nodes_, internal_key);
  return found.node < nodes_->size()
             ? (*nodes_)[found.node]->leaves[found.leaf]->extents[found.at].get()
             : nullptr;
}

bool RunIndex::Overlaps(std::string_view first, std::string_view last) const {
  std::string from(first);
  PutFixed64(&from, FirstTrailer(kMaxSequence));
  const Extent* const found = Find(from);
  return found != nullptr && UserKey(found->smallest) <= last;
}

void RunIndex::Iterator::SeekToFirst() { node_ = leaf_ = at_ = 0; }

void RunIndex::Iterator::SeekToLast() {
  node_ = nodes_->size() - 1;  // no valid one if there are none
  leaf_ = Valid() ? (*nodes_)[node_]->leaves.size() - 1 : 0;
  at_ = Valid() ? leaf().extents.size() - 1 : 0;
}

void RunIndex::Iterator::Seek(std::string_view internal_key) {
  const Position found = SeekIn(*nodes_, internal_key);
  node_ = found.node;
  leaf_ = found.leaf;
  at_ = found.at;
}

void RunIndex::Iterator::Next() {
  if (++at_ == leaf().extents.size()) {
    NextSummary();
  }
}

void RunIndex::Iterator::NextSummary() {
  at_ = 0;
  if (++leaf_ == (*nodes_)[node_]->leaves.size()) {
    ++node_;
    leaf_ = 0;
  }
}

const RunIndex::Summary* RunIndex::Iterator::next_summary() const {
  const Leaves& leaves = (*nodes_)[node_]->leaves;
  if (leaf_ + 1 < leaves.size()) {
    return &leaves[leaf_ + 1]->summary;
  }
  return node_ + 1 < nodes_->size() ? &(*nodes_)[node_ + 1]->leaves.front()->summary : nullptr;
}

void RunIndex::Iterator::Prev() {
  if (at_ > 0) {
    --at_;
    return;
  }
  if (leaf_ > 0) {
    --leaf_;
  } else if (--node_; Valid()) {  // before the first node there is none that is valid
    leaf_ = (*nodes_)[node_]->leaves.size() - 1;
  } else {
    return;
  }
  at_ = leaf().extents.size() - 1;
}

bool RunIndex::Iterator::SkipShared(Iterator* other) {
  if (at_ == 0 && other->at_ == 0) {
    if (leaf_ == 0 && other->leaf_ == 0 && (*nodes_)[node_] == (*other->nodes_)[other->node_]) {
      NextLargeSummary();
      other->NextLargeSummary();
      return true;
    }
    if (&leaf() == &other->leaf()) {
      NextSummary();
      other->NextSummary();
      return true;
    }
  }
  if (extent() != other->extent()) {
    return false;
  }
  Next();
  other->Next();
  return true;
}

}  // namespace sluice
