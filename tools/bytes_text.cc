#include "bytes_text.h"

#include <fmt/format.h>

#include <cstdint>

namespace sluice::tools {

namespace {

constexpr char kDigits[] = "0123456789abcdef";

int DigitValue(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  c = static_cast<char>(c | 0x20);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The byte of which the first two characters of `text` are the digits.
bool TakeByte(std::string_view text, char* byte) {
  if (text.size() < 2 || DigitValue(text[0]) < 0 || DigitValue(text[1]) < 0) {
    return false;
  }
  *byte = static_cast<char>(DigitValue(text[0]) << 4 | DigitValue(text[1]));
  return true;
}

void AppendDigits(char c, std::string* text) {
  text->push_back(kDigits[static_cast<uint8_t>(c) >> 4]);
  text->push_back(kDigits[static_cast<uint8_t>(c) & 15]);
}

}  // namespace

std::string BytesToText(std::string_view bytes, bool hex) {
  std::string text;
  text.reserve(bytes.size() * (hex ? 2 : 1));
  for (const char c : bytes) {
    if (!hex && c >= ' ' && c <= '~' && c != '\\') {
      text.push_back(c);
      continue;
    }
    if (!hex) {
      text += "\\x";
    }
    AppendDigits(c, &text);
  }
  return text;
}

Status TextToBytes(std::string_view text, bool hex, std::string* bytes) {
  bytes->clear();
  for (size_t at = 0; at < text.size();) {
    char byte = text[at];
    if (hex) {
      if (!TakeByte(text.substr(at), &byte)) {
        return Status::InvalidArgument(
            fmt::format("'{}' is not hex: two digits for each byte", text));
      }
      at += 2;
    } else if (byte == '\\') {
      if (text.substr(at, 2) != "\\x" || !TakeByte(text.substr(at + 2), &byte)) {
        return Status::InvalidArgument(fmt::format(
            "'{}': a backslash must begin \\xNN, and is \\x5c itself; or use --hex", text));
      }
      at += 4;
    } else {
      ++at;
    }
    bytes->push_back(byte);
  }
  return {};
}

}  // namespace sluice::tools
