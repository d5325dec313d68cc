"""Tests of MariaDB's suite main, and of others, answered by two engines: which tests, and in what the answers differ.

An answer is what the test runner prints: each statement, and behind it rows or an error. Two answers are compared
statement by statement. What differs has a kind:

    plan        the output of EXPLAIN and ANALYZE, and counts of what the server did to execute a plan
    order       the same rows in another order, where none is asked for
    statistics  how many rows and bytes a table has, and how many values an index: estimates
    text        the words of an error, a warning, or a note, but not that it is there
    engine      what an engine says of itself and its options
    refused     a statement that one of the engines refuses (docs/sql.md), and what comes of it later in the test
    other       anything else

tests/main_differences.txt names the kinds that each test may have, and a reason for `other`. That is the only one
which says nothing of what may differ; a test that has it is not checked any further.
"""

import collections
import difflib
import pathlib
import re
import shutil

KEPT = pathlib.Path(__file__).resolve().parent / "main_differences.txt"
# Those whose tests may be of any engine; of the others than main, without those that are of InnoDB.
SUITES = ("main", "innodb", "parts", "vcol", "versioning", "period", "gcol", "json", "compat/oracle", "heap")
INNODB = re.compile(r"innodb_(?!mysql|lock_wait)|\.ibd|ibdata|foreign\s+key|fulltext|row_format|key_block_size|tablespace|debug|restart|master-slave|"
                    r"encrypt|spatial|geometry|linestring|point\(|corrupt", re.I)
# Files beside a test that ask for a server of their own.
SETTINGS = (".opt", "-master.opt", "-client.opt", ".cnf", "-master.sh", ".combinations")
# What tests include that need another server, or more than this one has.
NEEDS = re.compile(r"have_debug|big_test|have_ssl|have_symlink|master-slave|restart_mysqld|shutdown_mysqld|log_bin|have_binlog|windows|"
                   r"have_geometry|have_mysql_upgrade|kill_mysqld|wait_until|mysqlbinlog")
# Clients, and other engines.
ELSEWHERE = re.compile(r"mysql(dump|binlog|_|admin|check|import|show|slap|test)|ssl|grant|plugin|fulltext|merge|myisam|maria|gis|spatial|log_|"
                       r"perror|bootstrap|upgrade|user|password|role|openssl|help|csv|partition_.*myisam|backup_|failed_auth|connect|mdl$")
# Statements begin so, in answers.
STATEMENT = re.compile(r"\s*(select|insert|replace|update|delete|explain|analyze|describe|desc|show|create|drop|alter|truncate|rename|set|prepare|execute|"
                       r"deallocate|with|begin|start|commit|rollback|savepoint|release|call|do|handler|lock|unlock|flush|reset|use|load|check|"
                       r"checksum|optimize|repair|cache|xa|kill|grant|revoke|values|connect|connection|disconnect|help|signal|if|end|#|\(select)\b", re.I)
# A table's engine, which this campaign chooses.
ENGINE = re.compile(rb"((?:\bengine|_engine|-engine)\b\s*=?\s*[\"']?)(innodb|myisam|aria)\b", re.I)
DELAYED = re.compile(rb"\b(insert|replace)\s+delayed\b", re.I)  # the tests wait for what only MyISAM does
FOREIGN_KEY = re.compile(rb",\s*(?:constraint\s+(?:`[^`]*`|\w+)?\s*)?foreign\s+key\s*(?:if\s+not\s+exists\s*)?(?:`?\w+`?\s*)?\([^()]*\)\s*"
                         rb"references\s+[`\w.]+\s*\([^()]*\)(?:\s*(?:on\s+(?:update|delete)|match)\s+(?:no\s+action|set\s+null|set\s+default|"
                         rb"\w+))*", re.I)
