#include "tree/slice.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "table/key_scan.h"
#include "tree/value_extent.h"

namespace sluice {

namespace {

enum class Wanted { kAll, kEven, kOdd };

// Read at once.
constexpr uint64_t kPieceBytes = uint64_t{1} << 20;

// Counts a block of which the slice has all records.
Status CountWhole(const Block& block, const FindValueExtent& find_values, KeyScanner* keys,
                  Extent* slice, ValueShareCounter* shares) {
  if (slice->entries == 0) {
    std::string_view first;
    SLUICE_RETURN_IF_ERROR(KeyScanner::FirstKey(block, &first));
    slice->smallest.assign(first);
  }
  Status values;
  SLUICE_RETURN_IF_ERROR(
      keys->Scan(block, [&](std::string_view key, bool shadowed, std::string_view value) {
        slice->Count(key, shadowed);
        if (IsValueReference(Trailer(key)) && values.ok()) {
          values = shares->Add(value, find_values);
        }
      }));
  slice->largest.assign(keys->last_key());
  return values;
}

// A reference that was damaged may say that its value has any length: slices must not refer to more
// than the metadata counts for the extent.
Status CheckShares(const Extent& extent, std::span<const Extent> slices) {
  for (const ValueShares::Share& share : ValueShares::Of(extent)) {
    uint64_t bytes = 0;
    for (const Extent& slice : slices) {
      const ValueShares::Share* const of_slice =
          slice.values == nullptr ? nullptr : slice.values->Find(share.extent->pages.number);
      bytes += of_slice == nullptr ? 0 : of_slice->bytes;
    }
    if (bytes > share.bytes) {
      return Status::Corruption(fmt::format(
          "{}: its records refer to {} bytes of value extent {}, but the metadata counts {}",
          ExtentReader::Describe(extent, 0), bytes, share.extent->pages.number, share.bytes));
    }
  }
  return {};
}

// Cuts the extent's records from the user key `begin` on into slices at `borders`, ascending user
// keys; makes the first slices.size() of them. Those that are not wanted stay empty.
Status MakeSlices(const Extent& extent, std::string_view begin,
                  std::span<const std::string> borders, Wanted wanted, ExtentReader* reader,
                  std::span<Extent> slices) {
  const auto is_wanted = [wanted](size_t slice) {
    return wanted == Wanted::kAll || (wanted == Wanted::kEven) == (slice % 2 == 0);
  };
  const auto slice_of = [&](std::string_view user_key) {
    return static_cast<size_t>(std::upper_bound(borders.begin(), borders.end(), user_key) -
                               borders.begin());
  };
  std::fill(slices.begin(), slices.end(),
            Extent{.number = extent.number,
                   .address = extent.address,
                   .bytes = extent.bytes,
                   .sliced = true,
                   .table_largest = extent.last_of_table(),
                   .place = extent.place,
                   .full = extent.full});
  std::string from(begin);
  PutFixed64(&from, FirstTrailer(kMaxSequence));
  if (CompareInternalKeys(from, extent.smallest) < 0) {
    from = extent.smallest;
  }
  TableHeadRef head;
  SLUICE_RETURN_IF_ERROR(reader->OpenHead(extent, &head));
  const size_t blocks = LiveBlocks(extent, *head.get()).end;
  KeyScanner keys;
  const FindValueExtent find_values = ValueExtentsOf(extent);
  std::vector<ValueShareCounter> shares(slices.size());
  // What is not wanted is left out block by block.
  ReadAhead ahead(/*reach=*/nullptr, wanted == Wanted::kAll ? kPieceBytes : 0);
  std::string contents;
  size_t at = 0;  // the slice that the last key is in
  for (size_t i = head->Find(from); i < blocks && at < slices.size(); ++i) {
    const std::string_view before = i == 0 ? extent.smallest : head->last_key(i - 1);
    const size_t first = slice_of(UserKey(before));
    const bool is_cut = first != slice_of(UserKey(head->last_key(i)));
    if (!is_cut && !is_wanted(first)) {
      continue;
    }
    if (!is_cut && first >= slices.size()) {
      break;
    }
    Block block;
    ahead.Aim(head.get(), i, blocks, /*more=*/false);
    SLUICE_RETURN_IF_ERROR(
        ExtentReader::ReadStored(extent, head->block(i), head->dictionary(), &ahead, &contents));
    Status status = Block::Parse(contents, &block);
    if (status.ok() && !is_cut && i > 0 && i + 1 < blocks &&
        CompareInternalKeys(from, before) <= 0) {
      // As nearly all blocks are; to compare each key would take several times as long.
      Extent& slice = slices[at = first];
      status = CountWhole(block, find_values, &keys, &slice, &shares[at]);
      slice.slice_bytes += static_cast<uint32_t>(head->block(i).size + kBlockTrailerBytes);
    } else if (status.ok()) {
      size_t counted = slices.size();  // the last slice that has this block's bytes
      Status values;
      status = keys.Scan(block, [&](std::string_view key, bool shadowed, std::string_view value) {
        if (CompareInternalKeys(key, from) < 0 || CompareInternalKeys(key, extent.largest) > 0) {
          return;
        }
        while (at < borders.size() && UserKey(key) >= borders[at]) {
          ++at;
        }
        if (at >= slices.size() || !is_wanted(at)) {
          return;
        }
        Extent& slice = slices[at];
        if (slice.entries == 0) {
          slice.smallest.assign(key);
        }
        slice.largest.assign(key);
        slice.Count(key, shadowed);
        if (IsValueReference(Trailer(key)) && values.ok()) {
          values = shares[at].Add(value, find_values);
        }
        if (std::exchange(counted, at) != at) {
          slice.slice_bytes += static_cast<uint32_t>(head->block(i).size + kBlockTrailerBytes);
        }
      });
      status = status.ok() ? values : status;
    }
    if (!status.ok()) {
      return status.WithContext(ExtentReader::Describe(extent, head->block(i).offset));
    }
  }
  for (size_t i = 0; i < slices.size(); ++i) {
    shares[i].MoveTo(&slices[i]);
  }
  return CheckShares(extent, slices);
}

Status CutInto(const Extent& extent, const std::vector<std::string>& keys, Wanted wanted,
               ExtentReader* reader, std::vector<Extent>* slices) {
  slices->resize(keys.size() + 1);
  SLUICE_RETURN_IF_ERROR(MakeSlices(extent, {}, keys, wanted, reader, *slices));
  std::erase_if(*slices, [](const Extent& slice) { return slice.entries == 0; });
  return {};
}

}  // namespace

Status MakeSlice(const Extent& extent, std::string_view begin, std::string_view end,
                 ExtentReader* reader, Extent* slice) {
  const std::string border(end);
  return MakeSlices(extent, begin, std::span(&border, end.empty() ? 0 : 1), Wanted::kAll, reader,
                    std::span(slice, 1));
}

Status CutExtent(const Extent& extent, const std::vector<std::string>& keys, ExtentReader* reader,
                 std::vector<Extent>* slices) {
  return CutInto(extent, keys, Wanted::kAll, reader, slices);
}

Status CutOutOfExtent(const Extent& extent, const std::vector<std::string>& keys, bool first,
                      ExtentReader* reader, std::vector<Extent>* slices) {
  return CutInto(extent, keys, first ? Wanted::kOdd : Wanted::kEven, reader, slices);
}

}  // namespace sluice
