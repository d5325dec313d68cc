#!/usr/bin/env python3
"""Columns of a table that change at once, on a server that is killed meanwhile: each row, of whatever schema, is right.

    alter_test.py [ROUNDS]     of a table without and one with partitions, and of renames of one; in each, the server is killed once
"""

import random
import sys
import threading

import server


class Table:
    """What table t has. A column's name ends with its default; a row that had the column has another value there."""

    def __init__(self, columns=(("c1", "INT"),), rows=None):
        self.columns = list(columns)
        self.rows = rows or {}

    def shown(self):
        """As the client shows it."""
        names = "\t".join(["id"] + [name for name, _ in self.columns])
        lines = ["\t".join([str(row)] + [str(values.get(name, int(name[1:]))) for name, _ in self.columns])
                 for row, values in sorted(self.rows.items())]
        return "\n".join([names, *lines] if lines else [])


class Statements:
    """Random statements, and what the table is afterwards."""

    def __init__(self, draw):
        self.draw = draw
        self.number = 1  # of the last column
        self.row = 0     # the last one

    def place(self, columns, column):
        at = self.draw.randint(0, len(columns))
        columns.insert(at, column)
        return f"AFTER {columns[at - 1][0] if at > 0 else 'id'}, ALGORITHM=INSTANT"

    def next(self, table):
        draw = self.draw
        columns = list(table.columns)
        what = draw.choices(["insert", "add", "drop", "widen", "move", "rebuild"], [35, 25, 20, 10, 7, 3])[0]
        if what in ("drop", "move") and len(columns) == 1:
            what = "add"
        if what == "insert":
            rows = dict(table.rows)
            new = {}
            for _ in range(draw.randint(1, 30)):
                self.row += 1
                new[self.row] = {name: self.row * 1000 + int(name[1:]) for name, _ in columns}
            values = (f"({row}, {', '.join(str(value) for value in row_values.values())})" for row, row_values in new.items())
            return (f"INSERT INTO t (id, {', '.join(name for name, _ in columns)}) VALUES {', '.join(values)}",
                    Table(columns, rows | new))
        if what == "add":
            self.number += 1
            column = (f"c{self.number}", draw.choice(["INT", "BIGINT"]))
            sql = f"ADD COLUMN {column[0]} {column[1]} DEFAULT {self.number} {self.place(columns, column)}"
        elif what == "rebuild":
            sql = "FORCE"
        else:
            at = draw.randrange(len(columns))
            name, kind = columns.pop(at)
            if what == "drop":
                sql = f"DROP COLUMN {name}, ALGORITHM=INSTANT"
            elif what == "widen":
                columns.insert(at, (name, "BIGINT"))
                sql = f"MODIFY {name} BIGINT DEFAULT {name[1:]}, ALGORITHM=INSTANT"
            else:
                sql = f"MODIFY {name} {kind} DEFAULT {name[1:]} {self.place(columns, (name, kind))}"
        return f"ALTER TABLE t {sql}", Table(columns, table.rows)


def run(connection, statements, table):
    """Changes the table until the connection ends. Returns what it is, and what the last statement may have made of it."""
    while True:
        sql, after = statements.next(table)
        try:
            answer = connection.do(sql)
        except (RuntimeError, BrokenPipeError):
            return table, after
        if answer.startswith("E20"):  # the server is gone
            return table, after
        if answer != "":
            sys.exit(f"{sql}\n{answer}")
        table = after


def check(running, draw, rounds, partitions):
    table = Table()
    statements = Statements(draw)
    running.run("CREATE OR REPLACE DATABASE d;"
                f"CREATE TABLE d.t (id INT PRIMARY KEY, c1 INT DEFAULT 1) ENGINE=SLUICE {partitions}")
    for number in range(rounds):
        connection = server.Connection(running, "d")
        killer = threading.Timer(draw.uniform(.01, .6), running.kill)
        killer.start()
        table, maybe = run(connection, statements, table)
        killer.join()
        connection.close()
        running.start()
        shown = running.run("SELECT * FROM t ORDER BY id", "d").rstrip("\n")
        if shown == maybe.shown():
            table = maybe
        elif shown != table.shown():
            sys.exit(f"round {number}: the table is\n{shown}\n\nwhere\n{table.shown()}\n\nwas, or became\n{maybe.shown()}")
        if "status\tOK" not in (answer := running.run("CHECK TABLE t", "d")):
            sys.exit(answer)
    print(f"{rounds} kills, {statements.number} columns, {len(table.rows)} rows {partitions}")


def check_renames(running, draw, rounds):
    """A table whose renaming takes long has one name after each kill, and all of its partitions."""
    running.run("CREATE OR REPLACE DATABASE e; USE e; CREATE TABLE t (id INT PRIMARY KEY) ENGINE=SLUICE PARTITION BY HASH (id) PARTITIONS 50;"
                "INSERT INTO t SELECT seq FROM seq_1_to_1000")
    names = ["t", "u"]
    for number in range(rounds):
        connection = server.Connection(running, "e")
        killer = threading.Timer(draw.uniform(.01, .3), running.kill)
        killer.start()
        try:
            while (answer := connection.do("RENAME TABLE {} TO {}".format(*names))) == "":
                names.reverse()
        except (RuntimeError, BrokenPipeError):
            answer = ""
        killer.join()
        connection.close()
        if answer != "" and not answer.startswith("E20"):
            sys.exit(answer)
        running.start()
        names = running.run("SHOW TABLES", "e").split()[1:]
        if len(names) != 1 or "1000\t500500" not in (answer := running.run(f"SELECT COUNT(*), SUM(id) FROM {names[0]}", "e", force=True)):
            sys.exit(f"round {number}: {names} {answer}")
        names.append("t" if names[0] == "u" else "u")
    print(f"{rounds} kills amid RENAME TABLE")


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    draw = random.Random(server.seed())
    running = server.Server(*draw.choice([[], ["--log-bin", "--server-id=1", "--binlog-format=row"]]))
    try:
        for partitions in ("", "PARTITION BY HASH (id) PARTITIONS 3"):
            check(running, draw, rounds, partitions)
        check_renames(running, draw, rounds)
    finally:
        running.close()


if __name__ == "__main__":
    main()
