#!/usr/bin/python3
"""What a start costs before main(): programs that are started for each job, step or look take few libraries and tables.

usage: tests/check_start.py BUILD

A library that the loader maps costs a start about 20 us of CPU, and each page of tables with addresses in it 4 us, for the page
is copied and relocated (bench/README.md)."""

import re
import subprocess
import sys
from pathlib import Path

from check_hardening import options, readelf
from tap import Tap

COMMANDS = ["sacct", "salloc", "sattach", "sbatch", "sbcast", "scancel", "scontrol", "sdiag", "sinfo", "squeue", "srun", "sstat"]
STEP = ["sbatch", "srun", "salloc", "sattach", "sbcast"]  # these, and the step daemon, speak WIRE_OPS_STEP alone
LIBC = re.compile(r"^(libc\.so\.\d+|ld-linux\S*|libpthread\S*)$")


def needed(path):
    return re.findall(r"\(NEEDED\) +Shared library: \[(\S+)\]", readelf("-d", path))


def symbols(path):
    text = subprocess.run(["nm", str(path)], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in text.splitlines()}


def main():
    build = Path(sys.argv[1]).resolve()
    tap = Tap()
    if options(build).get("b_sanitize", "none") != "none":
        tap.skip("commands load libc alone", "sanitizers bring libraries of their own")
    else:
        tap.check("commands load libc alone", [f"{name} loads {lib}" for name in COMMANDS
                                               for lib in needed(build / "src/cli" / name) if not LIBC.match(lib)])
    programs = [build / "src/cli" / name for name in STEP] + [build / "src/stepd/slurmstepd"]
    tap.check("programs that start steps have no tables of other operations",
              [f"{path.name} has {name}" for path in programs
               for name in ["pst__diag_reply__descriptor", "pst__acct_admin_reply__descriptor"] if name in symbols(path)])
    tap.end()


if __name__ == "__main__":
    main()
