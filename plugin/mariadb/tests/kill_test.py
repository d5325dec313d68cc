#!/usr/bin/env python3
"""Kills a server under load, starts it again, and looks at what it still has.

    kill_test.py [ROUNDS]

Clients move money between accounts and write each move down, in one transaction, while another one makes and drops
tables. After each kill: every move that was acknowledged is there, and at most one more of each client; the sum is what
it was; indexes agree with rows, and sub-tables with what the table says of their options; no transaction is left
prepared. In every other round the server writes its binary log, so that each commit has two phases, and it is compared
with the table of moves. In half of the rounds connections share a pool of threads, which do not wait for commits.
"""

import random
import re
import subprocess
import sys
import threading
import time

import server

CLIENTS = 6
ACCOUNTS = 50

SCHEMA = f"""
CREATE DATABASE d; USE d;
CREATE TABLE accounts (id INT PRIMARY KEY, amount INT NOT NULL, name VARCHAR(20) NOT NULL, KEY (amount), UNIQUE (name))
  ENGINE=SLUICE;
INSERT INTO accounts SELECT seq, 1000, CONCAT('account ', seq) FROM seq_1_to_{ACCOUNTS};
CREATE TABLE moves (id BIGINT AUTO_INCREMENT PRIMARY KEY, client INT NOT NULL, number INT NOT NULL, note TEXT,
  UNIQUE (client, number)) ENGINE=SLUICE;
DELIMITER //
CREATE PROCEDURE move(c INT, n INT, a INT, b INT, k INT)
BEGIN
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; SELECT 'failed'; END;
  START TRANSACTION;
  UPDATE accounts SET amount = amount - k WHERE id = a;
  UPDATE accounts SET amount = amount + k WHERE name = CONCAT('account ', b);
  INSERT INTO moves (client, number, note) VALUES (c, n, REPEAT('x', k * 20));
  COMMIT;
  SELECT 'moved';
END //
DELIMITER ;
"""


