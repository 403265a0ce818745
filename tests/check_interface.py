#!/usr/bin/python3
"""docs/interface.md is up to date, and each row that works names a test that exists and holds the row's name.

usage: tests/check_interface.py BUILD

UNSHOWN_MAX is how many rows may work without a test.  The number only goes down: a new name needs a test."""

import subprocess
import sys
from pathlib import Path

from tap import Tap

ROOT = Path(__file__).resolve().parent.parent
UNSHOWN_MAX = 0


def main():
    tap = Tap()
    done = subprocess.run([sys.executable, str(ROOT / "tools/gen-interface"), "--check", *sys.argv[1:]],
                          capture_output=True, text=True)
    tap.check("docs/interface.md is made of the tables, its notes and its tests",
              done.stdout.splitlines() + done.stderr.splitlines() if done.returncode else [])
    rows = [line.split(" | ") for line in (ROOT / "docs/interface.md").read_text().splitlines() if line.startswith("| ")]
    tap.check("each row that works names a test",
              [" ".join(row[:2]) for row in rows if len(row) > 4 and row[2] == "works" and not row[4].strip(" |")])
    unshown = sum(len(row) > 2 and row[2] == "works, not shown by a test" for row in rows)
    tap.check("rows that work without a test do not become more",
              [f"{unshown} rows, {UNSHOWN_MAX} at most: give the new ones a test"] if unshown > UNSHOWN_MAX
              else [f"only {unshown} rows are left: lower UNSHOWN_MAX to that"] if unshown < UNSHOWN_MAX else [])
    tap.end()


if __name__ == "__main__":
    main()
