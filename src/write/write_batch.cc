#include "sluice/write_batch.h"

#include "sluice/db.h"
#include "write/batch_format.h"

namespace sluice {

namespace {

uint32_t IdOf(const Subtable* subtable) {
  return subtable != nullptr ? subtable->id() : kDefaultSubtableId;
}

}  // namespace

void WriteBatch::Put(const Subtable* subtable, std::string_view key, std::string_view value) {
  AppendWrite({RecordType::kValue, IdOf(subtable), key, value}, &rep_);
  ++count_;
}

void WriteBatch::Delete(const Subtable* subtable, std::string_view key) {
  AppendWrite({RecordType::kDeletion, IdOf(subtable), key, {}}, &rep_);
  ++count_;
}

void WriteBatch::Clear() {
  rep_.clear();
  count_ = 0;
}

}  // namespace sluice
