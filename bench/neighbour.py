#!/usr/bin/python3
"""What one user's loops of commands do to another's srun, without and with SlurmctldParameters=rl_enable.

usage: bench/neighbour.py [BUILD]     needs root: the loops are of the user `bin`

One JSON object a line; `ratio` is the time of `srun true` beside 8 loops by that alone."""

import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import clusters
import workloads as w
from benchlib import PR_SET_CHILD_SUBREAPER, emit, percentile, prctl

HERE = Path(__file__).resolve().parent
BUILD = str(Path(sys.argv[1] if len(sys.argv) > 1 else HERE.parent / "build").resolve())
BIN = 2
SRUN = ["srun", "-n1", "--mem=1", "true"]
LOOPS = {"squeue": ["squeue", "-a"], "sbatch": ["sbatch", "-H", "-n1", "--mem=1", "-o", "/dev/null", "--wrap", "true"]}


class Limited(clusters.Penstock):
    limit = False

    def conf_text(self):
        return super().conf_text() + ("SlurmctldParameters=rl_enable\n" if self.limit else "")


def loops(cluster, argv, clients, stop, count):
    def loop(i):
        while not stop.is_set():
            subprocess.run([cluster.bin(argv[0]), *argv[1:]], env=cluster.env, user=BIN, group=BIN, extra_groups=[], cwd="/tmp",
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            count[i] += 1
    threads = [threading.Thread(target=loop, args=(i,)) for i in range(clients)]
    for t in threads:
        t.start()
    return threads


def measure(cluster, command, samples=40, clients=8):
    quiet, failed = w.timed_loop(cluster, samples, SRUN)
    stop, count = threading.Event(), [0] * clients
    threads = loops(cluster, LOOPS[command], clients, stop, count)
    while not all(count):  # all of them are under way
        time.sleep(0.05)
    before, t0 = sum(count), time.monotonic()
    busy, more = w.timed_loop(cluster, samples, SRUN)
    rate = (sum(count) - before) / (time.monotonic() - t0)
    stop.set()
    for t in threads:
        t.join()
    one, other = percentile(quiet, 0.5), percentile(busy, 0.5)
    emit(bench="neighbour", what=f"srun true beside {clients} loops of {command}", rl_enable=cluster.limit, quiet_ms=one * 1e3,
         p50_ms=other * 1e3, p95_ms=percentile(busy, 0.95) * 1e3, ratio=other / one, failed=failed + more, others_per_s=rate)


def main():
    if os.geteuid() != 0:
        sys.exit("neighbour.py: only root can run commands as another user")
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    for command in LOOPS:
        for limit in (False, True):
            root = tempfile.mkdtemp(prefix="penstock-bench-")
            cluster = Limited(root, 4, 64, BUILD)
            cluster.limit = limit
            with cluster:
                for folder, _, _ in os.walk(root):
                    os.chmod(folder, 0o755)  # the other user reads slurm.conf
                w.w_fill(cluster, 2000)
                measure(cluster, command)
            clusters.remove(root)


main()
