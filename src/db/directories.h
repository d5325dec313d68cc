// The directories that a database is made of: its own and those of tiers (Options::level_paths).
// How they are found, taken, checked and given up; tree/data_dir.h says what identifies them.
//
// Creation:                                    Destruction:
//  1. the directory is empty; IDENTITY says     1. IDENTITY says "destroying", or CURRENT is removed
//     "creating"                                   where there is no space to say so
//  2. remains of a database before are removed  2. extents and identities of tiers are removed
//  3. metadata, CURRENT                         3. the metadata, the log, the extents are removed
//  4. IDENTITY says "whole"                     4. IDENTITY is removed
// Each step is durable before the next begins. Names that an earlier process may have left
// unsynced, because it was killed or its sync failed, are synced before they are relied on: later
// steps must not reach the disk without them. Only files that are the database's by name, in a
// directory with its identity, are ever touched.

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sluice/env.h"
#include "sluice/options.h"
#include "tree/data_dir.h"
#include "tree/extent_space.h"
#include "util/status.h"

namespace sluice {

struct HomeDir {
  std::unique_ptr<FileLock> lock;
  DirIdentity identity;
  // No database yet: its metadata is to be made, with this identity, and FinishCreation called.
  bool is_new = false;
};

// Makes the paths absolute, because the process may change its working directory later. An Env of
// the user's own gets them as they are: it says what they mean.
Status MakeAbsolute(Env* env, Options* options, std::string* path);
// Whether all that is in the directory is left of a creation, a repair or a destruction that was cut
// short.
bool HoldsRemains(Env* env, const std::string& dir);
// Locks the database's own directory, made ready for creation if there is no database and the
// options want one.
Status OpenHome(const Options& options, Env* env, const std::string& path, HomeDir* home);
// InvalidArgument if `path` has something in it. What a creation leaves that was killed before it wrote
// an identity is nothing.
Status CheckFree(Env* env, const std::string& path);
// A directory at `path`, ready for creation; an error if CheckFree has one.
Status CreateHome(Env* env, const std::string& path, HomeDir* home);
// Removes a database again whose creation, begun by CreateHome, has failed: what it took of a full
// device comes free, and its path. Gives up at the first error.
void UndoCreation(Env* env, const std::string& path, HomeDir* home);
// CURRENT is there.
Status FinishCreation(Env* env, const std::string& path, HomeDir* home);

struct TierDirs {
  std::vector<ExtentSpace::Dir> dirs;  // the database's own first
  std::vector<std::unique_ptr<FileLock>> locks;
  std::vector<size_t> of_level;         // in `dirs`
  std::vector<DirIdentity> identities;  // of all but the first
};

// The numbers of data files, each with that of an extent in it.
using FilesInUse = std::map<uint64_t, uint64_t>;

// Locks the directories of tiers. Those that are new are made, and get numbers from `new_number`,
// which must be given for good when it returns; but only if all that are in use are there. Else one
// is missing, because its disk is not mounted, and nothing is to be made in its place.
Status OpenTiers(const Options& options, Env* env, const std::string& path, const DirIdentity& home,
                 const FilesInUse& in_use,
                 const std::function<Status(uint64_t* number)>& new_number, TierDirs* tiers);
// Makes this open the last user of the tiers, before anything is written to them. To be called once
// all extents are found: a tier that is missing, because its disk is not mounted or its path not
// given, does not get the new number, and would be taken for another copy's after a few attempts.
Status NumberOpen(Env* env, const std::string& path, const TierDirs& tiers, DirIdentity* home);

}  // namespace sluice