PLAN = re.compile(r"\s*(explain|analyze\s+(?!table|local|no_write)|describe\s+(select|extended|update|delete)|desc\s+select)|show\s+(session\s+|global\s+|local\s+)?"
                  r"status|select .*last_query_cost|show explain|prepare .*explain|.*information_schema\.(optimizer_trace|session_status|global_status)", re.I)
STATISTICS_ROWS = re.compile(r"Table\tNon_unique\t|Name\tEngine\tVersion\t|.*\tTABLE_ROWS")
PLAN_ROWS = re.compile(r"id\tselect_type\ttable\t|select_type\t|.*\"(query_block|rows_estimation|access_type|considered_execution_plans)\"|### NOTE: Handler_reads")
STATISTICS = re.compile(r"\s*show\s+(table\s+status|index|keys|indexes)|.*information_schema\s*\.\s*`?(tables|partitions|statistics)|.*table_rows|"
                        r".*mysql\.(table_stats|column_stats|index_stats)", re.I | re.S)
ABOUT_ENGINE = re.compile(r"\s*(optimize|repair|check|analyze)\s+|.*information_schema\s*\.\s*`?(engines|plugins|all_plugins)|show\s+(engines|plugins|engine)|.*checksum", re.I | re.S)
# What is refused, and what says so.
REFUSALS = {
    "SEQUENCE": r"create option 'SEQUENCE'",
    "FULLTEXT": r"ER_TABLE_CANT_HANDLE_FT|support FULLTEXT",
    "SPATIAL": r"ER_TABLE_CANT_HANDLE_SPKEYS|support SPATIAL",
    "an index with a collation that is refused": r"create option 'an index",
    "FOREIGN KEY": r"create option 'FOREIGN KEY'|errno: 150",
    "ALGORITHM or LOCK of ALTER TABLE": r"(?:ALGORITHM|LOCK)=\w+ is not supported",
    "FLUSH TABLES FOR EXPORT": r"ER_ILLEGAL_HA \(",
    "a transaction of more than 256 MiB": r"bytes of writes and locks, and may have",
    "statements in the binary log below SERIALIZABLE": r"ER_BINLOG_STMT_MODE",
    "AUTO_INCREMENT within a key, which InnoDB refuses": r"ER_WRONG_AUTO_KEY",
    "versions of rows by transaction": r"ER_VERS_FIELD_WRONG_TYPE",
    "ROW_FORMAT, of which InnoDB refuses some": r"errno: 140",
}
REFUSAL = re.compile("|".join(REFUSALS.values()))
REPEATED = re.compile(r"^mysqltest: (?:At line \d+: |In included file .*?)query '.*?' (?:failed|succeeded)", re.M | re.S)
WORDS = re.compile(r"^(ERROR \w+: |(?:Warning|Note|Error)\t\d+\t|mysqltest: query .*failed: \w+ \(\d+\)).*", re.S)
CREATED = re.compile(r"create\s+(?:or\s+replace\s+)?(?:temporary\s+)?table\s+(?:if\s+not\s+exists\s+)?[`\"]?(?:\w+[`\"]?\.[`\"]?)?(\w+)", re.I)
MADE = re.compile(r"(?:create\s+(?:or\s+replace\s+)?(?:temporary\s+)?(?:table|view|sequence|procedure|function)|alter\s+(?:online\s+|ignore\s+)*table|insert\s+(?:ignore\s+)?"
                  r"into|create\s+(?:unique\s+|fulltext\s+)?index\s+\w+\s+on)\s+(?:if\s+not\s+exists\s+)?[`\"]?(?:\w+[`\"]?\.[`\"]?)?(\w+)", re.I)


