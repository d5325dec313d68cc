"""The pages of made-up measurements, and some figures that are really measured: with a server where there is one."""

from __future__ import annotations

import html
import html.parser
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path
from typing import Any

import page
import sql
import xengine
from figure import Figure, Measured, Row, load, save

HERE = Path(__file__).resolve().parent
PLUGIN = Path(os.environ.get("SLUICE_PLUGIN", sql.ROOT / "build/sql/plugin/mariadb/ha_sluice.so"))
BUILD = Path(sys.argv.pop(1))
CHROMIUM = shutil.which("chromium")


def figure(name: str, x: str = "value, bytes", y: str = "MB/s", **others: Any) -> Figure:
    differs = ("Theirs is a card ([grid.md](grid.md)).",)
    return Figure(name, "It's <bold> & more", x, y, measure=lambda bench: [], differs=differs, **others)


ONE = Measured(
    figure("one", log_x=True, paper_says="It grows."),
    0.4,
    [Row("a", 64, {"MB/s": 10}, 1.5), Row("a", 128, {"MB/s": 2345.6}, 2.5), Row("b's", 64, {"MB/s": 7})],
)
SEVERAL = Measured(
    figure("several", x="host's workload", y="host's op/s"),
    0.1,
    [
        Row("a", "load", {"host's op/s": 1, "us": 0.25}), Row("b", "load", {"host's op/s": 3}),
        Row("a", "ycsba", {"host's op/s": 5, "us": 1}),
    ],
)


class Outline(html.parser.HTMLParser):
    """Elements that have an end must be closed in turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> within {self.open}"
        self.open.pop()


class Pages(unittest.TestCase):
    def test_one_quantity_has_a_column_for_each_series(self) -> None:
        columns, rows = page.table(ONE)
        self.assertEqual(columns, ["value, bytes", "a, MB/s", "theirs", "b's, MB/s"])
        self.assertEqual(rows, [["64", "10", "1.5", "7"], ["128", "2346", "2.5", ""]])

    def test_several_quantities_have_a_row_for_each_series(self) -> None:
        columns, rows = page.table(SEVERAL)
        self.assertEqual(columns, ["host's workload", "", "host's op/s", "us"])
        self.assertEqual(rows, [["load", "a", "1", "0.25"], ["load", "b", "3", ""], ["ycsba", "a", "5", "1"]])

    def test_pictures(self) -> None:
        for measured, texts in ((ONE, ("a", "a, theirs", "b's")), (SEVERAL, ("a", "b", "load", "ycsba"))):
            root = xml.etree.ElementTree.fromstring(page.plot(measured))
            drawn = " ".join(root.itertext())
            for text in (measured.figure.title, measured.figure.x, measured.figure.y, *texts):
                self.assertIn(text, drawn)

    def test_report(self) -> None:
        pictures = {measured.figure.name: page.plot(measured) for measured in (ONE, SEVERAL)}
        text = page.report([ONE, SEVERAL], pictures)
        outline = Outline()
        outline.feed(text)
        self.assertEqual(outline.open, [])
        self.assertEqual(outline.seen.count("svg"), 2)
        self.assertEqual(outline.seen.count("table"), 2)
        self.assertIn("It&#x27;s &lt;bold&gt; &amp; more", text)
        self.assertIn("Theirs is a card (docs/grid.md).", text)

    @unittest.skipIf(CHROMIUM is None, "no browser: apt-get install chromium")
    def test_a_browser_shows_the_report(self) -> None:
        pictures = {measured.figure.name: page.plot(measured) for measured in (ONE, SEVERAL)}
        # What it has laid out: the sizes of pictures and tables, and where links within the page lead.
        look = """
            const sizes = name => [...document.querySelectorAll(name)].map(e => e.getBoundingClientRect())
              .map(r => [Math.round(r.width), Math.round(r.height)]);
            const lost = [...document.querySelectorAll('a')].filter(a => !document.querySelector(a.hash));
            document.title = JSON.stringify([sizes('svg'), sizes('table'), lost.length]);"""
        with tempfile.TemporaryDirectory() as directory:
            report = Path(directory) / "report.html"
            report.write_text(page.report([ONE, SEVERAL], pictures) + f"<script>{look}</script>")
            shown = subprocess.run(
                [
                    str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1000,800",
                    f"--user-data-dir={directory}/profile", "--dump-dom", report.as_uri(),
                ],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True,
            ).stdout  # fmt: skip
        title = html.unescape(shown[shown.index("<title>") + len("<title>") : shown.index("</title>")])
        pictures_sizes, tables, lost = json.loads(title)
        self.assertEqual(len(pictures_sizes), 2)
        for width, height in pictures_sizes:
            self.assertTrue(600 < width < 1000 and 300 < height < 700, pictures_sizes)
        self.assertEqual([len(tables), lost], [2, 0])
        self.assertTrue(all(width > 100 and height > 50 for width, height in tables), tables)

    def test_markdown(self) -> None:
        text = page.markdown([ONE, SEVERAL], "papers")
        self.assertIn("(papers/several.svg)", text)
        self.assertIn("The paper: It grows.", text)
        self.assertIn("python3 bench/papers one --data 0.4", text)

    def test_what_is_kept_is_found(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            save(ONE, Path(directory))
            self.assertEqual(load(ONE.figure, Path(directory)), ONE)
            self.assertIsNone(load(SEVERAL.figure, Path(directory)))


REPORT = """\
SQL statistics:
    queries performed:
        read:                            40
        total:                           60
    transactions:                        20     (9.97 per sec.)
    queries:                             60     (29.91 per sec.)
    ignored errors:                      3      (1.50 per sec.)

