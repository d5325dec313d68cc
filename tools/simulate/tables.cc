#include "simulate/tables.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "table/block_builder.h"
#include "util/check.h"

namespace sluice::simulate {

namespace {

// No two extents of a run share a key, so there is no need to tell versions apart.
std::string InternalKeyText(Key key) {
  std::string text = KeyText(key);
  PutFixed64(&text, MakeTrailer(1, RecordType::kValue));
  return text;
}

uint64_t PageBytes(uint64_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes; }

}  // namespace

Tables::Tables(const KeyModel* model, const TableShape* shape) : model_(*model), shape_(*shape) {
  SLUICE_CHECK(ExtentSpace::OpenReadOnly(Env::Posix(), {{"simulated", 0}}, &space_).ok());
}

Extent Tables::Make(uint64_t number, std::vector<Span> spans, Key end, bool full) {
  double records = 0;
  for (size_t i = 0; i < spans.size(); ++i) {
    records +=
        Records(spans[i].begin, i + 1 < spans.size() ? spans[i + 1].begin : end, spans[i].written);
  }
  const auto entries = static_cast<uint64_t>(std::max(1.0, std::round(records)));
  Extent extent{.number = number,
                .bytes = static_cast<uint32_t>(shape_.BytesOf(entries)),
                .smallest = InternalKeyText(spans.front().begin),
                .largest = InternalKeyText(end - 1),
                .entries = entries,
                .newest = 1,
                .full = full};
  extent.place = space_->At(0, extent);
  Table& table = tables_[number];
  spans.shrink_to_fit();
  table = {.spans = std::move(spans), .end = end, .bytes = extent.bytes, .records = entries};
  disk_bytes_ += PageBytes(extent.bytes);
  return extent;
}

Extent Tables::Slice(const Extent& extent, Key begin, Key end) const {
  const Table& table = tables_.at(extent.number);
  Extent slice{.number = extent.number,
               .bytes = extent.bytes,
               .newest = 1,
               .sliced = true,
               .table_largest = extent.last_of_table(),
               .place = extent.place,
               .full = extent.full};
  double records = 0;
  VisitSpans(extent, begin, end, [&](Key from, Key to, const Written& written) {
    records += Records(from, to, written);
  });
  slice.entries = std::lround(records);
  if (slice.entries == 0) {
    return slice;
  }
  begin = std::max(begin, BeginOf(extent));
  end = std::min(end, EndOf(extent));
  slice.smallest = InternalKeyText(begin);
  slice.largest = InternalKeyText(end - 1);
  // The blocks that have them.
  const Key first = table.spans.front().begin;
  const auto blocks = static_cast<double>(shape_.BlocksOf(table.records));
  const auto length = static_cast<double>(table.end - first);
  const double blocks_before = std::floor(blocks * static_cast<double>(begin - first) / length);
  const double blocks_up_to = std::ceil(blocks * static_cast<double>(end - first) / length);
  slice.slice_bytes = std::min<uint32_t>(
      extent.bytes, static_cast<uint32_t>((blocks_up_to - blocks_before) *
                                          static_cast<double>(table.bytes) / blocks));
  return slice;
}

void Tables::AddedBy(const MetadataEdit& edit) {
  for (const MetadataEdit::Added& added : edit.added) {
    ++tables_.at(added.extent.number).extents;
  }
}

void Tables::RemovedBy(const MetadataEdit& edit) {
  for (const MetadataEdit::Removed& removed : edit.removed) {
    const auto table = tables_.find(removed.extent);
    if (--table->second.extents == 0) {
      disk_bytes_ -= PageBytes(table->second.bytes);
      tables_.erase(table);
    }
  }
}

uint64_t Tables::BlocksOf(const Table& table) const {
  return std::min(shape_.BlocksOf(table.records), kMostBlocks);
}

Key Tables::BlockBegin(const Table& table, uint64_t i, uint64_t blocks) {
  const Key first = table.spans.front().begin;
  return first + static_cast<Key>(static_cast<unsigned __int128>(table.end - first) * i / blocks);
}

Status Tables::OpenHead(const Extent& extent, TableHeadRef* head) {
  auto& [number, kept] = heads_[extent.number % heads_.size()];
  if (kept.get() == nullptr || number != extent.number) {
    const Table& table = tables_.at(extent.number);
    const uint64_t blocks = BlocksOf(table);
    BlockBuilder index(1);
    for (uint64_t i = 0; i < blocks; ++i) {
      std::string handle;
      const uint64_t offset = table.bytes * i / blocks;
      BlockHandle{offset, table.bytes * (i + 1) / blocks - offset - kBlockTrailerBytes}.AppendTo(
          &handle);
      index.Add(InternalKeyText(BlockBegin(table, i + 1, blocks) - 1), handle);
    }
    TableHead* made;
    SLUICE_RETURN_IF_ERROR(TableHead::Make(index.Finish(), extent.last_of_table(), &made));
    number = extent.number;
    kept.Reset(made);
    made->Unref();
  }
  head->Reset(kept.get());
  return {};
}

Status Tables::FindKey(const Extent& extent, const BlockHandle& handle, std::string_view from,
                       std::string* user_key) {
  const Table& table = tables_.at(extent.number);
  const uint64_t blocks = BlocksOf(table);
  uint64_t i = 0;
  while (table.bytes * i / blocks < handle.offset) {
    ++i;
  }
  const Key first = BlockBegin(table, i, blocks);
  *user_key = KeyText(from.empty() ? first : std::max(first, KeyOf(from)));
  return {};
}

}  // namespace sluice::simulate
