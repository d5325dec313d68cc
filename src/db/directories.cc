#include "db/directories.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "log/log_format.h"
#include "sluice/db.h"

namespace sluice {

namespace {

enum class Found { kNothing, kRemains, kDatabase };

Status Foreign(const std::string& dir, const std::string& name) {
  return Status::InvalidArgument(
      fmt::format("{}: holds '{}' and is no directory of a Sluice database; nothing in it is "
                  "touched",
                  dir, name));
}

Status NoHome(const std::string& dir, const DirIdentity& identity) {
  return Status::InvalidArgument(fmt::format(
      "{}: holds extents of database {}, and is no database itself", dir, identity.database));
}

// The error for a directory that has a CURRENT but no identity.
Status DescribeCurrent(Env* env, const std::string& dir) {
  std::string current;
  SLUICE_RETURN_IF_ERROR(env->ReadFile(dir + "/CURRENT", &current));
  if (current.starts_with("sluice 2 ")) {
    return Status::NotSupported(
        fmt::format("{}/CURRENT: a database of format version 2; this library reads version {}",
                    dir, kFormatVersion));
  }
  if (current.starts_with("sluice ")) {
    return Status::Corruption(
        fmt::format("{}: missing, but there is a CURRENT; nothing in the "
                    "directory is touched",
                    IdentityPath(dir)));
  }
  return Foreign(dir, "CURRENT");
}

// Finds out what is in the database's own directory. An error if that is not a database's.
Status Look(Env* env, const std::string& dir, Found* found, DirIdentity* identity) {
  const Status current = env->FileExists(dir + "/CURRENT");
  if (!current.ok() && !current.IsNotFound()) {
    return current;
  }
  *found = Found::kNothing;
  if (const Status status = ReadIdentity(env, dir, identity); !status.ok()) {
    if (!status.IsNotFound()) {
      return status;
    }
    return current.ok() ? DescribeCurrent(env, dir) : Status();
  }
  if (identity->number != kHomeDir) {
    return NoHome(dir, *identity);
  }
  if (identity->state == DirIdentity::State::kDestroying ||
      (identity->state == DirIdentity::State::kCreating && current.IsNotFound())) {
    *found = Found::kRemains;
    return {};
  }
  *found = Found::kDatabase;
  return current.ok() ? Status()
                      : Status::Corruption(fmt::format(
                            "{}/CURRENT: missing, but the directory is that of database {}; "
                            "nothing in it is touched",
                            dir, identity->database));
}

// Makes it kRemains if a directory without an identity has what a creation makes before that.
Status LookForBeginnings(Env* env, const std::string& dir, Found* found) {
  for (const std::string& file : {LockPath(dir), IdentityPath(dir) + ".new"}) {
    const Status exists = env->FileExists(file);
    if (exists.ok()) {
      *found = Found::kRemains;
    } else if (!exists.IsNotFound()) {
      return exists;
    }
  }
  return {};
}

// Removes those of the files that exist.
Status Remove(Env* env, const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    if (const Status status = env->RemoveFile(file); !status.ok() && !status.IsNotFound()) {
      return status;
    }
  }
  return {};
}

// Removes the directory's log files, and then the directory unless it has something else.
Status RemoveLog(Env* env, const std::string& dir) {
  std::vector<std::string> names;
  if (const Status status = env->GetChildren(dir, &names); !status.ok()) {
    return status.IsNotFound() ? Status() : status;
  }
  bool empty = true;
  for (const std::string& name : names) {
    if (IsLogFileName(name)) {
      SLUICE_RETURN_IF_ERROR(Remove(env, {fmt::format("{}/{}", dir, name)}));
    } else {
      empty = false;
    }
  }
  SLUICE_RETURN_IF_ERROR(env->SyncDir(dir));
  return empty ? env->RemoveDir(dir) : Status();
}

// Whether a tier with the home's database id was last used with this copy of the database.
bool Fits(const DirIdentity& tier, const DirIdentity& home) {
  return tier.last_open == home.last_open || tier.last_open == home.open_before ||
         std::any_of(home.tiers.begin(), home.tiers.end(), [&](const DirIdentity::Tier& known) {
           return known.number == tier.number &&
                  (known.last_open == tier.last_open || known.open_before == tier.last_open);
         });
}

Status OfAnotherCopy(const std::string& dir, const std::string& path) {
  return Status::InvalidArgument(fmt::format(
      "{}: was last used by another copy of the database in {}; open that copy, or save what can "
      "still be read with `sluice db repair`",
      dir, path));
}

// A directory of the destroyed database. Its identity goes last: with it, whatever is left is known
// to be worth nothing.
Status RemoveTier(Env* env, const ExtentSpace::Dir& dir) {
  SLUICE_RETURN_IF_ERROR(Remove(env, {DataFilePath(dir.path, dir.number)}));
  SLUICE_RETURN_IF_ERROR(env->SyncDir(dir.path));
  SLUICE_RETURN_IF_ERROR(
      Remove(env, {IdentityPath(dir.path), IdentityPath(dir.path) + ".new", LockPath(dir.path)}));
  SLUICE_RETURN_IF_ERROR(env->SyncDir(dir.path));
  (void)env->RemoveDir(
      dir.path);  // unless it has something else, or a file system is mounted there
  return {};
}

// Makes the database one that is being destroyed. On a full device the reserve makes space for that,
// which a database does without if this is as far as it gets. A checkpoint has none: its CURRENT goes
// instead. Nobody opens it without, and it can be destroyed as before.
Status MarkDestroying(Env* env, const std::string& path, const std::vector<std::string>& reserve,
                      DirIdentity identity) {
  identity.state = DirIdentity::State::kDestroying;
  Status status = WriteIdentity(env, path, identity);
  if (status.IsNoSpace()) {
    SLUICE_RETURN_IF_ERROR(Remove(env, reserve));
    status = WriteIdentity(env, path, identity);
  }
  if (status.IsNoSpace()) {
    SLUICE_RETURN_IF_ERROR(Remove(env, {path + "/CURRENT"}));
    return env->SyncDir(path);
  }
  return status;
}

// Removes all of the database but its own directory's identity and lock, which is held. Fails
// before anything is removed if a tier is another database's.
Status RemoveContents(const Options& options, Env* env, const std::string& path,
                      const DirIdentity& identity) {
  std::vector<ExtentSpace::Dir> tiers;
  std::vector<std::unique_ptr<FileLock>> locks;
  for (const std::string& dir : options.level_paths) {
    DirIdentity tier;
    Status status = dir.empty() ? Status::NotFound({}) : env->SyncDir(dir);
    if (status.ok()) {
      status = ReadIdentity(env, dir, &tier);
    }
    if (status.IsNotFound()) {
      continue;
    }
    SLUICE_RETURN_IF_ERROR(status);
    if (tier.database != identity.database) {
      return Status::InvalidArgument(
          fmt::format("{}: belongs to database {}, not to {}, which is "
                      "{}; nothing is removed",
                      dir, tier.database, path, identity.database));
    }
    if (tier.number != kHomeDir && !Fits(tier, identity)) {
      return OfAnotherCopy(dir, path);
    }
    const bool known = tier.number == kHomeDir ||
                       std::any_of(tiers.begin(), tiers.end(), [&](const ExtentSpace::Dir& other) {
                         return other.number == tier.number;
                       });
    if (!known) {
      SLUICE_RETURN_IF_ERROR(env->LockFile(LockPath(dir), &locks.emplace_back()));
      tiers.push_back({dir, tier.number});
    }
  }
  const std::vector<std::string> reserve = {path + "/RESERVE", path + "/RESERVE.flush",
                                            path + "/RESERVE.open", path + "/RESERVE.compact",
                                            path + "/RESERVE.meta"};
  if (identity.state != DirIdentity::State::kDestroying) {
    SLUICE_RETURN_IF_ERROR(MarkDestroying(env, path, reserve, identity));
  }
  for (const ExtentSpace::Dir& tier : tiers) {
    SLUICE_RETURN_IF_ERROR(RemoveTier(env, tier));
  }
  SLUICE_RETURN_IF_ERROR(
      Remove(env, {path + "/CURRENT", path + "/CURRENT.new", DataFilePath(path, kHomeDir)}));
  SLUICE_RETURN_IF_ERROR(Remove(env, reserve));
  SLUICE_RETURN_IF_ERROR(RemoveLog(env, path + "/meta"));
  SLUICE_RETURN_IF_ERROR(RemoveLog(env, path + "/log"));
  return env->SyncDir(path);
}

// The last of a database whose contents are removed: its identity, its lock, and its directory,
// unless that has something else.
Status RemoveHome(Env* env, const std::string& path, std::unique_ptr<FileLock> lock) {
  SLUICE_RETURN_IF_ERROR(
      Remove(env, {IdentityPath(path), IdentityPath(path) + ".new", LockPath(path)}));
  SLUICE_RETURN_IF_ERROR(env->SyncDir(path));
  lock.reset();
  (void)env->RemoveDir(path);  // as in RemoveTier; or `path` is a symbolic link to it
  return {};
}

// Looks before locking, because the lock makes a file; it is to be done again with the lock held,
// because another process may have been here in between. One that is creating the database while
// this looks makes it seem a stranger's, or damaged. Then there is a lock file already.
Status LookUnlocked(Env* env, const std::string& path, const std::function<Status()>& look) {
  const Status status = look();
  DirIdentity identity;
  if (status.ok() || status.IsNotFound() || !ReadIdentity(env, path, &identity).ok()) {
    return status;
  }
  std::unique_ptr<FileLock> lock;
  const Status locked = env->LockFileShared(LockPath(path), &lock);
  return locked.ok() ? look() : locked.IsNotFound() ? status : locked;
}

// A database without a lock file, a copy perhaps, is nobody's to write to.
Status LockToRead(Env* env, const std::string& dir, std::unique_ptr<FileLock>* lock) {
  const Status status = env->LockFileShared(LockPath(dir), lock);
  return status.IsNotFound() ? Status() : status;
}

Status BeginCreation(Env* env, const std::string& path, HomeDir* home) {
  home->is_new = true;
  home->identity = {NewDatabaseId(), kHomeDir, DirIdentity::State::kCreating};
  return WriteIdentity(env, path, home->identity);
}

// Whether the directory can be one of the tiers of the database; an error if not. Its number is 0
// if it is nobody's yet.
Status LookAtTier(Env* env, const std::string& dir, const std::string& path,
                  const DirIdentity& home, DirIdentity* tier) {
  const Status status = ReadIdentity(env, dir, tier);
  if (status.IsNotFound()) {
    *tier = {.database = home.database, .number = 0, .last_open = home.last_open};
    std::string name;
    SLUICE_RETURN_IF_ERROR(FindForeign(env, dir, &name));
    return name.empty() ? Status() : Foreign(dir, name);
  }
  SLUICE_RETURN_IF_ERROR(status);
  if (tier->database != home.database) {
    return Status::InvalidArgument(fmt::format(
        "{}: belongs to another database, {}; this one is {}", dir, tier->database, home.database));
  }
  return Fits(*tier, home) ? Status() : OfAnotherCopy(dir, path);
}

// Locks the directory for the database; `*tier` is what is known of it.
Status TakeTier(const Options& options, Env* env, const std::string& dir, const std::string& path,
                const DirIdentity& home, const std::function<Status(uint64_t* number)>& new_number,
                DirIdentity* tier, TierDirs* tiers) {
  std::unique_ptr<FileLock>* const lock = &tiers->locks.emplace_back();
  if (options.read_only) {
    return LockToRead(env, dir, lock);
  }
  SLUICE_RETURN_IF_ERROR(env->LockFile(LockPath(dir), lock));
  SLUICE_RETURN_IF_ERROR(env->SyncDir(dir));
  SLUICE_RETURN_IF_ERROR(LookAtTier(env, dir, path, home, tier));
  if (tier->number == 0) {
    SLUICE_RETURN_IF_ERROR(new_number(&tier->number));
    SLUICE_RETURN_IF_ERROR(WriteIdentity(env, dir, *tier));
  }
  for (const ExtentSpace::Dir& other : tiers->dirs) {
    if (other.number == tier->number) {
      return Status::InvalidArgument(
          fmt::format("{}: is a copy of {}, of the same database", dir, other.path));
    }
  }
  return {};
}

// Corruption if one of the data files is in none of the directories.
Status CheckAllThere(const TierDirs& tiers, const FilesInUse& in_use) {
  for (const auto& [file, extent] : in_use) {
    const bool there =
        std::any_of(tiers.dirs.begin(), tiers.dirs.end(),
                    [number = file](const ExtentSpace::Dir& dir) { return dir.number == number; });
    if (!there) {
      return ExtentSpace::FileNotThere(file, extent);
    }
  }
  return {};
}

// Those that are there have been opened with the home's numbers.
void NoteTiers(const TierDirs& tiers, DirIdentity* home) {
  for (const DirIdentity& tier : tiers.identities) {
    std::erase_if(home->tiers, [&](const auto& known) { return known.number == tier.number; });
    home->tiers.push_back({tier.number, home->last_open, home->open_before});
  }
}

Status SetLastOpen(Env* env, const TierDirs& tiers, uint64_t number,
                   std::vector<DirIdentity>* identities) {
  for (size_t i = 0; i < identities->size(); ++i) {
    DirIdentity& tier = (*identities)[i];
    if (tier.last_open != number) {
      tier.last_open = number;
      SLUICE_RETURN_IF_ERROR(WriteIdentity(env, tiers.dirs[i + 1].path, tier));
    }
  }
  return {};
}

}  // namespace