def choose(root):
    """The tests of tables that need nothing special, with their files: those of main by name, others as SUITE-NAME."""
    chosen = {}
    for suite in SUITES:
        directory = root / "suite" / suite / "t" if suite != "main" else root / suite
        for path in sorted(directory.glob("*.test")):
            text = path.read_text(errors="replace")
            included = re.findall(r"source\s+(?:\./)?([^\s;]+)", text, re.I)
            if (any((directory / (path.stem + end)).exists() for end in SETTINGS) or any(NEEDS.search(name) for name in included)
                    or ELSEWHERE.match(path.stem) or (suite != "main" and INNODB.search(text))):
                continue
            texts = [text] + [file.read_text(errors="replace") for name in included if (file := root / name).exists()]
            if any(re.search(r"create\s+(or\s+replace\s+)?(temporary\s+)?table", part, re.I) for part in texts):
                chosen[path.stem if suite == "main" else f"{suite.replace('/', '_')}-{path.stem}"] = path
    return chosen


def copy(tests, target, engine, options):
    """The tests as a suite of their own, whose tables have this engine, and no foreign keys."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    files = {path.name: path for directory in {test.parent for test in tests.values()} for path in directory.iterdir()
             if path.is_file() and path.suffix not in (".test", ".reject", ".result", ".rdiff", ".pm")}
    for name, path in {**files, **{f"{test}.test": path for test, path in tests.items()}}.items():
        text = path.read_bytes()
        if path.suffix in (".test", ".inc", ".opt", ".cnf"):
            text = ENGINE.sub(lambda found: found[1] + engine.encode(), text)
            text = DELAYED.sub(rb"\1", FOREIGN_KEY.sub(b"", text)).replace(b"../suite/", b"suite/")
        (target / name).write_bytes(text)
        (target / name).chmod(path.stat().st_mode)
    (target / "suite.opt").write_text("".join(f"--{option}\n" for option in options))


def normal(line):
    """Without what is the engine's name, or differs from run to run."""
    line = re.sub(r"\b(innodb|sluice)\b", "ENGINE", line, flags=re.I)
    line = re.sub(r"main_(innodb|sluice)(_[01])?", "main", line)
    line = re.sub(r"^WHERE ID = \d+", "WHERE ID = #", line)
    line = re.sub(r"^\d+\t(\S+\tlocalhost\t\S+\t\w+\t)\d+\t", r"#\t\1#\t", line)  # SHOW PROCESSLIST
    return re.sub(r"At line \d+: ", "", line)


def sections(text):
    """Statements, each with what was answered. Some begin inside answers; they do so on both sides."""
    found = [[]]
    # What repeats a statement of several lines is one line.
    text = REPEATED.sub(lambda complaint: complaint[0].replace("\n", " "), text)
    lines = (line for line in text.splitlines() if not line.endswith("doing recreate + analyze instead"))  # OPTIMIZE, of InnoDB's
    for line in map(normal, lines):
        if STATEMENT.match(line):
            found.append([])
        found[-1].append(line)
    return [section for section in found if section]


def kind(ours, theirs):
    """How two answers to a statement differ."""
    if any(PLAN_ROWS.match(line) for line in ours):
        return "plan"
    if any(STATISTICS_ROWS.match(line) for line in ours):
        return "statistics"
    if any(REFUSAL.search(line) for line in ours + theirs):
        return "refused"
    statement = "\n".join(ours)
    for name, pattern in (("plan", PLAN), ("statistics", STATISTICS), ("engine", ABOUT_ENGINE)):
        if pattern.match(statement):
            return name
    if collections.Counter(ours) == collections.Counter(theirs) and not re.search(r"\border\s+by\b", statement, re.I):
        return "order"
    if [WORDS.sub(r"\1", line) for line in ours] == [WORDS.sub(r"\1", line) for line in theirs]:
        return "text"
    return "other"


