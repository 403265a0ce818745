#!/usr/bin/python3
"""Take nodes at random from below expedited jobs while a full queue waits, and look at each job's place.

usage: tests/chaos/chaos_expedite.py --build BUILD [--failures N] [--nodes N] [--jobs N] [--seed N] [--tap]

A few jobs of --requeue=expedite run on some nodes of a cluster, ordinary jobs of a higher tier and priority want all the
rest. Again and again a node below an expedited job is set DOWN, or loses every process on it and comes back as after
a power cut; now and then slurmctld is killed in the middle.  After each failure the job has to run again, with a
number of restarts that is one more, before any ordinary job is started.  At the end every expedited job is told
to end well: it completes, and ran once more than it lost a node; no ordinary job was lost either."""

import collections
import contextlib
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time

from tapmain import main

SCRIPT = """#!/bin/bash
echo $(date +%s.%N) ${{SLURM_RESTART_COUNT:-0}} $SLURM_JOB_NODELIST >> runs.$SLURM_JOB_ID
while [ ! -e over ]; do sleep 0.2; done
"""
ORDINARY = 12
KINDS = ("down", "down", "power", "power", "ctld")


def runs(cluster, job):
    path = cluster.work / f"runs.{job}"
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


class Failures:
    def __init__(self, cluster, dice, jobs):
        self.cluster, self.dice, self.jobs = cluster, dice, jobs
        self.lost = collections.Counter()
        self.kinds = collections.Counter()
        self.waits, self.problems, self.down = [], [], []

    def power_cut(self, node):
        from chaos_steps import on_node
        self.cluster.slurmds[node].kill()
        self.cluster.ended.append(self.cluster.slurmds[node])
        spool = str(self.cluster.dir / "spool" / node)
        marks = [f"SLURMD_NODENAME={node}".encode(), f"SLURM_CONF={self.cluster.conf}".encode()]
        left = True
        while left:
            left = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if on_node(pid, spool, marks)]
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self.cluster.start_slurmd(node, "-b")

    def fail(self, kind, node):
        """The time when the loss began to be known."""
        if kind == "power":
            self.power_cut(node)
            return time.time()
        at = time.time()
        self.cluster.run("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=chaos")
        self.down.append(node)
        if kind == "ctld":
            self.cluster.kill_ctld()
            self.cluster.start_ctld()
        return at

    def once(self):
        from conftest import wait_until
        job = self.dice.choice(self.jobs)
        count = len(runs(self.cluster, job))
        nodes = self.cluster.run("squeue", "-h", "-j", job, "-t", "R", "-o", "%N").stdout.split()
        names = self.cluster.run("scontrol", "show", "hostnames", nodes[0]).stdout.split() if nodes else []
        if not names or count != self.lost[job] + 1:
            return
        kind, node = self.dice.choice(KINDS), self.dice.choice(names)
        self.lost[job] += 1
        self.kinds[kind] += 1
        at = self.fail(kind, node)
        wait_until(lambda: len(runs(self.cluster, job)) > count, f"job {job} runs again after {node}: {kind}", 60)
        self.waits.append((kind, float(runs(self.cluster, job)[-1][0]) - at))
        if int(runs(self.cluster, job)[-1][1]) != self.lost[job]:
            self.problems.append(f"job {job} says {runs(self.cluster, job)[-1]} after {self.lost[job]} losses")
        while self.down:
            self.cluster.run("scontrol", "update", f"NodeName={self.down.pop()}", "State=RESUME", check=False)


EVENT = re.compile(r"JobId=(\d+) (?:is queued again|started: )")


def overtaken(cluster, jobs):
    """Ordinary jobs that were started between an expedited job's return to the queue and its start."""
    waiting = set()
    for path in sorted((cluster.dir / "log").glob("slurmctld*")):
        if path.name.endswith(".stderr"):
            continue
        for line in path.read_text(errors="replace").splitlines():
            if " recovered " in line:
                waiting.clear()  # what was told last before a kill may be missing
            match = EVENT.search(line)
            job = match and int(match.group(1))
            if job in jobs and "queued again" in line:
                waiting.add(job)
            elif job in jobs:
                waiting.discard(job)
            elif match and "started" in line and waiting:
                yield f"while {sorted(waiting)} waited: {line}"