Status MakeAbsolute(Env* env, Options* options, std::string* path) {
  std::vector<std::string*> paths = {path, &options->failed_task_dir};
  for (std::string& dir : options->level_paths) {
    paths.push_back(&dir);
  }
  for (std::string* const at : paths) {
    if (env == Env::Posix() && !at->empty()) {
      std::error_code error;
      std::string absolute = std::filesystem::absolute(*at, error).string();
      if (error) {
        return Status::FromErrno(fmt::format("{}: cannot be made absolute", *at), error.value());
      }
      *at = std::move(absolute);
    }
  }
  return {};
}

bool HoldsRemains(Env* env, const std::string& dir) {
  Found found = Found::kNothing;
  DirIdentity identity;
  return Look(env, dir, &found, &identity).ok() && found == Found::kRemains;
}

Status OpenHome(const Options& options, Env* env, const std::string& path, HomeDir* home) {
  Found found = Found::kNothing;
  const auto look = [&]() -> Status {
    SLUICE_RETURN_IF_ERROR(Look(env, path, &found, &home->identity));
    if (found == Found::kDatabase) {
      return options.error_if_exists
                 ? Status::InvalidArgument(fmt::format("{}: the database exists", path))
                 : Status();
    }
    if (!options.create_if_missing || options.read_only) {
      return Status::NotFound(fmt::format(
          "{}: {}; set create_if_missing to make one", path,
          found == Found::kRemains
              ? "only remains of a database that was not wholly made, repaired or destroyed"
              : "no Sluice database"));
    }
    std::string name;
    if (found == Found::kNothing) {
      SLUICE_RETURN_IF_ERROR(FindForeign(env, path, &name));
    }
    return name.empty() ? Status() : Foreign(path, name);
  };
  SLUICE_RETURN_IF_ERROR(LookUnlocked(env, path, look));
  if (options.read_only) {
    SLUICE_RETURN_IF_ERROR(LockToRead(env, path, &home->lock));
    return look();
  }
  if (found == Found::kNothing) {
    SLUICE_RETURN_IF_ERROR(env->CreateDir(path));
  }
  SLUICE_RETURN_IF_ERROR(env->LockFile(LockPath(path), &home->lock));
  SLUICE_RETURN_IF_ERROR(env->SyncDir(path));
  SLUICE_RETURN_IF_ERROR(look());
  if (found == Found::kRemains) {
    SLUICE_RETURN_IF_ERROR(RemoveContents(options, env, path, home->identity));
  }
  return found == Found::kDatabase ? Status() : BeginCreation(env, path, home);
}

