#!/usr/bin/python3
"""From the loss of a node to the first task of the next run: jobs of --requeue=expedite, with one spare node.

usage: bench/requeue.py --build BUILD [--nodes N] [--losses N] [--busy N]

A job on N nodes runs a step over all of them; each task notes the time when it starts. Of N + 1 nodes one is the spare
(expedite_spares=1), and --busy jobs of a higher partition wait for any node. A random node of the job is set DOWN; the
figure is the time from that command's start until the first task of the next run, in milliseconds.  One JSON object a
line; `moments.py` has what other changes take."""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = """#!/bin/bash
srun -N{nodes} -n{nodes} sh -c 'date +%s.%N > task.$SLURM_RESTART_COUNT.$SLURM_PROCID; exec sleep 1000'
"""


def first_task(cluster, run):
    times = [float(text) for path in cluster.work.glob(f"task.{run or ''}.*") if (text := path.read_text().strip())]
    return min(times) if times else None


def measure(args):
    from conftest import Cluster, wait_until
    folder = tempfile.mkdtemp(prefix="penstock-requeue-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    cluster = Cluster(folder, nodes=args.nodes + 1, cpus=2,
                      conf="SlurmctldParameters=enable_expedited_requeue\nSlurmdTimeout=300\n"
                           "PartitionName=high Nodes=ALL PriorityTier=10 MaxTime=INFINITE")
    cluster.write_conf(cluster.conf_text().replace("requeue_delay=2", "requeue_delay=2,expedite_spares=1"))
    dice, waits = random.Random(args.seed), []
    try:
        cluster.start()
        job = cluster.sbatch("--requeue=expedite", f"-N{args.nodes}", "--exclusive",
                             script=SCRIPT.format(nodes=args.nodes))
        wait_until(lambda: first_task(cluster, 0), "the first run", 60)
        for _ in range(args.busy):
            cluster.run("sbatch", "-phigh", "-N1", "--exclusive", "--wrap", "sleep 1000")
        for run in range(1, args.losses + 1):
            names = cluster.run("scontrol", "show", "hostnames", cluster.job(job)["NodeList"]).stdout.split()
            node, at = dice.choice(names), time.time()
            cluster.run("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=bench")
            wait_until(lambda: first_task(cluster, run), f"run {run}", 60)
            waits.append((first_task(cluster, run) - at) * 1000)
            cluster.run("scontrol", "update", f"NodeName={node}", "State=RESUME")
        record = cluster.job(job)
        assert int(record["Restarts"]) == args.losses, record["Restarts"]
    finally:
        problems = cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)
    if problems:
        print("\n".join(problems), file=sys.stderr)
    waits.sort()
    return {"bench": "requeue", "nodes": args.nodes, "losses": len(waits), "waiting_jobs": args.busy,
            "p50_ms": round(waits[len(waits) // 2]), "p95_ms": round(waits[int(len(waits) * 0.95)]),
            "max_ms": round(waits[-1])}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--nodes", type=int, default=64)
    parser.add_argument("--losses", type=int, default=20)
    parser.add_argument("--busy", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    os.environ["PENSTOCK_BUILD"] = str(Path(args.build).resolve())
    sys.path.insert(0, str(ROOT / "tests" / "integration"))
    print(json.dumps(measure(args)), flush=True)


if __name__ == "__main__":
    main()
