#include "rocksdb_table/properties.h"

#include <fmt/format.h>

#include "table/block_builder.h"

namespace sluice {

Status RocksProperties::Parse(const Block& block, RocksProperties* properties) {
  properties->values_.clear();
  BlockIterator entry(block, KeyKind::kPlain);
  for (entry.SeekToFirst(); entry.Valid(); entry.Next()) {
    auto& values = properties->values_;
    if (!values.empty() && values.rbegin()->first >= entry.key()) {
      return Status::Corruption(
          fmt::format("property in the entry at byte {} is not in order", entry.offset()));
    }
    values.emplace_hint(values.end(), entry.key(), entry.value());
  }
  return entry.status();
}

std::string_view RocksProperties::Text(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::string_view() : found->second;
}

uint64_t RocksProperties::Number(std::string_view name) const {
  std::string_view text = Text(name);
  uint64_t value;
  return GetVarint64(&text, &value) ? value : 0;
}

void RocksProperties::SetText(std::string_view name, std::string_view value) {
  values_.insert_or_assign(std::string(name), std::string(value));
}

void RocksProperties::SetNumber(std::string_view name, uint64_t value) {
  std::string text;
  PutVarint(&text, value);
  SetText(name, text);
}

std::string RocksProperties::Encode() const {
  BlockBuilder block(1);
  for (const auto& [name, value] : values_) {
    block.Add(name, value);
  }
  return std::string(block.Finish());
}

}  // namespace sluice
