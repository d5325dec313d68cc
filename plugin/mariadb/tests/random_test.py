#!/usr/bin/env python3
"""Random programs of SQL over several tables, on Sluice and on InnoDB: answers, counts, errors and what is written must be the same.

    random_test.py [ROUNDS [ROUND]]     ROUND: only this one, with its script

compare_test.py knows one table well. Here are several, with joins and subqueries under random switches of the optimizer, and
what the server does around statements: triggers, procedures with cursors, prepared statements, HANDLER, views, LOCK TABLES,
temporary tables, tables with versions and periods, RETURNING, partitions by all rules. A statement's rows are compared in
their order if it ends with ORDER BY, and as a set otherwise. Some differences are InnoDB's, or the server's with InnoDB:
which of the answers is right is to be seen.
"""

import os
import random
import re
import subprocess
import sys

import server

TEXTS = ["", " ", "a", "A", "a ", "ab", "aB", "AB ", "b", "ä", "ae", "ss", "z", "é", "e", "E", "abc", "aa", "b" * 9, "a" * 20]
WIDE = ["日本", "日", "ÿ", "ñ", "n"]
COLLATIONS = ["latin1_swedish_ci", "latin1_bin", "latin1_general_cs", "utf8mb3_general_ci", "utf8mb3_bin", "utf8mb4_general_ci",
              "utf8mb4_bin", "utf8mb4_unicode_ci", "utf8mb4_nopad_bin", "utf8mb4_uca1400_ai_ci", "utf8mb4_uca1400_nopad_as_cs",
              "latin1_swedish_nopad_ci"]
SORTED = {"latin1_swedish_ci", "latin1_bin", "utf8mb4_general_ci", "utf8mb4_bin", "utf8mb3_general_ci"}  # by filesort, as by indexes
SWITCHES = ["condition_pushdown_for_derived", "condition_pushdown_for_subquery", "condition_pushdown_from_having", "derived_merge",
            "derived_with_keys", "exists_to_in", "extended_keys", "firstmatch", "index_condition_pushdown", "hash_join_cardinality",
            "index_merge", "index_merge_intersection", "index_merge_sort_intersection", "index_merge_sort_union", "index_merge_union",
            "join_cache_bka", "join_cache_hashed", "join_cache_incremental", "loosescan", "materialization", "mrr",
            "mrr_cost_based", "mrr_sort_keys", "not_null_range_scan", "optimize_join_buffer_size", "orderby_uses_equalities",
            "outer_join_with_cache", "partial_match_rowid_merge", "partial_match_table_scan", "semijoin",
            "semijoin_with_cache", "split_materialized", "subquery_cache", "table_elimination"]


def number(low, high):
    return lambda draw: str(max(low, min(high, draw.choice([0, 1, 2, 3, 5, 7, 8, 13, draw.randint(-9, 60), draw.randint(-9, 60), low, high]))))


def decimal(draw):
    return f"{draw.randint(-20, 20)}.{draw.choice(['0', '5', '25', '75'])}"


def text(draw, wide):
    return f"'{draw.choice(TEXTS + (WIDE if wide else []))}'" if draw.random() < .8 else f"'k{draw.randint(0, 40)}'"


def date(draw):
    return f"'20{draw.randint(20, 23)}-{draw.randint(1, 12):02}-{draw.choice([1, 2, 15, 28]):02}'"


def moment(draw):
    return f"{date(draw)[:-1]} {draw.choice(['00:00:00', '12:30:00', '23:59:59', '12:30:00'])}'"


def clock(draw):
    return f"'{draw.choice(['-', '', '', ''])}{draw.randint(0, 99):02}:{draw.choice(['00', '30'])}:{draw.choice(['00', '59'])}'"


KINDS = [  # family, type, values
    ("int", "TINYINT", number(-128, 127)), ("int", "SMALLINT UNSIGNED", number(0, 65535)), ("int", "INT", number(-2**31, 2**31 - 1)),
    ("int", "INT", number(-9, 60)), ("int", "MEDIUMINT", number(-2**23, 2**23 - 1)), ("int", "BIGINT", number(-2**40, 2**40)),
    ("int", "INT(6) UNSIGNED ZEROFILL", number(0, 999999)), ("int", "BOOLEAN", number(0, 1)), ("int", "YEAR", lambda draw: str(draw.randint(1990, 2030))),
    ("int", "BIT(7)", number(0, 127)),
    ("dec", "DECIMAL(8,2)", decimal), ("dec", "DECIMAL(20,6)", decimal), ("dec", "DOUBLE", decimal), ("dec", "FLOAT", decimal),
    ("date", "DATE", date), ("date", "DATETIME", moment), ("date", "DATETIME(3)", moment), ("date", "TIMESTAMP NULL DEFAULT NULL", moment),
    ("time", "TIME", clock), ("time", "TIME(2)", clock),
    ("enum", "ENUM('a','b','c','B1')", lambda draw: draw.choice(["'a'", "'b'", "'c'", "'B1'"])),
    ("enum", "SET('a','b','c')", lambda draw: draw.choice(["''", "'a'", "'a,b'", "'c'", "'a,b,c'"])),
    ("bin", "VARBINARY(24)", lambda draw: text(draw, False)), ("bin", "BINARY(5)", lambda draw: draw.choice(["'a'", "'ab'", "'abcde'", "''", "'a\\0'"])),
    ("blob", "BLOB", lambda draw: draw.choice([text(draw, False), f"REPEAT('{draw.choice('abc')}', {draw.choice([10, 300, 9000])})"])),
    ("json", "JSON", lambda draw: f"'{{\"a\": {draw.randint(0, 9)}, \"b\": \"x{draw.randint(0, 3)}\"}}'"),
    ("uuid", "UUID", lambda draw: f"'0000000{draw.randint(0, 9)}-0000-1000-8000-0000000000{draw.randint(10, 30)}'"),
    ("inet", "INET6", lambda draw: f"'fe80::{draw.randint(1, 30)}'"), ("inet", "INET4", lambda draw: f"'10.0.0.{draw.randint(1, 30)}'"),
]


