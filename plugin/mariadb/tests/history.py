"""Random transactions on a table, what they have seen, and whether there is an order of them in which they would have
seen that one after the other (Adya's phenomena G1c and G2: a cycle of dependencies).

Each row's versions are numbered, `w`, and whoever writes a row has read its version before, in the same transaction: so
the order of all versions is known. A read by a group, `g`, tells of all rows that there have ever been which version
it saw, or that it saw none in the group."""

import collections
import itertools
import threading

GROUPS = 4
TABLE = ("CREATE OR REPLACE TABLE e (v INT PRIMARY KEY, g INT, w INT, KEY single (g), KEY covering (g, w, v), KEY reverse (g DESC))"
         " ENGINE=SLUICE; INSERT INTO e SELECT seq, seq % 4, seq FROM seq_1_to_8")
INITIAL = 8

# Ways to read the rows of a group; {g} is its number.
READS = (
    "SELECT v, w FROM e FORCE INDEX (single) WHERE g = {g}",
    "SELECT v, w FROM e FORCE INDEX (covering) WHERE g = {g}",
    "SELECT v, w FROM e IGNORE INDEX (single, covering, reverse) WHERE g = {g}",
    "SELECT v, w FROM e FORCE INDEX (single) WHERE g > {g} - 1 AND g < {g} + 1",
    "SELECT v, w FROM e FORCE INDEX (covering) WHERE g BETWEEN {g} AND {g} ORDER BY g DESC, w DESC",
    "SELECT v, w FROM e FORCE INDEX (reverse) WHERE g >= {g} AND g <= {g} ORDER BY g",
    "SELECT y.v, y.w FROM (SELECT {g} AS g UNION SELECT -1) AS x STRAIGHT_JOIN e AS y FORCE INDEX (single) ON y.g = x.g",
    "SELECT v, w FROM e FORCE INDEX (single) WHERE g = {g} FOR UPDATE",
    "SELECT v, w FROM e FORCE INDEX (PRIMARY) WHERE v > 0 AND g = {g}",
)

class Transaction:
    def __init__(self):
        self.reads = []   # (group, {row: version's number})
        self.writes = []  # (row, number of the version before or 0, number, group or None)


class Recorder:
    """What was committed; of all workers."""

    def __init__(self):
        self.lock = threading.Lock()
        self.numbers = itertools.count(1000)
        self.rows = itertools.count(1000)
        self.committed = []

    def cycle(self):
        """Transactions that depend on each other in a circle; None if there are none."""
        first = Transaction()
        first.writes = [(row, 0, row, row % GROUPS) for row in range(1, INITIAL + 1)]
        everything = [first, *self.committed]
        before, after, writers = {}, {}, {}
        groups, rows = {}, collections.defaultdict(list)
        for number, transaction in enumerate(everything):
            for row, old, new, group in transaction.writes:
                if old != 0 and old in after:
                    return f"two transactions, {after[old][1]} and {number}, wrote over version {old} of row {row}"
                writers[new], groups[new] = number, group
                before[new] = old
                if old != 0:
                    after[old] = (new, number)
                rows[row].append(new)
        chains = {}
        for row, versions in rows.items():
            chain = [version for version in versions if before[version] == 0]
            if len(chain) != 1:
                return f"row {row} begins {len(chain)} times"
            while chain[-1] in after:
                chain.append(after[chain[-1]][0])
            if len(chain) != len(versions):
                return f"row {row} has versions of nowhere: {versions}, {chain}"
            chains[row] = chain
        edges = [set() for _ in everything]

        def add(a, b):
            if a != b:
                edges[a].add(b)

        for row, chain in chains.items():
            for a, b in itertools.pairwise(chain):
                add(writers[a], writers[b])
        for number, transaction in enumerate(everything):
            own = {new for _, _, new, _ in transaction.writes}
            for group, seen in transaction.reads:
                for row, version in seen.items():
                    if version not in writers:
                        return f"transaction {number} has read version {version} of row {row}, which was not committed"
                for row, chain in chains.items():
                    if any(version in own for version in chain):
                        continue  # what it saw depends on when it wrote
                    if row in seen:
                        at = chain.index(seen[row])
                        add(writers[seen[row]], number)
                        if at + 1 < len(chain):
                            add(number, writers[chain[at + 1]])
                        continue
                    # Absent, or elsewhere: when, is known if there was but one such time.
                    elsewhere = [at for at, version in enumerate(chain) if groups[version] != group]
                    if writers[chain[0]] != 0:
                        elsewhere.insert(0, -1)
                    if not elsewhere:
                        return f"transaction {number} has not seen row {row}, which was always in group {group}"
                    if elsewhere[-1] - elsewhere[0] + 1 != len(elsewhere):
                        continue
                    if elsewhere[0] >= 0:
                        add(writers[chain[elsewhere[0]]], number)
                    if elsewhere[-1] + 1 < len(chain):
                        add(number, writers[chain[elsewhere[-1] + 1]])
        return find_cycle(edges)


