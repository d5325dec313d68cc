#include "command_line.h"

namespace sluice::tools {

void AddCommands(CLI::App* app, Action* action) {
  AddTableCommand(app, action);
  AddCompactCommand(app, action);
  AddBenchCommand(app, action);
  AddDbCommand(app, action);
  AddSimulateCommand(app, action);
  AddUnitCommand(app, action);
}

}  // namespace sluice::tools
