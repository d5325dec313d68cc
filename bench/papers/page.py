"""The figures as pictures, as a page of docs/ and as one file of HTML."""

from __future__ import annotations

import html
import re
import subprocess
import textwrap

from figure import Figure, Measured, Row

HEAD = """\
The evaluations of FCAE (ICDE'20), FAST'20 and, under SQL, X-Engine (SIGMOD'19), as far as two cores and a modelled card
carry them. Theirs are what the papers print; where they only plot, their words are given. What is comparable are
factors and shapes, not absolute numbers: each figure says what differs.

Cards are modelled: their merges cost CPU time that a card would not take ("card's model"), so throughput with a card
is a lower bound where these cores are short, and what counts is the host's CPU.
"""

ELSEWHERE = """\
X-Engine's Figures 10, 11, 16 and 18 are in [benchmarks.md](benchmarks.md), the thesis's Table 4.1 in
[grid.md](grid.md), resources (FCAE's Table VII, FAST'20's Table 2) in [synthesis.md](synthesis.md).
"""


def text(number: float) -> str:
    return f"{number:.3g}" if number < 1000 else f"{number:.0f}"


def table(measured: Measured) -> tuple[list[str], list[list[str]]]:
    """The names of the columns, and rows in the order of the x axis: one for each place on it if one
    thing was measured, else one for each series there."""
    figure = measured.figure
    names = list(dict.fromkeys(name for row in measured.rows for name in row.values))
    series = list(dict.fromkeys(row.series for row in measured.rows))
    at: dict[float | str, dict[str, Row]] = {}
    for row in measured.rows:
        at.setdefault(row.x, {})[row.series] = row
    if len(names) == 1:
        columns = [figure.x]
        lines = [[str(x)] for x in at]
        for name in series:
            printed = any(name in rows and rows[name].theirs is not None for rows in at.values())
            columns += [f"{name}, {names[0]}", *(["theirs"] if printed else [])]
            for line, rows in zip(lines, at.values()):
                here = rows.get(name)
                line.append("" if here is None else text(here.values[names[0]]))
                if printed:
                    line.append("" if here is None or here.theirs is None else text(here.theirs))
        return columns, lines
    printed = any(row.theirs is not None for row in measured.rows)
    columns = [figure.x, "", *names, *([f"theirs, {figure.y}"] if printed else [])]
    lines = []
    for x, rows in at.items():
        for row in rows.values():
            values = [text(row.values[name]) if name in row.values else "" for name in names]
            theirs = ["" if row.theirs is None else text(row.theirs)] if printed else []
            lines.append([str(x), row.series, *values, *theirs])
    return columns, lines


def _quoted(text: str) -> str:
    """As gnuplot has it."""
    return "'" + text.replace("'", "''") + "'"


def plot(measured: Measured) -> str:
    """A picture, as SVG: curves over numbers, groups of bars over names; what the paper prints is dashed."""
    figure = measured.figure
    series = list(dict.fromkeys(row.series for row in measured.rows))
    places = list(dict.fromkeys(row.x for row in measured.rows))
    numeric = all(not isinstance(x, str) for x in places)
    data: list[str] = []
    commands: list[str] = []
    for number, name in enumerate(series, 1):
        ours = [(row.x, row.values[figure.y]) for row in measured.rows if row.series == name]
        theirs = [(row.x, row.theirs) for row in measured.rows if row.series == name and row.theirs is not None]
        for points, what, style in ((ours, "", "lw 2"), (theirs, ", theirs", "dt 2")):
            if not points:
                continue
            title = f"title {_quoted(name + what)}"
            if numeric:
                commands.append(f"'-' using 1:2 with linespoints lc {number} {style} {title}")
                data += [f"{x} {y}" for x, y in points]
            elif what == "":
                commands.append(f"'-' using 2:xtic(1) with histogram lc {number} {title}")
                data += [f'"{x}" {y}' for x, y in points]
            else:
                continue
            data.append("e")
    script = [
        "set terminal svg size 760,420 noenhanced font 'sans,12' background 'white'",
        f"set title {_quoted(figure.title)}",
        f"set xlabel {_quoted(figure.x)}",
        f"set ylabel {_quoted(figure.y)}",
        "set key outside below",
        "set style data histogram",
        "set style histogram clustered",
        "set style fill solid 0.8 border -1",
        "set yrange [0:*]",
        *(["set logscale x 2"] if numeric and figure.log_x else []),
        "plot " + ", ".join(commands),
        *data,
    ]
    drawn = subprocess.run(["gnuplot"], input="\n".join(script), stdout=subprocess.PIPE, text=True, check=True).stdout
    return "\n".join(line.rstrip() for line in drawn.splitlines()) + "\n"


