#!/usr/bin/env python3
"""The binary log has what the tables have, in an order that does it again: done again in another server, it gives the
same tables.

    binlog_test.py [ROUNDS]

Connections of all formats write the same tables at once, with statements whose effect depends on what they read. Those
that are logged as statements are SERIALIZABLE. Meanwhile new logs are begun, after which the server does not look into
older ones when it recovers. In every other round the server is killed. The other server's tables are
Sluice's and InnoDB's in turn. A transaction begun WITH CONSISTENT SNAPSHOT sees what the log has up to the position that
the server says, and nothing else.
"""

import random
import sys
import threading
import time

import server

OPTIONS = ("--log-bin", "--server-id=1", "--sluice-lock-wait-timeout=2")
KEYS = 12
WRITERS = [("STATEMENT", "SERIALIZABLE")] * 3 + [("MIXED", "SERIALIZABLE"), ("ROW", "REPEATABLE READ"), ("ROW", "READ COMMITTED")]
TABLES = {"t": "id, k, v, u", "s": "id, client, total, n, note", "p": "a, b"}


def schema(engine):
    return f"""
CREATE DATABASE d; USE d; SET default_storage_engine = {engine};
CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL, v INT NOT NULL, u INT, KEY (k), KEY (k, v), UNIQUE (u));
CREATE TABLE s (id INT AUTO_INCREMENT PRIMARY KEY, client INT, total BIGINT, n INT, note INT DEFAULT 0, KEY (client));
CREATE TABLE p (a INT PRIMARY KEY, b INT, KEY (b)) PARTITION BY HASH (a) PARTITIONS 3;
CREATE TRIGGER x AFTER DELETE ON t FOR EACH ROW UPDATE p SET b = b + OLD.v WHERE a = OLD.k;
INSERT INTO t (k, v, u) SELECT seq % {KEYS}, seq, seq FROM seq_1_to_40;
INSERT INTO p SELECT seq - 1, 0 FROM seq_1_to_{KEYS};
"""


class Writer(threading.Thread):
    def __init__(self, running, draw, number):
        super().__init__()
        self.draw, self.number, self.over = draw, number, False
        self.format, self.isolation = WRITERS[number]
        self.done = 0  # statements without an error
        self.refused = set()
        self.connection = server.Connection(running, "d")

    def statement(self):
        draw = self.draw
        k, low = draw.randrange(KEYS), draw.randrange(KEYS)
        between = f"k BETWEEN {low} AND {low + draw.randrange(4)}"
        force = draw.choice(["", "FORCE INDEX (k)", "FORCE INDEX (k_2)", "FORCE INDEX (PRIMARY)"])
        row = f"({k}, {draw.randrange(100)}, {draw.choice(['NULL', draw.randrange(60)])})"
        return draw.choice([
            f"INSERT INTO t (k, v, u) VALUES {row}, {row.replace('(', '(1 + ', 1)}",
            f"INSERT IGNORE INTO t (k, v, u) VALUES {row}, ({low}, 1, {draw.randrange(60)})",
            f"INSERT INTO t (k, v, u) VALUES {row} ON DUPLICATE KEY UPDATE v = v + 1",
            f"REPLACE INTO t (k, v, u) VALUES {row}",
            f"INSERT INTO t (id, k, v) SELECT MAX(id) + {draw.choice([1, 1, 5])}, {k}, COUNT(*) FROM t",
            f"INSERT INTO t (k, v) SELECT k + 1, v FROM t {force} WHERE k = {k} ORDER BY id LIMIT {draw.randint(1, 9)}",
            f"INSERT INTO s (client, total, n) SELECT {self.number}, SUM(v), COUNT(*) FROM t {force} WHERE {between}",
            f"INSERT INTO s (client, total, n) SELECT id, v, k FROM t {force} WHERE {between} ORDER BY id",
            f"UPDATE t {force} SET v = v + 1 WHERE {between}",
            f"UPDATE t SET k = {low} WHERE k = {k} AND v % 2 = 0",
            f"UPDATE t SET v = (SELECT COUNT(*) FROM s WHERE client = {self.number}) WHERE k = {k}",
            f"UPDATE s SET note = note + 1, total = (SELECT SUM(v) FROM t {force} WHERE {between}) WHERE client = {draw.randrange(9)}",
            f"UPDATE p SET b = (SELECT MAX(v) FROM t WHERE k = a) WHERE a IN ({k}, {low})",
            f"DELETE FROM t WHERE k = {k}",
            f"DELETE FROM t WHERE {between} AND v % 3 = 0",
            f"DELETE FROM s WHERE client = {draw.randrange(40)}",
        ])

    def transaction(self):
        if self.draw.random() < .4:
            yield self.statement()
            return
        yield "BEGIN"
        for i in range(self.draw.randint(1, 4)):
            yield self.statement()
            if self.draw.random() < .2:
                yield f"SAVEPOINT s{i}"
                yield self.statement()
                yield f"ROLLBACK TO s{i}"
        yield "COMMIT" if self.draw.random() < .85 else "ROLLBACK"

    def run(self):
        try:
            self.connection.do(f"SET SESSION TRANSACTION ISOLATION LEVEL {self.isolation}; SET binlog_format = {self.format}; "
                               "SET max_statement_time = 20")
            while not self.over:
                for sql in self.transaction():
                    answer = self.connection.do(sql)
                    self.done += answer == ""
                    self.refused.update([answer] if answer else [])
        except (RuntimeError, BrokenPipeError):
            pass  # the server was killed
        self.connection.close()


