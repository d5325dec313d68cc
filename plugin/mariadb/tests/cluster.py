"""A Spider head over two shards, each a primary and its replica, and what an administrator does when one of them dies.

Rows with an even id are in shard 1, the others in shard 2. A transaction of the head is an XA transaction of each shard that
it writes (spider_internal_xa), and each step of that waits until the shard's replica has it (semi-synchronous, AFTER_SYNC)."""

import collections
import concurrent.futures
import contextlib
import re

import replication


class Shard:
    def __init__(self, port, number):
        self.port, self.number, self.last = port, number, number * 50
        self.primary, self.replica = self.new_node(), None

    def new_node(self):
        self.last += 1
        return replication.Replicating(self.port, self.last, self.number)

    def add_replica(self):
        """A new one, while nothing is prepared."""
        self.replica = self.new_node()
        self.replica.copy(self.primary)
        self.replica.follow(self.primary)
        self.replica.await_primary(self.primary)

    def promote(self):
        """The primary is dead: its replica does all that it has received, and takes its place, without a replica."""
        dead, self.primary, self.replica = self.primary, self.replica, None
        dead.directory.cleanup()
        self.primary.run("STOP SLAVE IO_THREAD")
        self.primary.await_position(self.primary.replica_status()["Gtid_IO_Pos"])
        self.primary.run("STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = OFF")

    def restart(self):
        """The primary is dead, and is started again. In MariaDB 10.11 an XA PREPARE, COMMIT or ROLLBACK that is cut short may be
        in the binary log, and so at the replica, and not in the tables, or the other way round: the log is right."""
        self.primary.start()
        logged = {Xid(text): how for text, how in self.primary.logged_xa()}
        for text in self.primary.prepared():
            if (last := logged.get(Xid(text), "ROLLBACK")) != "PREPARE":
                self.primary.run(f"SET sql_log_bin = 0; XA {last} {text}")
        self.replica.follow(self.primary)
        self.replica.await_primary(self.primary)
        for text in set(self.replica.prepared()) - set(self.primary.prepared()):
            self.replica.run(f"SET sql_log_bin = 0; XA ROLLBACK {text}")

    def close(self):
        for node in (self.primary, self.replica):
            if node is not None:
                node.close()


class Head(replication.Node):
    NUMBER = 10

    def __init__(self, port, shards):
        super().__init__(port, self.NUMBER, "--plugin-load-add=ha_spider", "--spider-internal-xa=ON",
                         "--spider-internal-xa-id-type=1",  # with the number of the statement: XIDs do not come again
                         "--spider-connect-timeout=5")
        for shard in shards:
            self.run(f"CREATE SERVER shard{shard.number} FOREIGN DATA WRAPPER mysql OPTIONS (HOST '{shard.primary.address}', "
                     f"PORT {shard.primary.port}, USER 'cluster', PASSWORD 'cluster', DATABASE 'd')")


class Xid(collections.namedtuple("Xid", "format parts")):
    """Of text as XA RECOVER FORMAT='SQL' has it: 'global', 'branch', format; or X'...' where there are other characters."""

    def __new__(cls, text):
        parts = re.findall(r"(X?)'([^']*)'", text)
        parts = [bytes.fromhex(part) if is_hex else part.encode() for is_hex, part in parts] + [b""] * (2 - len(parts))
        return super().__new__(cls, int(re.search(r"(?:,(\d+))?$", text)[1] or 1), tuple(parts))

    def __str__(self):
        return f"X'{self.parts[0].hex()}',X'{self.parts[1].hex()}',{self.format}"

    def of_application(self):
        """Whether an application has chosen it, and decides: XIDs of Spider's own end with the head's number."""
        return self.parts[1] != f"{Head.NUMBER:x}".encode()

    def where(self):
        data = b"".join(self.parts)
        return f"format_id = {self.format} AND gtrid_length = {len(self.parts[0])} AND LEFT(data, {len(data)}) = X'{data.hex()}'"


