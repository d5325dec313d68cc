#!/usr/bin/env python3
"""Fills a directory that AWS's HDK can build an F2 image from.

usage: prepare.py CONFIG CL_DIR [--units N]

CONFIG is one of hw/configs.json; N units of it go on the card, 1 unless CONFIG says more. CL_DIR is
what the HDK's create_new_cl.py has made, under the name cl_sluice. Into it go

  design/                          the sources, in place of those that were there
  build/scripts/synth_cl_sluice.tcl
  build/scripts/parameters.tcl     of the top, by CONFIG and N

Needs Python 3.9 and systemrdl-compiler. Never used with an HDK's tools: none were at hand.
"""

import argparse
import json
import pathlib
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "abi"))

import generate as abi  # noqa: E402

NAME = "cl_sluice"
UNITS = 8  # abi/sluice.rdl, card


def configurations():
    return json.loads((ROOT / "hw/configs.json").read_text(encoding="utf-8"))


def sources():
    rtl = ROOT / "hw/rtl"
    f2 = ROOT / "hw/f2"
    return [*rtl.rglob("*.sv"), *rtl.rglob("*.svh"), *(f2 / "rtl").glob("*.sv"), *f2.glob("*.vh")]


def prepare(config, units, directory):
    design, scripts = directory / "design", directory / "build/scripts"
    for needed in (design, scripts):
        if not needed.is_dir():
            raise FileNotFoundError(f"no directory {needed}: create_new_cl.py makes it")
    for old in design.iterdir():
        old.unlink()
    for source in sources():
        shutil.copy(source, design)
    (design / "sluice_abi_pkg.sv").write_text(abi.sv(abi.compile_maps(str(ROOT / "abi/sluice.rdl"))), encoding="utf-8")
    shutil.copy(ROOT / "hw/f2" / f"synth_{NAME}.tcl", scripts)
    parameters = {"Units": units, **config["parameters"]}
    generics = " ".join(f"{name}={value}" for name, value in parameters.items())
    (scripts / "parameters.tcl").write_text(f"set parameters {{{generics}}}\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("config", choices=configurations())
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--units", type=int, choices=range(1, UNITS + 1))
    arguments = parser.parse_args()
    config = configurations()[arguments.config]
    try:
        prepare(config, arguments.units or config.get("units", 1), arguments.directory)
    except FileNotFoundError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
