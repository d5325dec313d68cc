// Keys and values as text, any bytes of them, and back.
//
// Plain: printable ASCII stands for itself, but for the backslash; every other byte is \xNN. So
// text has neither tabs nor line ends, and what one command prints another takes. Hex: two digits
// per byte.

#pragma once

#include <string>
#include <string_view>

#include "util/status.h"

namespace sluice::tools {

std::string BytesToText(std::string_view bytes, bool hex = false);
// Takes other bytes than printable ASCII for themselves, too. InvalidArgument for a backslash that
// begins no \xNN, and for what is not hex.
Status TextToBytes(std::string_view text, bool hex, std::string* bytes);

}  // namespace sluice::tools
