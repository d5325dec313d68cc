#include "db_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "bytes_text.h"
#include "device/executors.h"
#include "progress.h"
#include "sluice/env.h"

namespace sluice::tools {

namespace {

// A simulated unit takes seconds for the default: smaller tasks show that it moves.
constexpr uint64_t kSimulatedTaskBytes = uint64_t{4} << 20;

// A merge that a unit failed is done all the same: worth a word, no more.
class FailurePrinter : public EventListener {
 public:
  void OnOffloadFailure(const OffloadFailureEvent& event) override {
    fmt::print(stderr, "sluice: done by the CPU, after {} failed: {}\n", event.device,
               event.reason);
  }
};

// Says what a directory is that cannot be opened.
Status CheckDirectory(const DbArguments& arguments) {
  std::string current;
  const Status status = Env::Posix()->ReadFile(arguments.dir + "/CURRENT", &current);
  if (status.IsNotFound()) {
    return arguments.create || Env::Posix()->FileExists(arguments.dir + "/IDENTITY").ok()
               ? Status()
               : Status::NotFound(fmt::format("{}: no database of Sluice; put and import-leveldb "
                                              "make one with --create",
                                              arguments.dir));
  }
  if (status.ok() && current.starts_with("MANIFEST-")) {
    if (Env::Posix()->FileExists(arguments.dir + "/IDENTITY").ok()) {
      return Status::NotSupported(fmt::format("{}: a RocksDB database", arguments.dir));
    }
    return Status::InvalidArgument(
        fmt::format("{}: a LevelDB database; `sluice db import-leveldb {} NEW --create` adopts it",
                    arguments.dir, arguments.dir));
  }
  return status;
}

}  // namespace

void AddDbArguments(CLI::App* app, DbArguments* arguments) {
  app->add_option("DIR", arguments->dir, "The database's directory")->required();
  app->add_option("--subtable", arguments->subtable, "Name of the sub-table")
      ->type_name("NAME")
      ->capture_default_str();
  app->add_flag("--hex", arguments->hex,
                "Keys and values in hex; otherwise, bytes that are not printable appear as \\xNN");
  AddExecutorOptions(app, &arguments->executor, &arguments->config, nullptr);
  AddJsonOption(app, &arguments->json);
}

void AddCreateOption(CLI::App* app, DbArguments* arguments) {
  app->add_flag("--create", arguments->create,
                "Create the database and the sub-table if they do not exist");
}

void AddReadOnlyOption(CLI::App* app, DbArguments* arguments) {
  app->add_flag(
      "--read-only", arguments->read_only,
      "Write nothing at all, not even what recovery would; works on a full device and on a "
      "file system mounted read-only");
}

void AddRangeOptions(CLI::App* app, RangeArguments* range) {
  app->add_option("--from", range->from, "First key")->type_name("KEY");
  app->add_option("--to", range->to, "Stop before this key")->type_name("KEY");
}

Status RangeBytes(const RangeArguments& range, bool hex, std::string* from, std::string* to) {
  SLUICE_RETURN_IF_ERROR(TextToBytes(range.from, hex, from));
  return TextToBytes(range.to, hex, to);
}

Status Open(const DbArguments& arguments, Background background, OpenDb* open) {
  SLUICE_RETURN_IF_ERROR(CheckDirectory(arguments));
  Options options;
  options.create_if_missing = arguments.create;
  options.read_only = arguments.read_only;
  options.automatic_compactions = background == Background::kCompactions;
  SLUICE_RETURN_IF_ERROR(MakeUnits(arguments.executor, arguments.config, {}, &options.executors));
  options.always_offload = true;  // who names units is to see them merge
  options.listeners.push_back(std::make_shared<FailurePrinter>());
  if (arguments.executor != "cpu") {
    options.task_bytes = kSimulatedTaskBytes;
  }
  options.env = open->env.get();
  {
    const PolledProgress progress("opening");  // the log may be long
    SLUICE_RETURN_IF_ERROR(DB::Open(options, arguments.dir, &open->db));
  }
  open->subtable = open->db->FindSubtable(arguments.subtable);
  if (open->subtable == nullptr && arguments.create) {
    return open->db->CreateSubtable(arguments.subtable, &open->subtable);
  }
  if (open->subtable == nullptr) {
    std::vector<std::string> names;
    for (const Subtable* const subtable : open->db->ListSubtables()) {
      names.push_back(subtable->name());
    }
    return Status::NotFound(fmt::format("{}: no sub-table '{}'; there are: {}", arguments.dir,
                                        arguments.subtable, fmt::join(names, ", ")));
  }
  return {};
}

Json DbJson(const DbArguments& arguments) {
  Json json;
  json["database"] = arguments.dir;
  json["subtable"] = arguments.subtable;
  json["status"] = "ok";
  return json;
}

int Finish(const Status& status, const DbArguments& arguments, OpenDb* open, Json json) {
  Status closed = status;
  if (closed.ok() && open->db != nullptr) {
    const PolledProgress progress("closing");  // a unit's job may be under way
    closed = open->db->Close();
  }
  if (!closed.ok()) {
    return Fail(closed, arguments.json, DbJson(arguments));
  }
  if (arguments.json) {
    PrintJson(json);
  }
  return kExitOk;
}

void AddDbCommand(CLI::App* app, Action* action) {
  CLI::App* db = AddSubcommand(app, "db", "Use a database of the storage engine",
                               "sluice db import-leveldb /data/leveldb /data/db --create\n"
                               "sluice db stats /data/db\n"
                               "sluice db put /data/db key value\n"
                               "sluice db scan /data/db --from a --to b --limit 10");
  AddDbRecordCommands(db, action);
  AddDbUpkeepCommands(db, action);
  AddDbImportCommand(db, action);
}

}  // namespace sluice::tools
