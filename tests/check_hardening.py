#!/usr/bin/python3
"""What the compiler and the linker did against mistakes of ours, in each program that is installed.

usage: tests/check_hardening.py BUILD

Every program is position-independent and has its tables read-only once it runs (RELRO, BIND_NOW), no executable stack,
no segment that is writable and executable; functions guard their stack, use the checking versions of the library's
functions and, on x86-64, begin where a jump may land.  Builds with sanitizers are looked at without what these replace."""

import json
import re
import subprocess
import sys
from pathlib import Path

from tap import Tap

FLAGS = ["-fstack-protector-strong", "-fstack-clash-protection"]  # of each source of ours


def readelf(*words):
    return subprocess.run(["readelf", "-W", *map(str, words)], capture_output=True, text=True, check=True).stdout


def options(build):
    rows = json.loads((build / "meson-info" / "intro-buildoptions.json").read_text())
    return {row["name"]: row["value"] for row in rows}


def installed(build):
    """Programs and modules of meson's list of what is installed."""
    plan = json.loads((build / "meson-info" / "intro-installed.json").read_text())
    for path in sorted(map(Path, plan)):
        if path.is_file() and path.open("rb").read(4) == b"\x7fELF":
            yield path


def layout_problems(path):
    """What the headers say: the type, the segments, the dynamic section."""
    head, segments, dynamic = readelf("-h", path), readelf("-l", path), readelf("-d", path)
    if "Type:                              DYN" not in head:
        yield "it is not position-independent"
    if ".so" not in path.suffixes and not re.search(r"FLAGS_1.*\bPIE\b", dynamic):
        yield "it is a library, not a program that may be loaded anywhere"
    if "GNU_RELRO" not in segments:
        yield "no RELRO segment"
    if not re.search(r"FLAGS_1.*\bNOW\b", dynamic):
        yield "symbols are bound late, by a table that stays writable"
    if "TEXTREL" in dynamic:
        yield "it has text relocations"
    if not re.search(r"GNU_STACK.* RW  0x", segments):
        yield "its stack may be executable"
    if re.search(r"^ +LOAD .* RWE ", segments, re.M):
        yield "a segment is writable and executable"


def code_problems(path, fortified):
    """What the symbols say."""
    symbols = readelf("-s", path)
    if "__stack_chk_fail" not in symbols:
        yield "no function guards its stack"
    if fortified and not re.search(r"\b__\w+_chk\b", symbols):
        yield "no checking version of a library function is used (_FORTIFY_SOURCE)"


def starts_with_endbr(path):
    """Does main begin with endbr64, where an indirect jump may land?  None: not there to be looked at."""
    found = re.search(r"^ *\d+: (\w+) +\d+ FUNC +GLOBAL +DEFAULT +(\d+) main$", readelf("-s", path), re.M)
    if not found:
        return None
    address, section = int(found.group(1), 16), int(found.group(2))
    row = re.search(rf"^ +\[ *{section}\] \S+ +PROGBITS +(\w+) (\w+) ", readelf("-S", path), re.M)
    with path.open("rb") as f:
        f.seek(address - int(row.group(1), 16) + int(row.group(2), 16))
        return f.read(4) == b"\xf3\x0f\x1e\xfa"


def flag_problems(build, wanted):
    """Sources of ours that are compiled without a flag that the build should have."""
    rows = json.loads((build / "compile_commands.json").read_text())
    for row in rows:
        if "src/" in row["file"] and row["file"].endswith(".c"):
            words = row["command"].split()
            missing = [f for f in wanted if f not in words]
            if missing or not {"-fPIE", "-fPIC"} & set(words):
                yield f"{row['file']}: no {' '.join(missing) or '-fPIE'}"


def main():
    build = Path(sys.argv[1]).resolve()
    chosen = options(build)
    sanitized = chosen.get("b_sanitize", "none") != "none"
    fortified = not sanitized and chosen["optimization"] not in ("0", "plain")
    tap = Tap()
    names, x86 = set(), False
    for path in installed(build):
        names.add(path.name)
        x86 = "X86-64" in readelf("-h", path)
        problems = [*layout_problems(path), *code_problems(path, fortified)]
        if x86 and starts_with_endbr(path) is False:
            problems.append("main does not begin with endbr64 (-fcf-protection)")
        tap.check(f"{path.name} is hardened", problems)
    expected = {"slurmctld", "slurmd", "sackd", "penstock-fetch", "slurmdbd", "slurmstepd", "slurmstepd-relay", "slurmstepd-plug",
                "slurmstepd-pmi2", "slurmstepd-oci", "slurmstepd-cxi", "slurmstepd-profile", "sbatch", "srun", "squeue", "scontrol", "sacctmgr",
                "penstock", "pam_slurm_adopt.so", "libnss_slurm.so.2"}
    tap.check("the programs are among what is installed", [f"{name} is not" for name in sorted(expected - names)])
    hidden = "--no-warnings" in (build / "build.ninja").read_text()
    tap.check("the linker says what is missing", ["--no-warnings hides undefined symbols: tools/link-static"] if hidden else [])
    wanted = FLAGS + (["-D_FORTIFY_SOURCE=3"] if fortified else []) + (["-fcf-protection=full"] if x86 else [])
    tap.check("all of our sources are compiled with the flags", list(flag_problems(build, wanted))[:20])
    tap.end()


if __name__ == "__main__":
    main()
