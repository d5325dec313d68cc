#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "manual/manual.h"

namespace sluice::tools {

namespace {

// What an environment variable does, and the exit codes (command.h), no parser knows.
constexpr std::pair<const char*, const char*> kEnvironment[] = {
    {"NO_COLOR",
     "If set and not empty, nothing is coloured. Colours are for terminals in any case."},
    {"SLUICE_PROGRESS_DELAY",
     "Seconds after which progress is shown, if standard error is a terminal; 1 unless set."},
    {"TMPDIR", "Where sluice bench puts its databases, unless --db says otherwise."},
};
constexpr std::pair<int, const char*> kExitCodes[] = {
    {0, "Done."}, {1, "Failed; standard error says why."}, {2, "Wrong usage."}};

// Text of one line, so that roff takes each character as it is.
std::string Escape(std::string_view text) {
  std::string out = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (const char c : text) {
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";
        break;
      case '`':
        out += "\\(ga";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '^':
        out += "\\(ha";
        break;
      case '~':
        out += "\\(ti";
        break;
      case '"':
        out += "\\(dq";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string Bold(std::string_view text) { return "\\fB" + Escape(text) + "\\fR"; }
std::string Italic(std::string_view text) { return "\\fI" + Escape(text) + "\\fR"; }

// A paragraph in lines that an editor can show.
std::string Filled(const std::string& text) {
  std::string out;
  std::string line;
  std::istringstream in(text);
  for (std::string word; in >> word;) {
    if (line.size() + word.size() > 76) {
      out += Escape(line) + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line.empty() ? out : out + Escape(line) + "\n";
}

// Lines as they are.
std::string Verbatim(const std::vector<std::string>& lines) {
  std::string out = ".nf\n";
  for (const std::string& line : lines) {
    out += (line.empty() ? "\\&" : Escape(line)) + "\n";
  }
  return out + ".fi\n";
}

// "--runs N", in bold and italics.
std::string Form(const Argument& argument) {
  std::string form;
  for (const std::string& name : argument.names) {
    form += (form.empty() ? "" : ", ") + Bold(name);
  }
  if (argument.kind != Argument::Kind::kNothing) {
    form += (form.empty() ? "" : " ") + Italic(argument.value);
  }
  return form;
}

bool IsHelp(const Argument& argument) {
  return std::find(argument.names.begin(), argument.names.end(), "--help") != argument.names.end();
}

// ".TP" and what follows it.
std::string Item(const Argument& argument) {
  std::string out = ".TP\n" + Form(argument) + "\n" + Filled(argument.what + ".");
  if (argument.kind == Argument::Kind::kWords) {
    std::string words;
    for (const std::string& word : argument.words) {
      words += (words.empty() ? "" : ", ") + word;
    }
    out += Filled((argument.list ? "Some, separated by commas, of: " : "One of: ") + words + ".");
  } else if (argument.list) {
    out += "Several are separated by commas.\n";
  }
  if (argument.repeats) {
    out += "May be given more than once.\n";
  }
  if (!argument.initial.empty()) {
    out += Filled("Default: " + argument.initial + ".");
  }
  return out;
}

std::string Synopsis(const Command& command) {
  std::string out = ".HP\n" + Bold(command.Name()) + "\n";
  if (!command.commands.empty()) {
    return out + Italic("COMMAND") + " ...\n";
  }
  for (const bool positional : {true, false}) {
    for (const Argument& argument : command.arguments) {
      if (argument.positional() == positional && !IsHelp(argument)) {
        const std::string form = Form(argument) + (argument.repeats ? " ..." : "");
        out += (argument.required ? form : "[" + form + "]") + "\n";
      }
    }
  }
  return out;
}

void AddNotes(const Command& command, std::string* out) {
  if (command.notes.empty()) {
    return;
  }
  std::istringstream in(command.notes);
  std::vector<std::string> table;
  const auto end_table = [&] {
    *out += table.empty() ? "" : Verbatim(table);
    table.clear();
  };
  bool paragraph = true;  // a new one is due
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) {
      end_table();
      paragraph = true;
      continue;
    }
    if (paragraph) {
      *out += ".PP\n";
      paragraph = false;
    }
    if (line.starts_with("  ")) {
      table.push_back(line);
    } else {
      end_table();
      *out += Filled(line);
    }
  }
  end_table();
}

// The options that stand in each of `commands` that has one of their name, alike, and in two at
// least: told once for all of them.
std::vector<Argument> CommonOptions(const std::vector<Command>& commands) {
  std::vector<Argument> common;
  for (const Command& command : commands) {
    for (const Argument& argument : command.arguments) {
      size_t alike = 0;
      size_t other = 0;
      for (const Command& second : commands) {
        for (const Argument& candidate : second.arguments) {
          alike += candidate == argument ? 1 : 0;
          other += candidate != argument && candidate.names == argument.names ? 1 : 0;
        }
      }
      if (!argument.positional() && alike > 1 && other == 0 &&
          std::find(common.begin(), common.end(), argument) == common.end()) {
        common.push_back(argument);
      }
    }
  }
  return common;
}

void AddItems(const Command& command, const std::vector<Argument>& without, std::string* out) {
  std::string group;
  for (const bool positional : {true, false}) {
    for (const Argument& argument : command.arguments) {
      if (argument.positional() != positional ||
          std::find(without.begin(), without.end(), argument) != without.end()) {
        continue;
      }
      if (!positional && argument.group != "Options" && argument.group != group) {
        group = argument.group;
        *out += ".SS " + Escape(group) + "\n";
      }
      *out += Item(argument);
    }
  }
}

std::string Head(const Command& command, const std::string& version, const std::string& date) {
  std::string title = command.Name("\\-");
  std::transform(title.begin(), title.end(), title.begin(), ::toupper);
  const std::string sentence = command.what.substr(0, command.what.find(". "));
  return fmt::format(
      ".\\\" Generated from the command's parser.\n"
      ".TH {} 1 {} \"Sluice {}\" \"Sluice Manual\"\n.ad l\n.nh\n.SH NAME\n{} \\- {}\n.SH "
      "SYNOPSIS\n",
      title, date, version, Escape(command.Name("-")),
      Escape(sentence.ends_with('.') ? sentence.substr(0, sentence.size() - 1) : sentence));
}

std::string Sentence(const std::string& text) {
  return Filled(text.ends_with('.') ? text : text + ".");
}

std::string Tail(const Command& command, const std::vector<std::string>& see_also) {
  std::string out = ".SH EXIT STATUS\n";
  for (const auto& [code, what] : kExitCodes) {
    out += fmt::format(".TP\n.B {}\n{}", code, Filled(what));
  }
  out += ".SH ENVIRONMENT\n";
  for (const auto& [name, what] : kEnvironment) {
    out += fmt::format(".TP\n.B {}\n{}", name, Filled(what));
  }
  if (!command.examples.empty()) {
    out += ".SH EXAMPLES\n" + Verbatim(command.examples);
  }
  out += ".SH SEE ALSO\n";
  for (size_t i = 0; i < see_also.size(); ++i) {
    out += fmt::format(".BR {} (1){}\n", Escape(see_also[i]), i + 1 < see_also.size() ? "," : "");
  }
  return out;
}

std::string TopPage(const Command& sluice) {
  std::string out =
      Synopsis(sluice) + ".SH DESCRIPTION\n" + Sentence(sluice.what) + ".SH COMMANDS\n";
  for (const Command& command : sluice.commands) {
    out += fmt::format(".TP\n.BR {} (1)\n{}", Escape(command.Name("-")), Sentence(command.what));
    std::string names;
    for (const Command& child : command.commands) {
      names += (names.empty() ? "" : ", ") + child.path.back();
    }
    out += names.empty() ? "" : Filled("Its commands: " + names + ".");
  }
  out += ".SH OPTIONS\n";
  AddItems(sluice, {}, &out);
  return out;
}

std::string CommandPage(const Command& command) {
  std::string out;
  if (command.commands.empty()) {
    out = Synopsis(command) + ".SH DESCRIPTION\n" + Sentence(command.what);
    AddNotes(command, &out);
    out += ".SH OPTIONS\n";
    AddItems(command, {}, &out);
    return out;
  }
  for (const Command& child : command.commands) {
    out += Synopsis(child);
  }
  out += ".SH DESCRIPTION\n" + Sentence(command.what) + ".SH COMMANDS\n";
  const std::vector<Argument> common = CommonOptions(command.commands);
  for (const Command& child : command.commands) {
    out += ".SS " + Escape(child.Name()) + "\n" + Sentence(child.what);
    AddItems(child, common, &out);
    AddNotes(child, &out);
    out += ".PP\n" + std::string(child.examples.size() > 1 ? "Examples:\n" : "Example:\n") +
           ".PP\n" + Verbatim(child.examples);
  }
  out += ".SH OPTIONS\nOf those commands whose synopsis has them:\n";
  for (const Argument& argument : common) {
    out += Item(argument);
  }
  return out;
}

}  // namespace

std::vector<Page> ManPages(const Command& sluice, const std::string& version,
                           const std::string& date) {
  std::vector<std::string> names;
  names.reserve(sluice.commands.size());
  for (const Command& command : sluice.commands) {
    names.push_back(command.Name("-"));
  }
  std::vector<Page> pages = {
      {"sluice.1", Head(sluice, version, date) + TopPage(sluice) + Tail(sluice, names)}};
  for (const Command& command : sluice.commands) {
    std::vector<std::string> others = {sluice.Name()};
    std::copy_if(names.begin(), names.end(), std::back_inserter(others),
                 [&](const std::string& name) { return name != command.Name("-"); });
    pages.push_back({command.Name("-") + ".1",
                     Head(command, version, date) + CommandPage(command) + Tail(command, others)});
  }
  return pages;
}

}  // namespace sluice::tools
