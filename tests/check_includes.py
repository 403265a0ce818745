#!/usr/bin/python3
"""Hold the include graph to the floors of the architecture: arrows point downwards only, between folders of src and
between the rooms (sub-folders) of one folder.

usage: tests/check_includes.py [BUILD] [--shrink | --rewrite]     (house.py)"""

import re

from house import SRC, hold, in_src
from tap import Tap

BASE = {"base"}
FLOOR1 = BASE | {"conf", "wire", "model"}
FLOOR2 = FLOOR1 | {"journal", "sched", "acct"}
# What a folder may include beside its own headers.
MAY = {
    "base": set(),
    "conf": BASE, "wire": BASE, "model": BASE,
    "configless": {"base", "conf", "wire"},
    "journal": FLOOR1, "sched": FLOOR1, "acct": FLOOR1,
    "curl": {"base"}, "h5": {"base"}, "stream": FLOOR1 | {"journal"}, "etcd": BASE | {"curl", "journal"},
    "feed": FLOOR2, "sim": FLOOR2 | {"feed"},
    "acctd": FLOOR1 | {"acct"}, "dbd": FLOOR1 | {"acct", "acctd", "daemon", "http"},
    "sackd": {"base", "conf", "configless", "daemon"},
    "pmi": {"base", "wire"}, "oci": BASE, "cxi": BASE,
    "nss": set(),  # loaded into any program
    "pam": {"base", "conf", "stepd"},  # looks into the spool and asks a step daemon
    "lua": BASE, "rest": BASE | {"conf", "wire", "http", "session", "cli"}, "daemon": BASE | {"conf", "wire"},
    "kube": BASE | {"daemon"},  # reaches the cluster as slurmrestd's client
    "topograph": BASE,  # pure but for its room serve
    "spank": BASE, "http": {"base", "wire"},
    "ctld": FLOOR2 | {"curl", "etcd", "stream", "configless", "feed", "acctd", "lua", "daemon", "http"}, "stepd": FLOOR2 | {"spank"},
    "penstock": FLOOR2 | {"session", "feed", "sim", "cli", "topograph", "rest", "stream", "daemon"},
    "emulate": FLOOR2 | {"stepd", "daemon"},     # spool.h of stepd has the numbers of steps
    # slurmd and the step daemon share the spool's files
    "noded": FLOOR2 | {"nss", "curl", "h5", "configless", "stepd", "spank", "daemon", "http"},
    "session": {"base", "conf", "wire"},
    "lib": {"base", "conf", "wire", "session", "cli"},  # libpenstock: what the commands know, for programs
    "cli": {"base", "conf", "wire", "session", "h5", "lua", "spank"},   # and model/words/names.h: words for states
}
ALSO = {"cli": {f"model/words/{name}.h" for name in ("alloccpus", "clusterflags", "efficiency", "names", "nodedevices", "nodespec", "reqtres",
                                                         "resvwords", "stepuse")} | {"stepd/shared/spool.h", "stepd/shared/jobuser.h"},
        "cxi": {"model/words/slingshot.h"}, "lib": {"model/words/names.h"}, "rest": {"model/words/imexwords.h", "model/words/names.h"}}
# Messages of the schema are everyone's but base's; a folder's own schema is its own.
SCHEMA = {"job.pb-c.h", "node.pb-c.h", "event.pb-c.h", "api.pb-c.h", "watch.pb-c.h",
          "explain.pb-c.h", "assoc.pb-c.h", "acct.pb-c.h", "resv.pb-c.h", "acctop.pb-c.h", "fields.h",
          "fieldlists.h", "fieldtable.h"}
