#!/usr/bin/env python3
"""Fails on an #include that points upward between the layers of docs/architecture.md."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Lowest first; a layer uses those before it. `bench` and `tools` are top-level directories, the
# others lie in src/. What stands outside of these (tests, hw/dv) may use all of them.
LAYERS = ["util", "table", "rocksdb_table", "log", "write", "txn", "mem", "cache", "merge", "conformance", "tree",
          "offload", "compaction", "leveldb_dir", "db", "c", "device", "bench", "tools"]
# The public headers, and the lowest layer that may know them.
PUBLIC = {"export.h": "util", "status.h": "util", "env.h": "util", "compression.h": "table",
          "table_format.h": "table", "iterator.h": "table", "executor.h": "merge",
          "conformance.h": "conformance", "device.h": "device", "c_device.h": "device",
          "c.h": "c", "db.h": "write", "ingestion.h": "write", "listener.h": "write", "options.h": "write",
          "statistics.h": "write", "transaction.h": "write", "write_batch.h": "write"}
# Headers that are made in the build, and the lowest layer that may know them.
GENERATED = [(re.compile(r"sluice_abi\.h"), "device"), (re.compile(r"V\w+\.h|verilated.*"), "device")]
# May use all of them, wherever they lie.
TEST = re.compile(r"_test\.cc$|^(testing|workload|fixture)\.h$")
INCLUDE = re.compile(r'\s*#\s*include\s*["<]([^">]+)[">]')


def complaint(layer, header):
    """What is wrong with a file of `layer` that includes `header`; None if nothing is."""
    rank = LAYERS.index(layer)
    for pattern, lowest in GENERATED:
        if pattern.fullmatch(header) and rank < LAYERS.index(lowest):
            return f"{header} is for {lowest} and above"
    directory, _, name = header.rpartition("/")
    if directory == "sluice":
        lowest = PUBLIC.get(name)
        if lowest is None:
            return f"{header} has no layer; add it to PUBLIC"
        return f"{header} is for {lowest} and above" if rank < LAYERS.index(lowest) else None
    directory = directory.split("/")[0]
    if directory in LAYERS and LAYERS.index(directory) > rank:
        return f"{layer} stands below {directory}"
    return None


def main():
    bad = 0
    files = 0
    for path in sorted((p for top in ("src", "bench", "tools") for p in ROOT.glob(f"{top}/**/*"))):
        if path.suffix not in (".h", ".cc"):
            continue
        files += 1
        parts = path.relative_to(ROOT).parts
        layer = parts[1] if parts[0] == "src" else parts[0]
        if TEST.search(path.name):
            continue
        if layer not in LAYERS:
            sys.exit(f"{path.relative_to(ROOT)}: no layer {layer}; add it to LAYERS")
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if match and (reason := complaint(layer, match[1])):
                bad += 1
                print(f"{path.relative_to(ROOT)}:{number}: {reason}", file=sys.stderr)
    print(f"{files} files, {bad} upward includes")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
