// Events and statistics as JSON, for the C interface and the command line.

#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "sluice/listener.h"
#include "sluice/statistics.h"

namespace sluice {

std::string_view KindName(CompactionKind kind);

nlohmann::json ToJson(const FlushEvent& event);
nlohmann::json ToJson(const CompactionEvent& event);
nlohmann::json ToJson(const SetAsideEvent& event);
nlohmann::json ToJson(const StallEvent& event);
nlohmann::json ToJson(const OffloadFailureEvent& event);
nlohmann::json ToJson(const Statistics& statistics);

// Names of sub-tables and of files may hold any bytes: what is not UTF-8 is replaced (U+FFFD), where
// dump() alone would throw. `indent` -1: all in one line.
std::string TextOf(const nlohmann::json& json, int indent);

}  // namespace sluice
