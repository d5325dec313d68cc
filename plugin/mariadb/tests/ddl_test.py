#!/usr/bin/env python3
"""How tables are made, changed and dropped: what is done at once or in place, beside what, and what is refused."""

import contextlib
import os
import pathlib
import signal
import time
import unittest

import case


class DdlTest(case.Case):
    def test_old_snapshots_do_not_see_a_new_table_empty(self):
        one, two = self.connect(), self.connect()
        self.expect(two, "CREATE TABLE other (a INT) ENGINE=SLUICE", "")
        self.expect(one, "BEGIN; SELECT COUNT(*) FROM other", "0")
        self.expect(two, "ALTER TABLE t ADD COLUMN c INT, ALGORITHM=COPY", "")
        self.expect(one, "SELECT COUNT(*) FROM t", "E1412")
        self.expect(one, "COMMIT; SELECT COUNT(*) FROM t", "3")

    def test_temporary_tables_belong_to_the_transaction(self):
        for level in ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"):
            one = self.connect(level)
            self.expect(one, "BEGIN; SELECT COUNT(*) FROM t", "3")
            self.expect(one, "CREATE TEMPORARY TABLE x (a INT PRIMARY KEY, b INT, KEY (b)) ENGINE=SLUICE", "")
            self.expect(one, "INSERT INTO x VALUES (1, 1), (2, 1); SELECT a FROM x WHERE b = 1", "1 2")
            self.expect(one, "CREATE TEMPORARY TABLE y (KEY (b)) ENGINE=SLUICE SELECT a, b FROM t", "")
            self.expect(one, "SELECT a, b FROM y; UPDATE y SET b = b + 1 WHERE a > 1; SELECT b FROM y WHERE b > 10", "1,10 2,20 3,30 21 31")
            self.expect(one, "ROLLBACK; SELECT COUNT(*) FROM x; SELECT COUNT(*) FROM y", "0 0")
            # ALTER TABLE ends the transaction.
            self.expect(one, "BEGIN; SELECT COUNT(*) FROM t; INSERT INTO x VALUES (1, 1); ALTER TABLE x ADD c INT FIRST; SELECT * FROM x", "3 NULL,1,1")
            self.expect(one, "ROLLBACK; SELECT * FROM x", "NULL,1,1")
            self.expect(one, "CREATE TEMPORARY TABLE z ENGINE=SLUICE SELECT a FROM t; SELECT a FROM z", "1 2 3")
            self.expect(one, "DROP TABLE x, y, z", "")

    def test_temporary_tables_are_dropped_in_the_transaction(self):
        one = self.connect()
        make = "CREATE TEMPORARY TABLE x (a INT PRIMARY KEY, b INT, KEY (b)) ENGINE=SLUICE; INSERT INTO x VALUES (1, 1)"
        for end, rows in (("COMMIT", "4"), ("ROLLBACK", "3")):
            self.expect(one, f"BEGIN; INSERT INTO t VALUES (4, 4); {make}; DROP TEMPORARY TABLE x; {make}; SELECT * FROM x; DROP TEMPORARY TABLE x; {end}", "1,1")
            self.expect(one, "SELECT COUNT(*) FROM t; DELETE FROM t WHERE a = 4", rows)
        self.server.run("DELIMITER |\nCREATE FUNCTION f() RETURNS INT DETERMINISTIC BEGIN DROP TEMPORARY TABLE IF EXISTS x; CREATE TEMPORARY TABLE x (a INT)"
                        " ENGINE=SLUICE; INSERT INTO x VALUES (1), (2); RETURN (SELECT SUM(a) FROM x); END|", "d")
        self.expect(one, "SELECT f() FROM t; SELECT f()", "3 3 3 3")

    def test_tables_are_made_of_what_was_read_before(self):
        one = self.connect()
        self.expect(one, "CREATE FUNCTION f() RETURNS INT READS SQL DATA RETURN (SELECT MAX(b) FROM t)", "")
        self.expect(one, "CREATE TABLE u ENGINE=SLUICE SELECT a FROM t UNION SELECT b FROM t; SELECT * FROM u", "1 2 3 10 20 30")
        self.expect(one, "CREATE TABLE v ENGINE=SLUICE SELECT f() AS c FROM t; SELECT * FROM v", "30 30 30")

    def test_nothing_that_was_counted_is_left_for_another_connection(self):
        writer = self.connect()
        self.expect(writer, "CREATE TABLE s (id INT PRIMARY KEY, k INT, KEY k (k)) ENGINE=SLUICE; INSERT INTO s SELECT seq, seq DIV 3 FROM seq_1_to_100;"
                    "CREATE TABLE c (n INT) ENGINE=SLUICE; INSERT INTO c VALUES (3), (4); FLUSH TABLES s", "")
        self.connect().do("EXPLAIN SELECT * FROM s WHERE k = 3")
        self.expect(writer, "INSERT INTO s VALUES (1000, 3); DELETE FROM s WHERE id = 9", "")
        self.expect(self.connect(), "SELECT s.id FROM c STRAIGHT_JOIN s FORCE INDEX (k) ON s.k = c.n", "10 11 1000 12 13 14")

    def test_overlaps_are_found_where_a_table_is_made_of_another(self):
        one = self.connect()
        self.expect(one, "CREATE TABLE src (id INT, s DATE, e DATE) ENGINE=SLUICE; INSERT INTO src VALUES (1, '2020-01-01', '2021-01-01'),"
                    "(1, '2020-06-01', '2020-09-01'); SET autocommit = 0", "")
        self.expect(one, "CREATE TABLE x (id INT, s DATE, e DATE, PERIOD FOR p (s, e), UNIQUE (id, p WITHOUT OVERLAPS)) ENGINE=SLUICE SELECT * FROM src", "E1062")

    def test_tables_are_not_replaced_below_a_prepared_transaction(self):
        one = self.connect()
        self.expect(one, "XA START 'a'; INSERT INTO t VALUES (4, 10); XA END 'a'; XA PREPARE 'a'", "")
        self.server.kill()
        self.server.start()
        one = self.connect()
        for sql, error in (("TRUNCATE t", "E1296"), ("ALTER TABLE t ADD KEY x (b, a)", "E1105"), ("ALTER TABLE t DROP COLUMN b", "E1105"),
                           ("ALTER TABLE t FORCE", "E1105"), ("DELETE FROM t WHERE a = 4", "E1205")):
            self.expect(one, sql, error)
        # Others are not concerned.
        self.expect(one, "CREATE OR REPLACE TABLE u (a INT PRIMARY KEY, b INT) ENGINE=SLUICE; INSERT INTO u VALUES (1, 10);"
                    "ALTER TABLE u ADD KEY x (b); ALTER TABLE u FORCE; SELECT b FROM u; TRUNCATE u", "10")
        self.expect(one, "CREATE TABLE p (a INT PRIMARY KEY, b INT) ENGINE=SLUICE PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (100))", "")
        for sql, error in (("ALTER TABLE t FORCE, ALGORITHM=COPY", "E1296"), ("ALTER TABLE t ENGINE=Aria", "E1296"),
                           ("DROP TABLE t", "E1205"), ("CREATE OR REPLACE TABLE t (a INT) ENGINE=SLUICE", "E1205"),
                           ("ALTER TABLE p EXCHANGE PARTITION p0 WITH TABLE t", "E1296")):
            self.expect(one, sql, error)
        self.expect(one, "DROP TABLE p; SELECT COUNT(*) FROM t; CHECK TABLE t", "3 d.t,check,status,OK")
        self.expect(one, "XA COMMIT 'a'; ALTER TABLE t ADD KEY x (b, a); SELECT a FROM t FORCE INDEX (x) WHERE b = 10; CHECK TABLE t",
                    "1 4 d.t,check,status,OK")
        # One whose connection has prepared it, and goes.
        two = self.connect()
        self.expect(two, "XA START 'b'; INSERT INTO t VALUES (5, 10); XA END 'b'; XA PREPARE 'b'", "")
        two.close()
        self.connections.remove(two)
        while int(one.do("SELECT COUNT(*) FROM information_schema.processlist WHERE user = CURRENT_USER() OR command = 'Sleep'")) > 1:
            pass
        self.expect(one, "TRUNCATE t", "E1296")
        self.expect(one, "XA ROLLBACK 'b'; TRUNCATE t; SELECT COUNT(*) FROM t", "0")

    def test_partitions_are_not_replaced_below_a_prepared_transaction(self):
        one = self.connect()
        self.expect(one, "CREATE TABLE p (a INT PRIMARY KEY, b INT, KEY (b)) ENGINE=SLUICE PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (10),"
                         "PARTITION p1 VALUES LESS THAN (20), PARTITION p2 VALUES LESS THAN (30)); INSERT INTO p VALUES (1, 1), (11, 11);"
                         "CREATE TABLE h (a INT PRIMARY KEY) ENGINE=SLUICE PARTITION BY HASH (a) PARTITIONS 3; INSERT INTO h VALUES (1), (2);"
                         "CREATE TABLE s (a INT PRIMARY KEY) ENGINE=SLUICE PARTITION BY RANGE (a) SUBPARTITION BY HASH (a) SUBPARTITIONS 2"
                         "(PARTITION p0 VALUES LESS THAN (10)); CREATE TABLE q LIKE p", "")
        self.expect(one, "XA START 'a'; INSERT INTO p VALUES (12, 12); INSERT INTO h VALUES (4); INSERT INTO s VALUES (4); XA END 'a'; XA PREPARE 'a'", "")
        self.server.kill()
        self.server.start()
        one = self.connect()
        for lock in ("", "LOCK TABLES p WRITE, h WRITE, s WRITE;"):
            for sql, error in (("ALTER TABLE p DROP PARTITION p1", "E1296"), ("ALTER TABLE p REBUILD PARTITION p1", "E1296"),
                               ("ALTER TABLE p REORGANIZE PARTITION p1, p2 INTO (PARTITION p1 VALUES LESS THAN (30))", "E1296"),
                               ("ALTER TABLE p TRUNCATE PARTITION p0, p1", "E1296"), ("TRUNCATE p", "E1296"), ("TRUNCATE h", "E1296"),
                               ("ALTER TABLE p CONVERT PARTITION p1 TO TABLE c", "E1296"), ("ALTER TABLE p REMOVE PARTITIONING", "E1296"),
                               ("ALTER TABLE h COALESCE PARTITION 1", "E1296"), ("ALTER TABLE h ADD PARTITION PARTITIONS 1", "E1296"),
                               ("DROP TABLE p", "E1205"), ("DROP TABLE IF EXISTS h", "E1205"), ("DROP TABLE s", "E1205"),
                               ("CREATE OR REPLACE TABLE p (a INT) ENGINE=SLUICE", "E1205"),
                               ("CREATE OR REPLACE TABLE h (a INT) ENGINE=SLUICE SELECT a FROM p", "E1205")):
                self.expect(one, f"{lock} {sql}", error)
            self.expect(one, f"{lock} SELECT a FROM p ORDER BY a; SELECT a FROM h ORDER BY a; CHECK TABLE p, h, s", "1 11 1 2 d.p,check,status,OK d.h,check,status,OK d.s,check,status,OK")
        self.expect(one, "UNLOCK TABLES; DROP DATABASE d", "E1205")
        # Others are not concerned, nor are statements that replace nothing.
        for what in ("check", "analyze", "optimize"):
            self.expect(one, f"ALTER TABLE p {what} PARTITION ALL", f"d.p,{what},status,OK")
        self.expect(one, "ALTER TABLE p TRUNCATE PARTITION p0; CREATE TEMPORARY TABLE p (a INT) ENGINE=SLUICE; DROP TEMPORARY TABLE p; DROP TABLE q", "")
        self.expect(one, "XA COMMIT 'a'; SELECT a FROM p ORDER BY a; SELECT a FROM h ORDER BY a; SELECT a FROM s", "11 12 1 2 4 4")
        self.expect(one, "CHECK TABLE p, h, s; ALTER TABLE p DROP PARTITION p1; ALTER TABLE h COALESCE PARTITION 1; SELECT a FROM h ORDER BY a",
                    "d.p,check,status,OK d.h,check,status,OK d.s,check,status,OK 1 2 4")
        self.expect(one, "DROP TABLE p, h, s; DROP DATABASE d", "")

    def test_tables_are_not_replaced_while_the_connection_of_a_prepared_transaction_goes(self):
        one, watcher = self.connect(), self.connect()
        self.expect(one, "CREATE TABLE p (a INT PRIMARY KEY) ENGINE=SLUICE PARTITION BY HASH (a) PARTITIONS 2", "")
        for sql, error in (("TRUNCATE t", "E1296"), ("DROP TABLE t", "E1205"), ("DROP TABLE p", "E1205"), ("ALTER TABLE t ADD KEY x (b, a)", "E1296"),
                           ("ALTER TABLE t FORCE, ALGORITHM=COPY", "E1296"), ("ALTER TABLE p COALESCE PARTITION 1", "E1296"),
                           ("ALTER TABLE t ADD COLUMN c INT", "E1296")):
            two = self.connect()
            self.expect(two, "XA START 'a'; INSERT INTO t VALUES (4, 10); INSERT INTO p VALUES (1); XA END 'a'; XA PREPARE 'a'", "")
            one.send(sql)  # waits for the server's lock
            while watcher.do("SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE 'Waiting for table%'") == "0":
                time.sleep(0.01)
            two.close()
            self.connections.remove(two)
            self.assertEqual(one.receive(), error, sql)
            self.expect(one, "XA COMMIT 'a'; SELECT COUNT(*) FROM t; SELECT COUNT(*) FROM p; DELETE FROM t WHERE a = 4; DELETE FROM p", "4 1")

    def test_others_than_prepared_transactions_may_outlast_a_wait_for_locks(self):
        one, two = self.connect(), self.connect()
        self.expect(one, "CREATE TABLE u (a INT PRIMARY KEY) ENGINE=SLUICE; XA START 'a'; INSERT INTO u VALUES (4); XA END 'a'; XA PREPARE 'a'", "")
        self.server.kill()
        self.server.start()
        for how in ("ADD COLUMN c INT", "ADD KEY x (b, a)", "FORCE, ALGORITHM=COPY"):
            one, two = self.connect(), self.connect()
            self.expect(two, "BEGIN; UPDATE t SET b = b + 1 WHERE a = 1; SELECT a FROM t WHERE a > 1 FOR UPDATE", "2 3")
            one.send(f"ALTER TABLE t {how}")
            self.expect(two, "SELECT SLEEP(0.5); UPDATE t SET b = b + 1 WHERE a = 1; COMMIT", "0")
            self.assertEqual(one.receive(), "")
        self.expect(self.connect(), "SELECT b FROM t WHERE a = 1; CHECK TABLE t; XA ROLLBACK 'a'", "16 d.t,check,status,OK")

    def test_tables_are_altered_in_all_situations(self):
        one = self.connect()
        # An index takes as long as the table is large, and keeps writers out.
        for how in ("ALGORITHM=INSTANT", "ALGORITHM=NOCOPY, LOCK=NONE"):
            self.expect(one, f"ALTER TABLE t ADD KEY c (b, a), {how}", "E1845")
        self.expect(one, "ALTER TABLE t ADD KEY c (b, a), ALGORITHM=NOCOPY, LOCK=SHARED; ALTER TABLE t DROP KEY c, ALGORITHM=INSTANT", "")
        self.expect(one, "CREATE TABLE v (a INT PRIMARY KEY, b INT AS (a * 2) VIRTUAL, c INT AS (a * 3) STORED) ENGINE=SLUICE;"
                         "INSERT INTO v (a) VALUES (1), (2); ALTER TABLE v ADD COLUMN d INT DEFAULT 4, ALGORITHM=INSTANT;"
                         "INSERT INTO v (a, d) VALUES (3, 5); SELECT * FROM v", "1,2,3,4 2,4,6,4 3,6,9,5")
        self.expect(one, "CREATE TEMPORARY TABLE s (a INT PRIMARY KEY, b INT) ENGINE=SLUICE; INSERT INTO s VALUES (1, 1);"
                         "ALTER TABLE s ADD COLUMN c INT DEFAULT 2, ADD KEY (b); SELECT * FROM s FORCE INDEX (b)", "1,1,2")
        self.expect(one, "LOCK TABLES t WRITE; ALTER TABLE t ADD COLUMN c INT DEFAULT 2; ALTER TABLE t ADD KEY (c);"
                         "INSERT INTO t VALUES (4, 40, 3); SELECT a FROM t FORCE INDEX (c) WHERE c > 1; UNLOCK TABLES", "1 2 3 4")
        self.expect(one, "ALTER TABLE t ADD COLUMN d INT DEFAULT 5; RENAME TABLE t TO w; SELECT d FROM w WHERE a = 1", "5")
        self.expect(one, "RENAME TABLE w TO t; CREATE TABLE l LIKE t; INSERT INTO l SELECT * FROM t; SELECT * FROM l WHERE a = 4", "4,40,3,5")
        # A partition that was a table with rows that lack a column.
        self.expect(one, "CREATE TABLE x (a INT, b INT) ENGINE=SLUICE; INSERT INTO x VALUES (3, 3); ALTER TABLE x ADD COLUMN c INT DEFAULT 7;"
                         "CREATE TABLE p (a INT, b INT, c INT DEFAULT 7) ENGINE=SLUICE PARTITION BY RANGE (a) (PARTITION x VALUES LESS THAN (10),"
                         "PARTITION y VALUES LESS THAN MAXVALUE); INSERT INTO p VALUES (4, 4, 4);"
                         "ALTER TABLE p EXCHANGE PARTITION x WITH TABLE x; SELECT * FROM p; SELECT * FROM x", "3,3,7 4,4,4")
        self.expect(one, "ALTER TABLE p ALTER c SET DEFAULT 8; SELECT * FROM p", "3,3,7")

    def test_tables_with_versions_are_altered_where_they_are(self):
        one = self.connect()
        columns = "a INT PRIMARY KEY, b INT, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START, e TIMESTAMP(6) GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (s, e)"
        for table, partitions in ((columns, ""), ("a INT PRIMARY KEY, b INT", ""),
                                  ("a INT PRIMARY KEY, b INT", "PARTITION BY SYSTEM_TIME (PARTITION h HISTORY, PARTITION c CURRENT)")):
            self.expect(one, f"CREATE OR REPLACE TABLE v ({table}) ENGINE=SLUICE WITH SYSTEM VERSIONING {partitions}; INSERT INTO v (a, b) VALUES (1, 1), (2, 2);"
                             "UPDATE v SET b = 3 WHERE a = 1; SET system_versioning_alter_history = ERROR", "")
            self.expect(one, "ALTER TABLE v ADD COLUMN x INT", "E4119")
            for change, how in (("ADD COLUMN x INT DEFAULT 7 AFTER a", "INSTANT"), ("MODIFY b BIGINT", "INSTANT"), ("ADD COLUMN y INT WITHOUT SYSTEM VERSIONING", "INSTANT"),
                                ("DROP COLUMN y", "INSTANT"), ("ADD KEY k (b, x)", "NOCOPY"), ("RENAME COLUMN b TO c", "INSTANT"), ("ADD UNIQUE u (c, a)", "NOCOPY")):
                self.expect(one, f"SET system_versioning_alter_history = KEEP; ALTER TABLE v {change}, ALGORITHM={how}", "")
            self.expect(one, "UPDATE v SET c = 4 WHERE a = 2; DELETE FROM v WHERE a = 1; SELECT a, x, c FROM v FOR SYSTEM_TIME ALL ORDER BY a, c; SELECT a, x, c FROM v;"
                             "CHECK TABLE v; SELECT a, c FROM v FOR SYSTEM_TIME ALL FORCE INDEX (k) WHERE c > 1 ORDER BY c",
                        "1,7,1 1,7,3 2,7,2 2,7,4 2,7,4 d.v,check,status,OK 2,2 1,3 2,4")
        # What begins or ends versions copies.
        self.expect(one, "ALTER TABLE v REMOVE PARTITIONING; ALTER TABLE v DROP SYSTEM VERSIONING, ALGORITHM=INSTANT", "E1845")
        self.expect(one, "ALTER TABLE v DROP SYSTEM VERSIONING; SELECT * FROM v; ALTER TABLE v ADD SYSTEM VERSIONING, ALGORITHM=INSTANT", "2,7,4 E1845")

    def test_building_an_index_can_be_killed(self):
        one, two = self.connect(), self.connect()
        self.expect(one, "CREATE TABLE r (a INT PRIMARY KEY, b INT) ENGINE=SLUICE;"
                         "INSERT INTO r SELECT seq, seq FROM seq_1_to_400000", "")
        number = one.do("SELECT CONNECTION_ID()")
        answer = ""
        while answer == "":  # until it is killed before it has ended
            one.send("ALTER TABLE r ADD KEY x (b), ADD KEY y (b, a), ADD UNIQUE z (b)")
            two.do(f"SELECT SLEEP(0.1); KILL QUERY {number}")
            answer = one.receive()
            if answer == "":
                self.expect(one, "ALTER TABLE r DROP KEY x, DROP KEY y, DROP KEY z", "")
        self.assertEqual(answer, "E1317")
        self.expect(one, "ALTER TABLE r ADD KEY (b); SELECT a FROM r FORCE INDEX (b) WHERE b = 77; CHECK TABLE r", "77 d.r,check,status,OK")

    def test_names_and_defaults_change_at_once(self):
        one = self.connect()
        self.expect(one, "ALTER TABLE t RENAME COLUMN b TO c, COMMENT 'x', ALGORITHM=INPLACE; ALTER TABLE t ALTER c SET DEFAULT 7,"
                         "ALGORITHM=INPLACE; ALTER TABLE t RENAME INDEX b TO d, ALGORITHM=INPLACE; INSERT INTO t (a) VALUES (4); SELECT a FROM t FORCE INDEX (d) WHERE c = 7", "4")
        self.expect(one, "CREATE TABLE p (a INT) ENGINE=SLUICE PARTITION BY RANGE (a) (PARTITION x VALUES LESS THAN (10),"
                         "PARTITION y VALUES LESS THAN MAXVALUE); INSERT INTO p SELECT seq FROM seq_1_to_20;"
                         "CREATE TABLE q (a INT) ENGINE=SLUICE; INSERT INTO q VALUES (3)", "")
        self.expect(one, "ALTER TABLE p EXCHANGE PARTITION x WITH TABLE q; SELECT COUNT(*) FROM p; SELECT COUNT(*) FROM q",
                    "12 9")
        self.server.kill()
        self.server.start()
        self.expect(self.connect(), "SELECT SUM(c) FROM t FORCE INDEX (d); SELECT COUNT(*) FROM p; CHECK TABLE t, p, q",
                    "67 12 d.t,check,status,OK d.p,check,status,OK d.q,check,status,OK")

    def test_automatic_values_are_set_at_once(self):
        one = self.connect()
        for partitions in ("", " PARTITION BY HASH (a) PARTITIONS 3"):
            for key in ("PRIMARY KEY (a)", "PRIMARY KEY (a DESC)", "KEY (a)", "KEY (b), KEY (a, b)"):
                self.expect(one, f"CREATE OR REPLACE TABLE n (a INT AUTO_INCREMENT, b INT, {key}) ENGINE=SLUICE{partitions};"
                            "INSERT INTO n (b) VALUES (1), (2)", "")
                self.expect(one, "ALTER TABLE n AUTO_INCREMENT = 100, ALGORITHM=INSTANT, LOCK=NONE; INSERT INTO n (b) VALUES (3);"
                            "SELECT MAX(a) FROM n", "100")
                # It goes back to behind the highest value, and not further.
                self.expect(one, "ALTER TABLE n AUTO_INCREMENT = 50, ALGORITHM=INSTANT; INSERT INTO n (b) VALUES (4); SELECT MAX(a) FROM n", "101")
                self.expect(one, "DELETE FROM n WHERE a > 2; ALTER TABLE n AUTO_INCREMENT = 0, COMMENT = 'x', ALGORITHM=INPLACE;"
                            "INSERT INTO n (b) VALUES (5); SELECT MAX(a) FROM n", "3")
                # With other changes; whether these are made anew is not the value's matter.
                self.expect(one, "ALTER TABLE n ADD c INT, AUTO_INCREMENT = 200, ALGORITHM=INSTANT; INSERT INTO n (b) VALUES (6);"
                            "ALTER TABLE n ADD KEY k (b), AUTO_INCREMENT = 300, ALGORITHM=NOCOPY; INSERT INTO n (b) VALUES (7);"
                            "SELECT a FROM n WHERE a > 100 ORDER BY a", "200 300")
                self.expect(one, "ALTER TABLE n AUTO_INCREMENT = 5000, ALGORITHM=INSTANT", "")
                one.close()
                self.connections.clear()
                self.server.restart()
                one = self.connect()
                self.expect(one, "INSERT INTO n (b) VALUES (8); SELECT MAX(a) FROM n", "5000")
                self.expect(one, "ALTER TABLE n AUTO_INCREMENT = 6000, ALGORITHM=INSTANT", "")
                one.close()
                self.connections.clear()
                self.server.kill()
                self.server.start()
                one = self.connect()
                self.expect(one, "INSERT INTO n (b) VALUES (9); SELECT MAX(a) FROM n", "6000")
                self.assertIn("\tOK", self.server.run("CHECK TABLE n", "d"))
        # Another column's values are looked at, one by one.
        self.expect(one, "CREATE OR REPLACE TABLE n (a INT NOT NULL AUTO_INCREMENT, b INT NOT NULL, KEY (a), KEY (b)) ENGINE=SLUICE;"
                    "INSERT INTO n (b) VALUES (15), (20);"
                    "ALTER TABLE n MODIFY a INT NOT NULL, MODIFY b INT NOT NULL AUTO_INCREMENT;"
                    "INSERT INTO n (a) VALUES (0); SELECT MAX(b) FROM n", "21")
        self.expect(one, "CREATE OR REPLACE TABLE n (a INT NOT NULL, b INT NOT NULL AUTO_INCREMENT, KEY (a, b)) ENGINE=SLUICE;"
                    "INSERT INTO n VALUES (1, 15), (2, 20)", "")
        self.expect(one, "ALTER TABLE n DROP KEY a, ADD KEY (b), ALGORITHM=NOCOPY", "E1845")
        self.expect(one, "ALTER TABLE n DROP KEY a, ADD KEY (b); INSERT INTO n (a) VALUES (1); SELECT MAX(b) FROM n", "21")
        # Writers are waited for.
        two = self.connect()
        self.expect(one, "CREATE OR REPLACE TABLE n (a INT PRIMARY KEY AUTO_INCREMENT) ENGINE=SLUICE; BEGIN; INSERT INTO n VALUES (70)", "")
        two.send("ALTER TABLE n AUTO_INCREMENT = 5, ALGORITHM=INSTANT; INSERT INTO n VALUES (0); SELECT MAX(a) FROM n")
        self.wait("ALTER TABLE n AUTO_INCREMENT = 5, ALGORITHM=INSTANT")
        self.expect(one, "COMMIT", "")
        self.assertEqual(two.receive(), "71")

    def test_indexes_are_ignored_at_once(self):
        one = self.connect()
        for partitions in ("", " PARTITION BY HASH (a) PARTITIONS 3"):
            self.expect(one, "CREATE OR REPLACE TABLE n (a INT PRIMARY KEY, b INT, c VARCHAR(9), v INT AS (b + 1), KEY i (b), KEY j (v), UNIQUE k (c, a))"
                        f" ENGINE=SLUICE{partitions}; INSERT INTO n (a, b, c) VALUES (1, 10, 'x'), (2, 20, 'y')", "")
            for index in "ijk":
                for ignored in ("IGNORED", "NOT IGNORED", "IGNORED"):
                    self.expect(one, f"ALTER TABLE n ALTER INDEX {index} {ignored}, ALGORITHM=INSTANT, LOCK=NONE", "")
            # They are kept up to date meanwhile.
            self.expect(one, "INSERT INTO n (a, b, c) VALUES (3, 30, 'z'); SELECT a FROM n FORCE INDEX (i) WHERE b = 30", "E1176")
            self.expect(one, "INSERT INTO n (a, b, c) VALUES (3, 30, 'z')", "E1062")
            self.server.restart()
            one = self.connect()
            self.assertEqual(self.server.run("SHOW CREATE TABLE n", "d").count("IGNORED"), 3)
            self.expect(one, "ALTER TABLE n ALTER INDEX i NOT IGNORED, ALTER INDEX j NOT IGNORED, ALTER INDEX k NOT IGNORED, ALGORITHM=INSTANT;"
                        "SELECT a FROM n FORCE INDEX (i) WHERE b = 30; SELECT a FROM n FORCE INDEX (j) WHERE v = 31", "3 3")
            self.assertIn("\tOK", self.server.run("CHECK TABLE n", "d"))

    def test_columns_are_added_at_once(self):
        one, two = self.connect(), self.connect()
        self.expect(two, "BEGIN; SELECT COUNT(*) FROM t AS x", "3")
        self.expect(two, "COMMIT", "")
        self.expect(one, "ALTER TABLE t ADD COLUMN c INT NOT NULL DEFAULT 7, ADD COLUMN d VARCHAR(20) DEFAULT 'x', ALGORITHM=INSTANT;"
                         "SELECT * FROM t", "1,10,7,x 2,20,7,x 3,30,7,x")
        self.expect(one, "INSERT INTO t VALUES (4, 40, 1, NULL); UPDATE t SET b = 21 WHERE a = 2", "")
        # Another default is for other rows.
        self.expect(one, "ALTER TABLE t ALTER c SET DEFAULT 8, ALTER d SET DEFAULT 'y', ALGORITHM=INSTANT;"
                         "INSERT INTO t (a) VALUES (5)", "")
        self.expect(one, "ALTER TABLE t ADD COLUMN e DECIMAL(10,2) NOT NULL DEFAULT 1.5, ADD COLUMN f TEXT, ADD COLUMN g BIT(3) DEFAULT b'101',"
                         "ADD COLUMN h ENUM('p', 'q') NOT NULL, ALGORITHM=INSTANT", "")
        rows = ("1,10,7,x,1.50,NULL,5,p 2,21,7,x,1.50,NULL,5,p 3,30,7,x,1.50,NULL,5,p 4,40,1,NULL,1.50,NULL,5,p"
                " 5,NULL,8,y,1.50,NULL,5,p")
        everything = "SELECT a, b, c, d, e, f, g + 0, h FROM t"
        self.expect(one, everything, rows)
        self.server.kill()
        self.server.start()
        one, two = self.connect(), self.connect()
        self.expect(one, everything, rows)
        self.expect(one, "CHECK TABLE t", "d.t,check,status,OK")
        # Keys over them, on rows that do not have them.
        self.expect(one, "ALTER TABLE t ADD KEY (c, d), ADD COLUMN i INT DEFAULT 3, ADD KEY (i, a), ALGORITHM=INPLACE;"
                         "SELECT a FROM t FORCE INDEX (c) WHERE c = 7; SELECT COUNT(*) FROM t FORCE INDEX (i) WHERE i = 3;"
                         "CHECK TABLE t", "1 2 3 5 d.t,check,status,OK")
        self.expect(one, "ALTER TABLE t DROP COLUMN b; SELECT a, c, i FROM t", "1,7,3 2,7,3 3,7,3 4,1,3 5,8,3")
        # What must be computed for each row is not done at once.
        for column in ("z INT AS (a + 1) STORED", "z DATETIME DEFAULT CURRENT_TIMESTAMP", "z INT DEFAULT (RAND())", "z TEXT DEFAULT 'x'", "z TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP"):
            self.expect(one, f"ALTER TABLE t ADD COLUMN {column}, ALGORITHM=INSTANT", "E1845")
            self.expect(one, f"ALTER TABLE t ADD COLUMN {column}; ALTER TABLE t DROP COLUMN z; CHECK TABLE t", "d.t,check,status,OK")

    def test_columns_change_at_once(self):
        one = self.connect()
        at_once = "ALGORITHM=INSTANT"
        self.expect(one, "CREATE TABLE c (a INT PRIMARY KEY, b INT NOT NULL, c VARCHAR(20), d TEXT, e DECIMAL(9,3), f ENUM('x', 'y'), KEY (f)) ENGINE=SLUICE;"
                         "INSERT INTO c VALUES (1, 1, 'one', 'text', 1.5, 'x'), (2, -2, '', NULL, NULL, 'y')", "")
        # Wider, with and without NULL: old rows beside new ones.
        self.expect(one, f"ALTER TABLE c MODIFY b BIGINT, MODIFY c VARCHAR(300), {at_once};"
                         "INSERT INTO c VALUES (3, 99999999999, REPEAT('q', 300), 't3', -7, NULL), (4, NULL, NULL, NULL, NULL, NULL);"
                         "SELECT a, b, c, d, e, f FROM c WHERE a <> 3; SELECT b, LENGTH(c) FROM c WHERE a = 3",
                    "1,1,one,text,1.500,x 2,-2,,NULL,NULL,y 4,NULL,NULL,NULL,NULL,NULL 99999999999,300")
        # Some go, others come at their places, or change theirs.
        self.expect(one, f"ALTER TABLE c DROP COLUMN d, DROP COLUMN e, ADD COLUMN g INT NOT NULL DEFAULT 7 FIRST, {at_once};"
                         f"INSERT INTO c VALUES (8, 5, 5, 'five', 'y'); ALTER TABLE c MODIFY c VARCHAR(300) FIRST, ADD COLUMN d TEXT AFTER a, {at_once};"
                         "INSERT INTO c VALUES ('six', 9, 6, 'd6', 6, NULL); SELECT * FROM c WHERE a <> 3; CHECK TABLE c",
                    "one,7,1,NULL,1,x ,7,2,NULL,-2,y NULL,7,4,NULL,NULL,NULL five,8,5,NULL,5,y six,9,6,d6,6,NULL d.c,check,status,OK")
        self.server.kill()
        self.server.start()
        one = self.connect()
        # Old rows are changed to new ones, and indexes made of both.
        self.expect(one, "UPDATE c SET d = 'new' WHERE a < 3; ALTER TABLE c ADD KEY (g, b), ADD KEY (c(5)), ALGORITHM=INPLACE;"
                         "SELECT a, b, d FROM c FORCE INDEX (g) WHERE g = 7 AND b < 100; SELECT a FROM c FORCE INDEX (c) WHERE c LIKE 'qqqqqq%'; CHECK TABLE c",
                    "2,-2,new 1,1,new 3 d.c,check,status,OK")
        # The default of a column that came is that of then, whatever becomes of it and of the others.
        self.expect(one, f"ALTER TABLE c ALTER g SET DEFAULT 8, {at_once}; ALTER TABLE c DROP COLUMN f, DROP KEY f, DROP COLUMN d, {at_once};"
                         f"ALTER TABLE c MODIFY a INT AFTER b, {at_once}; ALTER TABLE c RENAME COLUMN b TO h, {at_once}; SELECT * FROM c WHERE a <> 3; CHECK TABLE c",
                    "one,7,1,1 ,7,-2,2 NULL,7,NULL,4 five,8,5,5 six,9,6,6 d.c,check,status,OK")
        # Not what would lose values, nor what entries of indexes have.
        for what in ("MODIFY h INT", "MODIFY h BIGINT UNSIGNED", "MODIFY h BIGINT NOT NULL", "MODIFY g BIGINT", "MODIFY c VARCHAR(20)",
                     "MODIFY c VARCHAR(400) CHARACTER SET utf8mb4", "MODIFY h DECIMAL(20)", "MODIFY a BIGINT"):
            self.expect(one, f"ALTER TABLE c {what}, {at_once}", "E1845")
        # With InnoDB, too, a CHECK of a column is for what is written from now on, unless the table is copied.
        self.expect(one, f"CREATE TABLE k (a INT, b INT, c VARCHAR(9)) ENGINE=SLUICE; INSERT INTO k VALUES (1, 1, '');"
                         f"ALTER TABLE k ADD d INT DEFAULT 0 CHECK (d > 0), MODIFY c VARCHAR(99) CHECK (c > ''), {at_once}; SELECT * FROM k", "1,1,,0")
        self.expect(one, "INSERT INTO k VALUES (2, 2, 'x', 0); INSERT INTO k VALUES (2, 2, '', 1); INSERT INTO k VALUES (2, 2, 'x', 1);"
                         "ALTER TABLE k MODIFY b BIGINT CHECK (b > 1)", "E4025 E4025 E4025")
        self.expect(one, f"ALTER TABLE k MODIFY b BIGINT CHECK (b > 0), {at_once}", "E1845")
        self.expect(one, "ALTER TABLE c FORCE; SELECT h, LENGTH(c), a FROM c WHERE a < 4; CHECK TABLE c", "1,3,1 -2,0,2 99999999999,300,3 d.c,check,status,OK")
        # Rows that a partition brings along have their own schemas.
        self.expect(one, f"CREATE TABLE x (a INT, b INT, c INT) ENGINE=SLUICE; INSERT INTO x VALUES (3, 3, 3); ALTER TABLE x DROP COLUMN b, {at_once};"
                         "CREATE TABLE p (a INT, c INT) ENGINE=SLUICE PARTITION BY RANGE (a) (PARTITION x VALUES LESS THAN (10),"
                         "PARTITION y VALUES LESS THAN MAXVALUE); INSERT INTO p VALUES (4, 4); ALTER TABLE p EXCHANGE PARTITION x WITH TABLE x;"
                         "INSERT INTO p VALUES (5, 5); SELECT * FROM p; SELECT * FROM x; CHECK TABLE p, x", "3,3 5,5 4,4 d.p,check,status,OK d.x,check,status,OK")
        self.expect(one, f"ALTER TABLE p DROP COLUMN c, {at_once}; SELECT * FROM p; CHECK TABLE p", "3 5 d.p,check,status,OK")

    def test_partitions_and_tables_have_indexes_in_other_orders(self):
        one = self.connect()
        good = "d.p,check,status,OK d.q,check,status,OK"
        # As long as each other or not; and rows with a key, without, and with one that is a UNIQUE.
        for kind, key in (("INT", "PRIMARY KEY"), ("VARCHAR(10)", "PRIMARY KEY"), ("INT", ""), ("INT", "NOT NULL UNIQUE")):
            columns = f"id INT {key}, a INT, b {kind}"
            uniques = ("UNIQUE KEY ux (id, a, b)", "UNIQUE KEY uy (id, b, a)")
            plain = ("KEY ka (a)", "KEY kb (b)")
            self.expect(one, f"CREATE OR REPLACE TABLE p ({columns}, {', '.join(uniques + plain)}) ENGINE=SLUICE"
                             " PARTITION BY RANGE (id) (PARTITION x VALUES LESS THAN (1000), PARTITION y VALUES LESS THAN (2000));"
                             f"CREATE OR REPLACE TABLE q ({columns}, {', '.join((plain + uniques)[::-1])}) ENGINE=SLUICE;"
                             "INSERT INTO p VALUES (1, 10, 20), (2, 11, 21), (1001, 1, 2); INSERT INTO q VALUES (3, 30, 40), (4, 31, 41);"
                             "ALTER TABLE p EXCHANGE PARTITION x WITH TABLE q; CHECK TABLE p, q", good)
            self.expect(one, "SELECT a FROM p FORCE INDEX (ka) WHERE a > 0; SELECT id FROM q FORCE INDEX (kb) WHERE b > 0 ORDER BY b", "1 30 31 1 2")
            self.expect(one, "UPDATE p SET a = 77 WHERE b = 40; INSERT INTO p VALUES (5, 32, 42); DELETE FROM q WHERE a = 10; CHECK TABLE p, q", good)
            self.expect(one, "INSERT INTO p VALUES (5, 32, 42)", "E1062")
            self.server.restart()
            one = self.connect()
            read = "SELECT a FROM p FORCE INDEX (ka) WHERE a > 0; SELECT b FROM p FORCE INDEX (kb) WHERE b > 2; SELECT b FROM q FORCE INDEX (ka) WHERE a = 11"
            self.expect(one, f"{read}; CHECK TABLE p, q", f"1 31 32 77 40 41 42 21 {good}")
            # Changed in place, and emptied.
            self.expect(one, "ALTER TABLE p DROP KEY ux, ADD KEY n (b, a), RENAME INDEX kb TO ko, ADD COLUMN d INT DEFAULT 7, ALGORITHM=INPLACE;"
                             "ALTER TABLE q DROP KEY ux, ADD KEY n (b, a), RENAME INDEX kb TO ko, ADD COLUMN d INT DEFAULT 7, ALGORITHM=INPLACE;"
                             "SELECT a, d FROM p FORCE INDEX (n) WHERE b > 2; SELECT a FROM p FORCE INDEX (ko) WHERE b = 41; CHECK TABLE p, q",
                        f"77,7 31,7 32,7 31 {good}")
            self.expect(one, "ALTER TABLE p EXCHANGE PARTITION x WITH TABLE q; SELECT b FROM p FORCE INDEX (ka) WHERE a > 0; SELECT b FROM q FORCE INDEX (ka) WHERE a > 0;"
                             "TRUNCATE q; INSERT INTO q VALUES (6, 60, 70, 1); SELECT b FROM q FORCE INDEX (ka) WHERE a = 60; CHECK TABLE p, q",
                        f"2 21 41 42 40 70 {good}")
            # Made a table of, and made of one.
            self.expect(one, "ALTER TABLE p EXCHANGE PARTITION x WITH TABLE q; ALTER TABLE p CONVERT PARTITION x TO TABLE r; SELECT b FROM r FORCE INDEX (ka) WHERE a = 60;"
                             "UPDATE q SET id = 2001; ALTER TABLE p CONVERT TABLE q TO PARTITION z VALUES LESS THAN (3000);"
                             "SELECT b FROM p FORCE INDEX (ka) WHERE a > 0; SELECT a FROM p FORCE INDEX (ko) WHERE b = 21; CHECK TABLE p, r",
                        "70 2 21 11 d.p,check,status,OK d.r,check,status,OK")
            self.expect(one, "DROP TABLE p, r", "")
        # What is unique by hashes, whose columns the server numbers.
        self.expect(one, "CREATE TABLE p (id INT, c TEXT, d TEXT, UNIQUE hc (id, c), UNIQUE hd (id, d)) ENGINE=SLUICE PARTITION BY RANGE (id)"
                         " (PARTITION x VALUES LESS THAN (1000)); CREATE TABLE q (id INT, c TEXT, d TEXT, UNIQUE hd (id, d), UNIQUE hc (id, c)) ENGINE=SLUICE;"
                         "INSERT INTO p VALUES (1, 'a', 'b'); INSERT INTO q VALUES (2, 'c', 'd'); ALTER TABLE p EXCHANGE PARTITION x WITH TABLE q; CHECK TABLE p, q", good)
        self.expect(one, "INSERT INTO p VALUES (2, 'c', ''); INSERT INTO p VALUES (2, '', 'd'); INSERT INTO q VALUES (1, '', 'b'); INSERT INTO p VALUES (2, 'd', 'c');"
                         "CHECK TABLE p, q", f"E1062 E1062 E1062 {good}")

    def test_statistics_of_indexes_in_other_orders(self):
        one = self.connect()
        self.expect(one, "CREATE TABLE p (id INT PRIMARY KEY, a INT, b INT, KEY ka (a), KEY kb (b)) ENGINE=SLUICE PARTITION BY RANGE (id)"
                         " (PARTITION x VALUES LESS THAN (1000)); CREATE TABLE q (id INT PRIMARY KEY, a INT, b INT, KEY kb (b), KEY ka (a)) ENGINE=SLUICE;"
                         "INSERT INTO p SELECT seq, seq, 1 FROM seq_1_to_100; INSERT INTO q SELECT seq, 1, seq FROM seq_1_to_100;"
                         "ANALYZE TABLE p, q; ALTER TABLE p EXCHANGE PARTITION x WITH TABLE q", "d.p,analyze,status,OK d.q,analyze,status,OK")
        shown = "SELECT TABLE_NAME, INDEX_NAME, CARDINALITY FROM information_schema.statistics WHERE TABLE_SCHEMA = 'd' AND INDEX_NAME LIKE 'k_' ORDER BY 1, 2"
        for _ in range(2):
            self.expect(one, shown, "p,ka,1 p,kb,100 q,ka,100 q,kb,1")
            self.server.restart()
            one = self.connect()

    def test_partitions_are_not_exchanged_for_rows_of_another_key(self):
        one = self.connect()
        # The first UNIQUE is the rows' own key.
        self.expect(one, "CREATE TABLE p (a INT NOT NULL, b INT NOT NULL, UNIQUE u (a, b), UNIQUE w (b, a)) ENGINE=SLUICE"
                         " PARTITION BY RANGE (a) (PARTITION x VALUES LESS THAN (10)); INSERT INTO p VALUES (1, 2);"
                         "CREATE TABLE q (a INT NOT NULL, b INT NOT NULL, UNIQUE w (b, a), UNIQUE u (a, b)) ENGINE=SLUICE; INSERT INTO q VALUES (3, 4)", "")
        self.expect(one, "ALTER TABLE p EXCHANGE PARTITION x WITH TABLE q", "E1736")
        self.assertIn("the rows' own key is w in one and u in the other table", one.do("SHOW WARNINGS"))
        self.expect(one, "ALTER TABLE p CONVERT TABLE q TO PARTITION y VALUES LESS THAN (20)", "E1736")
        self.expect(one, "SELECT * FROM p; SELECT * FROM q; CHECK TABLE p, q", "1,2 3,4 d.p,check,status,OK d.q,check,status,OK")
        self.expect(one, "ALTER TABLE q DROP KEY w; ALTER TABLE q ADD UNIQUE w (b, a); ALTER TABLE p EXCHANGE PARTITION x WITH TABLE q;"
                         "SELECT * FROM p; SELECT * FROM q; CHECK TABLE p, q", "3,4 1,2 d.p,check,status,OK d.q,check,status,OK")

    def test_texts_of_numbers_change_what_is_computed_of_them(self):
        one = self.connect()
        # A type may grow, or only be shown wider.
        for before, after in (("SMALLINT(4) UNSIGNED ZEROFILL", "INT(10) UNSIGNED ZEROFILL"), ("INT(4) UNSIGNED ZEROFILL", "INT(10) UNSIGNED ZEROFILL"),
                              ("INT UNSIGNED", "INT(10) UNSIGNED ZEROFILL"), ("DECIMAL(7,0) UNSIGNED ZEROFILL", "DECIMAL(10,0) UNSIGNED ZEROFILL")):
            for column in ("v VARCHAR(20) AS (CONCAT(a)) VIRTUAL, KEY (v)", "v VARCHAR(20) AS (CONCAT(a)) STORED", "v VARCHAR(20) AS (CONCAT(a)) STORED, KEY (v)"):
                self.expect(one, f"CREATE OR REPLACE TABLE z (id INT PRIMARY KEY, a {before}, {column}) ENGINE=SLUICE; INSERT INTO z (id, a) VALUES (1, 5), (2, 77)", "")
                self.expect(one, f"ALTER TABLE z MODIFY a {after}, ALGORITHM=INSTANT", "E1845")
                self.expect(one, f"ALTER TABLE z MODIFY a {after}; SELECT * FROM z WHERE v = '0000000005'; CHECK TABLE z",
                            "1,0000000005,0000000005 d.z,check,status,OK")
            self.expect(one, f"CREATE OR REPLACE TABLE z (a {before}, b INT, CHECK (CONCAT(a) <> '0000000005')) ENGINE=SLUICE; INSERT INTO z VALUES (5, 1)", "")
            self.expect(one, f"ALTER TABLE z MODIFY a {after}", "E4025")
            # Of a hash, too.
            self.expect(one, f"CREATE OR REPLACE TABLE z (a {before}, b TEXT, UNIQUE (a, b)) ENGINE=SLUICE; INSERT INTO z VALUES (5, 'x');"
                             f"ALTER TABLE z MODIFY a {after}; CHECK TABLE z", "d.z,check,status,OK")
            self.expect(one, "INSERT INTO z VALUES (5, 'x')", "E1062")
        # Where nothing is computed, and where numbers have no such text.
        self.expect(one, "CREATE OR REPLACE TABLE z (a SMALLINT(4) UNSIGNED ZEROFILL) ENGINE=SLUICE; INSERT INTO z VALUES (5);"
                         "ALTER TABLE z MODIFY a INT(10) UNSIGNED ZEROFILL, ALGORITHM=INSTANT; SELECT * FROM z", "0000000005")
        self.expect(one, "CREATE OR REPLACE TABLE z (a SMALLINT, v VARCHAR(20) AS (CONCAT(a)) VIRTUAL, KEY (v)) ENGINE=SLUICE; INSERT INTO z (a) VALUES (5);"
                         "ALTER TABLE z MODIFY a INT, ALGORITHM=INSTANT; SELECT a FROM z WHERE v = '5'; CHECK TABLE z", "5 d.z,check,status,OK")

    def test_tables_with_partitions_change_in_place(self):
        one = self.connect()
        at_once = "ALGORITHM=INSTANT"
        for sub in ("", " SUBPARTITION BY HASH (a) SUBPARTITIONS 2"):
            self.expect(one, f"CREATE TABLE p (a INT, b INT NOT NULL, c VARCHAR(20), KEY k (b)) ENGINE=SLUICE PARTITION BY RANGE (a){sub}"
                             " (PARTITION x VALUES LESS THAN (10), PARTITION y VALUES LESS THAN (20));"
                             "INSERT INTO p VALUES (1, 1, 'one'), (11, 11, NULL)", "")
            self.expect(one, f"ALTER TABLE p ADD COLUMN d INT NOT NULL DEFAULT 7 FIRST, MODIFY c VARCHAR(300), {at_once};"
                             f"INSERT INTO p VALUES (8, 2, 2, REPEAT('c', 300)), (8, 12, 12, ''); ALTER TABLE p ALTER d SET DEFAULT 9, {at_once};"
                             "SELECT d, a, b, LENGTH(c) FROM p ORDER BY a", "7,1,1,3 8,2,2,300 7,11,11,NULL 8,12,12,0")
            # Partitions that come, or are emptied, have other schemas than those that stay.
            self.expect(one, "ALTER TABLE p ADD PARTITION (PARTITION z VALUES LESS THAN (30)); INSERT INTO p (a, b) VALUES (21, 21);"
                             f"ALTER TABLE p TRUNCATE PARTITION y; INSERT INTO p VALUES (1, 13, 13, NULL);"
                             f"ALTER TABLE p DROP COLUMN c, ADD COLUMN e INT DEFAULT 5 AFTER b, MODIFY d INT AFTER a, {at_once};"
                             "INSERT INTO p VALUES (22, 0, 22, 1); SELECT * FROM p ORDER BY a",
                        "1,7,1,5 2,8,2,5 13,1,13,5 21,9,21,5 22,0,22,1")
            # Unique as it must be: in each partition.
            self.expect(one, "ALTER TABLE p ADD UNIQUE u (a, e), ADD KEY w (d, b), ALGORITHM=NOCOPY; INSERT INTO p VALUES (13, 2, 2, 5)", "E1062")
            self.expect(one, "SELECT a FROM p FORCE INDEX (w) WHERE d > 7 ORDER BY d; SELECT b FROM p FORCE INDEX (u) WHERE a = 13 AND e = 5;"
                             "INSERT INTO p VALUES (14, 0, 14, 5), (14, 0, 14, 6)", "2 21 13")
            self.expect(one, "ALTER TABLE p ADD UNIQUE v (a, b), ALGORITHM=NOCOPY", "E1062")
            self.expect(one, f"ALTER TABLE p RENAME INDEX w TO v, RENAME COLUMN d TO f, DROP KEY k, {at_once}; CHECK TABLE p", "d.p,check,status,OK")
            self.server.kill()
            self.server.start()
            one = self.connect()
            # The name of an index is kept with each partition.
            self.expect(one, f"ALTER TABLE p DROP KEY v, ADD COLUMN g INT DEFAULT 3, {at_once}; SELECT * FROM p WHERE a < 14 ORDER BY a; CHECK TABLE p",
                        "1,7,1,5,3 2,8,2,5,3 13,1,13,5,3 d.p,check,status,OK")
            self.expect(one, "ALTER TABLE p REORGANIZE PARTITION x, y INTO (PARTITION x VALUES LESS THAN (20)); ALTER TABLE p DROP PARTITION z;"
                             "SELECT SUM(a), SUM(g) FROM p; CHECK TABLE p; DROP TABLE p", "44,15 d.p,check,status,OK")
        # What tells the partition of a row: another type may tell another one.
        self.expect(one, "CREATE TABLE p (a INT, b INT) ENGINE=SLUICE PARTITION BY KEY (a) PARTITIONS 5; INSERT INTO p SELECT seq, seq FROM seq_1_to_50", "")
        self.expect(one, f"ALTER TABLE p MODIFY a BIGINT, {at_once}", "E1845")
        self.expect(one, f"ALTER TABLE p MODIFY b BIGINT, {at_once}; ALTER TABLE p MODIFY a BIGINT; SELECT b FROM p WHERE a = 33; CHECK TABLE p",
                    "33 d.p,check,status,OK")
        # Nothing is left of an index that a later partition refuses.
        before = self.server.run("SHOW ENGINE SLUICE STATUS").count("sub-table")
        self.expect(one, "INSERT INTO p VALUES (1, 1); ALTER TABLE p ADD KEY (b), ADD UNIQUE (a, b)", "E1062")
        self.assertEqual(self.server.run("SHOW ENGINE SLUICE STATUS").count("sub-table"), before)

    def wait(self, statement):
        """Until the statement of another connection waits for a lock of the server's."""
        end = time.monotonic() + 60
        while "1" not in self.server.run("SELECT 1 FROM information_schema.processlist WHERE STATE LIKE 'Waiting for table metadata lock'"
                                         f" AND INFO = '{statement}'"):
            self.assertLess(time.monotonic(), end, statement)

    def test_crashes_between_the_engines_step_and_the_servers(self):
        for partitions in ("", "PARTITION BY HASH (a) PARTITIONS 3"):
            # The statement and what holds it: before the engine's step a reader of the table, and behind it a lock on what
            # the server knows of columns and indexes that are dropped.
            for sql, holder, after in (("ADD KEY l (c)", "BEGIN; SELECT a FROM p", "p"),
                                       ("ADD KEY l (c), DROP KEY k", "LOCK TABLES mysql.index_stats WRITE", "p"),
                                       ("DROP COLUMN b", "LOCK TABLES mysql.column_stats WRITE", "p"),
                                       ("DROP COLUMN b, RENAME q", "LOCK TABLES mysql.column_stats WRITE", "q"),
                                       ("DROP COLUMN b, ALGORITHM=COPY", "LOCK TABLES mysql.column_stats WRITE", "p"),
                                       ("DROP COLUMN b, RENAME q, ALGORITHM=COPY", "LOCK TABLES mysql.column_stats WRITE", "q")):
                one, two = self.connect(), self.connect()
                self.expect(one, "DROP TABLE IF EXISTS p, q; CREATE TABLE p (a INT PRIMARY KEY, b INT, c INT, KEY k (c)) ENGINE=SLUICE"
                                 f" {partitions}; INSERT INTO p VALUES (1, 2, 3), (2, 2, 4)", "")
                before = one.do("SHOW CREATE TABLE p")
                two.do(holder)
                one.send(f"ALTER TABLE p {sql}")
                self.wait(f"ALTER TABLE p {sql}")
                self.server.kill()
                self.server.start()
                one = self.connect()
                self.expect(one, f"SELECT a, c FROM {after}; CHECK TABLE {after}", f"1,3 2,4 d.{after},check,status,OK")
                self.assertEqual(one.do(f"SHOW CREATE TABLE {after}") == before, holder.startswith("BEGIN"), sql)
                # What the server leaves, with any engine: DROP DATABASE would fail.
                for left in (pathlib.Path(self.server.directory.name) / "data" / "d").glob("#sql-alter-*.par"):
                    left.unlink()

    def kill_server_when(self, condition):
        pid = int((pathlib.Path(self.server.directory.name) / "pid").read_text())
        while not condition():
            pass
        os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            while True:
                os.kill(pid, 0)
        self.server.start()

    def test_a_crash_amid_the_creation_or_drop_of_a_table_leaves_no_partitions(self):
        create = "CREATE TABLE p (a INT PRIMARY KEY) ENGINE=SLUICE PARTITION BY HASH (a) PARTITIONS 200"
        partitions = pathlib.Path(self.server.directory.name) / "data/d/p.par"  # made first, and removed first
        self.connect().send(create)
        self.kill_server_when(lambda: partitions.exists() and time.sleep(0.02) is None)
        self.expect(self.connect(), f"{create}; INSERT INTO p SELECT seq FROM seq_1_to_500", "")
        self.connect().send("DROP TABLE p")
        self.kill_server_when(lambda: not partitions.exists())
        self.expect(self.connect(), f"{create}; SELECT COUNT(*) FROM p; DROP TABLE p", "0")

    def test_partitions_that_only_the_engine_knows(self):
        # As a crash amid CREATE TABLE leaves them.
        create = "CREATE TABLE p (a INT PRIMARY KEY) ENGINE=SLUICE PARTITION BY HASH (a) PARTITIONS 3"
        self.expect(self.connect(), f"{create}; INSERT INTO p VALUES (1), (2); CREATE TABLE pp LIKE p; INSERT INTO pp VALUES (3)", "")
        self.server.stop()
        for file in ("p.frm", "p.par"):
            (pathlib.Path(self.server.directory.name) / "data/d" / file).unlink()
        self.server.start()
        one = self.connect()
        self.expect(one, create, "E1005")
        self.expect(one, f"DROP TABLE p; {create}; SELECT COUNT(*) FROM p; SELECT a FROM pp; DROP TABLE p, pp", "0 3")
        self.expect(one, "DROP TABLE p", "E1051")

    def test_a_table_with_the_definition_of_another_one_is_not_opened_and_not_removed(self):
        one = self.connect()
        directory = pathlib.Path(self.server.directory.name) / "data/d"
        for partitions in ("", "PARTITION BY HASH (a) PARTITIONS 2"):
            self.expect(one, f"CREATE OR REPLACE TABLE p (a INT PRIMARY KEY, b INT, KEY k (b)) ENGINE=SLUICE {partitions}; INSERT INTO p VALUES (1, 2);"
                             f"CREATE OR REPLACE TABLE q (a INT PRIMARY KEY, b BIGINT, KEY k (b)) ENGINE=SLUICE {partitions}; INSERT INTO q VALUES (3, 4)", "")
            for answer in ("E1296 E1296 E1296 E1296", "1 3 d.p,check,status,OK d.q,check,status,OK"):
                self.server.stop()
                (directory / "p.frm").rename(directory / "x")
                (directory / "q.frm").rename(directory / "p.frm")
                (directory / "x").rename(directory / "q.frm")
                self.server.start()
                one = self.connect()
                check = "CHECK TABLE p, q" if "OK" in answer else "SELECT a FROM p; SELECT a FROM q"
                self.expect(one, f"SELECT a FROM p; SELECT a FROM q; {check}", answer)

    def test_indexes_on_virtual_columns_that_cannot_be_computed(self):
        one = self.connect()
        self.expect(one, "CREATE TABLE v (a INT PRIMARY KEY, b INT, c INT AS (a / b) VIRTUAL) ENGINE=SLUICE; INSERT INTO v (a, b) VALUES (1, 1);"
                         "SET sql_mode = ''; INSERT INTO v (a, b) VALUES (2, 0); SET sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO'", "")
        self.expect(one, "ALTER TABLE v ADD KEY (c)", "E1365")
        self.expect(one, "SET sql_mode = ''; ALTER TABLE v ADD KEY (c); SELECT a FROM v FORCE INDEX (c) WHERE c IS NULL; CHECK TABLE v",
                    "2 d.v,check,status,OK")

    def test_indexes_are_added_and_dropped_in_place(self):
        one, two = self.connect(), self.connect()
        self.expect(one, "INSERT INTO t VALUES (4, 10), (5, NULL), (6, NULL)", "")
        self.expect(one, "ALTER TABLE t ADD UNIQUE u (b), ALGORITHM=INPLACE", "E1062")
        self.expect(one, "DELETE FROM t WHERE a = 4; ALTER TABLE t ADD UNIQUE u (b), ADD KEY w (b, a), ALGORITHM=INPLACE", "")
        self.expect(one, "SELECT a FROM t FORCE INDEX (u) WHERE b = 20; INSERT INTO t VALUES (7, 20)", "2 E1062")
        self.expect(one, "ALTER TABLE t DROP KEY b, RENAME INDEX w TO v, ALGORITHM=INSTANT; SELECT a FROM t FORCE INDEX (v) WHERE b > 10;"
                         "CHECK TABLE t", "2 3 d.t,check,status,OK")
        # The same name for something else.
        self.expect(one, "ALTER TABLE t DROP KEY v, ADD KEY v (a, b), ALGORITHM=INPLACE; SELECT b FROM t FORCE INDEX (v) WHERE a > 1;"
                         "CHECK TABLE t", "20 30 NULL NULL d.t,check,status,OK")
        # Who sees an older state has no use for an index of the newest one.
        self.expect(two, "START TRANSACTION WITH CONSISTENT SNAPSHOT", "")
        self.expect(one, "UPDATE t SET b = 100 WHERE a = 1; ALTER TABLE t ADD KEY x (b), ALGORITHM=INPLACE", "")
        self.expect(two, "SELECT a FROM t FORCE INDEX (x) WHERE b = 10", "E1412")
        self.expect(two, "COMMIT; SELECT a FROM t FORCE INDEX (x) WHERE b = 100", "1")
        # A candidate for the primary key is not in place.
        self.expect(one, "CREATE TABLE n (a INT NOT NULL, b INT) ENGINE=SLUICE; INSERT INTO n VALUES (1, 1), (2, 2);"
                         "ALTER TABLE n ADD UNIQUE (a), ALGORITHM=INPLACE", "E1845")
        self.expect(one, "ALTER TABLE n ADD UNIQUE (a); ALTER TABLE n ADD KEY (b), ALGORITHM=INPLACE; SELECT a FROM n WHERE b = 2", "2")
        self.expect(one, "CREATE TABLE p (a INT, b INT) ENGINE=SLUICE PARTITION BY HASH (a) PARTITIONS 3;"
                         "INSERT INTO p SELECT seq, seq FROM seq_1_to_9; ALTER TABLE p ADD KEY (b); ALTER TABLE p ADD COLUMN c INT DEFAULT 3;"
                         "SELECT a, c FROM p WHERE b = 5; CHECK TABLE p, n", "5,3 d.p,check,status,OK d.n,check,status,OK")
        self.server.kill()
        self.server.start()
        self.expect(self.connect(), "CHECK TABLE t, p, n", "d.t,check,status,OK d.p,check,status,OK d.n,check,status,OK")

    def test_indexes_are_added_to_several_tables_at_once(self):
        connections = [self.connect() for _ in range(4)]
        for i, one in enumerate(connections):
            self.expect(one, f"CREATE TABLE u{i} (a INT PRIMARY KEY, b INT) ENGINE=SLUICE; INSERT INTO u{i} SELECT seq, -seq FROM seq_1_to_3000", "")
        for _ in range(5):
            for i, one in enumerate(connections):
                one.send(f"ALTER TABLE u{i} ADD KEY x (b), ADD KEY y (b, a); CHECK TABLE u{i}; ALTER TABLE u{i} DROP KEY x, DROP KEY y")
            self.assertEqual([one.receive() for one in connections], [f"d.u{i},check,status,OK" for i in range(4)])

    def test_optimize_merges_what_there_is(self):
        one = self.connect()
        size = "SELECT DATA_LENGTH + INDEX_LENGTH {} FROM information_schema.tables WHERE TABLE_NAME = 'o'"
        for partitions in ("", " PARTITION BY HASH (a) PARTITIONS 3"):
            self.expect(one, f"CREATE TABLE o (a INT PRIMARY KEY, b CHAR(200), KEY (b)) ENGINE=SLUICE{partitions}", "")
            self.expect(one, "INSERT INTO o SELECT seq, seq FROM seq_1_to_20000; OPTIMIZE TABLE o", "d.o,optimize,status,OK")
            self.expect(one, f"{size.format('> 400000')}; DELETE FROM o WHERE a > 100; OPTIMIZE TABLE o; {size.format('< 100000')}",
                        "1 d.o,optimize,status,OK 1")
            self.expect(one, "SELECT COUNT(*), SUM(a) FROM o FORCE INDEX (b) WHERE b > ''; CHECK TABLE o; DROP TABLE o", "100,5050 d.o,check,status,OK")

    def test_large_indexes_are_built_in_pieces(self):
        one = self.connect()
        self.expect(one, "CREATE TABLE r (a INT PRIMARY KEY, b INT, c CHAR(250)) ENGINE=SLUICE;"
                         "INSERT INTO r SELECT seq, (seq * 7919) % 300007, seq FROM seq_1_to_300000", "")
        self.expect(one, "ALTER TABLE r ADD KEY (c), ADD UNIQUE (b), ALGORITHM=INPLACE; CHECK TABLE r", "d.r,check,status,OK")
        self.expect(one, "SELECT a FROM r FORCE INDEX (c) WHERE c = '77777'; SELECT (a * 7919) % 300007 FROM r FORCE INDEX (b) WHERE b = 4",
                    "77777 4")
        # The first and the last row have the same value: no piece has both.
        self.expect(one, "ALTER TABLE r DROP KEY b; UPDATE r SET b = (SELECT b FROM r WHERE a = 1) WHERE a = 300000;"
                         "ALTER TABLE r ADD UNIQUE (b, c(0)), ALGORITHM=INPLACE", "E1391")
        self.expect(one, "UPDATE r SET c = 'x' WHERE a IN (1, 300000); ALTER TABLE r ADD UNIQUE (b, c), ALGORITHM=INPLACE", "E1062")
        self.expect(one, "CHECK TABLE r", "d.r,check,status,OK")

    def test_what_is_refused(self):
        one = self.connect()
        for sql in ("CREATE TABLE x (a INT, FOREIGN KEY (a) REFERENCES t (a)) ENGINE=SLUICE",
                    "ALTER TABLE t ADD FOREIGN KEY (b) REFERENCES t (a)",
                    "CREATE TABLE x (a VARCHAR(9) CHARACTER SET cp1250 COLLATE cp1250_czech_cs, KEY (a)) ENGINE=SLUICE",
                    "CREATE TABLE x (a VARCHAR(9) CHARACTER SET big5 PRIMARY KEY) ENGINE=SLUICE"):
            self.expect(one, sql, "E1478")
        self.expect(one, "CREATE SEQUENCE x ENGINE=SLUICE", "E1478")
        self.expect(one, "CREATE TABLE x (a TEXT, FULLTEXT (a)) ENGINE=SLUICE", "E1214")
        self.expect(one, "SHOW TABLES", "t")


if __name__ == "__main__":
    unittest.main()
