#!/usr/bin/env python3
"""Copies a server's tables while others write them, as docs/sql.md has it, and reads the copy with another server."""

import pathlib
import shutil
import threading
import unittest

import server


class CheckpointTest(unittest.TestCase):
    def setUp(self):
        self.server = server.Server("--log-bin", "--server-id=1")
        self.addCleanup(self.server.close)
        self.server.run("CREATE DATABASE d; USE d; CREATE TABLE t (a INT PRIMARY KEY AUTO_INCREMENT, b INT, KEY (b)) ENGINE=SLUICE;"
                        "CREATE TABLE u (a INT PRIMARY KEY, b INT) ENGINE=SLUICE PARTITION BY HASH (a) PARTITIONS 3;"
                        "CREATE TABLE total (one INT PRIMARY KEY, rows_of_t INT) ENGINE=SLUICE;"
                        "INSERT INTO total VALUES (1, 1000); INSERT INTO t (b) SELECT seq FROM seq_1_to_1000;"
                        "INSERT INTO u SELECT seq, seq FROM seq_1_to_100")
        self.path = pathlib.Path(self.server.directory.name) / "checkpoint"

    def data(self, of):
        return pathlib.Path(of.directory.name) / "data"

    @staticmethod
    def transactions(gtid):
        return int(gtid.split("-")[-1])

    def test_a_checkpoint_is_one_state_that_another_server_reads(self):
        stop = threading.Event()
        failed = []

        def write():
            while not stop.is_set() and not failed:
                try:
                    self.server.run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;"
                                    "BEGIN; INSERT INTO t (b) VALUES (1), (2); UPDATE total SET rows_of_t = rows_of_t + 2; COMMIT", "d")
                except RuntimeError as error:
                    failed.append(error)

        begun = self.transactions(self.server.run("SELECT @@gtid_binlog_pos"))
        writers = [threading.Thread(target=write) for _ in range(3)]
        for writer in writers:
            writer.start()
        while self.server.run("SELECT COUNT(*) FROM t", "d").split()[-1] == "1000" and not failed:
            pass
        backup = server.Connection(self.server)
        self.addCleanup(backup.close)
        definitions = self.path.parent / "d"
        try:
            self.assertEqual(backup.do("BACKUP STAGE START; BACKUP STAGE BLOCK_COMMIT"), "")
            self.assertEqual(backup.do(f"SET GLOBAL sluice_checkpoint = '{self.path}'"), "")
            logged = self.transactions(backup.do("SELECT @@gtid_binlog_pos"))
            shutil.copytree(self.data(self.server) / "d", definitions)
            self.assertEqual(backup.do("BACKUP STAGE END"), "")
        finally:
            stop.set()
            for writer in writers:
                writer.join()
        self.assertEqual(failed, [])
        self.assertEqual(self.server.run("SELECT @@sluice_checkpoint").split()[1], str(self.path))

        other = server.Server()
        self.addCleanup(other.close)
        other.stop()
        shutil.copytree(definitions, self.data(other) / "d")
        shutil.rmtree(self.data(other) / "#sluice")
        shutil.copytree(self.path, self.data(other) / "#sluice")
        other.start()
        # What the binary log had then, a replica that is made of this copy needs not be told again.
        self.assertEqual(int(other.run("SELECT rows_of_t FROM total", "d").split()[-1]), 1000 + 2 * (logged - begun))
        self.assertEqual(other.run("SELECT COUNT(*) - rows_of_t FROM t, total", "d").split()[-1], "0")
        self.assertEqual(other.run("SELECT SUM(b) FROM u", "d").split()[-1], "5050")
        self.assertEqual(other.run("CHECK TABLE t, u, total", "d").count("OK"), 3)
        other.run("INSERT INTO t (b) VALUES (3)", "d")
        self.assertEqual(other.run("SELECT COUNT(DISTINCT a) = COUNT(*), MAX(a) = (SELECT a FROM t WHERE b = 3 ORDER BY a DESC LIMIT 1) FROM t",
                                   "d").split()[-2:], ["1", "1"])

    def test_a_backup_holds_up_no_writes_before_it_blocks_commits(self):
        backup = server.Connection(self.server)
        self.addCleanup(backup.close)
        writer = server.Connection(self.server, "d")
        self.addCleanup(writer.close)
        self.assertEqual(writer.do("SET lock_wait_timeout = 1; BEGIN; INSERT INTO total VALUES (2, 0)"), "")
        for stage in ("START", "FLUSH", "BLOCK_DDL"):
            self.assertEqual(backup.do(f"BACKUP STAGE {stage}"), "")
            self.assertEqual(self.server.run("SET lock_wait_timeout = 1; INSERT INTO t (b) VALUES (1); UPDATE u SET b = b + 1", "d"), "")
        self.assertEqual(backup.do("BACKUP STAGE BLOCK_COMMIT"), "")
        self.assertEqual(writer.do("UPDATE total SET rows_of_t = 0"), "")
        self.assertIn("1205", writer.do("COMMIT"))
        self.assertEqual(backup.do("BACKUP STAGE END"), "")

    def test_what_cannot_be_made_is_the_statements_error(self):
        for path, why in (("here", "no absolute path"), ("", "no absolute path"), (self.server.directory.name, "exists"),
                          ("/nowhere/at/all", "/nowhere/at/all")):
            with self.assertRaisesRegex(RuntimeError, why):
                self.server.run(f"SET GLOBAL sluice_checkpoint = '{path}'")
        with self.assertRaisesRegex(RuntimeError, "ERROR"):
            self.server.run("SET GLOBAL sluice_checkpoint = 5")
        self.assertEqual(self.server.run("SELECT @@sluice_checkpoint").split()[1], "NULL")


if __name__ == "__main__":
    unittest.main()
