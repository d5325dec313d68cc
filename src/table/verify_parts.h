// What verifiers of tables have in common, whichever format the tables have.

#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "table/block.h"
#include "table/internal_key.h"
#include "table/verify.h"
#include "util/status.h"

namespace sluice {

// Walks a block's entries, checking restarts and calling visit(iterator), which may fail. Errors say
// the byte of the block.
template <typename Visit>
Status WalkBlock(const Block& block, KeyKind kind, const Visit& visit);

// Corruption that names the type.
Status UnknownRecordType(uint8_t type);

// The records of a table, in order.
class RecordChecker {
 public:
  // `other_type` says what is wrong with a record type above `last_type`.
  RecordChecker(TableReport* report, RecordType last_type,
                Status (*other_type)(uint8_t) = UnknownRecordType)
      : report_(report), last_type_(last_type), other_type_(other_type) {}

  // Checks the records of a data block that stands at `offset`, and counts them. `may_match` tells of
  // a user key whether the filter has it.
  template <typename MayMatch>
  Status CheckBlock(const Block& block, uint64_t offset, const MayMatch& may_match);
  // Whether the block's index key is not before its last key; to be called after CheckBlock.
  bool IndexKeyFits(std::string_view index_key);

 private:
  Status CheckRecord(const BlockIterator& entry, bool may_match);

  TableReport* const report_;
  const RecordType last_type_;
  Status (*const other_type_)(uint8_t);
  std::string last_key_;        // of all data blocks so far
  std::string last_index_key_;  // of the block before
};

// The places of all blocks of a table, which must not overlap.
class BlockPlaces {
 public:
  void Add(const BlockHandle& handle, std::string what) {
    places_.push_back({handle, std::move(what)});
  }
  // Corruption, with the offset, if two overlap.
  Status Check();

 private:
  struct Place {
    BlockHandle handle;
    std::string what;
  };
  std::vector<Place> places_;
};

Status FaultAt(uint64_t offset, std::string_view what);

// The rest is for the templates.
Status CheckBlockRestart(const Block& block, const BlockIterator& entry, uint32_t* restart);
Status CheckLastRestart(const Block& block, uint32_t restart);

template <typename Visit>
Status WalkBlock(const Block& block, KeyKind kind, const Visit& visit) {
  uint32_t restart = 0;
  BlockIterator entry(block, kind);
  for (entry.SeekToFirst(); entry.Valid(); entry.Next()) {
    SLUICE_RETURN_IF_ERROR(CheckBlockRestart(block, entry, &restart));
    SLUICE_RETURN_IF_ERROR(visit(entry));
  }
  SLUICE_RETURN_IF_ERROR(entry.status());
  return CheckLastRestart(block, restart);
}

template <typename MayMatch>
Status RecordChecker::CheckBlock(const Block& block, uint64_t offset, const MayMatch& may_match) {
  if (block.entries().empty()) {
    return FaultAt(offset, "data block without entries");
  }
  const Status status = WalkBlock(block, KeyKind::kInternal, [&](const BlockIterator& entry) {
    return CheckRecord(entry, may_match(UserKey(entry.key())));
  });
  if (!status.ok()) {
    return status.WithContext(fmt::format("offset {}", offset));
  }
  report_->largest = last_key_;
  return {};
}

}  // namespace sluice
