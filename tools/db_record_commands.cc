// sluice db get | put | delete | scan | dump

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "bytes_text.h"
#include "colour.h"
#include "db_command.h"
#include "progress.h"

namespace sluice::tools {

namespace {

struct GetArguments {
  DbArguments db;
  std::string key;
};

int Get(const GetArguments& arguments) {
  const DbArguments& common = arguments.db;
  OpenDb open;
  std::string key;
  std::string value;
  Status status = TextToBytes(arguments.key, common.hex, &key);
  if (status.ok()) {
    status = Open(common, Background::kNone, &open);
  }
  if (status.ok()) {
    status = open.db->Get({}, open.subtable, key, &value);
    if (status.IsNotFound()) {
      status = Status::NotFound(fmt::format("{}: no key '{}'", common.dir, arguments.key));
    }
  }
  const std::string text = BytesToText(value, common.hex);
  Json json = DbJson(common);
  json["key"] = BytesToText(key, common.hex);
  json["value"] = text;
  const int code = Finish(status, common, &open, std::move(json));
  if (code == kExitOk && !common.json) {
    fmt::print("{}\n", text);
  }
  return code;
}

struct PutArguments {
  DbArguments db;
  std::string key;
  std::string value;
  bool standard_input = false;
};

// Writes go in batches of about so many bytes.
constexpr size_t kBatchBytes = size_t{1} << 20;

// What there is on stdin; 0 if that is unknown.
uint64_t InputBytes() {
  struct stat input {};
  return fstat(STDIN_FILENO, &input) == 0 && S_ISREG(input.st_mode)
             ? static_cast<uint64_t>(input.st_size)
             : 0;
}

// Lines of a key, a tab and a value, as scan and dump print them.
Status PutLines(const DbArguments& arguments, const OpenDb& open, uint64_t* records) {
  ProgressBar progress("writing", kBytesUnit);
  const uint64_t total = InputBytes();
  uint64_t done = 0;
  WriteBatch batch;
  std::string line;
  std::string key;
  std::string value;
  const auto write = [&](bool last) {
    const Status status = open.db->Write({.sync = last}, batch);
    *records += status.ok() ? batch.count() : 0;
    batch.Clear();
    return status.WithContext(fmt::format("{} records are written", *records));
  };
  for (uint64_t number = 1; std::getline(std::cin, line); ++number) {
    if (std::ferror(stdin) != 0) {
      break;  // of this line there may have been more
    }
    progress.Update(done += line.size() + 1, total);
    const size_t tab = line.find('\t');
    Status status = tab == std::string::npos
                        ? Status::InvalidArgument("not a key, a tab and a value")
                        : TextToBytes(std::string_view(line).substr(0, tab), arguments.hex, &key);
    if (status.ok()) {
      status = TextToBytes(std::string_view(line).substr(tab + 1), arguments.hex, &value);
    }
    if (status.ok() && key.size() > kMaxKeyBytes) {  // the batch would not say which one
      status = Status::InvalidArgument(
          fmt::format("key of {} bytes; the most is {}", key.size(), kMaxKeyBytes));
    }
    if (!status.ok()) {
      return status.WithContext(
          fmt::format("line {} ({} records before it are written)", number, *records));
    }
    batch.Put(open.subtable, key, value);
    if (batch.bytes() >= kBatchBytes) {
      SLUICE_RETURN_IF_ERROR(write(/*last=*/false));
    }
  }
  const bool failed = std::ferror(stdin) != 0;
  const int error = errno;
  SLUICE_RETURN_IF_ERROR(write(/*last=*/true));
  return failed
             ? Status::FromErrno(
                   fmt::format("stdin cannot be read on ({} records are written)", *records), error)
             : Status();
}

int Put(const PutArguments& arguments) {
  const DbArguments& common = arguments.db;
  OpenDb open;
  std::string key;
  std::string value;
  uint64_t records = 0;
  Status status = TextToBytes(arguments.key, common.hex, &key);
  if (status.ok()) {
    status = TextToBytes(arguments.value, common.hex, &value);
  }
  if (status.ok()) {
    status = Open(common, Background::kCompactions, &open);
  }
  if (status.ok() && arguments.standard_input) {
    status = PutLines(common, open, &records);
  } else if (status.ok()) {
    status = open.db->Put({.sync = true}, open.subtable, key, value);
    records = 1;
  }
  Json json = DbJson(common);
  json["records"] = records;
  return Finish(status, common, &open, std::move(json));
}

struct DeleteArguments {
  DbArguments db;
  RangeArguments range;
  std::string key;
  bool one = false;  // or else the range
};

int Delete(const DeleteArguments& arguments) {
  const DbArguments& common = arguments.db;
  OpenDb open;
  std::string key;
  std::string from;
  std::string to;
  Status status = TextToBytes(arguments.key, common.hex, &key);
  if (status.ok()) {
    status = RangeBytes(arguments.range, common.hex, &from, &to);
  }
  if (status.ok()) {
    status = Open(common, Background::kCompactions, &open);
  }
  if (status.ok()) {
    status = arguments.one ? open.db->Delete({.sync = true}, open.subtable, key)
                           : open.db->DeleteRange({.sync = true}, open.subtable, from, to);
  }
  return Finish(status, common, &open, DbJson(common));
}

struct ScanArguments {
  DbArguments db;
  RangeArguments range;
  uint64_t limit = UINT64_MAX;
  bool reverse = false;
  bool keys_only = false;
};

Status PrintRecord(const ScanArguments& arguments, const Iterator& at) {
  const std::string key = BytesToText(at.key(), arguments.db.hex);
  const std::string value = arguments.keys_only ? "" : BytesToText(at.value(), arguments.db.hex);
  SLUICE_RETURN_IF_ERROR(at.status());
  std::string line;
  if (arguments.db.json) {
    Json json{{"key", key}};
    if (!arguments.keys_only) {
      json["value"] = value;
    }
    line = json.dump();
  } else {
    line = arguments.keys_only ? key : key + '\t' + value;
  }
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stdout);
  return {};
}

Status ScanRecords(const ScanArguments& arguments, OpenDb* open) {
  std::string from;
  std::string to;
  SLUICE_RETURN_IF_ERROR(RangeBytes(arguments.range, arguments.db.hex, &from, &to));
  SLUICE_RETURN_IF_ERROR(Open(arguments.db, Background::kNone, open));
  ReadOptions read;
  read.fill_cache = false;
  read.lower_bound = from.empty() ? nullptr : &from;
  read.upper_bound = to.empty() ? nullptr : &to;
  const std::unique_ptr<Iterator> at = open->db->NewIterator(read, open->subtable);
  // On a terminal the records themselves tell enough.
  std::optional<ProgressBar> progress;
  if (!IsTerminal(stdout)) {
    progress.emplace("printing", "records");
  }
  uint64_t left = arguments.limit;
  for (arguments.reverse ? at->SeekToLast() : at->SeekToFirst();
       left > 0 && at->Valid() && std::ferror(stdout) == 0;
       arguments.reverse ? at->Prev() : at->Next()) {
    SLUICE_RETURN_IF_ERROR(PrintRecord(arguments, *at));
    --left;
    if (progress) {
      progress->Update(arguments.limit - left, 0);
    }
  }
  return at->status();
}

int Scan(const ScanArguments& arguments) {
  OpenDb open;
  Status status = ScanRecords(arguments, &open);
  if (status.ok()) {
    status = open.db->Close();
  }
  return status.ok() ? kExitOk : Fail(status, arguments.db.json, DbJson(arguments.db));
}

}  // namespace

