#!/usr/bin/env python3
"""Elaborates modules with parameters that they must refuse, and fails if one is not refused.

usage: parameters_lint.py GENERATED_DIR   (which holds sluice_abi_pkg.sv)

Every `ASSERT_PARAM of hw/rtl has to refuse something here, so none of them can be vacuous.
"""

import pathlib
import re
import sys

import pyslang.ast
import pyslang.syntax

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHECK = re.compile(r'`ASSERT_PARAM\((\w+),.*?"([^"]*)"\)', re.DOTALL)
# What each check refuses: module: {check: {parameter: value}}.
REFUSED = {
    "cu_axi_read_arbiter": {"budget": {"Budget": 1}},
    "cu_axi_write_arbiter": {"budget": {"Budget": 1}},
    "cu_block_chunks": {"value_bytes": {"ValueBytes": 4}, "bus_bytes": {"BusBytes": 4}},
    "cu_block_crc": {"bytes": {"Bytes": 4}},
    "cu_block_sealer": {"bytes": {"Bytes": 4}, "xxh3": {"Xxh3": 2}},
    "cu_bloom_builder": {"lanes": {"Lanes": 1}},
    "cu_bloom_hasher": {
        "value_bytes": {"ValueBytes": 4}, "max_key_bytes": {"ValueBytes": 16, "MaxKeyBytes": 16},
        "max_filter_keys": {"MaxFilterKeys": 1000}, "max_filter_bytes": {"MaxFilterBytes": 3000},
    },
    "cu_byte_packer": {"bytes": {"Bytes": 12}},
    "cu_byte_ram": {"depth": {"Depth": 6000}},
    "cu_byte_rotate": {
        "bytes": {"Bytes": 12, "OutBytes": 8}, "out_bytes": {"OutBytes": 17},
        "left": {"OutBytes": 8, "Left": 1},
    },
    "cu_byte_select": {"positions": {"Positions": 6}},
    "cu_byte_window": {"parity_bytes": {"ParityBytes": 2}},
    "cu_card_control": {"units": {"Units": 9}},
    "cu_commit_fifo": {"depth": {"Depth": 6}},
    "cu_compress_stage": {"compressors": {"Compressors": 0}},
    "cu_compare": {"width": {"Width": 730}},
    "cu_entry_decoder": {
        "value_bytes": {"ValueBytes": 24}, "bus_bytes": {"ValueBytes": 16, "BusBytes": 8},
        "max_key_bytes": {"MaxKeyBytes": 4}, "value_fifo_beats": {"ValueFifoBeats": 48},
        "snappy": {"Snappy": 2}, "parity_bytes": {"Snappy": 1, "ParityBytes": 1},
        "xxh3": {"Xxh3": 2},
    },
    "cu_entry_encoder": {
        "value_bytes": {"ValueBytes": 4}, "max_key_bytes": {"MaxKeyBytes": 16376},
        "bloom": {"Bloom": 2},
    },
    "cu_fifo": {"depth": {"Depth": 1}},
    "cu_index_encoder": {"align_bytes": {"AlignBytes": 48}},
    "cu_index_reader": {"xxh3": {"Xxh3": 2}},
    "cu_job_control": {
        "quiet_cycles": {"QuietCycles": 100, "HaltCycles": 200}, "bloom": {"Bloom": 2},
        "xxh3": {"Xxh3": 2},
    },
    "cu_key_queue": {"beats": {"Beats": 12}},
    "cu_last_key": {"max_key_bytes": {"ValueBytes": 16, "MaxKeyBytes": 16}},
    "cu_merge_node": {"value_bytes": {"ValueBytes": 12}, "max_key_bytes": {"MaxKeyBytes": 0}},
    "cu_merge_tree": {"ways": {"Ways": 17}},
    "cu_ram_fifo": {"depth": {"Depth": 3}},
    "cu_read_engine": {
        "bus_bytes": {"BusBytes": 4}, "max_burst_beats": {"MaxBurstBeats": 128},
        "fifo_beats": {"FifoBeats": 24}, "requests": {"Requests": 1}, "clients": {"Clients": 0},
        "stored": {"Stored": 1},
    },
    "cu_restart_array": {"bytes": {"Bytes": 4}, "max_restarts": {"MaxRestarts": 2}},
    "cu_snappy_chooser": {"window": {"Window": 12}},
    "cu_snappy_matcher": {"value_bytes": {"ValueBytes": 8}, "block_bytes": {"BlockBytes": 6000}},
    "cu_snappy_parser": {"history_bytes": {"ValueBytes": 16, "HistoryBytes": 64}},
    "cu_snappy_writer": {"block_bytes": {"BlockBytes": 131072}},
    "cu_transfer": {"value_bytes": {"ValueBytes": 4}, "ways": {"Ways": 17}},
    "cu_visibility_filter": {"value_bytes": {"ValueBytes": 4}, "max_key_bytes": {"MaxKeyBytes": 32769}},
    "cu_write_engine": {
        "bus_bytes": {"BusBytes": 8}, "max_burst_beats": {"MaxBurstBeats": 1},
        "fifo_beats": {"FifoBeats": 16}, "align_bytes": {"AlignBytes": 128},
    },
    "cu_xxh3": {"bytes": {"Bytes": 4}},
    "cu_xxh3_lanes": {"bytes": {"Bytes": 8}},
    "cu_xxh3_tail": {"bytes": {"Bytes": 4}, "slots": {"Slots": 3}},
    "sluice_unit": {
        "ways": {"Ways": 1}, "value_bytes": {"ValueBytes": 24}, "in_bytes": {"InBytes": 8},
        "out_bytes": {"OutBytes": 8}, "max_key_bytes": {"MaxKeyBytes": 100},
        "snappy": {"Snappy": 2}, "bloom": {"Bloom": 2},
        "compressors": {"ValueBytes": 8, "Compressors": 4}, "xxh3": {"Xxh3": 2},
    },
}  # fmt: skip


def refusals(trees, module, parameters):
    """What elaboration says."""
    options = pyslang.ast.CompilationOptions()
    options.topModules = {module}
    options.paramOverrides = [f"{name}={value}" for name, value in parameters.items()]
    compilation = pyslang.ast.Compilation(pyslang.Bag([options]))
    for tree in trees:
        compilation.addSyntaxTree(tree)
    engine = pyslang.DiagnosticEngine(compilation.sourceManager)
    return [engine.formatMessage(d) for d in compilation.getAllDiagnostics() if d.isError()]


def main():
    files = sorted((ROOT / "hw/rtl").rglob("*.sv"), key=lambda f: not f.stem.endswith("_pkg"))
    manager = pyslang.SourceManager()
    manager.addUserDirectories(str(ROOT / "hw/rtl/include"))
    package = pathlib.Path(sys.argv[1]) / "sluice_abi_pkg.sv"
    trees = [pyslang.syntax.SyntaxTree.fromFile(str(f), manager) for f in [package, *files]]
    bad, checks = 0, 0
    for file in files:
        refused = REFUSED.get(file.stem, {})
        found = dict(CHECK.findall(file.read_text(encoding="utf-8")))
        for check in found.keys() ^ refused.keys():
            bad += 1
            print(f"{file.stem}: {check} is in one of the module and REFUSED only", file=sys.stderr)
        for check in found.keys() & refused.keys():
            checks += 1
            said = refusals(trees, file.stem, refused[check])
            if not any(found[check] in text for text in said):
                bad += 1
                print(f"{file.stem}: {check} lets {refused[check]} pass: {said}", file=sys.stderr)
    print(f"{checks} checks of parameters, {bad} failed")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
