#include "gnuplot.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>

#include "sluice/env.h"
#include "util/files.h"

namespace sluice::tools {

// In double quotes gnuplot knows backslash escapes, in single ones only that a quote is doubled.
std::string GnuplotQuote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c == '\n' ? ' ' : c;
    if (c == '\'') {
      quoted += c;
    }
  }
  return quoted + "'";
}

Status CheckPlotName(const std::string& path) {
  if (!path.ends_with(".svg") && !path.ends_with(".png")) {
    return Status::InvalidArgument(fmt::format("{}: a plot's name ends in .svg or .png", path));
  }
  return ::access(DirName(path).c_str(), W_OK) == 0
             ? Status()
             : Status::FromErrno(fmt::format("{}: no plot can be written there", path), errno);
}

// gnuplot reads the script from a file, and prints the plot: it says nothing of a file that it could
// not write.
Status RunGnuplot(const std::string& script, size_t width, size_t height, const std::string& path) {
  SLUICE_RETURN_IF_ERROR(CheckPlotName(path));
  const std::string head = fmt::format("set terminal {} size {},{} noenhanced\n",
                                       path.ends_with(".svg") ? "svg" : "pngcairo", width, height);
  const std::unique_ptr<FILE, int (*)(FILE*)> input(std::tmpfile(), std::fclose);
  if (input == nullptr || std::fputs((head + script).c_str(), input.get()) < 0 ||
      std::fflush(input.get()) != 0) {
    return Status::FromErrno("a script for gnuplot cannot be written", errno);
  }
  FILE* const gnuplot = popen(fmt::format("gnuplot /dev/fd/{}", fileno(input.get())).c_str(), "r");
  if (gnuplot == nullptr) {
    return Status::IoError("gnuplot cannot be started");
  }
  std::string plot;
  char buffer[1 << 16];
  for (size_t bytes; (bytes = std::fread(buffer, 1, sizeof(buffer), gnuplot)) > 0;) {
    plot.append(buffer, bytes);
  }
  if (pclose(gnuplot) != 0 || plot.empty()) {
    return Status::IoError(fmt::format("{}: gnuplot failed, or is not installed", path));
  }
  const std::string unfinished = path + ".new";
  Status status = WriteFileSynced(Env::Posix(), unfinished, plot);
  if (status.ok()) {
    status = Env::Posix()->RenameFile(unfinished, path);
  }
  if (!status.ok()) {
    (void)Env::Posix()->RemoveFile(unfinished);
  }
  return status;
}

}  // namespace sluice::tools
