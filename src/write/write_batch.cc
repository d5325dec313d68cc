#include "sluice/write_batch.h"

#include <utility>

#include "sluice/db.h"
#include "write/batch_format.h"

namespace sluice {

namespace {

uint32_t IdOf(const Subtable* subtable) {
  return subtable != nullptr ? subtable->id() : kDefaultSubtableId;
}

}  // namespace

void WriteBatch::Put(const Subtable* subtable, std::string_view key, std::string_view value) {
  AppendWrite({EntryType::kValue, IdOf(subtable), key, value}, &rep_);
  ++count_;
}

void WriteBatch::Delete(const Subtable* subtable, std::string_view key) {
  AppendWrite({EntryType::kDeletion, IdOf(subtable), key, {}}, &rep_);
  ++count_;
}

void WriteBatch::DeleteRange(const Subtable* subtable, std::string_view begin,
                             std::string_view end) {
  if (end.empty() || begin < end) {
    AppendWrite({EntryType::kRangeDeletion, IdOf(subtable), begin, end}, &rep_);
    ++count_;
  }
}

void WriteBatch::Clear() {
  rep_.clear();
  count_ = 0;
}

std::string WriteBatch::TakeRep() {
  count_ = 0;
  return std::exchange(rep_, {});
}

}  // namespace sluice
