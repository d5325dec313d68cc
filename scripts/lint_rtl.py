#!/usr/bin/env python3
"""Checks hw/rtl, hw/kernel/rtl and hw/f2/rtl with Verilator, Verible and slang: each finds what the
others miss.

Every module is elaborated alone with its default parameters, and some with those of EXTRA. With those
of hw/configs.json: the tops that hw/kernel/describe.py writes, each with a unit of its configuration
in it; and the top for F2, once for each choice of ports and units. What AWS's HDK brings for F2 is what hw/dv/f2/hdk says of it. Warnings are errors;
an exception is stated where it is made, in the source. scripts/parameters_lint.py tests that wrong
parameters are refused, and hw/syn/catalogue.py that docs/hardware.md lists every module.

usage: lint_rtl.py GENERATED_DIR   (which holds sluice_abi_pkg.sv)
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "hw/kernel"))

import describe  # noqa: E402

VENV = ROOT / "build/venv"
INCLUDE = ROOT / "hw/rtl/include"
HDK = ROOT / "hw/dv/f2/hdk"
INCLUDES = [INCLUDE, HDK, ROOT / "hw/f2"]
F2 = "cl_sluice"
# Further elaborations: (module, {parameter: value}).
EXTRA = [
    ("cu_crc_step", {"Bytes": 64}),
    ("cu_crc_unwind", {"MaxBytes": 64}),
]


def sources(generated):
    """Packages in compile order, and modules; a file is named after what it holds."""
    tops = [*(ROOT / "hw/kernel/rtl").glob("*.sv"), *(ROOT / "hw/f2/rtl").glob("*.sv")]
    files = sorted([*(ROOT / "hw/rtl").rglob("*.sv"), *tops])
    packages = [generated / "sluice_abi_pkg.sv"] + [f for f in files if f.stem.endswith("_pkg")]
    return packages, [f for f in files if not f.stem.endswith("_pkg")]


def verilator(packages, modules, top, parameters):
    (root,) = VENV.glob("lib/python3*/site-packages/verilator")
    command = [root / "bin/verilator", "--lint-only", "-Wall", "--replication-limit", "16384"]
    command += ["--top-module", top, *(f"-I{include}" for include in INCLUDES)]
    command += [f"-G{name}={value}" for name, value in parameters.items()]
    # All of them, not by -y: Verilator then takes a module for nested in the one that asks for it.
    command += [ROOT / "hw/lint/verilator.vlt", *packages, *modules, *HDK.glob("*.sv")]
    return run(f"verilator {top} {parameters or ''}", command, {"VERILATOR_ROOT": str(root)})


def kernel(packages, modules, generated, config, parameters):
    top = generated / "kernel" / f"{describe.kernel_name(config)}.v"
    top.parent.mkdir(exist_ok=True)
    top.write_text(describe.wrapper(config, parameters), encoding="utf-8")
    return verilator(packages, [*modules, top], top.stem, {})


def slang(packages, modules):
    program = ROOT / "scripts/slang_lint.py"
    cover = sorted((ROOT / "hw/dv/coverage").glob("*.sv"))
    command = [VENV / "bin/python", program]
    command += [word for include in INCLUDES for word in ("-I", include)]
    command += [*packages, *modules, *HDK.glob("*.sv"), *cover]
    return run("slang", command)


def verible(packages, modules):
    (program,) = VENV.glob("lib/python3*/site-packages/verible/bin/verible-verilog-lint")
    rules = ROOT / "hw/lint/verible.rules"
    own = [p for p in packages if p.is_relative_to(ROOT / "hw")]
    command = [program, f"--rules_config={rules}", "--lint_fatal", "--parse_fatal"]
    command += [*own, *modules, *sorted(INCLUDE.glob("*.svh"))]
    return run("verible", command)


def parameters(generated):
    program = ROOT / "scripts/parameters_lint.py"
    return run("parameters", [VENV / "bin/python", program, generated])


def catalogue():
    return run("catalogue", [VENV / "bin/python", ROOT / "hw/syn/catalogue.py", "--check"])


def run(name, command, environment=None):
    result = subprocess.run(
        [str(part) for part in command],
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return name, result.returncode != 0, result.stdout


def main():
    generated = pathlib.Path(sys.argv[1]).resolve()
    packages, modules = sources(generated)
    jobs = [(m.stem, {}) for m in modules] + EXTRA
    configs = json.loads((ROOT / "hw/configs.json").read_text(encoding="utf-8"))
    shells = {}
    for config in configs.values():
        units = {"Units": config["units"]} if "units" in config else {}
        chosen = {**config["parameters"], **units}
        ports = tuple(chosen.get(name) for name in ("InBytes", "OutBytes", "Units"))
        shells.setdefault(ports, (F2, chosen))
    jobs += shells.values()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = [pool.submit(verilator, packages, modules, *job) for job in jobs]
        for config in describe.configurations().items():
            results.append(pool.submit(kernel, packages, modules, generated, *config))
        results += [pool.submit(tool, packages, modules) for tool in (slang, verible)]
        results += [pool.submit(parameters, generated), pool.submit(catalogue)]
    bad = 0
    for name, failed, output in (r.result() for r in results):
        if failed:
            bad += 1
            print(f"{name}:\n{output}", file=sys.stderr)
    print(f"{len(modules)} RTL modules, {len(results)} checks, {bad} failed")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
