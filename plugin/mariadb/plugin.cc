// The plugin: how the server starts and stops the engine, and what can be set.

#include <sluice/db.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "common/units_library.h"
#include "detached.h"
#include "engine.h"
#include "ha_sluice.h"
#include "status_variables.h"
#include "table_options.h"

// The server's: this directory is no database. It is in no header.
void ignore_db_dirs_append(const char* dirname_arg);  // NOLINT

namespace sluice::mariadb {

Engine* engine = nullptr;

namespace {

// In the server's data directory, which is its working directory.
constexpr char kDirectory[] = "#sluice";

my_bool sync_commits = TRUE;
char* checkpoint = nullptr;
ulonglong block_cache_size = 0;
ulonglong row_cache_size = 0;
ulonglong write_buffer_size = 0;
ulonglong transaction_memory_size = 0;
my_bool direct_io = FALSE;
uint compaction_threads = 0;
ulong compression = 0;
char* level_paths = nullptr;
char* executor = nullptr;
char* executor_library = nullptr;
my_bool always_offload = FALSE;

const char* compression_names[] = {"none", "snappy", "lz4", "zstd", nullptr};
TYPELIB compressions = {4, "compressions", compression_names, nullptr};
constexpr Compression kCompressions[] = {Compression::kNone, Compression::kSnappy,
                                         Compression::kLz4, Compression::kZstd};

MYSQL_THDVAR_DOUBLE(lock_wait_timeout, PLUGIN_VAR_RQCMDARG,
                    "Seconds that a statement waits for a row that another transaction has locked",
                    nullptr, nullptr, 50, 0, 1e6, 0);
MYSQL_THDVAR_ULONGLONG(max_transaction_size, PLUGIN_VAR_RQCMDARG,
                       "Limit on the memory of a transaction's writes and locks, in bytes", nullptr,
                       nullptr, 1ULL << 30, 1 << 16, 3ULL << 30, 0);
MYSQL_SYSVAR_BOOL(sync_commits, sync_commits, PLUGIN_VAR_RQCMDARG,
                  "Whether commits survive a loss of power, not only the end of the server",
                  nullptr, nullptr, TRUE);

// Where the variable's new value is checked, so that an error is that of the SET.
int CreateCheckpoint(THD* thd, st_mysql_sys_var* /*variable*/, void* save, st_mysql_value* value) {
  char buffer[FN_REFLEN];
  int length = sizeof(buffer);
  const char* const given = value->val_str(value, buffer, &length);
  const std::string path(given == nullptr ? "" : given, given == nullptr ? 0 : length);
  // A relative path would be one within the server's data directory.
  const Status status = path.starts_with('/')
                            ? engine->db->CreateCheckpoint(path)
                            : Status::InvalidArgument("'" + path + "' is no absolute path");
  if (!status.ok()) {
    my_printf_error(ER_UNKNOWN_ERROR, "Sluice: no checkpoint: %s", MYF(0),
                    status.ToString().c_str());
    return 1;
  }
  *static_cast<const char**>(save) = thd_strmake(thd, path.data(), path.size());
  return 0;
}

MYSQL_SYSVAR_STR(checkpoint, checkpoint,
                 PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_NOCMDOPT | PLUGIN_VAR_MEMALLOC,
                 "Setting it copies the database, as it is, into this new directory",
                 CreateCheckpoint, nullptr, nullptr);
MYSQL_SYSVAR_ULONGLONG(block_cache_size, block_cache_size,
                       PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                       "Bytes for blocks of tables, uncompressed", nullptr, nullptr, 128 << 20, 0,
                       ULONGLONG_MAX, 0);
MYSQL_SYSVAR_ULONGLONG(row_cache_size, row_cache_size, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                       "Bytes for rows and index entries by their keys", nullptr, nullptr, 32 << 20,
                       0, ULONGLONG_MAX, 0);
MYSQL_SYSVAR_ULONGLONG(write_buffer_size, write_buffer_size,
                       PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                       "Bytes for all that is not yet written to tables", nullptr, nullptr,
                       256 << 20, 1 << 20, ULONGLONG_MAX, 0);
MYSQL_SYSVAR_ULONGLONG(transaction_memory_size, transaction_memory_size,
                       PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                       "Limit on the memory of all transactions' writes and locks together, in "
                       "bytes",
                       nullptr, nullptr, 4ULL << 30, 1 << 16, ULONGLONG_MAX, 0);
MYSQL_SYSVAR_BOOL(
    direct_io, direct_io, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
    "Read tables past the page cache, for a block cache that holds what is read often", nullptr,
    nullptr, FALSE);
MYSQL_SYSVAR_UINT(compaction_threads, compaction_threads, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                  "Threads that compact", nullptr, nullptr, 1, 1, 1024, 0);
MYSQL_SYSVAR_ENUM(compression, compression, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                  "How blocks of tables are compressed from now on", nullptr, nullptr, 2,
                  &compressions);
MYSQL_SYSVAR_STR(level_paths, level_paths, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                 "Directories for the data of levels 0, 1 and 2, separated by commas; empty: the "
                 "database's own",
                 nullptr, nullptr, "");
MYSQL_SYSVAR_STR(executor, executor, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                 "What merges for compactions: cpu, or units by name, such as model:fast20x4",
                 nullptr, nullptr, "cpu");
MYSQL_SYSVAR_STR(executor_library, executor_library, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                 "The shared library that has these units; empty: that of the package "
                 "libsluice-units",
                 nullptr, nullptr, "");
MYSQL_SYSVAR_BOOL(always_offload, always_offload, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                  "Give units every merge that they take, not only those for which it pays",
                  nullptr, nullptr, FALSE);

st_mysql_sys_var* system_variables[] = {
    MYSQL_SYSVAR(lock_wait_timeout), MYSQL_SYSVAR(max_transaction_size),
    MYSQL_SYSVAR(sync_commits),      MYSQL_SYSVAR(checkpoint),
    MYSQL_SYSVAR(block_cache_size),  MYSQL_SYSVAR(row_cache_size),
    MYSQL_SYSVAR(write_buffer_size), MYSQL_SYSVAR(transaction_memory_size),
    MYSQL_SYSVAR(direct_io),         MYSQL_SYSVAR(compaction_threads),
    MYSQL_SYSVAR(compression),       MYSQL_SYSVAR(level_paths),
    MYSQL_SYSVAR(executor),          MYSQL_SYSVAR(executor_library),
    MYSQL_SYSVAR(always_offload),    nullptr};

// To drop a table with partitions, the server asks for a handler of each before all else. It asks
// nothing later: it removes its list of them, and goes on with the others where one is not dropped.
handler* MakeHandler(handlerton* hton, TABLE_SHARE* table, MEM_ROOT* root) {
  if (table == nullptr && current_thd != nullptr && DropsWrittenByDetached(current_thd, {})) {
    my_errno = HA_ERR_LOCK_WAIT_TIMEOUT;
    return nullptr;
  }
  return new (root) ha_sluice(hton, table);
}

int DropTableOf(handlerton* /*hton*/, const char* path) {
  Status status = DropTable(current_thd, path);
  if (status.IsNotFound()) {
    // Those that the server knows nothing of, after a crash amid CREATE TABLE. Of others it drops one
    // after the other.
    status = engine->dictionary.DropPartitions(path);
  }
  return status.ok()                            ? 0
         : status.IsNotFound()                  ? HA_ERR_NO_SUCH_TABLE
         : status.code() == Status::Code::kBusy ? HA_ERR_LOCK_WAIT_TIMEOUT
                                                : HA_ERR_INTERNAL_ERROR;
}

bool ShowStatus(handlerton* /*hton*/, THD* thd, stat_print_fn* print, enum ha_stat_type type) {
  if (type != HA_ENGINE_STATUS) {
    return false;
  }
  std::string text = engine->db->GetStatistics().ToString();
  const std::lock_guard guard(engine->deadlock_mutex);
  if (!engine->last_deadlock.empty()) {
    text += "Last deadlock: " + engine->last_deadlock + "\n";
  }
  return print(thd, STRING_WITH_LEN("SLUICE"), STRING_WITH_LEN(""), text.data(), text.size());
}

// After a crash in an ALTER TABLE: 0 if the engine has done its part.
int CheckVersion(handlerton* /*hton*/, const char* path, const LEX_CUSTRING* version,
                 ulonglong /*before*/) {
  std::vector<TableEntry> found(1);
  Status status = engine->dictionary.Find(path, &found.front());
  if (status.IsNotFound()) {
    status = engine->dictionary.FindAll(PartitionPrefix(path), &found);
  }
  const bool done =
      status.ok() && (found.empty() || found.front().version == DefinitionVersion(*version));
  return done ? 0 : 1;
}

bool HasFile(const std::string& table, const char* extension) {
  return access((table + extension).c_str(), F_OK) == 0;
}

// The server drops a table's list of partitions first. After a crash behind that it has none that it
// could drop, and removes the table's definition.
Status FindUnlisted(Dictionary* dictionary, std::vector<std::string>* tables) {
  SLUICE_RETURN_IF_ERROR(dictionary->ListPartitioned(tables));
  std::erase_if(*tables, [](const std::string& table) {
    return HasFile(table, kPartitionList) || !HasFile(table, kDefinition);
  });
  return {};
}

// That a file is missing does not tell that the table was to be dropped: that its definition is gone now
// does.
int DropUnlisted(handlerton* /*hton*/) {
  for (const std::string& table : engine->unlisted) {
    if (HasFile(table, kDefinition)) {
      continue;
    }
    const Status status = engine->dictionary.DropPartitions(table);
    if (!status.ok() && !status.IsNotFound()) {
      sql_print_error("Sluice: cannot drop the partitions of %s, which is dropped: %s",
                      table.c_str(), status.ToString().c_str());
    }
  }
  return 0;
}

// Without the units that are asked for the engine does not start: compactions would take the CPU that
// the administrator believes to have spared.
Status OpenUnits(std::vector<std::shared_ptr<Executor>>* units) {
  // They are beside the engine's own library.
  const Status status = plugin::OpenUnitsOf(executor_library, executor,
                                            reinterpret_cast<const void*>(&DB::Open), units);
  if (!status.ok()) {
    sql_print_error(
        "Sluice: sluice_executor=%s: %s. Install the package libsluice-units, name a library that "
        "has these units in sluice_executor_library, or have the CPU merge: sluice_executor=cpu",
        executor, status.ToString().c_str());
  }
  return status;
}

Status ParseLevelPaths(std::string_view text, std::vector<std::string>* paths) {
  for (size_t end = 0; !text.empty() && end != std::string_view::npos;) {
    end = text.find(',');
    const std::string& path = paths->emplace_back(text.substr(0, end));
    // In the data directory it would be a database of the server's.
    if (!path.empty() && !path.starts_with('/')) {
      return Status::InvalidArgument("sluice_level_paths: '" + path + "' is no absolute path");
    }
    text.remove_prefix(end == std::string_view::npos ? 0 : end + 1);
  }
  return {};
}

int Start(void* plugin) {
  ignore_db_dirs_append(kDirectory);
  Options options;
  options.create_if_missing = true;
  options.block_cache_bytes = block_cache_size;
  options.row_cache_bytes = row_cache_size;
  options.write_buffer_bytes = write_buffer_size;
  options.transaction_memory_bytes = transaction_memory_size;
  options.direct_io = direct_io != FALSE;
  options.compaction_threads = compaction_threads;
  options.compression = kCompressions[compression];
  options.always_offload = always_offload != FALSE;
  if (!OpenUnits(&options.executors).ok()) {
    return 1;
  }
  auto opened = std::make_unique<Engine>();
  Status status = ParseLevelPaths(level_paths, &options.level_paths);
  if (status.ok()) {
    status = DB::Open(options, kDirectory, &opened->db);
  }
  if (status.ok()) {
    status = opened->dictionary.Open(opened->db.get(), "./");
  }
  if (status.ok()) {
    // Before the server's recovery, which takes what has happened from the lists.
    status = opened->dictionary.TakeBackRenames(
        [](const std::string& table) { return HasFile(table, kPartitionList); });
  }
  if (status.ok()) {
    status = FindUnlisted(&opened->dictionary, &opened->unlisted);
  }
  if (!status.ok()) {
    sql_print_error("Sluice: cannot open its database: %s", status.ToString().c_str());
    return 1;
  }
  opened->hton = static_cast<handlerton*>(plugin);
  handlerton* const hton = opened->hton;
  hton->create = MakeHandler;
  hton->drop_table = DropTableOf;
  hton->check_version = CheckVersion;
  hton->signal_ddl_recovery_done = DropUnlisted;
  hton->show_status = ShowStatus;
  hton->flags = HTON_SUPPORTS_EXTENDED_KEYS;
  hton->table_options = storage_options;
  hton->index_options = storage_options;
  static const char* no_files[] = {NullS};
  hton->tablefile_extensions = no_files;
  SetTransactionFunctions(hton);
  engine = opened.release();
  return 0;
}

int Stop(void* /*plugin*/) {
  const Status status = engine->db->Close();
  if (!status.ok()) {
    sql_print_error("Sluice: closing its database: %s", status.ToString().c_str());
  }
  delete engine;
  engine = nullptr;
  return 0;
}

st_mysql_storage_engine storage_engine = {MYSQL_HANDLERTON_INTERFACE_VERSION};

}  // namespace

uint64_t DefinitionVersion(const LEX_CUSTRING& uuid) {
  uint64_t version = 0;
  std::memcpy(&version, uuid.str, std::min(sizeof(version), uuid.length));
  return version;
}

bool SyncCommits() { return sync_commits != FALSE; }
double LockWaitSeconds(THD* thd) { return THDVAR(thd, lock_wait_timeout); }
size_t MaxTransactionBytes(THD* thd) { return THDVAR(thd, max_transaction_size); }

}  // namespace sluice::mariadb

maria_declare_plugin(sluice){
    MYSQL_STORAGE_ENGINE_PLUGIN,
    &sluice::mariadb::storage_engine,
    "SLUICE",
    "Sluice",
    "LSM trees, with transactions and row locks",
    PLUGIN_LICENSE_GPL,
    sluice::mariadb::Start,
    sluice::mariadb::Stop,
    0x0001,
    sluice::mariadb::status_variables,
    sluice::mariadb::system_variables,
    "0.1",
    MariaDB_PLUGIN_MATURITY_EXPERIMENTAL,
} maria_declare_plugin_end;
