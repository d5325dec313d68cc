#!/usr/bin/env python3
"""What the optimizer is told of indexes, and which plans it makes of it: those that it makes for InnoDB."""

import random
import unittest

import server

TABLES = ("CREATE TABLE orders (id INT PRIMARY KEY, customer INT, day DATE, state VARCHAR(10), note CHAR(100), KEY (customer),"
          " KEY (day, state), KEY (state))",
          "CREATE TABLE customers (id INT PRIMARY KEY, country CHAR(2), name VARCHAR(30), note CHAR(100), KEY (country), UNIQUE (name))",
          "CREATE TABLE items (order_id INT, line INT, product INT, price DECIMAL(10,2), PRIMARY KEY (order_id, line), KEY (product))",
          "CREATE TABLE products (id INT PRIMARY KEY, kind INT, name VARCHAR(30), KEY (kind, name))")
ORDERS, CUSTOMERS, PRODUCTS = 20000, 2000, 500
DATA = (f"INSERT INTO customers SELECT seq, ELT(1 + seq % 20, 'at','be','bg','cy','cz','de','dk','ee','es','fi','fr','gr','hr','hu','ie',"
        f"'it','lt','lu','lv','mt'), CONCAT('name', seq), '' FROM seq_1_to_{CUSTOMERS}",
        f"INSERT INTO orders SELECT seq, 1 + seq * 7919 % {CUSTOMERS}, DATE '2020-01-01' + INTERVAL seq DIV 20 DAY,"
        f" IF(seq % 100 = 0, 'open', 'done'), '' FROM seq_1_to_{ORDERS}",
        f"INSERT INTO items SELECT o.seq, l.seq, 1 + (o.seq * 31 + l.seq * 17) % {PRODUCTS}, 1 FROM seq_1_to_{ORDERS} o, seq_1_to_3 l",
        f"INSERT INTO products SELECT seq, seq % 25, CONCAT('product', seq % 100) FROM seq_1_to_{PRODUCTS}")
QUERIES = (
    "SELECT * FROM customers c JOIN orders o ON o.customer = c.id WHERE c.country = 'fr'",
    "SELECT * FROM customers c JOIN orders o ON o.customer = c.id WHERE c.name = 'name77'",
    "SELECT * FROM orders o JOIN items i ON i.order_id = o.id WHERE o.customer = 5",
    "SELECT * FROM orders o JOIN items i ON i.order_id = o.id JOIN products p ON p.id = i.product WHERE o.customer IN (5, 6)",
    "SELECT * FROM products p JOIN items i ON i.product = p.id WHERE p.kind = 7 AND p.name LIKE 'product3%'",
    "SELECT * FROM products p JOIN items i ON i.product = p.id JOIN orders o ON o.id = i.order_id WHERE p.id = 9 AND o.state = 'open'",
    "SELECT * FROM orders o JOIN customers c ON c.id = o.customer WHERE o.day = '2020-02-03'",
    "SELECT * FROM orders o JOIN customers c ON c.id = o.customer WHERE o.state = 'open' AND c.country = 'fr'",
    # The primary key's columns behind those of an index.
    "SELECT * FROM items WHERE product = 7 AND order_id BETWEEN 100 AND 200",
    "SELECT * FROM items WHERE product = 7 ORDER BY order_id DESC, line DESC LIMIT 3",
    "SELECT MAX(order_id) FROM items WHERE product = 7",
    "SELECT product, MIN(order_id) FROM items GROUP BY product",
    "SELECT * FROM orders o JOIN items i FORCE INDEX (product) ON i.order_id = o.id AND i.product = o.customer WHERE o.id < 50",
    "SELECT id FROM orders WHERE state = 'open' AND id > 19000 ORDER BY id",
)


class PlansTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = server.Server()
        for engine in ("SLUICE", "InnoDB"):
            cls.server.run(f"CREATE DATABASE {engine}; USE {engine};"
                           + ";".join(f"{table} ENGINE={engine}" for table in TABLES) + ";" + ";".join(DATA), "")

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def analyze(self, engine):
        self.server.run("ANALYZE TABLE orders, customers, items, products", engine)

    def cardinalities(self, engine):
        """Values in the first columns of each index."""
        rows = self.server.run("SELECT table_name, index_name, seq_in_index, cardinality FROM information_schema.statistics"
                               f" WHERE table_schema = '{engine}'").splitlines()[1:]
        return {tuple(row.split("\t")[:3]): int(row.split("\t")[3]) for row in rows}

    def plan(self, engine, query):
        """Of each table, how it is read, by which index, and how many rows are expected."""
        lines = self.server.run(f"SET optimizer_switch = 'rowid_filter=off'; EXPLAIN {query}", engine).splitlines()
        steps = [dict(zip(lines[0].split("\t"), line.split("\t"))) for line in lines[1:]]
        return [(step["table"], step["type"], step["key"]) for step in steps], [int(step["rows"].split()[0].replace("NULL", "0")) for step in steps]

    def test_cardinalities(self):
        expected = {("orders", "PRIMARY", "1"): ORDERS, ("orders", "customer", "1"): CUSTOMERS, ("orders", "day", "1"): ORDERS // 20,
                    ("orders", "day", "2"): ORDERS // 20 * 1.2, ("orders", "state", "1"): 2,
                    ("customers", "country", "1"): 20, ("customers", "name", "1"): CUSTOMERS, ("items", "PRIMARY", "1"): ORDERS,
                    ("items", "PRIMARY", "2"): 3 * ORDERS, ("items", "product", "1"): PRODUCTS,
                    ("products", "kind", "1"): 25, ("products", "kind", "2"): 100}
        for restart in (False, True):
            self.analyze("SLUICE")
            if restart:
                self.server.restart()
            found = self.cardinalities("SLUICE")
            for key, value in expected.items():
                # After a restart the number of rows is an estimate, by which the server divides and rounds down.
                self.assertLess((value - 1) / 1.7, found[key], (key, found))
                self.assertGreater(value * 1.7, found[key], (key, found))

    def test_plans_are_those_for_innodb(self):
        for engine in ("SLUICE", "InnoDB"):
            self.analyze(engine)
        for query in QUERIES:
            (ours, our_rows), (theirs, their_rows) = self.plan("SLUICE", query), self.plan("InnoDB", query)
            self.assertEqual(ours, theirs, (query, our_rows, their_rows))
            for a, b in zip(our_rows, their_rows):
                self.assertTrue(a <= 4 * b + 10 and b <= 4 * a + 10, (query, our_rows, their_rows))

    def test_small_tables(self):
        """No table is empty for the optimizer, as it may have rows when it is read; what is shown is what there is."""
        for rows in range(3):
            answers = []
            for engine in ("SLUICE", "InnoDB"):
                self.server.run(f"CREATE OR REPLACE TABLE small (a INT PRIMARY KEY, b TEXT, KEY (b(9))) ENGINE={engine};"
                                f"INSERT INTO small SELECT seq, REPEAT(MD5(seq), 100) FROM seq_1_to_2 WHERE seq <= {rows}; ANALYZE TABLE small", engine)
                shown = dict(zip(*(line.split("\t") for line in self.server.run("SHOW TABLE STATUS LIKE 'small'", engine).splitlines())))
                cardinality = self.cardinalities(engine)[("small", "b", "1")]
                answers.append((self.plan(engine, "SELECT * FROM small"), shown["Rows"], cardinality))
                if engine == "SLUICE":
                    self.assertTrue(3000 * rows <= int(shown["Data_length"]) <= 5000 * rows, shown)
                    self.assertTrue(20 * rows <= int(shown["Index_length"]) <= 200 * rows, shown)
            self.assertEqual(*answers)

    def test_rows_that_are_undone_do_not_count(self):
        insert = "INSERT INTO undone SELECT seq FROM seq_1_to_5000"
        self.server.run(f"CREATE TABLE undone (a INT PRIMARY KEY) ENGINE=SLUICE; INSERT INTO undone VALUES (0); BEGIN; {insert}; ROLLBACK;"
                        f"BEGIN; INSERT INTO undone VALUES (-1); SAVEPOINT s; {insert}; ROLLBACK TO s; COMMIT", "SLUICE")
        self.server.run("INSERT INTO undone SELECT 5000 - seq FROM seq_0_to_5000", "SLUICE", force=True)  # the last one is there already
        self.assertEqual(self.server.run("SELECT table_rows FROM information_schema.tables WHERE table_name = 'undone'").split()[-1], "2")

    def test_they_are_made_without_being_asked_for(self):
        self.server.run("CREATE TABLE SLUICE.fresh (a INT PRIMARY KEY, b INT, KEY (b)) ENGINE=SLUICE", "")
        for rows, kinds in ((1000, 100), (5000, 10)):
            self.server.run(f"INSERT INTO fresh SELECT {rows} + seq, {rows} + seq % {kinds} FROM seq_1_to_{rows}; SELECT COUNT(*) FROM fresh", "SLUICE")
            found = self.cardinalities("SLUICE")[("fresh", "b", "1")]
            self.assertTrue(kinds <= found <= 200, (rows, kinds, found))
        # An index that is new.
        self.server.run("ALTER TABLE fresh ADD KEY c (b, a); SELECT COUNT(*) FROM fresh", "SLUICE")
        self.assertGreater(self.cardinalities("SLUICE")[("fresh", "c", "2")], 3000)

    def test_all_kinds_of_columns(self):
        """Where each column ends in a key, forwards and backwards, with NULLs, for all that a key may consist of."""
        numbers = random.Random(server.seed())
        types = ("INT", "BIGINT UNSIGNED", "DOUBLE", "DECIMAL(12,3)", "DATETIME(3)", "YEAR", "BIT(11)", "BINARY(7)", "VARBINARY(9)", "CHAR(9)",
                 "VARCHAR(30)", "VARCHAR(30) COLLATE utf8mb4_bin", "VARCHAR(30) COLLATE utf8mb4_nopad_bin",
                 "CHAR(5) CHARACTER SET utf8mb4 COLLATE utf8mb4_uca1400_ai_ci", "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_nopad_ci",
                 "VARCHAR(9) CHARACTER SET latin2 COLLATE latin2_czech_cs", "ENUM('1','2','3','4','5')")
        for _ in range(12):
            chosen = numbers.sample(types, 3)
            columns = ", ".join(f"c{i} {kind} {numbers.choice(['', 'NOT NULL'])}" for i, kind in enumerate(chosen))
            keys = ", ".join(f"c{i} {numbers.choice(['', 'DESC'])}" for i in range(3))
            self.server.run(f"SET NAMES utf8mb4; CREATE OR REPLACE TABLE k ({columns}, KEY k ({keys})) ENGINE=SLUICE DEFAULT CHARSET=utf8mb4", "SLUICE")
            values = ", ".join("1 + FLOOR(RAND() * 4)" if "YEAR" not in kind and "DATE" not in kind else
                               ("2001 + FLOOR(RAND() * 4)" if kind == "YEAR" else "DATE '2020-01-01' + INTERVAL FLOOR(RAND() * 4) DAY")
                               for kind in chosen)
            self.server.run(f"INSERT INTO k SELECT {values} FROM seq_1_to_3000; ANALYZE TABLE k", "SLUICE")
            found = self.cardinalities("SLUICE")
            for number in (1, 2, 3):
                self.assertAlmostEqual(found[("k", "k", str(number))], 4 ** number, delta=1 + 4 ** number // 10, msg=(chosen, found))


if __name__ == "__main__":
    unittest.main()
