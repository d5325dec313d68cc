#!/usr/bin/env python3
"""Runs the cocotb tests of one module on one model; fails unless all of them ran and passed.

usage: run.py MODEL_PROGRAM TOP SOURCE_DIR MODULE
"""

import os
import pathlib
import sys

from cocotb_tools.runner import get_results, get_runner


def main():
    program, top, source_dir, module = sys.argv[1:]
    program = pathlib.Path(program)
    results = program.parent / f"{program.name}.xml"
    results.unlink(missing_ok=True)
    sys.path.insert(0, source_dir)
    sys.dont_write_bytecode = True
    runner = get_runner("verilator")
    # The runner looks for a program of the top module's name in its build directory.
    place = program.parent / f"{program.name}.run"
    place.mkdir(exist_ok=True)
    link = place / top
    link.unlink(missing_ok=True)
    link.symlink_to(program)
    runner.test(
        test_module=module,
        hdl_toplevel=top,
        hdl_toplevel_lang="verilog",
        build_dir=place,
        test_dir=place,
        results_xml=str(results),
        extra_env={"COCOTB_LOG_LEVEL": os.environ.get("COCOTB_LOG_LEVEL", "WARNING"),
                   "PYTHONWARNINGS": "ignore::DeprecationWarning",  # in cocotbext-axi
                   "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    tests, failed = get_results(results)
    print(f"{tests} cocotb tests, {failed} failed")
    sys.exit(1 if failed or not tests else 0)


if __name__ == "__main__":
    main()
