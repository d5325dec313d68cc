#include <fmt/format.h>
#include <fmt/ranges.h>

#include "manual/manual.h"

namespace sluice::tools {

namespace {

using Kind = Argument::Kind;

// Completes from what the two functions before it say of the parser.
constexpr const char* kCompletion = R"bash(
# The candidates for a value that begins with $1: paths, or words (after the last comma of a list).
_sluice_candidates() {
  local begin=$1 done=
  case $values in
    @dir) mapfile -t COMPREPLY < <(compgen -d -- "$begin") ;;
    @file) mapfile -t COMPREPLY < <(compgen -f -- "$begin") ;;
    *)
      if ((list)) && [[ $begin == *,* ]]; then
        done=${begin%,*},
        begin=${begin##*,}
      fi
      mapfile -t COMPREPLY < <(compgen -P "$done" -W "$values" -- "$begin")
      ;;
  esac
  if [[ $values == @* ]]; then
    compopt -o filenames 2>/dev/null
  fi
}

_sluice() {
  local words=() word raw current command=sluice expecting= index=0 strip i
  local commands= options= arguments=() values= list=0
  COMPREPLY=()

  # Bash has split words at = and at colons; but it replaces only what follows the last of them.
  for ((i = 1; i <= COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if ((i > 1)) && [[ $word == [=:] || ${COMP_WORDS[i - 1]} == [=:] ]]; then
      words[${#words[@]} - 1]+=$word
    else
      words+=("$word")
    fi
  done
  current=${words[${#words[@]} - 1]}
  raw=${COMP_WORDS[COMP_CWORD]}
  if [[ $raw == [=:] ]]; then
    raw=
  fi
  strip=${current%"$raw"}

  for word in "${words[@]:0:${#words[@]} - 1}"; do
    if [[ -n $expecting ]]; then
      expecting=
    elif [[ $word == --*=* ]]; then
      continue
    elif [[ $word == -?* ]]; then
      if _sluice_option "$command" "$word"; then
        expecting=$word
      fi
    else
      _sluice_command "$command"
      if [[ " $commands " == *" $word "* ]]; then
        command+=" $word"
      else
        ((++index))
      fi
    fi
  done

  _sluice_command "$command"
  if [[ -n $expecting ]]; then
    _sluice_option "$command" "$expecting"
    _sluice_candidates "$current"
  elif [[ $current == --*=* ]]; then
    if _sluice_option "$command" "${current%%=*}"; then
      _sluice_candidates "${current#*=}"
      COMPREPLY=("${COMPREPLY[@]/#/${current%%=*}=}")
    fi
  elif [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  elif [[ -n $commands ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current")
  else
    values=${arguments[index]-}
    _sluice_candidates "$current"
  fi
  COMPREPLY=("${COMPREPLY[@]#"$strip"}")
}

complete -F _sluice sluice
)bash";

std::string Values(const Argument& argument) {
  return argument.kind == Kind::kDirectory ? "@dir"
         : argument.kind == Kind::kFile    ? "@file"
                                           : fmt::format("{}", fmt::join(argument.words, " "));
}

// What `command` and those below it complete, as cases.
void AddCases(const Command& command, std::string* commands, std::string* options) {
  std::vector<std::string> children;
  children.reserve(command.commands.size());
  for (const Command& child : command.commands) {
    children.push_back(child.path.back());
  }
  std::vector<std::string> names;
  std::vector<std::string> arguments;
  for (const Argument& argument : command.arguments) {
    if (argument.positional()) {
      arguments.push_back("'" + Values(argument) + "'");
    }
    for (const std::string& name : argument.names) {
      if (name.starts_with("--")) {
        names.push_back(name);
      }
      if (argument.kind != Kind::kNothing) {
        *options += fmt::format("    '{} {}') values='{}' list={} ;;\n", command.Name(), name,
                                Values(argument), argument.list ? 1 : 0);
      }
    }
  }
  *commands += fmt::format(
      "    '{}')\n      commands='{}'\n      options='{}'\n      arguments=({})\n      ;;\n",
      command.Name(), fmt::join(children, " "), fmt::join(names, " "), fmt::join(arguments, " "));
  for (const Command& child : command.commands) {
    AddCases(child, commands, options);
  }
}

}  // namespace

std::string BashCompletion(const Command& sluice) {
  std::string commands;
  std::string options;
  AddCases(sluice, &commands, &options);
  return "# Completion for sluice in bash. Generated from the command's parser.\n\n"
         "# What may follow command $1: commands, options, and arguments by their place.\n"
         "_sluice_command() {\n  case $1 in\n" +
         commands +
         "  esac\n}\n\n"
         "# What option $2 of command $1 takes; fails if it takes nothing.\n"
         "_sluice_option() {\n  case \"$1 $2\" in\n" +
         options + "    *) return 1 ;;\n  esac\n}\n" + kCompletion;
}

}  // namespace sluice::tools
