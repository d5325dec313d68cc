#include "row_codec.h"

#include <utility>

#include "util/coding.h"

namespace sluice::mariadb {
namespace {

constexpr char kFirstSchema = 1;
constexpr char kLaterSchema = 2;

}  // namespace

RowCodec::RowCodec(TABLE* table, std::string_view schemas, std::string_view defaults)
    : table_(table),
      schemas_(0),
      defaults_(table->s->default_values, table->s->default_values + table->s->reclength) {
  for (Field** field = table->field; *field != nullptr; ++field) {
    if ((*field)->stored_in_db()) {
      AddColumn(*field);
    } else {
      whole_ = false;
    }
  }
  damaged_ = !RowSchemas::Decode(schemas, columns_.size(), &schemas_);
  AddOlder();
  std::vector<uchar> record(defaults_);
  if (!defaults.empty() && Read(defaults, record.data())) {
    defaults_ = std::move(record);
  }
}

RowCodec::RowCodec(TABLE* table, const KEY& key)
    : table_(table),
      schemas_(0),
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
  columns_.push_back({field, field->offset(table_->record[0]), length_bytes, {}});
}

void RowCodec::AddOlder() {
  for (size_t number = 0; number < schemas_.current(); ++number) {
    std::vector<Column>& columns = older_.emplace_back();
    for (const SchemaColumn& column : *schemas_.Find(number)) {
      columns.push_back(column.column ? columns_[*column.column] : Column{});
      columns.back().packing = column.packing;
    }
  }
}

Packing RowCodec::PackingOf(const Field& field) {
  using Kind = Packing::Kind;
  if (field.compression_method() != nullptr) {
    return {};
  }
  const Type_handler* const type = field.type_handler();
  if (type == &type_handler_string || type == &type_handler_varchar) {
    return {Kind::kPrefixed, static_cast<uint8_t>(field.field_length > 255 ? 2 : 1)};
  }
  switch (field.real_type()) {
    case MYSQL_TYPE_TINY_BLOB:
    case MYSQL_TYPE_BLOB:
    case MYSQL_TYPE_MEDIUM_BLOB:
    case MYSQL_TYPE_LONG_BLOB:
      return {Kind::kPrefixed,
              static_cast<uint8_t>(field.pack_length() - portable_sizeof_char_ptr)};
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
    case MYSQL_TYPE_FLOAT:
    case MYSQL_TYPE_DOUBLE:
    case MYSQL_TYPE_NEWDECIMAL:
    case MYSQL_TYPE_YEAR:
    case MYSQL_TYPE_NEWDATE:
    case MYSQL_TYPE_TIME2:
    case MYSQL_TYPE_DATETIME2:
    case MYSQL_TYPE_TIMESTAMP2:
    case MYSQL_TYPE_ENUM:
    case MYSQL_TYPE_SET:
      return {Kind::kFixed, static_cast<uint8_t>(field.pack_length())};
    default:
      return {};
  }
}

void RowCodec::Append(const uchar* record, std::string* out) const {
  if (schemas_.current() == 0) {
    out->push_back(kFirstSchema);
  } else {
    out->push_back(kLaterSchema);
    PutVarint(out, schemas_.current());
  }
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

// Reads a column that is packed otherwise than the table's: a shorter integer, or a string with a shorter
// length in front. Returns where the next one begins; null if the row is damaged.
const uchar* RowCodec::ReadPacked(const Column& column, const uchar* at, const uchar* end,
                                  uchar* record) {
  const auto left = static_cast<size_t>(end - at);
  size_t bytes = column.packing.bytes;
  if (bytes > left) {
    return nullptr;
  }
  if (column.packing.kind == Packing::Kind::kPrefixed) {
    size_t length = 0;
    for (size_t i = bytes; i > 0; --i) {
      length = length << 8 | at[i - 1];
    }
    at += bytes;
    if (length > left - bytes) {
      return nullptr;
    }
    bytes = length;
  }
  if (column.field == nullptr) {
    return at + bytes;
  }
  uchar* const to = record + column.offset;
  if (column.packing.kind == Packing::Kind::kPrefixed) {
    if (bytes > column.field->field_length || column.field->field_length <= 255) {
      return nullptr;
    }
    int2store(to, bytes);
    std::memcpy(to + 2, at, bytes);
    return at + bytes;
  }
  const size_t whole = column.field->pack_length();
  if (bytes == 0 || bytes > whole) {
    return nullptr;
  }
  const bool negative = !column.field->is_unsigned() && (at[bytes - 1] & 0x80) != 0;
  std::memcpy(to, at, bytes);
  std::memset(to + bytes, negative ? 0xff : 0, whole - bytes);
  return at + bytes;
}

bool RowCodec::Read(std::string_view row, uchar* record, const MY_BITMAP* wanted) const {
  if (row.empty() || damaged_ || (row.front() != kFirstSchema && row.front() != kLaterSchema)) {
    return false;
  }
  uint64_t schema = 0;
  const bool later = row.front() == kLaterSchema;
  row.remove_prefix(1);
  if (later && (!GetVarint64(&row, &schema) || schema > schemas_.current())) {
    return false;
  }
  const std::vector<Column>& columns = schema == schemas_.current() ? columns_ : older_[schema];
  uint64_t count = 0;
  if (!GetVarint64(&row, &count) || count > columns.size() || row.size() < (count + 7) / 8) {
    return false;
  }
  const std::string_view nulls = row.substr(0, (count + 7) / 8);
  const auto* at = reinterpret_cast<const uchar*>(row.data()) + nulls.size();
  const auto* const end = reinterpret_cast<const uchar*>(row.data()) + row.size();
  // Bits for NULL come first in a record.
  const bool has_all = whole_ && schema == schemas_.current() && count == columns_.size();
  std::memcpy(record, defaults_.data(), has_all ? table_->s->null_bytes : defaults_.size());
  const my_ptrdiff_t distance = record - table_->record[0];
  for (size_t i = 0; i < count; ++i) {
    const Column& column = columns[i];
    Field* const field = column.field;
    if ((static_cast<unsigned char>(nulls[i / 8]) >> (i % 8) & 1) != 0) {
      if (field == nullptr) {
        continue;
      }
      std::memcpy(record + column.offset, defaults_.data() + column.offset, field->pack_length());
      field->set_null(distance);
      continue;
    }
    if (field != nullptr) {
      field->set_notnull(distance);
    }
    if (column.packing.kind != Packing::Kind::kField) {
      at = ReadPacked(column, at, end, record);
    } else if (column.length_bytes > 0 && wanted != nullptr &&
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
