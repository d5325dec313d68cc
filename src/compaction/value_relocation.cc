#include "compaction/value_relocation.h"

#include <algorithm>

#include "table/block.h"

namespace sluice {

ValueRelocation::ValueRelocation(const CompactionPick& pick, const ValueFormat& format,
                                 ExtentWriter* writer)
    : pick_(pick), writer_(format, writer) {
  for (const CompactionInput& input : pick.inputs) {
    for (const ExtentPtr& extent : input.extents) {
      for (const ValueShares::Share& share : ValueShares::Of(*extent)) {
        inputs_.try_emplace(share.extent->pages.number, share.extent);
      }
    }
  }
}

bool ValueRelocation::IsToMove(uint64_t number) const {
  return std::binary_search(pick_.relocate.begin(), pick_.relocate.end(), number);
}

ValueExtentPtr ValueRelocation::Find(uint64_t number) const {
  if (const auto input = inputs_.find(number); input != inputs_.end()) {
    return input->second;
  }
  return writer_.Find(number);
}

Status ValueRelocation::Relocate(std::string_view* contents) {
  if (!active()) {
    return {};
  }
  Block block;
  SLUICE_RETURN_IF_ERROR(Block::Parse(*contents, &block));
  BlockIterator at(block);
  bool patched = false;
  for (at.SeekToFirst(); at.Valid(); at.Next()) {
    ValueReference reference;
    if (!IsValueReference(Trailer(at.key())) || !reference.ReadFrom(at.value()) ||
        !IsToMove(reference.extent)) {
      continue;
    }
    const auto values = inputs_.find(reference.extent);
    if (values == inputs_.end()) {
      continue;  // whoever looks for it next says so
    }
    if (!ReadStoredValue(*values->second, reference, UserKey(at.key()), &record_).ok()) {
      values->second->damaged.store(true, std::memory_order_relaxed);
      continue;
    }
    bytes_read_ += record_.size();
    SLUICE_RETURN_IF_ERROR(writer_.AddRecord(record_, reference, &moved_));
    if (!patched) {
      patched_.assign(*contents);
      patched = true;
    }
    std::copy(moved_.begin(), moved_.end(),
              patched_.begin() + (at.value().data() - contents->data()));
  }
  SLUICE_RETURN_IF_ERROR(at.status());
  if (patched) {
    *contents = patched_;
  }
  return {};
}

}  // namespace sluice
