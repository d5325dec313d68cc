"""The deepest paths of a mapped netlist for UltraScale+, in LUT levels.

A path runs from a register or RAM to the next one. LUTs and reads of LUT RAM are a level each, and
so is a carry chain, however long, besides the LUTs in front of it. The multiplexers MUXF7 to MUXF9
stand within the slice of their LUTs and are none; but what does not come from a LUT of their own
must pass through one. Ports of the unit begin and end paths, too.

usage: levels.py NETLIST.json [COUNT]   (of Yosys's write_json)
"""

import collections
import dataclasses
import json
import re
import sys

# (cell type, input ports, output ports, levels); None is any port. LUT RAM of several read ports:
# each reads for itself. A port that no arc leaves ends a path, one that none reaches begins one.
LETTERS = "ABCDEFGH"
ARCS = [
    (r"LUT\d|INV", None, None, 1),
    (r"MUXF[789]", None, None, 0),
    (r"CARRY[48]", "CI|CYINIT|CI_TOP", None, 0),
    (r"CARRY[48]", "DI|S", None, 1),
    (r"BUFG|IBUF|OBUF", None, None, 0),
    (r"SRL16E|SRLC32E", r"A\d?", "Q", 1),
    (r"RAM\d+X1S", r"A\d?", "O", 1),
    (r"RAM\d+X1D", r"A\d?", "SPO", 1),
    (r"RAM\d+X1D", r"DPRA\d?", "DPO", 1),
    *((r"RAM(32|64)M\d*", f"ADDR{x}", f"DO{x}", 1) for x in LETTERS),
]
# Cells that hold state. LUT RAM and shift registers have their arcs besides.
STATE = r"FD[RSCP]E(_1)?|LD[CP]E|SRL16E|SRLC32E|RAM.*|URAM288.*|DSP48E2"
# A multiplexer within a slice, and what alone can drive its data inputs.
SOURCES = {"MUXF7": "LUT", "MUXF8": "MUXF7", "MUXF9": "MUXF8"}
CLOCK = r"C|CLK|WCLK|CLKARDCLK|CLKBWRCLK|G"


@dataclasses.dataclass
class Path:
    levels: int
    start: str
    end: str
    cells: list  # types on the way; of LUT RAM with its name


def arcs_of(kind, inputs, outputs):
    """[(input port, output port, levels)]"""
    found = []
    for cell, source, target, levels in ARCS:
        if re.fullmatch(cell, kind):
            found += [
                (i, o, levels)
                for i in inputs
                for o in outputs
                if (source is None or re.fullmatch(source, i))
                and (target is None or re.fullmatch(target, o))
            ]
    return found


def passed_through(cells):
    """{(cell, port)} of multiplexers whose input is not the output of a LUT beside it: it takes
    a LUT that passes a signal, or a constant, on. A LUT is beside one multiplexer only."""
    drivers = {
        bit: (cell["type"], name)
        for name, cell in cells.items()
        for port, bits in cell["connections"].items()
        if cell["port_directions"].get(port) == "output"
        for bit in bits
    }
    found, taken = set(), set()
    for name, cell in cells.items():
        for port in ("I0", "I1") if cell["type"] in SOURCES else ():
            kind, driver = drivers.get(cell["connections"][port][0], ("", None))
            if kind.startswith(SOURCES[cell["type"]]) and driver not in taken:
                taken.add(driver)
            else:
                found.add((name, port))
    return found


def net_names(module):
    """The best name of each bit: a register's own, or else the shortest."""
    names = {}
    for name, net in module["netnames"].items():
        if net.get("hide_name"):
            continue
        rank = (not re.search(r"_q(\.|\[|$)", name), len(name), name)
        for bit in net["bits"]:
            if isinstance(bit, int) and (bit not in names or rank < names[bit]):
                names[bit] = rank
    return {bit: rank[2] for bit, rank in names.items()}


def ram_name(cell):
    """Of the memory that the cell is a piece of."""
    return re.sub(r"(\.\d+)*$", "", cell)


