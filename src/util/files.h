// What is done to files in several places, by the means of any Env.

#pragma once

#include <string>
#include <string_view>

#include "sluice/env.h"

namespace sluice {

// Writes `contents` to the file at `path` and makes them durable; the name becomes durable with
// the next SyncDir.
Status WriteFileSynced(Env* env, const std::string& path, std::string_view contents);

// Reads in what MapFile has mapped: where a device fails to, that is an error, and not a signal at the
// first look. Linux 5.14 and later; later looks may still need the device.
Status ReadIn(const MappedFile& file, const std::string& path);

// "a/b" of "a/b/c", "." of "c".
std::string DirName(const std::string& path);

}  // namespace sluice
