#include "key_codec.h"

#include <algorithm>
#include <iterator>

#include "ordered_bytes.h"

namespace sluice::mariadb {
namespace {

uchar* Bytes(std::string* text, size_t begin) {
  return reinterpret_cast<uchar*>(text->data()) + begin;
}

const uchar* Bytes(std::string_view text) { return reinterpret_cast<const uchar*>(text.data()); }

// Weights of a string, without any for padding.
std::string Weights(CHARSET_INFO* collation, std::string_view value) {
  // strnxfrmlen takes the size of the column, in which a character has mbmaxlen bytes.
  std::string weights(collation->strnxfrmlen(value.size() * collation->mbmaxlen), '\0');
  const size_t size =
      collation->strnxfrm(weights.data(), weights.size(), static_cast<uint>(weights.size()),
                          value.data(), value.size(), 0);
  weights.resize(size);
  return weights;
}

// As many spaces, in the character set of the collation.
std::string Spaces(CHARSET_INFO* collation, size_t count) {
  std::string spaces(count * collation->mbminlen, '\0');
  collation->cset->fill(collation, spaces.data(), spaces.size(), ' ');
  return spaces;
}

// Whether weights can be compared one by one: each has the width of that of a space, `pad`.
bool HasSimpleWeights(CHARSET_INFO* collation, std::string* pad) {
  *pad = Weights(collation, Spaces(collation, 1));
  return collation->levels_for_order == 1 && !pad->empty() && pad->size() <= 4 &&
         Weights(collation, Spaces(collation, 2)) == *pad + *pad;
}

}  // namespace

KeyCodec::KeyCodec(TABLE* table, const KEY& key, uint parts) : table_(table) {
  for (uint i = 0; i < parts; ++i) {
    parts_.push_back(MakePart(table, key.key_part[i]));
    const Part& part = parts_.back();
    layout_ += std::to_string(static_cast<int>(part.kind)) + ',' +
               std::to_string(part.field->real_type()) + ',' + std::to_string(part.bytes) + ',' +
               std::to_string(part.characters) + ',' +
               std::to_string(part.characters != 0 ? part.field->charset()->number : 0) +
               (part.info->null_bit != 0 ? "n" : "") + (part.reverse ? "d" : "") + ';';
    max_bytes_ += MaxBytes(part);
    readable_ = readable_ && IsReadable(part);
  }
}

KeyCodec::Part KeyCodec::MakePart(TABLE* table, const KEY_PART_INFO& info) {
  Part part{};
  part.field = table->field[info.fieldnr - 1];
  part.info = &info;
  part.reverse = (info.key_part_flag & HA_REVERSE_SORT) != 0;
  part.variable = (info.key_part_flag & (HA_VAR_LENGTH_PART | HA_BLOB_PART)) != 0;
  part.bytes = info.length;
  if (part.field->real_type() == MYSQL_TYPE_BIT) {
    // Big-endian bytes in records and keys, as the engine is not one with HA_CAN_BIT_FIELD.
    part.kind = Kind::kFixedBytes;
    return part;
  }
  if (dynamic_cast<Field_longstr*>(part.field) == nullptr) {
    part.kind = Kind::kSortString;
    part.bytes = part.field->sort_length();
    return part;
  }
  CHARSET_INFO* const collation = part.field->charset();
  if (collation == &my_charset_bin) {
    part.kind = part.variable ? Kind::kBytes : Kind::kFixedBytes;
    return part;
  }
  part.characters = info.length / collation->mbmaxlen;
  if (!HasSimpleWeights(collation, &part.pad)) {
    part.kind = Kind::kAllWeights;
  } else {
    // A CHAR has spaces at its end, whatever the collation makes of them.
    part.kind =
        part.variable && (collation->state & MY_CS_NOPAD) != 0 ? Kind::kWeights : Kind::kPadded;
  }
  return part;
}

bool KeyCodec::IsReadable(const Part& part) {
  if (part.info->null_bit != 0 || (part.info->key_part_flag & HA_PART_KEY_SEG) != 0) {
    return false;
  }
  switch (part.field->real_type()) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
      return part.kind == Kind::kSortString && part.bytes == part.field->pack_length();
    case MYSQL_TYPE_STRING:
      return part.kind == Kind::kFixedBytes && part.bytes == part.field->pack_length();
    default:
      return false;
  }
}

size_t KeyCodec::MaxBytes(const Part& part) {
  const size_t null = part.info->null_bit != 0 ? 1 : 0;
  switch (part.kind) {
    case Kind::kSortString:
    case Kind::kFixedBytes:
      return null + part.bytes;
    case Kind::kBytes:
      return null + 2 * size_t{part.bytes} + 2;
    default: {
      const size_t weights = part.field->charset()->strnxfrmlen(part.bytes) + 8;
      // One byte after each group of six or more; or each byte may be a zero.
      return null + (part.kind == Kind::kWeights ? 2 * weights + 2 : weights + weights / 6 + 12);
    }
  }
}

std::string_view KeyCodec::StringIn(const Part& part, const uchar* at) {
  if (const auto* const blob = dynamic_cast<const Field_blob*>(part.field); blob != nullptr) {
    const uchar* data = nullptr;
    std::memcpy(&data, at + blob->pack_length_no_ptr(), sizeof(data));
    return {reinterpret_cast<const char*>(data), blob->get_length(at)};
  }
  if (part.variable) {
    const uint length_bytes = static_cast<const Field_varstring*>(part.field)->length_bytes;
    return {reinterpret_cast<const char*>(at) + length_bytes,
            length_bytes == 1 ? size_t{*at} : size_t{uint2korr(at)}};
  }
  return {reinterpret_cast<const char*>(at), part.field->pack_length()};
}

