#!/usr/bin/env python3
"""Compactions on units: sluice_executor, EXECUTOR of tables, and what SHOW STATUS tells of it.

SLUICE_FAULTY_UNITS is the library of units that fail (tests/rocksdb/faulty_units.cc), SLUICE_UNITS the one that is
installed with the plugins (plugin/common), whose units are simulated.
"""

import os
import pathlib
import time
import unittest

import server

BUILD = pathlib.Path(__file__).resolve().parent.parent.parent.parent / "build"
FAULTY = os.environ.get("SLUICE_FAULTY_UNITS", str(BUILD / "sql/tests/leveldb_plugin/libfaulty_units.so"))
UNITS = os.environ.get("SLUICE_UNITS", str(BUILD / "release/plugin/sluice/units.so"))
ROWS = 2000  # of one of ten rounds, whose keys alternate: each is flushed by itself, more or less


class ExecutorTest(unittest.TestCase):
    def serve(self, *options):
        self.server = server.Server(*options)
        self.addCleanup(self.server.close)

    def serve_units(self, name, library, *options):
        for path in (library, FAULTY):
            self.assertTrue(os.path.exists(path), f"there is no {path}: build it")
        self.serve(f"--sluice-executor={name}", f"--sluice-executor-library={library}",
                   "--sluice-write-buffer-size=1048576", "--sluice-compression=none", *options)
        self.server.run("CREATE DATABASE d")

    def status(self):
        shown = self.server.run("SHOW GLOBAL STATUS LIKE 'Sluice\\_%'")
        return {name.removeprefix("Sluice_"): int(value) for name, value in (line.split("\t") for line in shown.splitlines()[1:])}

    def compact(self, table, until):
        """Writes to the table until what its compactions did is as `until` asks; the status before and after."""
        before = self.status()
        for _ in range(30):
            self.server.run("".join(
                f"REPLACE INTO {table} SELECT seq * 10 + {i}, seq % 97, RPAD(MD5(seq * 10 + {i}), 200, MD5({i})) FROM seq_1_to_{ROWS};"
                for i in range(10)), "d")
            # Compactions go on behind that, for long if they are simulated.
            for _ in range(20):
                after = self.status()
                if until(before, after):
                    return before, after
                time.sleep(0.5)
        self.fail(f"{before} {after}")

    def create(self, table, options=""):
        self.server.run(f"CREATE TABLE {table} (id INT PRIMARY KEY, k INT, v VARBINARY(200), KEY (k)) ENGINE=SLUICE {options}", "d")

    def expect_rows(self, table):
        found = self.server.run(f"CHECK TABLE {table} EXTENDED; SELECT COUNT(*), SUM(id), SUM(v = RPAD(MD5(id), 200, MD5(id % 10))),"
                                f" SUM(k = id DIV 10 % 97) FROM {table} FORCE INDEX (PRIMARY); SELECT SUM(k) FROM {table} FORCE INDEX (k)", "d")
        rows = 10 * ROWS
        ids = range(10, 10 * ROWS + 10)
        self.assertIn("check\tstatus\tOK", found)
        self.assertIn(f"\n{rows}\t{sum(ids)}\t{rows}\t{rows}\n", found)
        self.assertTrue(found.endswith(f"\n{sum(i // 10 % 97 for i in ids)}\n"), found)


