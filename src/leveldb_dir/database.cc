#include "leveldb_dir/database.h"

#include <fmt/format.h>

#include <algorithm>

#include "leveldb_dir/file_names.h"

namespace sluice {

namespace {

// Leaves room for all the numbers that a compaction takes.
constexpr uint64_t kMaxFileNumber = 1ull << 62;

// Says why `dir` with the files `names` is no LevelDB database, if it is none.
Status CheckIsLevelDb(const std::string& dir, const std::vector<std::string>& names) {
  if (std::ranges::binary_search(names, "IDENTITY") && std::ranges::binary_search(names, "meta")) {
    return Status::NotSupported(
        fmt::format("{}: a database of Sluice's own engine, not of LevelDB: see sluice db", dir));
  }
  for (const std::string& name : names) {
    if (name == "IDENTITY" || name.starts_with("OPTIONS-")) {
      return Status::NotSupported(
          fmt::format("{}: a RocksDB database (it has a file {})", dir, name));
    }
  }
  if (!std::ranges::binary_search(names, std::string(kCurrentFile))) {
    return Status::NotFound(fmt::format("{}: not a LevelDB database: no file CURRENT", dir));
  }
  return {};
}

Status ReadCurrent(Env* env, const std::string& path, uint64_t* manifest_number) {
  std::string contents;
  SLUICE_RETURN_IF_ERROR(env->ReadFile(path, &contents));
  LevelDbFileName name{};
  if (!contents.ends_with('\n') ||
      !ParseLevelDbFileName(std::string_view(contents).substr(0, contents.size() - 1), &name) ||
      name.type != LevelDbFile::kManifest) {
    return Status::Corruption(
        fmt::format("{}, offset 0: does not name a MANIFEST, with a newline", path));
  }
  *manifest_number = name.number;
  return {};
}

Status ReadState(Env* env, Database* database) {
  const std::string path = database->Path(ManifestFileName(database->manifest_number));
  MappedFile manifest;
  SLUICE_RETURN_IF_ERROR(env->MapFile(path, &manifest));
  const Status status = ReadManifest(manifest.bytes(), &database->state);
  return status.WithContext(path);
}

// Notes which of the files in the directory matter.
Status FindFiles(const std::vector<std::string>& names, Database* database) {
  const DatabaseState& state = database->state;
  database->next_file_number = std::max(state.next_file_number, database->manifest_number + 1);
  std::map<uint64_t, std::string> tables;
  for (const std::string& name : names) {
    LevelDbFileName file{};
    if (!ParseLevelDbFileName(name, &file)) {
      continue;
    }
    database->next_file_number = std::max(database->next_file_number, file.number + 1);
    if (file.number >= kMaxFileNumber || database->next_file_number >= kMaxFileNumber) {
      return Status::NotSupported(fmt::format("{}: file numbers run out", database->Path(name)));
    }
    if (file.type == LevelDbFile::kTable) {
      tables.emplace(file.number, name);  // LevelDB prefers .ldb, too
    } else if (file.type == LevelDbFile::kLog && file.number != 0 &&
               (file.number >= state.log_number || file.number == state.previous_log_number)) {
      database->logs.push_back(file.number);
    }
  }
  std::ranges::sort(database->logs);
  for (const std::vector<TableFile>& level : state.levels) {
    for (const TableFile& table : level) {
      const auto found = tables.find(table.number);
      if (found == tables.end()) {
        return Status::Corruption(fmt::format("{}: missing, but the MANIFEST needs it",
                                              database->Path(TableFileName(table.number))));
      }
      database->table_names.insert(*found);
    }
  }
  return {};
}

Status CheckSizes(Env* env, const Database& database) {
  for (const std::vector<TableFile>& level : database.state.levels) {
    for (const TableFile& table : level) {
      const std::string path = database.Path(database.table_names.at(table.number));
      uint64_t bytes;
      SLUICE_RETURN_IF_ERROR(env->GetFileSize(path, &bytes));
      if (bytes != table.bytes) {
        return Status::Corruption(
            fmt::format("{}, offset {}: the file ends here, but the MANIFEST gives it {} bytes",
                        path, bytes, table.bytes));
      }
    }
  }
  return {};
}

}  // namespace

std::string Database::Path(std::string_view name) const { return fmt::format("{}/{}", dir, name); }

Status OpenDatabase(Env* env, const std::string& dir, Database* database) {
  *database = {};
  database->dir = dir;
  std::vector<std::string> names;
  SLUICE_RETURN_IF_ERROR(env->GetChildren(dir, &names));
  SLUICE_RETURN_IF_ERROR(CheckIsLevelDb(dir, names));
  SLUICE_RETURN_IF_ERROR(env->LockFile(database->Path(kLockFile), &database->lock));
  // Only now does nobody else change anything.
  SLUICE_RETURN_IF_ERROR(env->GetChildren(dir, &names));
  SLUICE_RETURN_IF_ERROR(
      ReadCurrent(env, database->Path(kCurrentFile), &database->manifest_number));
  SLUICE_RETURN_IF_ERROR(ReadState(env, database));
  SLUICE_RETURN_IF_ERROR(FindFiles(names, database));
  return CheckSizes(env, *database);
}

}  // namespace sluice
