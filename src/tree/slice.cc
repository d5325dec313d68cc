#include "tree/slice.h"

#include <algorithm>
#include <string>

#include "table/key_scan.h"

namespace sluice {

Status MakeSlice(const Extent& extent, std::string_view begin, std::string_view end,
                 ExtentReader* reader, Extent* slice) {
  *slice = {.number = extent.number,
            .address = extent.address,
            .bytes = extent.bytes,
            .sliced = true,
            .table_largest = extent.last_of_table(),
            .place = extent.place,
            .full = extent.full};
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
  for (size_t i = head->Find(from); i < blocks; ++i) {
    Block block;
    const uint64_t before = slice->entries;
    SLUICE_RETURN_IF_ERROR(
        ExtentReader::ReadStored(extent, head->block(i), head->dictionary(), &contents));
    Status status = Block::Parse(contents, &block);
    if (status.ok()) {
      status = keys.Scan(block, [&](std::string_view key, bool shadowed) {
        if (CompareInternalKeys(key, from) < 0 || CompareInternalKeys(key, extent.largest) > 0 ||
            (!end.empty() && UserKey(key) >= end)) {
          return;
        }
        if (slice->entries == 0) {
          slice->smallest.assign(key);
        }
        slice->largest.assign(key);
        slice->Count(key, shadowed);
      });
    }
    if (!status.ok()) {
      return status.WithContext(ExtentReader::Describe(extent, head->block(i).offset));
    }
    if (slice->entries > before) {
      slice->slice_bytes += static_cast<uint32_t>(head->block(i).size + kBlockTrailerBytes);
    } else if (before > 0) {
      break;
    }
  }
  return {};
}

}  // namespace sluice
