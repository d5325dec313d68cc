#include "leveldb_dir/commit.h"

#include <initializer_list>

#include "leveldb_dir/file_names.h"
#include "util/files.h"

namespace sluice {

namespace {

bool IsObsolete(const LevelDbFileName& file, const DatabaseState& state,
                const std::set<uint64_t>& live_tables, uint64_t manifest_number) {
  switch (file.type) {
    case LevelDbFile::kTable:
      return !live_tables.contains(file.number);
    case LevelDbFile::kLog:
      return file.number < state.log_number && file.number != state.previous_log_number;
    case LevelDbFile::kManifest:
      return file.number < manifest_number;
    case LevelDbFile::kTemporary:
      return true;
    case LevelDbFile::kCurrent:
    case LevelDbFile::kLock:
    case LevelDbFile::kInfoLog:
      return false;
  }
  return false;
}

// What cannot be removed, or never came to be, LevelDB deals with; the caller has a worse error.
void RemoveFiles(Env* env, std::initializer_list<std::string> paths) {
  for (const std::string& path : paths) {
    (void)env->RemoveFile(path);
  }
}

}  // namespace

Status CommitState(Env* env, const Database& database, const DatabaseState& state,
                   uint64_t manifest_number, CommitOutcome* outcome) {
  *outcome = CommitOutcome::kOldState;
  const std::string manifest = ManifestFileName(manifest_number);
  const std::string current = database.Path(kCurrentFile);
  const std::string temporary = database.Path(TemporaryFileName(manifest_number));
  Status status = WriteFileSynced(env, database.Path(manifest), WriteManifest(state));
  if (status.ok()) {
    status = WriteFileSynced(env, temporary, manifest + "\n");
  }
  if (status.ok()) {
    // The tables' names must be durable before CURRENT can lead to them.
    status = env->SyncDir(database.dir);
  }
  if (!status.ok()) {
    RemoveFiles(env, {temporary, database.Path(manifest)});
    return status;
  }
  *outcome = CommitOutcome::kUncertain;
  status = env->RenameFile(temporary, current);
  if (!status.ok()) {
    std::string names;
    if (env->ReadFile(current, &names).ok() && names != manifest + "\n") {
      *outcome = CommitOutcome::kOldState;
      RemoveFiles(env, {temporary, database.Path(manifest)});
    }
    return status;
  }
  status = env->SyncDir(database.dir);
  if (!status.ok()) {
    return status.WithContext("the compacted state is in place, but perhaps not durable");
  }
  *outcome = CommitOutcome::kNewState;
  return {};
}

uint64_t RemoveObsoleteFiles(Env* env, const Database& database, const DatabaseState& state,
                             uint64_t manifest_number) {
  std::set<uint64_t> live_tables;
  for (const std::vector<TableFile>& level : state.levels) {
    for (const TableFile& table : level) {
      live_tables.insert(table.number);
    }
  }
  std::vector<std::string> names;
  if (!env->GetChildren(database.dir, &names).ok()) {
    return 1;
  }
  uint64_t left = 0;
  for (const std::string& name : names) {
    LevelDbFileName file{};
    if (ParseLevelDbFileName(name, &file) &&
        IsObsolete(file, state, live_tables, manifest_number) &&
        !env->RemoveFile(database.Path(name)).ok()) {
      ++left;
    }
  }
  return left;
}

}  // namespace sluice
