// Writes manual pages and completion of the command into directories that are there:
//
//   sluice-manual DATE DIR    DIR/sluice.1, DIR/sluice-db.1, ..., DIR/sluice.bash, DIR/_sluice
//
// DATE stands in the pages.

#include <cstdio>
#include <exception>
#include <fstream>

#include "command_line.h"
#include "manual/manual.h"

namespace {

bool Store(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) {
    std::fprintf(stderr, "sluice-manual: %s: cannot be written\n", path.c_str());
  }
  return bool(file);
}

int Main(int argc, char** argv) {
  using namespace sluice::tools;
  if (argc != 3) {
    std::fprintf(stderr, "usage: sluice-manual DATE DIR\n");
    return kExitUsage;
  }
  const std::string directory = std::string(argv[2]) + "/";
  Action action;
  const Command sluice = ReadParser(*MakeCommandLine(AddCommands, &action));
  bool stored = Store(directory + "sluice.bash", BashCompletion(sluice)) &&
                Store(directory + "_sluice", ZshCompletion(sluice));
  for (const Page& page : ManPages(sluice, SLUICE_VERSION, argv[1])) {
    stored = stored && Store(directory + page.name, page.text);
  }
  return stored ? kExitOk : kExitFailed;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sluice-manual: %s\n", error.what());
    return sluice::tools::kExitFailed;
  }
}
