#include "command_line.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string_view>

#include "colour.h"

namespace sluice::tools {

namespace {

// CLI11 takes -5 for 2^64 - 5, and nothing for 0.
void RefuseOddCounts(CLI::App* app) {
  const CLI::Validator odd(
      [](const std::string& text) {
        if (text.empty()) {
          return std::string("an empty number");
        }
        return text.starts_with('-') ? "a negative number: " + text : std::string();
      },
      "");
  for (CLI::Option* const option : app->get_options()) {
    const std::string type = option->get_type_name();
    if (type.starts_with("UINT") || type == "N" || type == "SECONDS") {
      option->transform(odd);  // before any other check
    }
  }
  for (CLI::App* const command : app->get_subcommands({})) {
    RefuseOddCounts(command);
  }
}

int Run(AddFunction add, int argc, char** argv) {
  Action action;
  const std::unique_ptr<CLI::App> app = MakeCommandLine(add, &action);
  try {
    app->parse(argc, argv);
    if (action == nullptr) {
      throw CLI::RequiredError("A command");
    }
  } catch (const CLI::ParseError& error) {
    // --help and --version arrive here too, with code 0.
    if (app->exit(error) == 0) {
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
  if (std::ferror(stdout) != 0) {  // an earlier write failed, and what it had is not written again
    std::fputs("sluice: stdout: not all of the output could be written\n", stderr);
    return kExitFailed;
  }
  return code;
}

}  // namespace

std::unique_ptr<CLI::App> MakeCommandLine(AddFunction add, Action* action) {
  auto app = std::make_unique<CLI::App>(
      "An LSM storage engine that offloads its compactions, and tools for LevelDB databases and "
      "for "
      "the simulated Compaction Unit.",
      "sluice");
  app->set_version_flag("--version", "sluice " SLUICE_VERSION);
  app->footer("`sluice COMMAND --help` tells more, with examples.");
  add(app.get(), action);
  RefuseOddCounts(app.get());
  app->failure_message([](const CLI::App* parser, const CLI::Error& error) {
    const std::string text = CLI::FailureMessage::simple(parser, error);
    const size_t end = std::min(text.find('\n'), text.size());
    return Coloured(stderr, Colour::kRed, text.substr(0, end)) + text.substr(end);
  });
  return app;
}

int RunCommandLine(AddFunction add, int argc, char** argv) {
  try {
    return Run(add, argc, argv);
  } catch (const std::exception& error) {
    // Out of memory, for one; nothing of ours throws.
    std::fprintf(stderr, "sluice: %s\n", error.what());
    return kExitFailed;
  }
}

}  // namespace sluice::tools
