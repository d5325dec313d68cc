#include "row_codec.h"

#include <utility>

#include "util/coding.h"

namespace sluice::mariadb {
namespace {

constexpr char kFormat = 1;

}  // namespace

RowCodec::RowCodec(TABLE* table, std::string_view defaults)
    : table_(table),
      defaults_(table->s->default_values, table->s->default_values + table->s->reclength) {
  for (Field** field = table->field; *field != nullptr; ++field) {
    if ((*field)->stored_in_db()) {
      AddColumn(*field);
    } else {
      whole_ = false;
    }
  }
  std::vector<uchar> record(defaults_);
  if (!defaults.empty() && Read(defaults, record.data())) {
    defaults_ = std::move(record);
  }
}

RowCodec::RowCodec(TABLE* table, const KEY& key)
    : table_(table),
      defaults_(table->s->default_values, table->s->default_values + table->s->reclength),
      whole_(false) {
  for (uint i = 0; i < key.user_defined_key_parts; ++i) {
    const KEY_PART_INFO& part = key.key_part[i];
    if ((part.key_part_flag & HA_PART_KEY_SEG) == 0) {
      AddColumn(table->field[part.fieldnr - 1]);
    }
  }
}

void RowCodec::AddColumn(Field* field) {
  size_t length_bytes = 0;
  const Type_handler* const type = field->type_handler();
  if (type == &type_handler_string || type == &type_handler_varchar) {
    length_bytes = field->field_length > 255 ? 2 : 1;
  }
  columns_.push_back({field, field->offset(table_->record[0]), length_bytes});
}

void RowCodec::Append(const uchar* record, std::string* out) const {
  out->push_back(kFormat);
  PutVarint(out, columns_.size());
  const size_t nulls = out->size();
  out->resize(nulls + (columns_.size() + 7) / 8);
  for (size_t i = 0; i < columns_.size(); ++i) {
    Field* const field = columns_[i].field;
    if (field->is_null_in_record(record)) {
      (*out)[nulls + i / 8] |= static_cast<char>(1 << (i % 8));
      continue;
    }
    const uchar* const at = record + columns_[i].offset;
    size_t most = field->pack_length() + 4;
    if ((field->flags & BLOB_FLAG) != 0) {
      most += static_cast<const Field_blob*>(field)->get_length(at);
    }
    const size_t begin = out->size();
    out->resize(begin + most);
    auto* const to = reinterpret_cast<uchar*>(out->data()) + begin;
    out->resize(begin + (field->pack(to, at) - to));
  }
}

bool RowCodec::Read(std::string_view row, uchar* record, const MY_BITMAP* wanted) const {
  if (row.empty() || row.front() != kFormat) {
    return false;
  }
  row.remove_prefix(1);
  uint64_t count = 0;
  if (!GetVarint64(&row, &count) || count > columns_.size() || row.size() < (count + 7) / 8) {
    return false;
  }
  const std::string_view nulls = row.substr(0, (count + 7) / 8);
  const auto* at = reinterpret_cast<const uchar*>(row.data()) + nulls.size();
  const auto* const end = reinterpret_cast<const uchar*>(row.data()) + row.size();
  // Bits for NULL come first in a record.
  const bool has_all = whole_ && count == columns_.size();
  std::memcpy(record, defaults_.data(), has_all ? table_->s->null_bytes : defaults_.size());
  const my_ptrdiff_t distance = record - table_->record[0];
  for (size_t i = 0; i < count; ++i) {
    const Column& column = columns_[i];
    Field* const field = column.field;
    if ((static_cast<unsigned char>(nulls[i / 8]) >> (i % 8) & 1) != 0) {
      std::memcpy(record + column.offset, defaults_.data() + column.offset, field->pack_length());
      field->set_null(distance);
      continue;
    }
    field->set_notnull(distance);
    if (column.length_bytes > 0 && wanted != nullptr &&
        !bitmap_is_set(wanted, field->field_index)) {
      if (end - at < static_cast<ptrdiff_t>(column.length_bytes)) {
        return false;
      }
      at += column.length_bytes + (column.length_bytes == 1 ? *at : uint2korr(at));
    } else {
      if (distance != 0) {
        field->move_field_offset(distance);
      }
      at = at == end ? nullptr : field->unpack(field->ptr, at, end, 0);
      if (distance != 0) {
        field->move_field_offset(-distance);
      }
    }
    if (at == nullptr || at > end) {
      return false;
    }
  }
  return at == end;
}

}  // namespace sluice::mariadb
