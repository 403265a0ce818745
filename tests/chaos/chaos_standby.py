#!/usr/bin/python3
"""Kill, freeze and depose the active one of three controllers under load, and count the jobs afterwards.

usage: tests/chaos/chaos_standby.py --build BUILD [--kills N] [--clients N] [--lease MS] [--type file|stream] [--deaf 1] [--seed N] [--tap]

Clients submit jobs while the active controller gets SIGKILL, is frozen for longer than its lease, or has to give up control
for scontrol takeover; the dead are started again.  Then: every job that was acknowledged exists exactly once, and every
job that exists ran exactly once.  The time from each blow to the next acknowledged submission is measured.  With --deaf 1
controllers do not notice that their term is over: the check must find that.

With --type stream each controller has a disk of its own and there is a witness; blows fall on a standby, on the witness, on
all controllers at once and on a disk as well."""

import os
import random
import shutil
import tempfile
import threading
import time

from chaos_submit import check
from tapmain import main

BLOWS = ("kill", "freeze", "takeover")
# of the others only with a log that is sent
BLOWS_OF_STREAM = (*BLOWS, "standby", "sleepy", "witness", "all", "disk")


class Client(threading.Thread):
    """Submits until told to stop; keeps what it was told, and when.  An odd one knows the local socket."""

    def __init__(self, cluster, number, stop):
        super().__init__(name=f"client-{number}")
        self.cluster, self.number, self.stop = cluster, number, stop
        self.acknowledged, self.refused, self.times = {}, [], []

    def run(self):
        count = 0
        env = {} if self.number % 2 else {"SLURM_JWT": self.cluster.only("ctl1")["SLURM_JWT"]}
        while not self.stop.is_set():
            tag = f"c{self.number}-{count}"
            count += 1
            done = self.cluster.run("sbatch", "--parsable", "-o", "/dev/null", "-J", tag, "--wrap",
                                    f"echo $SLURM_JOB_ID {tag} >> ran", check=False, env=env)
            if done.returncode == 0:
                self.acknowledged[tag] = int(done.stdout)
                self.times.append(time.monotonic())
            else:
                self.refused.append((tag, done.stderr.strip()))
            self.stop.wait(0.02)


def strike_stream(cluster, blow, host, dice):
    """A blow after which the same controller may lead on; mended here."""
    began = time.monotonic()
    other = dice.choice([h for h in cluster.hosts if h != host])
    if blow in ("standby", "disk"):
        cluster.ctlds[other].kill()
        if blow == "disk":
            cluster.wipe(other)
        time.sleep(dice.uniform(0, 2))
        cluster.start_one(other, "--standby")
    elif blow == "sleepy":
        cluster.freeze(other)
        time.sleep(dice.uniform(0, 3))
        cluster.thaw(other)
    elif blow == "witness":
        cluster.witness.kill()
        time.sleep(dice.uniform(0, 3))
        cluster.start_witness()
    else:
        for h in dice.sample(cluster.hosts, len(cluster.hosts)):
            cluster.ctlds[h].kill()
        for h in dice.sample(cluster.hosts, len(cluster.hosts)):
            cluster.start_one(h, "--standby", timeout=None)
    return began


def strike(cluster, blow, host, dice):
    """One blow; gives the moment."""
    if blow == "kill":
        cluster.ctlds[host].kill()
        return time.monotonic()
    if blow == "freeze":
        cluster.freeze(host)
        return time.monotonic()
    began = time.monotonic()
    index = dice.choice([i for i, other in enumerate(cluster.hosts) if other != host and i > 0])
    cluster.run("scontrol", "takeover", str(index), check=False)
    return began


def mend(cluster, blow, host, env):
    if blow == "kill":
        cluster.start_one(host, "--standby", env=env)
    elif blow == "freeze":
        cluster.thaw(host)


def next_after(clients, moment, wait_until):
    def found():
        return min((t for c in clients for t in list(c.times) if t > moment), default=None)
    return wait_until(found, "a submission is acknowledged again", 90) - moment


