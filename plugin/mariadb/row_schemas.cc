#include "row_schemas.h"

#include "util/coding.h"

namespace sluice::mariadb {
namespace {

Schema Whole(size_t columns) {
  Schema schema(columns);
  for (size_t i = 0; i < columns; ++i) {
    schema[i].column = i;
  }
  return schema;
}

}  // namespace

RowSchemas::RowSchemas(size_t columns) : schemas_{Whole(columns)} {}

// Per schema: how many columns, and of each its number plus 1 or 0, and the packing's kind and bytes.
std::string RowSchemas::Encode() const {
  std::string out;
  if (current() == 0) {
    return out;
  }
  PutVarint(&out, schemas_.size());
  for (const Schema& schema : schemas_) {
    PutVarint(&out, schema.size());
    for (const SchemaColumn& column : schema) {
      PutVarint(&out, column.column ? *column.column + 1 : 0);
      out.push_back(static_cast<char>(column.packing.kind));
      out.push_back(static_cast<char>(column.packing.bytes));
    }
  }
  return out;
}

bool RowSchemas::Decode(std::string_view encoded, size_t columns, RowSchemas* schemas) {
  *schemas = RowSchemas(columns);
  if (encoded.empty()) {
    return true;
  }
  uint64_t count = 0;
  if (!GetVarint64(&encoded, &count) || count < 2 || count > encoded.size()) {
    return false;
  }
  schemas->schemas_.assign(count, {});
  for (Schema& schema : schemas->schemas_) {
    uint64_t size = 0;
    if (!GetVarint64(&encoded, &size) || size > encoded.size()) {
      return false;
    }
    schema.resize(size);
    for (SchemaColumn& column : schema) {
      uint64_t number = 0;
      if (!GetVarint64(&encoded, &number) || number > columns || encoded.size() < 2) {
        return false;
      }
      const auto kind = static_cast<uint8_t>(encoded[0]);
      const auto bytes = static_cast<uint8_t>(encoded[1]);
      encoded.remove_prefix(2);
      if (number > 0) {
        column.column = number - 1;
      }
      column.packing = {static_cast<Packing::Kind>(kind), bytes};
      const bool known = kind <= static_cast<uint8_t>(Packing::Kind::kPrefixed);
      const bool told_apart =
          column.packing.kind == Packing::Kind::kPrefixed ? bytes >= 1 && bytes <= 4
          : column.packing.kind == Packing::Kind::kField  ? column.column.has_value()
                                                          : true;
      if (!known || !told_apart) {
        return false;
      }
    }
  }
  return encoded.empty() && schemas->schemas_.back() == Whole(columns);
}

void RowSchemas::Alter(const std::vector<ColumnChange>& changes, size_t columns) {
  const size_t before = schemas_.back().size();
  for (Schema& schema : schemas_) {
    for (SchemaColumn& column : schema) {
      if (!column.column) {
        continue;
      }
      const ColumnChange& change = changes[*column.column];
      column.column = change.column;
      if (column.packing.kind == Packing::Kind::kField) {
        column.packing = change.packing;
      }
    }
  }
  Schema whole = Whole(columns);
  if (columns >= before && schemas_.back() == Schema(whole.begin(), whole.begin() + before)) {
    schemas_.back() = std::move(whole);
  } else {
    schemas_.push_back(std::move(whole));
  }
}

}  // namespace sluice::mariadb
