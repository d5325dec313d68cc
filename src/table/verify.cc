#include "table/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "table/block.h"
#include "table/filter.h"
#include "table/stored_block.h"
#include "table/table_reader.h"

namespace sluice {

namespace {

class Verifier {
 public:
  Verifier(const TableReader& table, TableReport* report, const VerifyProgress& progress)
      : table_(table), report_(report), progress_(progress) {}

  Status Run();

 private:
  // A block, and what to call it.
  struct Extent {
    BlockHandle handle;
    std::string what;
  };

  // What a part of an extent's head says of a data block.
  struct HeadEntry {
    std::string last_key;
    BlockHandle handle;
    std::string filter;
  };

  Status CheckFooter();
  Status CheckMetaindex();
  Status CheckParts();
  Status CheckPart(const BlockHandle& handle, std::string_view last_key);
  Status CheckHeadEntry(const BlockIterator& index, const BlockHandle& handle) const;
  Status CheckIndex();
  Status CheckDataBlock(const BlockHandle& handle);
  Status CheckKey(const BlockIterator& entry, const BlockHandle& handle);
  Status CheckOverlap();

  // Walks the block's entries, checking restarts and calling visit(iterator), which may fail.
  template <typename Visit>
  Status WalkBlock(const Block& block, KeyKind kind, const Visit& visit);

