// What is written for people and shells about the command, from its parser alone: manual pages, and
// completion for bash and zsh.

#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace sluice::tools {

// An option, or an argument that is known by its place.
struct Argument {
  // What it takes; kNothing for a flag.
  enum class Kind { kNothing, kFree, kWords, kDirectory, kFile };

  std::vector<std::string> names;  // "-h", "--help"; none of a positional one
  std::string value;               // what its value is called: "N", "DIR"
  Kind kind = Kind::kNothing;
  std::vector<std::string> words;  // of kWords: all that it takes
  bool list = false;               // takes several, separated by commas
  bool repeats = false;            // may be given more than once
  bool required = false;
  std::string initial;  // the default, if there is one
  std::string group;    // heading in --help
  std::string what;     // description

  bool positional() const { return names.empty(); }
  bool operator==(const Argument&) const = default;
};

struct Command {
  std::vector<std::string> path;  // "sluice", "db", "get"
  std::string what;
  std::string notes;                  // what --help says below the options
  std::vector<std::string> examples;  // command lines
  std::vector<Argument> arguments;
  std::vector<Command> commands;

  // "sluice db get", or with another separator.
  std::string Name(const std::string& separator = " ") const;
};

// An argument of a type or name DIR or FILE is a path.
Command ReadParser(const CLI::App& app);

struct Page {
  std::string name;  // of the file: "sluice-db.1"
  std::string text;
};

// One of the whole, and one of each of its commands.
std::vector<Page> ManPages(const Command& sluice, const std::string& version,
                           const std::string& date);
std::string BashCompletion(const Command& sluice);
std::string ZshCompletion(const Command& sluice);

}  // namespace sluice::tools