class WithoutUnitsTest(ExecutorTest):
    def test_the_cpu_is_the_default(self):
        self.serve("--sluice-write-buffer-size=1048576")
        self.assertEqual(self.server.run("SELECT @@sluice_executor, @@sluice_executor_library, @@sluice_always_offload").splitlines()[1],
                         "cpu\t\t0")
        self.server.run("CREATE DATABASE d")
        # Who has no units may say so, too.
        self.create("t", "EXECUTOR='unit'")
        _, after = self.compact("t", lambda before, after: after["cpu_tasks"] > before["cpu_tasks"])
        self.assertEqual((after["units"], after["units_in_service"], after["unit_tasks"], after["unit_failures"]), (0, 0, 0, 0))
        self.assertGreater(after["compactions"], 0)
        self.assertGreater(after["compaction_bytes_read"], 100_000)
        self.assertGreater(after["compaction_cpu_microseconds"], 0)
        self.expect_rows("t")

    def refuse(self, *reasons, **options):
        """A server with these options has no Sluice, and says why."""
        self.serve(*(f"--sluice-{name.replace('_', '-')}={value}" for name, value in options.items()))
        log = pathlib.Path(self.server.directory.name, "log").read_text(errors="replace")
        for reason in reasons:
            self.assertIn(reason, log)
        self.assertNotIn("SLUICE", self.server.run("SHOW ENGINES"))

    def test_without_its_units_it_does_not_start(self):
        # The library is looked for beside libsluice.so, where a build does not put it.
        self.refuse("[ERROR] Sluice: sluice_executor=rtl:tiny: not found: ", "/sluice/units.so: cannot open shared object file",
                    "Install the package libsluice-units", executor="rtl:tiny")

    def test_a_library_must_be_one(self):
        self.refuse("[ERROR] Sluice: sluice_executor=cpu: not found: libc.so.6 has no sluice::OpenUnits", executor_library="libc.so.6")

    def test_the_library_knows_its_units(self):
        self.refuse("[ERROR] Sluice: sluice_executor=rtl:tiny: invalid argument: rtl:tiny: no such executor",
                    executor="rtl:tiny", executor_library=FAULTY)


class FaultyUnitsTest(ExecutorTest):
    def test_tasks_that_fail_go_to_the_cpu(self):
        self.serve_units("faulty:30", FAULTY)
        self.create("t")
        _, after = self.compact("t", lambda before, after: after["unit_tasks"] > 0 and after["unit_failures"] > 0)
        self.assertEqual(after["units"], 4)
        self.expect_rows("t")
        self.server.restart()
        self.expect_rows("t")
        self.assertIn("executor faulty: ", self.server.run("SHOW ENGINE SLUICE STATUS"))

    def test_tables_choose(self):
        self.serve_units("faulty:0", FAULTY)
        on_units = lambda before, after: after["unit_tasks"] > before["unit_tasks"]
        on_cpu = lambda before, after: after["cpu_tasks"] > before["cpu_tasks"]
        self.create("withheld", "EXECUTOR='cpu'")
        before, after = self.compact("withheld", on_cpu)
        self.assertEqual(before["unit_tasks"], after["unit_tasks"])
        self.create("given")
        before, after = self.compact("given", on_units)
        self.assertEqual(before["cpu_tasks"], after["cpu_tasks"])
        # An ALTER TABLE changes it, of what is compacted from then on.
        self.server.run("ALTER TABLE given EXECUTOR='cpu', ALGORITHM=INSTANT; ALTER TABLE withheld EXECUTOR='unit', ALGORITHM=INSTANT", "d")
        self.assertIn("`EXECUTOR`='unit'", self.server.run("SHOW CREATE TABLE withheld", "d"))
        self.server.run("SELECT COUNT(*) FROM given; SELECT COUNT(*) FROM withheld", "d")
        self.assertIn("its own options: offload=false\n", self.server.run("SHOW ENGINE SLUICE STATUS"))
        self.compact("withheld", on_units)
        self.compact("given", on_cpu)
        for table in ("withheld", "given"):
            self.expect_rows(table)
        self.assertEqual(self.status()["unit_failures"], 0)
        self.assertIn("ERROR 1912", self.server.run("CREATE TABLE x (a INT) ENGINE=SLUICE EXECUTOR='gpu'", "d", force=True))


class SimulatedUnitsTest(ExecutorTest):
    def test_the_rtl_compacts(self):
        self.serve_units("rtl:tiny", UNITS)
        self.create("t")
        _, after = self.compact("t", lambda before, after: after["unit_tasks"] > before["unit_tasks"])
        self.assertEqual((after["units"], after["units_in_service"], after["unit_failures"]), (1, 1, 0))
        self.assertGreater(after["unit_busy_microseconds"], 0)
        self.assertGreater(after["card_cpu_microseconds"], 0)
        self.expect_rows("t")
        self.assertRegex(self.server.run("SHOW ENGINE SLUICE STATUS"), r"executor tiny: [1-9]\d* tasks on 1 units, ")
        self.server.kill()
        self.server.start()
        self.expect_rows("t")


if __name__ == "__main__":
    unittest.main()
