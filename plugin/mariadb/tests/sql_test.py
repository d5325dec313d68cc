#!/usr/bin/env python3
"""What statements and transactions do on Sluice that one connection alone, or a comparison with InnoDB, would not show."""

import threading
import time
import unittest

import case


class SqlTest(case.Case):
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

    def test_replacing_a_row_by_itself_affects_one_row(self):
        one = self.connect()
        self.expect(one, "REPLACE INTO t VALUES (1, 10); SELECT ROW_COUNT()", "1")
        self.expect(one, "REPLACE INTO t VALUES (1, 11); SELECT ROW_COUNT()", "2")
        self.expect(one, "REPLACE INTO t VALUES (7, 70); SELECT ROW_COUNT(); SELECT a FROM t WHERE b = 70", "1 7")

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

    def test_rows_that_move_ahead_of_who_waits_for_them_are_found(self):
        for change, statement, found in (
                ("UPDATE t SET b = 12 WHERE a = 1", "UPDATE t FORCE INDEX (b) SET c = c + 1 WHERE b BETWEEN 5 AND 25", "1 2"),
                ("UPDATE t SET b = 12 WHERE a = 1", "SELECT a FROM t FORCE INDEX (b) WHERE b BETWEEN 5 AND 25 FOR UPDATE", "1 2"),
                ("UPDATE t SET b = 18 WHERE a = 2", "SELECT a FROM t FORCE INDEX (b) WHERE b BETWEEN 5 AND 25 ORDER BY b DESC FOR UPDATE", "2 1"),
                ("UPDATE t SET b = 12 WHERE a = 1", "DELETE FROM t WHERE b BETWEEN 5 AND 25", "1 2"),
                ("UPDATE t SET a = 5 WHERE a = 3", "UPDATE t SET c = c + 1 WHERE a >= 3", "5"),
                ("UPDATE t SET a = 5 WHERE a = 3", "SELECT a FROM t WHERE a >= 3 FOR UPDATE", "5")):
            with self.subTest(change, statement=statement):
                self.server.run("CREATE OR REPLACE TABLE t (a INT PRIMARY KEY, b INT, c INT, KEY (b)) ENGINE=SLUICE;"
                                "INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0)", "d")
                one, two = self.connect(), self.connect("READ COMMITTED")
                number = two.do("SET sluice_lock_wait_timeout = 1000; SELECT CONNECTION_ID()")
                self.expect(one, f"BEGIN; {change}", "")
                two.send(f"BEGIN; {statement}")
                self.let_it_wait(number)
                self.expect(one, "COMMIT", "")
                answer = two.receive()
                if statement.startswith("SELECT"):
                    self.assertEqual(answer, found)
                elif statement.startswith("UPDATE"):
                    self.expect(two, "SELECT a FROM t WHERE c = 1", found)
                else:
                    self.expect(two, "SELECT a FROM t", "3")
                self.expect(two, "ROLLBACK", "")

    def test_a_row_that_changes_to_an_equal_one_is_looked_at_again(self):
        self.server.run("CREATE TABLE s (a INT PRIMARY KEY, b VARCHAR(9), KEY (b)) ENGINE=SLUICE CHARACTER SET latin1;"
                        "INSERT INTO s VALUES (1, 'a'), (2, 'b'), (3, 'c')", "d")
        one, two = self.connect(), self.connect("READ COMMITTED")
        number = two.do("SET sluice_lock_wait_timeout = 1000; SELECT CONNECTION_ID()")
        self.expect(one, "BEGIN; UPDATE s SET b = 'A' WHERE a = 1", "")
        two.send("SELECT * FROM s FORCE INDEX (b) WHERE b >= 'a' AND b < 'c' AND HEX(b) = '61' FOR UPDATE")
        self.let_it_wait(number)
        self.expect(one, "COMMIT", "")
        self.assertEqual(two.receive(), "")

    def let_it_wait(self, number):
        """Until the connection's statement waits, as a rule."""
        while self.server.run(f"SELECT id FROM information_schema.processlist WHERE id = {number} AND info IS NOT NULL") == "":
            pass
        time.sleep(0.2)

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

    def test_a_savepoint_whose_name_is_set_anew_leaves_the_others(self):
        one = self.connect()
        self.expect(one, "BEGIN; INSERT INTO t VALUES (10, 0); SAVEPOINT x; INSERT INTO t VALUES (11, 0); SAVEPOINT y; INSERT INTO t VALUES (12, 0)", "")
        self.expect(one, "SAVEPOINT x; INSERT INTO t VALUES (13, 0); SAVEPOINT z; INSERT INTO t VALUES (14, 0)", "")
        self.expect(one, "ROLLBACK TO z; SELECT a FROM t WHERE a > 9", "10 11 12 13")
        self.expect(one, "ROLLBACK TO x; SELECT a FROM t WHERE a > 9", "10 11 12")
        self.expect(one, "ROLLBACK TO y; ROLLBACK TO x", "E1305")
        self.expect(one, "INSERT INTO t VALUES (15, 0); COMMIT; SELECT a FROM t WHERE a > 9", "10 11 15")

    def test_handlers_do_not_go_on_with_half_a_row(self):
        """An entry of an index cannot be written, where the row has been."""
        body = "BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END; {}; {} END|\nDELIMITER ;"
        for kind, create, call, answers in (
                ("trigger", "TRIGGER r AFTER INSERT ON t FOR EACH ROW", "INSERT INTO t VALUES (11, 15)", ("E1205",)),
                ("function", "FUNCTION f() RETURNS INT DETERMINISTIC", "SELECT f()", ("E1205",)),
                ("procedure", "PROCEDURE p()", "CALL p()", ("E1205", ""))):
            for statement in ("INSERT INTO log VALUES (NULL, 15)", "UPDATE log SET n = 15 WHERE a = 1", "DELETE FROM log WHERE a = 2"):
                with self.subTest(kind, statement=statement):
                    self.server.run("CREATE OR REPLACE TABLE log (a INT AUTO_INCREMENT PRIMARY KEY, n INT, KEY (n)) ENGINE=SLUICE;"
                                    "INSERT INTO log VALUES (NULL, 1), (NULL, 12);\nDELIMITER |\n"
                                    f"CREATE OR REPLACE {create} {body.format(statement, 'RETURN 1;' if kind == 'function' else '')}", "d")
                    one, two = self.connect("SERIALIZABLE"), self.connect("READ COMMITTED")
                    self.expect(one, "BEGIN; SELECT n FROM log FORCE INDEX (n) WHERE n BETWEEN 10 AND 20", "12")
                    self.assertIn(two.do(call), answers)
                    self.expect(one, "COMMIT; CHECK TABLE log; SELECT a, n FROM log", "d.log,check,status,OK 1,1 2,12")
                    self.expect(one, "SELECT a FROM t", "1 2 3")

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

    def await_lock(self, statement):
        end = time.monotonic() + 60
        while "1" not in self.server.run(f"SELECT 1 FROM information_schema.processlist WHERE info = '{statement}' AND time_ms > 100"):
            self.assertLess(time.monotonic(), end, statement)

    def test_automatic_values_behind_other_columns(self):
        for partitions in ("", " PARTITION BY HASH (a) PARTITIONS 3", " PARTITION BY HASH (b) PARTITIONS 3"):
            for keys in ("PRIMARY KEY (a, b)", "PRIMARY KEY (a DESC, b DESC)", "KEY (a, b)", "KEY (a, b DESC)"):
                self.server.run("CREATE OR REPLACE TABLE n (a INT, b INT AUTO_INCREMENT, c INT, "
                                f"{keys}) ENGINE=SLUICE{partitions}", "d")
                for level in ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"):
                    one, two = self.connect(level), self.connect(level)
                    for connection in (one, two):
                        self.expect(connection, "SET sluice_lock_wait_timeout = 20", "")
                    self.expect(one, "DELETE FROM n; BEGIN; INSERT INTO n VALUES (1, 0, 1), (2, 0, 1), (1, 0, 1)", "")
                    # Another group goes on; the same one waits, and then has a value of its own, whatever its snapshot sees.
                    self.expect(two, "BEGIN; SELECT COUNT(*) FROM t; INSERT INTO n VALUES (3, 0, 2), (3, 7, 2), (3, 0, 2)", "3")
                    if " (b)" not in partitions:
                        two.send("INSERT INTO n VALUES (1, 0, 2), (1, 0, 2)")
                        self.await_lock("INSERT INTO n VALUES (1, 0, 2), (1, 0, 2)")
                        self.expect(one, "COMMIT", "")
                        self.assertEqual(two.receive(), "", (partitions, keys, level))
                        self.expect(two, "COMMIT; SELECT a, b FROM n ORDER BY 1, 2", "1,1 1,2 1,3 1,4 2,1 3,1 3,7 3,8")
                    # A value that is given is waited for, too, and one that is undone comes again.
                    self.expect(two, "COMMIT", "")
                    self.expect(one, "COMMIT; BEGIN; INSERT INTO n VALUES (1, 90, 1)", "")
                    two.send("INSERT INTO n VALUES (1, 0, 3)")
                    self.await_lock("INSERT INTO n VALUES (1, 0, 3)")
                    self.expect(one, "COMMIT; BEGIN; INSERT INTO n VALUES (1, 0, 4)", "")
                    self.expect(one, "ROLLBACK", "")
                    self.assertEqual(two.receive(), "", (partitions, keys, level))
                    self.expect(one, "SELECT b FROM n WHERE c = 3", "91")
                    self.assertIn("\tOK", self.server.run("CHECK TABLE n", "d"))

    def test_many_take_automatic_values_behind_other_columns(self):
        for keys in ("PRIMARY KEY (a, b)", "KEY (a, b)"):
            self.server.run(f"CREATE OR REPLACE TABLE n (a INT, b INT AUTO_INCREMENT, c INT, {keys}) ENGINE=SLUICE", "d")
            connections = [self.connect(level) for level in ("READ COMMITTED", "REPEATABLE READ", "READ COMMITTED", "REPEATABLE READ")]
            for connection in connections:
                self.expect(connection, "SET sluice_lock_wait_timeout = 50", "")
            for number in range(50):
                for connection in connections:
                    connection.send(f"INSERT INTO n VALUES ({number % 2}, 0, 1); BEGIN; INSERT INTO n VALUES (7, 0, 2), (7, 0, 2);"
                                    "INSERT INTO n VALUES (8, 0, 2); COMMIT")
                for connection in connections:
                    self.assertEqual(connection.receive(), "")
            self.expect(self.connect(), "SELECT a, COUNT(*), MAX(b), COUNT(DISTINCT b) FROM n GROUP BY a",
                        "0,100,100,100 1,100,100,100 7,400,400,400 8,200,200,200")

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
