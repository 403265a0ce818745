#!/usr/bin/python3
"""A manual page for every program and file, and in it every name its tables have.

usage: tests/check_man.py BUILD"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from tap import Tap

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("cli", "ctld", "dbd", "noded", "stepd", "penstock")
SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "EXAMPLES", "SEE ALSO"]
FILES = {"slurm.conf": ("KEY", "NODE_KEY", "PART_KEY", "NODESET_KEY", "DOWN_KEY", "POWER_KEY"),
         "gres.conf": ("GRES_KEY",), "cgroup.conf": ("CGROUP_KEY",),
         "acct_gather.conf": ("GATHER_KEY",), "helpers.conf": ("HELPER_KEY",), "job_container.conf": ("NAMESPACE_KEY",), "oci.conf": ("OCI_KEY",),
         "slurmdbd.conf": ("DBD_KEY",)}


def programs(build):
    """What is installed for users and administrators."""
    out = subprocess.run(["meson", "introspect", "--installed", str(build)], check=True, capture_output=True, text=True)
    for source, target in sorted(json.loads(out.stdout).items()):
        path = Path(source)
        if path.parent.name in FOLDERS and Path(target).parent.name in ("bin", "sbin") and os.access(path, os.X_OK):
            yield path


def page_of(name):
    return next(iter(sorted((ROOT / "man").glob(f"{name}.[158].scd"))), None)


def text_of(page, program):
    """The source with the generated parts, without escapes."""
    source = page.read_text()
    if re.search(r"^@\w+@$", source, re.M):
        source = subprocess.run([str(ROOT / "tools/gen-man-options"), str(page), str(program)], check=True,
                                capture_output=True, text=True).stdout
    return source.replace("\\", "")


def missing_names(text, program):
    out = subprocess.run([str(program), "--help-interface"], check=True, capture_output=True, text=True).stdout
    words = set(re.findall(r"[\w!-]+", text))
    lower = {w.lower() for w in words}
    for line in out.splitlines():
        row = line.split("\t")
        if row[0] == "option":
            if row[5] != "hidden" and f"*--{row[1]}*" not in text:
                yield f"--{row[1]}"
            yield from (env for env in row[6].split(",") if env and env not in words)
        elif row[0].endswith("field"):
            if row[-1] == "shown" and row[1] != "-" and row[1].lower() not in lower:
                yield row[1]
            if row[-1] == "shown" and row[2] != "-" and f"%{row[2]}" not in text:
                yield f"%{row[2]}"
        elif row[2] != "hidden" and row[1].lower() not in lower:
            yield f"{row[0]} {row[1]}"


def main():
    build, tap = Path(sys.argv[1]).resolve(), Tap()
    own_tables = {p.name for p in programs(build) if p.parent.name == "cli" and not p.name.startswith("slurmstepd-")}
    for program in programs(build):
        page = page_of(program.name)
        if not page:
            tap.check(f"{program.name} has a page", [f"man/{program.name}.1.scd is missing"])
            continue
        text = text_of(page, program)
        heads = re.findall(r"^# (.*)", text, re.M)
        need = [s for s in SECTIONS if program.name in own_tables or s not in ("EXAMPLES", "OPTIONS", "ENVIRONMENT", "EXIT STATUS")]
        problems = [f"no section {s}" for s in need if s not in heads]
        if program.name in own_tables:
            problems += [f"not in the page: {name}" for name in missing_names(text, program)]
        tap.check(f"{program.name} has a page with all its names", problems)
    keys = (ROOT / "src/conf/conf_keys.def").read_text()
    for file, macros in FILES.items():
        text = (ROOT / "man" / f"{file}.5.scd").read_text().replace("\\", "")
        known = re.findall(rf"^(?:{'|'.join(macros)})\(\w+, \"(\w+)\"", keys, re.M)
        tap.check(f"{file}(5) has its {len(known)} keys", [k for k in known if not re.search(rf"\b{k}\b", text)])
    tap.end()


main()
