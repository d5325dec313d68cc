#!/usr/bin/env python3
"""Tests of levels.py on netlists made by hand."""

import unittest

import levels


def cell(kind, inputs, outputs):
    """Pins by name, each a bit or a list of bits."""
    pins = {**inputs, **outputs}
    directions = {**dict.fromkeys(inputs, "input"), **dict.fromkeys(outputs, "output")}
    bits = {pin: bit if isinstance(bit, list) else [bit] for pin, bit in pins.items()}
    return {"type": kind, "port_directions": directions, "connections": bits}


def netlist(cells, names, ports=None):
    nets = {name: {"bits": [bit]} for name, bit in names.items()}
    return {"modules": {"top": {"cells": cells, "netnames": nets, "ports": ports or {}}}}


def register(d, q):
    return cell("FDRE", {"D": d, "C": 1}, {"Q": q})


class Levels(unittest.TestCase):
    def deepest(self, cells, names, ports=None):
        return levels.deepest(netlist(cells, names, ports), 10)

    def test_luts_between_registers(self):
        cells = {
            "a": register(20, 10),
            "b": register(12, 20),
            "l1": cell("LUT2", {"I0": 10, "I1": "1"}, {"O": 11}),
            "l2": cell("LUT1", {"I0": 11}, {"O": 12}),
        }
        paths = self.deepest(cells, {"u.a_q": 10, "u.b_q": 20, "u.b": 20})
        self.assertEqual([(p.levels, p.start, p.end) for p in paths],
                         [(2, "u.a_q", "u.b_q D"), (0, "u.b_q", "u.a_q D")])  # fmt: skip
        self.assertEqual(paths[0].cells, ["LUT2", "LUT1"])

    def test_the_longer_way_counts(self):
        cells = {
            "a": register("0", 10),
            "l1": cell("LUT1", {"I0": 10}, {"O": 11}),
            "l2": cell("LUT2", {"I0": 10, "I1": 11}, {"O": 12}),
            "b": register(12, 20),
        }
        self.assertEqual(self.deepest(cells, {"a": 10, "b": 20})[0].levels, 2)

    def test_carry_chain_is_one_level(self):
        low = {"S": [11, 11, 11, 11], "DI": [10, 10, 10, 10], "CI": "0", "CYINIT": "0"}
        high = {"S": ["0"] * 4, "DI": ["0"] * 4, "CI": 34, "CYINIT": "0"}
        cells = {
            "a": register("0", 10),
            "l1": cell("LUT1", {"I0": 10}, {"O": 11}),
            "c1": cell("CARRY4", low, {"CO": [31, 32, 33, 34], "O": [41, 42, 43, 44]}),
            "c2": cell("CARRY4", high, {"CO": [51, 52, 53, 54], "O": [61, 62, 63, 64]}),
            "b": register(64, 20),
        }
        path = self.deepest(cells, {"a": 10, "b": 20})[0]
        self.assertEqual((path.levels, path.cells), (2, ["LUT1", "CARRY4"]))

    def test_wide_multiplexer_is_none(self):
        cells = {
            "a": register("0", 10),
            "l1": cell("LUT6", {"I0": 10}, {"O": 11}),
            "l2": cell("LUT6", {"I0": 10}, {"O": 13}),
            "m": cell("MUXF7", {"I0": 11, "I1": 13, "S": 10}, {"O": 12}),
            "b": register(12, 20),
        }
        self.assertEqual(self.deepest(cells, {"a": 10, "b": 20})[0].levels, 1)

    def test_what_passes_through_a_lut_to_a_wide_multiplexer_takes_a_level(self):
        cells = {
            "a": register("0", 10),
            "l": cell("LUT6", {"I0": 10}, {"O": 11}),
            "m": cell("MUXF7", {"I0": 11, "I1": "0", "S": 10}, {"O": 12}),
            "n": cell("MUXF7", {"I0": 12, "I1": 11, "S": 10}, {"O": 13}),  # 11 is beside "m"
            "b": register(13, 20),
        }
        self.assertEqual(self.deepest(cells, {"a": 10, "b": 20})[0].levels, 2)

    def test_lut_ram_is_read_in_a_level_and_ends_writes(self):
        ram = {"ADDRA": [10], "ADDRD": [15], "DIA": [16], "WE": 17, "WCLK": 1}
        cells = {
            "a": register("0", 10),
            "w": register("0", 5),
            "lw": cell("LUT1", {"I0": 5}, {"O": 16}),
            "m.0.0": cell("RAM32M", ram, {"DOA": [11]}),
            "l1": cell("LUT1", {"I0": 11}, {"O": 12}),
            "b": register(12, 20),
        }
        found = {(p.start, p.end): p for p in self.deepest(cells, {"a": 10, "w": 5, "b": 20})}
        self.assertEqual(found["a", "b D"].levels, 2)
        self.assertEqual(found["a", "b D"].cells, ["RAM32M(m)", "LUT1"])
        self.assertEqual(found["w", "m DIA"].levels, 1)

    def test_block_ram_begins_and_ends(self):
        pins = {"ADDRARDADDR": [11], "CLKARDCLK": 1}
        cells = {
            "a": register("0", 10),
            "l1": cell("LUT1", {"I0": 10}, {"O": 11}),
            "m": cell("RAMB36E2", pins, {"DOUTADOUT": [12]}),
            "l2": cell("LUT1", {"I0": 12}, {"O": 13}),
            "b": register(13, 20),
        }
        found = {(p.start, p.end): p.levels for p in self.deepest(cells, {"a": 10, "b": 20})}
        self.assertEqual(found["a", "m ADDRARDADDR"], 1)
        self.assertEqual(found["m", "b D"], 1)

    def test_enable_and_ports_count(self):
        ports = {"i": {"direction": "input", "bits": [2]}, "o": {"direction": "output", "bits": [3]}}
        cells = {
            "l1": cell("LUT1", {"I0": 2}, {"O": 3}),
            "b": cell("FDRE", {"D": "0", "CE": 3, "C": 1}, {"Q": 20}),
        }
        found = {(p.start, p.end): p.levels for p in self.deepest(cells, {"b": 20}, ports)}
        self.assertEqual(found, {("port i", "b CE"): 1, ("port i", "port o"): 1})

    def test_ways_count_once(self):
        cells, names = {}, {}
        for way in range(3):
            cells[f"a{way}"] = register("0", 10 * way + 10)
            cells[f"l{way}"] = cell("LUT1", {"I0": 10 * way + 10}, {"O": 10 * way + 11})
            cells[f"b{way}"] = register(10 * way + 11, 10 * way + 12)
            names |= {f"g[{way}].a": 10 * way + 10, f"g[{way}].b": 10 * way + 12}
        self.assertEqual(len(self.deepest(cells, names)), 1)

    def test_register_without_a_name(self):
        cells = {"$flatten\\u.v.$auto$1": register(2, 10)}
        cells["$flatten\\u.v.$auto$1"]["attributes"] = {"src": "hw/rtl/x.sv:7.1-9.2|y.sv:1"}
        self.assertEqual(self.deepest(cells, {})[0].end, "u.v (x.sv:7.1-9.2) D")

    def test_unknown_cell_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "MYSTERY"):
            self.deepest({"x": cell("MYSTERY", {"I": 2}, {"O": 3})}, {})


if __name__ == "__main__":
    unittest.main()