TEXT_RULES = "fieldtext.inc"  # of the schema's fields, as names: base needs no message for it
OWN_SCHEMA = {"stepfile.pb-c.h": {"stepd", "noded", "pmi", "oci", "cxi", "pam"}}
# Libraries that promise to be pure: no thread, no clock, no file.
PURE = {
    "sched": {"<time.h>", "<pthread.h>", "<threads.h>", "<unistd.h>", "<fcntl.h>", "<sys/socket.h>",
              "<sys/time.h>", "<stdio.h>", "<uv.h>", '"base/log.h"'},
    "sim": {"<time.h>", "<pthread.h>", "<threads.h>", "<unistd.h>", "<fcntl.h>", "<sys/socket.h>",
            "<sys/time.h>", "<uv.h>", '"base/log.h"'},
    "feed": {"<time.h>", "<pthread.h>", "<unistd.h>", "<fcntl.h>", "<sys/socket.h>", "<uv.h>"},
    "model": {"<pthread.h>", "<unistd.h>", "<fcntl.h>", "<sys/socket.h>", "<uv.h>"},
}
# The rooms of each folder, the lowest first; "" is the folder itself, whose FOLDER/FOLDER.h every room may include.  A
# room includes what stands before it.  What does not hold yet is in tests/golden/house/includes.txt.
ROOMS = {
    "base": ["sink", "compare", "text", "", "bind", "gres", "json", "pb", "people", "process", "yaml"],
    "conf": ["lex", "", "layers", "json", "topo", "tls", "cloud"],
    "spank": ["slurm", ""],
    "wire": ["tls", "auth", "", "x11", "server"],
    "model": ["words", "tables", "account", "", "use"],
    "acct": ["sql", "", "admin", "usage"],
    "sim": ["", "verify"],
    "sched": ["base", "topo", "state", "rules", "profile", "select", "plan", "explain", ""],
    "ctld": ["core", "link", "topology", "policy", "acct", "notify", "job", "watch", "front", "step", "schedlink", "node", "resv",
             "starts", "submit", "update", "fed", "web", "ha", ""],
    "kube": ["", "api", "make", "nodeset", "operator", "claim", "external", "bridge", "doctor", "hook"],
    "penstock": ["", "past", "witness"],
    "topograph": ["", "read", "write", "run", "serve"],
    "rest": ["", "watch", "slurm", "db", "restd"],
    "noded": ["hw", "jobs", "plan", "link", "site", "steps", "orders", ""],
    "stepd": ["shared", "env", "cgroup", "", "use", "io", "ns", "plug", "task", "life"],
    "cli": ["base", "job", "x11", "query", "format", "", "sacct", "sacctmgr", "scontrol", "scrontab", "sh5util", "squeue", "sreport", "srun"],
}
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.M)

MAIN = re.compile(r"^int main\(", re.M)


def allowed(folder, path, name):
    if "/" not in name:
        if name in SCHEMA:
            return folder != "base"
        if name == TEXT_RULES:
            return folder == "base"
        if name in OWN_SCHEMA:
            return folder in OWN_SCHEMA[name]
        return name == "version.h" or (path.parent / name).exists()
    target = name.split("/")[0]
    return target == folder or target in MAY[folder] or name in ALSO.get(folder, set())


def problems_of(folder):
    for path in sorted((SRC / folder).rglob("*.[ch]")):
        for kind, name in INCLUDE.findall(path.read_text()):
            if kind == '"' and not allowed(folder, path, name):
                yield f"{path.relative_to(SRC.parent)} includes {name}"
            quoted = f"<{name}>" if kind == "<" else f'"{name}"'
            if quoted in PURE.get(folder, set()):
                yield f"{path.relative_to(SRC.parent)} includes {quoted}, and {folder} is pure"


def rooms_of(folder):
    return {str(p.parent.relative_to(SRC / folder)).replace(".", "") for p in (SRC / folder).rglob("*.[ch]")}


def upward(folder):
    """`file header` -> sentence, for each include of a room that stands higher."""
    order = ROOMS[folder]
    found = {}
    for path in sorted((SRC / folder).rglob("*.[ch]")):
        own, text = str(path.parent.relative_to(SRC / folder)).replace(".", ""), path.read_text()
        if MAIN.search(text):
            continue  # a program puts the rooms together
        for kind, name in INCLUDE.findall(text):
            room = "/".join(name.split("/")[1:-1])
            if name == f"{folder}/{folder}.h":
                continue  # what the rooms of a folder share
            if kind == '"' and name.startswith(f"{folder}/") and own in order and room in order \
                    and order.index(room) > order.index(own):
                found[f"{in_src(path)} {name}"] = f"src/{in_src(path)} includes {name}: {folder}/{room} stands above {folder}/{own}"
    return found


def main():
    tap = Tap()
    folders = sorted(p.name for p in SRC.iterdir() if p.is_dir())
    tap.check("every folder of src has a floor", [f"src/{f} has none" for f in folders if f not in MAY])
    for folder in folders:
        if folder in MAY:
            tap.check(f"includes of src/{folder}", list(problems_of(folder)))
    rooms = {f: rooms_of(f) for f in folders}
    tap.check("every room of src has a floor",
              [f"src/{f}/{room}: give it a place in ROOMS of tests/check_includes.py" for f in folders
               for room in sorted(rooms[f] - {""} - set(ROOMS.get(f, [])))]
              + [f"ROOMS of tests/check_includes.py: there is no src/{f}/{room}" for f in ROOMS
                 for room in ROOMS[f] if room and room not in rooms.get(f, set())])
    found = {}
    for folder in ROOMS:
        found |= upward(folder)
    hold(tap, "rooms include only what stands below them", "includes", found,
         "move what both need down, pass a callback, or make it a row of a table that the lower room walks")
    tap.end()


if __name__ == "__main__":
    main()
