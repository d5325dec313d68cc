// Rows as values of the database.
//
//     1 byte   format, 1 or 2
//     varint   in format 2: number of the schema (row_schemas.h); rows of format 1 are of schema 0
//     varint   stored columns, N
//     bytes    a bit for each of them, the first in the lowest: it is NULL
//     each that is not NULL, as the server's Field::pack writes it: as in its binary log
//
// Columns that are computed when they are read are not stored. A row may have fewer columns than its
// table, or others, and in another order: it was written before they were changed. Columns that it does
// not have were added later, and have the defaults of then.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "row_schemas.h"
#include "server.h"

namespace sluice::mariadb {

class RowCodec {
 public:
  // All stored columns of the table, which must outlive it. `schemas` are those of its rows, as
  // RowSchemas encodes them. `defaults` is a row with all columns that older rows may lack; empty, if
  // there are none.
  RowCodec(TABLE* table, std::string_view schemas, std::string_view defaults);
  // Those of a key, for reads that need no more. Columns of which the key has only a part are not
  // among them.
  RowCodec(TABLE* table, const KEY& key);

  // Appends the row.
  void Append(const uchar* record, std::string* out) const;
  // Fills the record in. Blobs in it point into `row`. False if the row is damaged. Of `wanted`
  // columns alone, if it is not null, the others may have any value.
  bool Read(std::string_view row, uchar* record, const MY_BITMAP* wanted = nullptr) const;
  // What a row reads as that has no columns at all.
  const uchar* defaults() const { return defaults_.data(); }
  const RowSchemas& schemas() const { return schemas_; }

  // How a column's bytes are told from those behind them. kField if only the column can tell.
  static Packing PackingOf(const Field& field);

 private:
  struct Column {
    Field* field;         // null: the table does not have it any more
    size_t offset;        // in a record
    size_t length_bytes;  // that lead it where it is packed, if it is a string; otherwise 0
    Packing packing;      // kField: as `field` packs it
  };

  void AddColumn(Field* field);
  void AddOlder();
  static const uchar* ReadPacked(const Column& column, const uchar* at, const uchar* end,
                                 uchar* record);

  TABLE* table_;
  std::vector<Column> columns_;
  RowSchemas schemas_;
  std::vector<std::vector<Column>> older_;  // of the schemas before the last one
  bool damaged_ = false;                    // the schemas
  std::vector<uchar> defaults_;             // a record
  bool whole_ = true;                       // it has no other columns
};

}  // namespace sluice::mariadb
