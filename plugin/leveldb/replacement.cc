// The compaction that takes the place of LevelDB's in the archive that make_archive changes.

#include "internals.h"

// Debian's LevelDB has Snappy.
#define HAVE_SNAPPY 1
#include "sluice_leveldb_hook.h"