class Cluster:
    def __init__(self):
        self.port = replication.Port()
        self.tables = []
        with concurrent.futures.ThreadPoolExecutor() as pool:
            self.shards = list(pool.map(lambda number: Shard(self.port, number), (1, 2)))
            list(pool.map(Shard.add_replica, self.shards))
        self.head = Head(self.port, self.shards)

    def close(self):
        self.head.close()
        for shard in self.shards:
            shard.close()
        self.port.close()

    def create(self, name, columns):
        """A table whose rows are in the shards by their `id`."""
        for shard in self.shards:
            shard.primary.run(f"CREATE TABLE {name} ({columns}) ENGINE=SLUICE", "d")
        self.head.run(f"CREATE TABLE {name} ({columns}) ENGINE=SPIDER COMMENT = 'table \"{name}\"' PARTITION BY HASH (id) "
                      "(PARTITION p1 COMMENT = 'srv \"shard1\"', PARTITION p2 COMMENT = 'srv \"shard2\"')", "d")
        self.tables.append(name)

    def fail_over(self, shard):
        """The shard's primary is dead. No connection of the head may have a prepared XA transaction: KILL it, then it has not."""
        shard.promote()
        with self.quiet():
            self.head.run(f"ALTER SERVER shard{shard.number} OPTIONS (HOST '{shard.primary.address}')")
            return self.resolve()

    def restart(self, shard):
        """Likewise, but it is started again."""
        with self.quiet():
            shard.restart()
            return self.resolve()

    @contextlib.contextmanager
    def quiet(self):
        """Waits for the end of all transactions, and keeps new ones out. It closes all tables, too: Spider uses a table's old
        address for as long as anybody has it open, for which FLUSH TABLES does not suffice under load."""
        self.head.run("RENAME TABLE " + ", ".join(f"{table} TO {table}_away" for table in self.tables), "d")
        try:
            yield
        finally:
            self.head.run("RENAME TABLE " + ", ".join(f"{table}_away TO {table}" for table in self.tables), "d")

    def restart_head(self):
        """The head is dead, and nobody connects to it before this has returned."""
        self.head.start()
        return self.resolve()

    def resolve(self):
        """Ends what is prepared in the shards, while the head has no transaction under way: what it had decided to commit is
        committed, all else is rolled back, unless it is for an application to decide. Says how often it did what."""
        states = dict(self.states())
        done = collections.Counter()
        for xid in {Xid(text) for shard in self.shards for text in shard.primary.prepared()} | states.keys():
            how = states.get(xid)
            if how not in ("COMMIT", "ROLLBACK"):
                if xid.of_application():
                    continue
                how = "ROLLBACK"
            if self.end(xid, how):
                done[how] += 1
        return dict(done)

    def end(self, xid, how):
        """In all shards, and then at the head. There alone it does not suffice: what the head has not prepared in the same
        connection, Spider forgets without a word to the shards. Says whether any shard had it prepared."""
        shards = [shard for shard in self.shards if xid in map(Xid, shard.primary.prepared())]
        for shard in shards:
            # Until the head's connection to it has ended, the transaction belongs to that.
            replication.await_true(lambda: "ERROR" not in shard.primary.run(f"XA {how} {xid}", force=True), f"XA {how} {xid} fails")
        self.head.run(f"XA {how} {xid}", force=True)  # it may have forgotten it
        for table in ("spider_xa_member", "spider_xa"):
            self.head.run(f"DELETE FROM mysql.{table} WHERE {xid.where()}")
        return bool(shards)

    def decide(self, xid, how):
        """Ends a transaction of an application whose connection is gone, and remembers it where `resolve` sees it."""
        self.head.run(f"UPDATE mysql.spider_xa SET status = '{how}' WHERE {xid.where()}")
        self.end(xid, how)

    def states(self):
        """What the head has noted of transactions: NOT YET, PREPARED, COMMIT or ROLLBACK."""
        for form, length, data, status in self.head.rows(
                "SELECT format_id, gtrid_length, HEX(LEFT(data, gtrid_length + bqual_length)), status FROM mysql.spider_xa"):
            cut = 2 * int(length)
            yield Xid(f"X'{data[:cut]}',X'{data[cut:]}',{form}"), status