Latency (ms):
         min:                                    0.05
         avg:                                    0.10
         max:                                    7.91
         95th percentile:                        0.24
"""


class Servers(unittest.TestCase):
    def test_report_of_sysbench(self) -> None:
        self.assertEqual(sql.parse(REPORT), sql.Run(29.91, 0.10, 0.24, 1.5))
        seconds = "".join(f"[ {i}s ] thds: 3 tps: 7.00 qps: {30 - i}.50 (r/w/o: 1/2/3) lat (ms,95%): 0.2\n" for i in (1, 2))
        self.assertEqual(sql.parse(seconds + REPORT).slowest, 28.5)
        with self.assertRaises(ValueError):
            sql.parse("FATAL: error 2002")

    def test_ratios_are_of_runs_that_followed_each_other(self) -> None:
        def runs(*statements: float) -> list[sql.Run]:
            return [sql.Run(number, 1, 2, 0) for number in statements]

        # The machine was slower from round to round.
        measured = {"Sluice": runs(300, 200, 90), "InnoDB": runs(200, 100, 60), "MyRocks": runs(100, 125, 30)}
        self.assertEqual(sql.ratio(measured, "Sluice", ("InnoDB",)), 1.5)
        self.assertEqual(sql.ratio(measured, "Sluice", ("InnoDB", "MyRocks")), 1.5)
        self.assertEqual(sql.ratio(measured, "InnoDB", ("MyRocks",)), 2)
        self.assertEqual(sql.median(measured["Sluice"]), sql.Run(200, 1, 2, 0))

    def test_rows(self) -> None:
        measured = {system.name: [sql.Run(1000, 1, 2, 0, 30)] for system in sql.ENGINES}
        rows = list(xengine.rows(measured, 64))
        self.assertEqual([row.series for row in rows], ["Sluice", "InnoDB", "MyRocks", "BLACKHOLE"])
        self.assertEqual(rows[0].values["1000 statements/s"], 1)
        self.assertEqual(rows[0].values["to the better of both"], 1)
        self.assertNotIn("retries/s", rows[0].values)

    def test_look_ups_of_a_window(self) -> None:
        before, after = {"hit": 1000, "miss": 100, "Questions": 50}, {"hit": 1080, "miss": 120, "Questions": 90}

        def window(engine: str) -> sql.Window:
            names = ("Questions", *sql.CACHES[engine])
            first, last = (dict(zip(names, (end["Questions"], end["hit"], end["miss"]))) for end in (before, after))
            last[sql.CARD] = 500_000
            return sql.window(engine, first, last, cpu_seconds=3, seconds=2)

        self.assertEqual(window("SLUICE"), sql.Window(20, 0.8, 1.25))
        self.assertEqual(window("ROCKSDB"), sql.Window(20, 0.8, 1.25))
        self.assertEqual(window("InnoDB"), sql.Window(20, 0.75, 1.25))

    def test_rows_tell_host_and_card_apart(self) -> None:
        cpu = [sql.Run(1000, 1, 2, 0, cpu_us=30, compaction_us=4, merged_mb=9, slowest=700)]
        card = [sql.Run(800, 1, 2, 0, cpu_us=27, card_us=8, compaction_us=1, merged_mb=8, slowest=750)]
        rows = list(xengine.card_rows({"Sluice, CPU": cpu, "Sluice, card": card}, "insert"))
        self.assertEqual([row.series for row in rows], ["Sluice, CPU", "Sluice, card"])
        self.assertEqual(list(rows[0].values.values()), [1, 0.7, 30, 4, 0, 9])
        self.assertEqual(list(rows[1].values.values()), [0.8, 0.75, 27, 1, 8, 8, 0.8])


class Command(unittest.TestCase):
    def run_papers(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-B", str(HERE), "--build", str(BUILD), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True)

    def test_measures(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            out = Path(directory)
            figures = ("fcae-figure-10", "fcae-figure-15c", "fast20-figure-10", "fast20-figure-12")
            done = self.run_papers(*figures, "--data", 0.004, "--db", out, "--out", out, "--page", out / "p.md")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("fcae-figure-10: nothing to measure with so little data", done.stderr)
            rows = json.loads((out / "fcae-figure-15c.json").read_text())["rows"]
            self.assertEqual([row["x"] for row in rows], [x for x in (2, 16, 128, 1024) for _ in range(3)])
            self.assertTrue(all(row["values"]["MB/s"] > 0 for row in rows))
            rows = json.loads((out / "fast20-figure-10.json").read_text())["rows"]
            self.assertEqual([row["series"] for row in rows], ["CPU, one thread", "card"] * 7)
            self.assertEqual([row["values"]["card's model, us/record"] > 0 for row in rows], [False, True] * 7)
            rows = json.loads((out / "fast20-figure-12.json").read_text())["rows"]
            self.assertEqual([row["series"] for row in rows], ["1 thread", "2 threads", "card"])
            self.assertTrue((out / "report.html").exists())
            self.assertIn("p/fast20-figure-12.svg", (out / "p.md").read_text())
            self.assertTrue((out / "p" / "fast20-figure-12.svg").exists())
            self.assertEqual([path.name for path in out.iterdir() if "sluice-papers" in path.name], [])

    @unittest.skipUnless(PLUGIN.exists() and (sql.FETCHED / "usr/lib/mysql/plugin/ha_spider.so").exists(), "no server")
    def test_measures_servers(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            out = Path(directory)
            figures = (
                "xengine-figure-12-insert-binlog", "xengine-figure-15", "xengine-figure-17", "xengine-figure-19",
                "xengine-sysbench", "xengine-insert-benchmark",
            )  # fmt: skip
            done = self.run_papers(*figures, "--data", 0.002, "--connections", "1,3", "--seconds", 1, "--db", out,
                                   "--out", out)  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)
            rows = json.loads((out / "xengine-figure-12-insert-binlog.json").read_text())["rows"]
            self.assertEqual([row["x"] for row in rows], [1] * 4 + [3] * 4)
            on_card = json.loads((out / "xengine-figure-15.json").read_text())["rows"]
            self.assertEqual([(row["x"], row["series"]) for row in on_card],
                             [(x, name) for x in ("insert", "update") for name in ("Sluice, CPU", "Sluice, card")])  # fmt: skip
            self.assertEqual({row["values"]["card's model, us/statement"] for row in on_card[::2]}, {0})
            over_time = json.loads((out / "xengine-figure-17.json").read_text())["rows"]
            self.assertEqual([(row["series"], row["x"]) for row in over_time],
                             [(name, x) for name in ("Sluice", "InnoDB", "MyRocks") for x in range(2, 21)])  # fmt: skip
            self.assertTrue(all(0 < row["values"]["found in the cache, %"] <= 100 for row in over_time))
            cores = json.loads((out / "xengine-figure-19.json").read_text())["rows"]
            self.assertEqual([(row["series"], row["x"]) for row in cores],
                             [(name, x) for name in ("Sluice, CPU", "Sluice, card") for x in range(2, 21)])  # fmt: skip
            self.assertTrue(all(0 < row["values"]["host's cores"] < 8 for row in cores))
            rows += over_time + cores + on_card + json.loads((out / "xengine-sysbench.json").read_text())["rows"]
            self.assertTrue(all(row["values"]["1000 statements/s"] > 0 for row in rows))
            inserts = json.loads((out / "xengine-insert-benchmark.json").read_text())["rows"]
            self.assertEqual({(row["series"], row["x"]) for row in inserts},
                             {(system.name, x / 1000) for system in xengine.INSERTERS for x in range(1, 21)})  # fmt: skip
            self.assertTrue(all(row["values"]["1000 rows/s"] > 0 for row in inserts))
            sizes = {row["series"]: row["values"]["bytes/row"] for row in inserts[-len(xengine.INSERTERS) :]}
            self.assertGreater(sizes["InnoDB"], 0)
            self.assertEqual([path.name for path in out.iterdir() if "sluice-sql" in path.name], [])

    def test_says_what_is_wrong(self) -> None:
        done = self.run_papers("no-such-figure")
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no figure no-such-figure; --list lists them", done.stderr)
        done = self.run_papers("fcae-table-5", "--build", "nowhere")
        self.assertEqual(done.returncode, 2)
        self.assertIn("make build", done.stderr)


if __name__ == "__main__":
    unittest.main()
