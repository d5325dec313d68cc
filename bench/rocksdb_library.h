// Loads the real RocksDB, which is a module of its own (rocksdb_module.h).

#pragma once

#include "bench/rocksdb_module.h"
#include "util/status.h"

namespace sluice::bench {

// NotSupported if it is not there: the message says how to get it.
Status LoadRocksDb(const RocksDbCalls** calls);

// The status of what one of the calls has returned.
Status RocksDbStatus(const char* error);

}  // namespace sluice::bench