Status CheckFree(Env* env, const std::string& path) {
  std::string name;
  SLUICE_RETURN_IF_ERROR(FindForeign(env, path, &name));
  return name.empty()
             ? Status()
             : Status::InvalidArgument(fmt::format("{}: exists, and holds '{}'", path, name));
}

Status CreateHome(Env* env, const std::string& path, HomeDir* home) {
  SLUICE_RETURN_IF_ERROR(env->CreateDir(path));
  SLUICE_RETURN_IF_ERROR(env->LockFile(LockPath(path), &home->lock));
  // Somebody may have made something there since the caller looked.
  SLUICE_RETURN_IF_ERROR(CheckFree(env, path));
  return BeginCreation(env, path, home);
}

void UndoCreation(Env* env, const std::string& path, HomeDir* home) {
  if (!home->is_new) {
    return;  // it is another's
  }
  // CURRENT goes first, and without it what has this identity is worth nothing.
  DirIdentity identity = home->identity;
  identity.state = DirIdentity::State::kDestroying;
  if (RemoveContents({}, env, path, identity).ok()) {
    (void)RemoveHome(env, path, std::move(home->lock));
  }
}

Status FinishCreation(Env* env, const std::string& path, HomeDir* home) {
  home->identity.state = DirIdentity::State::kWhole;
  return WriteIdentity(env, path, home->identity);
}

