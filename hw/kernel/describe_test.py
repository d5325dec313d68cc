"""What describe.py says is what the RTL has: its ports by Verilator, its registers by the package
that it is built with."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

import describe

ROOT = describe.ROOT
(VERILATOR,) = ROOT.glob("build/venv/lib/python3*/site-packages/verilator")
PORT = re.compile(r"^  (input |output) wire (?:\[(\d+):0\] )?(\w+),?$", re.MULTILINE)


def described(config, directory):
    """kernel.xml's kernel, and the ports of the top: {name: (direction, bits)}."""
    subprocess.run([sys.executable, ROOT / "hw/kernel/describe.py", config, directory], check=True)
    top = (directory / f"sluice_{config}.v").read_text(encoding="utf-8")
    ports = {name: (d.strip(), int(high or 0) + 1) for d, high, name in PORT.findall(top)}
    return xml.parse(directory / "kernel.xml").getroot().find("kernel"), ports


def elaborates(config, directory):
    """What Verilator complains of in the top: pins that are missing, unknown or of other widths."""
    files = sorted((ROOT / "hw/rtl").rglob("*.sv"), key=lambda f: not f.stem.endswith("_pkg"))
    command = [VERILATOR / "bin/verilator", "--lint-only", "-Wall", "--replication-limit", "16384"]
    command += ["--top-module", f"sluice_{config}", f"-I{ROOT / 'hw/rtl/include'}"]
    command += [ROOT / "hw/lint/verilator.vlt", directory / "sluice_abi_pkg.sv", *files]
    command += [ROOT / "hw/kernel/rtl/sluice_kernel.sv", directory / f"sluice_{config}.v"]
    result = subprocess.run(
        list(map(str, command)), env={**os.environ, "VERILATOR_ROOT": str(VERILATOR)},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    return result.stdout if result.returncode else ""


class Describe(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.directory = pathlib.Path(temporary.name)

    def test_the_top_has_the_ports_of_the_rtl(self):
        for config in ("tiny", "fcae9"):  # whose data ports have different widths
            described(config, self.directory)
            self.assertEqual(elaborates(config, self.directory), "")

    def test_another_top_is_noticed(self):
        described("tiny", self.directory)
        top = self.directory / "sluice_tiny.v"
        good = top.read_text(encoding="utf-8")
        for old, new in (
            ("[63:0] m_axi_in_rdata", "[31:0] m_axi_in_rdata"),
            (",\n    .m_axi_out_awcache(m_axi_out_awcache)", ""),
            ("input  wire m_axi_in_rlast", "output wire m_axi_in_rlast"),
        ):
            self.assertIn(old, good)
            top.write_text(good.replace(old, new), encoding="utf-8")
            self.assertNotEqual(elaborates("tiny", self.directory), "", new)

    def test_kernel_xml_says_the_same_ports(self):
        for config in describe.configurations():
            kernel, ports = described(config, self.directory)
            self.assertEqual(kernel.get("name"), f"sluice_{config}")
            self.assertEqual(kernel.get("vlnv").split(":")[2], f"sluice_{config}")
            self.assertEqual((kernel.get("interrupt"), ports["interrupt"]), ("true", ("output", 1)))
            prefixes = {re.fullmatch(r"([sm]_axi_\w+)_\w+", name)[1] for name in ports if "_axi_" in name}
            found = {port.get("name"): port for port in kernel.iter("port")}
            self.assertEqual(set(found), prefixes)
            for name, port in found.items():
                widths = {ports[f"{name}_{data}"][1] for data in ("rdata", "wdata") if f"{name}_{data}" in ports}
                self.assertEqual({int(port.get("dataWidth"))}, widths, name)
                self.assertEqual(port.get("mode"), "slave" if name.startswith("s_") else "master")
            span = int(found["s_axi_control"].get("range"), 16)
            self.assertEqual(span, 1 << ports["s_axi_control_awaddr"][1])

    def test_arguments_are_at_registers_of_the_rtl(self):
        kernel, ports = described("tiny", self.directory)
        package = (self.directory / "sluice_abi_pkg.sv").read_text(encoding="utf-8")
        offsets = {n: int(v) for n, v in re.findall(r"localparam int unsigned (\w+) = (\d+);", package)}
        arguments = {arg.get("name"): int(arg.get("offset"), 16) for arg in kernel.iter("arg")}
        self.assertEqual(arguments.pop("job"), offsets["CardUnit"] + offsets["ControlJobAddrLo"])
        self.assertEqual(offsets["ControlJobAddrHi"], offsets["ControlJobAddrLo"] + 4)
        # The others are where the unit has nothing.
        for offset in arguments.values():
            span = set(range(offset, offset + describe.POINTER_BYTES))
            for register, size in describe.registers().items():
                self.assertTrue(span.isdisjoint(range(register, register + size)), hex(register))
        # A linker connects a memory port for the sake of an argument.
        masters = {arg.get("port") for arg in kernel.iter("arg")}
        self.assertEqual(masters, {p.get("name") for p in kernel.iter("port") if p.get("mode") == "master"})
        # All of the card's registers are within reach.
        self.assertLess(offsets["CardWindowLimit"] + 32, 1 << ports["s_axi_control_awaddr"][1])

    def test_control_is_what_vitis_prescribes(self):
        described("tiny", self.directory)
        package = (self.directory / "sluice_abi_pkg.sv").read_text(encoding="utf-8")
        found = {n: int(v) for n, v in re.findall(r"localparam int unsigned (\w+) = (\d+);", package)}
        bits = {"Start": 0, "Done": 1, "Idle": 2, "Ready": 3, "Continue": 4}
        self.assertEqual({b: found[f"ControlCtrl{b}Lsb"] for b in bits}, bits)
        registers = {"Ctrl": 0x0, "Gie": 0x4, "Ier": 0x8, "Isr": 0xC}
        self.assertEqual({r: found[f"Control{r}"] for r in registers}, registers)
        self.assertGreaterEqual(min(set(describe.registers()) - set(registers.values())), 0x10)


if __name__ == "__main__":
    unittest.main()