def longest_gap(clients, began, ended, wait_until):
    """Between two acknowledgements, from the last before `began` to the first after `ended`."""
    last = next_after(clients, ended, wait_until) + ended
    times = sorted(t for c in clients for t in list(c.times) if t <= last)
    first = max((i for i, t in enumerate(times) if t <= began), default=0)
    return max(b - a for a, b in zip(times[first:], times[first + 1:]))


def blow_by_blow(cluster, clients, args, dice, report, wait_until):
    env = {"PENSTOCK_FAILPOINT": "journal.term.ignored:1+"} if args.deaf else None
    blows = BLOWS_OF_STREAM if args.type == "stream" else BLOWS
    took = {blow: [] for blow in blows}
    for i in range(args.kills):
        host = wait_until(cluster.active, "somebody leads", 60)
        blow = "freeze" if args.deaf else dice.choice(blows)
        if args.type == "stream":  # else nobody may be able to go on, which is no failure
            wait_until(lambda: len(cluster.record()[2]) > 1 or host != cluster.active_log(), "another is in sync", 90)
            host = wait_until(cluster.active, "somebody leads", 60)
        time.sleep(dice.uniform(0.1, 0.6))  # the random moment
        if blow not in BLOWS:
            moment = strike_stream(cluster, blow, host, dice)
            took[blow].append(longest_gap(clients, moment, time.monotonic(), wait_until))
            continue
        moment = strike(cluster, blow, host, dice)
        # until another leads: what a dying process acknowledged last does not count
        if blow != "takeover":
            wait_until(lambda: cluster.active_log() != host, f"another than {host} leads", 60)
            took[blow].append(next_after(clients, moment + args.lease / 2000, wait_until) + args.lease / 2000)
        else:
            took[blow].append(longest_gap(clients, moment, time.monotonic(), wait_until))
        mend(cluster, blow, host, env)
        if (i + 1) % 10 == 0:
            report(f"{i + 1} blows")
    for blow, times in took.items():
        times.sort()
        if times:
            report(f"{blow}: {len(times)}, to the next acknowledged submission p50 {times[len(times) // 2]:.2f} s, "
                   f"p99 {times[min(len(times) - 1, len(times) * 99 // 100)]:.2f} s, with a lease of {args.lease} ms")


def run(args, report):
    """(name, problems) of each check."""
    from conftest import wait_until
    from controllers import Controllers
    from streams import StreamControllers
    folder = tempfile.mkdtemp(prefix="penstock-chaos-")
    cluster = (StreamControllers if args.type == "stream" else Controllers)(
        folder, controllers=3, nodes=3, cpus=8, lease_ms=args.lease,
        conf="MaxJobCount=100000\nMinJobAge=7200")
    if args.deaf:
        cluster.daemon_env_change["PENSTOCK_FAILPOINT"] = "journal.term.ignored:1+"
    stop, dice = threading.Event(), random.Random(args.seed)
    clients = [Client(cluster, i, stop) for i in range(args.clients)]
    try:
        cluster.start()
        cluster.only("ctl1")  # the token
        for c in clients:
            c.start()
        blow_by_blow(cluster, clients, args, dice, report, wait_until)
        stop.set()
        for c in clients:
            c.join()
        report(f"{sum(len(c.acknowledged) for c in clients)} jobs acknowledged, {sum(len(c.refused) for c in clients)} refused")
        wait_until(cluster.active, "somebody leads", 60)
        wait_until(lambda: not cluster.run("squeue", "-h", "-t", "PD,R,CG", check=False).stdout, "every job has ended", 180)
        yield "every acknowledged job exists once and ran once", list(check(cluster, clients))
        yield "nothing is left", [p for p in cluster.stop() if not args.deaf]
    finally:
        stop.set()
        cluster.stop()
        if os.environ.get("CHAOS_KEEP"):
            report(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    raise SystemExit(main(__doc__, run, kills=50, clients=4, lease=1500, deaf=0, type="file"))
