#include "merge/outputs.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice {

namespace {

Status CompareBytes(size_t table, std::string_view what, std::string_view a, std::string_view b) {
  if (a == b) {
    return {};
  }
  const size_t n = std::min(a.size(), b.size());
  const size_t offset = std::mismatch(a.begin(), a.begin() + n, b.begin()).first - a.begin();
  return Status::Corruption(
      fmt::format("output table {}: {} differs from byte {} on ({} and {} bytes)", table, what,
                  offset, a.size(), b.size()));
}

}  // namespace

OwnedOutput::OwnedOutput(const MergeOutput& output)
    : hold(output.hold),
      image(output.data.data(), output.data.size() + output.index.size()),
      index{output.data.size(), output.index.size() - kBlockTrailerBytes},
      smallest(output.smallest),
      largest(output.largest),
      entries(output.entries),
      tombstones(output.tombstones) {
  if (hold == nullptr || output.index.data() != output.data.data() + output.data.size()) {
    auto bytes = std::make_shared_for_overwrite<char[]>(image.size());
    std::copy(output.data.begin(), output.data.end(), bytes.get());
    std::copy(output.index.begin(), output.index.end(), bytes.get() + output.data.size());
    image = {bytes.get(), image.size()};
    hold = std::move(bytes);
  }
}

MergeSink CollectInto(std::vector<OwnedOutput>* outputs) {
  return [outputs](const MergeOutput& output) {
    outputs->emplace_back(output);
    return Status();
  };
}

MergeOutput OwnedOutput::AsOutput() const {
  return {.data = data(),
          .index = index_block(),
          .smallest = smallest,
          .largest = largest,
          .entries = entries,
          .tombstones = tombstones,
          .hold = hold};
}

void HandOver(std::vector<OwnedOutput> outputs, const MergeSink& sink, MergeResult* result) {
  for (OwnedOutput& owned : outputs) {
    if (Status status = sink(owned.AsOutput()); !status.ok()) {
      result->status = MergeStatus::kSink;
      result->error = std::move(status);
      return;
    }
    owned.image = {};
    owned.hold.reset();
  }
}

Status CompareOutputs(const std::vector<OwnedOutput>& a, const std::vector<OwnedOutput>& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    SLUICE_RETURN_IF_ERROR(CompareBytes(i, "data", a[i].data(), b[i].data()));
    SLUICE_RETURN_IF_ERROR(CompareBytes(i, "index", a[i].index_block(), b[i].index_block()));
    SLUICE_RETURN_IF_ERROR(CompareBytes(i, "smallest key", a[i].smallest, b[i].smallest));
    SLUICE_RETURN_IF_ERROR(CompareBytes(i, "largest key", a[i].largest, b[i].largest));
    if (a[i].entries != b[i].entries || a[i].tombstones != b[i].tombstones) {
      return Status::Corruption(
          fmt::format("output table {}: {} entries, {} tombstones, and {}, {}", i, a[i].entries,
                      a[i].tombstones, b[i].entries, b[i].tombstones));
    }
  }
  if (a.size() != b.size()) {
    return Status::Corruption(fmt::format("{} and {} output tables", a.size(), b.size()));
  }
  return {};
}

}  // namespace sluice
