#!/usr/bin/python3
"""Compile each header alone: it must include what it needs.

usage: tests/check_headers.py BUILD"""

import concurrent.futures
import os
import subprocess
import sys
from pathlib import Path

from tap import Tap

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = ["lua5.4", "libprotobuf-c", "libuv", "jansson", "hwloc", "libxxhash", "libedit", "cmocka"]


def compile_alone(compiler, header):
    text = f'#include "{header}"\n'
    run = subprocess.run([*compiler, "-x", "c", "-fsyntax-only", "-"], input=text, text=True, cwd=ROOT,
                         capture_output=True)
    return run.stderr.splitlines()[:20] if run.returncode else []


def main():
    build = Path(sys.argv[1]).resolve()
    flags = subprocess.run(["pkg-config", "--cflags", *LIBRARIES], capture_output=True, text=True,
                           check=True).stdout.split()
    compiler = [*os.environ.get("CC", "gcc").split(), "-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Wextra",
                "-Wno-unused-parameter", "-Werror", *flags, f"-I{ROOT}/src", f"-I{build}",
                f"-I{build}/proto", f"-I{build}/src/stepd", "-include", f"{ROOT}/src/base/banned.h"]
    headers = sorted(ROOT.glob("src/**/*.h"))
    tap = Tap()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda h: compile_alone(compiler, h), headers)
        for header, problems in zip(headers, results):
            tap.check(f"{header.relative_to(ROOT)} compiles alone", problems)
    tap.end()


if __name__ == "__main__":
    main()
