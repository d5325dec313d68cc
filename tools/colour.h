// Colours on a terminal, for those who want them (https://no-color.org).

#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace sluice::tools {

enum class Colour { kRed, kGreen };

// Whether `stream` is a terminal that understands control sequences.
bool IsTerminal(FILE* stream);
// `text` in bold and in `colour` if `stream` is such a terminal and NO_COLOR is not set, or empty;
// otherwise as it is.
std::string Coloured(FILE* stream, Colour colour, std::string_view text);

}  // namespace sluice::tools
