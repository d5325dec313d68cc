#include "tree/head_unit.h"

namespace sluice {

Status TableHead::Make(std::string_view contents, std::string_view last_key, TableHead** head,
                       std::shared_ptr<const ZstdDictionary> dictionary) {
  auto made = std::make_unique<TableHead>();
  SLUICE_RETURN_IF_ERROR(BlockIndex::Parse(contents, made.get()));
  if (made->blocks() == 0 || made->last_key(made->blocks() - 1) != last_key) {
    return Status::Corruption("the index ends with another key");
  }
  made->memory_bytes_ = sizeof(TableHead) + made->heap_bytes();
  made->dictionary_ = std::move(dictionary);
  *head = made.release();
  return {};
}

}  // namespace sluice
