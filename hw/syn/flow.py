"""Synthesis with Yosys, one stage of the pipeline at a time.

A stage is an instance of one of STAGES; everything below it is flattened into it, what is left around
the stages is a part of its own. Equal stages (the ways; a stage that two configurations share) are
mapped once: the result is kept under a hash of what was elaborated. Constants still reach a stage
as parameters; what a constant or unused port would save is lost, less what is cleaned up when the
mapped netlist is flattened in the end.
"""

import collections
import concurrent.futures
import dataclasses
import hashlib
import json
import pathlib
import re
import subprocess
import sys

import levels

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
OUT = ROOT / "build/synth"
STAGES = {
    "cu_csr", "cu_job_control", "cu_read_engine", "cu_index_reader", "cu_entry_decoder",
    "cu_merge_node", "cu_visibility_filter", "cu_transfer", "cu_entry_encoder", "cu_byte_packer",
    "cu_block_sealer", "cu_snappy_encoder", "cu_index_encoder", "cu_write_engine",
    "cu_axi_read_arbiter", "cu_axi_write_arbiter", "cu_card_control",
}  # fmt: skip
RUNNER = """
import sys
from pyosys import libyosys
design = libyosys.Design()
for command in sys.stdin.read().splitlines():
    libyosys.run_pass(command, design)
"""


@dataclasses.dataclass(frozen=True)
class Target:
    map: tuple  # commands, in which {top} is the module's name, {delay} what its stage may take
    library: str  # command that reads its cells
    files: str = "hw/syn/*.v"  # that the commands read

    def commands(self, top, stage, wide=False):
        levels_of = WIDE_LEVELS if wide else LEVELS
        delay = levels_of.get(stage, levels_of[""]) * (WIRE + 1)
        return [command.format(top=top, delay=delay) for command in self.map]

    def salt(self, stage, wide=False):
        """Of what it does to a stage."""
        files = [path.read_text(encoding="utf-8") for path in sorted(ROOT.glob(self.files))]
        what = repr((self.commands("", stage, wide), self.library, files))
        return hashlib.sha256(what.encode()).hexdigest()[:4]


# What ABC takes a wire for, in ps. LUTs take it 1 ps: in UltraScale+ wires take most of a path. ABC
# so maps for few levels; where a stage needs no more than LEVELS of them, or LEVELS[""], for few LUTs.
WIRE = 2500
LEVELS = {"": 6, "cu_entry_decoder": 5, "cu_index_reader": 5, "cu_transfer": 5, "cu_job_control": 5,
          "cu_visibility_filter": 5, "cu_write_engine": 5, "cu_axi_write_arbiter": 5,
          "cu_entry_encoder": 7, "cu_read_engine": 7}  # fmt: skip
# Where ValueBytes is 64: its goal for the depth is 10 levels instead of 8.
WIDE_LEVELS = {**LEVELS, "cu_entry_decoder": 7}
# What LUTs of up to six inputs, of seven, and of eight count. Yosys counts by inputs, 2 to 5 for up to
# six, because two small LUTs can be one: synth.py counts each.
COSTS = "6:1,2,4"
SYNTH = "synth_xilinx -family xcup -flatten -noiopad -noclkbuf -top {top}"


# Each cu_byte_mux, an instance of a module of its own, is a box per bit for ABC and a LUT behind it.
def byte_mux(box):
    return ("chtype -set cu_byte_mux t:cu_byte_mux*",
            f"read_verilog -icells -lib -specify {box}",
            "techmap -map hw/syn/byte_mux_boxes.v")  # fmt: skip


# Likewise cu_byte_choice, with two LUTs and a MUXF7.
BYTE_CHOICE = ("chtype -set cu_byte_choice t:cu_byte_choice*",
               "read_verilog -icells -lib -specify hw/syn/byte_choice.v",
               "techmap -map hw/syn/byte_choice_boxes.v")  # fmt: skip


