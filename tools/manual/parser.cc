#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <sstream>

#include "manual/manual.h"

namespace sluice::tools {

namespace {

constexpr const char* kExamples = "Examples:\n";

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) {
    parts.push_back(part);
  }
  return parts;
}

// A validator that checks for membership is described as "{a,b,c}".
std::vector<std::string> Words(const std::string& type) {
  const size_t begin = type.find(":{");
  if (begin == std::string::npos || type.back() != '}') {
    return {};
  }
  return Split(type.substr(begin + 2, type.size() - begin - 3), ',');
}

bool IsAny(const std::string& name, const Argument& argument, const CLI::Option& option) {
  return argument.value == name || option.get_name() == name;
}

Argument ReadOption(const CLI::Option& option) {
  Argument argument;
  for (const std::string& name : option.get_snames()) {
    argument.names.push_back("-" + name);
  }
  for (const std::string& name : option.get_lnames()) {
    argument.names.push_back("--" + name);
  }
  argument.group = option.get_group();
  argument.what = option.get_description();
  argument.required = option.get_required();
  if (option.get_expected_min() == 0) {  // a flag
    return argument;
  }
  const std::string type = option.get_type_name();
  argument.value = type.substr(0, type.find(':'));
  argument.words = Words(type);
  argument.kind = !argument.words.empty()           ? Argument::Kind::kWords
                  : IsAny("DIR", argument, option)  ? Argument::Kind::kDirectory
                  : IsAny("FILE", argument, option) ? Argument::Kind::kFile
                                                    : Argument::Kind::kFree;
  if (argument.positional()) {
    argument.value = option.get_name();
  }
  argument.list = option.get_delimiter() == ',';
  argument.repeats =
      !argument.list && option.get_items_expected_max() >= CLI::detail::expected_max_vector_size;
  argument.initial = option.get_default_str();
  if (argument.initial == "\"\"") {
    argument.initial.clear();
  } else if (argument.initial.starts_with('[')) {
    const auto items = Split(argument.initial.substr(1, argument.initial.size() - 2), ',');
    argument.initial = fmt::format("{}", fmt::join(items, ", "));
  }
  return argument;
}

Command ReadCommand(const CLI::App& app, std::vector<std::string> path) {
  Command command;
  path.push_back(app.get_name());
  command.path = std::move(path);
  command.what = app.get_description();
  const std::string footer = app.get_footer();
  const size_t examples = footer.find(kExamples);
  command.notes = footer.substr(0, examples);
  if (examples != std::string::npos) {
    for (const std::string& line : Split(footer.substr(examples + std::strlen(kExamples)), '\n')) {
      command.examples.push_back(line.substr(line.find_first_not_of(' ')));
    }
  }
  for (const CLI::Option* const option : app.get_options()) {
    command.arguments.push_back(ReadOption(*option));
  }
  for (const CLI::App* const child : app.get_subcommands([](const CLI::App*) { return true; })) {
    command.commands.push_back(ReadCommand(*child, command.path));
    if (examples == std::string::npos) {
      command.examples.push_back(command.commands.back().examples.front());
    }
  }
  return command;
}

}  // namespace

std::string Command::Name(const std::string& separator) const {
  return fmt::format("{}", fmt::join(path, separator));
}

Command ReadParser(const CLI::App& app) { return ReadCommand(app, {}); }

}  // namespace sluice::tools
