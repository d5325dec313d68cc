#include "tree/metadata_edit.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <set>
#include <utility>

#include "tree/subtable_options.h"
#include "tree/value_extent.h"
#include "util/coding.h"

namespace sluice {

namespace {

// Tags of fields on disk: never change one, add others.
enum Tag : uint32_t {
  kDropped = 1,
  kCreated = 2,
  kFlushed = 3,
  kRemoved = 4,
  kAdded = 5,
  kLogStart = 6,
  kNextNumber = 7,
  kWhole = 8,
  kNextSubtable = 9,
  kDatabase = 10,
  kAddedSlice = 11,  // as kAdded, then what only slices have
  kCut = 12,
  kCutsDone = 13,
  kValueExtent = 14,  // what kValueShares of this edit may name
  kValueShares = 15,  // of the extent added last
  kOptions = 16,
};

template <typename... Numbers>
void Put(std::string* out, Numbers... numbers) {
  (PutVarint(out, numbers), ...);
}

template <typename... Numbers>
bool Get(std::string_view* in, Numbers*... numbers) {
  const auto get = [in](auto* number) {
    if constexpr (sizeof(*number) == sizeof(uint32_t)) {
      return GetVarint32(in, number);
    } else {
      return GetVarint64(in, number);
    }
  };
  return (get(numbers) && ...);
}

bool GetString(std::string_view* in, std::string* out) {
  std::string_view bytes;
  if (!GetLengthPrefixed(in, &bytes)) {
    return false;
  }
  out->assign(bytes);
  return true;
}

bool GetKey(std::string_view* in, std::string* out) {
  return GetString(in, out) && out->size() >= kTrailerBytes;
}

bool GetAdded(std::string_view* in, MetadataEdit::Added* added) {
  Extent& extent = added->extent;
  return Get(in, &added->subtable, &added->run.level, &added->run.run, &extent.number,
             &extent.address.file, &extent.address.page, &extent.bytes, &extent.entries,
             &extent.tombstones, &extent.shadowed, &extent.newest, &extent.oldest_tombstone,
             &extent.newest_tombstone) &&
         GetKey(in, &extent.smallest) && GetKey(in, &extent.largest);
}

// Value extents of an edit, by their numbers.
using ValueExtents = std::map<uint64_t, ValueExtentPtr>;

void PutValueExtents(const std::vector<MetadataEdit::Added>& added, std::string* out) {
  std::set<uint64_t> known;
  for (const MetadataEdit::Added& a : added) {
    for (const auto& share : ValueShares::Of(a.extent)) {
      const Extent& pages = share.extent->pages;
      if (known.insert(pages.number).second) {
        Put(out, kValueExtent, pages.number, pages.address.file, pages.address.page, pages.bytes,
            pages.entries);
      }
    }
  }
}

bool GetValueExtent(std::string_view* in, ValueExtents* values) {
  Extent pages;
  if (!Get(in, &pages.number, &pages.address.file, &pages.address.page, &pages.bytes,
           &pages.entries)) {
    return false;
  }
  return values->emplace(pages.number, std::make_shared<const ValueExtent>(pages)).second;
}

void PutShares(const Extent& extent, std::string* out) {
  if (extent.values == nullptr) {
    return;
  }
  Put(out, kValueShares, extent.values->shares.size());
  uint64_t before = 0;
  for (const ValueShares::Share& share : extent.values->shares) {
    const uint64_t number = share.extent->pages.number;
    Put(out, number - before, share.bytes);
    before = number;
  }
}

bool GetShares(std::string_view* in, const ValueExtents& values, MetadataEdit* edit) {
  uint64_t count;
  // Each takes two bytes at least.
  if (!Get(in, &count) || count == 0 || count > in->size() / 2 || edit->added.empty() ||
      edit->added.back().extent.values != nullptr) {
    return false;
  }
  Extent& extent = edit->added.back().extent;
  auto shares = std::make_shared<ValueShares>();
  shares->shares.reserve(count);
  uint64_t number = 0;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t step;
    ValueShares::Share share;
    if (!Get(in, &step, &share.bytes) || step == 0) {
      return false;
    }
    number += step;
    const auto known = values.find(number);
    if (known == values.end() || share.bytes > known->second->pages.bytes) {
      return false;
    }
    share.extent = known->second;
    extent.value_bytes += share.bytes;
    shares->shares.push_back(std::move(share));
  }
  extent.values = std::move(shares);
  return true;
}

bool GetField(uint32_t tag, std::string_view* in, ValueExtents* values, MetadataEdit* edit) {
  switch (tag) {
    case kDropped:
      return Get(in, &edit->dropped.emplace_back());
    case kCreated: {
      MetadataEdit::Subtable& created = edit->created.emplace_back();
      return Get(in, &created.id) && GetString(in, &created.name);
    }
    case kOptions: {
      MetadataEdit::Options& options = edit->options.emplace_back();
      std::string_view encoded;
      return Get(in, &options.subtable) && GetLengthPrefixed(in, &encoded) &&
             ParseOptions(encoded, &options.options);
    }
    case kFlushed: {
      MetadataEdit::Flushed& flushed = edit->flushed.emplace_back();
      return Get(in, &flushed.subtable, &flushed.sequence);
    }
    case kCut: {
      MetadataEdit::Cut& cut = edit->cuts.emplace_back();
      return Get(in, &cut.subtable, &cut.deletion.sequence) && GetString(in, &cut.deletion.begin) &&
             GetString(in, &cut.deletion.end);
    }
    case kCutsDone: {
      MetadataEdit::CutsDone& done = edit->cuts_done.emplace_back();
      return Get(in, &done.subtable, &done.sequence);
    }
    case kRemoved: {
      MetadataEdit::Removed& removed = edit->removed.emplace_back();
      return Get(in, &removed.subtable, &removed.run.level, &removed.run.run, &removed.extent) &&
             GetKey(in, &removed.smallest);
    }
    case kAdded:
    case kAddedSlice: {
      MetadataEdit::Added& added = edit->added.emplace_back();
      added.extent.sliced = tag == kAddedSlice;
      return GetAdded(in, &added) &&
             (!added.extent.sliced ||
              (Get(in, &added.extent.slice_bytes) && GetKey(in, &added.extent.table_largest)));
    }
    case kValueExtent:
      return GetValueExtent(in, values);
    case kValueShares:
      return GetShares(in, *values, edit);
    case kLogStart:
      return Get(in, &edit->log_start.emplace());
    case kNextNumber:
      return Get(in, &edit->next_number.emplace());
    case kNextSubtable:
      return Get(in, &edit->next_subtable.emplace());
    case kDatabase:
      return GetString(in, &edit->database.emplace());
    case kWhole:
      edit->whole = true;
      return true;
    default:
      return false;
  }
}

}  // namespace

