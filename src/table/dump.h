// A table as text, for people.

#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "sluice/env.h"
#include "util/status.h"

namespace sluice {

// Takes one line, without its end.
using LineSink = std::function<void(std::string_view)>;

// Prints footer, metaindex, filter, and each data block with its entries:
//
//   footer at 1207: metaindex at 1043 (58 bytes), index at 1106 (96 bytes)
//   metaindex: "filter.leveldb.BuiltinBloomFilter2" at 934 (104 bytes)
//   filter: 1 filters, 10 bits per key
//   data block at 0: 929 bytes, snappy, 2 restarts, index key "b" @ 3 value
//     "a" @ 7 value "some \x00 bytes"
//     "b" @ 3 deletion
//
// A data block that cannot be read gets a line that says why, and the dump goes on behind it; the
// first such fault is also returned.
Status DumpTable(Env* env, const std::string& path, const LineSink& line);

// The same for a file's bytes in memory.
Status DumpTableImage(std::string_view image, const std::string& name, const LineSink& line);

}  // namespace sluice
