#!/usr/bin/env python3
"""What indexes find and keep: which columns they have, how they are read, and values that must be unique."""

import time
import unittest

import case


class IndexTest(case.Case):
    def test_values_that_must_be_unique_are_locked(self):
        self.server.run("CREATE TABLE u (a INT PRIMARY KEY, b INT UNIQUE) ENGINE=SLUICE", "d")
        one, two = self.connect(), self.connect()
        self.expect(one, "BEGIN; INSERT INTO u VALUES (1, 1)", "")
        self.expect(two, "INSERT INTO u VALUES (2, 1)", "E1205")
        self.expect(two, "INSERT INTO u VALUES (2, NULL)", "")
        self.expect(one, "ROLLBACK", "")
        self.expect(two, "INSERT INTO u VALUES (3, 1); SELECT * FROM u", "2,NULL 3,1")

    def test_values_that_the_server_compares_are_locked(self):
        """What must be unique by a hash of long columns, and periods that must not overlap."""
        self.server.run("CREATE TABLE u (a INT PRIMARY KEY, b TEXT UNIQUE) ENGINE=SLUICE;"
                        "CREATE TABLE o (a INT, b DATE, c DATE, PERIOD FOR p (b, c), UNIQUE (a, p WITHOUT OVERLAPS)) ENGINE=SLUICE;"
                        "CREATE TABLE v (a INT, b DATE, c DATE, PERIOD FOR p (b, c), PRIMARY KEY (a, p WITHOUT OVERLAPS)) ENGINE=SLUICE;"
                        "CREATE TABLE w (a INT, b TEXT, UNIQUE (a, b)) ENGINE=SLUICE PARTITION BY HASH (a) PARTITIONS 3", "d")
        for isolation in ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"):
            for table, first, second, other in (
                    ("u", "1, 'x'", "2, 'x'", "3, 'y'"), ("w", "1, 'x'", "1, 'x'", "1, 'y'"),
                    ("o", "1, '2020-01-01', '2020-02-01'", "1, '2020-01-31', '2020-03-01'", "2, '2020-01-31', '2020-03-01'"),
                    ("v", "1, '2020-01-01', '2020-02-01'", "1, '2020-01-31', '2020-03-01'", "7, '2020-01-31', '2020-03-01'")):
                one, two = self.connect(isolation), self.connect(isolation)
                self.expect(one, f"BEGIN; INSERT INTO {table} VALUES ({first})", "")
                self.expect(two, f"INSERT INTO {table} VALUES ({second})", "E1205")
                if isolation != "SERIALIZABLE":  # where the gap is locked in which a period would overlap
                    self.expect(two, f"INSERT INTO {table} VALUES ({other})", "")
                self.expect(one, "ROLLBACK", "")
                self.expect(two, f"INSERT INTO {table} VALUES ({second})", "")
                self.expect(one, f"INSERT INTO {table} VALUES ({first})", "E1062")
                self.expect(one, f"DELETE FROM {table}; CHECK TABLE {table}", f"d.{table},check,status,OK")
        # What was committed since a transaction began to read is in the way, too, which does not see it.
        for table, first, second in (("u", "1, 'x'", "2, 'x'"), ("w", "1, 'x'", "1, 'x'"), ("o", "1, '2020-01-01', '2020-02-01'", "1, '2020-01-31', '2020-03-01'")):
            one, two = self.connect(), self.connect()
            self.expect(two, f"BEGIN; SELECT COUNT(*) FROM {table}", "0")
            self.expect(one, f"INSERT INTO {table} VALUES ({first})", "")
            self.expect(two, f"INSERT INTO {table} VALUES ({second})", "E1020")
            self.expect(two, f"BEGIN; INSERT INTO {table} VALUES ({second})", "E1062")
            self.expect(two, f"ROLLBACK; DELETE FROM {table}", "")
        # Of the first columns alone nothing is looked for that would be in the way.
        one, two = self.connect("READ COMMITTED"), self.connect("READ COMMITTED")
        self.expect(one, "CREATE TABLE x (a INT, d INT, b DATE, c DATE, PERIOD FOR p (b, c), UNIQUE (a, d, p WITHOUT OVERLAPS)) ENGINE=SLUICE;"
                         "BEGIN; SELECT * FROM x FORCE INDEX (a) WHERE a = 1 FOR UPDATE", "")
        self.expect(two, "INSERT INTO x VALUES (1, 0, '2020-01-01', '2020-02-01'), (1, NULL, '2020-01-01', '2020-02-01')", "")
        self.expect(one, "COMMIT", "")
        # What nobody else sees yet needs no locks, which would be too many.
        self.expect(one, "SET sluice_max_transaction_size = 65536; CREATE TABLE y (b TEXT) ENGINE=SLUICE SELECT CONCAT('b', seq) AS b FROM seq_1_to_9000;"
                         "ALTER TABLE y ADD UNIQUE (b); ALTER TABLE y FORCE; SELECT COUNT(*) FROM y; CHECK TABLE y", "9000 d.y,check,status,OK")
        for isolation in ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"):
            one = self.connect(isolation)
            self.expect(one, "CREATE OR REPLACE TABLE y (b TEXT, c TEXT AS (b) VIRTUAL) ENGINE=SLUICE; INSERT INTO y (b) VALUES ('b1'), ('b3'), ('b3');"
                             "SET autocommit = 0; SELECT COUNT(*) FROM y; ALTER TABLE y ADD UNIQUE (c)", "3 E1062")
            self.expect(one, "CREATE UNIQUE INDEX b ON y (b)", "E1062")

    def test_virtual_columns_in_indexes(self):
        one = self.connect()
        self.expect(one, "CREATE TABLE v (a INT PRIMARY KEY, b JSON, c INT AS (JSON_VALUE(b, '$.c')) VIRTUAL, d TEXT AS (JSON_VALUE(b, '$.d')) VIRTUAL,"
                         "KEY (c), UNIQUE (d(20)), KEY e (c, a)) ENGINE=SLUICE;"
                         "INSERT INTO v (a, b) SELECT seq, JSON_OBJECT('c', seq MOD 5, 'd', CONCAT('x', seq)) FROM seq_1_to_20", "")
        self.expect(one, "INSERT INTO v (a, b) VALUES (30, JSON_OBJECT('c', 1, 'd', 'x7'))", "E1062")
        self.expect(one, "SELECT a FROM v FORCE INDEX (c) WHERE c = 3; SELECT c, COUNT(*) FROM v FORCE INDEX (c) GROUP BY c",
                    "3 8 13 18 0,4 1,4 2,4 3,4 4,4")
        # From the index's entries, and from rows, locked and not.
        for index in "ce":
            for lock in ("", "FOR UPDATE", "LOCK IN SHARE MODE"):
                self.expect(one, f"SELECT c FROM v FORCE INDEX ({index}) WHERE c > 3 {lock}", "4 4 4 4")
                self.expect(one, f"SELECT c, d FROM v FORCE INDEX ({index}) WHERE c > 3 ORDER BY a DESC LIMIT 2 {lock}", "4,x19 4,x14")
        self.expect(one, "SELECT a FROM v WHERE d = 'x7' OR c = 2", "2 7 12 17")
        self.expect(one, "UPDATE v SET b = JSON_SET(b, '$.c', 9) WHERE c = 4; DELETE FROM v WHERE c = 0;"
                         "REPLACE INTO v (a, b) VALUES (1, JSON_OBJECT('c', 9, 'd', 'x2'));"
                         "INSERT INTO v (a, b) VALUES (50, JSON_OBJECT('d', 'x3')) ON DUPLICATE KEY UPDATE b = NULL;"
                         "DELETE x FROM v AS x JOIN v AS y ON x.c = y.c AND x.a > y.a AND x.c = 1", "")
        self.expect(one, "SELECT a, c, d FROM v; CHECK TABLE v", "1,9,x2 3,NULL,NULL 4,9,x4 6,1,x6 7,2,x7 8,3,x8 9,9,x9 12,2,x12 13,3,x13 14,9,x14"
                                                                " 17,2,x17 18,3,x18 19,9,x19 d.v,check,status,OK")
        # Columns come and go at once, wherever they are, and indexes on them are built from the rows.
        self.expect(one, "ALTER TABLE v ADD COLUMN f INT AS (a + 1) VIRTUAL FIRST, ADD COLUMN g INT DEFAULT 5, ALGORITHM=INSTANT;"
                         "ALTER TABLE v ADD KEY (f, c), ALGORITHM=INPLACE; SELECT f, c FROM v FORCE INDEX (f) WHERE f > 15; CHECK TABLE v",
                    "18,2 19,3 20,9 d.v,check,status,OK")
        self.expect(one, "ALTER TABLE v DROP COLUMN d, DROP KEY c, ALGORITHM=INSTANT; SELECT * FROM v WHERE a < 4; CHECK TABLE v",
                    '2,1,{"c": 9, "d": "x2"},9,5 4,3,NULL,NULL,5 d.v,check,status,OK')
        self.expect(one, "ALTER TABLE v DROP COLUMN f, DROP COLUMN c, ADD COLUMN h INT AS (g + a) VIRTUAL AFTER a, ADD UNIQUE (h), ALGORITHM=INPLACE;"
                         "SELECT * FROM v FORCE INDEX (h) WHERE h < 10; CHECK TABLE v",
                    '1,6,{"c": 9, "d": "x2"},5 3,8,NULL,5 4,9,{"c": 9, "d": "x4"},5 d.v,check,status,OK')
        # Transactions read the newest row, which may be elsewhere in the index by then.
        two = self.connect("READ COMMITTED")
        self.expect(one, "BEGIN; UPDATE v SET g = 100 WHERE a = 1", "")
        two.send("SET sluice_lock_wait_timeout = 10; SELECT a, h FROM v FORCE INDEX (h) WHERE h BETWEEN 0 AND 8 FOR UPDATE")
        time.sleep(.3)
        self.expect(one, "COMMIT", "")
        self.assertEqual(two.receive(), "3,8")

    def test_virtual_columns_in_indexes_of_partitions(self):
        one = self.connect()
        self.expect(one, "CREATE TABLE p (a INT, b INT, c INT AS (b) VIRTUAL, d INT AS (b) VIRTUAL, PRIMARY KEY (a DESC), KEY (b, d), KEY e (c DESC, d),"
                         "KEY f (d DESC, c DESC)) ENGINE=SLUICE PARTITION BY HASH (a) PARTITIONS 3;"
                         "INSERT INTO p (a, b) SELECT seq, seq MOD 50 FROM seq_1_to_200; ANALYZE TABLE p", "d.p,analyze,status,OK")
        for lock in ("", " FOR UPDATE"):
            # The server merges scans of e and f.
            self.expect(one, f"SELECT a FROM p WHERE c <=> 7 OR (b BETWEEN 3 AND 4 AND d = 3) ORDER BY a{lock}", "3 7 53 57 103 107 153 157")
            self.expect(one, f"SELECT a FROM p FORCE INDEX (e, f) WHERE c = 7 OR d = 3 ORDER BY a{lock}", "3 7 53 57 103 107 153 157")
            self.expect(one, f"SELECT c, d FROM p FORCE INDEX (e) WHERE c > 48 ORDER BY c, d{lock}", "49,49 49,49 49,49 49,49")
        self.expect(one, "DELETE FROM p WHERE c = 7 OR d = 3; UPDATE p SET b = 3 WHERE d = 8; SELECT COUNT(*) FROM p FORCE INDEX (f) WHERE d = 3; CHECK TABLE p",
                    "4 d.p,check,status,OK")

    def test_long_columns_are_unique(self):
        one = self.connect()
        self.expect(one, "CREATE TABLE u (a INT AUTO_INCREMENT PRIMARY KEY, b TEXT, c BLOB, UNIQUE (b, c), UNIQUE (c) USING HASH) ENGINE=SLUICE;"
                         "INSERT INTO u (b, c) VALUES ('x', REPEAT('a', 9000)), ('x', REPEAT('b', 9000)), ('x', NULL), ('x', NULL)", "")
        self.expect(one, "INSERT INTO u (b, c) VALUES ('y', REPEAT('a', 9000))", "E1062")
        self.expect(one, "INSERT IGNORE INTO u (b, c) VALUES ('y', REPEAT('a', 9000)); UPDATE u SET c = REPEAT('b', 9000) WHERE a = 1", "E1062")
        self.expect(one, "REPLACE INTO u (a, b, c) VALUES (9, 'y', REPEAT('a', 9000));"
                         "INSERT INTO u (b, c) VALUES ('z', REPEAT('b', 9000)) ON DUPLICATE KEY UPDATE b = 'q';"
                         "SELECT a, b, LENGTH(c) FROM u; CHECK TABLE u", "2,q,9000 3,x,NULL 4,x,NULL 9,y,9000 d.u,check,status,OK")
        self.expect(one, "ALTER TABLE u ADD COLUMN d TEXT, ADD UNIQUE (d); UPDATE u SET d = a; UPDATE u SET d = 3 WHERE a = 2", "E1062")
        self.expect(one, "UPDATE u SET d = 'q'", "E1062")
        self.expect(one, "ALTER TABLE u DROP KEY d; UPDATE u SET d = 'q'; ALTER TABLE u ADD UNIQUE (d)", "E1062")

    def test_partitions_are_merged_by_virtual_columns(self):
        one = self.connect()
        # Neither index has all that is asked for: the server merges rows of the partitions.
        self.expect(one, "CREATE TABLE p (a INT PRIMARY KEY, b INT, s VARCHAR(20), c INT AS (b) VIRTUAL, KEY e (c), KEY f (c DESC, s(4)))"
                         " ENGINE=SLUICE PARTITION BY HASH (a) PARTITIONS 3; INSERT INTO p (a, b, s) SELECT seq, seq * 7 MOD 11, 's' FROM seq_1_to_10", "")
        for index in ("e", "f"):
            for lock in ("", " FOR UPDATE"):
                self.expect(one, f"SELECT c FROM p FORCE INDEX ({index}) WHERE c > 0 AND s < 'x' ORDER BY c{lock}", "1 2 3 4 5 6 7 8 9 10")
                self.expect(one, f"SELECT a, c FROM p FORCE INDEX ({index}) WHERE c < 4 AND s < 'x' ORDER BY c DESC{lock}", "2,3 5,2 8,1")

    def test_duplicates_of_rows_that_change_their_partition(self):
        one = self.connect()
        self.expect(one, "CREATE TABLE p (a INT PRIMARY KEY, b INT) ENGINE=SLUICE PARTITION BY HASH (a) PARTITIONS 2", "")
        self.expect(one, "INSERT INTO p VALUES (1, 1), (2, 2); UPDATE p SET a = a + 1 WHERE a = 1", "E1062")
        self.expect(one, "SHOW WARNINGS", "Error,1062,Duplicate entry '2' for key 'PRIMARY'")

    def test_descending_primary_keys_extend_no_index(self):
        # Of which the optimizer would make the range (b, c, a DESC) <= (-1, 1, 90), without the row 56.
        one = self.connect()
        self.expect(one, "CREATE TABLE x (a INT, b INT NOT NULL, c INT, PRIMARY KEY (a DESC), KEY k (b, c)) ENGINE=SLUICE", "")
        self.expect(one, "INSERT INTO x VALUES (43, -5, 1), (55, -1, 0), (56, -1, 1), (30, -1, 1), (95, -1, 1), (57, 3, 0)", "")
        self.expect(one, "SELECT a FROM x FORCE INDEX (k) WHERE b <= -1 AND c IN (0, 1) AND a BETWEEN 40 AND 90 ORDER BY a", "43 55 56")

    def test_ranges_are_estimated(self):
        one = self.connect()
        self.expect(one, "CREATE TABLE r (a INT PRIMARY KEY, b INT, KEY (b)) ENGINE=SLUICE;"
                         "INSERT INTO r SELECT seq, seq % 20 FROM seq_1_to_20000", "")
        for where, low, high in (("b = 3", 500, 2000), ("a BETWEEN 5000 AND 9999", 3500, 7000), ("a > 19950", 50, 50),
                                 ("a > 5000", 10000, 20000), ("b IS NULL", 1, 1)):
            rows = int(one.do(f"EXPLAIN SELECT * FROM r FORCE INDEX ({'b' if where[0] == 'b' else 'PRIMARY'}) WHERE {where}").split(",")[8])
            self.assertTrue(low <= rows <= high, f"{where}: {rows}")

    def test_scans_of_several_indexes_are_merged(self):
        one = self.connect()
        self.expect(one, "CREATE TABLE m (id INT PRIMARY KEY, b INT, c VARCHAR(30), KEY b (b), KEY whole (c), KEY part (c(4)), "
                         "KEY down (c(4) DESC), KEY whole_down (c DESC)) ENGINE=SLUICE;"
                         "INSERT INTO m SELECT seq, seq MOD 60, CONCAT('c', seq MOD 50) FROM seq_1_to_300", "")
        for index in ("whole", "part", "down", "whole_down"):
            query = f"FROM m FORCE INDEX ({index}, b) WHERE c = 'c7' OR b > 58"
            self.assertIn("sort_union", one.do(f"EXPLAIN SELECT id {query}"))
            self.expect(one, f"SELECT COUNT(*), SUM(id) {query}", "11,1687")

    def test_indexes_cover_the_primary_key(self):
        one = self.connect()
        columns = ["TINYINT", "TINYINT UNSIGNED", "SMALLINT", "SMALLINT UNSIGNED", "MEDIUMINT", "MEDIUMINT UNSIGNED", "INT",
                   "INT UNSIGNED", "BIGINT", "BIGINT UNSIGNED", "BINARY(3)"]
        names = [f"p{i}" for i in range(len(columns))]
        low = ["-128", "0", "-32768", "0", "-8388608", "0", "-2147483648", "0", "-9223372036854775808", "0", "''"]
        high = ["127", "255", "32767", "65535", "8388607", "16777215", "2147483647", "4294967295", "9223372036854775807",
                "18446744073709551615", "x'ffffff'"]
        for way in ("", " DESC"):
            self.expect(one, f"CREATE OR REPLACE TABLE m ({', '.join(f'{n} {c}' for n, c in zip(names, columns))}, k INT, u INT, s VARCHAR(9), "
                             f"PRIMARY KEY ({', '.join(n + way for n in names)}), KEY k (k), UNIQUE KEY u (u)) ENGINE=SLUICE", "")
            for i, row in enumerate((low, high, ["1"] * 10 + ["'abc'"], ["-1", "1"] * 5 + ["x'61'"])):
                self.expect(one, f"INSERT INTO m VALUES ({', '.join(row)}, {i // 2}, {i}, 'x')", "")
            shown = ", ".join(names[:-1]) + f", HEX({names[-1]})"
            for index, condition in (("k", "k = 0"), ("k", "k >= 0"), ("u", "u = 2"), ("u", "u BETWEEN 1 AND 3"), ("k", "k = 1 AND p8 > 0")):
                query = f"SELECT {shown} FROM m FORCE INDEX ({index}) WHERE {condition} ORDER BY u"
                plan = one.do(f"EXPLAIN SELECT {shown} FROM m FORCE INDEX ({index}) WHERE {condition}")
                self.assertIn("Using index" if condition != "u = 2" else "const", plan)
                rows = one.do(query)
                self.assertEqual(rows, one.do(query.replace("FORCE INDEX (k)", "IGNORE INDEX (k, u)").replace("FORCE INDEX (u)", "IGNORE INDEX (k, u)")))
                self.assertEqual(len(rows.split(" ")), {"k = 0": 2, "k >= 0": 4, "u = 2": 1, "u BETWEEN 1 AND 3": 3}.get(condition, 1))

    def test_primary_keys_of_strings_are_read_from_rows(self):
        one = self.connect()
        self.expect(one, "CREATE TABLE m (p VARCHAR(20) PRIMARY KEY, k INT, s INT, KEY k (k), KEY kp (k, p), KEY s (s)) ENGINE=SLUICE CHARSET=latin1;"
                         "INSERT INTO m SELECT CONCAT('Ab', seq), seq MOD 3, seq MOD 5 FROM seq_1_to_30", "")
        for index in ("k", "kp"):
            self.expect(one, f"SELECT COUNT(*), MIN(p), MAX(p) FROM m FORCE INDEX ({index}) WHERE k = 1 AND p LIKE '%b1%'", "5,Ab1,Ab19")
        self.expect(one, "SELECT p FROM m FORCE INDEX (k) WHERE k = 2 AND p BETWEEN 'ab2' AND 'ab23'", "Ab2 Ab20 Ab23")
        query = "FROM m FORCE INDEX (PRIMARY, k, s) WHERE k = 1 OR s = 2 OR p BETWEEN 'ab2' AND 'ab29'"
        self.expect(one, f"SELECT COUNT(*), MIN(p), MAX(p) {query}", one.do(f"SELECT COUNT(*), MIN(p), MAX(p) {query.replace('FORCE', 'IGNORE')}"))

    def test_conditions_are_checked_in_the_index(self):
        one = self.connect()
        self.expect(one, "CREATE TABLE r (a INT PRIMARY KEY, b INT, c VARCHAR(20), d INT, KEY (b, c)) ENGINE=SLUICE;"
                         "INSERT INTO r SELECT seq, seq DIV 100, CONCAT('x', seq % 10), seq FROM seq_1_to_2000; FLUSH STATUS", "")
        query = "FROM r FORCE INDEX (b) WHERE b BETWEEN 3 AND 5 AND c LIKE '%7' AND d > 0"
        self.assertIn("Using index condition", one.do(f"EXPLAIN SELECT * {query}"))
        self.expect(one, f"SELECT COUNT(*), MIN(a), MAX(a) {query}", "30,307,597")
        self.expect(one, f"SELECT a {query} ORDER BY b DESC, c DESC LIMIT 2", "597 587")
        self.expect(one, "SHOW STATUS LIKE 'Handler_icp_match'", "Handler_icp_match,30")
        # The whole of the last range, which nobody reads behind.
        self.expect(one, "SELECT COUNT(*) FROM r FORCE INDEX (b) WHERE b >= 19 AND c LIKE '%3' AND d > 0", "10")
        self.expect(one, f"BEGIN; UPDATE r FORCE INDEX (b) SET d = 0 WHERE b = 3 AND c LIKE '%7'; SELECT COUNT(*) {query}; COMMIT", "20")

    def test_conditions_are_checked_in_unique_indexes(self):
        one, two = self.connect("READ COMMITTED"), self.connect()
        self.expect(one, "CREATE TABLE r (a INT PRIMARY KEY, b INT, c BINARY(3), d INT, UNIQUE (b, c)) ENGINE=SLUICE;"
                         "INSERT INTO r VALUES (1, 1, 'abc', 0), (2, 2, '', 0), (3, 3, 'a', 0)", "")
        # All columns of the index have their values: each range has one row at most.
        query = "FROM r FORCE INDEX (b) WHERE (b, c) IN ((1, 'abc'), (2, '\\0\\0\\0'), (3, 'a\\0\\0')) AND b % 2 = 1 AND d = 0"
        self.assertIn("Using index condition", one.do(f"EXPLAIN SELECT a {query}"))
        self.expect(one, f"SELECT a {query} ORDER BY a", "1 3")
        # What does not meet it is not locked.
        self.expect(one, f"BEGIN; SELECT a {query} ORDER BY a FOR UPDATE", "1 3")
        self.expect(two, "UPDATE r SET d = 1 WHERE a = 2; UPDATE r SET d = 1 WHERE b = 2 AND c = '\\0\\0\\0'", "")
        self.expect(two, "UPDATE r SET d = 1 WHERE a = 3", "E1205")
        # A literal is not padded as the column is.
        self.expect(one, "COMMIT; SELECT a FROM r FORCE INDEX (b) WHERE b IN (2, 3) AND c IN ('\\0', 'a') AND d >= 0", "")

    def test_rows_are_read_ahead(self):
        one, two = self.connect(), self.connect()
        self.expect(one, "CREATE TABLE r (a INT PRIMARY KEY, b INT, c VARCHAR(20), d TEXT, KEY (b, c(3))) ENGINE=SLUICE;"
                         "INSERT INTO r SELECT seq, seq DIV 2, CONCAT('x', seq), REPEAT(seq, seq % 50) FROM seq_1_to_1000", "")
        for table in ("r", "(SELECT * FROM r LIMIT 100000) r"):  # by the index, and otherwise
            force = "FORCE INDEX (b)" if table == "r" else ""
            for where in ("b BETWEEN 10 AND 400", "b > 480", "b = 77", "b < 30 AND c LIKE '%5'", "b IN (3, 100, 200, 499)"):
                for way in ("", "DESC"):
                    query = f"SELECT MD5(GROUP_CONCAT(a, d ORDER BY n)) FROM (SELECT ROW_NUMBER() OVER () AS n, a, d FROM (" \
                            f"SELECT a, d FROM {table} {force} WHERE {where} ORDER BY b {way}, c {way} LIMIT 700) x) y"
                    self.expected = getattr(self, "expected", {})
                    answer = one.do(f"SET group_concat_max_len = 1 << 24; {query}")
                    self.assertEqual(self.expected.setdefault((where, way), answer), answer, query)
        # There and back, in statements between which others write.
        self.expect(one, "HANDLER r OPEN; HANDLER r READ b FIRST", "1,0,x1,1")
        for a in range(2, 20):
            self.assertEqual(one.do("HANDLER r READ b NEXT").split(",")[0], str(a))
        self.expect(two, "DELETE FROM r WHERE a BETWEEN 21 AND 24; UPDATE r SET c = 'y' WHERE a = 20", "")
        self.assertEqual([one.do(f"HANDLER r READ b {way}").split(",")[0] for way in
                          ("NEXT", "NEXT", "NEXT", "PREV", "PREV", "PREV", "PREV", "NEXT", "NEXT", "NEXT", "NEXT")],
                         "20 25 26 25 20 19 18 19 20 25 26".split())
        self.assertEqual(one.do("HANDLER r READ b = (300)").split(",")[0], "600")
        self.assertEqual([one.do(f"HANDLER r READ b {way}").split(",")[0] for way in ("NEXT", "NEXT", "PREV", "PREV", "PREV", "NEXT")],
                         "601 602 601 600 599 600".split())
        self.expect(one, "HANDLER r CLOSE", "")

    def test_who_has_gone_beyond_an_end_comes_back_to_it(self):
        one, two = self.connect(), self.connect()
        self.expect(one, "CREATE TABLE h (a INT PRIMARY KEY, b INT, c INT, KEY (b), KEY (b, a)) ENGINE=SLUICE; INSERT INTO h VALUES (1,1,1), (2,2,2), (3,3,3);"
                         "HANDLER h OPEN", "")
        for index in ("`PRIMARY`", "b", "b_2"):
            self.assertEqual([one.do(f"HANDLER h READ {index} {way}").split(",")[0] for way in
                              ("LAST", "NEXT", "PREV", "PREV", "NEXT", "NEXT", "NEXT", "PREV", "FIRST", "PREV", "PREV", "NEXT", "NEXT", "PREV", "PREV", "NEXT")],
                             ["3", "", "3", "2", "3", "", "", "3", "1", "", "", "1", "2", "1", "", "1"], index)
        # What was written there meanwhile is found.
        self.expect(one, "HANDLER h READ b LAST; HANDLER h READ b NEXT", "3,3,3")
        self.expect(two, "INSERT INTO h VALUES (0,0,0), (4,4,4)", "")
        self.expect(one, "HANDLER h READ b PREV; HANDLER h READ b PREV; HANDLER h READ b PREV; HANDLER h READ b PREV", "4,4,4 3,3,3 2,2,2 1,1,1")
        self.expect(one, "HANDLER h READ b PREV; HANDLER h READ b PREV; HANDLER h READ b NEXT; HANDLER h CLOSE", "0,0,0 0,0,0")


if __name__ == "__main__":
    unittest.main()
