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
        # The complaint about a statement of several lines repeats them.
        lines = "CREATE TABLE t (\nWITH INT)\nENGINE=SLUICE;\n"
        self.expect(["refused"], lines + f"mysqltest: At line 1: query '{lines[:-2]}' failed: ER_ILLEGAL_HA_CREATE_OPTION (1478): Table storage engine "
                    "'SLUICE' does not support the create option 'SEQUENCE'\n" + missing, lines + rows)
        # Of another table, or of one with the same name later, it is no excuse.
        self.expect(["refused", "other"], refused + "SELECT * FROM u;\na", made + "SELECT * FROM u;\na\n1")
        again = "CREATE TABLE t (a INT);\n"
        self.expect(["refused", "other"], refused + again + "SELECT * FROM t;\na", made + again + rows)

    def test_what_is_run(self):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            main, innodb = root / "main", root / "suite/innodb/t"
            for path, text in ((main / "a.test", "create table t (a int, foreign key (a) references u (a) on delete set null) engine=MyISAM;\n"
                                                 "insert delayed into t values (1);"),
                               (main / "b.test", "select 1;"), (main / "c.test", "create table t (a int);"), (main / "c.opt", "--skip-innodb"),
                               (main / "a.result", "its own"), (innodb / "a.test", "create table t (a int);"),
                               (innodb / "b.test", "create table t (a int); set global innodb_file_per_table = 1;")):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            chosen = main_suite.choose(root)
            self.assertEqual(chosen, {"a": main / "a.test", "innodb-a": innodb / "a.test"})
            main_suite.copy(chosen, root / "copy", "SLUICE", ["innodb"])
            self.assertEqual((root / "copy/a.test").read_text(), "create table t (a int) engine=SLUICE;\ninsert into t values (1);")
            self.assertEqual((root / "copy/suite.opt").read_text(), "--innodb\n")
            self.assertEqual(sorted(path.name for path in (root / "copy").iterdir()), ["a.test", "c.opt", "innodb-a.test", "suite.opt"])


if __name__ == "__main__":
    unittest.main()
