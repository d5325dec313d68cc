// sluice-demo-NAME: what the demo needs of the sluice command, with one configuration of the unit: to
// be built in a fraction of the time.

#include "command_line.h"

int main(int argc, char** argv) {
  const auto add = [](CLI::App* app, sluice::tools::Action* action) {
    sluice::tools::AddCompactCommand(app, action);
    sluice::tools::AddDbCommand(app, action);
  };
  return sluice::tools::RunCommandLine(add, argc, argv);
}
