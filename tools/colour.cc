#include "colour.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

namespace sluice::tools {

bool IsTerminal(FILE* stream) {
  const char* const kind = std::getenv("TERM");
  return isatty(fileno(stream)) == 1 && (kind == nullptr || std::string_view(kind) != "dumb");
}

std::string Coloured(FILE* stream, Colour colour, std::string_view text) {
  const char* const unwanted = std::getenv("NO_COLOR");
  if (!IsTerminal(stream) || (unwanted != nullptr && *unwanted != '\0')) {
    return std::string(text);
  }
  return fmt::format("\x1b[1;{}m{}\x1b[0m", colour == Colour::kRed ? 31 : 32, text);
}

}  // namespace sluice::tools
