// What the commands of `sluice db` have in common.

#pragma once

#include <memory>
#include <string>

#include "command.h"
#include "sluice/db.h"
#include "watched_env.h"

namespace sluice::tools {

struct DbArguments {
  std::string dir;
  std::string subtable{kDefaultSubtable};
  bool hex = false;
  bool create = false;
  bool read_only = false;
  std::string executor = "cpu";
  std::string config;
  bool json = false;
};

// DIR, and the options of all commands.
void AddDbArguments(CLI::App* app, DbArguments* arguments);
// --create.
void AddCreateOption(CLI::App* app, DbArguments* arguments);

// --read-only.
void AddReadOnlyOption(CLI::App* app, DbArguments* arguments);

// --from and --to.
struct RangeArguments {
  std::string from;
  std::string to;
};
void AddRangeOptions(CLI::App* app, RangeArguments* range);
// The keys that they spell.
Status RangeBytes(const RangeArguments& range, bool hex, std::string* from, std::string* to);

// An open database and the sub-table that is asked for.
struct OpenDb {
  std::unique_ptr<WatchedEnv> env = std::make_unique<WatchedEnv>();
  std::unique_ptr<DB> db;
  Subtable* subtable = nullptr;
};

enum class Background { kNone, kCompactions };

// Opens the database; creates it and the sub-table if --create says so, else nothing.
Status Open(const DbArguments& arguments, Background background, OpenDb* open);

// What every command's JSON begins with.
Json DbJson(const DbArguments& arguments);
// Closes the database unless `status` is an error; prints `json` if asked. Returns the exit code.
int Finish(const Status& status, const DbArguments& arguments, OpenDb* open, Json json);

// Each adds its commands to `db`.
void AddDbRecordCommands(CLI::App* db, Action* action);
void AddDbUpkeepCommands(CLI::App* db, Action* action);
void AddDbImportCommand(CLI::App* db, Action* action);

}  // namespace sluice::tools
