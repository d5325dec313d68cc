// Writing record logs.

#pragma once

#include <string>
#include <string_view>

namespace sluice {

// Appends `record` to `log`, which holds all of the log so far.
void AppendLogRecord(std::string_view record, std::string* log);

}  // namespace sluice
