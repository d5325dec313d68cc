#include "compaction/block_cache_handover.h"

#include <cstring>

#include "table/block.h"
#include "table/stored_block.h"
#include "util/epoch.h"

namespace sluice {

void BlockCacheHandover::AddInput(const BlockKey& block, std::string_view low,
                                  std::string_view high) {
  const EpochGuard guard;
  if (cache_.Find(block.bytes(), block.hash()) != nullptr) {
    inputs_.emplace(high, Input{block, std::string(low)});
  }
}

Status BlockCacheHandover::AddOutput(const BuiltExtent& built, uint64_t number) {
  if (inputs_.empty()) {
    return {};
  }
  const std::string_view table = built.table;
  Footer footer;
  std::string index_buffer;
  std::string buffer;
  std::string_view contents;
  Block index;
  SLUICE_RETURN_IF_ERROR(
      Footer::Parse(table.substr(table.size() - kFooterBytes), table.size(), &footer));
  SLUICE_RETURN_IF_ERROR(ReadStoredBlock(table, footer.index, &index_buffer, &contents));
  SLUICE_RETURN_IF_ERROR(Block::Parse(contents, &index));
  std::string low(UserKey(built.extent.smallest));
  BlockIterator at(index);
  for (at.SeekToFirst(); at.Valid(); at.Next()) {
    const std::string_view high = UserKey(at.key());
    // Inputs that end before this block begins have no heir any more.
    inputs_.erase(inputs_.begin(), inputs_.lower_bound(low));
    if (inputs_.empty()) {
      return {};
    }
    if (const auto heir_of = inputs_.begin(); heir_of->second.low <= high) {
      BlockHandle handle;
      std::string_view value = at.value();
      if (!handle.ReadFrom(&value)) {
        return Status::Corruption("malformed handle");
      }
      SLUICE_RETURN_IF_ERROR(
          ReadStoredBlock(table, handle, &buffer, &contents, built.dictionary.get()));
      const BlockKey key(number, static_cast<uint32_t>(handle.offset));
      Cache::Entry* const entry = Cache::NewEntry(key.bytes(), contents.size());
      std::memcpy(entry->data(), contents.data(), contents.size());
      const BlockKey& old = heir_of->second.block;
      cache_.Replace(old.bytes(), old.hash(), entry, key.hash());
      inputs_.erase(heir_of);
    }
    low.assign(high);
  }
  return at.status();
}

}  // namespace sluice