void AddDbRecordCommands(CLI::App* db, Action* action) {
  auto get = std::make_shared<GetArguments>();
  CLI::App* app = AddSubcommand(db, "get", "Print the value of a key",
                                "sluice db get /data/db key\n"
                                "sluice db get /data/db 00ff --hex");
  AddDbArguments(app, &get->db);
  AddReadOnlyOption(app, &get->db);
  app->add_option("KEY", get->key, "The key")->required();
  app->callback([get, action] { *action = [get] { return Get(*get); }; });

  auto put = std::make_shared<PutArguments>();
  app = AddSubcommand(db, "put", "Write a record, or all records of a dump",
                      "sluice db put /data/db key value\n"
                      "sluice db put /data/db 'tab\\x09key' value --create\n"
                      "sluice db dump /data/old | sluice db put /data/db --stdin");
  AddDbArguments(app, &put->db);
  AddCreateOption(app, &put->db);
  CLI::Option* const key = app->add_option("KEY", put->key, "The key");
  CLI::Option* const value = app->add_option("VALUE", put->value, "The value");
  CLI::Option* const standard_input =
      app->add_flag("--stdin", put->standard_input, "Read lines from stdin: key, tab, value");
  standard_input->excludes(key);
  app->callback([put, action, value] {
    if (!put->standard_input && value->count() == 0) {
      throw CLI::RequiredError("KEY and VALUE, or --stdin,");
    }
    *action = [put] { return Put(*put); };
  });

  auto remove = std::make_shared<DeleteArguments>();
  app = AddSubcommand(
      db, "delete", "Delete a key, or all keys of a range; deleting a missing key is not an error",
      "sluice db delete /data/db key\n"
      "sluice db delete /data/db --from a --to b");
  AddDbArguments(app, &remove->db);
  CLI::Option* const one = app->add_option("KEY", remove->key, "The key");
  AddRangeOptions(app, &remove->range);
  CLI::Option* const from = app->get_option("--from")->excludes(one);
  CLI::Option* const to = app->get_option("--to")->excludes(one);
  app->callback([remove, action, one, from, to] {
    if (one->count() + from->count() + to->count() == 0) {
      throw CLI::RequiredError("KEY, --from or --to");
    }
    if (one->count() == 0 && remove->range.from.empty() && remove->range.to.empty()) {
      // As an unset variable of a script leaves them.
      throw CLI::ValidationError("--from, --to", "both are empty, which would be all keys");
    }
    remove->one = one->count() != 0;
    *action = [remove] { return Delete(*remove); };
  });

  auto scan = std::make_shared<ScanArguments>();
  app = AddSubcommand(db, "scan",
                      "Print records in key order, one per line: key, tab, value; with --json one "
                      "object per line",
                      "sluice db scan /data/db --from a --to b\n"
                      "sluice db scan /data/db --reverse --limit 10 --keys-only");
  AddDbArguments(app, &scan->db);
  AddReadOnlyOption(app, &scan->db);
  AddRangeOptions(app, &scan->range);
  app->add_option("--limit", scan->limit, "Print at most so many records")->type_name("N");
  app->add_flag("--reverse", scan->reverse, "Print in descending key order");
  app->add_flag("--keys-only", scan->keys_only, "Print keys without values");
  app->callback([scan, action] { *action = [scan] { return Scan(*scan); }; });

  auto dump = std::make_shared<ScanArguments>();
  app = AddSubcommand(db, "dump",
                      "Print all records of a sub-table, in the form that `put --stdin` reads",
                      "sluice db dump /data/db > records\n"
                      "sluice db dump /data/db --json | jq .key");
  AddDbArguments(app, &dump->db);
  AddReadOnlyOption(app, &dump->db);
  app->callback([dump, action] { *action = [dump] { return Scan(*dump); }; });
}

}  // namespace sluice::tools
