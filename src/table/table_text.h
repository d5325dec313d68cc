// Parts of tables as text: what dumps of tables have in common, whichever format these have.

#pragma once

#include <string>
#include <string_view>

#include "table/block.h"
#include "table/dump.h"
#include "table/format.h"
#include "table/internal_key.h"
#include "util/status.h"

namespace sluice {

// In quotes; bytes that do not print as \xNN.
std::string Quoted(std::string_view bytes);
// "a" @ 7 value. `last_type`: the format has no record types above it; those are only numbers.
std::string KeyText(std::string_view internal_key, RecordType last_type = kTypeValueReference);
// at 934 (104 bytes)
std::string HandleText(const BlockHandle& handle);

// A line for each record of a data block. Corruption where that ends early.
Status PrintRecords(const Block& block, const LineSink& line,
                    RecordType last_type = kTypeValueReference);

}  // namespace sluice
