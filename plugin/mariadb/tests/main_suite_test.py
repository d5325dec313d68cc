#!/usr/bin/env python3
"""Which differences between two engines' answers main_suite finds, and what it takes them for."""

import pathlib
import tempfile
import unittest

import main_suite


class MainSuiteTest(unittest.TestCase):
    def expect(self, kinds, ours, theirs):
        self.assertEqual(sorted(main_suite.differences(ours, theirs)), sorted(kinds), (ours, theirs))

    def test_kinds(self):
        self.expect([], "CREATE TABLE t (a INT) ENGINE=SLUICE;\nSELECT 1;\n1\n1", "CREATE TABLE t (a INT) ENGINE=InnoDB;\nSELECT 1;\n1\n1")
        self.expect(["other"], "SELECT a FROM t;\na\n1", "SELECT a FROM t;\na\n1\n2")
        self.expect(["order"], "SELECT a FROM t;\na\n1\n2", "SELECT a FROM t;\na\n2\n1")
        self.expect(["other"], "SELECT a FROM t ORDER BY a;\na\n1\n2", "SELECT a FROM t ORDER BY a;\na\n2\n1")
        # Rows do not wander from one statement to another.
        self.expect(["other"], "SELECT 1;\na\nSELECT 2;\nb", "SELECT 1;\nb\nSELECT 2;\na")
        head = "id\tselect_type\ttable\ttype\n1\tSIMPLE\tt\t"
        self.expect(["plan"], f"EXPLAIN SELECT a FROM t;\n{head}ALL", f"EXPLAIN SELECT a FROM t;\n{head}ref")
        self.expect(["text"], "INSERT INTO t VALUES (1);\nERROR 23000: Duplicate 1", "INSERT INTO t VALUES (1);\nERROR 23000: Duplicate 2")
        self.expect(["other"], "INSERT INTO t VALUES (1);\nERROR 23000: Duplicate 1", "INSERT INTO t VALUES (1);")

    def test_what_comes_of_a_refusal(self):
        refused = ("CREATE TABLE t (a INT, FULLTEXT (a));\nmysqltest: At line 1: query 'CREATE TABLE t' failed: ER_TABLE_CANT_HANDLE_FT (1214): The storage "
                   "engine SLUICE doesn't support FULLTEXT indexes\n")
        missing = "SELECT * FROM t;\nmysqltest: At line 2: query 'SELECT * FROM t' failed: ER_NO_SUCH_TABLE (1146): no\n"
        made = "CREATE TABLE t (a INT, FULLTEXT (a));\n"
        rows = "SELECT * FROM t;\na\n1\n"
        self.expect(["refused"], refused + missing, made + rows)
        # Of another table, or of one with the same name later, it is no excuse.
        self.expect(["refused", "other"], refused + "SELECT * FROM u;\na", made + "SELECT * FROM u;\na\n1")
        again = "CREATE TABLE t (a INT);\n"
        self.expect(["refused", "other"], refused + again + "SELECT * FROM t;\na", made + again + rows)

    def test_what_is_run(self):
        with tempfile.TemporaryDirectory() as directory:
            suite = pathlib.Path(directory) / "main"
            suite.mkdir()
            (suite / "a.test").write_text("create table t (a int, foreign key (a) references u (a) on delete set null) engine=MyISAM;\ninsert delayed into t values (1);")
            (suite / "b.test").write_text("select 1;")
            (suite / "c.test").write_text("create table t (a int);")
            (suite / "c.opt").write_text("--skip-innodb")
            self.assertEqual(main_suite.choose(suite), ["a"])
            main_suite.copy(suite, suite.parent / "copy", "SLUICE", ["innodb"])
            self.assertEqual((suite.parent / "copy/a.test").read_text(), "create table t (a int) engine=SLUICE;\ninsert into t values (1);")
            self.assertEqual((suite.parent / "copy/suite.opt").read_text(), "--innodb\n")


if __name__ == "__main__":
    unittest.main()
