#include "table/verify_parts.h"

#include <fmt/format.h>

#include "table/internal_key.h"

namespace sluice {

namespace {

std::string EntryAt(const BlockIterator& entry) {
  return fmt::format("entry at byte {} of the block", entry.offset());
}

}  // namespace

Status FaultAt(uint64_t offset, std::string_view what) {
  return Status::Corruption(fmt::format("offset {}: {}", offset, what));
}

Status CheckBlockRestart(const Block& block, const BlockIterator& entry, uint32_t* restart) {
  if (*restart < block.restarts() && block.restart(*restart) <= entry.offset()) {
    // A shared prefix of 0 is a first byte of 0, or an overlong encoding that nobody writes.
    if (block.restart(*restart) != entry.offset() || block.entries()[entry.offset()] != 0) {
      return Status::Corruption(fmt::format("restart {} points to byte {}, where no whole key is",
                                            *restart, block.restart(*restart)));
    }
    ++*restart;
  }
  return {};
}

Status CheckLastRestart(const Block& block, uint32_t restart) {
  if (!block.entries().empty() && restart != block.restarts()) {
    return Status::Corruption(fmt::format("restart {} points to byte {}, past the last entry",
                                          restart, block.restart(restart)));
  }
  return {};
}

Status UnknownRecordType(uint8_t type) {
  return Status::Corruption(fmt::format("unknown record type {}", type));
}

Status RecordChecker::CheckRecord(const BlockIterator& entry, bool may_match) {
  const std::string_view key = entry.key();
  const auto fault = [&](std::string_view what) {
    return Status::Corruption(std::string(what)).WithContext(EntryAt(entry));
  };
  const uint8_t type = TrailerType(Trailer(key));
  if (type > static_cast<uint8_t>(last_type_)) {
    return other_type_(type).WithContext(EntryAt(entry));
  }
  if (!last_key_.empty() && CompareInternalKeys(last_key_, key) >= 0) {
    return fault("key does not come after the one before");
  }
  if (!last_index_key_.empty() && CompareInternalKeys(last_index_key_, key) >= 0) {
    return fault("key does not come after the index key of the block before");
  }
  if (!may_match) {
    return fault("key is not in the filter");
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

bool RecordChecker::IndexKeyFits(std::string_view index_key) {
  last_index_key_ = index_key;
  return CompareInternalKeys(index_key, last_key_) >= 0;
}

Status BlockPlaces::Check() {
  std::sort(places_.begin(), places_.end(),
            [](const Place& a, const Place& b) { return a.handle.offset < b.handle.offset; });
  for (size_t i = 1; i < places_.size(); ++i) {
    const Place& before = places_[i - 1];
    const Place& after = places_[i];
    const uint64_t end = before.handle.offset + before.handle.size + kBlockTrailerBytes;
    if (after.handle.offset < end) {
      return FaultAt(after.handle.offset, fmt::format("{} overlaps the {} at offset {}", after.what,
                                                      before.what, before.handle.offset));
    }
  }
  return {};
}

}  // namespace sluice
