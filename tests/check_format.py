#!/usr/bin/python3
"""White space: C sources are as `make format` leaves them, and no line is too wide.

usage: tests/check_format.py [BUILD] [--shrink | --rewrite]     (house.py)"""

import re
import subprocess

from house import ROOT, hold, own_files
from tap import Tap

C_COLUMNS, PYTHON_COLUMNS = 100, 140
LITERAL = re.compile(r'[rfbuL]*"(?:[^"\\]|\\.)*"|[rfb]*\'(?:[^\'\\]|\\.)*\'')
AFTER = re.compile(r"[\s\\,;:)\]}]*$")


def is_python(path):
    if path.suffix == ".py":
        return True
    if path.suffix or "corpus" in path.parts or "golden" in path.parts:
        return False
    with open(path, "rb") as file:
        return re.match(rb"#!.*python", file.readline()) is not None


def is_text_that_hangs_over(line, limit):
    """What stands beyond the limit is one string literal, which would be harder to find in two pieces."""
    return any(m.start() < limit and AFTER.match(line[m.end():]) for m in LITERAL.finditer(line))


def wide(paths, limit):
    """file -> sentence with the first line that is too wide."""
    found = {}
    for path in paths:
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if len(line) > limit and not is_text_that_hangs_over(line, limit):
                name = str(path.relative_to(ROOT))
                found.setdefault(name, f"{name}:{number}: {len(line)} columns, more than {limit}")
    return found


def main():
    tap = Tap()
    run = subprocess.run([ROOT / "tools" / "format", "--check"], capture_output=True, text=True)
    title = "the tree is as `make format` leaves it"
    if run.returncode == 77:
        tap.skip(title, run.stderr.strip())
    else:
        tap.check(title, (run.stdout + run.stderr).splitlines()[:30] + ["-> run `make format`"] if run.returncode else [])
    files = own_files()
    c = [p for p in files if p.suffix in (".c", ".h") and p.relative_to(ROOT).parts[0] in ("src", "tests", "bench")]
    hold(tap, "no line is too wide", "columns",
         wide(c, C_COLUMNS) | wide([p for p in files if is_python(p)], PYTHON_COLUMNS),
         "break the line; a string literal may hang over when nothing else does")
    tap.end()


if __name__ == "__main__":
    main()
