#include "rocksdb_table/view.h"

#include <fmt/format.h>

#include <algorithm>

#include "table/block_builder.h"
#include "table/internal_key.h"
#include "table/key_scan.h"

namespace sluice {

uint64_t RocksView::OffsetInTable(uint64_t offset) const {
  const auto after =
      std::upper_bound(offsets.begin(), offsets.end(), offset,
                       [](uint64_t value, const std::pair<uint64_t, uint64_t>& block) {
                         return value < block.first;
                       });
  return after == offsets.begin() ? 0 : std::prev(after)->second;
}

namespace {

// An executor would take RocksDB's merge operands for references, and copy them as values.
Status CheckTrailers(std::string_view contents, const BlockHandle& handle, RocksView* view) {
  Block block;
  uint8_t last_type = 0;
  KeyScanner keys;
  const auto look = [&](std::string_view key, bool) {
    const uint64_t trailer = Trailer(key);
    last_type = std::max(last_type, TrailerType(trailer));
    view->smallest_sequence = std::min(view->smallest_sequence, TrailerSequence(trailer));
    view->largest_sequence = std::max(view->largest_sequence, TrailerSequence(trailer));
  };
  if (!Block::Parse(contents, &block).ok() || !keys.Scan(block, look).ok()) {
    return {};  // the executor says what is wrong
  }
  return last_type <= static_cast<uint8_t>(RecordType::kValue)
             ? Status()
             : CheckOtherRocksType(last_type).WithContext(fmt::format("offset {}", handle.offset));
}

}  // namespace

Status ForEachBlockInRange(const RocksTable& table, const RocksViewRange& range,
                           const RocksTable::Visit& visit) {
  bool past_end = false;
  return table.ForEachDataBlock([&](const std::string& key, const BlockHandle& handle) {
    if (past_end || (range.has_begin && UserKey(key) < range.begin)) {
      return Status();
    }
    past_end = range.has_end && UserKey(key) >= range.end;
    return visit(key, handle);
  });
}

Status ViewRocksTable(const RocksTable& table, const RocksViewRange& range, RocksView* view) {
  std::string& image = view->table.image;
  image.clear();
  view->offsets.clear();
  view->smallest_sequence = kMaxSequence;
  view->largest_sequence = 0;
  if (!range.has_begin && !range.has_end) {
    // Growing would copy it, time and again. Properties can lie: no more than a table may become.
    constexpr uint64_t kMostGrowth = 8;
    const uint64_t raw =
        table.properties().Number(kRocksRawKeySize) + table.properties().Number(kRocksRawValueSize);
    image.reserve(std::min(raw + raw / 16, kMostGrowth * table.image().size()));
  }
  BlockBuilder index(1);
  RocksBlockBuffer buffer;
  std::string encoded;
  SLUICE_RETURN_IF_ERROR(
      ForEachBlockInRange(table, range, [&](const std::string& key, const BlockHandle& handle) {
        std::string_view contents;
        SLUICE_RETURN_IF_ERROR(table.ReadDataBlock(handle, &buffer, &contents));
        SLUICE_RETURN_IF_ERROR(CheckTrailers(contents, handle, view));
        view->offsets.emplace_back(image.size(), handle.offset);
        encoded.clear();
        BlockHandle{image.size(), contents.size()}.AppendTo(&encoded);
        index.Add(key, encoded);
        image.append(contents);
        AppendBlockTrailer(contents, Compression::kNone, &image);
        return Status();
      }));
  const std::string_view contents = index.Finish();
  view->table.index = {image.size(), contents.size()};
  view->offsets.emplace_back(image.size(), table.index().offset);
  image.append(contents);
  AppendBlockTrailer(contents, Compression::kNone, &image);
  return {};
}

}  // namespace sluice
