"""The pages of made-up measurements, and one figure that is really measured."""

from __future__ import annotations

import html.parser
import json
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

import page
from figure import Figure, Measured, Row, load, save

HERE = Path(__file__).resolve().parent
BUILD = Path(sys.argv.pop(1))


def figure(name: str, **changes: object) -> Figure:
    settings = {"title": "It's <bold> & more", "x": "value, bytes", "y": "MB/s", "differs": ("Theirs is a card.",)}
    return Figure(name=name, measure=lambda bench: [], **{**settings, **changes})


ONE = Measured(
    figure("one", log_x=True, paper_says="It grows."),
    0.4,
    [Row("a", 64, {"MB/s": 10}, 1.5), Row("a", 128, {"MB/s": 2345.6}, 2.5), Row("b's", 64, {"MB/s": 7})],
)
SEVERAL = Measured(
    figure("several", x="workload", y="op/s"),
    0.1,
    [Row("a", "load", {"op/s": 1, "us": 0.25}), Row("b", "load", {"op/s": 3}), Row("a", "ycsba", {"op/s": 5, "us": 1})],
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
        self.assertEqual(columns, ["workload", "", "op/s", "us"])
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


class Command(unittest.TestCase):
    def run_papers(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-B", str(HERE), "--build", str(BUILD), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True)

    def test_measures(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            out = Path(directory)
            figures = ("fcae-figure-10", "fcae-figure-15c", "fast20-figure-12")
            done = self.run_papers(*figures, "--data", 0.004, "--db", out, "--out", out, "--page", out / "p.md")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("fcae-figure-10: nothing to measure with so little data", done.stderr)
            rows = json.loads((out / "fcae-figure-15c.json").read_text())["rows"]
            self.assertEqual([row["x"] for row in rows], [x for x in (2, 16, 128, 1024) for _ in range(3)])
            self.assertTrue(all(row["values"]["MB/s"] > 0 for row in rows))
            rows = json.loads((out / "fast20-figure-12.json").read_text())["rows"]
            self.assertEqual([row["series"] for row in rows], ["1 thread", "2 threads", "card"])
            self.assertTrue((out / "report.html").exists())
            self.assertIn("p/fast20-figure-12.svg", (out / "p.md").read_text())
            self.assertTrue((out / "p" / "fast20-figure-12.svg").exists())
            self.assertEqual([path.name for path in out.iterdir() if "sluice-papers" in path.name], [])

    def test_says_what_is_wrong(self) -> None:
        done = self.run_papers("no-such-figure")
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no figure no-such-figure; --list lists them", done.stderr)
        done = self.run_papers("fcae-table-5", "--build", "nowhere")
        self.assertEqual(done.returncode, 2)
        self.assertIn("make build", done.stderr)


if __name__ == "__main__":
    unittest.main()
