// The sluice command. One file per subcommand; exit codes: 0 done, 1 failed, 2 usage.

#include "command_line.h"

int main(int argc, char** argv) {
  return sluice::tools::RunCommandLine(sluice::tools::AddCommands, argc, argv);
}
