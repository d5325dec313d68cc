#include "txn/key_span.h"

#include <fmt/format.h>

namespace sluice {

namespace {

std::string Quote(std::string_view key) {
  constexpr size_t kMost = 64;
  std::string text = "'";
  for (const char c : key.substr(0, kMost)) {
    if (c >= ' ' && c <= '~') {
      text += c;
    } else {
      text += fmt::format("\\x{:02x}", static_cast<uint8_t>(c));
    }
  }
  return text + (key.size() > kMost ? "'..." : "'");
}

}  // namespace

std::string Describe(uint32_t subtable, const KeySpan& range) {
  std::string text;
  if (range.is_row()) {
    text = Quote(range.begin());
  } else if (range.has_end()) {
    text = fmt::format("the keys from {} to {}", Quote(range.begin()), Quote(range.end()));
  } else {
    text = fmt::format("the keys from {} on", Quote(range.begin()));
  }
  return text + fmt::format(" of sub-table {}", subtable);
}

}  // namespace sluice
