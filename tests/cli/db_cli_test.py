#!/usr/bin/env python3
"""`sluice db` as its users see it.

usage: db_cli_test.py SLUICE LEVELDB_TOOL [unittest arguments]
"""

import fcntl
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

from cli_test import SEED, SLUICE, Case, Files, leveldb_tool, sluice


class Db(Case):
    """Records of any bytes, written and read by one process each."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.db = self.directory / "db"

    def status(self, *arguments):
        stdout, stderr = self.fails(1, *arguments, "--json")
        return json.loads(stdout)["status"], stderr

    def test_nothing_is_made_unasked(self):
        for command in ("stats", "verify", "dump", "scan", "compact"):
            status, stderr = self.status("db", command, self.db)
            self.assertEqual(status, "not_found")
            self.assertIn("--create", stderr)
        for command in (("get", "k"), ("put", "k", "v"), ("delete", "k"), ("checkpoint", "copy")):
            status, _ = self.status("db", command[0], self.db, *command[1:])
            self.assertEqual(status, "not_found")
        self.assertEqual(os.listdir(self.directory), [])

    def test_a_value_that_cannot_be_read_is_not_printed(self):
        self.ok("bench", "--db", self.directory, "--benchmarks", "fillseq,compact", "--num", 20, "--value-size", 5000,
                "--separate-values", 1000)
        database = self.directory / "sluice"
        lines = self.ok("db", "scan", database, "--hex").splitlines()
        self.assertEqual(len(lines), 20)
        data = database / "000001.data"
        stored = data.read_bytes()
        value = bytes.fromhex(lines[7].split("\t")[1])
        self.assertEqual(stored.count(value), 1)
        data.write_bytes(stored.replace(value, value[:-1] + bytes([value[-1] ^ 1])))
        result = sluice("db", "scan", database, "--hex")
        self.assertEqual((result.returncode, result.stdout.splitlines()), (1, lines[:7]))
        self.assertIn("000001.data", result.stderr)
        keys = self.ok("db", "scan", database, "--hex", "--keys-only").splitlines()
        self.assertEqual(keys, [line.split("\t")[0] for line in lines])

    def test_reading_only(self):
        self.ok("db", "put", self.db, "a", "one", "--create")
        self.ok("db", "compact", self.db)
        self.ok("db", "put", self.db, "b", "two")  # in the log

        def found():
            return {path: (path.stat().st_mtime_ns, path.read_bytes())
                    for path in self.db.rglob("*") if path.is_file()}

        before = found()
        reading = (self.db, "--read-only")
        self.assertEqual(self.ok("db", "get", *reading, "b"), "two\n")
        self.assertEqual(self.ok("db", "dump", *reading), "a\tone\nb\ttwo\n")
        self.assertEqual(self.ok("db", "scan", *reading, "--reverse"), "b\ttwo\na\tone\n")
        self.assertIn("sound", self.ok("db", "verify", *reading))
        self.ok("db", "stats", *reading)
        self.assertEqual(found(), before)
        # Others would write.
        for command in (("put", "k", "v"), ("delete", "a"), ("compact",)):
            self.fails(2, "db", command[0], *reading, *command[1:])
        self.assertEqual(found(), before)

    def test_records(self):
        self.ok("db", "put", self.db, "b", "two", "--create")
        self.ok("db", "put", self.db, "a\\x09\\x5c", "one\\xff")
        self.ok("db", "put", self.db, "00ff", "", "--hex")
        self.assertEqual(self.ok("db", "get", self.db, "b"), "two\n")
        self.assertEqual(self.ok("db", "get", self.db, "62", "--hex"), "74776f\n")
        self.assertEqual(self.object("db", "get", self.db, "a\\x09\\x5c")["value"], "one\\xff")
        lines = ["\\x00\\xff\t", "a\\x09\\x5c\tone\\xff", "b\ttwo"]
        self.assertEqual(self.ok("db", "dump", self.db).splitlines(), lines)
        scan = ("db", "scan", self.db)
        self.assertEqual(self.ok(*scan, "--reverse").splitlines(), lines[::-1])
        self.assertEqual(self.ok(*scan, "--from", "a", "--to", "b").splitlines(), lines[1:2])
        self.assertEqual(self.ok(*scan, "--limit", 1, "--reverse", "--keys-only"), "b\n")
        objects = [json.loads(line) for line in self.ok(*scan, "--json", "--hex").splitlines()]
        self.assertEqual(objects[0], {"key": "00ff", "value": ""})
        self.assertEqual(objects[2], {"key": "62", "value": "74776f"})
        self.ok("db", "delete", self.db, "b")
        self.ok("db", "delete", self.db, "b")
        for key in ("r1", "r2", "r3", "s"):
            self.ok("db", "put", self.db, key, "v")
        self.ok("db", "delete", self.db, "--from", "r1", "--to", "r3")
        self.assertEqual(self.ok("db", "scan", self.db, "--from", "r", "--keys-only"), "r3\ns\n")
        self.ok("db", "delete", self.db, "--from", "r")
        self.assertEqual(self.ok("db", "scan", self.db, "--from", "r", "--keys-only"), "")
        self.fails(2, "db", "delete", self.db)
        self.fails(2, "db", "delete", self.db, "k", "--from", "a")
        self.fails(2, "db", "delete", self.db, "--from", "", "--to", "")
        self.fails(2, "db", "scan", self.db, "--limit", "")
        self.assertEqual(self.status("db", "get", self.db, "b")[0], "not_found")
        for bad in (("get", "a\\n"), ("get", "a\\x4"), ("get", "abc", "--hex")):
            self.assertEqual(self.status("db", bad[0], self.db, *bad[1:])[0], "invalid_argument")

    def test_subtables(self):
        self.ok("db", "put", self.db, "k", "v", "--create")
        status, stderr = self.status("db", "put", self.db, "k", "w", "--subtable", "other")
        self.assertEqual(status, "not_found")
        self.assertIn("default", stderr)
        self.ok("db", "put", self.db, "k", "w", "--subtable", "other", "--create")
        self.assertEqual(self.ok("db", "get", self.db, "k"), "v\n")
        self.assertEqual(self.ok("db", "get", self.db, "k", "--subtable", "other"), "w\n")
        names = [entry["name"] for entry in self.object("db", "stats", self.db)["subtables"]]
        self.assertEqual(names, ["default", "other"])

    def test_a_dump_is_taken_back(self):
        random_ = random.Random(SEED)
        lines = "".join(
            f"{i:06}\t{random_.getrandbits(400):x}\\x{random_.getrandbits(8):02x}?\n"
            for i in range(20_000)
        )
        self.ok("db", "put", self.db, "--stdin", "--create", stdin=lines)
        # Printable bytes stand for themselves in a dump, however they were written.
        dumped = self.ok("db", "dump", self.db)
        self.assertEqual(len(dumped.splitlines()), 20_000)
        for command in (("dump", "--hex"), ("scan", "--json"), ("scan", "--limit", 1)):
            with self.subTest(command), open("/dev/full", "w", encoding="utf-8") as full:
                result = subprocess.run([SLUICE, "db", command[0], self.db, *map(str, command[1:])],
                                        stdout=full, stderr=subprocess.PIPE, text=True, timeout=1500)
                self.assertEqual(result.returncode, 1)
                self.assertIn("stdout", result.stderr)
        copy = self.directory / "copy"
        self.ok("db", "put", copy, "--stdin", "--create", stdin=dumped)
        self.assertEqual(self.ok("db", "dump", copy), dumped)
        hexed = self.ok("db", "dump", self.db, "--hex")
        again = self.directory / "again"
        self.ok("db", "put", again, "--stdin", "--create", "--hex", stdin=hexed)
        self.assertEqual(self.ok("db", "dump", again), dumped)
        result = sluice("db", "put", again, "--stdin", stdin="a\tb\nc\n")
        self.assertEqual(result.returncode, 1)
        self.assertIn("line 2", result.stderr)
        result = sluice("db", "put", again, "--stdin", stdin=f"a\tb\n{'k' * 65536}\tc\n")
        self.assertEqual(result.returncode, 1)
        self.assertIn("line 2", result.stderr)

    def test_input_that_cannot_be_read(self):
        self.ok("db", "put", self.db, "k", "v", "--create")
        stdin = os.open(self.directory, os.O_RDONLY)
        self.addCleanup(os.close, stdin)
        result = subprocess.run([SLUICE, "db", "put", self.db, "--stdin"], stdin=stdin, capture_output=True, text=True, timeout=1500)
        self.assertEqual(result.returncode, 1)
        self.assertIn("stdin", result.stderr)

    def test_without_standard_descriptors(self):
        self.ok("db", "put", self.db, "k", "v", "--create")
        for closed in ("<&- >&- 2>&-", ">&-", "2>&-", "<&-"):
            for arguments, code in (("get DB nokey", 1), ("dump DB", 1 if ">&-" in closed.split() else 0),
                                    ("put DB a b --subtable no", 1), ("put DB --stdin", 1 if "<&-" in closed else 0)):
                with self.subTest(closed=closed, arguments=arguments):
                    command = f'"$0" db {arguments.replace("DB", str(self.db))} {closed}'
                    result = subprocess.run(["sh", "-c", command, SLUICE], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                            stderr=subprocess.PIPE, timeout=1500)
                    self.assertEqual(result.returncode, code)
                    self.ok("db", "verify", self.db)

    def test_in_use(self):
        self.ok("db", "put", self.db, "k", "v", "--create")
        with open(self.db / "LOCK", "r+", encoding="utf-8") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX)
            status, stderr = self.status("db", "get", self.db, "k")
        self.assertEqual(status, "busy")
        self.assertIn("LOCK", stderr)
        self.ok("db", "get", self.db, "k")

    def test_not_ours(self):
        made = leveldb_tool("make", self.db, SEED, 100)
        self.assertEqual(made.returncode, 0, made.stderr)
        before = sorted(os.listdir(self.db))
        for create in ((), ("--create",)):
            _, stderr = self.fails(1, "db", "put", self.db, "k", "v", *create)
            self.assertIn("import-leveldb", stderr)
        self.assertEqual(sorted(os.listdir(self.db)), before)
        engine = self.directory / "engine"
        self.ok("db", "put", engine, "k", "v", "--create")
        for command in (
            ("compact", engine),
            ("db", "import-leveldb", engine, self.directory / "into", "--create"),
        ):
            _, stderr = self.fails(1, *command)
            self.assertIn("Sluice's own engine", stderr)


class Import(Files):
    def setUp(self):
        super().setUp()
        self.engine = self.db.parent / "engine"
        self.into = ("db", "import-leveldb", self.db, self.engine, "--create")

    def test_everything(self):
        expected = leveldb_tool("expected", SEED, self.records).stdout
        for executor in ("cpu", "rtl", "check", "model"):
            with self.subTest(executor, seed=SEED):
                into = (*self.into, "--subtable", executor, "--executor", executor)
                report = self.object(*into, "--config", "tiny")
                self.assertEqual(report["status"], "ok")
                self.assertEqual(report["output_records"], len(expected.splitlines()))
                self.assertEqual(report["device_tasks"] > 0, executor != "cpu")
                dump = self.ok("db", "dump", self.engine, "--subtable", executor)
                self.assertEqual(dump, expected)
        self.check_database()
        self.assertGreater(self.object("db", "verify", self.engine)["bytes"], 0)
        for subtable in self.object("db", "stats", self.engine)["subtables"][1:]:
            records = [level["records"] for level in subtable["levels"]]
            self.assertEqual(records, [0, 0, len(expected.splitlines())])
        self.assertRegex(self.ok("db", "stats", self.engine), r"level 2 +1 +\d+ ")
        status = json.loads(self.fails(1, *self.into, "--subtable", "cpu", "--json")[0])["status"]
        self.assertEqual(status, "invalid_argument")

    def test_upkeep(self):
        self.ok(*self.into)
        dump = self.ok("db", "dump", self.engine)
        key = dump.split("\t")[0]
        self.ok("db", "put", self.engine, key, "new")
        compacted = self.object(
            "db", "compact", self.engine, "--executor", "rtl", "--config", "tiny"
        )
        self.assertGreater(compacted["device_tasks"], 0)
        self.assertGreater(compacted["bytes_written"], 0)
        self.assertEqual(self.ok("db", "get", self.engine, key), "new\n")
        copy = self.db.parent / "copy"
        self.ok("db", "checkpoint", self.engine, copy)
        self.ok("db", "delete", self.engine, key)
        self.assertEqual(self.ok("db", "get", copy, key), "new\n")
        self.assertEqual(self.ok("db", "dump", copy).splitlines()[1:], dump.splitlines()[1:])
        self.assertIn("sound", self.ok("db", "verify", copy))
        self.fails(1, "db", "checkpoint", self.engine, copy)

    def test_bad_sources(self):
        self.fails(1, "db", "import-leveldb", self.db / "nosuch", self.engine, "--create")
        self.assertFalse(self.engine.exists())
        table = self.tables()[-1]
        content = bytearray(table.read_bytes())
        content[100] ^= 0x10
        table.write_bytes(content)
        _, stderr = self.fails(1, *self.into)
        self.assertIn(table.name, stderr)
        self.assertRegex(stderr, r"offset \d+")
        self.assertEqual(self.ok("db", "dump", self.engine), "")

    def test_damage(self):
        self.ok(*self.into)
        data = next(self.engine.glob("*.data"))
        content = bytearray(data.read_bytes())
        content[100] ^= 0x10
        data.write_bytes(content)
        stdout, stderr = self.fails(1, "db", "verify", self.engine, "--json")
        self.assertEqual(json.loads(stdout)["status"], "corruption")
        self.assertIn(data.name, stderr)
        self.assertRegex(stderr, r"offset \d+")
        to = self.db.parent / "repaired"
        report = json.loads(self.ok("db", "repair", self.engine, to, "--json"))
        self.assertEqual(report["extents_damaged"], 1)
        self.assertEqual(len(report["losses"]), 1)
        self.ok("db", "verify", to)
        _, stderr = self.fails(1, "db", "repair", self.engine, to)
        self.assertIn("exists", stderr)


if __name__ == "__main__":
    print(f"SLUICE_SEED={SEED}", flush=True)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
