// What a demo database must hold, kept aside in a file of its own.
//
//   file  := "SLUICEX1" | entries (fixed64) | entry*            by key, ascending
//   entry := live (1 byte) | key (lp) | value bytes (fixed32) | value hash (fixed64)
//
// A key that is not live was written once and deleted: it must not be found.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "util/status.h"

namespace sluice::demo {

struct ExpectedValue {
  bool live = false;
  uint32_t bytes = 0;
  uint64_t hash = 0;
};

using Expected = std::map<std::string, ExpectedValue>;

// 64-bit FNV-1a.
uint64_t HashValue(std::string_view value);

Status WriteExpected(const std::string& path, const Expected& expected);
Status ReadExpected(const std::string& path, Expected* expected);

}  // namespace sluice::demo
