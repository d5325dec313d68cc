// A directory that holds a database or a part of its extents, and how it is told whose it is.
//
//   DIR/LOCK          held while the database is open
//   DIR/IDENTITY      "sluice 4 DATABASE NUMBER STATE CRC", with tiers "... STATE OPEN BEFORE CRC", and in
//                     the database's own directory "TIER OPEN BEFORE" for each of them before the CRC
//   DIR/NUMBER.data   extents (extent_space.h)
//
// Nothing in a directory is read, written or removed before its identity says that it belongs to
// the database at hand; and a database takes only an empty directory for its own. So a wrong path
// costs an error, and no data.
//
// A database is created between the states kCreating and kWhole of its own directory, and is
// destroyed from kDestroying on: in both cases a crash leaves remains, of which the identity says
// that they may be removed.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/env.h"
#include "util/status.h"

namespace sluice {

// What IDENTITY and CURRENT begin with. Both end with a CRC of what is before, and a line feed.
inline constexpr std::string_view kFormatMagic = "sluice 4 ";
inline constexpr std::string_view kFormatVersion = "4";
// NotSupported if `text` is such a file's, undamaged, of another version.
Status CheckFormatVersion(const std::string& path, std::string_view text);

// The number of a database's own directory; those of tiers are above, and never given twice.
inline constexpr uint64_t kHomeDir = 1;

struct DirIdentity {
  enum class State { kCreating, kWhole, kDestroying };

  std::string database;  // 128 random bits, as hexadecimal digits
  uint64_t number = kHomeDir;
  State state = State::kWhole;
  // Random numbers of the last time that the database was opened for writing with a tier, and of
  // the time before; 0 if there was none. They tell a database from a copy of its own directory
  // that shares its tiers (directories.h).
  uint64_t last_open = 0;
  uint64_t open_before = 0;
  // Of the database's own directory: these numbers for each tier that it ever had, as of the last time
  // that it was opened with that one.
  struct Tier {
    uint64_t number;
    uint64_t last_open;
    uint64_t open_before;
  };
  std::vector<Tier> tiers{};
};

std::string NewDatabaseId();
uint64_t NewOpenNumber();  // never 0

// NotFound if the directory has none, NotSupported if it is of another version.
Status ReadIdentity(Env* env, const std::string& dir, DirIdentity* identity);
// Replaces the one before, durably.
Status WriteIdentity(Env* env, const std::string& dir, const DirIdentity& identity);

std::string LockPath(const std::string& dir);
std::string IdentityPath(const std::string& dir);
std::string DataFilePath(const std::string& dir, uint64_t number);

// Finds a file that keeps `dir`, a directory without an identity, from becoming a database's:
// `*name` is empty if there is none, or no such directory. What is left of a creation that got no
// further than the lock does not count, nor does the "lost+found" of a file system.
Status FindForeign(Env* env, const std::string& dir, std::string* name);

}  // namespace sluice
