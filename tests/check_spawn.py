#!/usr/bin/python3
"""Programs are started in few places, each of which sees to what they inherit (src/base/process/inherit.h).

usage: tests/check_spawn.py [BUILD]"""

import re
from pathlib import Path

from tap import Tap

SRC = Path(__file__).resolve().parent.parent / "src"
CALL = re.compile(r"\b(exec(?:ve|v|vp|vpe|l|lp|le|veat)|fexecve|posix_spawnp?|popen|system)\(")
COMMENT = re.compile(r"/\*.*?\*/", re.S)
# Commands pass on what their user opened for the program he names.
COMMANDS = {"cli", "penstock"}
# Where daemons and what they start do it: the one function, and children before their exec.
PLACES = {"base/process/spawnprog.c", "ctld/ha/reexec.c", "ctld/notify/triggers.c", "oci/runtime.c", "stepd/shared/ask.c",
          "stepd/task/child.c", "stepd/ns/nsprogram.c", "stepd/ns/nsfirst.c"}
MAINS = ["ctld/slurmctld.c", "cxi/slurmstepd_cxi.c", "dbd/slurmdbd.c", "kube/bridge/penstock_bridge.c", "kube/hook/penstock_webhook.c",
         "kube/operator/penstock_operator.c", "noded/slurmd.c", "oci/slurmstepd_oci.c", "pmi/pmiservice.c", "sackd/sackd.c",
         "stepd/slurmstepd.c"]


def code(path):
    return COMMENT.sub(lambda m: "\n" * m.group().count("\n"), path.read_text())


def calls():
    found = {}
    for path in sorted(SRC.rglob("*.c")):
        if path.relative_to(SRC).parts[0] not in COMMANDS and (lines := [
                n for n, line in enumerate(code(path).splitlines(), 1) if CALL.search(re.sub(r'"[^"]*"', "", line))]):
            found[str(path.relative_to(SRC))] = lines
    return found


tap = Tap()
found = calls()
tap.check("programs are started with spawn_program()", [f"src/{name}:{found[name]} starts a program itself"
                                                      for name in sorted(found.keys() - PLACES)])
tap.check("no place is listed that starts none", sorted(PLACES - found.keys()))
tap.check("children close what they do not pass on",
          [f"src/{name}: no inherit_close()" for name in sorted(PLACES - {"base/process/spawnprog.c"})
           if not re.search(r"inherit_close(_at_exec)?\(", code(SRC / name))])
tap.check("spawn_program() closes the rest", [] if "addclosefrom_np(" in code(SRC / "base/process/spawnprog.c") else ["it does not"])
tap.check("daemons begin without what they were started with",
          [f"src/{name}" for name in MAINS if not re.search(r"inherit_(begin|close)\(", code(SRC / name))])
tap.end()
