#include "table/table_text.h"

#include <fmt/format.h>

#include <iterator>

namespace sluice {

std::string Quoted(std::string_view bytes) {
  std::string text = "\"";
  for (const char c : bytes) {
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (c >= ' ' && c <= '~') {
      text += c;
    } else {
      fmt::format_to(std::back_inserter(text), "\\x{:02x}", static_cast<uint8_t>(c));
    }
  }
  return text + '"';
}

std::string KeyText(std::string_view internal_key, RecordType last_type) {
  const uint64_t trailer = Trailer(internal_key);
  const uint8_t type = TrailerType(trailer);
  const bool known = type <= static_cast<uint8_t>(last_type);
  std::string type_text = known && type == 0   ? "deletion"
                          : known && type == 1 ? "value"
                          : known && type == 2 ? "reference"
                                               : fmt::format("type {}", type);
  return fmt::format("{} @ {} {}", Quoted(UserKey(internal_key)), TrailerSequence(trailer),
                     type_text);
}

std::string HandleText(const BlockHandle& handle) {
  return fmt::format("at {} ({} bytes)", handle.offset, handle.size);
}

Status PrintRecords(const Block& block, const LineSink& line, RecordType last_type) {
  BlockIterator entry(block);
  for (entry.SeekToFirst(); entry.Valid(); entry.Next()) {
    const bool deletion = TrailerType(Trailer(entry.key())) == 0 && entry.value().empty();
    line(fmt::format("  {}{}{}", KeyText(entry.key(), last_type), deletion ? "" : " ",
                     deletion ? "" : Quoted(entry.value())));
  }
  return entry.status();
}

}  // namespace sluice
