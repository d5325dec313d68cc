#!/usr/bin/env python3
"""A primary and its replica: what is replicated, and that neither XA transactions nor an end of a server stop it."""

import random
import threading
import unittest

import replication
import server


class ReplicationTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        port = replication.Port()
        cls.addClassCleanup(port.close)
        cls.primary = replication.Replicating(port, 11)
        cls.addClassCleanup(cls.primary.close)
        cls.replica = replication.Replicating(port, 12)
        cls.addClassCleanup(cls.replica.close)
        cls.replica.follow(cls.primary)

    def setUp(self):
        self.primary.run("CREATE OR REPLACE TABLE t (a INT PRIMARY KEY, b INT, KEY (b)); INSERT INTO t VALUES (1, 10), (2, 20), (3, 30);"
                         "CREATE OR REPLACE TABLE u (a INT PRIMARY KEY, b INT); INSERT INTO u VALUES (1, 10)", "d")

    def connect(self):
        connection = server.Connection(self.primary, "d")
        self.addCleanup(connection.close)
        return connection

    def expect(self, connection, sql, answer=""):
        self.assertEqual(connection.do(sql), answer, sql)

    def same(self):
        self.replica.await_primary(self.primary)
        for table in ("t", "u"):
            self.assertEqual(self.replica.rows(f"SELECT * FROM {table} ORDER BY 1"), self.primary.rows(f"SELECT * FROM {table} ORDER BY 1"))
            self.assertIn("\tOK", self.replica.run(f"CHECK TABLE {table}", "d"))

    def test_position_is_kept_in_the_engine(self):
        self.same()
        self.assertIn("gtid_slave_pos_SLUICE", self.replica.run("SHOW TABLES", "mysql"))

    def test_automatic_values_go_on_from_where_they_were_set(self):
        one = self.connect()
        self.expect(one, "CREATE OR REPLACE TABLE u (a INT PRIMARY KEY AUTO_INCREMENT, b INT, KEY (b)); INSERT INTO u (b) VALUES (1);"
                    "ALTER TABLE u AUTO_INCREMENT = 100, ALGORITHM=INSTANT; INSERT INTO u (b) VALUES (2);"
                    "ALTER TABLE u ALTER INDEX b IGNORED, ALGORITHM=INSTANT; INSERT INTO u (b) VALUES (3)")
        self.same()
        for running in (self.primary, self.replica):
            shown = running.run("SHOW CREATE TABLE u", "d")
            self.assertIn("AUTO_INCREMENT=102", shown)
            self.assertIn(" IGNORED", shown)
        self.expect(one, "DELETE FROM u WHERE a > 50; ALTER TABLE u AUTO_INCREMENT = 1, ALGORITHM=INSTANT")
        self.same()
        for running in (self.primary, self.replica):
            self.assertIn("AUTO_INCREMENT=2 ", running.run("SHOW CREATE TABLE u", "d"))

    def test_prepared_transactions_are_there_on_the_replica(self):
        one = self.connect()
        self.expect(one, "XA START 'a'; UPDATE t SET b = 11 WHERE a = 1; XA END 'a'; XA PREPARE 'a'")
        two = self.connect()
        self.expect(two, "XA START 'b'; UPDATE t SET b = 22 WHERE a = 2; XA END 'b'; XA PREPARE 'b'")
        self.replica.await_primary(self.primary)
        self.assertEqual(len(self.replica.prepared()), 2)
        # One that is replicated beside them.
        self.primary.run("UPDATE t SET b = 33 WHERE a = 3", "d")
        self.expect(one, "XA COMMIT 'a'")
        self.expect(two, "XA ROLLBACK 'b'")
        self.same()
        self.assertEqual(self.replica.prepared(), [])
        self.assertEqual(self.replica.rows("SELECT b FROM t ORDER BY a"), [["11"], ["20"], ["33"]])

    def test_other_tables_change_beside_a_prepared_transaction(self):
        one = self.connect()
        self.expect(one, "XA START 'a'; UPDATE t SET b = 11 WHERE a = 1; XA END 'a'; XA PREPARE 'a'")
        two = self.connect()
        self.expect(two, "ALTER TABLE u ADD KEY (b); ALTER TABLE u ADD COLUMN c INT DEFAULT 5; ALTER TABLE u FORCE")
        self.expect(two, "TRUNCATE u; INSERT INTO u VALUES (2, 20, 6)")
        self.replica.await_primary(self.primary)
        self.expect(one, "XA COMMIT 'a'")
        self.same()

    def test_workers_that_wait_for_later_ones_go_on(self):
        """Workers apply transactions at once that were one after the other, and commit in that order: the later gives way."""
        settings = "SET GLOBAL slave_parallel_threads = {}, slave_parallel_mode = '{}', sluice_lock_wait_timeout = {}"
        for mode in ("optimistic", "aggressive"):
            # Nobody would see a lock's wait end by itself.
            self.replica.run(f"STOP SLAVE; {settings.format(4, mode, 36000)}; START SLAVE IO_THREAD")
            self.primary.run("".join(f"BEGIN; UPDATE t SET b = b + 1 WHERE a = {1 + i % 2}; UPDATE u SET b = b + 1; UPDATE t SET b = b + 1; COMMIT;"
                                     for i in range(100)), "d")
            self.replica.run("START SLAVE SQL_THREAD")
            self.same()
        self.replica.run(f"STOP SLAVE; {settings.format(0, 'optimistic', 2)}; START SLAVE")

    def test_who_waits_for_a_place_sees_all_before(self):
        """Workers that commit together say one by one how far the replica has come."""
        self.replica.run("STOP SLAVE; SET GLOBAL slave_parallel_threads = 8; START SLAVE IO_THREAD")
        expected = 1
        for _ in range(10):
            self.replica.run("STOP SLAVE SQL_THREAD")
            self.primary.run("".join(f"INSERT INTO u VALUES ({expected + i + 1}, 0);" for i in range(8)), "d")
            expected += 8
            place = self.primary.value("SELECT @@gtid_binlog_pos")
            seen = self.replica.run(f"START SLAVE SQL_THREAD; SELECT MASTER_GTID_WAIT('{place}', 600); SELECT COUNT(*) FROM u", "d")
            self.assertEqual(seen.split()[-1], str(expected), seen)
        self.replica.run("STOP SLAVE; SET GLOBAL slave_parallel_threads = 0; START SLAVE")

    def test_workers_do_statements_as_if_one_after_the_other(self):
        """What a statement finds must not hang on whether an earlier transaction is done already."""
        self.replica.run("STOP SLAVE; SET GLOBAL slave_parallel_threads = 8, slave_parallel_mode = 'optimistic'; START SLAVE IO_THREAD")
        self.primary.run("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE; SET SESSION binlog_format = STATEMENT;" + "".join(
            f"INSERT INTO u VALUES ({i}, 0); UPDATE u SET b = b + 1 WHERE a BETWEEN {i - 3} AND {i + 3};"
            f"INSERT INTO t SELECT a + 1000, b FROM u WHERE a = {i};" for i in range(10, 110)), "d")
        self.assertIn("UPDATE u SET b = b + 1 WHERE", self.primary.binlog("binlog.000001"))
        self.replica.run("START SLAVE SQL_THREAD")
        self.same()
        self.replica.run("STOP SLAVE; SET GLOBAL slave_parallel_threads = 0; START SLAVE")

    def test_replica_is_killed_and_goes_on(self):
        one = self.connect()
        self.expect(one, "XA START 'a'; UPDATE t SET b = 11 WHERE a = 1; XA END 'a'; XA PREPARE 'a'")
        self.replica.await_primary(self.primary)
        self.replica.kill()
        self.primary.run("SET GLOBAL rpl_semi_sync_master_enabled = OFF")
        self.expect(one, "XA COMMIT 'a'")
        self.primary.run("INSERT INTO t VALUES (4, 40)", "d")
        self.replica.start()
        self.replica.follow(self.primary)
        self.same()


