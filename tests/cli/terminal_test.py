#!/usr/bin/env python3
"""The sluice command on a terminal: progress, and colours for those who want them.

usage: terminal_test.py SLUICE LEVELDB_TOOL [unittest arguments]
"""

import json
import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile
import unittest

from cli_test import SEED, SLUICE, Case, Files, sluice, task_file

WIPED = "\r\x1b[K"
RED, GREEN, PLAIN = "\x1b[1;31m", "\x1b[1;32m", "\x1b[0m"
NEVER = "1000000"  # seconds: no test waits for that


def on_terminal(*arguments, stdin=None, both=False, **environment):
    """Exit code, stdout, and what a terminal gets that is stderr, or both."""
    inherited = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    leader, follower = pty.openpty()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            [SLUICE, *map(str, arguments)],
            env={**inherited, "TERM": "xterm", "SLUICE_PROGRESS_DELAY": NEVER, **environment},
            stdin=stdin or subprocess.DEVNULL,
            stdout=follower if both else output,
            stderr=follower,
        )
        os.close(follower)
        shown = b""
        try:
            while chunk := os.read(leader, 65536):
                shown += chunk
        except OSError:  # how Linux says that the other end is closed
            pass
        os.close(leader)
        code = process.wait()
        output.seek(0)
        return code, output.read(), shown.decode().replace("\r\n", "\n")


class Colours(Case):
    ERROR = ("table", "verify", "nosuch.ldb")

    def test_errors_are_red(self):
        code, _, shown = on_terminal(*self.ERROR)
        self.assertEqual(code, 1)
        self.assertTrue(shown.startswith(f"{RED}sluice: not_found{PLAIN}: "), shown)

    def test_wrong_usage_is_red(self):
        code, _, shown = on_terminal("db", "get")
        self.assertEqual(code, 2)
        self.assertRegex(shown, rf"^{re.escape(RED)}DIR is required{re.escape(PLAIN)}\nRun with ")

    def test_sound_is_green(self):
        with tempfile.TemporaryDirectory() as name:
            db = pathlib.Path(name) / "db"
            self.ok("db", "put", db, "k", "v", "--create")
            code, _, shown = on_terminal("db", "verify", db, both=True)
            self.assertEqual((code, shown.count(f": {GREEN}sound{PLAIN};")), (0, 1))
            # stdout is no terminal here.
            self.assertNotIn("\x1b", on_terminal("db", "verify", db)[1])

    def test_who_wants_none(self):
        plain = sluice(*self.ERROR).stderr
        self.assertNotIn("\x1b", plain)
        for environment in ({"NO_COLOR": "1"}, {"NO_COLOR": "0"}, {"TERM": "dumb"}):
            self.assertEqual(on_terminal(*self.ERROR, **environment)[2], plain)
        self.assertIn(RED, on_terminal(*self.ERROR, NO_COLOR="")[2])


class Progress(Files):
    """Each command that may take long, with a delay that shows progress at once."""

    def setUp(self):
        super().setUp()
        self.directory = self.db.parent
        self.engine = self.directory / "engine"
        self.ok("db", "import-leveldb", self.db, self.engine, "--create")

    def shows(self, label, *arguments, stdin=None):
        """A command that shows `label`, wipes it, and writes what it writes without a terminal;
        not before the delay."""
        for delay in ("0", NEVER):
            with self.subTest(arguments, delay=delay):
                with open(stdin or os.devnull) as file:
                    code, stdout, shown = on_terminal(
                        *arguments, stdin=file, SLUICE_PROGRESS_DELAY=delay
                    )
                self.assertEqual(code, 0, shown)
                if "--json" in arguments:
                    self.assertEqual(json.loads(stdout)["status"], "ok")
                self.assertNotIn("\x1b", stdout)
                if delay == NEVER:
                    self.assertEqual(shown, "")
                else:
                    self.assertIn("\r" + label, shown)
                    self.assertTrue(shown.endswith(WIPED), shown[-40:])
            self.clean()

    def clean(self):
        subprocess.run(["rm", "-rf", *self.directory.glob("new*")], check=True)

    def test_databases(self):
        records = self.directory / "records"
        records.write_text(self.ok("db", "dump", self.engine))
        new = self.directory / "new"
        put = ("db", "put", new, "--stdin", "--create", "--json")
        self.shows("writing [", *put, stdin=records)
        self.shows("opening: ", *put, stdin=records)
        self.shows("printing: ", "db", "dump", self.engine)
        self.shows("printing: ", "db", "scan", self.engine, "--limit", 3)
        self.shows("verifying [", "db", "verify", self.engine, "--json")
        self.shows("copying [", "db", "checkpoint", self.engine, new, "--json")
        self.shows("reading: ", "db", "repair", self.engine, new, "--json")
        self.shows("writing: ", "db", "compact", self.engine, "--json")
        self.shows("importing [", "db", "import-leveldb", self.db, new, "--create", "--json")

    def test_leveldb(self):
        self.shows("compacting [", "compact", self.db, "--json")
        table = self.tables()[0]
        self.shows("verifying [", "table", "verify", table, "--json")
        self.shows("printing: ", "table", "dump", table)
        task = self.directory / "task"
        task.write_bytes(task_file(table.read_bytes(), b"unit 1: hung"))
        self.shows("merging: ", "unit", "replay", task, "--executor", "cpu", "--json")

    def test_unit(self):
        run = ("unit", "run", "--records", 15000, "--config", "tiny", "--runs", 2, "--json")
        for executor in ("cpu", "rtl"):
            self.shows("merging [", *run, "--executor", executor)
        self.shows("making the input: ", *run, "--executor", "cpu")
        self.shows("measuring [", "unit", "bench", "--grid", "fcae", "--config", "tiny", "--json")

    def test_engine(self):
        self.shows("simulating [", "simulate", "--data", "1g", "--json")
        bench = ("bench", "--db", self.directory / "new", "--num", 20000, "--duration", 1, "--json")
        self.shows("sluice readrandom, turn 1 [", *bench, "--benchmarks", "fillseq,readrandom")
        self.shows("sluice compact, turn 1: ", *bench, "--benchmarks", "fillrandom,compact")


if __name__ == "__main__":
    print(f"SLUICE_SEED={SEED}", flush=True)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
