"""Tests of SQL on one server, with a table t for each and connections that end with it."""

import unittest

import server


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = server.Server("--sluice-lock-wait-timeout=0.2", "--log-bin", "--binlog-format=row", "--server-id=1")

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def setUp(self):
        self.server.run("CREATE OR REPLACE DATABASE d; USE d; CREATE TABLE t (a INT PRIMARY KEY, b INT, KEY (b)) ENGINE=SLUICE;"
                        "INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)")
        self.connections = []

    def tearDown(self):
        for connection in self.connections:
            connection.close()

    def connect(self, isolation="REPEATABLE READ"):
        connection = server.Connection(self.server, "d")
        self.connections.append(connection)
        self.assertEqual(connection.do(f"SET SESSION TRANSACTION ISOLATION LEVEL {isolation}"), "")
        return connection

    def expect(self, connection, sql, answer):
        self.assertEqual(connection.do(sql), answer, sql)
