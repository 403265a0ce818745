#!/usr/bin/python3
"""A parameter sweep, as in a notebook: submit jobs, watch them live, gather their results.

    PYTHONPATH=python examples/python/sweep.py [JOBS] [FOLDER]

Each job integrates sin(x^p) for a p of its own and writes one JSON file.  Prints a line for each change, then the
table of results as JSON."""

import asyncio
import json
import sys
import tempfile
from pathlib import Path

from penstock import Cluster

SCRIPT = """#!/bin/sh
exec awk -v p="$1" 'BEGIN {
    n = 20000
    for (i = 0; i < n; i++) { x = (i + 0.5) / n; sum += sin(x ^ p) / n }
    printf "{\\"p\\": %s, \\"integral\\": %.6f}\\n", p, sum
}'
"""


def submit_sweep(cluster, powers, folder):
    """job number -> power.  A key for each makes it safe to run this again when it was interrupted."""
    return {cluster.submit(SCRIPT, arguments=[power], job_name=f"sweep-{power}", time=5, ntasks=1, mem=16,
                           output=folder / f"{power}.json", chdir=folder, key=f"{folder}/{power}"): power
            for power in powers}


async def run_sweep(cluster, powers, folder):
    """Submit, and follow the jobs until the last has ended; (power, state, result) of each."""
    states = {}
    async with cluster.watch() as watch:  # begun before the first job is there
        jobs = await asyncio.to_thread(submit_sweep, cluster, powers, folder)
        async for change in watch:
            if change.id not in jobs or change.after is None or not change.after.state:
                continue
            print(f"{change.time:%H:%M:%S} p={jobs[change.id]:<4} {change.event:<11} {change.after.state}", flush=True)
            states[change.id] = change.after.state
            if sum(state not in ("PENDING", "RUNNING") for state in states.values()) == len(jobs):
                break
    return [(power, states[job], json.loads((folder / f"{power}.json").read_text())) for job, power in jobs.items()]


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp(prefix="sweep-")).resolve()
    with Cluster() as cluster:
        results = asyncio.run(run_sweep(cluster, [round(0.5 + i * 0.25, 2) for i in range(count)], folder))
    print(json.dumps([{"state": state, **found} for _, state, found in results]))


if __name__ == "__main__":
    main()
