#!/usr/bin/env python3
"""COMPRESSION, BLOCK_SIZE and EXECUTOR of tables, partitions and indexes, and what becomes of them."""

import re
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
                       "EXECUTOR='gpu'"):
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
                         "PARTITION p VALUES LESS THAN (10), PARTITION q VALUES LESS THAN (20) EXECUTOR='unit')", "")
        self.expect_options("offload=false", "offload=true", "offload=false", "offload=true")
        self.expect(one, "ALTER TABLE x EXECUTOR=DEFAULT, ALGORITHM=INSTANT; ALTER TABLE y EXECUTOR='unit', ALGORITHM=INSTANT;"
                         "SELECT COUNT(*) FROM x; SELECT COUNT(*) FROM y", "0 0")
        self.expect_options("offload=true", "offload=true", "offload=true")

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


if __name__ == "__main__":
    unittest.main()
