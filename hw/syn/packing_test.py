#!/usr/bin/env python3
"""Tests of packing.py on netlists made by hand."""

import unittest

import packing


def lut(*inputs):
    pins = {f"I{i}": [net] for i, net in enumerate(inputs)}
    directions = {**dict.fromkeys(pins, "input"), "O": "output"}
    return {"type": f"LUT{len(inputs)}", "port_directions": directions,
            "connections": {**pins, "O": [0]}}  # fmt: skip


class Pairs(unittest.TestCase):
    def pairs(self, *luts):
        return packing.pairs({str(i): each for i, each in enumerate(luts)})

    def test_five_inputs_in_all(self):
        self.assertEqual(self.pairs(lut(1, 2, 3), lut(3, 4, 5)), 1)
        self.assertEqual(self.pairs(lut(1, 2, 3, 4), lut(4, 5, 6)), 0)
        self.assertEqual(self.pairs(lut(1, 2, 3, 4, 5), lut(1, 2, 3, 4, 5)), 1)
        self.assertEqual(self.pairs(lut(1, 2, 3, 4, 5, 6), lut(1, 2)), 0)

    def test_only_neighbours(self):
        self.assertEqual(self.pairs(lut(1, 2), lut(3, 4)), 0)
        self.assertEqual(self.pairs(lut(1, 2, "0"), lut(3, 4, "0")), 0)

    def test_each_in_one_pair(self):
        self.assertEqual(self.pairs(lut(1, 2), lut(1, 2), lut(1, 2)), 1)

    def test_most_in_common_first(self):
        # 0 with 1 would leave 2 and 3 alone.
        self.assertEqual(self.pairs(lut(1, 2, 3), lut(3, 4, 5), lut(1, 2, 3), lut(4, 5, 3)), 2)

    def test_nets_of_many_readers_do_not_count(self):
        self.assertEqual(self.pairs(*[lut(1, 100 + i) for i in range(packing.READERS + 1)]), 0)


if __name__ == "__main__":
    unittest.main()
