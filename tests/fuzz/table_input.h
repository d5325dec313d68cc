// Tables as fuzz inputs: one byte of flags, then the file's bytes.
//
// A changed byte is nearly always a wrong checksum, and nothing behind that check would be seen. So
// a flag has all checksums put right before the table is used.

#pragma once

#include <string>
#include <string_view>

#include "fuzz/fuzz.h"

namespace sluice::fuzz {

inline constexpr char kMendChecksums = 1;

// The table of a fuzz input; empty if the input is.
std::string TableOfInput(std::string_view input);
// A random valid table, with the flag set or not.
std::string MakeTableInput(Random* random);

}  // namespace sluice::fuzz
