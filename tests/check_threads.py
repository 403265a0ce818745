#!/usr/bin/python3
"""Programs of tests/one-thread.txt, which the thread sanitizer is not asked about, start no thread; all that start none are there.
What tests/sanitized.txt says was played with sanitizers are programs of today, and CONTRIBUTING.md tells the same totals.

usage: tests/check_threads.py BUILD"""

import sys
from pathlib import Path

from check_hardening import installed, options
from check_start import needed, symbols
from tap import Tap

TESTS = Path(__file__).resolve().parent
LIST = TESTS / "one-thread.txt"
RECORD = TESTS / "sanitized.txt"
SANITIZERS = ("address,undefined", "thread")
STARTERS = ("libuv.", "libpmix.")  # libraries with threads of their own that call functions of ours


def starts_threads(path):
    return any(name.split("@")[0] == "pthread_create" for name in symbols(path)) or \
        any(lib.startswith(STARTERS) for lib in needed(path))


def totals(rows):
    """The words in CONTRIBUTING.md for what the record holds."""
    parts = []
    for sanitizer in SANITIZERS:
        of = [row for row in rows if row[0] == sanitizer]
        parts.append(f"{len(of)} programs with `{sanitizer}` ({sum(int(row[4]) for row in of)} tests passed, "
                     f"{sum(int(row[5]) for row in of)} skipped)")
    return " and ".join(parts)


def check_record(tap):
    lines = [line for line in RECORD.read_text().splitlines() if not line.startswith("#")]
    rows = [line.split() for line in lines]
    programs = {("python", file.stem) for file in (TESTS / "integration").rglob("test_*.py")} | \
        {("chaos", file.stem) for file in (TESTS / "chaos").glob("chaos_*.py")}
    tap.check("rows of what sanitizers saw are in order, once each, and name programs of today",
              [" ".join(row) for row in rows if len(row) != 6 or row[0] not in SANITIZERS or (row[1], row[2]) not in programs] +
              ([] if [row[:3] for row in rows] == sorted({tuple(row[:3]): list(row[:3]) for row in rows}.values()) else ["order"]))
    page = " ".join((TESTS.parent / "CONTRIBUTING.md").read_text().split())
    tap.check("CONTRIBUTING.md tells the totals of what sanitizers saw", [] if totals(rows) in page else [f"say: {totals(rows)}"])


def main():
    build = Path(sys.argv[1]).resolve()
    tap = Tap()
    listed = LIST.read_text().split()
    tap.check("the list is in order", [] if listed == sorted(set(listed)) else ["sort -u tests/one-thread.txt"])
    sanitize = options(build).get("b_sanitize", "none")
    if sanitize == "none":
        programs = {str(path.relative_to(build)): path for path in installed(build) if ".so" not in path.suffixes}
        tap.check("programs of the list start no thread",
                  [f"{name} calls pthread_create() or loads a library that does" if name in programs else f"{name} is no program"
                   for name in listed if name not in programs or starts_threads(programs[name])])
        tap.check("programs that start no thread are in the list",
                  [f"{name} is not in {LIST.name}" for name, path in sorted(programs.items())
                   if name not in listed and not starts_threads(path)])
    else:
        tap.skip("programs start threads or are in the list", "a sanitizer's build keeps functions that nothing calls")
    if sanitize == "thread":
        tap.check("programs of the list come from a plain build (tools/take-plain)",
                  [f"{name} loads libtsan" for name in listed if any(lib.startswith("libtsan.") for lib in needed(build / name))])
    check_record(tap)
    tap.end()


if __name__ == "__main__":
    main()
