#!/usr/bin/env python3
"""Kills servers of a cluster under load, and shows that nothing is lost that was acknowledged.

A head with Spider has two shards below it, each with a replica (docs/sql.md, Past one machine), on loopback. sysbench writes
through the head, and clients move money between accounts of both shards, and write each move down in both, in one
transaction. Then the same of transactions that are prepared when a server dies.
"""

import argparse
import contextlib
import itertools
import random
import subprocess
import threading
import time

import cluster
import replication
import server

CLIENTS = 4
ACCOUNTS = 100
AMOUNT = 1000
TABLES = {
    "accounts": "id INT PRIMARY KEY, amount INT NOT NULL",
    "moves": "id BIGINT PRIMARY KEY, account INT NOT NULL, amount INT NOT NULL",
    "sbtest1": "id INT PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL, KEY k_1 (k)",
}
SYSBENCH_ROWS = 1000


def say(text):
    print(text, flush=True)


def fail(what):
    raise SystemExit(f"cluster_test.py: {what}")


class Ledger:
    """Moves, by their numbers: those that were acknowledged must be there, those whose COMMIT had another answer may be."""

    def __init__(self, draw):
        self.draw = draw
        self.numbers = itertools.count(1)
        self.acknowledged, self.unknown = set(), set()

    def statements(self, number):
        amount = self.draw.randint(1, 30)
        accounts = [self.draw.randrange(0, ACCOUNTS, 2), self.draw.randrange(1, ACCOUNTS, 2)]
        self.draw.shuffle(accounts)
        for account, change in zip(accounts, (-amount, amount)):
            yield f"UPDATE accounts SET amount = amount + {change} WHERE id = {account}"
            yield f"INSERT INTO moves VALUES ({2 * number + account % 2}, {account}, {change})"


class Mover(threading.Thread):
    def __init__(self, head, ledger):
        super().__init__()
        self.head, self.ledger, self.over = head, ledger, False
        self.connection = None
        self.errors = set()

    def move(self):
        number = next(self.ledger.numbers)
        for sql in ("BEGIN", *self.ledger.statements(number)):
            if answer := self.connection.do(sql):
                self.errors.add(answer)
                self.connection.do("ROLLBACK")
                time.sleep(.05)
                return
        self.ledger.unknown.add(number)
        if answer := self.connection.do("COMMIT"):
            self.errors.add(answer)
        else:
            self.ledger.acknowledged.add(number)

    def run(self):
        while not self.over:
            self.connection = server.Connection(self.head, "d")
            with contextlib.suppress(RuntimeError, BrokenPipeError), contextlib.closing(self.connection):
                while not self.over:
                    self.move()
            time.sleep(.1)


@contextlib.contextmanager
def moving(head, ledger):
    """Clients that move money meanwhile."""
    before, start = len(ledger.acknowledged), time.monotonic()
    movers = [Mover(head, ledger) for _ in range(CLIENTS)]
    for mover in movers:
        mover.start()
    try:
        yield
    finally:
        for mover in movers:
            mover.over = True
        for mover in movers:
            mover.join()
    done, seconds = len(ledger.acknowledged) - before, time.monotonic() - start
    say(f"  {done} moves acknowledged in {seconds:.0f} s; errors {sorted(set().union(*(mover.errors for mover in movers)))}")


