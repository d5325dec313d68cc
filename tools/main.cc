// The sluice command. One file per subcommand; exit codes: 0 done, 1 failed, 2 usage.

#include <fcntl.h>
#include <unistd.h>

#include "command_line.h"

namespace {

// Whoever starts a process without standard input or output would have it open a file of a database
// in its place. What is read from, or written to, those that this opens fails, as it would have.
void OccupyStandardDescriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) == -1) {
      (void)::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  OccupyStandardDescriptors();
  return sluice::tools::RunCommandLine(sluice::tools::AddCommands, argc, argv);
}