  const TableReader& table_;
  TableReport* const report_;
  const VerifyProgress& progress_;
  std::vector<Extent> extents_;
  BlockHandle parts_;                    // of an extent; of no bytes: it is none
  std::vector<HeadEntry> head_entries_;  // of all parts
  std::string last_key_;                 // of all data blocks so far
  std::string last_index_key_;           // of the block before
};

Status FaultAt(uint64_t offset, std::string_view what) {
  return Status::Corruption(fmt::format("offset {}: {}", offset, what));
}

Status Verifier::Run() {
  SLUICE_RETURN_IF_ERROR(CheckFooter());
  SLUICE_RETURN_IF_ERROR(CheckMetaindex());
  if (parts_.size > 0) {
    SLUICE_RETURN_IF_ERROR(CheckParts());
  }
  SLUICE_RETURN_IF_ERROR(CheckIndex());
  return CheckOverlap();
}

Status Verifier::CheckFooter() {
  const Footer& footer = table_.footer();
  std::string plain;
  footer.AppendTo(&plain);
  if (!table_.image().ends_with(plain)) {
    return FaultAt(table_.image().size() - kFooterBytes,
                   "footer has other bytes than its handles, plainly encoded, and zeros");
  }
  extents_.push_back({footer.metaindex, "metaindex block"});
  extents_.push_back({footer.index, "index block"});
  return {};
}

template <typename Visit>
Status Verifier::WalkBlock(const Block& block, KeyKind kind, const Visit& visit) {
  uint32_t restart = 0;
  BlockIterator entry(block, kind);
  for (entry.SeekToFirst(); entry.Valid(); entry.Next()) {
    if (restart < block.restarts() && block.restart(restart) <= entry.offset()) {
      // A shared prefix of 0 is a first byte of 0, or an overlong encoding that nobody writes.
      if (block.restart(restart) != entry.offset() || block.entries()[entry.offset()] != 0) {
        return Status::Corruption(fmt::format("restart {} points to byte {}, where no whole key is",
                                              restart, block.restart(restart)));
      }
      ++restart;
    }
    SLUICE_RETURN_IF_ERROR(visit(entry));
  }
  SLUICE_RETURN_IF_ERROR(entry.status());
  if (!block.entries().empty() && restart != block.restarts()) {
    return Status::Corruption(fmt::format("restart {} points to byte {}, past the last entry",
                                          restart, block.restart(restart)));
  }
  return {};
}

Status Verifier::CheckMetaindex() {
  report_->filter_name = table_.filter_name();
  std::string last_name;
  std::string buffer;
  bool first = true;
  const auto visit = [&](const BlockIterator& entry) {
    if (!first && last_name >= entry.key()) {
      return Status::Corruption(
          fmt::format("name in the entry at byte {} is not in order", entry.offset()));
    }
    first = false;
    last_name = entry.key();
    Extent extent{{}, fmt::format("block \"{}\"", last_name)};
    std::string_view encoded = entry.value();
    if (!extent.handle.ReadFrom(&encoded) || !encoded.empty()) {
      return Status::Corruption(
          fmt::format("malformed block handle in the entry at byte {}", entry.offset()));
    }
    std::string_view contents;
    SLUICE_RETURN_IF_ERROR(
        ReadStoredBlock(table_.image().substr(0, table_.image().size() - kFooterBytes),
                        extent.handle, &buffer, &contents));
    if (last_name == kPartsName) {
      parts_ = extent.handle;
    }
    extents_.push_back(std::move(extent));
    return Status();
  };
  return WalkBlock(table_.metaindex(), KeyKind::kPlain, visit)
      .WithContext(fmt::format("offset {}: metaindex block", table_.footer().metaindex.offset));
}

Status Verifier::CheckParts() {
  std::string buffer;
  std::string_view contents;
  Block block;
  SLUICE_RETURN_IF_ERROR(ReadStoredBlock(table_.image(), parts_, &buffer, &contents));
  Status inner;  // a fault in a part, which must not be reported as that of this block
  const auto visit = [&](const BlockIterator& entry) {
    BlockHandle handle;
    std::string_view encoded = entry.value();
    if (!handle.ReadFrom(&encoded) || !encoded.empty()) {
      return Status::Corruption(
          fmt::format("malformed block handle in the entry at byte {}", entry.offset()));
    }
    return inner = CheckPart(handle, entry.key());
  };
  Status status = Block::Parse(contents, &block);
  if (status.ok()) {
    status = WalkBlock(block, KeyKind::kInternal, visit);
  }
  return inner.ok() ? status.WithContext(fmt::format("offset {}: parts block", parts_.offset))
                    : inner;
}

Status Verifier::CheckPart(const BlockHandle& handle, std::string_view last_key) {
  std::string buffer;
  std::string_view contents;
  Block block;
  SLUICE_RETURN_IF_ERROR(ReadStoredBlock(
      table_.image().substr(0, table_.image().size() - kFooterBytes), handle, &buffer, &contents));
  const auto visit = [&](const BlockIterator& entry) {
    HeadEntry head{.last_key = std::string(entry.key()), .handle = {}, .filter = {}};
    std::string_view filter = entry.value();
    if (!head.handle.ReadFrom(&filter) || filter.size() == 1) {
      return Status::Corruption(
          fmt::format("malformed block handle or filter in the entry at byte {}", entry.offset()));
    }
    head.filter = filter;
    head_entries_.push_back(std::move(head));
    return Status();
  };
  Status status = Block::Parse(contents, &block);
  if (status.ok()) {
    status = WalkBlock(block, KeyKind::kInternal, visit);
  }
  if (status.ok() && (block.entries().empty() || head_entries_.back().last_key != last_key)) {
    status = Status::Corruption("does not end with the key that the parts block says");
  }
  extents_.push_back({handle, "part of the head"});
  return status.WithContext(fmt::format("offset {}: part of the head", handle.offset));
}

Status Verifier::CheckHeadEntry(const BlockIterator& index, const BlockHandle& handle) const {
  const size_t i = report_->data_blocks;
  if (i >= head_entries_.size()) {
    return FaultAt(parts_.offset, "parts of the head end before the index");
  }
  const HeadEntry& entry = head_entries_[i];
  return entry.last_key == index.key() && entry.handle.offset == handle.offset &&
                 entry.handle.size == handle.size
             ? Status()
             : FaultAt(parts_.offset,
                       fmt::format("parts of the head differ from the index in block {}", i));
}

Status Verifier::CheckKey(const BlockIterator& entry, const BlockHandle& handle) {
  const std::string_view key = entry.key();
  const auto fault = [&](std::string_view what) {
    return Status::Corruption(
        fmt::format("entry at byte {} of the block: {}", entry.offset(), what));
  };
  const uint8_t type = TrailerType(Trailer(key));
  if (!IsKnownType(type)) {
    return fault(fmt::format("unknown record type {}", type));
  }
  if (!last_key_.empty() && CompareInternalKeys(last_key_, key) >= 0) {
    return fault("key does not come after the one before");
  }
  if (!last_index_key_.empty() && CompareInternalKeys(last_index_key_, key) >= 0) {
    return fault("key does not come after the index key of the block before");
  }
  if (const FilterBlock* filter = table_.filter();
      filter != nullptr && !filter->KeyMayMatch(handle.offset, UserKey(key))) {
    return fault("key is not in the filter");
  }
  if (parts_.size > 0) {
    const std::string& filter = head_entries_[report_->data_blocks - 1].filter;
    if (!filter.empty() && !BloomMayMatch(filter, BloomHash(UserKey(key)))) {
      return fault("key is not in the filter of its part of the head");
    }
  }
  last_key_ = key;
  ++report_->entries;
  report_->tombstones += type == static_cast<uint8_t>(RecordType::kDeletion);
  report_->references += type == static_cast<uint8_t>(kTypeValueReference);
  report_->key_bytes += key.size();
  report_->value_bytes += entry.value().size();
  if (report_->smallest.empty()) {
    report_->smallest = key;
  }
  return {};
}

Status Verifier::CheckDataBlock(const BlockHandle& handle) {
  std::string buffer;
  Block block;
  SLUICE_RETURN_IF_ERROR(table_.ReadDataBlock(handle, &buffer, &block));
  ++report_->data_blocks;
  report_->compressed_blocks += table_.image()[handle.offset + handle.size] != 0;
  if (block.entries().empty()) {
    return FaultAt(handle.offset, "data block without entries");
  }
  const auto visit = [&](const BlockIterator& entry) { return CheckKey(entry, handle); };
  SLUICE_RETURN_IF_ERROR(WalkBlock(block, KeyKind::kInternal, visit)
                             .WithContext(fmt::format("offset {}", handle.offset)));
  report_->largest = last_key_;
  if (progress_) {
    progress_(handle.offset + handle.size, table_.image().size());
  }
  return {};
}

Status Verifier::CheckIndex() {
  const uint64_t offset = table_.footer().index.offset;
  Status inner;  // a fault in a data block, which must not be reported as the index's
  const auto visit = [&](const BlockIterator& entry) {
    BlockHandle handle;
    std::string_view encoded = entry.value();
    if (!handle.ReadFrom(&encoded) || !encoded.empty()) {
      return Status::Corruption(
          fmt::format("malformed block handle in the entry at byte {}", entry.offset()));
    }
    inner = parts_.size > 0 ? CheckHeadEntry(entry, handle) : Status();
    SLUICE_RETURN_IF_ERROR(inner);
    inner = CheckDataBlock(handle);
    SLUICE_RETURN_IF_ERROR(inner);
    if (CompareInternalKeys(entry.key(), last_key_) < 0) {
      return Status::Corruption(fmt::format(
          "key in the entry at byte {} comes before the last of its block", entry.offset()));
    }
    last_index_key_ = entry.key();
    extents_.push_back({handle, "data block"});
    return Status();
  };
  const Status status = WalkBlock(table_.index(), KeyKind::kInternal, visit);
  if (status.ok() && head_entries_.size() > report_->data_blocks) {
    return FaultAt(parts_.offset, "parts of the head have more blocks than the index");
  }
  return inner.ok() ? status.WithContext(fmt::format("offset {}: index block", offset)) : inner;
}

Status Verifier::CheckOverlap() {
  std::sort(extents_.begin(), extents_.end(),
            [](const Extent& a, const Extent& b) { return a.handle.offset < b.handle.offset; });
  for (size_t i = 1; i < extents_.size(); ++i) {
    const Extent& before = extents_[i - 1];
    const Extent& after = extents_[i];
    const uint64_t end = before.handle.offset + before.handle.size + kBlockTrailerBytes;
    if (after.handle.offset < end) {
      return FaultAt(after.handle.offset, fmt::format("{} overlaps the {} at offset {}", after.what,
                                                      before.what, before.handle.offset));
    }
  }
  return {};
}

Status Verify(const TableReader& table, TableReport* report, const VerifyProgress& progress) {
  TableReport ignored;
  if (report == nullptr) {
    report = &ignored;
  }
  *report = {};
  report->file_bytes = table.image().size();
  return Verifier(table, report, progress).Run().WithContext(table.name());
}

}  // namespace

Status VerifyTable(Env* env, const std::string& path, TableReport* report,
                   const VerifyProgress& progress) {
  std::unique_ptr<TableReader> table;
  SLUICE_RETURN_IF_ERROR(TableReader::Open(env, path, &table));
  return Verify(*table, report, progress);
}

Status VerifyTableImage(std::string_view image, const std::string& name, TableReport* report) {
  std::unique_ptr<TableReader> table;
  SLUICE_RETURN_IF_ERROR(TableReader::OpenImage(image, name, &table));
  return Verify(*table, report, nullptr);
}

}  // namespace sluice