class Column:
    def __init__(self, draw, name):
        self.name, self.draw = name, draw
        self.collation = self.source = None
        if draw.random() < .35:
            self.family = "str"
            self.collation = draw.choice(COLLATIONS)
            wide = not self.collation.startswith("latin1")
            self.make = lambda d: text(d, wide)
            nopad = "nopad" in self.collation
            base = draw.choice(["VARCHAR(24)", "VARCHAR(24)", "VARCHAR(300)"] + ([] if nopad else ["CHAR(24)"]) + ["TEXT"])
            compressed = " COMPRESSED" if base == "VARCHAR(300)" and draw.random() < .2 else ""
            self.whole = not compressed
            self.type = f"{base}{compressed} CHARACTER SET {self.collation.split('_')[0]} COLLATE {self.collation}"
        else:
            self.family, self.type, self.make = draw.choice(KINDS)
            self.whole = True
        self.null = draw.random() < .75 or "NULL" in self.type
        self.long = self.type.startswith(("TEXT", "BLOB", "JSON"))
        self.sorts = self.family != "str" or self.collation in SORTED

    def value(self, draw=None):
        draw = draw or self.draw
        return "NULL" if self.null and draw.random() < .1 else self.make(draw)

    def definition(self):
        if self.source:
            return f"{self.name} {self.type} AS ({self.source}) {self.stored}"
        tail = "" if self.null else " NOT NULL"
        if not self.long and "DEFAULT" not in self.type and self.draw.random() < .3:
            tail += f" DEFAULT {self.make(self.draw)}"
        if self.draw.random() < .04:
            tail += " INVISIBLE" if self.null or "DEFAULT" in tail else ""
        return f"{self.name} {self.type}{tail}"

    def key(self, draw):
        if self.long or (self.family in ("str", "bin") and draw.random() < .2):
            return f"{self.name}({draw.choice([1, 2, 5])})"
        return self.name

    def group(self, table):
        """What tells its values apart, whichever of equal strings is picked."""
        return f"HEX(WEIGHT_STRING({table}.{self.name}))" if self.family == "str" else f"{table}.{self.name}"


class Table:
    def __init__(self, draw, name):
        self.draw, self.name = draw, name
        self.columns = [Column(draw, f"{name}c{i}") for i in range(draw.randint(2, 6))]
        self.plain = list(self.columns)
        self.indexes = {}
        self.versioned = draw.random() < .08
        self.period = not self.versioned and draw.random() < .07
        self.partitioned = None
        self.next = 1
        for i in range(draw.choice([0, 0, 1, 2])):
            self.generate(f"{name}g{i}")
        self.create()

    def generate(self, name):
        draw = self.draw
        source = draw.choice(self.plain)
        column = Column(draw, name)
        column.family, column.type, column.make, column.null = source.family, source.type.removesuffix(" NULL DEFAULT NULL"), source.make, True
        column.collation, column.long, column.sorts, column.whole = source.collation, source.long, source.sorts, source.whole
        column.type = column.type.replace(" COMPRESSED", "")
        column.source = source.name
        column.stored = draw.choice(["STORED", "VIRTUAL"])
        if source.family == "int" and "BIT" not in source.type and "YEAR" not in source.type:
            column.type = "BIGINT"
            column.source = draw.choice([f"{source.name} MOD 7", f"{source.name} + 1", f"ABS({source.name}) DIV 2"])
            column.make = number(-9, 60)
        elif source.family == "json":
            column.type, column.family, column.make, column.long = "INT", "int", number(0, 9), False
            column.source = f"JSON_VALUE({source.name}, '$.a')"
        self.columns.append(column)

    def create(self):
        draw = self.draw
        # Engines reserve automatic values for the rows that a period is split into, or do not.
        key = draw.choice(["id", "id", "id", "id" if self.period else "auto", "column", "unique", "none"])
        parts = [f"id INT NOT NULL{' AUTO_INCREMENT' if key == 'auto' else ''}"] + [c.definition() for c in self.columns]
        whole = [c for c in self.plain if not c.long and c.whole and c.family != "dec"]
        desc = lambda: draw.choice(["", "", "", " DESC"])
        lead = draw.choice(whole) if whole and key == "column" else None
        if key == "column" and lead:
            parts.append(f"PRIMARY KEY ({lead.name}{desc()}, id{desc()})")
        elif key == "unique":
            parts.append("UNIQUE KEY uid (id)")
        elif key != "none":
            parts.append(f"PRIMARY KEY (id{desc()})")
            key = "id" if key == "column" else key
        self.keyed = key in ("id", "auto", "unique")
        self.auto = key == "auto"
        rule = self.partition(key, lead) if draw.random() < .25 and not self.versioned and not self.period else ""
        for i in range(draw.randint(1, 4)):
            unique = not rule and draw.random() < .15
            if index := self.index(f"k{i}", unique):
                parts.append(index)
        if draw.random() < .15 and (numbers := [c for c in self.plain if c.family == "int"]):
            parts.append(f"CHECK ({draw.choice(numbers).name} <> 13)")
        if self.period:
            parts += ["pstart DATE NOT NULL DEFAULT '2020-01-01'", "pend DATE NOT NULL DEFAULT '2024-01-01'", "PERIOD FOR p (pstart, pend)"]
        self.temporary = not rule and not self.versioned and draw.random() < .1
        self.definition = (f"CREATE {'TEMPORARY ' if self.temporary else ''}TABLE {self.name} ({', '.join(parts)})"
                           f"{' WITH SYSTEM VERSIONING' if self.versioned else ''}{rule};")

    def partition(self, key, lead):
        draw = self.draw
        self.partitioned = ["p0", "p1", "p2"]
        if key == "column" and lead and lead.family in ("int", "date", "str") and "BIT" not in lead.type and draw.random() < .5:
            if lead.type.startswith("TIMESTAMP") or lead.type.startswith("YEAR"):
                return " PARTITION BY KEY () PARTITIONS 3"
            low, high = {"int": ("3", "20"), "date": ("'2021-01-01'", "'2022-06-01'"), "str": ("'b'", "'k2'")}[lead.family]
            return (f" PARTITION BY RANGE COLUMNS ({lead.name}) (PARTITION p0 VALUES LESS THAN ({low}), PARTITION p1 VALUES LESS THAN ({high}), "
                    "PARTITION p2 VALUES LESS THAN (MAXVALUE))")
        return draw.choice([
            " PARTITION BY HASH (id) PARTITIONS 3", " PARTITION BY LINEAR HASH (id) PARTITIONS 3", " PARTITION BY KEY (id) PARTITIONS 3",
            " PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (30), PARTITION p1 VALUES LESS THAN (100), PARTITION p2 VALUES LESS THAN MAXVALUE)",
            " PARTITION BY LIST (id MOD 3) (PARTITION p0 VALUES IN (0), PARTITION p1 VALUES IN (1), PARTITION p2 VALUES IN (2))",
            " PARTITION BY RANGE (id) SUBPARTITION BY HASH (id) SUBPARTITIONS 2 (PARTITION p0 VALUES LESS THAN (30), "
            "PARTITION p1 VALUES LESS THAN (100), PARTITION p2 VALUES LESS THAN MAXVALUE)",
        ])

    def index(self, name, unique=False):
        draw = self.draw
        fit = [c for c in self.columns if c.whole]
        if not fit:
            return None
        columns = draw.sample(fit, min(len(fit), draw.randint(1, 3)))
        keys = [f"{c.key(draw)}{draw.choice(['', '', '', ' DESC'])}" for c in columns]
        if draw.random() < .15:
            keys.insert(draw.randint(0, len(keys)), "id")
        if unique and "id" not in keys:
            keys.append("id")
        if not unique:
            self.indexes[name] = columns
        return f"{'UNIQUE ' if unique else ''}KEY {name} ({', '.join(keys)})"


