#!/usr/bin/env python3
"""Prints "N passed, N failed" for a JUnit file of ctest's; fails unless all passed.

usage: test_summary.py ctest.xml
"""

import sys
import xml.etree.ElementTree


def main():
    try:
        cases = xml.etree.ElementTree.parse(sys.argv[1]).getroot().findall("testcase")
    except (OSError, xml.etree.ElementTree.ParseError) as error:
        sys.exit(f"no test results: {error}")
    # ctest's states are run, fail, notrun and disabled; a test that did not run has not passed.
    failed = [case.get("name") for case in cases if case.get("status") != "run"]
    for name in failed:
        print(f"failed: {name}")
    print(f"{len(cases) - len(failed)} passed, {len(failed)} failed")
    sys.exit(1 if failed or not cases else 0)


if __name__ == "__main__":
    main()
