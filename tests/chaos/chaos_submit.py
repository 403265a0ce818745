#!/usr/bin/python3
"""Kill the controller again and again under load, and count the jobs afterwards.

usage: tests/chaos/chaos_submit.py --build BUILD [--kills N] [--clients N] [--seed N] [--tap]

Clients submit jobs with sbatch while slurmctld gets SIGKILL at random moments and is started again.
Then: every job that was acknowledged exists exactly once, every job that exists ran exactly once (each
adds one line to a file), none that was refused twice exists twice, and the state that the journal
replays to has the hash that the live controller had.  The seed is printed: the same seed kills at the
same moments, as far as the machine lets it."""

import collections
import random
import sys
import tempfile
import threading
import time

import pytest

from tapmain import main, put_away

JOBS_PER_KILL = 40


class Client(threading.Thread):
    """Submits until told to stop; keeps what it was told."""

    def __init__(self, cluster, number, seed, stop, budget):
        super().__init__(name=f"client-{number}")
        self.cluster, self.number, self.stop, self.budget = cluster, number, stop, budget
        self.dice = random.Random(seed * 1000 + number)
        self.acknowledged, self.refused = {}, []

    def run(self):
        count = 0
        while not self.stop.is_set() and self.budget.acquire(blocking=False):
            tag = f"c{self.number}-{count}"
            count += 1
            done = self.cluster.run("sbatch", "--parsable", "-o", "/dev/null", "-J", tag, "--wrap",
                                    f"echo $SLURM_JOB_ID {tag} >> ran", check=False)
            if done.returncode == 0:
                self.acknowledged[tag] = int(done.stdout)
            else:
                self.refused.append((tag, done.stderr.strip()))
            self.stop.wait(self.dice.uniform(0, 0.05))


def kill_again_and_again(cluster, kills, dice, report):
    for i in range(kills):
        time.sleep(dice.uniform(0.02, 0.4))  # the random moment
        cluster.kill_ctld()
        cluster.start_ctld()
        if (i + 1) % 10 == 0:
            report(f"{i + 1} kills")


def check(cluster, clients):
    """What is wrong, as sentences."""
    acknowledged = {tag: job for c in clients for tag, job in c.acknowledged.items()}
    refused = {tag for c in clients for tag, _ in c.refused}
    rows = [line.split("|") for line in cluster.run(
        "squeue", "-h", "-t", "all", "-r", "-o", "%i|%j|%T").stdout.splitlines()]
    by_tag = collections.defaultdict(list)
    for job, tag, state in rows:
        by_tag[tag].append(int(job))
        if state != "COMPLETED":
            yield f"job {job} ({tag}) is {state}"
    for tag, job in acknowledged.items():
        if by_tag[tag] != [job]:
            yield f"{tag} was acknowledged as job {job}, and there are jobs {by_tag[tag]}"
    for tag in refused:
        if len(by_tag[tag]) > 1:
            yield f"{tag} was refused, and there are jobs {by_tag[tag]}"
    ran = collections.Counter((cluster.work / "ran").read_text().splitlines())
    for job, tag, _ in rows:
        if ran[f"{job} {tag}"] != 1:
            yield f"job {job} ({tag}) ran {ran[f'{job} {tag}']} times"
    if sum(ran.values()) != len(rows):
        yield f"{sum(ran.values())} runs of {len(rows)} jobs"


def check_accounting(cluster, clients, wait_until):
    expected = {(job, tag) for c in clients for tag, job in c.acknowledged.items()}
    rows = []

    def missing():
        return expected - {(int(job), tag) for job, tag, _ in rows}

    def complete():
        nonlocal rows
        rows = cluster.sacct("-X", "-S", "now-1hour", "-o", "JobID,JobName,State")
        return not missing() and all(r[2] == "COMPLETED" for r in rows)
    try:
        wait_until(complete, "accounting has every job as completed", 60)
    except pytest.fail.Exception as e:
        yield str(e).split("\n", 1)[0]
    for job, tag in sorted(missing()):
        yield f"accounting does not know job {job} ({tag})"
    if len({(job, tag) for job, tag, _ in rows}) != len(rows):
        yield "accounting has a job twice"


def quiet_hash(cluster, wait_until):
    """The hash of a state that does not change any more."""
    def settled():
        first = cluster.run("penstock", "ping", "--hash").stdout
        time.sleep(0.2)  # nothing may happen meanwhile
        return first if first == cluster.run("penstock", "ping", "--hash").stdout else None
    return wait_until(settled, "the controller is quiet", 30)


def check_replay(cluster, wait_until):
    live = quiet_hash(cluster, wait_until)
    status = cluster.ctld.stop()
    if status != 0:
        yield f"slurmctld ended with {status}"
    replayed = cluster.run("penstock", "journal", "hash", cluster.dir / "state").stdout
    if live != replayed:
        yield f"live {live.strip()}, replayed {replayed.strip()}"


def run(args, report):
    """(name, problems) of each check."""
    from conftest import Cluster, wait_until
    folder = tempfile.mkdtemp(prefix="penstock-chaos-")
    cluster = Cluster(folder, nodes=4, cpus=8, conf="MaxJobCount=50000\nMinJobAge=3600")
    stop, dice = threading.Event(), random.Random(args.seed)
    budget = threading.Semaphore(max(100, JOBS_PER_KILL * args.kills))
    clients = [Client(cluster, i, args.seed, stop, budget) for i in range(args.clients)]
    try:
        cluster.start()
        for c in clients:
            c.start()
        kill_again_and_again(cluster, args.kills, dice, report)
        stop.set()
        for c in clients:
            c.join()
        refusals = collections.Counter(text for c in clients for _, text in c.refused)
        report(f"{sum(len(c.acknowledged) for c in clients)} jobs acknowledged, "
               f"{sum(refusals.values())} refused")
        for text, times in refusals.most_common(5):
            report(f"{times} times: {text}")
        wait_until(lambda: not cluster.run("squeue", "-h").stdout, "every job is over", 240)
        yield "every acknowledged job exists once and ran once", list(check(cluster, clients))
        yield "accounting has every job once", list(check_accounting(cluster, clients, wait_until))
        yield "the journal replays to the live state", list(check_replay(cluster, wait_until))
    finally:
        stop.set()
        for c in clients:
            if c.is_alive():
                c.join()
        problems = put_away(cluster, folder)
    yield "nothing is left behind", problems


if __name__ == "__main__":
    sys.exit(main(__doc__, run, kills=100, clients=8))
