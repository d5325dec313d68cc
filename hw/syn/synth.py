#!/usr/bin/env python3
"""Synthesises the unit with Yosys and prints what it takes, as Markdown.

usage: synth.py [-j JOBS] --report FILE       all configurations, and the ECP5 one placed and routed
       synth.py [-j JOBS] CONFIG ...          some configurations of hw/configs.json
       synth.py --top MODULE [NAME=VALUE ...] one module with these parameters

Logs, netlists and mapped parts stay in build/synth; parts that have not changed are taken from there.
"""

import argparse
import collections
import json
import pathlib
import re

import ecp5
import flow
import levels
import packing

UNIT, CARD = "sluice_unit", "sluice_card"
# LUTs that a cell of LUT RAM or shift register takes (UltraScale CLB user guide, UG574).
LUTRAM = {
    "RAM32X1S": 1, "RAM64X1S": 1, "RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1S": 2, "RAM128X1D": 4,
    "RAM256X1S": 4, "RAM256X1D": 8, "RAM512X1S": 8, "RAM32M": 4, "RAM64M": 4, "RAM32M16": 8,
    "RAM64M8": 8, "SRL16E": 1, "SRLC32E": 1,
}  # fmt: skip
BRAM = {"RAMB36E2": 1, "RAMB18E2": 0.5}
COLUMNS = ["LUT", "of these LUT RAM", "FF", "BRAM36", "URAM", "DSP"]
HEAD = [*COLUMNS, "LUT levels", "LUT, packed"]
GOAL = 8  # LUT levels
# Parts and stages with a table of their own in the report, and their parameters.
OTHERS = {
    "cu_snappy_decoder": {"ValueBytes": 16, "HistoryBytes": 65536},
    "cu_snappy_encoder": {"ValueBytes": 16, "BlockBytes": 8192},
    "cu_bloom_filter": {"ValueBytes": 16, "MaxKeyBytes": 1024, "MaxFilterKeys": 2048,
                        "MaxFilterBytes": 4096, "Lanes": 6},
    "cu_bloom_stage": {"ValueBytes": 16, "MaxKeyBytes": 1024, "MaxFilterKeys": 2048,
                       "MaxFilterBytes": 4096, "Lanes": 6},
}


def amounts(cells):
    """What cells by type take, in the order of COLUMNS."""
    lutram = sum(LUTRAM[cell] * n for cell, n in cells.items() if cell in LUTRAM)
    logic = r"LUT\d|INV|THROUGH"
    lut = sum(n for cell, n in cells.items() if re.fullmatch(logic, cell)) + lutram
    ff = sum(n for cell, n in cells.items() if re.fullmatch(r"FD[RSCP]E(_1)?", cell))
    bram = sum(BRAM[cell] * n for cell, n in cells.items() if cell in BRAM)
    known = set(LUTRAM) | set(BRAM) | {"URAM288", "DSP48E2"}
    unknown = [c for c in cells if re.match(r"URAM|RAM|SRL|DSP", c) and c not in known]
    assert not unknown, f"cells that no column counts: {unknown}"
    return [lut, lutram, ff, bram, cells.get("URAM288", 0), cells.get("DSP48E2", 0)]


def line(*fields):
    return "| " + " | ".join(f"{f:g}" if isinstance(f, float) else str(f) for f in fields) + " |"


def table(head, rows):
    return "\n".join([line(*head), "|" + "---|" * len(head), *(line(*row) for row in rows)])


class Result:
    def __init__(self, name, top, parameters, jobs):
        netlist, self.places = flow.synthesise(flow.XCUP, name, top, parameters, jobs)
        text = json.loads(netlist.read_text(encoding="utf-8"))
        self.paths = levels.deepest(text, 1000)
        self.cells = flow.count(text["modules"][top]["cells"])
        self.pairs = packing.pairs(text["modules"][top]["cells"])

    def row(self):
        """In the order of HEAD."""
        found = amounts(self.cells)
        return [*found, self.paths[0].levels, found[0] - self.pairs]

    def breakdown(self):
        """Rows (module, instances, amounts of one), the largest first."""
        found = collections.Counter()
        for _, module, cells in self.places:
            found[module, tuple(amounts(cells))] += 1
        rows = [(module, n, *each) for (module, each), n in found.items()]
        return sorted(rows, key=lambda row: -row[1] * row[2])

    def path_rows(self, count):
        """Of each pair of stages the deepest path."""
        seen, rows = set(), []
        for path in self.paths:
            stages = tuple(re.sub(r"\[\d+\]", "[]", name.split(".")[0]) for name in
                           (path.start, path.end))  # fmt: skip
            if stages not in seen:
                seen.add(stages)
                rows.append((path.levels, f"`{path.start}`", f"`{path.end}`"))
        return rows[:count]


