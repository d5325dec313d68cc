// What is done to files in several places, by the means of any Env.

#pragma once

#include <string>
#include <string_view>

#include "sluice/env.h"

namespace sluice {

// Writes `contents` to the file at `path` and makes them durable; the name becomes durable with
// the next SyncDir.
Status WriteFileSynced(Env* env, const std::string& path, std::string_view contents);

// "a/b" of "a/b/c", "." of "c".
std::string DirName(const std::string& path);

}  // namespace sluice