void KeyCodec::AppendString(const Part& part, std::string_view value, std::string* out) {
  value = value.substr(0, part.bytes);
  if (part.kind == Kind::kFixedBytes) {
    out->append(value);
    out->append(part.bytes - value.size(), '\0');
    return;
  }
  if (part.kind == Kind::kBytes) {
    AppendBytes(value, out);
    return;
  }
  CHARSET_INFO* const collation = part.field->charset();
  if (collation->mbmaxlen > 1) {
    value = value.substr(
        0, collation->charpos(value.data(), value.data() + value.size(), part.characters));
  }
  switch (part.kind) {
    case Kind::kPadded:
      value = value.substr(0, collation->lengthsp(value.data(), value.size()));
      AppendPadded(Weights(collation, value), part.pad, out);
      return;
    case Kind::kWeights:
      AppendBytes(Weights(collation, value), out);
      return;
    default: {
      std::string filled(value);
      if (!part.variable && value.size() < part.bytes) {
        filled += Spaces(collation, (part.bytes - value.size()) / collation->mbminlen);
      }
      const size_t begin = out->size();
      const size_t bytes = collation->strnxfrmlen(part.bytes);
      out->resize(begin + bytes);
      collation->strnxfrm(Bytes(out, begin), bytes, part.characters * collation->strxfrm_multiply,
                          Bytes(value), value.size(),
                          MY_STRXFRM_PAD_WITH_SPACE | MY_STRXFRM_PAD_TO_MAXLEN);
    }
  }
}

// `at` is where the column's value is in a record.
void KeyCodec::AppendValue(const Part& part, const uchar* at, std::string* out) {
  const size_t begin = out->size();
  switch (part.kind) {
    case Kind::kSortString: {
      out->resize(begin + part.bytes);
      uchar* const own = part.field->ptr;
      part.field->ptr = const_cast<uchar*>(at);
      part.field->sort_string(Bytes(out, begin), part.bytes);
      part.field->ptr = own;
      return;
    }
    default:
      AppendString(part, StringIn(part, at), out);
  }
}

bool KeyCodec::AppendRecord(const uchar* record, std::string* out) const {
  bool has_null = false;
  for (const Part& part : parts_) {
    const size_t begin = out->size();
    const bool null =
        part.info->null_bit != 0 && (record[part.info->null_offset] & part.info->null_bit) != 0;
    has_null |= null;
    if (part.info->null_bit != 0) {
      out->push_back(null ? 0 : 1);
    }
    if (!null) {
      AppendValue(part, record + part.field->offset(table_->record[0]), out);
    }
    if (part.reverse) {
      Reverse(begin, out);
    }
  }
  return has_null;
}

// Returns whether the column is NULL.
bool KeyCodec::AppendImageOf(const Part& part, const uchar* image, std::string* out) {
  const size_t begin = out->size();
  bool null = false;
  if (part.info->null_bit != 0) {
    null = *image++ != 0;
    out->push_back(null ? 0 : 1);
  }
  if (null) {
    // Nothing more.
  } else if (part.kind == Kind::kSortString) {
    AppendValue(part, image, out);
  } else if (part.variable) {
    AppendString(
        part, {reinterpret_cast<const char*>(image) + HA_KEY_BLOB_LENGTH, uint2korr(image)}, out);
  } else {
    AppendString(part, {reinterpret_cast<const char*>(image), part.bytes}, out);
  }
  if (part.reverse) {
    Reverse(begin, out);
  }
  return null;
}

bool KeyCodec::AppendImage(const uchar* image, uint bytes, std::string* out) const {
  bool has_null = false;
  const uchar* const end = image + bytes;
  for (const Part& part : parts_) {
    if (image >= end) {
      break;
    }
    has_null |= AppendImageOf(part, image, out);
    image += part.info->store_length;
  }
  return has_null;
}

bool KeyCodec::Read(std::string_view key, uchar* record) const {
  for (const Part& part : parts_) {
    if (key.size() < part.bytes) {
      return false;
    }
    const uchar mask = part.reverse ? 0xff : 0;
    uchar* const to = record + part.field->offset(table_->record[0]);
    if (part.kind == Kind::kFixedBytes) {
      std::transform(Bytes(key), Bytes(key) + part.bytes, to, [mask](uchar c) { return c ^ mask; });
    } else {
      // Big-endian, with the sign bit inverted.
      std::transform(Bytes(key), Bytes(key) + part.bytes, std::reverse_iterator(to + part.bytes),
                     [mask](uchar c) { return c ^ mask; });
      if ((part.field->flags & UNSIGNED_FLAG) == 0) {
        to[part.bytes - 1] ^= 0x80;
      }
    }
    key.remove_prefix(part.bytes);
  }
  return key.empty();
}

bool KeyCodec::FindEnds(std::string_view key, std::vector<size_t>* ends) const {
  ends->clear();
  size_t at = 0;
  for (const Part& part : parts_) {
    bool null = false;
    if (part.info->null_bit != 0) {
      if (at >= key.size()) {
        return false;
      }
      null = key[at++] == (part.reverse ? '\xff' : '\0');
    }
    if (!null) {
      switch (part.kind) {
        case Kind::kSortString:
        case Kind::kFixedBytes:
          at += part.bytes;
          break;
        case Kind::kBytes:
        case Kind::kWeights:
          at = EndOfBytes(key, at, part.reverse);
          break;
        case Kind::kPadded:
          at = EndOfPadded(key, at, part.pad.size(), part.reverse);
          break;
        case Kind::kAllWeights:
          at += part.field->charset()->strnxfrmlen(part.bytes);
      }
    }
    if (at > key.size()) {
      return false;
    }
    ends->push_back(at);
  }
  return true;
}

}  // namespace sluice::mariadb
