#!/usr/bin/env python3
"""What tables, partitions and indexes say of how they are stored, and what becomes of it."""

import contextlib
import pathlib
import re
import tempfile
import unittest

import server


class OptionsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = server.Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def setUp(self):
        self.server.run("CREATE OR REPLACE DATABASE d")
        self.connections = []

    def tearDown(self):
        for connection in self.connections:
            connection.close()

    def connect(self):
        connection = server.Connection(self.server, "d")
        self.connections.append(connection)
        return connection

    def expect(self, connection, sql, answer):
        self.assertEqual(connection.do(sql), answer, sql)

    def stored(self):
        """Options of their own that sub-tables have, each with the MiB in extents that are written so."""
        status = self.server.run("SHOW ENGINE SLUICE STATUS")
        return sorted((options, sum(map(float, re.findall(r"level .* ([\d.]+) MiB", rest)))) for options, rest in
                      re.findall(r"  its own options: (.*)\n((?:  .*\n)*)", status))

    def expect_options(self, *expected):
        self.assertEqual([options for options, _ in self.stored()], sorted(expected))

    def test_tables_and_indexes_have_options(self):
        one = self.connect()
        self.expect(one, "CREATE TABLE x (a INT PRIMARY KEY, b VARCHAR(200), c INT, KEY (b) COMPRESSION='none' BLOCK_SIZE=32768, KEY (c))"
                         " ENGINE=SLUICE COMPRESSION='zstd' BLOCK_SIZE=8192", "")
        by_b, by_d = "block_bytes=32768 compression=none", "block_bytes=8192 compression=snappy"
        self.expect_options(*2 * ["block_bytes=8192 compression=zstd"], by_b)
        shown = one.do("SHOW CREATE TABLE x")
        self.assertIn("KEY `b` (`b`) `COMPRESSION`='none' `BLOCK_SIZE`=32768", shown)
        self.assertIn("`COMPRESSION`='zstd' `BLOCK_SIZE`=8192", shown)
        self.expect(one, "INSERT INTO x VALUES (1, 'x', 1); TRUNCATE x; SELECT COUNT(*) FROM x", "0")
        self.expect_options(*2 * ["block_bytes=8192 compression=zstd"], by_b)
        check = "CHECK TABLE x EXTENDED; SELECT COUNT(*), SUM(c) FROM x"
        answer = "d.x,check,status,OK 3000,8998"
        self.expect(one, f"INSERT INTO x SELECT seq, REPEAT('b', seq % 200), seq % 7 FROM seq_1_to_3000; {check}", answer)
        # At once, whatever the size: new data is stored so once the table is opened.
        self.expect(one, f"ALTER TABLE x COMPRESSION='lz4', ALGORITHM=INSTANT, LOCK=NONE; {check}", answer)
        self.expect_options(*2 * ["block_bytes=8192 compression=lz4"], by_b)
        self.expect(one, f"ALTER TABLE x ADD KEY d (c, b) COMPRESSION='snappy', ALGORITHM=NOCOPY; {check}", answer)
        self.expect_options(*2 * ["block_bytes=8192 compression=lz4"], by_b, by_d)
        self.server.restart()
        one = self.connect()
        self.expect_options(*2 * ["block_bytes=8192 compression=lz4"], by_b, by_d)
        # Those of an index change with the index.
        self.expect(one, f"ALTER TABLE x DROP KEY b, ADD KEY b (b) COMPRESSION='zstd', ALGORITHM=NOCOPY; {check}", answer)
        self.expect_options(*2 * ["block_bytes=8192 compression=lz4"], "block_bytes=8192 compression=zstd", by_d)
        self.expect(one, f"ALTER TABLE x COMPRESSION=DEFAULT, BLOCK_SIZE=DEFAULT, COMMENT='c', ALGORITHM=INSTANT; {check}", answer)
        self.expect_options("compression=zstd", "compression=snappy")
        self.assertNotIn("lz4", one.do("SHOW CREATE TABLE x"))
        # All is written anew, and the table's like are made like it.
        self.expect(one, f"ALTER TABLE x BLOCK_SIZE=512, FORCE; {check}", answer)
        expected = 2 * ["block_bytes=512"] + ["block_bytes=512 compression=zstd", "block_bytes=512 compression=snappy"]
        self.expect_options(*expected)
        self.expect(one, "CREATE TABLE y LIKE x; SELECT COUNT(*) FROM y; DROP TABLE x; RENAME TABLE y TO x", "0")
        self.expect_options(*expected)
        self.expect(one, "DROP TABLE x", "")
        self.expect_options()

    def test_options_are_checked(self):
        one = self.connect()
        self.expect(one, "CREATE TABLE t (a INT) ENGINE=SLUICE", "")
        for option in ("COMPRESSION='brotli'", "BLOCK_SIZE=511", "BLOCK_SIZE=0", "BLOCK_SIZE=1048577", "BLOCK_SIZE='4K'",
                       "EXECUTOR='gpu'", "LEVEL_TIERS='003'", "LEVEL_TIERS='00'"):
            self.expect(one, f"CREATE TABLE x (a INT) ENGINE=SLUICE {option}", "E1912")
            self.expect(one, f"CREATE TABLE x (a INT, KEY (a) {option}) ENGINE=SLUICE", "E1912")
            self.expect(one, f"ALTER TABLE t {option}", "E1912")
        self.expect(one, "CREATE TABLE x (a INT) ENGINE=SLUICE LEVELS=2", "E1911")
        self.expect_options()
        self.expect(one, "CREATE TABLE x (a INT, KEY (a) BLOCK_SIZE=1048576) ENGINE=SLUICE COMPRESSION=ZSTD BLOCK_SIZE=512", "")
        self.expect_options("block_bytes=512 compression=zstd", "block_bytes=1048576 compression=zstd")

    def test_executors_of_tables_indexes_and_partitions(self):
        one = self.connect()
        self.expect(one, "CREATE TABLE x (a INT PRIMARY KEY, b INT, KEY (b) EXECUTOR='unit') ENGINE=SLUICE EXECUTOR='cpu';"
                         "CREATE TABLE y (a INT) ENGINE=SLUICE EXECUTOR='cpu' PARTITION BY RANGE (a) ("
                         "PARTITION p VALUES LESS THAN (10), PARTITION q VALUES LESS THAN (20) EXECUTOR='unit' LEVEL_TIERS='222')", "")
        self.expect_options("offload=false", "offload=true", "offload=false", "offload=true level_tiers=2,2,2")
        self.expect(one, "ALTER TABLE x EXECUTOR=DEFAULT, ALGORITHM=INSTANT; ALTER TABLE y EXECUTOR='unit', ALGORITHM=INSTANT;"
                         "SELECT COUNT(*) FROM x; SELECT COUNT(*) FROM y", "0 0")
        self.expect_options("offload=true", "offload=true", "offload=true level_tiers=2,2,2")

    def test_tables_and_indexes_are_in_the_directories_that_they_choose(self):
        directory = tempfile.TemporaryDirectory(prefix="sluice.")
        self.addCleanup(directory.cleanup)
        hot, cold = (pathlib.Path(directory.name, name) for name in ("hot", "cold"))
        # Level 1 has the database's own.
        self.server = server.Server(f"--sluice-level-paths={hot},,{cold}")
        self.addCleanup(self.server.close)
        own = pathlib.Path(self.server.directory.name, "data", "#sluice")

        def sizes():
            return [sum(file.stat().st_size for file in path.glob("*.data")) for path in (hot, own, cold)]

        def grown(sql, answer=""):
            """The levels in whose directories data files grow as statements are done."""
            before = sizes()
            self.expect(one, sql, answer)
            return "".join(str(level) for level, (size, now) in enumerate(zip(before, sizes())) if now > size)

        self.server.run("CREATE DATABASE d")
        one = self.connect()
        rows = "SELECT seq, RPAD(MD5(seq), 300, MD5(seq + 1)) FROM seq_1_to_20000"
        self.expect(one, "CREATE TABLE x (a INT PRIMARY KEY, b VARCHAR(300)) ENGINE=SLUICE LEVEL_TIERS='000';"
                         f"CREATE TABLE y LIKE x; ALTER TABLE y LEVEL_TIERS=DEFAULT; INSERT INTO x {rows}; INSERT INTO y {rows}", "")
        self.expect_options("level_tiers=0,0,0")
        self.assertIn("`LEVEL_TIERS`='000'", one.do("SHOW CREATE TABLE x"))
        # OPTIMIZE TABLE flushes, and merges into the last level. One run is moved there.
        done = "d.{},optimize,status,OK"
        self.assertEqual(grown("OPTIMIZE TABLE x", done.format("x")), "0")
        self.assertEqual(grown("OPTIMIZE TABLE y", done.format("y")), "02")
        # What is there moves as it is merged.
        self.expect(one, "ALTER TABLE x LEVEL_TIERS='111', ALGORITHM=INSTANT, LOCK=NONE; SELECT COUNT(*) FROM x", "20000")
        self.expect_options("level_tiers=1,1,1")
        self.assertEqual(grown("OPTIMIZE TABLE x", done.format("x")), "1")
        # An index is written at once, into the last level.
        for tiers, level in (("110", "0"), ("001", "1"), ("222", "2")):
            self.assertEqual(grown(f"ALTER TABLE x ADD KEY k{tiers} (b) LEVEL_TIERS='{tiers}', ALGORITHM=NOCOPY"), level)
        self.server.restart()
        one = self.connect()
        self.expect(one, "CHECK TABLE x EXTENDED", "d.x,check,status,OK")
        self.expect_options("level_tiers=1,1,1", "level_tiers=1,1,0", "level_tiers=0,0,1", "level_tiers=2,2,2")

    def test_a_path_that_is_not_absolute_is_refused(self):
        refused = server.Server("--sluice-level-paths=hot")
        self.addCleanup(refused.close)
        self.assertNotIn("SLUICE", refused.run("SHOW ENGINES"))
        log = pathlib.Path(refused.directory.name, "log").read_text(encoding="utf-8")
        self.assertIn("sluice_level_paths: 'hot' is no absolute path", log)

    def test_partitions_have_options(self):
        one = self.connect()
        self.expect(one, "CREATE TABLE x (a INT PRIMARY KEY, b INT, KEY (b)) ENGINE=SLUICE COMPRESSION='lz4' PARTITION BY RANGE (a) ("
                         "PARTITION `old-1` VALUES LESS THAN (10) COMPRESSION='zstd' BLOCK_SIZE=65536, PARTITION p VALUES LESS THAN (20));"
                         "INSERT INTO x VALUES (1, 1), (11, 11)", "")
        old, new = 2 * ["block_bytes=65536 compression=zstd"], 2 * ["compression=lz4"]
        self.expect_options(*old, *new)
        # For all at once, but where a partition has its own; and with partitions as they are moved.
        self.expect(one, "ALTER TABLE x COMPRESSION='snappy', ALGORITHM=INSTANT; SELECT COUNT(*) FROM x", "2")
        new = 2 * ["compression=snappy"]
        self.expect_options(*old, *new)
        self.expect(one, "ALTER TABLE x ADD PARTITION (PARTITION q VALUES LESS THAN (30) COMPRESSION='none');"
                         "ALTER TABLE x TRUNCATE PARTITION p; SELECT COUNT(*) FROM x", "1")
        self.expect_options(*old, *new, *2 * ["compression=none"])
        self.expect(one, "ALTER TABLE x REORGANIZE PARTITION q INTO (PARTITION q VALUES LESS THAN (30) BLOCK_SIZE=512)", "")
        self.expect_options(*old, *new, *2 * ["block_bytes=512 compression=snappy"])
        self.server.restart()
        one = self.connect()
        self.expect(one, "SELECT COUNT(*) FROM x; ALTER TABLE x DROP PARTITION q; ALTER TABLE x FORCE; SELECT COUNT(*) FROM x", "1 1")
        self.expect_options(*old, *new)
        self.expect(one, "DROP TABLE x; CREATE TABLE x (a INT, b INT) ENGINE=SLUICE PARTITION BY RANGE (a)"
                         " SUBPARTITION BY HASH (b) SUBPARTITIONS 2 (PARTITION p VALUES LESS THAN (10) COMPRESSION='zstd',"
                         " PARTITION q VALUES LESS THAN (20)); SELECT COUNT(*) FROM x", "0")
        self.expect_options(*2 * ["compression=zstd"])
        for option, error in (("COMPRESSION='brotli'", "E1912"), ("BLOCK_SIZE=1", "E1912"), ("LEVELS=2", "E1911")):
            self.expect(one, "CREATE TABLE y (a INT) ENGINE=SLUICE PARTITION BY RANGE (a) ("
                             f"PARTITION p VALUES LESS THAN (10), PARTITION q VALUES LESS THAN (20) {option})", error)
            self.expect(one, "ALTER TABLE x REORGANIZE PARTITION p INTO (PARTITION p VALUES LESS THAN (10)"
                             f" {option} (SUBPARTITION r, SUBPARTITION s))", error)
        self.expect_options(*2 * ["compression=zstd"])
        # A table keeps those of its indexes when it is partitioned.
        self.expect(one, "DROP TABLE x; CREATE TABLE x (a INT PRIMARY KEY, b INT, KEY (b) BLOCK_SIZE=512) ENGINE=SLUICE;"
                         "ALTER TABLE x PARTITION BY HASH (a) PARTITIONS 2; SELECT COUNT(*) FROM x", "0")
        self.expect_options(*2 * ["block_bytes=512"])

    def test_options_have_their_effect(self):
        one = self.connect()
        # New indexes are written at once.
        self.expect(one, "CREATE TABLE x (a INT PRIMARY KEY, b VARCHAR(400)) ENGINE=SLUICE;"
                         "INSERT INTO x SELECT seq, CONCAT(MD5(seq), REPEAT(MD5(seq % 10), 11)) FROM seq_1_to_4000;"
                         "ALTER TABLE x ADD KEY n (b) COMPRESSION='none', ADD KEY s (b) COMPRESSION='zstd' BLOCK_SIZE=512,"
                         " ADD KEY l (b) COMPRESSION='zstd' BLOCK_SIZE=65536; CHECK TABLE x EXTENDED", "d.x,check,status,OK")
        sizes = dict(self.stored())
        none, small, large = (sizes[options] for options in (
            "compression=none", "block_bytes=512 compression=zstd", "block_bytes=65536 compression=zstd"))
        self.assertGreater(none, 2)
        self.assertGreater(none, 5 * large, sizes)
        self.assertGreater(small, 5 * large, sizes)

    def test_all_transactions_together_have_a_limit(self):
        with contextlib.closing(server.Server("--sluice-transaction-memory-size=4M", "--sluice-direct-io=ON")) as other:
            fill = "INSERT INTO x SELECT seq, REPEAT('x', 1000) FROM "
            other.run("CREATE DATABASE d; CREATE TABLE d.x (a INT PRIMARY KEY, b TEXT) ENGINE=SLUICE")
            one, two = (server.Connection(other, "d") for _ in range(2))
            with contextlib.closing(one), contextlib.closing(two):
                self.expect(one, f"BEGIN; {fill} seq_1_to_2000", "")
                self.expect(two, f"{fill} seq_3001_to_5000", "E1296")
                self.assertIn("(sluice_transaction_memory_size)", other.run(f"{fill} seq_3001_to_5000", "d", force=True))
                self.expect(one, "COMMIT", "")
                self.expect(two, f"{fill} seq_3001_to_5000; SELECT COUNT(*) FROM x", "4000")


if __name__ == "__main__":
    unittest.main()