class Mover(threading.Thread):
    """A client; `done` are its moves that were acknowledged, the next one may be."""

    def __init__(self, running, draw, client, done):
        super().__init__()
        self.draw, self.client, self.done = draw, client, done
        self.process = subprocess.Popen(running.client("--batch", "--skip-column-names", "--unbuffered", "d"), text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def run(self):
        try:
            while True:
                a, b = self.draw.sample(range(1, ACCOUNTS + 1), 2)
                self.process.stdin.write(f"CALL move({self.client}, {self.done + 1}, {a}, {b}, {self.draw.randint(1, 30)});\n")
                self.process.stdin.flush()
                answer = self.process.stdout.readline()
                if answer == "moved\n":
                    self.done += 1
                elif answer != "failed\n":
                    break
        except BrokenPipeError:
            pass
        self.process.kill()
        self.process.wait()


class Changer(threading.Thread):
    """A client that changes tables; what it does may fail."""

    def __init__(self, running, draw):
        super().__init__()
        self.running, self.draw, self.over = running, draw, False

    def run(self):
        while not self.over:
            n = self.draw.randrange(3)
            self.running.run("\n".join([
                f"CREATE TABLE IF NOT EXISTS t{n} (a INT PRIMARY KEY, b TEXT, KEY (b(9))) ENGINE=SLUICE;",
                f"INSERT IGNORE INTO t{n} SELECT seq, seq FROM seq_1_to_200;",
                self.draw.choice([f"TRUNCATE t{n};", f"DROP TABLE t{n};", f"RENAME TABLE t{n} TO t{n + 1};",
                                  f"ALTER TABLE t{n} ADD COLUMN c{self.draw.randrange(9)} INT, ADD KEY (a, b(3));"]),
                # These while others write the tables.
                self.draw.choice(["ALTER TABLE accounts ADD KEY x (amount, name);", "ALTER TABLE accounts DROP KEY x;",
                                  f"ALTER TABLE accounts COMPRESSION={self.draw.choice(['zstd', 'snappy', 'DEFAULT'])};",
                                  "ALTER TABLE moves ADD UNIQUE y (number, client);", "ALTER TABLE moves DROP KEY y;",
                                  f"ALTER TABLE moves ADD COLUMN z{self.draw.randrange(9)} INT NOT NULL DEFAULT 5;"])]),
                "d", force=True)


def fail(what):
    sys.exit(f"kill_test.py: {what}")


def check(running, movers):
    tables = running.run("SHOW TABLES", "d").split()[1:]
    for table in tables:
        answer = running.run(f"CHECK TABLE {table}", "d")
        if "\tOK" not in answer:
            fail(answer)
    total = running.run("SELECT SUM(amount) FROM accounts", "d").split()[1]
    if total != str(ACCOUNTS * 1000):
        fail(f"{total} instead of {ACCOUNTS * 1000}")
    extra = 0
    for mover in movers:
        last, count = running.run(f"SELECT COALESCE(MAX(number), 0), COUNT(*) FROM moves WHERE client = {mover.client}",
                                  "d").splitlines()[1].split("\t")
        if last != count or not mover.done <= int(last) <= mover.done + 1:
            fail(f"client {mover.client}: {mover.done} acknowledged, {count} there, the last is {last}")
        extra += int(last) - mover.done
        mover.done = int(last)
    status = running.run("SHOW ENGINE SLUICE STATUS")
    if ", 0 prepared" not in status:
        fail(status)
    # What is said of the table holds for each of its indexes, and no other table says anything.
    definition = running.run("SHOW CREATE TABLE accounts", "d")
    said = re.search(r"COMPRESSION`=(\w+)", definition)
    expected = definition.count("KEY ") * [f"compression={said[1]}"] if said else []
    if (stored := re.findall(r"its own options: (.*)", status)) != expected:
        fail(f"{stored} instead of {expected}")
    return extra


def logged_moves(running):
    """How many moves are in the binary log. What was being written when the server was killed is an error at a log's end."""
    count = 0
    for log in (line.split("\t")[0] for line in running.run("SHOW BINARY LOGS").splitlines()[1:]):
        command = running.client("--batch", "--raw", "--quick", f"--execute=SHOW BINLOG EVENTS IN '{log}'")
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode != 0 and "ERROR 1220" not in done.stderr:
            fail(done.stderr)
        count += done.stdout.count("(d.moves)")
    return count


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    draw = random.Random(server.seed())
    running = server.Server()
    try:
        running.run(SCHEMA)
        done = [0] * CLIENTS
        to_log = 0
        for number in range(rounds):
            binlog = number % 2 == 1
            running.options = (("--log-bin", "--binlog-format=row", "--server-id=1") if binlog else ()) + (
                ("--thread-handling=pool-of-threads",) if number % 4 > 1 else ())
            running.stop() if number % 3 == 0 else running.kill()
            running.start()
            movers = [Mover(running, random.Random(draw.random()), c, done[c]) for c in range(CLIENTS)]
            changer = Changer(running, random.Random(draw.random()))
            for thread in (*movers, changer):
                thread.start()
            time.sleep(draw.uniform(.2, 3))
            running.kill()
            changer.over = True
            for thread in (*movers, changer):
                thread.join()
            running.start()
            extra = check(running, movers)
            if binlog:
                to_log += sum(mover.done for mover in movers) - sum(done)
                if (logged := logged_moves(running)) != to_log:
                    fail(f"{logged} moves in the binary log, {to_log} in the table")
            done = [mover.done for mover in movers]
            print(f"round {number}: {sum(done)} moves, {extra} of them not acknowledged{', binary log' if binlog else ''}",
                  flush=True)
        if sum(done) == 0:
            fail("no client did anything")
    finally:
        running.close()


if __name__ == "__main__":
    main()
