// Random small databases of a real RocksDB, under random options, beside twins (twins.h).

#pragma once

#include <cstdint>
#include <memory>

#include "sluice_rocksdb.h"

namespace sluice::interop {

// What the service and RocksDB itself leave of small random databases is the same to every reader: at
// each snapshot that is held, and after the databases were opened again. The service did nothing before.
void CompareRandomDatabases(const std::shared_ptr<SluiceCompactionService>& service, uint64_t seed,
                            int rounds);

}  // namespace sluice::interop