void MetadataEdit::AppendTo(std::string* out) const {
  if (whole) {
    Put(out, kWhole);
  }
  for (const uint32_t id : dropped) {
    Put(out, kDropped, id);
  }
  for (const Subtable& subtable : created) {
    Put(out, kCreated, subtable.id);
    PutLengthPrefixed(out, subtable.name);
  }
  for (const Options& of : options) {
    Put(out, kOptions, of.subtable);
    std::string encoded;
    AppendOptions(of.options, &encoded);
    PutLengthPrefixed(out, encoded);
  }
  for (const Flushed& f : flushed) {
    Put(out, kFlushed, f.subtable, f.sequence);
  }
  for (const CutsDone& done : cuts_done) {
    Put(out, kCutsDone, done.subtable, done.sequence);
  }
  for (const Cut& cut : cuts) {
    Put(out, kCut, cut.subtable, cut.deletion.sequence);
    PutLengthPrefixed(out, cut.deletion.begin);
    PutLengthPrefixed(out, cut.deletion.end);
  }
  for (const Removed& r : removed) {
    Put(out, kRemoved, r.subtable, r.run.level, r.run.run, r.extent);
    PutLengthPrefixed(out, r.smallest);
  }
  PutValueExtents(added, out);
  for (const Added& a : added) {
    Put(out, a.extent.sliced ? kAddedSlice : kAdded, a.subtable, a.run.level, a.run.run,
        a.extent.number, a.extent.address.file, a.extent.address.page, a.extent.bytes,
        a.extent.entries, a.extent.tombstones, a.extent.shadowed, a.extent.newest,
        a.extent.oldest_tombstone, a.extent.newest_tombstone);
    PutLengthPrefixed(out, a.extent.smallest);
    PutLengthPrefixed(out, a.extent.largest);
    if (a.extent.sliced) {
      Put(out, a.extent.slice_bytes);
      PutLengthPrefixed(out, a.extent.table_largest);
    }
    PutShares(a.extent, out);
  }
  if (log_start) {
    Put(out, kLogStart, *log_start);
  }
  if (next_number) {
    Put(out, kNextNumber, *next_number);
  }
  if (next_subtable) {
    Put(out, kNextSubtable, *next_subtable);
  }
  if (database) {
    Put(out, kDatabase);
    PutLengthPrefixed(out, *database);
  }
}

Status MetadataEdit::ReadFrom(std::string_view in) {
  *this = {};
  const size_t size = in.size();
  ValueExtents values;
  while (!in.empty()) {
    const size_t at = size - in.size();
    uint32_t tag;
    if (!GetVarint32(&in, &tag) || !GetField(tag, &in, &values, this)) {
      return Status::Corruption(fmt::format("malformed metadata edit at its byte {}", at));
    }
  }
  return {};
}

}  // namespace sluice
