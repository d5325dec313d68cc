#!/usr/bin/env python3
"""House rules that no other tool checks; see RULES and main()."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CODE = (".h", ".cc", ".sv", ".svh", ".py", ".rdl")
WARN_LINES = 600
MAX_LINES = 900
# (suffixes or None for every text file, pattern that no line may match, why)
RULES = [
    ((*CODE, ".cmake"), re.compile(r"\t"), "tab"),
    (None, re.compile(r"[ \t]+$"), "white space at the end of the line"),
    (None, re.compile(r"(?<![\w.}])/(?:home|root|work|tmp/w)/\w"), "path of some machine"),
    (CODE, re.compile(r"\b(?:TO[D]O|FIX[M]E|X[X]X)\b"), "unfinished: finish it, or open an issue"),
]
VERBATIM = {"LICENSE-APACHE", "LICENSE-GPL"}


def tracked():
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    return sorted(ROOT / n.decode() for n in names.split(b"\0") if n)


def complaints(path, text):
    lines = text.split("\n")
    for suffixes, pattern, why in RULES:
        if suffixes is None or path.suffix in suffixes:
            for number, line in enumerate(lines, 1):
                if pattern.search(line):
                    yield f"{number}: {why}"
    if text and not text.endswith("\n"):
        yield f"{len(lines)}: no newline at the end"
    # A header for C has a guard that any C compiler knows.
    if path.suffix == ".h" and "#pragma once" not in lines and "extern \"C\" {" not in lines:
        yield "1: no #pragma once"
    if path.suffix in CODE and len(lines) > MAX_LINES:
        yield f"{MAX_LINES}: {len(lines)} lines: split it by subject"


def never_run(files):
    """GoogleTest files whose directory's CMakeLists.txt does not mention them (or, for a loop over
    names, the name without _test)."""
    lists = {f.parent: f.read_text() for f in files if f.name == "CMakeLists.txt"}
    for path in files:
        if path.name.endswith("_test.cc"):
            name = path.name.removesuffix("_test.cc")
            if not re.search(rf"\b{name}(?:_test\.cc)?\b", lists.get(path.parent, "")):
                yield path


def main():
    files = [f for f in tracked() if f.is_file() and not f.is_symlink()
             and f.name not in VERBATIM and f.suffix != ".patch"]
    bad = 0
    for path in files:
        name = path.relative_to(ROOT)
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue  # a binary: test data
        for what in complaints(path, text):
            bad += 1
            print(f"{name}:{what}", file=sys.stderr)
        lines = text.count("\n")
        if path.suffix in CODE and WARN_LINES < lines <= MAX_LINES:
            print(f"{name}: {lines} lines, which is long")
    for path in never_run(files):
        bad += 1
        print(f"{path.relative_to(ROOT)}:1: in no CMakeLists.txt: it never runs", file=sys.stderr)
    print(f"{len(files)} files, {bad} offences")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
