#include "simulate/plot.h"

#include <fmt/format.h>

#include <functional>
#include <string_view>
#include <vector>

#include "gnuplot.h"

namespace sluice::simulate {

namespace {

using tools::GnuplotQuote;

double RunsOf(const Sample& sample) { return static_cast<double>(sample.most_runs); }

void AddData(const Report& report, const std::function<double(const Sample&)>& value,
             std::string* data) {
  for (const Sample& sample : report.samples) {
    *data +=
        fmt::format("{} {}\n", static_cast<double>(sample.user_bytes) / (1 << 30), value(sample));
  }
  *data += "e\n";
}

}  // namespace

Status Plot(const Settings& settings, const Report& report, const std::string& path) {
  std::string script = fmt::format(
      "set multiplot layout 3,1 title {}\nset grid\nset key top left\nset yrange [0:*]\n",
      GnuplotQuote(fmt::format("{:.0f} GiB, records of {} B",
                               static_cast<double>(settings.data_bytes) / (1 << 30),
                               settings.record.bytes())));
  const auto panel = [&](std::string_view what, const std::vector<std::string_view>& titles,
                         const std::vector<std::function<double(const Sample&)>>& values) {
    std::string plot;
    std::string data;
    for (size_t i = 0; i < titles.size(); ++i) {
      plot += fmt::format("{} '-' with lines title {}", i == 0 ? "" : ",", GnuplotQuote(titles[i]));
      AddData(report, values[i], &data);
    }
    script += fmt::format("set xlabel 'written, GiB'\nset ylabel {}\nplot{}\n{}",
                          GnuplotQuote(what), plot, data);
  };
  panel("debt", {"levels 0 and 1, of what they may have"},
        {[](const Sample& s) { return s.debt; }});
  panel("runs at a key", {"mean", "most"}, {[](const Sample& s) { return s.mean_runs; }, RunsOf});
  panel("write amplification", {"so far", "just now"},
        {[](const Sample& s) { return s.write_amplification; },
         [](const Sample& s) { return s.recent_write_amplification; }});
  return tools::RunGnuplot(script + "unset multiplot\n", 900, 1000, path);
}

}  // namespace sluice::simulate
