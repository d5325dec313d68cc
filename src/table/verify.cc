#include "table/verify.h"

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "table/block.h"
#include "table/filter.h"
#include "table/stored_block.h"
#include "table/table_reader.h"
#include "table/verify_parts.h"

namespace sluice {

namespace {

class Verifier {
 public:
  Verifier(const TableReader& table, TableReport* report, const VerifyProgress& progress)
      : table_(table),
        report_(report),
        progress_(progress),
        records_(report, kTypeValueReference) {}

  Status Run();

 private:
  // What a part of an extent's head says of a data block.
  struct HeadEntry {
    std::string last_key;
    BlockHandle handle;
    std::string filter;
    size_t prefix_bytes;
  };

  Status CheckFooter();
  Status CheckMetaindex();
  Status CheckParts();
  Status CheckPart(const BlockHandle& handle, size_t prefix_bytes, std::string_view last_key);
  Status CheckHeadEntry(const BlockIterator& index, const BlockHandle& handle) const;
  Status CheckIndex();
  Status CheckDataBlock(const BlockHandle& handle);
  // Whether the filters of a data block have the key, and its prefix. REQUIRES: `part` is null if the
  // table has no parts.
  bool FiltersHave(uint64_t offset, const HeadEntry* part, std::string_view user_key) const;

  const TableReader& table_;
  TableReport* const report_;
  const VerifyProgress& progress_;
  BlockHandle parts_;                    // of an extent; of no bytes: it is none
  std::vector<HeadEntry> head_entries_;  // of all parts
  BlockPlaces places_;
  RecordChecker records_;
};

Status Verifier::Run() {
  SLUICE_RETURN_IF_ERROR(CheckFooter());
  SLUICE_RETURN_IF_ERROR(CheckMetaindex());
  if (parts_.size > 0) {
    SLUICE_RETURN_IF_ERROR(CheckParts());
  }
  SLUICE_RETURN_IF_ERROR(CheckIndex());
  return places_.Check();
}

Status Verifier::CheckFooter() {
  const Footer& footer = table_.footer();
  std::string plain;
  footer.AppendTo(&plain);
  if (!table_.image().ends_with(plain)) {
    return FaultAt(table_.image().size() - kFooterBytes,
                   "footer has other bytes than its handles, plainly encoded, and zeros");
  }
  places_.Add(footer.metaindex, "metaindex block");
  places_.Add(footer.index, "index block");
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
    BlockHandle handle;
    std::string_view encoded = entry.value();
    if (!handle.ReadFrom(&encoded) || !encoded.empty()) {
      return Status::Corruption(
          fmt::format("malformed block handle in the entry at byte {}", entry.offset()));
    }
    std::string_view contents;
    SLUICE_RETURN_IF_ERROR(
        ReadStoredBlock(table_.image().substr(0, table_.image().size() - kFooterBytes), handle,
                        &buffer, &contents));
    if (last_name == kPartsName) {
      parts_ = handle;
    }
    places_.Add(handle, fmt::format("block \"{}\"", last_name));
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
    size_t prefix_bytes = 0;
    if (!handle.ReadFrom(&encoded) || !ReadPrefixBytes(encoded, &prefix_bytes)) {
      return Status::Corruption(fmt::format(
          "malformed block handle or prefix length in the entry at byte {}", entry.offset()));
    }
    return inner = CheckPart(handle, prefix_bytes, entry.key());
  };
  Status status = Block::Parse(contents, &block);
  if (status.ok()) {
    status = WalkBlock(block, KeyKind::kInternal, visit);
  }
  return inner.ok() ? status.WithContext(fmt::format("offset {}: parts block", parts_.offset))
                    : inner;
}

Status Verifier::CheckPart(const BlockHandle& handle, size_t prefix_bytes,
                           std::string_view last_key) {
  std::string buffer;
  std::string_view contents;
  Block block;
  SLUICE_RETURN_IF_ERROR(ReadStoredBlock(
      table_.image().substr(0, table_.image().size() - kFooterBytes), handle, &buffer, &contents));
  const auto visit = [&](const BlockIterator& entry) {
    HeadEntry head{.last_key = std::string(entry.key()),
                   .handle = {},
                   .filter = {},
                   .prefix_bytes = prefix_bytes};
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
  places_.Add(handle, "part of the head");
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

bool Verifier::FiltersHave(uint64_t offset, const HeadEntry* part,
                           std::string_view user_key) const {
  if (table_.filter() != nullptr && !table_.filter()->KeyMayMatch(offset, user_key)) {
    return false;
  }
  if (part == nullptr || part->filter.empty()) {
    return true;
  }
  const bool has_prefix =
      part->prefix_bytes == 0 || user_key.size() < part->prefix_bytes ||
      BloomMayMatch(part->filter, BloomHash(user_key.substr(0, part->prefix_bytes)));
  return has_prefix && BloomMayMatch(part->filter, BloomHash(user_key));
}

Status Verifier::CheckDataBlock(const BlockHandle& handle) {
  std::string buffer;
  Block block;
  SLUICE_RETURN_IF_ERROR(table_.ReadDataBlock(handle, &buffer, &block));
  ++report_->data_blocks;
  report_->compressed_blocks += table_.image()[handle.offset + handle.size] != 0;
  const HeadEntry* const part =
      parts_.size > 0 ? &head_entries_[report_->data_blocks - 1] : nullptr;
  SLUICE_RETURN_IF_ERROR(records_.CheckBlock(block, handle.offset, [&](std::string_view user_key) {
    return FiltersHave(handle.offset, part, user_key);
  }));
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
    if (!records_.IndexKeyFits(entry.key())) {
      return Status::Corruption(fmt::format(
          "key in the entry at byte {} comes before the last of its block", entry.offset()));
    }
    places_.Add(handle, "data block");
    return Status();
  };
  const Status status = WalkBlock(table_.index(), KeyKind::kInternal, visit);
  if (status.ok() && head_entries_.size() > report_->data_blocks) {
    return FaultAt(parts_.offset, "parts of the head have more blocks than the index");
  }
  return inner.ok() ? status.WithContext(fmt::format("offset {}: index block", offset)) : inner;
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
