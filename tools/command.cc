#include "command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "colour.h"
#include "device/executors.h"
#include "gnuplot.h"

namespace sluice::tools {

namespace {

// The code as --json's `status` field: "corruption", "io_error".
std::string StatusName(const Status& status) {
  switch (status.code()) {
    case Status::Code::kOk:
      return "ok";
    case Status::Code::kNotFound:
      return "not_found";
    case Status::Code::kCorruption:
      return "corruption";
    case Status::Code::kNotSupported:
      return "not_supported";
    case Status::Code::kInvalidArgument:
      return "invalid_argument";
    case Status::Code::kBusy:
      return "busy";
    case Status::Code::kIoError:
      return "io_error";
    case Status::Code::kNoSpace:
      return "no_space";
    case Status::Code::kDeadlock:
      return "deadlock";
    case Status::Code::kConflict:
      return "conflict";
    case Status::Code::kTimedOut:
      return "timed_out";
    case Status::Code::kTooLarge:
      return "too_large";
    case Status::Code::kCancelled:
      return "cancelled";
  }
  return "failed";
}

std::vector<std::string> PcieLinks() {
  std::vector<std::string> links = {"none"};
  for (int generation = 1; generation <= 5; ++generation) {
    for (const int lanes : {1, 2, 4, 8, 16}) {
      links.push_back(fmt::format("{}x{}", generation, lanes));
    }
  }
  return links;
}

}  // namespace

CLI::App* AddSubcommand(CLI::App* parent, const std::string& name, const std::string& description,
                        const std::string& examples) {
  CLI::App* command = parent->add_subcommand(name, description);
  std::string footer = "Examples:";
  size_t begin = 0;
  while (begin < examples.size()) {
    const size_t end = std::min(examples.find('\n', begin), examples.size());
    footer += "\n  " + examples.substr(begin, end - begin);
    begin = end + 1;
  }
  command->footer(footer);
  return command;
}

CLI::Validator IsConfiguration() {
  std::vector<std::string> configs;
  for (const std::string_view name : RtlConfigurations()) {
    configs.emplace_back(name);
  }
  const CLI::Validator known = CLI::IsMember(configs);
  // Described as what it knows by name, for completion and manual.
  return CLI::Validator(
      [known](std::string& given) {
        const bool card =
            given.find(".xclbin") != std::string::npos || given.find(':') != std::string::npos;
        return card ? std::string() : known(given);
      },
      known.get_description());
}

void AddExecutorOptions(CLI::App* app, std::string* executor, std::string* config,
                        ModelDeviceOptions* model) {
  app->add_option(
         "--executor", *executor,
         "Executor of merges: cpu, rtl (the simulated unit), check (both, compared), model "
         "(the CPU, with the timing of a card), xrt or f2 (a card)")
      ->check(CLI::IsMember({"cpu", "rtl", "check", "model", "xrt", "f2"}))
      ->type_name("NAME")
      ->capture_default_str();
  *config = kDefaultConfiguration;
  app->add_option("--config", *config, kConfigurationText)
      ->check(IsConfiguration())
      ->type_name("NAME")
      ->capture_default_str();
  if (model != nullptr) {
    AddModelOptions(app, model);
  }
}

void AddModelOptions(CLI::App* app, ModelDeviceOptions* model) {
  const auto modelled = [&](const char* name, auto* value, double min, double max, const char* type,
                            const char* what) {
    app->add_option(name, *value, what)
        ->check(CLI::Range(min, max, ""))
        ->type_name(type)
        ->capture_default_str()
        ->group("With --executor model");
  };
  modelled("--clock", &model->clock_mhz, 0.001, 1e6, "MHZ", "Clock of the unit");
  modelled("--dram", &model->memory_gb_per_s, 0, 1e6, "GB/S",
           "Memory bandwidth of the card; 0: as much as the ports can take");
  modelled("--units", &model->units, 1, 64, "N", "Number of busy units that share memory and link");
  app->add_option_function<std::string>(
         "--pcie",
         [model](const std::string& text) {
           if (std::sscanf(text.c_str(), "%1ux%2u", &model->link.generation, &model->link.lanes) !=
               2) {
             model->link.lanes = 0;
           }
         },
         "PCIe generation and lanes; none: transfers take no time")
      ->check(CLI::IsMember(PcieLinks()))
      ->type_name("GENxLANES")
      ->default_str("3x16")
      ->group("With --executor model");
}

void AddPlotOption(CLI::App* app, std::string* path, const std::string& what) {
  app->add_option("--plot", *path, fmt::format("Draw {}, as .svg or .png", what))
      ->check([](const std::string& name) { return CheckPlotName(name).message(); }, "")
      ->type_name("FILE");
}

void AddJsonOption(CLI::App* app, bool* json) {
  app->add_flag("--json", *json, "Print one JSON object and nothing else on stdout");
}

void PrintJson(const Json& object) {
  // Replacing what is not UTF-8: names of files may hold any byte.
  fmt::print("{}\n", object.dump(2, ' ', false, Json::error_handler_t::replace));
}

int Fail(const Status& error, bool json, Json object) {
  return Fail(StatusName(error), error.message(), json, std::move(object));
}

int Fail(const std::string& status, const std::string& message, bool json, Json object) {
  fmt::print(stderr, "{}: {}\n", Coloured(stderr, Colour::kRed, "sluice: " + status), message);
  if (json) {
    object["status"] = status;
    object["error"] = message;
    PrintJson(object);
  }
  return kExitFailed;
}

void PrintLines(const Lines& lines) {
  size_t width = 0;
  for (const auto& [name, value] : lines) {
    width = std::max(width, name.size());
  }
  for (const auto& [name, value] : lines) {
    fmt::print("{:<{}}  {}\n", name, width, value);
  }
}

}  // namespace sluice::tools
