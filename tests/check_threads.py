#!/usr/bin/python3
"""Programs of tests/one-thread.txt, which the thread sanitizer is not asked about, start no thread; all that start none are there.

usage: tests/check_threads.py BUILD"""

import sys
from pathlib import Path

from check_hardening import installed, options
from check_start import needed, symbols
from tap import Tap

LIST = Path(__file__).resolve().parent / "one-thread.txt"
STARTERS = ("libuv.", "libpmix.")  # libraries with threads of their own that call functions of ours


def starts_threads(path):
    return any(name.split("@")[0] == "pthread_create" for name in symbols(path)) or \
        any(lib.startswith(STARTERS) for lib in needed(path))


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
    tap.end()


if __name__ == "__main__":
    main()
