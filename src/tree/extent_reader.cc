#include "tree/extent_reader.h"

#include <fmt/format.h>

#include <cstring>

#include "table/stored_block.h"
#include "util/epoch.h"
#include "util/kept_buffer.h"

namespace sluice {

std::string ExtentReader::Describe(const Extent& extent, uint64_t offset) {
  return fmt::format("{}, offset {} (extent {})", extent.place->file()->path(),
                     extent.place->offset() + offset, extent.number);
}

Status ExtentReader::ReadStored(const Extent& extent, const BlockHandle& handle,
                                const ZstdDictionary* dictionary, std::string* contents) {
  if (!HandleFits(handle, extent.bytes)) {
    return Status::Corruption(
        fmt::format("{}: the index names a block of {} bytes, which reaches "
                    "past the extent's end",
                    Describe(extent, handle.offset), handle.size));
  }
  thread_local std::string kept;
  KeptBuffer stored(&kept);
  stored->resize(handle.size + kBlockTrailerBytes);
  SLUICE_RETURN_IF_ERROR(extent.place->file()->Read(extent.place->offset() + handle.offset,
                                                    stored->size(), stored->data()));
  std::string_view view;
  if (Status status = ReadStoredBlock(*stored, {0, handle.size}, contents, &view, dictionary);
      !status.ok()) {
    return status.WithContext(Describe(extent, handle.offset));
  }
  if (view.data() != contents->data()) {
    contents->assign(view);
  }
  return {};
}

Status ExtentReader::FindBlock(const Extent& extent, const BlockHandle& handle, bool fill_cache,
                               const Cache::Entry** entry) {
  const BlockKey key(extent.number, static_cast<uint32_t>(handle.offset));
  if (const Cache::Entry* const found = blocks_.Lookup(key.bytes(), key.hash())) {
    *entry = found;
    return {};
  }
  TableHead* head = nullptr;
  SLUICE_RETURN_IF_ERROR(tables_.Find(extent, &head));
  thread_local std::string kept;
  KeptBuffer contents(&kept);
  // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): found, since the status is ok
  SLUICE_RETURN_IF_ERROR(ReadStored(extent, handle, head->dictionary(), &*contents));
  Cache::Entry* const made = Cache::NewEntry(key.bytes(), contents->size());
  std::memcpy(made->data(), contents->data(), contents->size());
  *entry = made;
  if (fill_cache) {
    *entry = blocks_.Insert(made, key.hash());
  } else {
    EpochRetire(
        made, [](void* unused) { static_cast<Cache::Entry*>(unused)->Unref(); }, contents->size());
  }
  return {};
}

Status ExtentReader::OpenHead(const Extent& extent, TableHeadRef* head) {
  const EpochGuard guard;
  TableHead* found = nullptr;
  SLUICE_RETURN_IF_ERROR(tables_.Find(extent, &found));
  head->Reset(found);
  return {};
}

Status ExtentReader::ReadBlock(const Extent& extent, const BlockHandle& handle, bool fill_cache,
                               BlockRef* contents, Block* block) {
  if (fill_cache) {
    extent.place->Touch();
  }
  const EpochGuard guard;
  const Cache::Entry* entry = nullptr;
  SLUICE_RETURN_IF_ERROR(FindBlock(extent, handle, fill_cache, &entry));
  contents->Reset(entry);
  // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): found, since the status is ok
  const Status status = Block::Parse(entry->value(), block);
  return status.ok() ? status : status.WithContext(Describe(extent, handle.offset));
}

void ExtentReader::Prepare(std::span<Lookup> lookups, std::string_view internal_key,
                           uint32_t hash) const {
  for (Lookup& lookup : lookups) {
    lookup.head = TableCache::FindInMemory(*lookup.extent);
  }
  for (Lookup& lookup : lookups) {
    if (lookup.head != nullptr) {
      lookup.block = lookup.head->Find(internal_key);
      lookup.head->PrefetchPlace(lookup.block);
    }
  }
  for (const Lookup& lookup : lookups) {
    if (lookup.head != nullptr && lookup.block < lookup.head->blocks()) {
      lookup.head->PrefetchFilter(lookup.block, hash);
    }
  }
}

Status ExtentReader::Get(const Lookup& lookup, std::string_view internal_key, uint32_t hash,
                         bool fill_cache, BlockMatch* match) {
  *match = {};
  const Extent& extent = *lookup.extent;
  TableHead* head = lookup.head;
  size_t i = lookup.block;
  if (head == nullptr) {
    SLUICE_RETURN_IF_ERROR(tables_.Find(extent, &head));
    i = head->Find(internal_key);
  }
  if (i == head->blocks() || !head->MayHold(i, hash)) {
    return {};
  }
  if (fill_cache) {
    extent.place->Touch();
  }
  const Cache::Entry* entry = nullptr;
  SLUICE_RETURN_IF_ERROR(FindBlock(extent, head->block(i), fill_cache, &entry));
  Block block;
  // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): found, since the status is ok
  Status status = Block::Parse(entry->value(), &block);
  if (status.ok()) {
    status = SearchBlock(block, internal_key, match);
  }
  return status.ok() ? status : status.WithContext(Describe(extent, head->block(i).offset));
}

}  // namespace sluice
