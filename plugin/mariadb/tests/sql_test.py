#!/usr/bin/env python3
"""What SQL on Sluice does that one connection alone, or a comparison with InnoDB, would not show."""

import threading
import time
import unittest

import server


class SqlTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = server.Server("--sluice-lock-wait-timeout=0.2", "--log-bin", "--binlog-format=row", "--server-id=1")

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def setUp(self):
        self.server.run("CREATE OR REPLACE DATABASE d; USE d; CREATE TABLE t (a INT PRIMARY KEY, b INT, KEY (b)) ENGINE=SLUICE;"
                        "INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)")
        self.connections = []

    def tearDown(self):
        for connection in self.connections:
            connection.close()

    def connect(self, isolation="REPEATABLE READ"):
        connection = server.Connection(self.server, "d")
        self.connections.append(connection)
        self.assertEqual(connection.do(f"SET SESSION TRANSACTION ISOLATION LEVEL {isolation}"), "")
        return connection

    def expect(self, connection, sql, answer):
        self.assertEqual(connection.do(sql), answer, sql)

    def test_repeatable_read_is_a_snapshot(self):
        one, two = self.connect(), self.connect()
        self.expect(one, "BEGIN; SELECT b FROM t WHERE a = 1", "10")
        self.expect(two, "UPDATE t SET b = 11 WHERE a = 1; INSERT INTO t VALUES (4, 10)", "")
        self.expect(one, "SELECT a, b FROM t", "1,10 2,20 3,30")
        self.expect(one, "SELECT a FROM t FORCE INDEX (b) WHERE b = 10", "1")
        self.expect(one, "UPDATE t SET b = b + 1 WHERE a = 2", "")
        # The first to commit wins; the other one has nothing left.
        self.expect(one, "UPDATE t SET b = b + 1 WHERE a = 1", "E1020")
        self.expect(one, "SELECT a, b FROM t ORDER BY a", "1,11 2,20 3,30 4,10")

    def test_read_committed_sees_the_newest_state(self):
        one, two = self.connect("READ COMMITTED"), self.connect()
        self.expect(one, "BEGIN; SELECT b FROM t WHERE a = 1", "10")
        self.expect(two, "UPDATE t SET b = 11 WHERE a = 1", "")
        self.expect(one, "SELECT b FROM t WHERE a = 1", "11")
        self.expect(one, "UPDATE t SET b = b + 1 WHERE a = 1; COMMIT; SELECT b FROM t WHERE a = 1", "12")

    def test_consistent_snapshot(self):
        one, two = self.connect(), self.connect()
        self.expect(one, "START TRANSACTION WITH CONSISTENT SNAPSHOT", "")
        self.expect(two, "DELETE FROM t", "")
        self.expect(one, "SELECT COUNT(*) FROM t", "3")
        self.expect(one, "COMMIT; SELECT COUNT(*) FROM t", "0")

    def test_consistent_snapshot_is_of_one_place_in_the_binary_log(self):
        """With which mariadb-dump makes replicas. Each transaction adds a row, so their number in the log is that of the rows."""
        over = threading.Event()
        writers = [threading.Thread(target=self.write_until, args=(over, self.connect(), range(10 + i, 1 << 30, 4))) for i in range(4)]
        reader = self.connect()
        position = ("SELECT REGEXP_SUBSTR(BINLOG_GTID_POS(MAX(IF(variable_name LIKE '%FILE', variable_value, '')), "
                    "MAX(IF(variable_name LIKE '%POSITION', variable_value, ''))), '[0-9]+$') FROM information_schema.session_status "
                    "WHERE variable_name LIKE 'BINLOG_SNAPSHOT_%'")
        before = None
        try:
            for writer in writers:
                writer.start()
            for _ in range(200):
                logged, rows = map(int, reader.do(
                    f"START TRANSACTION WITH CONSISTENT SNAPSHOT; {position}; SELECT COUNT(*) FROM t; COMMIT").split())
                self.assertEqual(logged - rows, before if before is not None else logged - rows)
                before = logged - rows
        finally:
            over.set()
            for writer in writers:
                writer.join()
        self.assertGreater(rows, 100)

    @staticmethod
    def write_until(over, connection, numbers):
        for number in numbers:
            if over.is_set():
                break
            connection.do(f"INSERT INTO t VALUES ({number}, 1)")

    def test_rows_are_locked(self):
        for lock in ("SELECT b FROM t WHERE a = 1 FOR UPDATE", "SELECT b FROM t WHERE a = 1 LOCK IN SHARE MODE",
                     "SELECT b FROM t WHERE b = 10 FOR UPDATE"):
            one, two = self.connect(), self.connect("READ COMMITTED")
            self.expect(one, f"BEGIN; {lock}", "10")
            self.expect(two, "BEGIN; UPDATE t SET b = 5 WHERE a = 2; UPDATE t SET b = 5 WHERE a = 1", "E1205")
            # Only the statement is undone.
            self.expect(two, "SELECT b FROM t WHERE a = 2", "5")
            self.expect(two, "ROLLBACK", "")
            self.expect(one, "COMMIT", "")
            self.expect(two, "UPDATE t SET b = b WHERE a = 1", "")

    def test_serializable_reads_lock(self):
        one, two, three = self.connect("SERIALIZABLE"), self.connect(), self.connect("SERIALIZABLE")
        self.expect(one, "BEGIN; SELECT b FROM t WHERE a = 1", "10")
        self.expect(three, "BEGIN; SELECT b FROM t WHERE a = 1; COMMIT", "10")
        self.expect(two, "UPDATE t SET b = 5 WHERE a = 1", "E1205")
        self.expect(one, "COMMIT", "")

    def test_shared_locks_are_shared(self):
        one, two, three = self.connect(), self.connect(), self.connect()
        for connection in (one, two):
            self.expect(connection, "BEGIN; SELECT b FROM t WHERE a = 1 LOCK IN SHARE MODE", "10")
        self.expect(three, "SELECT b FROM t WHERE a = 1 FOR UPDATE", "E1205")
        self.expect(one, "UPDATE t SET b = 5 WHERE a = 1", "E1205")
        self.expect(two, "COMMIT", "")
        self.expect(one, "UPDATE t SET b = 5 WHERE a = 1; COMMIT", "")
        self.expect(three, "SELECT b FROM t WHERE a = 1 FOR UPDATE", "5")

    def test_nobody_waits_who_does_not_want_to(self):
        one, two = self.connect(), self.connect()
        self.expect(two, "SET sluice_lock_wait_timeout = 1000", "")
        self.expect(one, "BEGIN; UPDATE t SET b = 11 WHERE a = 1", "")
        # Each would take a quarter of an hour otherwise.
        self.expect(two, "SELECT a FROM t WHERE a = 1 FOR UPDATE NOWAIT", "E1205")
        self.expect(two, "SELECT a FROM t WHERE b = 10 FOR UPDATE WAIT 0", "E1205")
        self.expect(two, "SELECT a FROM t LOCK IN SHARE MODE NOWAIT", "E1205")
        self.expect(two, "SELECT a FROM t FOR UPDATE SKIP LOCKED", "2 3")
        self.expect(two, "SELECT a FROM t LOCK IN SHARE MODE SKIP LOCKED", "2 3")
        self.expect(two, "SELECT a FROM t WHERE a = 1 FOR UPDATE SKIP LOCKED", "")
        self.expect(two, "SELECT a FROM t FORCE INDEX (b) WHERE b >= 10 FOR UPDATE SKIP LOCKED", "2 3")
        # The next statement waits again.
        two.send("UPDATE t SET b = b + 100 WHERE a = 1")
        self.expect(one, "COMMIT", "")
        self.assertEqual(two.receive(), "")
        self.expect(one, "SELECT b FROM t WHERE a = 1", "111")

    def test_a_queue_of_jobs(self):
        """Each takes what the others have not: no job is done twice, and nobody waits."""
        self.server.run("CREATE TABLE jobs (a INT PRIMARY KEY, done INT) ENGINE=SLUICE;"
                        "INSERT INTO jobs SELECT seq, 0 FROM seq_1_to_40", "d")
        workers = [self.connect("READ COMMITTED") for _ in range(4)]
        taken = []
        for _ in range(10):
            for worker in workers:
                job = worker.do("BEGIN; SELECT a FROM jobs WHERE done = 0 ORDER BY a LIMIT 1 FOR UPDATE SKIP LOCKED")
                taken.append(int(job))
            for worker, job in zip(workers, taken[-4:]):
                self.expect(worker, f"UPDATE jobs SET done = 1 WHERE a = {job}; COMMIT", "")
        self.assertEqual(sorted(taken), list(range(1, 41)))

    def test_statements_that_wait_can_be_killed(self):
        one, two = self.connect(), self.connect()
        self.expect(two, "SET sluice_lock_wait_timeout = 1000", "")
        number = two.do("SELECT CONNECTION_ID()")
        self.expect(two, "BEGIN; UPDATE t SET b = 5 WHERE a = 2", "")
        self.expect(one, "BEGIN; UPDATE t SET b = 11 WHERE a = 1", "")
        for _ in range(20):
            two.send("UPDATE t SET b = b + 100 WHERE a = 1")
            while not int(one.do(f"SELECT COUNT(*) FROM information_schema.processlist WHERE id = {number} AND info LIKE 'UPDATE%'")):
                pass
            self.expect(one, f"KILL QUERY {number}", "")
            self.assertEqual(two.receive(), "E1317")
        # The transaction is as before, and waits as before.
        self.expect(two, "SELECT b FROM t WHERE a = 2", "5")
        two.send("UPDATE t SET b = b + 100 WHERE a = 1")
        self.expect(one, "ROLLBACK", "")
        self.assertEqual(two.receive(), "")
        self.expect(two, "COMMIT; SELECT a, b FROM t ORDER BY a", "1,110 2,5 3,30")

    def test_rows_that_a_statement_rejects_are_unlocked(self):
        for isolation, answer in (("READ COMMITTED", ""), ("REPEATABLE READ", "E1205")):
            one, two = self.connect(isolation), self.connect()
            self.expect(one, "BEGIN; UPDATE t SET b = b WHERE a < 3 AND b % 20 = 0", "")
            self.expect(two, "UPDATE t SET b = b WHERE a = 2", "E1205")
            self.expect(two, "UPDATE t SET b = b WHERE a = 1", answer)
            self.expect(one, "COMMIT", "")
            # What an earlier statement locked stays locked.
            self.expect(one, "BEGIN; SELECT a FROM t WHERE a = 1 FOR UPDATE; UPDATE t SET b = b WHERE a < 3 AND b % 20 = 0", "1")
            self.expect(two, "UPDATE t SET b = b WHERE a = 1", "E1205")
            self.expect(one, "COMMIT", "")

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

    def test_deadlocks_are_found(self):
        one, two = self.connect("READ COMMITTED"), self.connect("READ COMMITTED")
        for connection in (one, two):
            self.expect(connection, "SET sluice_lock_wait_timeout = 100", "")
        self.expect(one, "BEGIN; UPDATE t SET b = 1 WHERE a = 1", "")
        self.expect(two, "BEGIN; UPDATE t SET b = 2 WHERE a = 2", "")
        one.send("UPDATE t SET b = 1 WHERE a = 2")
        two.send("UPDATE t SET b = 2 WHERE a = 1")
        answers = [one.receive(), two.receive()]
        self.assertEqual(sorted(answers), ["", "E1213"])
        self.assertRegex((one, two)[answers.index("E1213")].do("SHOW WARNINGS"), "restarting transaction: transaction .* gives way")
        # The victim's transaction is gone as a whole; the other one goes on.
        winner = (one, two)[answers.index("")]
        self.assertIn("Last deadlock: 20", self.server.run("SHOW ENGINE SLUICE STATUS"))
        self.expect(winner, "COMMIT", "")
        value = 1 if winner is one else 2
        self.expect(self.connect(), "SELECT a, b FROM t WHERE a < 3", f"1,{value} 2,{value}")

    def test_statements_and_savepoints_are_undone_alone(self):
        one = self.connect()
        self.expect(one, "BEGIN; INSERT INTO t VALUES (4, 40)", "")
        self.expect(one, "INSERT INTO t VALUES (5, 50), (1, 1)", "E1062")
        self.expect(one, "SAVEPOINT x; DELETE FROM t; SAVEPOINT y; INSERT INTO t VALUES (9, 9); ROLLBACK TO x", "")
        self.expect(one, "SELECT a FROM t", "1 2 3 4")
        self.expect(one, "ROLLBACK TO y", "E1305")
        self.expect(one, "ROLLBACK TO x; COMMIT; SELECT a FROM t", "1 2 3 4")

    def test_triggers_belong_to_their_statement(self):
        self.server.run("CREATE TABLE log (a INT) ENGINE=SLUICE;"
                        "CREATE TRIGGER r AFTER INSERT ON t FOR EACH ROW INSERT INTO log VALUES (NEW.a)", "d")
        one = self.connect()
        self.expect(one, "INSERT INTO t VALUES (4, 4), (5, 5), (1, 1)", "E1062")
        self.expect(one, "SELECT COUNT(*) FROM log", "0")
        self.expect(one, "INSERT INTO t VALUES (4, 4), (5, 5); SELECT a FROM log", "4 5")

    def test_handlers_go_on_after_commits(self):
        one, two = self.connect(), self.connect()
        self.expect(one, "HANDLER t OPEN; HANDLER t READ b FIRST", "1,10")
        self.expect(two, "DELETE FROM t WHERE a = 1", "")
        self.expect(one, "HANDLER t READ b NEXT", "2,20")
        self.expect(one, "BEGIN; COMMIT; HANDLER t READ b NEXT", "3,30")
        self.expect(one, "HANDLER t READ b PREV; HANDLER t READ b PREV; HANDLER t CLOSE", "2,20")

    def test_lock_tables(self):
        one = self.connect()
        self.expect(one, "LOCK TABLES t WRITE; UPDATE t SET b = 1 WHERE a = 1; SELECT b FROM t WHERE a = 1", "1")
        self.expect(one, "INSERT INTO t VALUES (1, 1)", "E1062")
        self.expect(one, "INSERT INTO t VALUES (4, 4); UNLOCK TABLES; SELECT COUNT(*) FROM t", "4")

    def test_old_snapshots_do_not_see_a_new_table_empty(self):
        one, two = self.connect(), self.connect()
        self.expect(two, "CREATE TABLE other (a INT) ENGINE=SLUICE", "")
        self.expect(one, "BEGIN; SELECT COUNT(*) FROM other", "0")
        self.expect(two, "ALTER TABLE t ADD COLUMN c INT, ALGORITHM=COPY", "")
        self.expect(one, "SELECT COUNT(*) FROM t", "E1412")
        self.expect(one, "COMMIT; SELECT COUNT(*) FROM t", "3")

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

    def test_savepoints_are_released_after_xa_prepare(self):
        one = self.connect()
        self.expect(one, "XA START 'x'; INSERT INTO t VALUES (4, 4); SAVEPOINT s; XA END 'x'; XA PREPARE 'x'; RELEASE SAVEPOINT s; XA COMMIT 'x'", "")
        self.expect(one, "SELECT COUNT(*) FROM t", "4")

    def test_xa_survives_the_server(self):
        one = self.connect()
        self.expect(one, "XA START 'a', 'b', 7; UPDATE t SET b = 11 WHERE a = 1; XA END 'a', 'b', 7; XA PREPARE 'a', 'b', 7", "")
        two = self.connect()
        self.expect(two, "XA START 'c'; UPDATE t SET b = 22 WHERE a = 2; XA END 'c'; XA PREPARE 'c'", "")
        self.server.kill()
        self.server.start()
        three = self.connect("READ COMMITTED")
        self.assertEqual(sorted(three.do("XA RECOVER").split()), ["1,1,0,c", "7,1,1,ab"])
        self.expect(three, "SELECT a, b FROM t", "1,10 2,20 3,30")
        self.expect(three, "UPDATE t SET b = 5 WHERE a = 1", "E1205")
        self.expect(three, "XA COMMIT 'a', 'b', 7; XA ROLLBACK 'c'", "")
        self.expect(three, "XA COMMIT 'never'", "E1397")
        self.expect(three, "SELECT a, b FROM t; XA RECOVER", "1,11 2,20 3,30")

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

    def test_building_an_index_can_be_killed(self):
        one, two = self.connect(), self.connect()
        self.expect(one, "SET sluice_max_transaction_size = 1 << 30; CREATE TABLE r (a INT PRIMARY KEY, b INT) ENGINE=SLUICE;"
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

    def test_engines_commit_together(self):
        self.server.run("CREATE TABLE i (a INT PRIMARY KEY) ENGINE=InnoDB", "d")
        one = self.connect()
        self.expect(one, "BEGIN; INSERT INTO i VALUES (1); INSERT INTO t VALUES (4, 4); COMMIT", "")
        self.expect(one, "BEGIN; INSERT INTO i VALUES (2); INSERT INTO t VALUES (5, 5); ROLLBACK", "")
        self.server.kill()
        self.server.start()
        self.assertEqual(self.connect().do("SELECT * FROM i; SELECT MAX(a) FROM t"), "1 4")

    def test_automatic_values_go_on(self):
        self.server.run("CREATE TABLE n (a INT AUTO_INCREMENT PRIMARY KEY, b INT) ENGINE=SLUICE; INSERT INTO n(b) VALUES (1), (2);"
                        "DELETE FROM n WHERE a = 2", "d")
        self.server.restart()
        self.expect(self.connect(), "INSERT INTO n(b) VALUES (3); SELECT a FROM n", "1 3")
        self.server.kill()
        self.server.start()
        one = self.connect()
        self.expect(one, "INSERT INTO n(b) VALUES (4); SELECT MAX(a) BETWEEN 4 AND 3 + 1025 FROM n", "1")
        self.expect(one, "TRUNCATE n; INSERT INTO n(b) VALUES (1); SELECT a FROM n", "1")
        self.expect(one, "ALTER TABLE n AUTO_INCREMENT = 100; INSERT INTO n(b) VALUES (1); SELECT a FROM n", "1 100")
        self.expect(one, "SET auto_increment_increment = 10, auto_increment_offset = 3; INSERT INTO n(b) VALUES (1), (1);"
                         "SELECT a FROM n WHERE a > 100", "103 113")

    def test_transactions_have_a_limit(self):
        one = self.connect()
        self.expect(one, "CREATE TABLE big (a INT PRIMARY KEY, b LONGTEXT) ENGINE=SLUICE", "")
        self.expect(one, "SET sluice_max_transaction_size = 1048576", "")
        self.expect(one, "BEGIN; INSERT INTO big VALUES (0, 'x'); INSERT INTO big SELECT seq, REPEAT('x', 1000) FROM seq_1_to_2000",
                    "E1296")
        self.assertIn("(sluice_max_transaction_size)",
                      self.server.run("SET sluice_max_transaction_size = 65536;"
                                      "INSERT INTO big SELECT seq, REPEAT('x', 1000) FROM seq_3001_to_5000", "d", force=True))
        self.expect(one, "COMMIT; SELECT COUNT(*) FROM big", "1")
        # What nobody else sees yet needs no transaction.
        self.expect(one, "CREATE TABLE copy ENGINE=SLUICE SELECT seq AS a, REPEAT('x', 1000) AS b FROM seq_1_to_5000", "")
        self.expect(one, "ALTER TABLE copy ADD PRIMARY KEY (a); SELECT COUNT(*) FROM copy", "5000")

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
        self.expect(one, "ALTER TABLE c FORCE; SELECT h, LENGTH(c), a FROM c WHERE a < 4; CHECK TABLE c", "1,3,1 -2,0,2 99999999999,300,3 d.c,check,status,OK")
        # Rows that a partition brings along have their own schemas.
        self.expect(one, f"CREATE TABLE x (a INT, b INT, c INT) ENGINE=SLUICE; INSERT INTO x VALUES (3, 3, 3); ALTER TABLE x DROP COLUMN b, {at_once};"
                         "CREATE TABLE p (a INT, c INT) ENGINE=SLUICE PARTITION BY RANGE (a) (PARTITION x VALUES LESS THAN (10),"
                         "PARTITION y VALUES LESS THAN MAXVALUE); INSERT INTO p VALUES (4, 4); ALTER TABLE p EXCHANGE PARTITION x WITH TABLE x;"
                         "INSERT INTO p VALUES (5, 5); SELECT * FROM p; SELECT * FROM x; CHECK TABLE p, x", "3,3 5,5 4,4 d.p,check,status,OK d.x,check,status,OK")
        self.expect(one, f"ALTER TABLE p DROP COLUMN c, {at_once}", "E1845")
        self.expect(one, "ALTER TABLE p DROP COLUMN c; SELECT * FROM p", "3 5")

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
        # A candidate for the primary key is not in place; nor are partitions.
        self.expect(one, "CREATE TABLE n (a INT NOT NULL, b INT) ENGINE=SLUICE; INSERT INTO n VALUES (1, 1), (2, 2);"
                         "ALTER TABLE n ADD UNIQUE (a), ALGORITHM=INPLACE", "E1845")
        self.expect(one, "ALTER TABLE n ADD UNIQUE (a); ALTER TABLE n ADD KEY (b), ALGORITHM=INPLACE; SELECT a FROM n WHERE b = 2", "2")
        self.expect(one, "CREATE TABLE p (a INT, b INT) ENGINE=SLUICE PARTITION BY HASH (a) PARTITIONS 3;"
                         "INSERT INTO p SELECT seq, seq FROM seq_1_to_9; ALTER TABLE p ADD KEY (b); ALTER TABLE p ADD COLUMN c INT DEFAULT 3;"
                         "SELECT a, c FROM p WHERE b = 5; CHECK TABLE p, n", "5,3 d.p,check,status,OK d.n,check,status,OK")
        self.server.kill()
        self.server.start()
        self.expect(self.connect(), "CHECK TABLE t, p, n", "d.t,check,status,OK d.p,check,status,OK d.n,check,status,OK")

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
                         "SET sluice_max_transaction_size = 1 << 30;"
                         "INSERT INTO r SELECT seq, (seq * 7919) % 300007, seq FROM seq_1_to_300000", "")
        self.expect(one, "ALTER TABLE r ADD KEY (c), ADD UNIQUE (b), ALGORITHM=INPLACE; CHECK TABLE r", "d.r,check,status,OK")
        self.expect(one, "SELECT a FROM r FORCE INDEX (c) WHERE c = '77777'; SELECT (a * 7919) % 300007 FROM r FORCE INDEX (b) WHERE b = 4",
                    "77777 4")
        # The first and the last row have the same value: no piece has both.
        self.expect(one, "ALTER TABLE r DROP KEY b; UPDATE r SET b = (SELECT b FROM r WHERE a = 1) WHERE a = 300000;"
                         "ALTER TABLE r ADD UNIQUE (b, c(0)), ALGORITHM=INPLACE", "E1391")
        self.expect(one, "UPDATE r SET c = 'x' WHERE a IN (1, 300000); ALTER TABLE r ADD UNIQUE (b, c), ALGORITHM=INPLACE", "E1062")
        self.expect(one, "CHECK TABLE r", "d.r,check,status,OK")

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

    def test_what_is_refused(self):
        one = self.connect()
        for sql in ("CREATE TABLE x (a INT, FOREIGN KEY (a) REFERENCES t (a)) ENGINE=SLUICE",
                    "ALTER TABLE t ADD FOREIGN KEY (b) REFERENCES t (a)",
                    "CREATE TABLE x (a VARCHAR(9) CHARACTER SET cp1250 COLLATE cp1250_czech_cs, KEY (a)) ENGINE=SLUICE"):
            self.expect(one, sql, "E1478")
        self.expect(one, "CREATE SEQUENCE x ENGINE=SLUICE", "E1478")
        self.expect(one, "CREATE TABLE x (a TEXT, FULLTEXT (a)) ENGINE=SLUICE", "E1214")
        self.expect(one, "SHOW TABLES", "t")

    def test_statements_are_not_logged_below_serializable(self):
        for isolation in ("READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ"):
            one = self.connect(isolation)
            self.expect(one, "SET binlog_format = STATEMENT", "")
            for sql in ("INSERT INTO t VALUES (9, 9)", "UPDATE t SET b = 5", "DELETE FROM t WHERE a = 1", "REPLACE INTO t VALUES (1, 1)",
                        "INSERT INTO t SELECT a + 100, b FROM t", "BEGIN; INSERT INTO t VALUES (9, 9)"):
                self.expect(one, sql, "E1665")
            # What is not logged may be written; and what only reads is no matter.
            self.expect(one, "ROLLBACK; SELECT COUNT(*) FROM t; SET sql_log_bin = 0; UPDATE t SET b = b; SET sql_log_bin = 1", "3")
        position = one.do("SHOW MASTER STATUS").split(",")
        for number, isolation in enumerate(("READ COMMITTED", "SERIALIZABLE")):
            one = self.connect(isolation)
            self.expect(one, f"SET binlog_format = MIXED; INSERT INTO t SELECT a + {100 * (number + 1)}, b FROM t WHERE a < 3", "")
        events = self.server.run(f"SHOW BINLOG EVENTS IN '{position[0]}' FROM {position[1]}")
        self.assertEqual(events.count("Write_rows"), 2, events)
        self.assertNotIn("INSERT INTO `t`", events)

    def test_statements_are_logged_at_serializable(self):
        one, two = self.connect("SERIALIZABLE"), self.connect()
        position = one.do("SHOW MASTER STATUS").split(",")
        self.expect(one, "SET binlog_format = STATEMENT; INSERT INTO t SELECT a + 100, b FROM t WHERE a < 3;"
                         "BEGIN; UPDATE t SET b = b + 1 WHERE a > 2; DELETE FROM t WHERE b = 10; COMMIT", "")
        events = self.server.run(f"SHOW BINLOG EVENTS IN '{position[0]}' FROM {position[1]}")
        for sql in ("INSERT INTO t SELECT a + 100", "UPDATE t SET b = b + 1", "DELETE FROM t WHERE b = 10"):
            self.assertIn(sql, events)
        self.assertNotIn("_rows", events)
        # For partitions that were not read before, and after the level was another one.
        self.expect(one, "CREATE TABLE r (a INT PRIMARY KEY, b INT) ENGINE=SLUICE PARTITION BY HASH (a) PARTITIONS 3;"
                         "INSERT INTO r VALUES (4, 4)", "")
        self.expect(two, "SET binlog_format = STATEMENT; UPDATE r SET b = 5 WHERE a = 4", "E1665")
        self.expect(one, "UPDATE r SET b = 6 WHERE a = 4; SELECT b FROM r", "6")
        self.expect(two, "UPDATE r SET b = 5 WHERE a = 4", "E1665")

    def test_locks_of_reads_outlive_the_first_phase(self):
        one, two = self.connect("SERIALIZABLE"), self.connect("READ COMMITTED")
        self.expect(one, "XA START 'a'; SELECT SUM(b) FROM t WHERE b < 25; INSERT INTO t VALUES (9, 90); XA END 'a'; XA PREPARE 'a'", "30")
        self.expect(two, "UPDATE t SET b = 11 WHERE a = 1", "E1205")
        self.expect(two, "INSERT INTO t VALUES (4, 15)", "E1205")
        self.expect(two, "UPDATE t SET b = 31 WHERE a = 3", "")
        self.expect(one, "XA COMMIT 'a'", "")
        self.expect(two, "UPDATE t SET b = 11 WHERE a = 1; INSERT INTO t VALUES (4, 15); SELECT SUM(b) FROM t", "167")

    def test_automatic_values_of_a_logged_statement_are_in_a_row(self):
        one, two, three = self.connect("SERIALIZABLE"), self.connect(), self.connect("SERIALIZABLE")
        self.expect(one, "CREATE TABLE r (a INT PRIMARY KEY AUTO_INCREMENT, b INT) ENGINE=SLUICE; SET binlog_format = STATEMENT", "")
        self.expect(three, "SET binlog_format = STATEMENT", "")
        self.expect(two, "INSERT INTO r (b) VALUES (1); SELECT GET_LOCK('x', 0)", "1")
        one.send("INSERT INTO r (b) SELECT IF(seq = 4, GET_LOCK('x', 1000), 1) + 99 FROM seq_1_to_4")
        while two.do("SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User lock'") == "0":
            time.sleep(0.01)  # until it has some of its values, and needs more
        self.expect(two, "INSERT INTO r (b) VALUES (2)", "E1205")
        self.expect(two, "INSERT INTO r (a, b) VALUES (50, 3)", "E1205")
        self.expect(three, "INSERT INTO r (b) VALUES (4)", "E1205")
        self.expect(two, "SELECT RELEASE_LOCK('x')", "1")
        self.assertEqual(one.receive(), "")
        self.expect(two, "SELECT a FROM r WHERE b = 100 ORDER BY a", "2 3 4 5")
        # For each statement alone: others need not wait for the transaction's end.
        self.expect(one, "BEGIN; INSERT INTO r (b) VALUES (5)", "")
        self.expect(two, "INSERT INTO r (b) VALUES (6)", "")
        self.expect(three, "INSERT INTO r (b) VALUES (7)", "")
        self.expect(one, "COMMIT; SELECT COUNT(DISTINCT a), COUNT(*) FROM r WHERE b IN (5, 6, 7)", "3,3")


if __name__ == "__main__":
    unittest.main()
