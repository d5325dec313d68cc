#!/usr/bin/env python3
"""Tests of flow.py on the RTL: needs Yosys, takes seconds."""

import collections
import json
import unittest

import ecp5
import flow
import levels


class Flow(unittest.TestCase):
    def test_equal_stages_are_one(self):
        design = flow.Elaborated("test_shell", "scan_shell", {"Ways": 4}, ["hw/syn/scan_shell.sv"])
        found = collections.defaultdict(set)
        for path, module in design.stages():
            found[module.split("$")[0], design.hash(module)].add(path)
        ways = {f"u_unit.g_way[{way}].u_entry_decoder" for way in range(4)}
        self.assertIn(ways, found.values())
        nodes = {f"u_unit.u_merge_tree.g_node[{node}].u_node" for node in (2, 3)}
        self.assertIn(nodes, found.values())
        engines = [paths for (module, _), paths in found.items() if module == "\\cu_read_engine"]
        self.assertEqual(len(engines), 2, "the engines of both read ports differ")

    def test_parts_join_to_the_whole(self):
        parameters = {"Ways": 3, "ValueBytes": 8, "MaxKeyBytes": 64}
        netlist, places = flow.synthesise(flow.XCUP, "test_tree", "cu_merge_tree", parameters)
        self.assertEqual([module for _, module, _ in places],
                         ["cu_merge_node", "cu_merge_node", "cu_merge_tree"])  # fmt: skip
        whole = json.loads(netlist.read_text(encoding="utf-8"))
        cells = whole["modules"]["cu_merge_tree"]["cells"].values()
        registers = sum(cell["type"].startswith("FD") for cell in cells)
        parts = sum(n for _, _, part in places for kind, n in part.items() if kind[:2] == "FD")
        # Not all: the deeper node has its way numbers' bits that are always 0.
        self.assertGreater(registers, 0.9 * parts)
        self.assertLessEqual(registers, parts)
        path = levels.deepest(whole, 1)[0]
        self.assertGreater(path.levels, 2)
        self.assertRegex(path.end, r"g_node\[\d\]\.u_node\.")

    def test_rotators_take_two_luts_per_bit(self):
        netlist, _ = flow.synthesise(flow.XCUP, "test_rotate", "cu_byte_rotate", {"Bytes": 16})
        whole = json.loads(netlist.read_text(encoding="utf-8"))
        cells = whole["modules"]["cu_byte_rotate"]["cells"].values()
        self.assertEqual([cell["type"] for cell in cells], ["LUT6"] * 256)
        self.assertEqual(levels.deepest(whole, 1)[0].levels, 2)

    def test_a_byte_multiplexer_picks(self):
        netlist, _ = flow.synthesise(flow.XCUP, "test_mux", "cu_byte_mux", {})
        module = json.loads(netlist.read_text(encoding="utf-8"))["modules"]["cu_byte_mux"]
        ports = {name: port["bits"] for name, port in module["ports"].items()}
        luts = {cell["connections"]["O"][0]: cell for cell in module["cells"].values()}
        for i, out in enumerate(ports["byte_o"]):
            inputs = [luts[out]["connections"][f"I{n}"][0] for n in range(6)]
            init = luts[out]["parameters"]["INIT"][::-1]
            for pick in range(4):
                for byte in range(4):  # that alone has the bit
                    ones = {ports["bytes_i"][8 * byte + i]}
                    ones |= {bit for n, bit in enumerate(ports["pick_i"]) if pick >> n & 1}
                    row = sum((bit in ones) << n for n, bit in enumerate(inputs))
                    self.assertEqual(init[row], "1" if pick == byte else "0")

    def test_an_ecp5_rotates_with_two_luts_per_bit(self):
        top, parameters = "cu_byte_rotate", {"Bytes": 4, "OutBytes": 4}
        netlist, _ = flow.synthesise(ecp5.TARGET, "test_ecp5_rotate", top, parameters)
        module = json.loads(netlist.read_text(encoding="utf-8"))["modules"][top]
        ports = {name: port["bits"] for name, port in module["ports"].items()}
        cells = module["cells"].values()
        kinds = collections.Counter(cell["type"] for cell in cells)
        self.assertEqual(kinds, {"LUT4": 64, "PFUMX": 32})
        drivers = {cell["connections"]["Z"][0]: cell for cell in cells}

        def value(bit, ones):
            if bit not in drivers:
                return bit in ones
            pins = {name: bits[0] for name, bits in drivers[bit]["connections"].items()}
            if drivers[bit]["type"] == "PFUMX":
                return value(pins["ALUT" if value(pins["C0"], ones) else "BLUT"], ones)
            row = sum(value(pins[name], ones) << n for n, name in enumerate("ABCD"))
            return drivers[bit]["parameters"]["INIT"][::-1][row] == "1"

        for position in range(4):
            for byte in range(4):  # that alone is not zero
                ones = set(ports["data_i"][8 * byte : 8 * byte + 8])
                ones |= {bit for n, bit in enumerate(ports["pos_i"]) if position >> n & 1}
                for i, out in enumerate(ports["data_o"]):
                    self.assertEqual(value(out, ones), (i // 8 + position) % 4 == byte)

    def test_wide_multiplexers_need_their_luts(self):
        def cell(kind, out, **inputs):
            ports = {"O": [out], **{name: [bit] for name, bit in inputs.items()}}
            directions = {name: "output" if name == "O" else "input" for name in ports}
            return {"type": kind, "connections": ports, "port_directions": directions}

        cells = {
            "a": cell("LUT6", 10), "b": cell("LUT2", 11), "q": cell("FDRE", 12),
            "m": cell("MUXF7", 20, I0=10, I1=11, S=12),  # has both
            "n": cell("MUXF7", 21, I0=10, I1=12, S=12),  # "a" drives "m", and 12 is a register
            "o": cell("MUXF7", 22, I0="0", I1=30, S=12),  # a constant and a port
            "p": cell("MUXF8", 23, I0=20, I1=11, S=12),  # a LUT cannot drive it
        }  # fmt: skip
        self.assertEqual(
            levels.passed_through(cells),
            {("n", "I0"), ("n", "I1"), ("o", "I0"), ("o", "I1"), ("p", "I1")},
        )
        self.assertEqual(flow.count(cells)["THROUGH"], 5)


if __name__ == "__main__":
    unittest.main()
