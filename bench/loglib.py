"""What the log costs where it is: kept submissions with it in a file and elsewhere, in turns (etcd.py, stream.py)."""

import json
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build").resolve()
os.environ["PENSTOCK_BUILD"] = str(BUILD)
sys.path.insert(0, str(ROOT / "tests" / "integration"))  # where the helpers of controllers are

ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
JOBS = sys.argv[3] if len(sys.argv) > 3 else "20000"
OPTIONS = {"nodes": 1, "lease_ms": 10000, "conf": "MaxJobCount=2000000\nSlurmctldDebug=info\n"}


def rate(c, jobs, *options):
    argv = [str(BUILD / "bench" / "bench_submit_kept"), "-n", jobs, *options]
    r = subprocess.run(argv, env=c.env, check=True, capture_output=True, text=True)
    return float(re.search(r'"per_s":\s*([0-9.]+)', r.stdout).group(1))


def measure(sides):
    """{name: rates of the rounds} of controllers by name, each in its turn."""
    got = {name: [] for name in sides}
    for _ in range(ROUNDS):
        for name, c in sides.items():
            got[name].append(rate(c, JOBS))
    return got


def tell(sides, got):
    """A line for each: its median, and what one submission takes that is alone under way."""
    for name, c in sides.items():
        print(json.dumps({"log": name, "per_s": round(statistics.median(got[name])), "rounds": [round(v) for v in got[name]],
                          "alone_ms": round(1000 / rate(c, "300", "-c", "1", "-p", "1"), 2)}), flush=True)


def stop(sides):
    for c in sides.values():
        c.run("scancel", "-u", "root", check=False)
        c.stop()
