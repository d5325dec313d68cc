// sluice table verify | dump

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "bytes_text.h"
#include "colour.h"
#include "command.h"
#include "progress.h"
#include "rocksdb_table/format.h"
#include "rocksdb_table/verify.h"
#include "sluice/env.h"
#include "table/dump.h"
#include "table/internal_key.h"
#include "table/verify.h"

namespace sluice::tools {

namespace {

struct TableCommandOptions {
  std::string file;
  bool json = false;
};

// `internal_key` is empty if the table has no entries.
std::string UserKeyText(const std::string& internal_key) {
  return internal_key.size() < kTrailerBytes ? std::string() : BytesToText(UserKey(internal_key));
}

// Whether the file ends as RocksDB's tables do. One that cannot be read does not, and its error shows
// when it is opened as LevelDB's.
bool IsRocksFile(const std::string& path) {
  MappedFile file;
  return Env::Posix()->MapFile(path, &file).ok() && IsRocksTable(file.bytes());
}

int Verify(const TableCommandOptions& options) {
  TableReport report;
  Status status;
  {
    ProgressBar progress("verifying", kBytesUnit);
    const auto verify = IsRocksFile(options.file) ? VerifyRocksTable : VerifyTable;
    status = verify(Env::Posix(), options.file, &report,
                    [&](uint64_t done, uint64_t total) { progress.Update(done, total); });
  }
  Json json;
  json["file"] = options.file;
  json["status"] = "ok";
  json["file_bytes"] = report.file_bytes;
  json["data_blocks"] = report.data_blocks;
  json["compressed_blocks"] = report.compressed_blocks;
  json["entries"] = report.entries;
  json["tombstones"] = report.tombstones;
  json["references"] = report.references;
  json["key_bytes"] = report.key_bytes;
  json["value_bytes"] = report.value_bytes;
  json["smallest"] = UserKeyText(report.smallest);
  json["largest"] = UserKeyText(report.largest);
  json["filter"] = report.filter_name;
  if (!status.ok()) {
    return Fail(status, options.json, std::move(json));
  }
  if (options.json) {
    PrintJson(json);
    return kExitOk;
  }
  Lines lines;
  lines.emplace_back(
      "table", fmt::format("{}: {}", options.file, Coloured(stdout, Colour::kGreen, "sound")));
  lines.emplace_back("bytes", fmt::format("{}", report.file_bytes));
  lines.emplace_back("data blocks", fmt::format("{}, {} of them compressed", report.data_blocks,
                                                report.compressed_blocks));
  lines.emplace_back("entries",
                     fmt::format("{}, {} of them deletions", report.entries, report.tombstones));
  if (report.references != 0) {
    lines.emplace_back("references", fmt::format("{}, to values kept elsewhere: LevelDB has none",
                                                 report.references));
  }
  lines.emplace_back("content", fmt::format("{} bytes of keys, {} bytes of values",
                                            report.key_bytes, report.value_bytes));
  if (report.entries != 0) {
    lines.emplace_back("user keys", fmt::format("\"{}\" to \"{}\"", UserKeyText(report.smallest),
                                                UserKeyText(report.largest)));
  }
  lines.emplace_back("filter", report.filter_name.empty() ? "none" : report.filter_name);
  PrintLines(lines);
  return kExitOk;
}

int Dump(const TableCommandOptions& options) {
  Status status;
  {
    // On a terminal what is printed tells enough.
    std::optional<ProgressBar> progress;
    if (!IsTerminal(stdout)) {
      progress.emplace("printing", "lines");
    }
    uint64_t lines = 0;
    const auto dump = IsRocksFile(options.file) ? DumpRocksTable : DumpTable;
    status = dump(Env::Posix(), options.file, [&](std::string_view line) {
      fmt::print("{}\n", line);
      if (progress) {
        progress->Update(++lines, 0);
      }
    });
  }
  return status.ok() ? kExitOk : Fail(status, /*json=*/false);
}

}  // namespace

void AddTableCommand(CLI::App* app, Action* action) {
  CLI::App* table =
      AddSubcommand(app, "table", "Examine a table file of LevelDB or RocksDB (.ldb, .sst)",
                    "sluice table verify /data/db/000005.ldb\n"
                    "sluice table dump /data/db/000005.ldb");
  auto options = std::make_shared<TableCommandOptions>();

  CLI::App* verify = AddSubcommand(
      table, "verify", "Check everything that can be checked; name the first fault and its offset",
      "sluice table verify /data/db/000005.ldb\n"
      "sluice table verify /data/db/000005.ldb --json");
  verify->add_option("FILE", options->file, "The table")->required();
  AddJsonOption(verify, &options->json);
  verify->callback([options, action] { *action = [options] { return Verify(*options); }; });

  CLI::App* dump = AddSubcommand(
      table, "dump", "Print footer, blocks and entries; continues after a block that is corrupt",
      "sluice table dump /data/db/000005.ldb | less");
  dump->add_option("FILE", options->file, "The table")->required();
  dump->callback([options, action] { *action = [options] { return Dump(*options); }; });
}

}  // namespace sluice::tools