def find_cycle(edges):
    """By removing what nothing leads to, again and again; what is left has one."""
    incoming = [0] * len(edges)
    for targets in edges:
        for target in targets:
            incoming[target] += 1
    free = [number for number, count in enumerate(incoming) if count == 0]
    left = set(range(len(edges)))
    while free:
        number = free.pop()
        left.discard(number)
        for target in edges[number]:
            incoming[target] -= 1
            if incoming[target] == 0:
                free.append(target)
    if not left:
        return None
    # Backwards, each has one before it among those that are left.
    before = {target: number for number in left for target in edges[number] if target in left}
    path = [next(iter(left))]
    while before[path[-1]] not in path:
        path.append(before[path[-1]])
    return path[path.index(before[path[-1]]):][::-1]


class Worker:
    """Does transactions by `do`, which executes SQL and returns rows as `a,b`, joined by spaces."""

    RETRY = ("E1213", "E1205", "E1020")

    def __init__(self, do, random, recorder):
        self.do = do
        self.random = random
        self.recorder = recorder

    def ask(self, sql):
        answer = self.do(sql)
        for error in self.RETRY:
            if error in answer.split():
                raise Retry
        if "E" in answer:
            raise RuntimeError(f"{sql}: {answer}")
        return answer

    def read(self, transaction, known):
        group = self.random.randrange(GROUPS)
        answer = self.ask(self.random.choice(READS).format(g=group))
        seen = {}
        for row in answer.split():
            v, w = map(int, row.split(","))
            seen[v] = w
            known[v] = w
        transaction.reads.append((group, seen))

    def write(self, transaction, known):
        number = next(self.recorder.numbers)
        group = self.random.randrange(GROUPS)
        kind = self.random.randrange(3) if known else 0
        if kind == 0:
            row = next(self.recorder.rows)
            self.ask(f"INSERT INTO e VALUES ({row}, {group}, {number})")
            transaction.writes.append((row, 0, number, group))
            known[row] = number
            return
        row = self.random.choice(sorted(known))
        old = known[row]
        if kind == 1:
            self.ask(f"UPDATE e SET g = {group}, w = {number} WHERE v = {row}")
            transaction.writes.append((row, old, number, group))
            known[row] = number
        else:
            self.ask(f"DELETE FROM e WHERE v = {row}")
            transaction.writes.append((row, old, number, None))
            del known[row]

    def transaction(self):
        transaction = Transaction()
        known = {}  # versions of rows, as this transaction knows them
        try:
            if self.random.randrange(4) == 0:  # a statement that is no part of a transaction
                self.read(transaction, known)
            else:
                self.ask("BEGIN")
                for _ in range(self.random.randrange(1, 5)):
                    self.read(transaction, known)
                    if self.random.randrange(3) != 0:
                        self.write(transaction, known)
                self.ask("COMMIT")
        except Retry:
            self.do("ROLLBACK")
            return
        with self.recorder.lock:
            self.recorder.committed.append(transaction)


class Retry(Exception):
    pass