XCUP = Target(
    (*byte_mux("hw/syn/byte_mux.v"),
     *BYTE_CHOICE,
     f"{SYNTH} -run begin:map_luts",
     # Its map_luts, with costs and delays of our own.
     f"scratchpad -set abc9.W {WIRE}",
     "opt_expr -mux_undef -noclkinv",
     f"abc9 -luts {COSTS} -D {{delay}}",
     "clean",
     "xilinx_srl -fixed -minlen 3",
     "techmap -map +/xilinx/lut_map.v -map +/xilinx/cells_map.v -D LUT_WIDTH=6",
     "techmap -map hw/syn/byte_mux_luts.v",
     "techmap -map hw/syn/byte_choice_luts.v",
     "xilinx_dffopt",
     "opt_lut_ins -tech xilinx",
     f"{SYNTH} -run finalize:"),
    "read_verilog -lib +/xilinx/cells_sim.v +/xilinx/cells_xtra.v",
)


def yosys(log, commands):
    """Runs commands, which see paths as they are from ROOT."""
    OUT.mkdir(parents=True, exist_ok=True)
    path = OUT / f"{log}.log"
    with open(path, "w", encoding="utf-8") as file:
        command = [sys.executable, "-c", RUNNER]
        text = "\n".join(commands)
        result = subprocess.run(command, cwd=ROOT, input=text, stdout=file, stderr=file, text=True)
    if result.returncode != 0:
        lines = path.read_text(encoding="utf-8").splitlines()
        errors = [line for line in lines if line.startswith("ERROR")]
        sys.exit("\n".join([f"Yosys failed; see {path.relative_to(ROOT)}", *errors]))


def sources():
    """Relative to ROOT, packages first."""
    generated = ROOT / "build/release/generated/sluice_abi_pkg.sv"
    if not generated.exists():
        sys.exit(f"{generated.relative_to(ROOT)} is missing: `make build` first")
    files = sorted((ROOT / "hw/rtl").rglob("*.sv"), key=lambda f: not f.stem.endswith("_pkg"))
    return [str(f.relative_to(ROOT)) for f in [generated, *files]]


def read_design(top, parameters, options="", extra=()):
    generics = " ".join(f"-G {name}={value}" for name, value in parameters.items())
    files = " ".join([*sources(), *extra])
    return f"read_slang -j 1 {options} -DSYNTHESIS -I hw/rtl/include --top {top} {generics} {files}"


def natural(text):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", text)]


class Elaborated:
    """A design as read, with a module per instance: their RTLIL text by name."""

    def __init__(self, name, top, parameters, extra):
        path = OUT / f"{name}.elaborated.il"
        read = read_design(top, parameters, "--keep-hierarchy", extra)
        yosys(f"{name}.elaborate", [read, f"write_rtlil {path.relative_to(ROOT)}"])
        text = path.read_text(encoding="utf-8")
        path.unlink()
        found = re.finditer(r"^module (\S+)\n.*?^end\n", text, re.MULTILINE | re.DOTALL)
        self.modules = {match[1]: match[0] for match in found}
        self.top = "\\" + top
        self._hashes = {}

    def children(self, module):
        """[(instance name, module)]"""
        found = re.findall(r"^  cell (\S+) (\S+)", self.modules[module], re.MULTILINE)
        return [(name, kind) for kind, name in found if kind in self.modules]

    def below(self, module):
        """It and all that it holds."""
        parts = [self.below(child) for _, child in self.children(module)]
        return [module, *(m for part in parts for m in part)]

    def hash(self, module):
        """Of what it is, whatever the names of its instance and of what Yosys has numbered."""
        if module not in self._hashes:
            text = re.sub(r"^\s*attribute .*\n", "", self.modules[module], flags=re.MULTILINE)
            if "$" in module:
                text = text.replace(module.split("$", 1)[1], "")
            # Yosys writes by name, $9 after $10: in the order of numbers instances are alike.
            statements = re.split(r"\n(?=  \w)", text)
            text = "\n".join(sorted(statements, key=natural))
            numbers = {}
            text = re.sub(r"\$(\d+)", lambda m: f"${numbers.setdefault(m[1], len(numbers))}", text)
            text += "".join(self.hash(child) for _, child in self.children(module))
            self._hashes[module] = hashlib.sha256(text.encode()).hexdigest()[:16]
        return self._hashes[module]

    def stages(self):
        """[(path from the top, module)], outermost ones."""

        def walk(module, path):
            for name, child in self.children(module):
                inner = f"{path}{name[1:]}"
                if child[1:].split("$")[0] in STAGES:
                    yield inner, child
                else:
                    yield from walk(child, f"{inner}.")

        return list(walk(self.top, ""))