def fail(what):
    sys.exit(f"binlog_test.py: {what}")


def contents(running):
    for table in TABLES:
        answer = running.run(f"CHECK TABLE {table}", "d")
        if "\tOK" not in answer:
            fail(answer)
    return {table: running.run(f"SELECT {columns} FROM {table} ORDER BY 1", "d").splitlines()
            for table, columns in TABLES.items()}


class Snapshot:
    """What a consistent snapshot sees, and where in the logs it is."""

    def __init__(self, running):
        connection = server.Connection(running, "d")
        connection.do("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        status = dict(pair.split(",") for pair in connection.do("SHOW STATUS LIKE 'binlog_snapshot_%'").split())
        self.log, self.position = status["Binlog_snapshot_file"], status["Binlog_snapshot_position"]
        self.seen = self.read(connection)

    @staticmethod
    def read(connection):
        seen = {table: connection.do(f"SELECT {columns} FROM {table} ORDER BY 1") for table, columns in TABLES.items()}
        connection.close()
        return seen

    def check(self, other):
        found = self.read(server.Connection(other, "d"))
        for table, seen in self.seen.items():
            if found[table] != seen:
                fail(f"at {self.log}:{self.position} the log gives {table} as\n{found[table]}\nand the snapshot is\n{seen}")


def replay(running, other, snapshot):
    """Does the binary logs again in the other server, and returns how many statements of writers they have."""
    statements = 0

    def run(log, *options):
        nonlocal statements
        # What was being written when the server was killed is an error at a log's end.
        text = running.binlog(log, *options)
        statements += text.count("\nUPDATE t ")
        other.run(f"{text}\nROLLBACK;")

    logs = [line.split("\t")[0] for line in running.run("SHOW BINARY LOGS").splitlines()[1:]]
    if snapshot.log not in logs:
        fail(f"there is no {snapshot.log}")
    for log in logs:
        if log == snapshot.log:
            run(log, f"--stop-position={snapshot.position}")
            snapshot.check(other)
            run(log, f"--start-position={snapshot.position}")
        else:
            run(log)
    return statements


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    draw = random.Random(server.seed())
    for number in range(rounds):
        running, other = server.Server(*OPTIONS), server.Server()
        try:
            running.run(f"SET sql_log_bin = 0; {schema('SLUICE')}")
            other.run(schema("INNODB" if number % 4 > 1 else "SLUICE"))
            writers = [Writer(running, random.Random(draw.random()), i) for i in range(len(WRITERS))]
            for writer in writers:
                writer.start()
            end = time.monotonic() + draw.uniform(1, 6)
            begins_logs = server.Connection(running)
            while time.monotonic() < end:
                begins_logs.do("FLUSH BINARY LOGS")
                time.sleep(draw.uniform(0, .1))
            begins_logs.close()
            snapshot = Snapshot(running)
            time.sleep(.1)
            killed = number % 2 == 1
            if killed:
                running.kill()
            for writer in writers:
                writer.over = True
                if killed:
                    writer.connection.process.kill()  # it would try to reach the server again
            for writer in writers:
                writer.join()
            if killed:
                running.start()
            statements = replay(running, other, snapshot)
            expected, found = contents(running), contents(other)
            for table in TABLES:
                if expected[table] != found[table]:
                    fail(f"round {number}: table {table} has\n{expected[table]}\nand when the log is done again\n{found[table]}")
            done = [writer.done for writer in writers]
            print(f"round {number}: {done} statements, {statements} UPDATEs logged as such{', killed' if killed else ''}; "
                  f"refused: {sorted(set().union(*(writer.refused for writer in writers)))}", flush=True)
            if min(done) == 0 or statements == 0:
                fail("some connection has written nothing")
        finally:
            running.close()
            other.close()


if __name__ == "__main__":
    main()
