// Rows as values of the database.
//
//     1 byte   format, 1
//     varint   stored columns, N
//     bytes    a bit for each of them, the first in the lowest: it is NULL
//     each that is not NULL, as the server's Field::pack writes it: as in its binary log
//
// Columns that are computed when they are read are not stored. A row may have fewer columns than its
// table: the others were added later, and have the defaults of then.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server.h"

namespace sluice::mariadb {

class RowCodec {
 public:
  // All stored columns of the table, which must outlive it. `defaults` is a row with all columns
  // that older rows may lack; empty, if there are none.
  RowCodec(TABLE* table, std::string_view defaults);
  // Those of a key, for reads that need no more. Columns of which the key has only a part are not
  // among them.
  RowCodec(TABLE* table, const KEY& key);

  // Appends the row.
  void Append(const uchar* record, std::string* out) const;
  // Fills the record in. Blobs in it point into `row`. False if the row is damaged.
  bool Read(std::string_view row, uchar* record) const;
  // What a row reads as that has no columns at all.
  const uchar* defaults() const { return defaults_.data(); }

 private:
  TABLE* table_;
  std::vector<Field*> fields_;
  std::vector<uchar> defaults_;  // a record
};

}  // namespace sluice::mariadb