PAGE = """# Synthesis

`make synth` writes this page. UltraScale+ figures count cells that Yosys mapped, before placement:
there is no open place-and-route for these devices, so they say nothing about a clock. The depth of the
logic stands in for it: the longest path from one register or RAM to the next, in LUT levels. A LUT and
a read of LUT RAM count as one level each, a carry chain of any length as one, and multiplexers within a
slice (MUXF7 to MUXF9) as none. What does not come from a LUT of such a multiplexer's own must pass through
one, which counts as a LUT and as a level. The goal is {goal} levels. Yosys maps for few of them, and for few LUTs
where a stage needs no more than five to seven, by stage: as in these devices, wires take
longer than LUTs (hw/syn/flow.py). Multiplexers of four and of eight bytes (`cu_byte_mux`, `cu_byte_choice`) are eight
and 16 LUTs, as they stand. Each LUT counts, even if two small ones could share a place; the last column is an
estimate of what is left if they do (LUT6_2, hw/syn/packing.py).

{configurations}

Stages are synthesised one by one, and equal ones only once (hw/syn/flow.py); the netlist is then joined
and counted as a whole.

## Beside published figures

| | LUT | FF | RAM | device |
|---|---|---|---|---|
| FAST'20 Table 2, one CU: N = 4 | 38,635 | 30,783 | 46 of 960 | VU9P, 1,182,000 LUT |
| `fast20`: N = 4, V = 16 | {fast20} | |
| FCAE Table VII, N = 2, W_in = 64, V = 16 | 72 % | 10 % | 18 % | KCU1500 |
| `fcae2`: N = 2, V = 16 | {fcae2} | |
| FCAE Table VII, N = 9, W_in = 8, V = 8 | 84 % | 14 % | 25 % | KCU1500 |
| `fcae9`: N = 9, V = 8 | {fcae9} | |

FAST'20: Zhang et al., FPGA-Accelerated Compactions for LSM-based Key-Value Store. FCAE: Sun et al.,
FPGA-based Compaction Engine for Accelerating LSM-tree Key-Value Stores (ICDE 2020); the KU115 of its
KCU1500 has 663,360 LUT, 1,326,720 FF and 2,160 BRAM36.

## Where the LUTs go

The stages of `fast20`, each on its own; `sluice_unit` is the logic between them.

{breakdown}

## Snappy's stages

At V = 16 (docs/hardware.md, Snappy). `snappy4` includes the decoder, `compress2` four of the encoder.

{snappy}

## The Bloom filter's stages

At V = 16 (docs/hardware.md, Bloom filter): the filter, and what holds two of it, which `bloom2` includes.

{bloom}

## The deepest paths

For `fast20`, the deepest path from each stage to each stage.

{paths}

## ECP5

`tiny` in hw/syn/scan_shell.sv, which puts its ports behind five pins. nextpnr placed and routed it for an
LFE5U-85F, speed grade 8. A multiplexer of four bytes is 16 LUTs there, and Yosys takes a wire for 900 ps
(hw/syn/ecp5.py). The goal is 100 MHz.

{ecp5}
"""


def thousands(n):
    return f"{n:,.15g}"


def report(results, others, board):
    def beside(name):
        lut, _, ff, bram, uram, *_ = results[name].row()
        ram = f"{bram:g} BRAM36" + (f", {uram} URAM" if uram else "")
        return " | ".join([thousands(lut), thousands(ff), ram])

    def stages(kind):
        rows = [(f"`{name}`", *r.row()) for name, r in others.items() if name.startswith(kind)]
        return table(["module", *HEAD], rows)

    return PAGE.format(
        goal=GOAL,
        configurations=table(["configuration", *HEAD],
                             [(f"`{name}`", *r.row()) for name, r in results.items()]),
        fast20=beside("fast20"),
        fcae2=beside("fcae2"),
        fcae9=beside("fcae9"),
        breakdown=table(["module", "instances", *COLUMNS], results["fast20"].breakdown()),
        snappy=stages("cu_snappy"),
        bloom=stages("cu_bloom"),
        paths=table(["levels", "from", "to"], results["fast20"].path_rows(20)),
        ecp5=table(list(board), [list(board.values())]),
    )


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\nLogs")[0])
    parser.add_argument("-j", type=int, default=1, dest="jobs")
    parser.add_argument("--top")
    parser.add_argument("--report", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    work = []
    if arguments.top:
        parameters = dict(text.split("=") for text in arguments.names)
        name = "_".join([arguments.top, *(f"{k}{v}" for k, v in parameters.items())])
        work = [(name, arguments.top, parameters)]
    else:
        configs = json.loads((flow.ROOT / "hw/configs.json").read_text(encoding="utf-8"))
        for name in arguments.names:
            if name not in configs:
                parser.error(f"no configuration {name}; there are {', '.join(configs)}")
        names = arguments.names or list(configs)
        for name in names:
            units = {"Units": configs[name]["units"]} if "units" in configs[name] else {}
            top = CARD if units else UNIT
            work.append((name, top, {**configs[name]["parameters"], **units}))
    print(table(["", *HEAD], []), flush=True)
    results = {}
    for name, top, parameters in work:
        results[name] = Result(name, top, parameters, arguments.jobs)
        print(line(name, *results[name].row()), flush=True)
    if arguments.report:
        others = {name: Result(name, name, values, arguments.jobs)
                  for name, values in OTHERS.items()}  # fmt: skip
        board = ecp5.place_and_route(configs["tiny"]["parameters"], arguments.jobs)
        arguments.report.write_text(report(results, others, board), encoding="utf-8")
    else:
        for name, result in results.items():
            print(f"\n{name}\n")
            print(table(["module", "instances", *COLUMNS], result.breakdown()))
            print()
            print(table(["levels", "from", "to"], result.path_rows(20)))


if __name__ == "__main__":
    main()
