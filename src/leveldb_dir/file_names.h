// Names of the files in a LevelDB directory.
//
//   CURRENT          names the live MANIFEST, with a newline
//   MANIFEST-NNNNNN  the edits that lead to the live set of files
//   NNNNNN.log       writes that no table holds yet
//   NNNNNN.ldb, .sst tables (.sst: before LevelDB 1.14)
//   NNNNNN.dbtmp     CURRENT in the making
//   LOCK, LOG, LOG.old
//
// All numbers come from one counter.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

enum class LevelDbFile { kCurrent, kManifest, kLog, kTable, kTemporary, kLock, kInfoLog };

struct LevelDbFileName {
  LevelDbFile type;
  uint64_t number = 0;  // of manifests, logs, tables and temporary files
};

inline constexpr std::string_view kCurrentFile = "CURRENT";
inline constexpr std::string_view kLockFile = "LOCK";

std::string TableFileName(uint64_t number);     // 000012.ldb
std::string OldTableFileName(uint64_t number);  // 000012.sst
std::string LogFileName(uint64_t number);
std::string ManifestFileName(uint64_t number);
std::string TemporaryFileName(uint64_t number);

// False unless LevelDB would take `name` for one of its own.
bool ParseLevelDbFileName(std::string_view name, LevelDbFileName* out);

}  // namespace sluice
