#!/usr/bin/env python3
"""The check of the catalogue of modules: what it must complain about."""

import pathlib
import tempfile
import unittest

import catalogue


class CatalogueTest(unittest.TestCase):
    def complaints(self, old, new):
        """About the page with one piece of text replaced."""
        text = catalogue.PAGE.read_text(encoding="utf-8")
        self.assertEqual(text.count(old), 1)
        page = catalogue.PAGE
        with tempfile.TemporaryDirectory() as directory:
            catalogue.PAGE = pathlib.Path(directory) / "page.md"
            catalogue.PAGE.write_text(text.replace(old, new), encoding="utf-8")
            try:
                return list(catalogue.complaints())
            finally:
                catalogue.PAGE = page

    def test_complete(self):
        self.assertEqual(list(catalogue.complaints()), [])

    def test_missing_and_unknown(self):
        (missing, unknown) = self.complaints("| `cu_credit` |", "| `cu_loan` |")
        self.assertIn("cu_credit is not in the catalogue", missing)
        self.assertIn("cu_loan is no module", unknown)

    def test_parameters(self):
        (wrong,) = self.complaints("| Width 516, Depth 256 |", "| Width 516 |")
        self.assertIn("cu_ram_fifo has parameters ['Width', 'Depth']", wrong)

    def test_no_figure(self):
        luts = catalogue.rows()["cu_round_robin"].luts
        (empty,) = self.complaints(f"Clients 4 | 0 | {luts} |", "Clients 4 | 0 | ? |")
        self.assertIn("the row of cu_round_robin is not complete", empty)


if __name__ == "__main__":
    unittest.main()