def differences(ours, theirs):
    """Of two texts: kinds, each with the differences that have it."""
    ours, theirs = sections(ours), sections(theirs)
    found = collections.defaultdict(list)
    refused = set()  # tables that one of them does not have, or not as they should be
    matcher = difflib.SequenceMatcher(None, [part[0] for part in theirs], [part[0] for part in ours], autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        pairs = list(zip(theirs[a:b], ours[c:d])) if tag == "equal" else [(sum(theirs[a:b], []), sum(ours[c:d], []))]
        for their, our in pairs:
            text = "\n".join(our + their)
            if their == our:
                # Where both have made it anew, it is the same again.
                refused -= set(CREATED.findall(text))
                continue
            name = kind(our, their)
            if name == "refused":
                refused |= set(MADE.findall(text)) or {""}
            elif name in ("other", "order", "text") and any(re.search(rf"\b{re.escape(table)}\b", text) for table in refused):
                name = "refused"
                refused |= set(MADE.findall(text))
            found[name] += [*difflib.unified_diff(their, our, "InnoDB", "Sluice", lineterm="", n=30), ""]
    return found


def read_kept():
    kept = {}
    for line in KEPT.read_text().splitlines() if KEPT.exists() else []:
        if line and not line.startswith("#"):
            head, _, reason = line.partition(": ")
            test, *kinds = head.split()
            kept[test] = (set(kinds), reason)
    return kept


class Report:
    def __init__(self, tests, found, failed, missing):
        self.tests = tests
        self.found = found      # kinds by test, where there are any
        self.failed = failed    # with Sluice only
        self.missing = missing  # tests that gave no answer with InnoDB

    def judge(self, accept, complete):
        """Compares with what is kept; what the command returns."""
        kept = read_kept()
        wrong = []
        for test in sorted(self.failed):
            if "failed" not in kept.get(test, ((), ""))[0]:
                wrong.append(f"{test}: failed")
        for test, kinds in self.found.items():
            allowed = kept.get(test, (set(), ""))[0]
            if "other" not in allowed and (new := set(kinds) - allowed):
                wrong.append(f"{test}: {' '.join(sorted(new))}")
        compared = [test for test in self.tests if test not in self.missing and test not in self.failed]
        print(f"{len(compared)} tests, of which {sum(test not in self.found for test in compared)} have the same answers")
        for name, count in collections.Counter(name for kinds in self.found.values() for name in kinds).most_common():
            print(f"  {name} differs in {count}")
        if complete:
            for test in sorted(set(kept) - set(self.found) - self.failed):
                print(f"{test} differs no longer: take it from {KEPT.name}")
        if accept:
            names = sorted((set(self.found) | self.failed | (set() if complete else set(kept))))
            lines = []
            for test in names:
                kinds, reason = kept.get(test, (set(), ""))
                if test in self.found or test in self.failed:
                    # What was accepted before may be back with other timing.
                    kinds = kinds | set(self.found.get(test, {})) | ({"failed"} if test in self.failed else set())
                    if not {"other", "failed"} & kinds:
                        differ = "\n".join(line for line in self.found.get(test, {}).get("refused", []) if line[:1] in ("+", "-"))
                        reason = "; ".join(name for name, pattern in REFUSALS.items() if re.search(pattern, differ))
                lines.append(f"{test} {' '.join(sorted(kinds))}{f': {reason}' if reason else ''}\n")
            head = [line + "\n" for line in KEPT.read_text().splitlines() if line.startswith("#")] if KEPT.exists() else []
            KEPT.write_text("".join(head + lines))
            return 0
        if wrong:
            return "\n".join(["not as " + KEPT.name + " says:", *wrong])
        return 0 if compared else "no test has an answer"


def compare(tests, results, failed, out):
    """What differs, with Sluice's answers as `results["SLUICE"]`; the differences are written into `out`."""
    found, missing, only_ours = {}, set(), set()
    out.mkdir(parents=True)
    for test in tests:
        if test not in results["InnoDB"]:
            missing.add(test)
        elif test not in results["SLUICE"]:
            only_ours.add(test)
        elif kinds := differences(results["SLUICE"][test], results["InnoDB"][test]):
            found[test] = kinds
            (out / f"{test}.diff").write_text("".join(f"== {name}\n" + "\n".join(lines) + "\n" for name, lines in sorted(kinds.items())))
    return Report(tests, found, only_ours | (failed["SLUICE"] - failed["InnoDB"] - missing), missing)
