#include "rocksdb_table/table.h"

#include <fmt/format.h>

#include "rocksdb_table/stored_block.h"
#include "util/files.h"

namespace sluice {

namespace {

// The count of restarts has this bit if a hash index follows the restarts, which only blocks of up
// to so many bytes have:  bucket (1 byte)* | number of buckets (fixed16) | count (fixed32)
constexpr uint32_t kHashIndexBit = 1u << 31;
constexpr size_t kMostBytesWithHashIndex = 64 << 10;

Status AtOffset(const Status& status, uint64_t offset) {
  return status.WithContext(fmt::format("offset {}", offset));
}

// Leaves out the hash index of a data block, if there is one.
Status CutHashIndex(std::string_view contents, std::string* buffer, std::string_view* plain) {
  *plain = contents;
  if (contents.size() < 6 || contents.size() > kMostBytesWithHashIndex) {
    return {};
  }
  const char* const end = contents.data() + contents.size();
  const uint32_t restarts = DecodeFixed32(end - 4);
  if ((restarts & kHashIndexBit) == 0) {
    return {};
  }
  const size_t buckets = static_cast<uint8_t>(end[-6]) | static_cast<uint8_t>(end[-5]) << 8;
  if (buckets + 6 > contents.size()) {
    return Status::Corruption(fmt::format("block of {} bytes claims a hash index of {} buckets",
                                          contents.size(), buckets));
  }
  buffer->assign(contents.substr(0, contents.size() - 6 - buckets));
  PutFixed32(buffer, restarts & ~kHashIndexBit);
  *plain = *buffer;
  return {};
}

}  // namespace

Status RocksTable::Open(Env* env, const std::string& path, std::unique_ptr<RocksTable>* table) {
  MappedFile file;
  SLUICE_RETURN_IF_ERROR(env->MapFile(path, &file));
  SLUICE_RETURN_IF_ERROR(ReadIn(file, path));
  std::unique_ptr<RocksTable> opened;
  SLUICE_RETURN_IF_ERROR(OpenImage(file.bytes(), path, &opened));
  opened->file_ = std::move(file);
  *table = std::move(opened);
  return {};
}

Status RocksTable::OpenImage(std::string_view image, std::string name,
                             std::unique_ptr<RocksTable>* table) {
  std::unique_ptr<RocksTable> opened(new RocksTable);
  opened->image_ = image;
  opened->name_ = std::move(name);
  SLUICE_RETURN_IF_ERROR(opened->Init().WithContext(opened->name_));
  *table = std::move(opened);
  return {};
}

Status RocksTable::Init() {
  SLUICE_RETURN_IF_ERROR(RocksFooter::Parse(image_, &footer_));
  SLUICE_RETURN_IF_ERROR(InitMetaindex().WithContext("metaindex block"));
  SLUICE_RETURN_IF_ERROR(InitProperties());
  SLUICE_RETURN_IF_ERROR(CheckKnown());
  return InitIndex();
}

Status RocksTable::InitMetaindex() {
  std::string buffer;
  std::string_view contents;
  SLUICE_RETURN_IF_ERROR(ReadBlock(footer_.metaindex, &buffer, &contents));
  Block block;
  SLUICE_RETURN_IF_ERROR(AtOffset(Block::Parse(contents, &block), footer_.metaindex.offset));
  BlockIterator entry(block, KeyKind::kPlain);
  for (entry.SeekToFirst(); entry.Valid(); entry.Next()) {
    NamedBlock named{std::string(entry.key()), {}};
    std::string_view encoded = entry.value();
    if (!named.handle.ReadFrom(&encoded) || !encoded.empty()) {
      return AtOffset(Status::Corruption(fmt::format(
                          "malformed block handle in the entry at byte {}", entry.offset())),
                      footer_.metaindex.offset);
    }
    if (!metaindex_.empty() && metaindex_.back().name >= named.name) {
      return AtOffset(Status::Corruption(fmt::format("name in the entry at byte {} is not in order",
                                                     entry.offset())),
                      footer_.metaindex.offset);
    }
    metaindex_.push_back(std::move(named));
  }
  return AtOffset(entry.status(), footer_.metaindex.offset);
}

Status RocksTable::InitProperties() {
  const NamedBlock* const named = FindBlock(kRocksPropertiesBlock);
  if (named == nullptr) {
    return Status::NotSupported("table without properties");
  }
  std::string buffer;
  std::string_view contents;
  Block block;
  Status status = ReadBlock(named->handle, &buffer, &contents);
  if (status.IsCorruption() && HasExternalSequence(named->handle)) {
    return Status::NotSupported("table with records of an ingested file");
  }
  if (status.ok()) {
    status = AtOffset(Block::Parse(contents, &block), named->handle.offset);
  }
  if (status.ok()) {
    status = AtOffset(RocksProperties::Parse(block, &properties_), named->handle.offset);
  }
  return status.WithContext("properties block");
}

bool RocksTable::HasExternalSequence(const BlockHandle& properties) const {
  if (!HandleFits(properties, blocks_end())) {
    return false;
  }
  std::string stored(image_.substr(properties.offset, properties.size + 1));
  Block block;
  if (!Block::Parse(std::string_view(stored).substr(0, properties.size), &block).ok()) {
    return false;
  }
  BlockIterator entry(block, KeyKind::kPlain);
  entry.SeekToFirst();
  while (entry.Valid() && entry.key() != kRocksExternalSequence) {
    entry.Next();
  }
  if (!entry.Valid() || entry.value().size() != sizeof(uint64_t)) {
    return false;
  }
  EncodeFixed64(stored.data() + (entry.value().data() - stored.data()), 0);
  return RocksBlockChecksum(footer_.checksum, stored) +
             footer_.ChecksumModifier(properties.offset) ==
         DecodeFixed32(image_.data() + properties.offset + stored.size());
}

Status RocksTable::CheckKnown() const {
  const auto declined = [](std::string_view what) {
    return Status::NotSupported(fmt::format("table with {}", what));
  };
  if (const std::string_view comparator = properties_.Text(kRocksComparator);
      comparator != kRocksBytewiseComparator) {
    return declined(fmt::format("the comparator \"{}\"", comparator));
  }
  if (properties_.Number(kRocksMergeOperands) != 0) {
    return declined("merge operands");
  }
  if (properties_.Number(kRocksRangeDeletions) != 0 ||
      FindBlock(kRocksRangeDeletionBlock) != nullptr) {
    return declined("range deletions");
  }
  if (properties_.Has(kRocksExternalVersion)) {
    return declined("records of an ingested file");
  }
  if (FindBlock(kRocksDictionaryBlock) != nullptr) {
    return declined("a dictionary for its compression");
  }
  if (properties_.Number("rocksdb.udi.is.primary.index") != 0) {
    return declined("an index of a user's own");
  }
  if (properties_.Number("rocksdb.separate.key.value.in.data.block") != 0) {
    return declined("keys and values apart in its blocks");
  }
  return {};
}

Status RocksTable::InitIndex() {
  index_ = footer_.index;
  if (footer_.format_version >= 6) {
    const NamedBlock* const named = FindBlock(kRocksIndexBlock);
    if (named == nullptr) {
      return Status::Corruption(fmt::format("offset {}: metaindex block without the index block",
                                            footer_.metaindex.offset));
    }
    index_ = named->handle;
  }
  if (const std::string_view type = properties_.Text(kRocksIndexType); type.size() == 4) {
    index_type_ = RocksIndexType{DecodeFixed32(type.data())};
  }
  if (index_type_ > RocksIndexType::kBinarySearchWithFirstKey) {
    return Status::NotSupported(
        fmt::format("table with an index of type {}", static_cast<uint32_t>(index_type_)));
  }
  index_format_ = {.user_keys = properties_.Number(kRocksUserIndexKeys) != 0,
                   .delta_values = properties_.Number(kRocksDeltaIndexValues) != 0,
                   .first_keys = index_type_ == RocksIndexType::kBinarySearchWithFirstKey};
  return {};
}

const RocksTable::NamedBlock* RocksTable::FindBlock(std::string_view name) const {
  for (const NamedBlock& block : metaindex_) {
    if (block.name == name) {
      return &block;
    }
  }
  return nullptr;
}

Status RocksTable::WalkIndex(const BlockHandle& handle, const RocksIndexFormat& format,
                             const Visit& visit) const {
  std::string buffer;
  std::string_view contents;
  SLUICE_RETURN_IF_ERROR(ReadBlock(handle, &buffer, &contents).WithContext("index block"));
  Block block;
  const std::string context = fmt::format("offset {}: index block", handle.offset);
  SLUICE_RETURN_IF_ERROR(Block::Parse(contents, &block).WithContext(context));
  RocksIndexIterator entry(block, format);
  uint64_t end = 0;
  while (entry.Next()) {
    const BlockHandle& at = entry.handle();
    if (!HandleFits(at, blocks_end())) {
      return Status::Corruption(
          fmt::format("{}: names a block of {} bytes at {}, but blocks end at {}", context, at.size,
                      at.offset, blocks_end()));
    }
    // Otherwise a small table could name one block over and over.
    if (at.offset < end) {
      return Status::Corruption(fmt::format(
          "{}: names a block at {}, before the one before it ends", context, at.offset));
    }
    end = at.offset + at.size + kBlockTrailerBytes;
    SLUICE_RETURN_IF_ERROR(visit(entry.key(), at));
  }
  return entry.status().WithContext(context);
}

Status RocksTable::ForEachDataBlock(const Visit& visit) const {
  if (index_type_ != RocksIndexType::kTwoLevel) {
    return WalkIndex(index_, index_format_, visit);
  }
  uint64_t end = 0;
  return WalkIndex(index_, index_format_, [&](const std::string&, const BlockHandle& partition) {
    return WalkIndex(
        partition, index_format_, [&](const std::string& key, const BlockHandle& handle) {
          if (handle.offset < end) {
            return Status::Corruption(
                fmt::format("offset {}: index block: begins with a block at {}, before the last "
                            "one of the partition before ends",
                            partition.offset, handle.offset));
          }
          end = handle.offset + handle.size + kBlockTrailerBytes;
          return visit(key, handle);
        });
  });
}

Status RocksTable::ForEachIndexBlock(
    const std::function<void(std::string_view what, const BlockHandle& handle)>& visit) const {
  visit("index block", index_);
  if (index_type_ != RocksIndexType::kTwoLevel) {
    return {};
  }
  return WalkIndex(index_, index_format_, [&](const std::string&, const BlockHandle& partition) {
    visit("index partition", partition);
    return Status();
  });
}

Status RocksTable::ReadBlock(const BlockHandle& handle, std::string* buffer,
                             std::string_view* contents) const {
  return ReadRocksBlock(image_, blocks_end(), footer_, handle, buffer, contents);
}

Status RocksTable::ReadDataBlock(const BlockHandle& handle, RocksBlockBuffer* buffer,
                                 std::string_view* contents) const {
  std::string_view whole;
  SLUICE_RETURN_IF_ERROR(ReadBlock(handle, &buffer->uncompressed, &whole));
  return AtOffset(CutHashIndex(whole, &buffer->plain, contents), handle.offset);
}

}  // namespace sluice
