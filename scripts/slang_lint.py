#!/usr/bin/env python3
"""Compiles SystemVerilog files with slang and fails on any error or warning.

usage: slang_lint.py [-I DIR] FILE ...
"""

import sys

import pyslang.driver

# Verilator judges what is unused, with knowledge of the whole design. An initial block may say what
# a RAM begins with, beside the always_ff that writes it.
OPTIONS = [
    "-Wextra", "-Wno-unused", "-Wno-useless-cast", "-Wno-case-redundant-default", "-Werror", "--error-limit", "0",
    "--allow-dup-initial-drivers",
]  # fmt: skip


def main():
    driver = pyslang.driver.Driver()
    driver.addStandardArgs()
    if not driver.parseCommandLine(" ".join(["slang", *OPTIONS, *sys.argv[1:]])):
        sys.exit(2)
    if not driver.processOptions() or not driver.parseAllSources():
        sys.exit(2)
    sys.exit(0 if driver.runFullCompilation(True) else 1)


if __name__ == "__main__":
    main()
