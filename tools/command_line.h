// The parser of the whole command line, and how it is run.

#pragma once

#include <CLI/CLI.hpp>
#include <memory>

#include "command.h"

namespace sluice::tools {

// Adds commands to a parser; they set `*action`, which must outlive it, when they are given.
using AddFunction = void (*)(CLI::App* app, Action* action);

// Adds all there are.
void AddCommands(CLI::App* app, Action* action);

std::unique_ptr<CLI::App> MakeCommandLine(AddFunction add, Action* action);
// Parses the command line and does what it says. Returns the exit code.
int RunCommandLine(AddFunction add, int argc, char** argv);

}  // namespace sluice::tools