class MixedLog(replication.Replicating):
    OPTIONS = (*replication.Replicating.OPTIONS, "--binlog-format=MIXED", "--innodb")


class PrimaryOfInnoDBTest(unittest.TestCase):
    """Tables that are InnoDB's on the primary, whose log has statements, and some rows, of four connections that write at once."""

    def write(self, primary, seed):
        draw = random.Random(seed)

        def statement():
            key, value = draw.randrange(200), draw.randrange(20)
            return draw.choice((
                f"INSERT INTO a VALUES ({key}, {value}, 1) ON DUPLICATE KEY UPDATE w = w + 1",
                f"REPLACE INTO a VALUES ({key}, {value}, 3)",
                f"UPDATE a SET w = w + 1 WHERE k BETWEEN {key} AND {key + value}",
                f"UPDATE a SET v = v + 1, w = w + v WHERE v = {value}",
                f"UPDATE a SET w = FLOOR(RAND() * 9) WHERE k = {key}",
                f"DELETE FROM a WHERE v = {value} AND k > {key}",
                f"INSERT INTO a SELECT k + {200 + key}, v, w FROM a WHERE k BETWEEN {key} AND {key + 3} ON DUPLICATE KEY UPDATE w = a.w + 7",
                f"INSERT INTO b (v) VALUES ({value})",
                f"UPDATE b SET v = v + 1 WHERE v < {value}"))

        transactions = [[statement() for _ in range(draw.choice((1, 1, 2, 3)))] for _ in range(60)]
        # In deadlocks one of them is rolled back, as a whole.
        primary.run("".join(f"BEGIN; {'; '.join(statements)}; COMMIT;\n" for statements in transactions), "d", force=True)

    def test_replica_is_as_the_primary(self):
        seed = server.seed()
        port = replication.Port()
        self.addCleanup(port.close)
        nodes = []
        for number, engine in ((21, "InnoDB"), (22, "SLUICE")):
            nodes.append(MixedLog(port, number))
            self.addCleanup(nodes[-1].close)
            nodes[-1].run(f"SET sql_log_bin = 0; CREATE TABLE a (k INT PRIMARY KEY, v INT, w INT, KEY (v)) ENGINE={engine};"
                          f"CREATE TABLE b (k INT PRIMARY KEY AUTO_INCREMENT, v INT, KEY (v)) ENGINE={engine}", "d")
        primary, replica = nodes
        replica.follow(primary)
        for turn, mode in enumerate(("optimistic", "aggressive")):
            replica.run(f"STOP SLAVE; SET GLOBAL slave_parallel_threads = 8, slave_parallel_mode = '{mode}'; START SLAVE IO_THREAD")
            writers = [threading.Thread(target=self.write, args=(primary, seed + 4 * turn + i)) for i in range(4)]
            for writer in writers:
                writer.start()
            for writer in writers:
                writer.join()
            replica.run("START SLAVE SQL_THREAD")
            replica.await_primary(primary)
            for table in ("a", "b"):
                self.assertEqual(replica.rows(f"SELECT * FROM {table} ORDER BY k"), primary.rows(f"SELECT * FROM {table} ORDER BY k"), mode)
                self.assertIn("\tOK", replica.run(f"CHECK TABLE {table}", "d"))
        self.assertIn("ENGINE=SLUICE", replica.run("SHOW CREATE TABLE a", "d"))


if __name__ == "__main__":
    unittest.main()