@contextlib.contextmanager
def sysbench(head, seconds):
    """sysbench's oltp_write_only meanwhile; what fails it does again."""
    process = subprocess.Popen(
        [replication.ROOT / "usr/bin/sysbench", "./oltp_write_only.lua", "--db-driver=mysql", f"--mysql-socket={head.directory.name}/socket", "--mysql-user=root",
         "--mysql-db=d", "--mysql-ignore-errors=all", "--db-ps-mode=disable", "--auto-inc=off", f"--table-size={SYSBENCH_ROWS}", "--threads=2",
         f"--time={seconds}", "run"], cwd=replication.ROOT / "usr/share/sysbench",
        env=replication.ENVIRONMENT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        yield
        output = process.communicate(timeout=seconds + 60)[0]
    finally:
        process.kill()
    if process.returncode != 0:
        fail(f"sysbench:\n{output[-2000:]}")
    lines = [" ".join(line.split()) for line in output.splitlines() if "transactions:" in line or "ignored errors:" in line]
    say(f"  sysbench: {'; '.join(lines)}")


def fill(running):
    for table, columns in TABLES.items():
        running.create(table, columns)
    running.head.run(f"INSERT INTO accounts SELECT seq - 1, {AMOUNT} FROM seq_1_to_{ACCOUNTS};"
                     f"INSERT INTO sbtest1 SELECT seq, seq, REPEAT('c', 119), REPEAT('p', 59) FROM seq_1_to_{SYSBENCH_ROWS}", "d")


def check(running, ledger):
    """Nothing is prepared, each shard's accounts agree with its moves, and both shards have the same moves: all that were
    acknowledged, and none that was not asked for. Replicas have what their primaries have."""
    moves, total = [], 0
    # Spider leaves a note of each transaction that could not be prepared, which concerns nobody.
    if left := running.head.prepared() or [xid for xid, status in running.states() if status != "NOT YET"]:
        fail(f"the head knows of prepared transactions: {left}")
    for shard in running.shards:
        if prepared := shard.primary.prepared():
            fail(f"shard {shard.number} has prepared transactions: {prepared}")
        if wrong := shard.primary.rows(
                "SELECT id, accounts.amount, moved FROM accounts LEFT JOIN (SELECT account, SUM(amount) AS moved FROM moves "
                f"GROUP BY account) AS m ON account = id WHERE accounts.amount <> {AMOUNT} + COALESCE(moved, 0)"):
            fail(f"shard {shard.number}: accounts do not agree with moves: {wrong}")
        moves.append({int(number) // 2 for (number,) in shard.primary.rows("SELECT id FROM moves")})
        total += int(shard.primary.value("SELECT SUM(amount) FROM accounts"))
        for node in filter(None, (shard.primary, shard.replica)):
            if (answer := node.run(f"CHECK TABLE {', '.join(TABLES)}", "d")).count("\tOK") != len(TABLES):
                fail(f"shard {shard.number}: {answer}")
        if shard.replica is not None:
            shard.replica.await_primary(shard.primary)
            primary, replica = (node.rows(f"CHECKSUM TABLE {', '.join(TABLES)}") for node in (shard.primary, shard.replica))
            if primary != replica:
                fail(f"shard {shard.number}: the primary has {primary}, its replica {replica}")
            if (status := shard.primary.status("Rpl_semi_sync_master_status")) != "ON":
                fail(f"shard {shard.number}: commits did not wait for the replica")
    if halves := moves[0] ^ moves[1]:
        fail(f"moves that only one shard has: {sorted(halves)}")
    if lost := ledger.acknowledged - moves[0]:
        fail(f"acknowledged moves that are lost: {sorted(lost)}")
    if strange := moves[0] - ledger.acknowledged - ledger.unknown:
        fail(f"moves that were not committed: {sorted(strange)}")
    by_head = int(running.head.value("SELECT SUM(amount) FROM accounts"))
    if not total == by_head == ACCOUNTS * AMOUNT:
        fail(f"the sum is {total} in the shards, {by_head} through the head, not {ACCOUNTS * AMOUNT}")
    extra = len(moves[0] - ledger.acknowledged)
    say(f"  {len(ledger.acknowledged)} acknowledged moves are in both shards, and {extra} others; the sum is {total}")


def load_and_kill_a_primary(running, ledger, seconds, restarts):
    shard = ledger.draw.choice(running.shards)
    say(f"Load through the head; the primary of shard {shard.number} is killed in the middle")
    with moving(running.head, ledger), sysbench(running.head, seconds):
        time.sleep(seconds / 2)
        shard.primary.kill()
        start = time.monotonic()
        resolved = running.restart(shard) if restarts else running.fail_over(shard)
        before = len(ledger.acknowledged)
        say(f"  {'it is back' if restarts else 'its replica has taken over'} after {time.monotonic() - start:.1f} s;"
            f" prepared transactions: {resolved}")
        replication.await_true(lambda: len(ledger.acknowledged) > before, "nothing is acknowledged any more")
    check(running, ledger)
    if not restarts:
        shard.add_replica()
        say("  the new primary has a replica")
        check(running, ledger)


def load_and_kill_the_head(running, ledger, seconds):
    say("Load through the head, which is killed")
    with moving(running.head, ledger):
        time.sleep(ledger.draw.uniform(.5, 1) * seconds)
        running.head.kill()
    resolved = running.restart_head()
    say(f"  it is back; prepared transactions: {resolved}")
    check(running, ledger)


def prepare_a_move(running, ledger, xid):
    """A connection that has prepared one, and the move's number."""
    connection = server.Connection(running.head, "d")
    number = next(ledger.numbers)
    for sql in (f"XA START '{xid}'", *ledger.statements(number), f"XA END '{xid}'", f"XA PREPARE '{xid}'"):
        if answer := connection.do(sql):
            fail(f"{sql}: {answer}")
    ledger.unknown.add(number)
    return connection, number


def end_a_move(running, ledger, xid, number):
    """One whose connection is gone."""
    how = ledger.draw.choice(("COMMIT", "ROLLBACK"))
    running.decide(cluster.Xid(f"'{xid}'"), how)
    say(f"  XA {how}")
    (ledger.acknowledged.add if how == "COMMIT" else ledger.unknown.remove)(number)
    check(running, ledger)


def prepared_when_a_primary_dies(running, ledger):
    shard = ledger.draw.choice(running.shards)
    say(f"The primary of shard {shard.number} dies between XA PREPARE and XA COMMIT, which meets")
    say(" a dead primary:")
    connection, number = prepare_a_move(running, ledger, "dead")
    shard.primary.kill()
    with contextlib.closing(connection):
        if not (answer := connection.do("XA COMMIT 'dead'")):
            fail("XA COMMIT was acknowledged without a shard")
    resolved = running.fail_over(shard)
    say(f"  it gets {answer}; its replica has taken over; prepared transactions: {resolved}")
    ledger.acknowledged.add(number)  # the head has decided it
    check(running, ledger)
    for xid, meets, bring_back in (("moved", "a new primary", running.fail_over),
                                   ("back", "the same primary, which is back", running.restart)):
        shard.add_replica()  # the new primary has none yet
        say(f" {meets}:")
        connection, number = prepare_a_move(running, ledger, xid)
        connection.close()
        shard.primary.kill()
        bring_back(shard)
        end_a_move(running, ledger, xid, number)


def prepared_when_the_head_dies(running, ledger):
    say("The head dies between XA PREPARE and XA COMMIT")
    connection, number = prepare_a_move(running, ledger, "head")
    running.head.kill()
    connection.close()
    running.restart_head()
    end_a_move(running, ledger, "head", number)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=6, help="of load in each round")
    parser.add_argument("--rounds", type=int, default=1, help="of load and kill")
    options = parser.parse_args()
    if not (replication.ROOT / "usr/lib/mysql/plugin/ha_spider.so").exists():
        fail("needs what plugin/mariadb/fetch benchmark gets")
    ledger = Ledger(random.Random(server.seed()))
    say("Starting a head, and two shards with a replica each")
    running = cluster.Cluster()
    try:
        fill(running)
        say("Load through the head")
        with moving(running.head, ledger), sysbench(running.head, options.seconds):
            pass
        check(running, ledger)
        for _ in range(options.rounds):
            load_and_kill_a_primary(running, ledger, options.seconds, restarts=False)
            load_and_kill_a_primary(running, ledger, options.seconds, restarts=True)
            load_and_kill_the_head(running, ledger, options.seconds)
            prepared_when_a_primary_dies(running, ledger)
            prepared_when_the_head_dies(running, ledger)
    finally:
        running.close()
    say("Nothing is lost")


if __name__ == "__main__":
    main()
