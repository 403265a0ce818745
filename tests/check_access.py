#!/usr/bin/python3
"""docs/access.md is what src/wire/access.def and the matrix of test_access.py say.

usage: tests/check_access.py BUILD"""

import subprocess
from pathlib import Path

from tap import Tap

ROOT = Path(__file__).resolve().parent.parent


def main():
    tap = Tap()
    done = subprocess.run([ROOT / "tools/gen-access", "--check"], capture_output=True, text=True)
    tap.check("docs/access.md is up to date", (done.stdout + done.stderr).splitlines() if done.returncode else [])
    tap.end()


if __name__ == "__main__":
    main()
