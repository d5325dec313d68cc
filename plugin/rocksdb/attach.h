// What libsluice_rocksdb_preload calls in libsluice_rocksdb, by name. Both are of one version.

#pragma once

#include <rocksdb/options.h>

#include "sluice/export.h"

extern "C" {

// The options to open the database at `path` with: a copy with the service that the environment asks
// for, or null if they are to stay as they are. Says what is wrong on stderr, each thing once.
SLUICE_EXPORT const rocksdb::DBOptions* SluiceAttachToRocksDb(const rocksdb::DBOptions* options,
                                                              const char* path,
                                                              bool seq_per_batch) noexcept;
// Frees such a copy.
SLUICE_EXPORT void SluiceFreeRocksDbOptions(const rocksdb::DBOptions* options) noexcept;

}  // extern "C"

namespace sluice::rocks {

using AttachFunction = decltype(SluiceAttachToRocksDb);
using FreeFunction = decltype(SluiceFreeRocksDbOptions);

}  // namespace sluice::rocks
