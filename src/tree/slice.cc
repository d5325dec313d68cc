#include "tree/slice.h"

#include <algorithm>
#include <span>
#include <utility>

#include "table/key_scan.h"

namespace sluice {

namespace {

// Cuts the extent's records from the user key `begin` on into slices at `borders`, ascending user
// keys; makes the first slices.size() of them.
Status MakeSlices(const Extent& extent, std::string_view begin,
                  std::span<const std::string> borders, ExtentReader* reader,
                  std::span<Extent> slices) {
  std::fill(slices.begin(), slices.end(),
            Extent{.number = extent.number,
                   .address = extent.address,
                   .bytes = extent.bytes,
                   .sliced = true,
                   .table_largest = extent.last_of_table(),
                   .place = extent.place,
                   .full = extent.full});
  std::string from(begin);
  PutFixed64(&from, MakeTrailer(kMaxSequence, RecordType{0xff}));
  if (CompareInternalKeys(from, extent.smallest) < 0) {
    from = extent.smallest;
  }
  TableHeadRef head;
  SLUICE_RETURN_IF_ERROR(reader->OpenHead(extent, &head));
  const size_t blocks = LiveBlocks(extent, *head.get()).end;
  KeyScanner keys;
  std::string contents;
  size_t at = 0;  // the slice that the last key is in
  for (size_t i = head->Find(from); i < blocks && at < slices.size(); ++i) {
    Block block;
    size_t counted = slices.size();  // the last slice that has this block's bytes
    SLUICE_RETURN_IF_ERROR(
        ExtentReader::ReadStored(extent, head->block(i), head->dictionary(), &contents));
    Status status = Block::Parse(contents, &block);
    if (status.ok()) {
      status = keys.Scan(block, [&](std::string_view key, bool shadowed) {
        if (CompareInternalKeys(key, from) < 0 || CompareInternalKeys(key, extent.largest) > 0) {
          return;
        }
        while (at < borders.size() && UserKey(key) >= borders[at]) {
          ++at;
        }
        if (at >= slices.size()) {
          return;
        }
        Extent& slice = slices[at];
        if (slice.entries == 0) {
          slice.smallest.assign(key);
        }
        slice.largest.assign(key);
        slice.Count(key, shadowed);
        if (std::exchange(counted, at) != at) {
          slice.slice_bytes += static_cast<uint32_t>(head->block(i).size + kBlockTrailerBytes);
        }
      });
    }
    if (!status.ok()) {
      return status.WithContext(ExtentReader::Describe(extent, head->block(i).offset));
    }
  }
  return {};
}

}  // namespace

Status MakeSlice(const Extent& extent, std::string_view begin, std::string_view end,
                 ExtentReader* reader, Extent* slice) {
  const std::string border(end);
  return MakeSlices(extent, begin, std::span(&border, end.empty() ? 0 : 1), reader,
                    std::span(slice, 1));
}

Status CutExtent(const Extent& extent, const std::vector<std::string>& keys, ExtentReader* reader,
                 std::vector<Extent>* slices) {
  slices->resize(keys.size() + 1);
  SLUICE_RETURN_IF_ERROR(MakeSlices(extent, {}, keys, reader, *slices));
  std::erase_if(*slices, [](const Extent& slice) { return slice.entries == 0; });
  return {};
}

}  // namespace sluice
