// The outputs of a merge, kept: for tests, comparison of executors, and merges in several passes.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/compression.h"
#include "sluice/executor.h"

namespace sluice {

// A MergeOutput that owns its bytes, or its share of them. They do not change, so that copies can
// have them together.
struct OwnedOutput {
  // Copies them only if `output` has no hold on them, or index does not follow data.
  explicit OwnedOutput(const MergeOutput& output);

  std::shared_ptr<const void> hold;
  std::string_view image;  // data, then index, as they stand in a file
  BlockHandle index;
  std::string smallest;
  std::string largest;
  uint64_t entries = 0;
  uint64_t tombstones = 0;
  std::vector<std::string_view> filters;

  std::string_view data() const { return image.substr(0, index.offset); }
  std::string_view index_block() const { return image.substr(index.offset); }
  MergeTable AsInput() const { return {image, index}; }
  MergeOutput AsOutput() const;
};

// A sink that appends to `outputs`, which must outlive it.
MergeSink CollectInto(std::vector<OwnedOutput>* outputs);

// A data block of an output, while it is visited.
struct OutputBlock {
  std::string_view contents;  // decompressed, without trailer
  std::string_view stored;    // as it stands in the table, with its trailer
  std::string_view filter;    // if there are any

  bool compressed() const {
    return stored[stored.size() - kBlockTrailerBytes] != static_cast<char>(Compression::kNone);
  }
};

// Calls visit for each data block of an output, in order, until that returns an error. Corruption if
// index and filters are not those of the data, or if a block cannot be decompressed; CRCs of raw
// blocks are not looked at.
using BlockVisitor = std::function<Status(const OutputBlock&)>;
Status ForEachBlock(const MergeOutput& output, const BlockVisitor& visit);

// Hands `outputs` to `sink`, freeing each. An error ends that, and makes *result a kSink.
void HandOver(std::vector<OwnedOutput> outputs, const MergeSink& sink, MergeResult* result);

// Ok if both are the same, byte for byte; else says where they first differ.
Status CompareOutputs(const std::vector<OwnedOutput>& a, const std::vector<OwnedOutput>& b);

}  // namespace sluice
