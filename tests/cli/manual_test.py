#!/usr/bin/env python3
"""The command's manual pages and completion, against what its --help says.

usage: manual_test.py SLUICE MANUAL_DIRECTORY [unittest arguments]
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SLUICE, MANUAL = sys.argv[1:3]
MANUAL = pathlib.Path(MANUAL).resolve()
BASH = MANUAL / "sluice.bash"
ZSH = MANUAL / "_sluice"


def help_of(command):
    return subprocess.run(
        [SLUICE, *command, "--help"], capture_output=True, text=True, check=True
    ).stdout


def read_help(command=()):
    """Command -> (subcommands, options, option -> words) of it and of all below it."""
    text = help_of(command)
    head, _, below = text.partition("\nSubcommands:\n")
    children = re.findall(r"^  (\S+) ", below.split("\n\n")[0], re.M)
    head = re.split(r"\n(?:Examples|Engines):\n", head)[0]
    options = re.findall(r"^  (?:-\w,)?(--[\w-]+)", head, re.M)
    commands = {command: (children, options)}
    for child in children:
        commands.update(read_help((*command, child)))
    return commands


COMMANDS = read_help()


def complete(*words, point=None):
    """What bash offers for the last word; its words are split as bash splits them."""
    parts = []
    for word in words:
        parts += [part for part in re.split(r"([=:])", word) if part] or [""]
    script = (
        'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; '
        'read -r _ _ function _ < <(complete -p sluice | sed "s/.* -F/x x/"); '
        '"$function"; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    result = subprocess.run(
        ["bash", "--norc", "-u", "-c", script, "bash", BASH, *parts],
        capture_output=True, text=True, cwd=point,
    )
    assert result.returncode == 0 and result.stderr == "", result.stderr
    return sorted(line for line in result.stdout.split("\n") if line)


class Pages(unittest.TestCase):
    def test_a_page_for_each_command(self):
        children, _ = COMMANDS[()]
        self.assertIn("db", children)
        names = {"sluice.1", *(f"sluice-{name}.1" for name in children)}
        self.assertEqual({page.name for page in MANUAL.glob("*.1")}, names)

    def test_everything_is_there(self):
        for command, (children, options) in COMMANDS.items():
            page = (MANUAL / f"{'-'.join(('sluice', *command[:1]))}.1").read_text()
            page = page.replace("\\-", "-")
            with self.subTest(command):
                self.assertIn(" ".join(("sluice", *command[:2])), page)
                for name in (*children, *options):
                    self.assertIn(name, page)
                if len(command) == 2:  # its synopsis, which ends where the next begins
                    synopsis = page.split(f".HP\n\\fB{' '.join(('sluice', *command))}\\fR\n")[1]
                    synopsis = re.split(r"\n\.(?:HP|SH)", synopsis)[0]
                    for option in options:
                        form = rf"\[\\fB{option}\\fR(?: \\fI\S+\\fR(?: \.\.\.)?)?\]"
                        self.assertTrue(option == "--help" or re.search(form, synopsis), option)

    def test_sections(self):
        for page in MANUAL.glob("*.1"):
            sections = re.findall(r"^\.SH (.+)", page.read_text(), re.M)
            for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS",
                            "ENVIRONMENT", "EXAMPLES", "SEE ALSO"):
                self.assertEqual(sections.count(section), section != "EXAMPLES" or 1, page)

    def test_no_complaint(self):
        lint = subprocess.run(
            ["mandoc", "-T", "lint", "-W", "warning", *sorted(MANUAL.glob("*.1"))],
            capture_output=True, text=True,
        )
        self.assertEqual((lint.returncode, lint.stdout, lint.stderr), (0, "", ""))

    def test_as_text(self):
        shown = subprocess.run(
            ["mandoc", "-T", "ascii", MANUAL / "sluice-db.1"], capture_output=True, text=True
        )
        text = re.sub(".\b", "", shown.stdout)
        self.assertRegex(text, r"sluice db repair DIR TO \[--level-path DIR \.\.\.\] \[--json\]\n")
        self.assertIn("One of: cpu, rtl, check, model, xrt, f2.", " ".join(text.split()))
        self.assertIn("sluice db put /data/db 'tab\\x09key' value --create", text)


class Bash(unittest.TestCase):
    def test_everything_is_offered(self):
        for command, (children, options) in COMMANDS.items():
            with self.subTest(command):
                self.assertEqual(complete("sluice", *command, "--"), sorted(options))
                if children:
                    self.assertEqual(complete("sluice", *command, ""), sorted(children))

    def test_commands(self):
        self.assertEqual(complete("sluice", "db", "ver"), ["verify"])
        self.assertEqual(complete("sluice", "nosuch", "--ver"), ["--version"])

    def test_options_by_their_beginning(self):
        self.assertEqual(complete("sluice", "db", "get", "dir", "--re"), ["--read-only"])
        self.assertEqual(complete("sluice", "compact", "--ex"), ["--executor"])

    def test_values(self):
        executors = ["check", "cpu", "f2", "model", "rtl", "xrt"]
        self.assertEqual(complete("sluice", "compact", "--executor", ""), executors)
        self.assertEqual(complete("sluice", "db", "get", "dir", "--executor", "c"), executors[:2])
        self.assertEqual(complete("sluice", "compact", "--executor=", ""), executors)
        self.assertEqual(complete("sluice", "compact", "--executor=m"), ["model"])
        self.assertIn("fast20", complete("sluice", "compact", "--config", ""))
        # A value does not count as an argument, nor as a command.
        self.assertEqual(complete("sluice", "db", "get", "--executor", "cpu", "--js"), ["--json"])
        self.assertEqual(complete("sluice", "bench", "--num", ""), [])

    def test_lists(self):
        both = ["leveldb", "leveldb:verify"]
        self.assertEqual(complete("sluice", "bench", "--engine", "lev"), both)
        lists = ["sluice,leveldb", "sluice,leveldb:verify"]
        self.assertEqual(complete("sluice", "bench", "--engine", "sluice,lev"), lists)
        # Bash replaces what is behind the colon only.
        for words in (("--engine", "leveldb,sluice:async1"), ("--engine=sluice:async1",)):
            self.assertEqual(complete("sluice", "bench", *words), ["async1queue"])

    def test_paths(self):
        with tempfile.TemporaryDirectory() as name:
            directory = pathlib.Path(name)
            (directory / "table one.ldb").touch()
            (directory / "target").mkdir()
            both, dirs = ["table one.ldb", "target"], ["target"]
            self.assertEqual(complete("sluice", "table", "verify", "ta", point=name), both)
            self.assertEqual(complete("sluice", "unit", "bench", "--plot", "ta", point=name), both)
            self.assertEqual(complete("sluice", "compact", "ta", point=name), dirs)
            self.assertEqual(complete("sluice", "compact", "--json", "ta", point=name), dirs)
            self.assertEqual(complete("sluice", "db", "checkpoint", "a", "ta", point=name), dirs)
            self.assertEqual(
                complete("sluice", "db", "repair", "a", "b", "--level-path", "ta", point=name), dirs
            )
            self.assertEqual(complete("sluice", "db", "get", "dir", "ta", point=name), [])


class Zsh(unittest.TestCase):
    def test_syntax(self):
        check = subprocess.run(["zsh", "-f", "-n", ZSH], capture_output=True, text=True)
        self.assertEqual((check.returncode, check.stderr), (0, ""))

    def test_everything_is_there(self):
        text = ZSH.read_text()
        self.assertTrue(text.startswith("#compdef sluice\n"))
        for command, (children, options) in COMMANDS.items():
            with self.subTest(command):
                function = text.split("_".join(("_sluice", *command)) + "() {\n")[1].split("\n}\n")[0]
                for child in children:
                    self.assertIn(f"    '{child}:", function)
                    self.assertIn("_".join(("_sluice", *command, child)) + "() {\n", text)
                for option in options:
                    self.assertRegex(function, rf"'(\([^)]*\)|\*)?{option}=?\[")


if __name__ == "__main__":
    os.environ.pop("COMP_WORDBREAKS", None)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
