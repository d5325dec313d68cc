#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "manual/manual.h"

namespace sluice::tools {

namespace {

using Kind = Argument::Kind;

// Puts a backslash before each of `special`; text is about to stand in single quotes.
std::string Escape(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) {
      out += '\\';
    }
    if (c == '\'') {
      out += "'\\'";
    }
    out += c;
  }
  return out;
}

// What completes a value, as _arguments takes it.
std::string Completer(const Argument& argument) {
  std::string words;
  for (const std::string& word : argument.words) {
    words += (words.empty() ? "" : " ") + Escape(word, ":");
  }
  switch (argument.kind) {
    case Kind::kDirectory:
      return "_directories";
    case Kind::kFile:
      return "_files";
    case Kind::kWords:
      return argument.list ? "_sequence compadd - " + words : "(" + words + ")";
    default:
      return " ";
  }
}

// The arguments of _arguments for one argument of ours.
void AddSpecs(const Argument& argument, std::vector<std::string>* specs) {
  const std::string value = Escape(argument.value, ":\\");
  if (argument.positional()) {
    specs->push_back(
        fmt::format("'{}:{}:{}'", argument.required ? "" : ":", value, Completer(argument)));
    return;
  }
  const std::string what = Escape(argument.what, "[]\\");
  for (const std::string& name : argument.names) {
    std::string spec;
    if (argument.repeats) {
      spec = "*";
    } else if (argument.names.size() > 1) {
      spec = fmt::format("({})", fmt::join(argument.names, " "));
    }
    spec += name;
    if (argument.kind != Kind::kNothing) {
      spec += name.starts_with("--") ? "=" : "+";
    }
    spec += "[" + what + "]";
    if (argument.kind != Kind::kNothing) {
      spec += ":" + value + ":" + Completer(argument);
    }
    specs->push_back("'" + spec + "'");
  }
}

std::string FunctionName(const Command& command) { return "_" + command.Name("_"); }

void AddCompletion(const Command& command, std::string* out) {
  std::vector<std::string> specs;
  for (const Argument& argument : command.arguments) {
    AddSpecs(argument, &specs);
  }
  if (command.commands.empty()) {
    *out += fmt::format("{}() {{\n  _arguments \\\n    {}\n}}\n\n", FunctionName(command),
                        fmt::join(specs, " \\\n    "));
    return;
  }
  specs.emplace_back("'1: :->command'");
  specs.emplace_back("'*:: :->arguments'");
  *out += fmt::format(
      "{}() {{\n"
      "  local context curcontext=$curcontext state line ret=1\n"
      "  local -A opt_args\n"
      "  local -a commands=(\n",
      FunctionName(command));
  for (const Command& child : command.commands) {
    *out += fmt::format("    '{}:{}'\n", Escape(child.path.back(), ":"), Escape(child.what, "\\"));
  }
  *out += fmt::format(
      "  )\n"
      "  _arguments -C \\\n    {} && ret=0\n"
      "  case $state in\n"
      "    command) _describe -t commands command commands && ret=0 ;;\n"
      "    arguments)\n"
      "      curcontext=\"${{curcontext%:*:*}}:{}-$words[1]:\"\n"
      "      (( $+functions[{}_$words[1]] )) && {}_$words[1] && ret=0\n"
      "      ;;\n"
      "  esac\n"
      "  return ret\n}}\n\n",
      fmt::join(specs, " \\\n    "), command.Name("-"), FunctionName(command),
      FunctionName(command));
  for (const Command& child : command.commands) {
    AddCompletion(child, out);
  }
}

}  // namespace

std::string ZshCompletion(const Command& sluice) {
  std::string out =
      "#compdef sluice\n# Completion for sluice in zsh. Generated from the command's parser.\n\n";
  AddCompletion(sluice, &out);
  return out + FunctionName(sluice) + " \"$@\"\n";
}

}  // namespace sluice::tools
