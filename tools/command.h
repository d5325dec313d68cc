// What the commands of `sluice` have in common: how they are added, how they answer, and with
// which exit code.

#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "device/model/model_device.h"
#include "util/status.h"

namespace sluice::tools {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;

// Keeps fields in the order in which they were set.
using Json = nlohmann::ordered_json;

// What to run once the command line is understood; returns the exit code.
using Action = std::function<int()>;

// Each adds one command to `app`, which sets `*action` when it is given.
void AddTableCommand(CLI::App* app, Action* action);
void AddCompactCommand(CLI::App* app, Action* action);
void AddBenchCommand(CLI::App* app, Action* action);
void AddDbCommand(CLI::App* app, Action* action);
void AddSimulateCommand(CLI::App* app, Action* action);
void AddUnitCommand(CLI::App* app, Action* action);
void AddUnitBench(CLI::App* unit, Action* action);
void AddUnitReplay(CLI::App* unit, Action* action);

// A configuration of the unit, or, for a card, an xclbin (MakeXrtDevices) or a PCI address
// (MakeF2Devices).
CLI::Validator IsConfiguration();
inline constexpr const char* kConfigurationText =
    "Configuration of the unit (see `sluice unit list`); for xrt FILE.xclbin[@CARD], for f2 a "
    "PCI address";

// One more subcommand with `examples` (one per line) at the end of its help.
CLI::App* AddSubcommand(CLI::App* parent, const std::string& name, const std::string& description,
                        const std::string& examples);
// --executor and --config, with their defaults and checks, and, unless `model` is null, those of
// the modelled card.
void AddExecutorOptions(CLI::App* app, std::string* executor, std::string* config,
                        ModelDeviceOptions* model);
// --clock, --dram, --units and --pcie.
void AddModelOptions(CLI::App* app, ModelDeviceOptions* model);
// --plot FILE, the picture of `what`; another kind of file is a wrong usage.
void AddPlotOption(CLI::App* app, std::string* path, const std::string& what);
// --json.
void AddJsonOption(CLI::App* app, bool* json);

// Prints the one object of --json.
void PrintJson(const Json& object);
// Ends a command that failed: the error on stderr and, if `json`, `object` with its status and
// error set. Returns kExitFailed.
int Fail(const Status& error, bool json, Json object = {});
int Fail(const std::string& status, const std::string& message, bool json, Json object = {});

// Lines of "name   value", values aligned.
using Lines = std::vector<std::pair<std::string, std::string>>;
void PrintLines(const Lines& lines);

}  // namespace sluice::tools
