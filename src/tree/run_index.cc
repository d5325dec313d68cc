#include "tree/run_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
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

size_t RunIndex::LeafOf(const Leaves& leaves, std::string_view smallest) {
  const auto behind = std::partition_point(leaves.begin(), leaves.end(), [&](const auto& leaf) {
    return CompareInternalKeys(leaf->extents.front()->smallest, smallest) <= 0;
  });
  return behind == leaves.begin() ? 0 : behind - leaves.begin() - 1;
}

std::shared_ptr<const RunIndex::Leaf> RunIndex::MakeLeaf(std::vector<ExtentPtr> extents) {
  auto leaf = std::make_shared<Leaf>();
  Summary& summary = leaf->summary;
  for (const ExtentPtr& extent : extents) {
    summary.weight += extent->weight();
    summary.entries += extent->entries;
    summary.tombstones += extent->tombstones;
    summary.sliced = summary.sliced || extent->sliced;
    if (!extent->full) {
      summary.least_bytes = std::min(summary.least_bytes, extent->bytes);
    }
  }
  leaf->last_keys =
      KeyWords(extents.size(), [&](size_t i) -> std::string_view { return extents[i]->largest; });
  leaf->extents = std::move(extents);
  return leaf;
}

Status RunIndex::Edit(const std::vector<ExtentPtr>& removed, const std::vector<ExtentPtr>& added,
                      RunIndex* result) const {
  std::map<size_t, std::vector<ExtentPtr>> touched;  // leaves, with what they shall hold
  const auto touch = [&](const ExtentPtr& extent) -> std::vector<ExtentPtr>& {
    const size_t leaf = LeafOf(*leaves_, extent->smallest);
    const auto [at, fresh] = touched.try_emplace(leaf);
    if (fresh && leaf < leaves_->size()) {
      at->second = (*leaves_)[leaf]->extents;
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

  auto leaves = std::make_shared<Leaves>();
  leaves->reserve(leaves_->size() + touched.size());
  // What is new is checked against what comes before it and, where a leaf that stays comes next,
  // after it.
  const Extent* last = nullptr;
  bool last_is_new = false;
  const auto check = [&](const Extent& extent) {
    return last == nullptr || CompareInternalKeys(last->largest, extent.smallest) < 0
               ? Status()
               : Status::Corruption(
                     fmt::format("extents {} and {} overlap", last->number, extent.number));
  };
  auto at = touched.begin();
  for (size_t i = 0; i < std::max<size_t>(leaves_->size(), 1); ++i) {
    if (at == touched.end() || at->first != i) {
      if (i < leaves_->size()) {
        const std::shared_ptr<const Leaf>& leaf = (*leaves_)[i];
        if (std::exchange(last_is_new, false)) {
          SLUICE_RETURN_IF_ERROR(check(*leaf->extents.front()));
        }
        leaves->push_back(leaf);
      }
      continue;
    }
    std::vector<ExtentPtr>& extents = (at++)->second;
    last = leaves->empty() ? nullptr : leaves->back()->extents.back().get();
    for (const ExtentPtr& extent : extents) {
      SLUICE_RETURN_IF_ERROR(check(*extent));
      last = extent.get();
    }
    // Halves, quarters and so on rather than full ones and a rest: the next edit may come here too.
    const size_t pieces = (extents.size() + kLeafExtents - 1) / kLeafExtents;
    for (size_t piece = 0; piece < pieces; ++piece) {
      leaves->push_back(MakeLeaf(
          {std::make_move_iterator(extents.begin() + extents.size() * piece / pieces),
           std::make_move_iterator(extents.begin() + extents.size() * (piece + 1) / pieces)}));
    }
    last = leaves->empty() ? nullptr : leaves->back()->extents.back().get();
    last_is_new = last != nullptr;
  }
  edited.leaves_ = std::move(leaves);
  *result = std::move(edited);
  return {};
}

void RunIndex::SeekIn(const Leaves& leaves, std::string_view internal_key, size_t* leaf,
                      size_t* at) {
  *leaf = std::partition_point(leaves.begin(), leaves.end(),
                               [&](const auto& l) {
                                 return CompareInternalKeys(l->extents.back()->largest,
                                                            internal_key) < 0;
                               }) -
          leaves.begin();
  if (*leaf < leaves.size()) {
    const std::vector<ExtentPtr>& extents = leaves[*leaf]->extents;
    *at = leaves[*leaf]->last_keys.Find(
        internal_key, [&](size_t i) -> std::string_view { return extents[i]->largest; });
  }
}

const Extent* RunIndex::Find(std::string_view internal_key) const {
  size_t leaf;
  size_t at = 0;
  SeekIn(*leaves_, internal_key, &leaf, &at);
  return leaf < leaves_->size() ? (*leaves_)[leaf]->extents[at].get() : nullptr;
}

bool RunIndex::Overlaps(std::string_view first, std::string_view last) const {
  std::string from(first);
  PutFixed64(&from, MakeTrailer(kMaxSequence, RecordType{0xff}));
  const Extent* const found = Find(from);
  return found != nullptr && UserKey(found->smallest) <= last;
}

void RunIndex::Iterator::SeekToFirst() { leaf_ = at_ = 0; }

void RunIndex::Iterator::SeekToLast() {
  leaf_ = leaves_->size() - 1;  // no valid one if there are none
  at_ = Valid() ? (*leaves_)[leaf_]->extents.size() - 1 : 0;
}

void RunIndex::Iterator::Seek(std::string_view internal_key) {
  SeekIn(*leaves_, internal_key, &leaf_, &at_);
}

void RunIndex::Iterator::Next() {
  if (++at_ == (*leaves_)[leaf_]->extents.size()) {
    ++leaf_;
    at_ = 0;
  }
}

void RunIndex::Iterator::Prev() {
  if (at_ > 0) {
    --at_;
  } else if (--leaf_; Valid()) {  // before the first leaf there is none that is valid
    at_ = (*leaves_)[leaf_]->extents.size() - 1;
  }
}

}  // namespace sluice
