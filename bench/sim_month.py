#!/usr/bin/python3
"""A simulated month of a GPU-training mix on a machine in blocks: how busy, how long large jobs wait, how fragmented.

Each seed is a workload of its own: debugging, sweeps, single nodes, and training in segments of nodes that share a block.
It runs under Slurm's choice of nodes and under ours (keep_segments). One report a seed (HTML, both side by side, with the
curves over time) goes to --out; a table goes to standard output.

usage: bench/sim_month.py [--build BUILD] [--seeds N] [--jobs N] [--nodes N] [--compare POLICY,...] [--set KEY=VALUE ...] [--out DIR]"""
import argparse
import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def options():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--build", default="build", help="build folder")
    p.add_argument("--seeds", type=int, default=3, help="workloads (3)")
    p.add_argument("--jobs", type=int, default=84000, help="jobs of a workload: at the default size so many come in 30 days (84000)")
    p.add_argument("--nodes", type=int, default=15000, help="nodes of 64 CPUs and 4 GPUs (15000)")
    p.add_argument("--block", type=int, default=18, help="nodes of a block (18)")
    p.add_argument("--segment", type=int, default=16, help="nodes of a segment (16)")
    p.add_argument("--compare", help="as penstock sim has it (easy,easy+keep_segments=SEGMENT)")
    p.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a line of slurm.conf, for another policy")
    p.add_argument("--out", default="build/sim-month", help="folder of the reports (build/sim-month)")
    return p.parse_args()


def simulate(o, seed):
    command = [ROOT / o.build / "src/penstock/penstock", "sim", "-g", "gpu", "-j", o.jobs, "-s", seed, "-N", o.nodes, "-c", 64, "-G", 4,
               "-B", o.block, "--segment", o.segment, "-p", o.compare or f"easy,easy+keep_segments={o.segment}", "-J", "-q",
               "-H", Path(o.out) / f"seed-{seed}.html"]
    for line in o.set:
        command += ["--set", line]
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)["runs"]


def hours(seconds):
    return f"{seconds / 3600:.1f} h"


def row(seed, r):
    large = r["by_segments"][-1]
    return (f"| {seed} | {r['policy']} | {r['jobs_ended']} | {100 * r['utilisation_loaded']:.1f}% | {r['fragmentation_mean']:.0f} | {r['fragmentation_max']:.0f} | "
            f"{hours(r['wait_mean_s'])} | {large['name']}: {large['jobs']} | {hours(large['wait_s']['mean'])} | {hours(large['wait_s']['median'])} | "
            f"{hours(large['wait_s']['p95'])} |")


def main():
    o = options()
    Path(o.out).mkdir(parents=True, exist_ok=True)
    print("| seed | policy | jobs | in use | fragmentation, mean | highest | wait, mean | segments: jobs | wait, mean | median | 95% |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for seed in range(1, o.seeds + 1):
        for run in simulate(o, seed):
            print(row(seed, run), flush=True)
    print(f"reports: {o.out}/seed-*.html")


if __name__ == "__main__":
    main()
