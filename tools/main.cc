// The sluice command. One file per subcommand; exit codes: 0 done, 1 failed, 2 usage.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string_view>

#include "command.h"

namespace {

int Main(int argc, char** argv) {
  using namespace sluice::tools;

  CLI::App app(
      "A storage engine, and compactions of LevelDB tables, on the CPU and on the Compaction Unit.",
      "sluice");
  app.set_version_flag("--version", "sluice " SLUICE_VERSION);
  app.footer("`sluice COMMAND --help` tells more, with examples.");
  Action action;
  AddTableCommand(&app, &action);
  AddCompactCommand(&app, &action);
  AddBenchCommand(&app, &action);
  AddDbCommand(&app, &action);
  AddUnitCommand(&app, &action);
  try {
    app.parse(argc, argv);
    if (action == nullptr) {
      throw CLI::RequiredError("A command");
    }
  } catch (const CLI::ParseError& error) {
    // --help and --version arrive here too, with code 0.
    if (app.exit(error) == 0) {
      return kExitOk;
    }
    if (std::find(argv, argv + argc, std::string_view("--json")) != argv + argc) {
      PrintJson({{"status", "usage"}, {"error", error.what()}});
    }
    return kExitUsage;
  }
  const int code = action();
  if (std::fflush(stdout) != 0) {
    std::perror("sluice: stdout");
    return kExitFailed;
  }
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Main(argc, argv);
  } catch (const std::exception& error) {
    // Out of memory, for one; nothing of ours throws.
    std::fprintf(stderr, "sluice: %s\n", error.what());
    return sluice::tools::kExitFailed;
  }
}
