#!/usr/bin/env python3
"""Runs LevelDB's own tests over Sluice, each in a process and a directory of its own, and fails if
one comes out otherwise than tests.txt says. `make leveldb-suite` and `make leveldb-plugin-suite` build
what this runs."""

import argparse
import concurrent.futures
import fnmatch
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TIMEOUT = 900  # seconds, for what hangs


class Expectations:
    def __init__(self, path):
        self.lines = []
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if line and not line.startswith("#"):
                name, how, *why = line.split(None, 2)
                kinds = set(how.split("+"))
                if not kinds <= {"env", "fails", "declined", "out"} or (kinds != {"env"} and not why):
                    sys.exit(f"{path}:{number}: cannot be read: {line}")
                self.lines.append((name, kinds, why[0] if why else ""))
        self.unused = {name for name, _, _ in self.lines}

    def of(self, name):
        """What is to come of it ("passes", "fails", "declined", "out"), whether it needs LevelDB's
        Env, and why."""
        for pattern, kinds, why in self.lines:
            if fnmatch.fnmatchcase(name, pattern):
                self.unused.discard(pattern)
                outcome = (kinds - {"env"}) or {"passes"}
                return outcome.pop(), "env" in kinds, why
        return "passes", False, ""


def list_tests(program):
    if program.name == "c_test":
        return ["c_test/all"]
    listing = subprocess.run([program, "--gtest_list_tests"], check=True, capture_output=True,
                             text=True).stdout
    names, suite = [], ""
    for line in listing.splitlines():
        if line.startswith("  "):
            names.append(f"{program.name}/{suite}{line.split()[0]}")
        elif line.split("#")[0].strip().endswith("."):
            suite = line.split("#")[0].strip()
    return names


def run(programs, name, needs_env, seed):
    """(outcome, output, seconds) of a test."""
    program, test = name.split("/")
    arguments = [programs / program]
    if test != "all":
        # LevelDB draws from GoogleTest's seed, which there is only with the flag before it. A test ends
        # where it fails: what comes behind may need what is not there.
        arguments += [f"--gtest_filter={test}", "--gtest_shuffle",
                      f"--gtest_random_seed={seed % 99999 + 1}", "--gtest_break_on_failure"]
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="leveldb_suite_", ignore_cleanup_errors=True) as scratch:
        # Without benchmarks, which db_test would run in front of each test.
        environment = dict(os.environ, TEST_TMPDIR=scratch + "/", BENCHMARK_FILTER="^$")
        environment.pop("LEVELDB_SUITE_ENV", None)
        if needs_env:
            environment["LEVELDB_SUITE_ENV"] = "1"
        try:
            done = subprocess.run(arguments, env=environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=TIMEOUT)
            output = done.stdout
            outcome = {0: "passes", -signal.SIGTRAP: "fails"}.get(done.returncode, "crashes")
        except subprocess.TimeoutExpired as late:
            output, outcome = late.stdout or b"", "hangs"
    output = output.decode(errors="replace")
    if outcome != "passes" and "\ndeclined: " in "\n" + output:
        outcome = "declined"
    return outcome, output, time.monotonic() - start


def unlisted_sources(source, programs, expectations):
    """Tests of LevelDB's that are neither built nor said to be left out."""
    for path in sorted(source.glob("*/*_test.c*")) + sorted(source.glob("*/*/*_test.c*")):
        name = str(path.relative_to(source))
        if name.startswith(("third_party/", "debian/")) or path.stem in programs:
            continue
        if expectations.of(name)[0] != "out":
            yield name


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", type=pathlib.Path, help="directory of the programs")
    parser.add_argument("source", type=pathlib.Path, help="directory of LevelDB's sources")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--executor", default="cpu", help="what compacts: cpu, check, rtl, model")
    parser.add_argument("--expectations", type=pathlib.Path, default=HERE / "tests.txt",
                        help="what is to come of the tests, where that is not to pass")
    parser.add_argument("--only", default="*", help="pattern of the tests to run")
    options = parser.parse_args()

    seed = int(os.environ.get("SLUICE_SEED") or random.getrandbits(32))
    # The adapter's, and the plugin's.
    os.environ["LEVELDB_SUITE_EXECUTOR"] = os.environ["SLUICE_EXECUTOR"] = options.executor
    print(f"SLUICE_SEED={seed}, compactions by {options.executor}")
    expectations = Expectations(options.expectations)
    programs = sorted(p for p in options.programs.glob("*_test") if os.access(p, os.X_OK))
    names = [name for program in programs for name in list_tests(program)]
    wrong = [f"{name}: neither built nor listed in tests.txt"
             for name in unlisted_sources(options.source, {p.name for p in programs}, expectations)]

    listed = {name: expectations.of(name) for name in names}
    wrong += [f"{name}: in tests.txt, but there is no such test" for name in
              sorted(expectations.unused)]
    chosen = [name for name in names
              if listed[name][0] != "out" and fnmatch.fnmatchcase(name, options.only)]
    counts = dict.fromkeys(("passes", "fails", "declined", "crashes", "hangs"), 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        def run_one(name):
            return run(options.programs, name, listed[name][1], seed)
        for name, (outcome, output, seconds) in zip(chosen, pool.map(run_one, chosen)):
            expected, _, why = listed[name]
            counts[outcome] += 1
            print(f"{outcome:8} {seconds:6.1f} s  {name}" + (f": {why}" if why else ""), flush=True)
            if outcome != expected:
                wrong.append(f"{name}: {outcome}, but was to be: {expected}")
                print(output)
    for name in names:
        if listed[name][0] == "out":
            print(f"left out           {name}: {listed[name][2]}")
    for message in wrong:
        print(message, file=sys.stderr)
    print(f"LevelDB's tests over Sluice ({options.executor}): {len(chosen)} ran in {time.monotonic() - start:.0f} s, "
          f"{counts['passes']} passed, {counts['fails']} failed and {counts['declined']} were "
          f"declined, {len(wrong)} otherwise than listed; {len(names) - len(chosen)} did not run")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