def command(figure: Figure, data_gb: float) -> str:
    return f"python3 bench/papers {figure.name} --data {data_gb:g}"


def wrap(paragraph: str, indent: str = "") -> str:
    return textwrap.fill(
        paragraph, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def markdown(all_measured: list[Measured], pictures: str) -> str:
    """`pictures`: their directory, seen from the page."""
    parts = ["# The papers' evaluations\n", HEAD, ELSEWHERE]
    for measured in all_measured:
        figure = measured.figure
        columns, rows = table(measured)
        parts.append(f"## {figure.title}\n")
        parts.append(f"![{figure.title}]({pictures}/{figure.name}.svg)\n")
        lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
        lines += [f"| {' | '.join(row)} |" for row in rows]
        parts.append("\n".join(lines) + "\n")
        if figure.paper_says:
            parts.append(wrap(f"The paper: {figure.paper_says}") + "\n")
        parts.append("\n".join(wrap(f"- {sentence}", "  ") for sentence in figure.differs) + "\n")
        parts.append(f"```\n{command(figure, measured.data_gb)}\n```\n")
    return "\n".join(parts)


STYLE = """\
body { font: 15px/1.5 sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse; margin: 1em 0 } td, th { padding: .2em .8em; border-bottom: 1px solid #ddd }
td { text-align: right } td.name { text-align: left } svg { max-width: 100%; height: auto }
pre { background: #f4f4f4; padding: .6em }
"""


def report(all_measured: list[Measured], pictures: dict[str, str]) -> str:
    """One file, with the pictures of figures by their names."""

    def cells(tag: str, row: list[str]) -> str:
        kinds = [' class="name"' if tag == "td" and re.search("[a-zA-Z]", cell) else "" for cell in row]
        return "<tr>" + "".join(f"<{tag}{kind}>{html.escape(cell)}</{tag}>" for cell, kind in zip(row, kinds)) + "</tr>"

    def prose(sentence: str) -> str:
        """Links lead to pages of docs/, which the file may be far from."""
        return re.sub(r"\[[^]]*\]\(([^)]*)\)", r"docs/\1", html.escape(sentence))

    parts = [
        '<!DOCTYPE html><html lang="en"><meta charset="utf-8">',
        f"<title>The papers' evaluations</title><style>{STYLE}</style><h1>The papers' evaluations</h1>",
        *(f"<p>{html.escape(paragraph)}</p>" for paragraph in HEAD.split("\n\n")),
    ]
    parts += ["<ul>", *(f'<li><a href="#{m.figure.name}">{html.escape(m.figure.title)}</a></li>' for m in all_measured)]
    parts.append("</ul>")
    for measured in all_measured:
        figure = measured.figure
        columns, rows = table(measured)
        svg = pictures[figure.name]
        parts.append(f'<h2 id="{figure.name}">{html.escape(figure.title)}</h2>')
        parts.append(svg[svg.index("<svg") :])
        parts += ["<table>", cells("th", columns), *(cells("td", row) for row in rows), "</table>"]
        if figure.paper_says:
            parts.append(f"<p>The paper: {prose(figure.paper_says)}</p>")
        parts += ["<ul>", *(f"<li>{prose(sentence)}</li>" for sentence in figure.differs), "</ul>"]
        parts.append(f"<pre>{html.escape(command(figure, measured.data_gb))}</pre>")
    return "\n".join(parts) + "</html>\n"
