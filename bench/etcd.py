#!/usr/bin/python3
"""What the log in etcd costs: kept submissions with the log in a file and in three local members of etcd, in turns.

usage: bench/etcd.py [BUILD] [ROUNDS] [JOBS]

Prints a JSON object for each side: acknowledged, that is durable, submissions a second, and the mean
milliseconds of one that is alone under way."""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build").resolve()
os.environ["PENSTOCK_BUILD"] = str(BUILD)
sys.path.insert(0, str(ROOT / "tests" / "integration"))
from controllers import Controllers  # noqa: E402
from etcds import Etcd, EtcdControllers  # noqa: E402

ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
JOBS = sys.argv[3] if len(sys.argv) > 3 else "20000"
OPTIONS = {"nodes": 1, "controllers": 1, "lease_ms": 10000, "conf": "MaxJobCount=2000000\nSlurmctldDebug=info\n"}


def rate(c, jobs, *options):
    argv = [str(BUILD / "bench" / "bench_submit_kept"), "-n", jobs, *options]
    r = subprocess.run(argv, env=c.env, check=True, capture_output=True, text=True)
    return float(re.search(r'"per_s":\s*([0-9.]+)', r.stdout).group(1))


def main():
    with tempfile.TemporaryDirectory(prefix="bench-etcd.") as folder:
        for name in ("etcd", "far", "near"):
            (Path(folder) / name).mkdir()
        etcd = Etcd(Path(folder) / "etcd").start()
        sides = {}
        try:
            sides["file"] = Controllers(Path(folder) / "near", **OPTIONS).start()
            sides["etcd"] = EtcdControllers(Path(folder) / "far", etcd, **OPTIONS).start()
            got = {name: [] for name in sides}
            for _ in range(ROUNDS):
                for name, c in sides.items():
                    got[name].append(rate(c, JOBS))
            for name, c in sides.items():
                print(json.dumps({"log": name, "per_s": round(statistics.median(got[name])), "rounds": [round(v) for v in got[name]],
                                  "alone_ms": round(1000 / rate(c, "300", "-c", "1", "-p", "1"), 2)}), flush=True)
        finally:
            for c in sides.values():
                c.run("scancel", "-u", "root", check=False)
                c.stop()
            etcd.stop()


if __name__ == "__main__":
    main()
