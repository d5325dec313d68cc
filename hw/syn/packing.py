"""How many pairs of small LUTs may share a place: an estimate.

A LUT of UltraScale+ has six inputs and one output, or five and two (LUT6_2; UltraScale CLB user guide,
UG574). Two LUTs are taken to share one if they have an input in common and at most five together, each
in one pair only. They are paired greedily, those with most in common first. Placement may find fewer,
since neighbours on a net need not be neighbours on the device, or more.
"""

import collections
import re

# A net with more readers says nothing about who is near whom.
READERS = 64


def pairs(cells):
    """Of the LUTs among the cells of a netlist (Yosys's JSON)."""
    inputs, readers = {}, collections.defaultdict(list)
    for name, cell in cells.items():
        if re.fullmatch(r"LUT[1-5]|INV", cell["type"]):
            nets = {bit for port, bits in cell["connections"].items()
                    if cell["port_directions"][port] == "input" for bit in bits
                    if isinstance(bit, int)}  # fmt: skip
            inputs[name] = nets
            for net in nets:
                readers[net].append(name)
    found = {}  # partners that are possible, by what they have in common
    for names in readers.values():
        if len(names) <= READERS:
            for i, one in enumerate(names):
                for other in names[:i]:
                    if len(inputs[one] | inputs[other]) <= 5:
                        found[other, one] = len(inputs[one] & inputs[other])
    taken = set()
    for one, other in sorted(found, key=found.get, reverse=True):
        if one not in taken and other not in taken:
            taken |= {one, other}
    return len(taken) // 2
