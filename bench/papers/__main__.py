"""Measures the figures of FCAE (ICDE'20) and FAST'20, each beside what the paper has.

What was measured is kept in --out, beside report.html, which has all of it. With --page, it becomes a page in Markdown,
too, with a directory of pictures. A figure takes from seconds (those of the unit alone) to a quarter of an hour with
--data 0.4; the papers' own sizes take --data 128 and days."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

import fast20
import fcae
import page
from figure import Figure, Measured, load, save
from runs import Bench

FIGURES = {figure.name: figure for figure in (*fcae.FIGURES, *fast20.FIGURES)}
ROOT = Path(__file__).resolve().parent.parent.parent


def measure(figure: Figure, bench: Bench, out: Path) -> None:
    rows = []
    for row in figure.measure(bench):
        rows.append(row)
        values = ", ".join(f"{name} {page.text(value)}" for name, value in row.values.items())
        print(f"{figure.name}: {figure.x} {row.x}, {row.series}: {values}", file=sys.stderr)
    if rows:
        save(Measured(figure, bench.data_gb, rows), out)
    else:
        print(f"{figure.name}: nothing to measure with so little data", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python3 bench/papers", description=__doc__)
    parser.add_argument(
        "figures", nargs="*", metavar="FIGURE", help="what to measure, or what its name begins with; by default all"
    )
    parser.add_argument("--list", action="store_true", help="list the figures")
    parser.add_argument("--data", type=float, default=0.4, metavar="GB", help="of data in a database, at most (0.4)")
    parser.add_argument("--db", type=Path, default=Path(tempfile.gettempdir()), metavar="DIR", help="for databases")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", metavar="DIR", help="where `sluice` is")
    parser.add_argument("--out", type=Path, default=ROOT / "build/papers", metavar="DIR", help="for what is measured")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write this page in Markdown, of all that --out has")
    arguments = parser.parse_args()
    if arguments.list:
        for figure in FIGURES.values():
            print(f"{figure.name:18} {figure.title}")
        return
    for prefix in arguments.figures:
        if not any(name.startswith(prefix) for name in FIGURES):
            parser.error(f"there is no figure {prefix}; --list lists them")
    if shutil.which("gnuplot") is None:
        parser.error("gnuplot is missing: apt-get install gnuplot-nox, or make deps")
    if not (arguments.build / "sluice").exists():
        parser.error(f"there is no {arguments.build / 'sluice'}: make build")

    bench = Bench(arguments.build, arguments.db, arguments.data)
    for name, figure in FIGURES.items():
        if not arguments.figures or name.startswith(tuple(arguments.figures)):
            measure(figure, bench, arguments.out)

    found = [load(figure, arguments.out) for figure in FIGURES.values()]
    all_measured = [measured for measured in found if measured is not None]
    pictures = {measured.figure.name: page.plot(measured) for measured in all_measured}
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "report.html").write_text(page.report(all_measured, pictures))
    print(arguments.out / "report.html")
    if arguments.page is not None:
        directory = arguments.page.with_suffix("")
        directory.mkdir(exist_ok=True)
        for name, picture in pictures.items():
            (directory / f"{name}.svg").write_text(picture)
        arguments.page.write_text(page.markdown(all_measured, directory.name))


if __name__ == "__main__":
    main()