def check_runs(jobs, losses, ends, counts):
    """What is wrong: jobs that lost nodes so often, their (state, restarts) at the end, and how often each began."""
    for job in jobs:
        if job in ends and not ends[job][1] == losses[job] == counts[job] - 1:
            yield f"job {job}: {ends[job][1]} restarts, {losses[job]} losses, {counts[job]} runs"


def check_ends(jobs, ends):
    for job in jobs:
        if job not in ends:
            yield f"job {job} is unknown"
        elif ends[job][0] != "COMPLETED":
            yield f"job {job} is {ends[job][0]}"


def median(values):
    return sorted(values)[len(values) // 2] if values else 0.0


def run(args, report):
    from conftest import Cluster, wait_until
    import pytest
    folder = tempfile.mkdtemp(prefix="penstock-chaos-")
    nodes = args.nodes
    cluster = Cluster(folder, nodes=nodes, cpus=4,
                      conf="MinJobAge=3600\nSlurmctldParameters=enable_expedited_requeue\nSlurmdTimeout=300\n"
                           "PartitionName=high Nodes=ALL PriorityTier=10 MaxTime=INFINITE")
    cluster.write_conf(cluster.conf_text().replace("requeue_delay=2", "requeue_delay=2,expedite_spares=1"))
    dice = random.Random(args.seed)
    problems = []
    try:
        cluster.start()
        (cluster.work / "job.sh").write_text(SCRIPT.format())
        jobs = [int(cluster.run("sbatch", "--parsable", "--requeue=expedite", f"-N{1 + i % 3}", "--exclusive",
                                "job.sh").stdout) for i in range(args.jobs)]
        for job in jobs:
            wait_until(lambda: runs(cluster, job), f"job {job} runs")
        (cluster.work / "other.sh").write_text("#!/bin/bash\nwhile [ ! -e over ]; do sleep 0.5; done\n")
        others = [int(cluster.run("sbatch", "--parsable", "--requeue", "-phigh", "-N1", "--exclusive", "--priority=90000",
                                  "other.sh").stdout) for _ in range(ORDINARY)]
        failures = Failures(cluster, dice, jobs)
        began = time.monotonic()
        while sum(failures.kinds.values()) < args.failures:
            failures.once()
        took = time.monotonic() - began
        report(f"{sum(failures.kinds.values())} failures in {took:.0f} s: " +
               ", ".join(f"{n} x {kind}" for kind, n in sorted(failures.kinds.items())))
        for kind in sorted(failures.kinds):
            waits = [w for k, w in failures.waits if k == kind]
            report(f"{kind}: from the loss to the script running again p50 {median(waits):.2f} s, most {max(waits):.2f} s")
        yield "each run says how often its job was restarted", failures.problems
        yield "nobody overtook a job that had lost a node", list(overtaken(cluster, set(jobs)))
        (cluster.work / "over").touch()
        cluster.run("scontrol", "update", f"NodeName={','.join(cluster.node_names)}", "State=RESUME", check=False)
        for job in others:  # those that lost a node with them wait for their delay
            cluster.run("scontrol", "update", f"JobId={job}", "StartTime=now", check=False)
        wait_until(lambda: not cluster.run("squeue", "-h").stdout, "every job is over", 60)
        ends = {job: (r["JobState"], int(r["Restarts"])) for job in jobs + others if (r := cluster.job(job))}
        yield "no job was lost", list(check_ends(jobs + others, ends))
        yield "every job ran once more than it lost a node", list(
            check_runs(jobs, failures.lost, ends, {job: len(runs(cluster, job)) for job in jobs}))
    except pytest.fail.Exception as e:
        problems.append(str(e))
        problems += cluster.run("squeue", "-o", "%i %T %r %N", check=False).stdout.splitlines()[1:]
        problems += cluster.run("sinfo", "-N", "-o", "%N %T %E", check=False).stdout.splitlines()[1:]
    finally:
        problems += cluster.stop()
        if problems:
            print(cluster.logs("slurmctld")[-6000:], file=sys.stderr)
        shutil.rmtree(folder, ignore_errors=True)
    yield "nothing is left behind", problems


if __name__ == "__main__":
    sys.exit(main(__doc__, run, failures=200, nodes=8, jobs=3))
