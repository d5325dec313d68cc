#include "gnuplot.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>

namespace sluice::tools {

// In double quotes gnuplot knows backslash escapes, in single ones only that a quote is doubled.
std::string GnuplotQuote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c;
    if (c == '\'') {
      quoted += c;
    }
  }
  return quoted + "'";
}

Status CheckPlotName(const std::string& path) {
  return path.ends_with(".svg") || path.ends_with(".png")
             ? Status()
             : Status::InvalidArgument(fmt::format("{}: a plot's name ends in .svg or .png", path));
}

Status RunGnuplot(const std::string& script, size_t width, size_t height, const std::string& path) {
  SLUICE_RETURN_IF_ERROR(CheckPlotName(path));
  const std::string head =
      fmt::format("set terminal {} size {},{} noenhanced\nset output {}\n",
                  path.ends_with(".svg") ? "svg" : "pngcairo", width, height, GnuplotQuote(path));
  // Without gnuplot the pipe breaks, which is to be an error, not the end.
  std::signal(SIGPIPE, SIG_IGN);
  FILE* gnuplot = popen("gnuplot", "w");
  if (gnuplot == nullptr) {
    return Status::IoError("gnuplot cannot be started");
  }
  const bool written = std::fputs((head + script).c_str(), gnuplot) >= 0;
  if (pclose(gnuplot) != 0 || !written) {
    return Status::IoError(fmt::format("{}: gnuplot failed, or is not installed", path));
  }
  return {};
}

}  // namespace sluice::tools
