#include "merge/outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "table/block.h"
#include "table/stored_block.h"

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
      tombstones(output.tombstones),
      filters(output.filters) {
  if (hold == nullptr || output.index.data() != output.data.data() + output.data.size()) {
    const auto size = [](size_t sum, std::string_view part) { return sum + part.size(); };
    auto bytes = std::make_shared_for_overwrite<char[]>(
        std::accumulate(filters.begin(), filters.end(), image.size(), size));
    char* end = std::copy(output.data.begin(), output.data.end(), bytes.get());
    end = std::copy(output.index.begin(), output.index.end(), end);
    for (std::string_view& filter : filters) {
      char* const begin = end;
      end = std::copy(filter.begin(), filter.end(), begin);
      filter = {begin, filter.size()};
    }
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
          .filters = filters,
          .hold = hold};
}

Status ForEachBlock(const MergeOutput& output, const BlockVisitor& visit) {
  Block index;
  SLUICE_RETURN_IF_ERROR(
      Block::Parse(output.index.substr(0, output.index.size() - kBlockTrailerBytes), &index));
  BlockIterator at(index);
  std::string buffer;
  size_t block = 0;
  for (at.SeekToFirst(); at.Valid(); at.Next(), ++block) {
    BlockHandle handle;
    std::string_view value = at.value();
    if (!handle.ReadFrom(&value) || !HandleFits(handle, output.data.size())) {
      return Status::Corruption("an executor made a malformed index");
    }
    if (!output.filters.empty() && block >= output.filters.size()) {
      break;
    }
    OutputBlock visited{
        .contents = output.data.substr(handle.offset, handle.size),
        .stored = output.data.substr(handle.offset, handle.size + kBlockTrailerBytes),
        .filter = output.filters.empty() ? "" : output.filters[block]};
    if (visited.compressed()) {
      SLUICE_RETURN_IF_ERROR(ReadStoredBlock(output.data, handle, &buffer, &visited.contents)
                                 .WithContext("a table of an executor"));
    }
    SLUICE_RETURN_IF_ERROR(visit(visited));
  }
  SLUICE_RETURN_IF_ERROR(at.status());
  return at.Valid() || (!output.filters.empty() && block != output.filters.size())
             ? Status::Corruption("an executor did not make a filter for each block")
             : Status();
}

void HandOver(std::vector<OwnedOutput> outputs, const MergeSink& sink, MergeResult* result) {
  for (OwnedOutput& owned : outputs) {
    if (Status status = sink(owned.AsOutput()); !status.ok()) {
      result->status = MergeStatus::kSink;
      result->error = std::move(status);
      return;
    }
    owned.image = {};
    owned.filters.clear();
    owned.hold.reset();
  }
}

Status CompareOutputs(const std::vector<OwnedOutput>& a, const std::vector<OwnedOutput>& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    SLUICE_RETURN_IF_ERROR(CompareBytes(i, "data", a[i].data(), b[i].data()));
    SLUICE_RETURN_IF_ERROR(CompareBytes(i, "index", a[i].index_block(), b[i].index_block()));
    SLUICE_RETURN_IF_ERROR(CompareBytes(i, "smallest key", a[i].smallest, b[i].smallest));
    SLUICE_RETURN_IF_ERROR(CompareBytes(i, "largest key", a[i].largest, b[i].largest));
    if (a[i].filters.size() != b[i].filters.size()) {
      return Status::Corruption(fmt::format("output table {}: {} and {} filters", i,
                                            a[i].filters.size(), b[i].filters.size()));
    }
    for (size_t block = 0; block < a[i].filters.size(); ++block) {
      SLUICE_RETURN_IF_ERROR(CompareBytes(i, fmt::format("the filter of block {}", block),
                                          a[i].filters[block], b[i].filters[block]));
    }
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
