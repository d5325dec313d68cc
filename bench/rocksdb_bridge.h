// RocksDB behind a C interface: the library that is compared with (the one in Maven's rocksdbjni)
// has another C++ ABI than this program.

#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// A database of the bench's settings, created if it is not there. Null: failed.
void* RocksBenchOpen(const char* directory);
void RocksBenchClose(void* db);
// Into the memtable, without a log. False: failed.
bool RocksBenchPut(void* db, const char* key, size_t key_bytes, const char* value,
                   size_t value_bytes);
bool RocksBenchFlush(void* db);
// All of level 0 into level 1, in one job and thread.
bool RocksBenchCompact(void* db);
}
