// Checks everything that can be checked about a block-based table of RocksDB, and prints one.

#pragma once

#include <string>
#include <string_view>

#include "sluice/env.h"
#include "table/dump.h"
#include "table/verify.h"
#include "util/status.h"

namespace sluice {

// As VerifyTable (table/verify.h) for a table of RocksDB, and what its properties count must be
// there. Of filters only a Bloom filter of format_version 5 is asked for every key. NotSupported for
// what RocksTable declines.
Status VerifyRocksTable(Env* env, const std::string& path, TableReport* report,
                        const VerifyProgress& progress = nullptr);
Status VerifyRocksTableImage(std::string_view image, const std::string& name, TableReport* report);

// As DumpTable (table/dump.h); it prints the properties, too.
Status DumpRocksTable(Env* env, const std::string& path, const LineSink& line);
Status DumpRocksTableImage(std::string_view image, const std::string& name, const LineSink& line);

}  // namespace sluice