Status OpenTiers(const Options& options, Env* env, const std::string& path, const DirIdentity& home,
                 const FilesInUse& in_use,
                 const std::function<Status(uint64_t* number)>& new_number, TierDirs* tiers) {
  tiers->dirs = {{path, kHomeDir}};
  tiers->of_level.assign(options.level_paths.size(), 0);
  std::vector<std::string> ids(1);
  SLUICE_RETURN_IF_ERROR(env->GetFileId(path, ids.data()));
  // Those that are the database's already, then those that become so.
  for (const bool are_new : {false, true}) {
    if (are_new && !options.read_only) {
      SLUICE_RETURN_IF_ERROR(CheckAllThere(*tiers, in_use));
    }
    for (size_t level = 0; level < options.level_paths.size(); ++level) {
      const std::string& dir = options.level_paths[level];
      if (dir.empty()) {
        continue;
      }
      if (const Status status = env->FileExists(dir); status.IsNotFound()) {
        if (!are_new || options.read_only) {
          continue;  // nothing was ever there
        }
        SLUICE_RETURN_IF_ERROR(env->CreateDir(dir));
      }
      std::string id;
      SLUICE_RETURN_IF_ERROR(env->GetFileId(dir, &id));
      const size_t known = std::find(ids.begin(), ids.end(), id) - ids.begin();
      if (known < ids.size()) {
        tiers->of_level[level] = known;
        continue;
      }
      DirIdentity tier;
      SLUICE_RETURN_IF_ERROR(LookAtTier(env, dir, path, home, &tier));
      if ((tier.number == 0) != are_new) {
        continue;
      }
      SLUICE_RETURN_IF_ERROR(TakeTier(options, env, dir, path, home, new_number, &tier, tiers));
      tiers->of_level[level] = ids.size();
      ids.push_back(std::move(id));
      tiers->dirs.push_back({dir, tier.number});
      tiers->identities.push_back(std::move(tier));
    }
  }
  return {};
}

