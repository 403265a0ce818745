#!/usr/bin/python3
"""An OCI runtime that contains nothing: it writes down how it was called and runs the command of config.json as it is.

usage: oci_runtime.py ROOT run|create|start|state|kill|delete ID [BUNDLE]

ROOT/calls gets a JSON object a call; ROOT/ID is the state of a container: its process, and that it was started."""

import json
import os
import signal
import sys
import time
from pathlib import Path

root, verb, name = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
bundle = Path(sys.argv[4]) if len(sys.argv) > 4 else None
state = root / name


def note():
    call = {"verb": verb, "id": name, "argv": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ),
            "uid": os.getuid()}
    if bundle:
        call["bundle"] = str(bundle)
        call["files"] = {p.name: p.read_text() for p in bundle.iterdir()}
    with open(root / "calls", "a") as f:  # one write: calls of several tasks do not mix
        f.write(json.dumps(call) + "\n")


def contain(config):
    """Become the command."""
    process = config["process"]
    os.chdir(process["cwd"])
    mounts = {m["destination"]: m["source"] for m in config["mounts"] if m.get("type") == "bind"}
    args = list(process["args"])
    for inside, outside in mounts.items():  # nothing is mounted: files are where they come from
        if args[0].startswith(inside):
            args[0] = args[0].replace(inside.rstrip("/"), outside, 1)
    env = dict(v.split("=", 1) for v in process["env"])
    for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGPIPE):
        signal.signal(signum, signal.SIG_DFL)
    try:
        os.execvpe(args[0], args, env)
    except OSError as e:
        print(f"{args[0]}: {e.strerror}", file=sys.stderr)
        os._exit(127)


def started():
    while not (root / f"{name}.started").exists():
        time.sleep(0.01)  # between two questions


note()
if verb == "run":
    state.write_text(str(os.getpid()))
    contain(json.loads((bundle / "config.json").read_text()))
elif verb == "create":
    if os.fork() == 0:
        os.setsid()
        new = root / f"{name}.new"
        new.write_text(str(os.getpid()))
        os.rename(new, state)
        started()
        contain(json.loads((bundle / "config.json").read_text()))
elif verb == "state":
    status = "running" if (root / f"{name}.started").exists() else "created" if state.exists() else "creating"
    print(json.dumps({"ociVersion": "1.0.2", "id": name, "status": status,
                      "pid": int(state.read_text()) if state.exists() else 0}))
elif verb == "start":
    (root / f"{name}.started").touch()
elif verb == "kill":
    if not state.exists():
        sys.exit(1)
    os.kill(int(state.read_text()), signal.SIGTERM)
elif verb == "delete":
    for path in root.glob(f"{name}*"):
        path.unlink()
