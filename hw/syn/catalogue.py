#!/usr/bin/env python3
"""Fills in the LUT column of the catalogue of modules in docs/hardware.md.

usage: catalogue.py [-j JOBS] [MODULE ...]   all modules, or some
       catalogue.py --check                  that every module has a row, and that a row names its
                                             module's parameters

A row's parameters are those that its module is synthesised with. Stages of the unit are synthesised
as its parts, other modules alone.
"""

import argparse
import collections
import dataclasses
import pathlib
import re
import sys

import flow
import synth

PAGE = flow.ROOT / "docs/hardware.md"
ROW = re.compile(r"^\| `(\w+)` \| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$", re.MULTILINE)
PARAMETER = re.compile(r"^  parameter int unsigned (\w+)", re.MULTILINE)
TOPS = ("sluice_unit", "sluice_card")


@dataclasses.dataclass
class Row:
    about: str
    parameters: dict
    latency: str
    luts: str


def rows():
    """The catalogue: {module: row}."""
    found = {}
    for module, about, parameters, latency, luts in ROW.findall(PAGE.read_text(encoding="utf-8")):
        pairs = re.findall(r"(\w+) (\d+)", parameters)
        found[module] = Row(about, {name: int(value) for name, value in pairs}, latency, luts)
    return found


def complaints():
    """What the catalogue lacks or has wrong."""
    files = {f.stem: f for f in (flow.ROOT / "hw/rtl").rglob("*.sv") if not f.stem.endswith("_pkg")}
    catalogue = rows()
    for module in sorted(files.keys() ^ catalogue.keys()):
        where = "no module of hw/rtl" if module in catalogue else "not in the catalogue"
        yield f"docs/hardware.md: {module} is {where}"
    for module in sorted(files.keys() & catalogue.keys()):
        row = catalogue[module]
        text = files[module].read_text(encoding="utf-8")
        if list(row.parameters) != PARAMETER.findall(text):
            yield f"docs/hardware.md: {module} has parameters {PARAMETER.findall(text)}"
        if not (row.about and row.latency and re.fullmatch(r"\d+", row.luts)):
            yield f"docs/hardware.md: the row of {module} is not complete"


def luts(places):
    cells = sum((collections.Counter(cells) for _, _, cells in places), collections.Counter())
    return synth.amounts(cells)[0]


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\nA row")[0])
    parser.add_argument("-j", type=int, default=1)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("modules", nargs="*")
    arguments = parser.parse_args()
    if arguments.check:
        found = list(complaints())
        print("\n".join(found), file=sys.stderr)
        sys.exit(1 if found else 0)
    catalogue = rows()
    modules = arguments.modules or [*TOPS, *(m for m in catalogue if m not in TOPS)]
    stages = {}  # of the unit: the instance on the data path, if there are several
    for module in modules:
        if module not in stages:
            name = f"catalogue_{module}"
            _, places = flow.synthesise(
                flow.XCUP, name, module, catalogue[module].parameters, arguments.j
            )
            catalogue[module].luts = str(luts(places))
            if module == "sluice_unit":
                for place in sorted(places, key=lambda p: "u_data_" not in p[0]):
                    stages.setdefault(place[1], luts([place]))
                stages.pop(module)
        else:
            catalogue[module].luts = str(stages[module])
        print(f"{module}: {catalogue[module].luts}", flush=True)

    def filled(match):
        row = catalogue[match[1]]
        return f"| `{match[1]}` | {match[2]} | {match[3]} | {match[4]} | {row.luts} |"

    PAGE.write_text(ROW.sub(filled, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
