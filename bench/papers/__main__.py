"""Measures the figures of FCAE (ICDE'20), FAST'20 and X-Engine (SIGMOD'19), each beside what the paper has.

What was measured is kept in --out, beside report.html, which has all of it. With --page, it becomes a page in Markdown,
too, with a directory of pictures. A figure takes from seconds (those of the unit alone) to a quarter of an hour with
--data 0.4; the papers' own sizes take --data 128 and days. X-Engine's need what `make mariadb` builds."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import fast20
import fcae
import page
import xengine
from figure import Figure, Measured, load, save
from runs import Bench

SQL = {figure.name: figure for figure in xengine.FIGURES}
FIGURES = {**{figure.name: figure for figure in (*fcae.FIGURES, *fast20.FIGURES)}, **SQL}
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


def counts(text: str) -> tuple[int, ...]:
    return tuple(int(count) for count in text.split(","))


def prepare_sql(parser: argparse.ArgumentParser) -> None:
    plugin = os.environ.get("SLUICE_PLUGIN", str(ROOT / "build/sql/plugin/mariadb/ha_sluice.so"))
    if not Path(plugin).exists():
        parser.error(f"there is no {plugin}: make mariadb")
    subprocess.run([str(ROOT / "plugin/mariadb/fetch"), "benchmark"], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python3 bench/papers", description=__doc__)
    parser.add_argument(
        "figures",
        nargs="*",
        metavar="FIGURE",
        help="what to measure, or what its name begins with; by default all but X-Engine's",
    )
    parser.add_argument("--list", action="store_true", help="list the figures")
    parser.add_argument("--data", type=float, default=0.4, metavar="GB", help="of data in a database, at most (0.4)")
    parser.add_argument("--db", type=Path, default=Path(tempfile.gettempdir()), metavar="DIR", help="for databases")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", metavar="DIR", help="where `sluice` is")
    parser.add_argument(
        "--connections", type=counts, default=(1, 16, 64, 256), metavar="N,...", help="to servers (1,16,64,256)"
    )
    parser.add_argument("--seconds", type=int, default=3, help="of each run against a server (3)")
    parser.add_argument(
        "--server", action="append", default=[], metavar="OPTION", help="of servers: thread-handling=pool-of-threads"
    )
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
    prefixes = tuple(arguments.figures)
    wanted = [name for name in FIGURES if (name.startswith(prefixes) if prefixes else name not in SQL)]
    if any(name not in SQL for name in wanted) and not (arguments.build / "sluice").exists():
        parser.error(f"there is no {arguments.build / 'sluice'}: make build")
    if any(name in SQL for name in wanted):
        prepare_sql(parser)

    bench = Bench(
        arguments.build,
        arguments.db,
        arguments.data,
        arguments.connections,
        arguments.seconds,
        tuple(arguments.server),
    )
    with contextlib.closing(bench):
        for name in wanted:
            measure(FIGURES[name], bench, arguments.out)

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