// A tier that a crash left with the open number before the home's last one first gets the last one,
// because the home is about to forget the older number.
Status NumberOpen(Env* env, const std::string& path, const TierDirs& tiers, DirIdentity* home) {
  if (tiers.identities.empty()) {
    return {};
  }
  std::vector<DirIdentity> identities = tiers.identities;
  const auto number = [&]() -> Status {
    SLUICE_RETURN_IF_ERROR(SetLastOpen(env, tiers, home->last_open, &identities));
    home->open_before = std::exchange(home->last_open, NewOpenNumber());
    NoteTiers(tiers, home);
    SLUICE_RETURN_IF_ERROR(WriteIdentity(env, path, *home));
    return SetLastOpen(env, tiers, home->last_open, &identities);
  };
  // A full device can be opened all the same: the old numbers stay, and still fit.
  const Status status = number();
  return status.IsNoSpace() ? Status() : status;
}

Status DB::Destroy(const Options& options, const std::string& path) {
  Env* const env = options.env != nullptr ? options.env : Env::Posix();
  std::unique_ptr<FileLock> lock;
  DirIdentity identity;
  // Unlike Open, this goes by the identity alone: a damaged database can be destroyed, too.
  const auto look = [&](Found* found) -> Status {
    const Status status = ReadIdentity(env, path, &identity);
    if (status.IsNotFound()) {
      std::string name;
      SLUICE_RETURN_IF_ERROR(Look(env, path, found, &identity));
      SLUICE_RETURN_IF_ERROR(FindForeign(env, path, &name));
      return name.empty() ? LookForBeginnings(env, path, found) : Foreign(path, name);
    }
    *found = Found::kDatabase;
    SLUICE_RETURN_IF_ERROR(status);
    return identity.number == kHomeDir ? Status() : NoHome(path, identity);
  };
  Found found;
  SLUICE_RETURN_IF_ERROR(LookUnlocked(env, path, [&] { return look(&found); }));
  if (found == Found::kNothing) {
    return {};
  }
  SLUICE_RETURN_IF_ERROR(env->LockFile(LockPath(path), &lock));
  SLUICE_RETURN_IF_ERROR(env->SyncDir(path));
  SLUICE_RETURN_IF_ERROR(look(&found));
  if (found == Found::kDatabase) {
    SLUICE_RETURN_IF_ERROR(RemoveContents(options, env, path, identity));
  }
  return RemoveHome(env, path, std::move(lock));
}

}  // namespace sluice