class Netlist:
    def __init__(self, module):
        self.names = net_names(module)
        self.into = collections.defaultdict(list)  # bit -> [(source bit, levels, cell)]
        self.starts = {}  # bit -> name
        self.ends = []  # (bit, name)
        ports = {}
        self.through = passed_through(module["cells"])
        for cell, body in module["cells"].items():
            self._add(cell, body, ports)
        for name, port in module["ports"].items():
            bits = [bit for bit in port["bits"] if isinstance(bit, int)]
            if port["direction"] == "input":
                self.starts.update((bit, f"port {name}") for bit in bits)
            else:
                self.ends += [(bit, f"port {name}") for bit in bits]

    def _add(self, cell, body, ports):
        kind, pins = body["type"], body["connections"]
        if kind not in ports:
            directions = body["port_directions"]
            inputs = [p for p, d in directions.items() if d == "input"]
            outputs = [p for p, d in directions.items() if d == "output"]
            state = re.fullmatch(STATE, kind) is not None
            arcs = arcs_of(kind, inputs, outputs)
            if not state and not arcs and outputs:
                raise ValueError(f"no arcs are known for {kind}")
            ports[kind] = inputs, outputs, state, arcs
        inputs, outputs, state, arcs = ports[kind]
        label = f"{kind}({ram_name(cell)})" if state and arcs else kind
        for source, target, levels in arcs:
            for bit in pins[target]:
                passed = (cell, source) in self.through
                self.into[bit] += [(s, levels + passed, label) for s in pins[source]
                                   if isinstance(s, int)]  # fmt: skip
        if state:
            own = self._state_name(cell, body, outputs)
            read = {source for source, _, _ in arcs}
            for port in outputs:
                self.starts.update((bit, own) for bit in pins[port] if bit not in self.into)
            for port in inputs:
                # The address of a write, which some address of LUT RAM always is, ends a path.
                if re.fullmatch(CLOCK, port) or (port in read and not kind.startswith("RAM")):
                    continue
                self.ends += [(b, f"{own} {port}") for b in pins.get(port, []) if isinstance(b, int)]

    def _state_name(self, cell, body, outputs):
        if not re.match("FD|LD|SRL", body["type"]):
            return ram_name(cell)
        bits = [bit for port in outputs for bit in body["connections"][port]]
        name = next((self.names[bit] for bit in bits if bit in self.names), None)
        if name is None:
            # A register that Yosys has made: the instance, and the line that it comes from.
            place = re.match(r"\$flatten\\(.*?)\.\$", cell)
            sources = body.get("attributes", {}).get("src", "").split("|")
            line = next((s.split("/")[-1] for s in sources if s.startswith("hw/")), "unnamed")
            name = f"{place[1] if place else cell} ({line})"
        return name

    def arrivals(self):
        """bit -> (levels, bit before, cell type)"""
        done = {}
        for goal, _ in self.ends:
            stack = [goal]
            while stack:
                bit = stack[-1]
                if bit in done:
                    stack.pop()
                    continue
                wait = [s for s, _, _ in self.into.get(bit, ()) if s not in done]
                if wait:
                    if len(stack) > 100000:
                        raise ValueError(f"a loop through {self.names.get(bit, bit)}")
                    stack.extend(wait)
                    continue
                best = (0, None, None)
                for source, levels, kind in self.into.get(bit, ()):
                    candidate = (done[source][0] + levels, source, kind)
                    best = max(best, candidate, key=lambda c: (c[0], c[1] is not None))
                done[bit] = best
                stack.pop()
        return done


def deepest(netlist, count):
    """The deepest path of each pair of start and end, those of several ways counted once."""
    module = next(m for m in netlist["modules"].values() if m["cells"])
    graph = Netlist(module)
    arrivals = graph.arrivals()
    found = {}
    for bit, end in graph.ends:
        levels = arrivals[bit][0]
        cells = []
        while arrivals[bit][1] is not None:
            _, before, kind = arrivals[bit]
            if kind != (cells[-1] if cells else None) or not kind.startswith("CARRY"):
                cells.append(kind)
            bit = before
        # A RAM's contents: read through LUT RAM, of which the path has the address before.
        start = graph.starts.get(bit, graph.names.get(bit, str(bit)))
        key = tuple(re.sub(r"\[\d+\]", "[]", name) for name in (start, end))
        if key not in found or found[key].levels < levels:
            found[key] = Path(levels, start, end, cells[::-1])
    return sorted(found.values(), key=lambda p: (-p.levels, p.start, p.end))[:count]


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__.split("\n\n")[-1].strip())
    with open(sys.argv[1], encoding="utf-8") as file:
        netlist = json.load(file)
    for path in deepest(netlist, int(sys.argv[2]) if len(sys.argv) == 3 else 20):
        print(f"{path.levels:3} {path.start} -> {path.end}   {' '.join(path.cells)}")


if __name__ == "__main__":
    main()
