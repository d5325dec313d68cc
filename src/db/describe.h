// Events and statistics as JSON, for the C interface and the command line.

#pragma once

#include <nlohmann/json.hpp>

#include "sluice/listener.h"
#include "sluice/statistics.h"

namespace sluice {

std::string_view KindName(CompactionKind kind);

nlohmann::json ToJson(const FlushEvent& event);
nlohmann::json ToJson(const CompactionEvent& event);
nlohmann::json ToJson(const StallEvent& event);
nlohmann::json ToJson(const OffloadFailureEvent& event);
nlohmann::json ToJson(const Statistics& statistics);

}  // namespace sluice
