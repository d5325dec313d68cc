// Which columns the rows of a table have, for rows that were written before its columns were changed
// (X-Engine's schema versions, 3.1.1).
//
// Each row names its schema by a number: 0 is the table's first one. A schema lists the columns of its
// rows, in their order: which of the table's stored columns each of them is now, and how its bytes can
// be told apart where the table does not have that column any more, or not as it was. Rows have the
// first columns of their schema, as many as there were when they were written: columns that are added
// at the end change the schema, and make no new one.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::mariadb {

// How a column's bytes are told from those behind them.
struct Packing {
  enum class Kind : uint8_t {
    kField,     // as the table's column packs them now
    kFixed,     // `bytes` of them
    kPrefixed,  // behind a length of `bytes` bytes, the lowest first
  };

  Kind kind = Kind::kField;
  uint8_t bytes = 0;

  friend bool operator==(const Packing&, const Packing&) = default;
};

struct SchemaColumn {
  std::optional<size_t> column;  // among the table's stored columns; none: it is dropped
  Packing packing;

  friend bool operator==(const SchemaColumn&, const SchemaColumn&) = default;
};

using Schema = std::vector<SchemaColumn>;

// What becomes of a stored column.
struct ColumnChange {
  std::optional<size_t>
      column;       // among the stored columns of the changed table; none: it is dropped
  Packing packing;  // as it was; kField if it is packed as before
};

class RowSchemas {
 public:
  // Of a table with so many stored columns, all of whose rows have them in their order.
  explicit RowSchemas(size_t columns);

  // Those that Encode has written. False if they are damaged, or none for `columns` columns.
  static bool Decode(std::string_view encoded, size_t columns, RowSchemas* schemas);
  // Empty for those of the constructor.
  std::string Encode() const;

  // Of new rows.
  size_t current() const { return schemas_.size() - 1; }
  // Null if there is none of this number.
  const Schema* Find(uint64_t number) const {
    return number < schemas_.size() ? &schemas_[number] : nullptr;
  }

  // Changes the table's stored columns: each as `changes` says, to `columns` in all.
  void Alter(const std::vector<ColumnChange>& changes, size_t columns);

 private:
  std::vector<Schema> schemas_;  // the last one is the table's columns in their order
};

}  // namespace sluice::mariadb