class Round:
    def __init__(self, draw):
        self.draw = draw
        self.lines = []
        self.clock = 1800000000
        self.serial = 0
        mode = draw.choice(["", "STRICT_TRANS_TABLES", "STRICT_ALL_TABLES,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO", "PAD_CHAR_TO_FULL_LENGTH"])
        self.add(f"SET NAMES utf8mb4; SET sql_mode='{mode}', time_zone='+00:00', timestamp={self.clock}, rand_seed1=1, rand_seed2=2;")
        self.add(f"SET tmp_memory_table_size={draw.choice([0, 16777216])}, join_buffer_size={draw.choice([32768, 262144])}, "
                 f"sort_buffer_size={draw.choice([16384, 2097152])}, mrr_buffer_size={draw.choice([8192, 262144])}, "
                 f"in_predicate_conversion_threshold={draw.choice([2, 1000])}, optimizer_use_condition_selectivity={draw.randint(1, 5)}, "
                 f"max_seeks_for_key={draw.choice([1, 4294967295])}, eq_range_index_dive_limit={draw.choice([0, 1, 200])}, "
                 f"system_versioning_alter_history=KEEP, join_cache_level={draw.randint(0, 8)}, optimizer_switch='{self.switches()}';")
        self.add(f"SET SESSION TRANSACTION ISOLATION LEVEL {self.level()};")
        self.tables = [Table(draw, f"t{i}") for i in range(draw.randint(2, 4))]
        for table in self.tables:
            self.add(table.definition)
        rows = draw.choice([5, 40, 40, 150, 600])
        for table in self.tables:
            self.fill(table, draw.choice([rows, 0, rows // 2 + 1]))
        self.around()
        for _ in range(draw.randint(30, 120)):
            draw.choice([self.select] * 9 + [self.insert] * 3 + [self.update] * 3 + [self.delete] * 2 + [self.copy, self.transaction, self.handler,
                        self.prepared, self.call, self.special, self.locked] + [self.alter] * 2)()
        for table in self.tables:
            self.everything(table)

    # The pieces of statements.

    def add(self, line):
        self.lines.append(line)

    def level(self):
        return self.draw.choice(["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])

    def switches(self):
        # With InnoDB, the server loses rows by rowid filters in hash joins.
        return ",".join(["rowid_filter=off", *(f"{name}={self.draw.choice(['on', 'off'])}" for name in self.draw.sample(SWITCHES, self.draw.randint(0, 12)))])

    def table(self):
        return self.draw.choice(self.tables)

    def hint(self, table):
        if table.indexes and self.draw.random() < .35:
            verb = self.draw.choice(["FORCE", "FORCE", "IGNORE", "USE"])
            return f" {verb} INDEX ({self.draw.choice(list(table.indexes))})"
        return ""

    def ids(self, table, alias):
        draw = self.draw
        n = draw.randint(0, table.next + 1)
        return draw.choice([f"{alias}.id = {n}", f"{alias}.id < {n}", f"{alias}.id >= {n}", f"{alias}.id BETWEEN {n} AND {n + 15}",
                            f"{alias}.id IN ({n}, {n + 1}, {n + 5}, {n + 3})", f"{alias}.id MOD {draw.choice([2, 3, 5])} = 0",
                            f"{alias}.id NOT IN ({n}, {n + 2})", f"{alias}.id <> {n}"])

    def simple(self, table, alias):
        """A condition on one column."""
        draw = self.draw
        pool = draw.choice(list(table.indexes.values())) if table.indexes and draw.random() < .6 else table.columns
        c = draw.choice(pool)
        name = f"{alias}.{c.name}"
        value = lambda: c.make(draw)
        if c.family == "json":
            return f"JSON_VALUE({name}, '$.a') {draw.choice(['=', '<', '>'])} {draw.randint(0, 9)}"
        kind = draw.randrange(14)
        if kind == 0:
            return f"{name} IS {draw.choice(['', 'NOT '])}NULL"
        if kind == 1:
            return f"{name} {draw.choice(['', 'NOT '])}BETWEEN {value()} AND {value()}"
        if kind in (2, 3):
            return f"{name} {draw.choice(['', '', 'NOT '])}IN ({', '.join(value() for _ in range(draw.choice([1, 2, 3, 8, 30])))})"
        if kind == 4 and c.family in ("str", "bin"):
            return f"{name} {draw.choice(['', 'NOT '])}LIKE {draw.choice([repr('a%'), repr('%b'), repr('k1%'), repr('_'), repr('k_')])}"
        if kind == 5:
            return f"({name} < {value()} OR {name} > {value()})"
        if kind == 6 and c.family == "int" and "BIT" not in c.type:
            return f"{name} + {draw.randint(0, 3)} {draw.choice(['=', '<', '>'])} {draw.randint(0, 40)}"
        if kind == 7:
            return f"COALESCE({name}, {value()}) = {value()}"
        return f"{name} {draw.choice(['=', '=', '=', '<=>', '<', '<=', '>', '>=', '<>'])} {value()}"

    def condition(self, table, alias, depth=2):
        draw = self.draw
        kind = draw.random()
        if depth and kind < .25:
            return f"({self.condition(table, alias, depth - 1)} {draw.choice(['AND', 'OR'])} {self.condition(table, alias, depth - 1)})"
        if depth and kind < .35:
            return self.subquery(table, alias, depth - 1)
        if kind < .4:
            return f"NOT ({self.simple(table, alias)})"
        return self.ids(table, alias) if kind < .55 else self.simple(table, alias)

    def pair(self, one, other):
        """A column of each, which can be equal; hash joins lose equal ones of COMPRESSED columns."""
        draw = self.draw
        fits = [(a, b) for a in one.columns for b in other.columns if a.family == b.family and a.family not in ("json", "dec", "blob") and a.whole and b.whole
                and (a.family not in ("uuid", "inet", "time", "enum") or a.type == b.type)
                and (a.family != "str" or a.collation == b.collation or a.collation.split("_")[0] != b.collation.split("_")[0])
                and not (a.collation and b.collation and a.collation != b.collation and "utf8mb3" in a.collation + b.collation and "utf8mb4" in a.collation + b.collation)]
        if fits and draw.random() < .75:
            a, b = draw.choice(fits)
            if a.family == "str" and a.collation != b.collation:
                return a.name, b.name, "utf8mb4_bin"
            return a.name, b.name, ""
        return "id", "id", ""

    def subquery(self, table, alias, depth):
        draw = self.draw
        other = self.table()
        self.serial += 1
        inner = f"s{self.serial}"
        a, b, collate = self.pair(table, other)
        if collate:
            a = b = "id"
        source = f"{other.name} AS {inner}{self.hint(other)}"
        where = self.condition(other, inner, depth)
        return draw.choice([
            f"{alias}.{a} {draw.choice(['', 'NOT '])}IN (SELECT {inner}.{b} FROM {source} WHERE {where})",
            f"{draw.choice(['', 'NOT '])}EXISTS (SELECT 1 FROM {source} WHERE {inner}.{b} = {alias}.{a} AND {where})",
            f"{alias}.id {draw.choice(['=', '<', '>'])} (SELECT {draw.choice(['MAX', 'MIN', 'COUNT'])}({inner}.id) FROM {source} WHERE {where})",
            f"{alias}.id {draw.choice(['> ALL', '= ANY', '< ANY', '<> ALL'])} (SELECT {inner}.id FROM {source} WHERE {where})",
        ])

    def joined(self, count):
        """A FROM clause: its text, and the tables with their aliases."""
        draw = self.draw
        tables = [(self.table(), f"x{i}") for i in range(count)]
        text = f"{tables[0][0].name} AS x0{self.hint(tables[0][0])}"
        for i in range(1, count):
            table, alias = tables[i]
            before, name = draw.choice(tables[:i])
            # One pair may be of columns with few values, lest the rows be too many.
            a, b, collate = self.pair(before, table) if i == 1 else ("id", "id", "")
            more = f" AND {self.simple(table, alias)}" if draw.random() < .4 else ""
            text += (f" {draw.choice(['JOIN', 'JOIN', 'LEFT JOIN', 'LEFT JOIN', 'STRAIGHT_JOIN', 'RIGHT JOIN'])} {table.name} AS {alias}{self.hint(table)}"
                     f" ON {f'CONVERT({name}.{a} USING utf8mb4) COLLATE {collate}' if collate else f'{name}.{a}'} = {alias}.{b}{more}")
        return text, tables

    def shown(self, tables):
        draw = self.draw
        out = [f"{alias}.id" for _, alias in tables]
        for table, alias in tables:
            for c in draw.sample(table.columns, min(len(table.columns), draw.randint(0, 2))):
                out.append(f"{alias}.{c.name}" if c.family not in ("bin", "blob") and "BIT" not in c.type else f"HEX({alias}.{c.name})")
        return out

    def query(self):
        draw = self.draw
        from_, tables = self.joined(draw.choice([1, 1, 2, 2, 3]))
        table, alias = draw.choice(tables)
        where = self.condition(table, alias)
        if draw.random() < .4:
            other, name = draw.choice(tables)
            where += f" {draw.choice(['AND', 'AND', 'OR'])} {self.condition(other, name, 1)}"
        # Not too many rows of a join.
        if len(tables) > 1:
            where = f"({where}) AND {tables[0][1]}.id < {draw.choice([15, 40])}"
        order = ", ".join(f"{name}.id{draw.choice(['', ' DESC'])}" for _, name in tables)
        column = draw.choice([c for c in table.columns if c.family not in ("json", "blob")] or [None])
        unique = all(t.keyed for t, _ in tables)
        way = draw.choice(["", " DESC"])
        kind = draw.randrange(15)
        if kind == 12:
            a, b = draw.choice(table.columns), draw.choice(table.columns)
            if "json" not in (a.family, b.family):
                pairs = ", ".join(f"({a.make(draw)}, {b.make(draw)})" for _ in range(draw.choice([1, 3, 12])))
                return f"SELECT {alias}.id FROM {from_} WHERE ({alias}.{a.name}, {alias}.{b.name}) {draw.choice(['', 'NOT '])}IN ({pairs}) AND {tables[0][1]}.id < 60"
        if kind == 13:
            other = self.table()
            return (f"SELECT {alias}.id, (SELECT {draw.choice(['COUNT(*)', 'MAX(q.id)', 'SUM(q.id)'])} FROM {other.name} AS q{self.hint(other)} WHERE q.id "
                    f"{draw.choice(['=', '<', '>'])} {alias}.id AND {self.condition(other, 'q', 1)}) AS n FROM {from_} WHERE {where}")
        if kind == 14:
            other = self.table()
            inner = draw.choice(["", f" LIMIT {draw.choice([3, 50])}"]) if other.keyed else ""
            return (f"SELECT {alias}.id, d.id FROM {from_} {draw.choice(['JOIN', 'LEFT JOIN'])} (SELECT q.id, COUNT(*) AS n FROM {other.name} AS q"
                    f" WHERE {self.condition(other, 'q', 1)} GROUP BY q.id ORDER BY q.id{inner}) AS d ON d.id = {alias}.id WHERE ({where})")
        if kind == 0:
            return f"SELECT COUNT(*), MIN({alias}.id), MAX({alias}.id), SUM({alias}.id) FROM {from_} WHERE {where}"
        # What a group shows of a VIRTUAL column the server computes, after an index was read, from columns that were not.
        grouped = column and not (column.source and column.stored == "VIRTUAL")
        if kind == 1 and grouped:
            group = column.group(alias)
            return (f"SELECT {group} AS g, COUNT(*), MIN({alias}.id), COUNT(DISTINCT {alias}.id MOD 5) FROM {from_} WHERE {where} GROUP BY g"
                    f"{draw.choice(['', ' WITH ROLLUP', ' HAVING COUNT(*) > 1'])}")
        if kind == 2 and column and column.family != "str":
            return f"SELECT DISTINCT {alias}.{column.name} FROM {from_} WHERE {where}"
        if kind == 3 and column and column.family in ("int", "date", "time", "inet", "uuid"):
            return f"SELECT MIN({alias}.{column.name}), MAX({alias}.{column.name}), COUNT({alias}.{column.name}) FROM {from_} WHERE {where}"
        if kind == 4 and unique and column and column.sorts:
            limit = draw.choice(["", f" LIMIT {draw.choice([1, 3, 10])}", f" LIMIT 5 OFFSET {draw.randint(0, 9)}"])
            return f"SELECT {', '.join(self.shown(tables))} FROM {from_} WHERE {where} ORDER BY {alias}.{column.name}{way}, {order}{limit}"
        if kind == 5 and unique:
            return f"SELECT {', '.join(self.shown(tables))} FROM {from_} WHERE {where} ORDER BY {order} LIMIT {draw.choice([1, 3, 10, 100])}"
        if kind == 6 and len(tables) == 1 and unique:
            window = draw.choice([f"ROW_NUMBER() OVER (ORDER BY {alias}.id)", f"SUM({alias}.id) OVER (PARTITION BY {alias}.id MOD 4 ORDER BY {alias}.id{way})",
                                  f"LAG({alias}.id, 2) OVER (ORDER BY {alias}.id{way})",
                                  f"COUNT(*) OVER (ORDER BY {alias}.id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING)"] +
                                 ([f"RANK() OVER (PARTITION BY {column.group(alias)} ORDER BY {alias}.id)"] if column else []))
            return f"SELECT {alias}.id, {window} AS w FROM {from_} WHERE {where}"
        if kind == 7:
            other = self.table()
            verb = draw.choice(["UNION", "UNION ALL", "INTERSECT", "EXCEPT"])
            return f"SELECT {alias}.id FROM {from_} WHERE {where} {verb} SELECT z.id FROM {other.name} AS z{self.hint(other)} WHERE {self.condition(other, 'z')}"
        if kind == 8 and grouped:
            other = self.table()
            return (f"WITH w AS (SELECT {column.group(alias)} AS g, COUNT(*) AS n, MAX({alias}.id) AS m FROM {from_} WHERE {where} GROUP BY 1) "
                    f"SELECT w.n, w.m, z.id FROM w JOIN {other.name} AS z ON z.id = w.{draw.choice(['m', 'n'])} WHERE {self.condition(other, 'z', 1)}")
        if kind == 9:
            return (f"WITH RECURSIVE r AS (SELECT {alias}.id AS n, 1 AS d FROM {table.name} AS {alias} WHERE {self.ids(table, alias)} UNION "
                    f"SELECT y.id, r.d + 1 FROM {table.name} AS y JOIN r ON y.id = r.n + {draw.choice([1, 2, 7])} WHERE r.d < 6) SELECT COUNT(*), SUM(n), MAX(d) FROM r")
        return f"SELECT {draw.choice(['', '', '', 'SQL_BIG_RESULT ', 'SQL_SMALL_RESULT ', 'SQL_BUFFER_RESULT '])}{', '.join(self.shown(tables))} FROM {from_} WHERE {where}"

    # Statements.

    def select(self):
        draw = self.draw
        query = self.query()
        settings = []
        if draw.random() < .6:
            settings.append(f"optimizer_switch='{self.switches()}'")
        if draw.random() < .5:
            settings.append(f"join_cache_level={draw.randint(0, 8)}")
        prefix = f"SET STATEMENT {', '.join(settings)} FOR " if settings else ""
        tail = draw.choice(["", "", "", "", " LOCK IN SHARE MODE", " FOR UPDATE"]) if not re.search("UNION|INTERSECT|EXCEPT|^WITH", query) else ""
        self.add(f"{prefix}{query}{tail};")

    def rows(self, table, count, fresh):
        draw = self.draw
        out = []
        for _ in range(count):
            key = table.next
            if not fresh and draw.random() < .3:
                key = draw.randint(1, table.next)
            else:
                table.next += draw.choice([1, 1, 1, 2])
            values = [str(key)] + [c.value() if draw.random() < .95 or c.long or not c.null else "DEFAULT" for c in table.plain]
            out.append(f"({', '.join(values)})")
        return ", ".join(out)

    def names(self, table):
        return "id, " + ", ".join(c.name for c in table.plain)

    def fill(self, table, count):
        while count > 0:
            self.add(f"INSERT IGNORE INTO {table.name} ({self.names(table)}) VALUES {self.rows(table, min(count, 50), True)};")
            count -= 50

    def tick(self):
        self.clock += 10
        self.add(f"SET timestamp={self.clock};")

    def insert(self):
        draw, table = self.draw, self.table()
        self.tick()
        into = f"INTO {table.name} ({self.names(table)}) VALUES {self.rows(table, draw.choice([1, 1, 2, 5, 30]), draw.random() < .3)}"
        kind = draw.randrange(5)
        returning = draw.choice(["", "", f" RETURNING id, {draw.choice(table.columns).name} IS NULL"])
        if kind == 0:
            self.add(f"REPLACE {into}{returning};")
        elif kind == 1:
            c = draw.choice(table.plain)
            what = draw.choice([f"VALUES({c.name})", c.value(), f"IF(id > 10, VALUES({c.name}), {c.name})"])
            more = draw.choice(["", "", f", id = id + {draw.choice([1, 1000])}"])
            self.add(f"INSERT {draw.choice(['', 'IGNORE '])}{into} ON DUPLICATE KEY UPDATE {c.name} = {what}{more}{returning};")
        elif kind == 2 and table.auto:
            c = draw.choice(table.plain)
            self.add(f"INSERT INTO {table.name} ({c.name}) VALUES ({c.value()}), ({c.value()}){returning};")
            self.add("SELECT LAST_INSERT_ID();")
            table.next += 2
        else:
            self.add(f"INSERT {draw.choice(['', 'IGNORE ', 'IGNORE '])}{into}{returning};")

    def copy(self):
        draw, table, other = self.draw, self.table(), self.table()
        self.tick()
        pairs = [(a, b) for a in table.plain for b in other.columns if a.type == b.type]
        pairs = [draw.choice(pairs)] if pairs else []
        verb = draw.choice(["INSERT IGNORE", "REPLACE", "INSERT"])
        if other.keyed:
            self.add(f"{verb} INTO {table.name} (id{''.join(', ' + a.name for a, _ in pairs)}) SELECT z.id + {draw.choice([0, 5, table.next])}"
                     f"{''.join(', z.' + b.name for _, b in pairs)} FROM {other.name} AS z WHERE {self.condition(other, 'z')} ORDER BY z.id LIMIT 20;")

    def assignment(self, table, alias, other=None):
        draw = self.draw
        # An automatic value is one more than what an UPDATE has made of others, or not.
        if not table.auto and draw.random() < .1:
            return f"{alias}.id = {alias}.id + {draw.choice([1000, 10000])}"
        c = draw.choice(table.plain)
        same = [d for d in (other or table).columns if d.type == c.type and (d.null <= c.null)]
        if same and draw.random() < .5:
            return f"{alias}.{c.name} = {'y' if other else alias}.{draw.choice(same).name}"
        if c.family == "int" and c.type in ("INT", "BIGINT", "MEDIUMINT") and draw.random() < .4:
            return f"{alias}.{c.name} = {alias}.{c.name} MOD 1000 + {draw.randint(1, 3)}"
        return f"{alias}.{c.name} = {c.value()}"

    def update(self):
        draw, table = self.draw, self.table()
        self.tick()
        if draw.random() < .3:
            other = self.table()
            if other.keyed and other is not table:
                join = draw.choice(["JOIN", "LEFT JOIN"])
                self.add(f"UPDATE {table.name} AS x{self.hint(table)} {join} {other.name} AS y ON x.id = y.id SET {self.assignment(table, 'x', other)} "
                         f"WHERE {self.condition(table, 'x')} AND {self.condition(other, 'y', 1)};")
                return
        sets = ", ".join({s.split(" = ")[0]: s for s in (self.assignment(table, "x") for _ in range(draw.choice([1, 1, 2])))}.values())
        tail = f" ORDER BY id{draw.choice(['', ' DESC'])} LIMIT {draw.choice([1, 5, 50])}" if table.keyed and draw.random() < .4 else ""
        self.add(f"UPDATE {'IGNORE ' if tail and draw.random() < .3 else ''}{table.name} AS x{self.hint(table)} SET {sets} WHERE {self.condition(table, 'x')}{tail};")

    def delete(self):
        draw, table = self.draw, self.table()
        self.tick()
        if draw.random() < .3:
            other = self.table()
            a, b, collate = self.pair(table, other)
            if not collate and other is not table:
                what = draw.choice(["x", "x", "x, y"])
                self.add(f"DELETE {what} FROM {table.name} AS x JOIN {other.name} AS y ON x.{a} = y.{b} WHERE x.id MOD 4 = {draw.randint(0, 3)} AND {self.condition(other, 'y', 1)};")
                return
        n = table.name
        limit = f" ORDER BY id LIMIT {draw.choice([1, 5])}" if table.keyed else ""
        self.add(f"DELETE FROM {n} WHERE {self.condition(table, n, draw.choice([0, 1, 2]))} AND id MOD {draw.choice([1, 2, 5])} = 0{limit}"
                 f"{draw.choice(['', '', ' RETURNING id'])};")

    def transaction(self):
        draw = self.draw
        self.add(f"SET SESSION TRANSACTION ISOLATION LEVEL {self.level()};")
        self.add(draw.choice(["BEGIN;", "START TRANSACTION WITH CONSISTENT SNAPSHOT;", "SET autocommit=0;", "XA START 'x';"]))
        xa = self.lines[-1].startswith("XA")
        for i in range(draw.randint(1, 5)):
            if draw.random() < .4:
                self.add(f"SAVEPOINT s{draw.randint(0, 2)};")
            draw.choice([self.insert, self.update, self.delete, self.select, self.copy, self.handler, self.prepared, self.call])()
            if draw.random() < .4:
                self.add(f"{draw.choice(['ROLLBACK TO', 'ROLLBACK TO', 'RELEASE'])} SAVEPOINT s{draw.randint(0, 2)};".replace("ROLLBACK TO SAVEPOINT", "ROLLBACK TO"))
        for table in self.tables:
            self.add(f"SELECT COUNT(*), SUM(id) FROM {table.name};")
        if xa:
            self.add("XA END 'x';")
            self.add(draw.choice(["XA COMMIT 'x' ONE PHASE;", "XA ROLLBACK 'x';"]))
        else:
            self.add(draw.choice(["COMMIT;", "COMMIT;", "ROLLBACK;", "COMMIT AND CHAIN; COMMIT;"]))
        self.add("SET autocommit=1;")

    def handler(self):
        draw, table = self.draw, self.table()
        if table.partitioned or not table.keyed:
            return
        columns = {name: of for name, of in table.indexes.items() if of[0].sorts and not of[0].long}
        self.add(f"HANDLER {table.name} OPEN AS h;")
        for _ in range(draw.randint(1, 4)):
            if not columns or draw.random() < .3:
                self.add(f"HANDLER h READ {draw.choice(['FIRST', 'NEXT'])} LIMIT 1000;")
                continue
            name = draw.choice(list(columns))
            value = columns[name][0].make(draw)
            # All rows: those that are equal in the index come in any order.
            self.add(f"HANDLER h READ {name} {draw.choice(['=', '<=', '>=', '<', '>'])} ({value}) LIMIT 1000;")
            # Or some from an end, or there and back.
            self.add(f"HANDLER h READ {name} {draw.choice(['FIRST', 'LAST'])};")
            for _ in range(draw.randint(0, 6)):
                self.add(f"HANDLER h READ {name} {draw.choice(['NEXT', 'PREV'])};")
        self.add("HANDLER h CLOSE;")

    def prepared(self):
        draw, table = self.draw, self.table()
        c = draw.choice([c for c in table.columns if c.family != "json"] or [None])
        if not c:
            return
        operator = draw.choice(["=", "<", ">=", "<=>"])
        self.add(f"PREPARE p FROM \"SELECT COUNT(*), MIN(id), MAX(id) FROM {table.name} WHERE {c.name} {operator} ? AND id {draw.choice(['<', '>'])} ?\";")
        for _ in range(draw.randint(1, 3)):
            self.add(f"EXECUTE p USING {c.value()}, {draw.randint(0, table.next)};")
            if draw.random() < .3:
                draw.choice([self.insert, self.update, self.delete, self.alter])()

    def around(self):
        """Triggers, procedures and views."""
        draw = self.draw
        self.add("CREATE TABLE journal (n INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(40), a INT, KEY (a));")
        # Where a statement writes rows in an order of the engine's, the sums of what is written there are the same.
        triggered = []
        for table in self.tables:
            if table.temporary or draw.random() < .6:
                continue
            when, event = draw.choice(["BEFORE", "AFTER"]), draw.choice(["INSERT", "UPDATE", "DELETE"])
            row = "OLD" if event == "DELETE" else "NEW"
            triggered.append(table)
            self.add(f"CREATE TRIGGER {table.name}r {when} {event} ON {table.name} FOR EACH ROW INSERT INTO journal (what, a) VALUES ('{event} {table.name}', {row}.id);")
        self.procedures = []
        for i, table in enumerate(self.tables[:2]):
            other = self.table()
            if not table.keyed or table.temporary or other.temporary:
                continue
            c = draw.choice(other.plain)
            body = draw.choice([f"UPDATE {other.name} SET {c.name} = {c.value()} WHERE id = i", f"DELETE FROM {other.name} WHERE id = i + 1",
                                f"INSERT IGNORE INTO {other.name} (id) VALUES (i + {draw.choice([1, 500])})"])
            self.add("DELIMITER //")
            self.add(f"CREATE PROCEDURE c{i} (low INT) BEGIN DECLARE i, n INT DEFAULT 0; DECLARE done INT DEFAULT 0; "
                     f"DECLARE c CURSOR FOR SELECT id FROM {table.name} WHERE id > low AND {self.simple(table, table.name)} ORDER BY id LIMIT 12; "
                     "DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = 1; DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET n = n + 1; OPEN c; "
                     f"one: LOOP FETCH c INTO i; IF done THEN LEAVE one; END IF; {body}; SET n = n + 100, done = 0; IF n > 2000 THEN LEAVE one; END IF; "
                     f"END LOOP; CLOSE c; SELECT n; END//")
            self.add(f"CREATE FUNCTION f{i} (low INT) RETURNS INT READS SQL DATA RETURN (SELECT COUNT(*) FROM {table.name} WHERE id > low)//")
            self.add("DELIMITER ;")
            self.procedures.append(i)
        self.views = []
        for table in self.tables:
            # After an UPDATE or DELETE that a view's condition makes impossible the server forgets, with InnoDB, to ask for the
            # columns of the next one's condition.
            maybe = [c for c in table.plain if c.null]
            if maybe and not table.temporary and table not in triggered and draw.random() < .4:
                self.add(f"CREATE VIEW v{table.name} AS SELECT * FROM {table.name} WHERE {draw.choice(maybe).name} IS NULL OR {self.simple(table, table.name)}"
                         f"{draw.choice(['', ' WITH CHECK OPTION'])};")
                self.views.append(table)

    def call(self):
        draw = self.draw
        if self.procedures and draw.random() < .6:
            i = draw.choice(self.procedures)
            self.tick()
            self.add(draw.choice([f"CALL c{i}({draw.randint(0, 30)});", f"SELECT f{i}({draw.randint(0, 30)});",
                                  f"SELECT id, f{i}(id) FROM {self.table().name} WHERE id < 20;"]))
        elif self.views:
            table = draw.choice(self.views)
            view = f"v{table.name}"
            self.tick()
            self.add(draw.choice([f"SELECT COUNT(*), SUM(id) FROM {view};", f"DELETE FROM {view} WHERE id = {draw.randint(1, 40)};",
                                  f"UPDATE {view} AS x SET {self.assignment(table, 'x')} WHERE id = {draw.randint(1, 40)};",
                                  f"SELECT COUNT(*) FROM {view} AS x JOIN {self.table().name} AS y ON x.id = y.id WHERE {self.condition(table, 'x')};"]))

    def special(self):
        """Of tables with versions, periods and partitions."""
        draw = self.draw
        self.tick()
        for table in self.tables:
            n = table.name
            if table.versioned:
                at = f"FROM_UNIXTIME({draw.randint(1800000000, self.clock)})"
                self.add(draw.choice([f"SELECT COUNT(*), SUM(id) FROM {n} FOR SYSTEM_TIME ALL;",
                                      f"SELECT COUNT(*), SUM(x.id) FROM {n} FOR SYSTEM_TIME AS OF {at} AS x WHERE {self.condition(table, 'x', 0)};",
                                      f"SELECT COUNT(*) FROM {n} FOR SYSTEM_TIME BETWEEN {at} AND NOW();", f"DELETE HISTORY FROM {n} BEFORE SYSTEM_TIME {at};"]))
            if table.period:
                low, high = sorted([date(draw), date(draw)])
                self.add(draw.choice([f"DELETE FROM {n} FOR PORTION OF p FROM {low} TO {high} WHERE id = {draw.randint(1, 30)};",
                                      f"UPDATE {n} FOR PORTION OF p FROM {low} TO {high} SET {self.assignment(table, n).replace(n + '.', '')} WHERE id = {draw.randint(1, 30)};"]))
            if table.partitioned:
                part = draw.choice(table.partitioned)
                self.add(draw.choice([f"SELECT COUNT(*), SUM(id) FROM {n} PARTITION ({part});", f"DELETE FROM {n} PARTITION ({part}) WHERE id MOD 3 = 0;",
                                      f"SELECT x.id FROM {n} PARTITION ({part}) AS x WHERE {self.condition(table, 'x')};",
                                      f"ALTER TABLE {n} REBUILD PARTITION {part};", f"ALTER TABLE {n} TRUNCATE PARTITION {part};",
                                      f"ALTER TABLE {n} CHECK PARTITION {part};"]))

    def locked(self):
        table = self.table()
        if self.draw.random() < .5:
            self.add(f"LOCK TABLES {table.name} {self.draw.choice(['READ', 'WRITE'])}, journal WRITE;")
            self.add(f"SELECT COUNT(*) FROM {table.name};")
            self.add(f"DELETE FROM {table.name} WHERE {self.simple(table, table.name)};")
            self.add("UNLOCK TABLES;")
        else:
            c = self.draw.choice(table.plain)
            self.serial += 1
            self.add(f"CREATE {self.draw.choice(['', 'TEMPORARY '])}TABLE m{self.serial} (KEY (id)) SELECT id, {c.name} FROM {table.name} WHERE {self.condition(table, table.name, 1)};")
            self.add(f"SELECT COUNT(*), SUM(id), COUNT({c.name}) FROM m{self.serial}; DROP TABLE m{self.serial};")

    def alter(self):
        draw, table = self.draw, self.table()
        n = table.name
        self.serial += 1
        self.tick()
        kind = draw.randrange(14)
        if kind in (0, 1):
            if index := table.index(f"a{self.serial}"):
                self.add(f"ALTER TABLE {n} ADD {index};")
        elif kind == 2 and len(table.indexes) > 1:
            name = draw.choice(list(table.indexes))
            del table.indexes[name]
            self.add(f"ALTER TABLE {n} DROP KEY {name};")
        elif kind in (3, 4):
            column = Column(draw, f"{n}n{self.serial}")
            column.whole = column.whole and True
            table.columns.append(column)
            table.plain.append(column)
            # What a TIMESTAMP or DATE without a default gets is refused or not by sql_mode.
            column.null = column.null or column.family in ("date", "json", "uuid", "inet")
            self.add(f"ALTER TABLE {n} ADD COLUMN {column.definition()}{draw.choice(['', ' FIRST', ' AFTER id'])};")
        elif kind == 5:
            self.add(f"ALTER TABLE {n} FORCE;")
        elif kind == 6:
            self.add(f"ANALYZE TABLE {n}{draw.choice(['', ' PERSISTENT FOR ALL'])};")
        elif kind == 7 and table.indexes:
            name = draw.choice(list(table.indexes))
            self.add(f"ALTER TABLE {n} ALTER INDEX {name} {draw.choice(['IGNORED', 'NOT IGNORED'])};")
        elif kind == 8 and table.indexes:
            name = draw.choice(list(table.indexes))
            table.indexes[f"r{self.serial}"] = table.indexes.pop(name)
            self.add(f"ALTER TABLE {n} RENAME INDEX {name} TO r{self.serial};")
        elif kind == 9:
            c = draw.choice(table.plain)
            if c.type == "INT":
                c.type = "BIGINT"
                self.add(f"ALTER TABLE {n} MODIFY {c.name} BIGINT{'' if c.null else ' NOT NULL'};")
            elif c.type.startswith("VARCHAR(24)"):
                c.type = c.type.replace("24", "80")
                self.add(f"ALTER TABLE {n} MODIFY {c.name} {c.type}{'' if c.null else ' NOT NULL'};")
        elif kind == 10:
            self.add("FLUSH TABLES;" if not any(t.temporary for t in self.tables) else "DO 1;")
        elif kind == 12 and not table.partitioned and not table.temporary and not table.versioned:
            self.add(f"ALTER TABLE {n} PARTITION BY {draw.choice(['HASH (id) PARTITIONS 2', 'KEY (id) PARTITIONS 3'])};")
            self.add(f"SELECT COUNT(*), SUM(id) FROM {n};")
            if draw.random() < .6:
                self.add(f"ALTER TABLE {n} REMOVE PARTITIONING;")
            else:
                table.partitioned = ["p0", "p1"]
        elif kind == 13 and not table.temporary and not table.versioned:
            self.add(f"CREATE TABLE l{self.serial} LIKE {n}; INSERT INTO l{self.serial} SELECT * FROM {n} ORDER BY id;")
            self.add(f"SELECT COUNT(*), SUM(id) FROM l{self.serial}; CHECK TABLE l{self.serial} EXTENDED;")
            self.add(f"RENAME TABLE l{self.serial} TO m{self.serial}; DROP TABLE m{self.serial};")
        elif kind == 11 and draw.random() < .2 and not table.versioned:
            self.add(f"TRUNCATE TABLE {n};")

    def everything(self, table):
        names = ", ".join(f"HEX({c.name})" if c.family in ("bin", "blob", "str") else c.name for c in table.columns)
        self.add(f"SELECT id, {names} FROM {table.name};")
        for index in table.indexes:
            self.add(f"SELECT COUNT(*), SUM(id) FROM {table.name} FORCE INDEX ({index}) WHERE {table.indexes[index][0].name} IS NOT NULL;")
        self.add(f"CHECK TABLE {table.name} EXTENDED;")
        self.add("SELECT what, COUNT(*), SUM(a) FROM journal GROUP BY what;")

    def script(self, engine):
        return "\n".join([f"DROP DATABASE IF EXISTS d; CREATE DATABASE d; USE d; SET default_storage_engine={engine};", *self.lines, ""]).replace(") VIRTUAL", ") STORED" if engine == "InnoDB" else ") VIRTUAL")


RULE = "-" * 14  # around each statement


def parse(output):
    """The statements that the client prints, each with what it answers."""
    found, errors, answer, statement = [], [], [], None
    for line in output.split("\n"):
        if line == RULE and statement is None:
            statement = []
        elif line == RULE:
            # An error comes before the statement.
            answer, errors = errors, []
            found.append(("\n".join(statement), answer))
            statement = None
        elif statement is not None:
            statement.append(line)
        elif line.startswith("ERROR "):
            errors.append(line)
        elif line not in ("", "Empty set", "Bye"):
            answer.append(line)
    return found


def common(statement, answer, engine):
    """What must be the same with any engine."""
    values = re.match(r"(INSERT|REPLACE)[^;]*VALUES", statement)
    lines = []
    for line in answer:
        line = line.replace(engine, "ENGINE")
        if (error := re.match(r"ERROR (\d+)", line)) and (error[1] in ("1062", "1292") or statement.startswith("ALTER")):
            line = error[0]
        # How often conditions are evaluated is the plan's affair, and so are their warnings.
        if not values and len(line) < 200:
            line = re.sub(r",? ?\d+ warnings?|Warnings: \d+", "", line)
        if not values and line.startswith(("Note ", "Warning ")):
            continue
        # An engine copies a table, or it does not.
        if statement.startswith("ALTER") and line.startswith(("Query OK", "Records: ")):
            continue
        # Or the server knows it without a look.
        if line.startswith("Rows matched: 0 "):
            continue
        # Of several rows that cannot be written, engines name different ones.
        lines.append(re.sub(r"^(?:Error|Warning) \(Code (1062|1292)\).*", r"Code \1", line))
    # What follows the last parenthesis is the whole statement's.
    return lines if " ORDER BY " in statement.rpartition(")")[2] else sorted(lines)


def play(running, script, engine):
    """The statements of a script, and what they answer."""
    done = subprocess.run(running.client("--batch", "-vv", "--show-warnings", "--force", "--unbuffered"), input=script, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    found = parse(done.stdout)[4:]  # without those that make the database
    if "Lost connection" in done.stdout or "gone away" in done.stdout:
        sys.exit(f"the server is gone: {found[-1:]}")
    return [(statement.replace(") STORED", ") VIRTUAL"), common(statement, answer, engine)) for statement, answer in found]


def difference(expected, answers):
    """The first statement that is answered otherwise, with both answers."""
    for (statement, one), (_, other) in zip(expected, answers):
        # Buffers of joins are too small for some plans. What was not written then is missing later.
        if any(line.startswith("ERROR 1037 ") for line in one + other):
            if re.match("SELECT|WITH|SET STATEMENT", statement):
                continue
            return None
        if one != other:
            return statement, one, other
    return None


def main():
    rounds = range(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
    if len(sys.argv) > 2:
        rounds = [int(sys.argv[2])]  # one of them again
    base = server.seed()
    running = server.Server("--sluice-sync-commits=OFF", "--innodb-flush-log-at-trx-commit=0", *os.environ.get("SLUICE_SERVER_OPTIONS", "").split())
    statements, differing = 0, []
    try:
        for number in rounds:
            one = Round(random.Random(base * 1000003 + number))
            answers = {engine: play(running, one.script(engine), engine) for engine in ("InnoDB", "SLUICE")}
            statements += len(answers["SLUICE"])
            if found := difference(answers["InnoDB"], answers["SLUICE"]):
                if len(rounds) == 1:
                    print(one.script("SLUICE"))
                print(f"round {number}: {found[0]}\n  InnoDB: {found[1]}\n  Sluice: {found[2]}", flush=True)
                differing.append(number)
    finally:
        running.close()
    if differing:
        sys.exit(f"{len(differing)} of {len(rounds)} rounds differ")
    print(f"{len(rounds)} rounds, {statements} statements, the same answers")


if __name__ == "__main__":
    main()
