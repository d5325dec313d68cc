#!/usr/bin/env python3
"""Adds up the functional coverage that tests have left and prints it as a Markdown table.

usage: report.py DIRECTORY   (of .dat files, which Verilator writes)

A point is named after its module's instance and the one that holds it: hits are added up over tests,
configurations, ways and levels of the tree. Fails if a point has no hit, unless impossible.txt says
why it cannot have one; and if a point that it names has one.
"""

import collections
import pathlib
import re
import sys

IMPOSSIBLE = pathlib.Path(__file__).resolve().parent / "impossible.txt"
# A record: pairs of a key and a value in quotes, and a count.
RECORD = re.compile("^C '(.*)' (\\d+)$")
FIELD = re.compile("\x01([^\x02]*)\x02([^\x01]*)")


def name(hierarchy):
    """Of a point: the last two instances, what of them is covered, the cover property."""
    # As in the source; a name that C++ cannot have is escaped.
    for escape, text in (("__DOT__", "."), ("__BRA__", "["), ("__KET__", "]")):
        hierarchy = hierarchy.replace(escape, text)
    top, *parts = hierarchy.split(".")[1:]
    if top.startswith("cu_"):  # else it is a bench or the unit, which holds each module once
        parts.insert(0, "u_" + top.removeprefix("cu_"))
    label = parts.pop()
    cover = next((i for i, part in enumerate(parts) if part.startswith("u_cover")), len(parts))
    inside = [re.search(r"\[(\d+)\]", part) for part in parts[cover + 1:]]
    stream = [part.removeprefix("u_cover_") for part in parts[cover:cover + 1] if part != "u_cover"]
    instances = [part for part in parts[:cover] if not part.startswith("g_")]
    what = [label.removeprefix("c_"), *(index[1] for index in inside if index)]
    return " ".join([".".join(instances[-2:]), *stream, *what])


def read_hits(directory):
    hits = collections.Counter()
    for path in directory.glob("*.dat"):
        for line in path.read_text(encoding="utf-8").splitlines():
            record = RECORD.match(line)
            fields = dict(FIELD.findall(record[1])) if record else {}
            if fields.get("page", "").startswith("v_user"):
                hits[name(fields["h"])] += int(record[2])
    return hits


def read_impossible():
    """[(pattern of points, reason)]: a line each, the two parted by `: `; # starts a comment."""
    lines = IMPOSSIBLE.read_text(encoding="utf-8").splitlines()
    pairs = [line.split(": ", 1) for line in lines if line and not line.startswith("#")]
    return [(re.compile(pattern), reason) for pattern, reason in pairs]


def main():
    hits = read_hits(pathlib.Path(sys.argv[1]))
    if not hits:
        sys.exit(f"no coverage in {sys.argv[1]}")
    impossible = read_impossible()
    open_points, wrong, excused = [], [], 0
    print("| point | hits |\n|---|---|")
    for point, count in sorted(hits.items()):
        reason = next((why for pattern, why in impossible if pattern.fullmatch(point)), None)
        print(f"| {point} | {count or reason or '**none**'} |")
        excused += reason is not None
        if count == 0 and reason is None:
            open_points.append(point)
        if count != 0 and reason is not None:
            wrong.append(point)
    for point in wrong:
        print(f"{point}: said to be impossible, but hit", file=sys.stderr)
    for point in open_points:
        print(f"{point}: never hit", file=sys.stderr)
    print(f"{len(hits)} points, {excused} impossible, {len(open_points)} open")
    sys.exit(1 if open_points or wrong else 0)


if __name__ == "__main__":
    main()