def map_part(target, key, text, top, boxes=(), wide=False):
    """Maps the module `top` of this RTLIL text onto the target's cells; returns where the result
    is, a module named `key`. `boxes`: parts that are used in it as they are."""
    (OUT / "parts").mkdir(parents=True, exist_ok=True)
    result = OUT / "parts" / f"{key}.il"
    if result.exists():
        return result
    source = OUT / "parts" / f"{key}.source.il"
    source.write_text(text.replace(f"module {top}\n", f"module \\{key}\n"), encoding="utf-8")
    fresh = result.with_suffix(".new")
    yosys(f"parts/{key}", [
        *(f"read_rtlil {box.relative_to(ROOT)}" for box in boxes),
        *(f"blackbox {box.stem}" for box in boxes),
        f"read_rtlil {source.relative_to(ROOT)}",
        *target.commands(key, key.rsplit("_", 2)[0], wide),
        f"select {key}",
        f"write_json -selected {result.with_suffix('.json').relative_to(ROOT)}",
        f"write_rtlil -selected {fresh.relative_to(ROOT)}",
    ])  # fmt: skip
    source.unlink()
    fresh.rename(result)
    return result


def count(cells):
    """Cells of a netlist by type, and THROUGH: LUTs that only pass a signal on (levels.py)."""
    number = collections.Counter(cell["type"] for cell in cells.values())
    number["THROUGH"] = len(levels.passed_through(cells))
    return number


def cells_of(part):
    """Of a mapped part alone: {type: number}."""
    netlist = json.loads(part.with_suffix(".json").read_text(encoding="utf-8"))
    return count(netlist["modules"][part.stem]["cells"])


def synthesise(target, name, top, parameters, jobs=1, extra=()):
    """The mapped, flat netlist (the path of Yosys's JSON), and what it is made of:
    [(path, module, cells by type)]. `extra`: sources besides hw/rtl."""
    design = Elaborated(name, top, parameters, extra)
    stages = design.stages()

    wide = int(parameters.get("ValueBytes", 0)) == 64

    def key_of(stage, digest):
        return f"{stage}_{digest}_{target.salt(stage, wide)}"

    keys = {module: key_of(module[1:].split("$")[0], design.hash(module)) for _, module in stages}

    def text_of(module):
        return "\n".join(design.modules[m] for m in design.below(module))

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = {
            key: pool.submit(map_part, target, key, text_of(module), module, wide=wide)
            for key, module in {key: module for module, key in keys.items()}.items()
        }
        parts = {key: future.result() for key, future in futures.items()}

    inside = {m for _, module in stages for m in design.below(module)}
    glue = "\n".join(text for module, text in design.modules.items() if module not in inside)
    for module, key in keys.items():
        glue = glue.replace(f"  cell {module} ", f"  cell \\{key} ")
    digest = hashlib.sha256((glue + "".join(sorted(parts))).encode()).hexdigest()[:16]
    rest = map_part(target, key_of(top, digest), glue, design.top, list(parts.values()))

    netlist = OUT / f"{name}.json"
    yosys(f"{name}.join", [
        target.library,
        *(f"read_rtlil {part.relative_to(ROOT)}" for part in [*parts.values(), rest]),
        f"hierarchy -top {rest.stem}",
        "flatten",
        "opt_clean",
        f"rename {rest.stem} {top}",
        f"select {top}",
        f"write_json -selected {netlist.relative_to(ROOT)}",
    ])  # fmt: skip
    places = [(path, module[1:].split("$")[0], cells_of(parts[keys[module]]))
              for path, module in stages]  # fmt: skip
    return netlist, [*places, ("", top, cells_of(rest))]
