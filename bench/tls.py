#!/usr/bin/python3
"""What TLS costs: the same work on two clusters of one node, one plain, one with TLSType=tls/auto, in turns.

usage: bench/tls.py [BUILD] [ROUNDS]

kept     acknowledged submissions a second over kept TCP connections
sbatch   milliseconds of one sbatch process that comes over TCP with a token
srun     milliseconds of a step of one task
stream   MiB a second of one step's output, as srun writes it
count    millions of instructions of that sbatch process, once (where there is valgrind): the same on a busy machine
Prints a JSON object for each, with the medians and the ratio of TLS to plain."""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build").resolve()
os.environ["PENSTOCK_BUILD"] = str(BUILD)
sys.path.insert(0, str(ROOT / "tests" / "integration"))
from conftest import Cluster, program  # noqa: E402

ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
MIB = 400


def timed(fn, *args):
    start = time.monotonic()
    fn(*args)
    return time.monotonic() - start


class Side:
    def __init__(self, folder, kind):
        folder.mkdir()
        self.c = Cluster(folder, nodes=1, conf=f"TLSType={kind}\nAuthAltTypes=auth/jwt\nMaxJobCount=2000000\n")
        self.c.start()
        self.env = {"SLURM_JWT": self.c.run("scontrol", "token").out.strip().partition("=")[2]}

    def kept(self):
        r = subprocess.run([str(BUILD / "bench" / "bench_submit_kept"), "-t", "-n", "20000"], env=self.c.env, check=True,
                           capture_output=True, text=True)
        self.c.run("scancel", "-u", "root", check=False)
        return next(v for k, v in json.loads(r.stdout).items() if k.endswith("per_s"))

    def sbatch(self):
        return 1000 / 20 * timed(lambda: [self.c.run("sbatch", "-H", "--wrap", "true", env=self.env) for _ in range(20)])

    def count(self):
        argv = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program("sbatch"), "-H", "--wrap", "true"]
        r = subprocess.run(argv, env=self.c.env | self.env, check=True, capture_output=True, text=True)
        return int(re.search(r"Collected : (\d+)", r.stderr)[1]) / 1e6

    def srun(self):
        return 1000 / 10 * timed(lambda: [self.c.run("srun", "-n1", "true") for _ in range(10)])

    def stream(self):
        argv = [program("srun"), "-n1", "head", "-c", str(MIB << 20), "/dev/zero"]
        return MIB / timed(lambda: subprocess.run(argv, env=self.c.env, stdout=subprocess.DEVNULL, check=True))


def main():
    with tempfile.TemporaryDirectory(prefix="bench-tls.") as folder:
        sides = {kind: Side(Path(folder) / kind.replace("/", "-"), kind) for kind in ("tls/none", "tls/auto")}
        try:
            for what in ("kept", "sbatch", "srun", "stream", *(["count"] if shutil.which("valgrind") else [])):
                got = {kind: [] for kind in sides}
                for _ in range(1 if what == "count" else ROUNDS):
                    for kind, side in sides.items():
                        got[kind].append(getattr(side, what)())
                plain, tls = (statistics.median(got[kind]) for kind in sides)
                print(json.dumps({"what": what, "plain": round(plain, 2), "tls": round(tls, 2),
                                  "ratio": round(tls / plain, 3), "difference": round(tls - plain, 2)}), flush=True)
        finally:
            for side in sides.values():
                side.c.stop()


if __name__ == "__main__":
    main()
