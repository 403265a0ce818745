#!/usr/bin/python3
"""Kill daemons and srun at random while jobs of several nodes run, and ask how each job ended.

usage: tests/chaos/chaos_steps.py --build BUILD [--jobs N] [--kills N] [--seed N] [--tap]

Jobs run srun over two or three nodes and write down, as the last thing their script does, the status that
they are about to exit with.  Meanwhile slurmctld, slurmd, slurmstepd and srun get SIGKILL, one after the other
at random moments, or a whole node loses everything that runs on it; the daemons are started again.  Then: every
job is over, with the status that its script wrote down or, when the step daemon of its script was killed, with
signal 9; those that lost a node ran again, or ended as NODE_FAIL when they may not; a job that nobody touched ends
as its tasks meant it to, or says why not; accounting agrees with the controller; no process of a job is left."""

import collections
import contextlib
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import time

from tapmain import main

SCRIPT = """#!/bin/bash
srun -N{nodes} -n{tasks} bash -c 'sleep 0.{sleep}; [ $SLURM_PROCID = 1 ] && exit {code}; exit 0'
rc=$?
echo $rc > rc.$SLURM_JOB_ID.new && mv rc.$SLURM_JOB_ID.new rc.$SLURM_JOB_ID
exit $rc
"""
CLIENTS = 4
VICTIMS = ("slurmctld", "slurmd", "slurmd", "slurmstepd", "slurmstepd", "srun", "srun", "node")
CUT_S = 30  # at most, until the controller knows that a node came back without its jobs
DOWN_MAX_S = 1.0  # how long a killed slurmd stays away
STEPD = re.compile(r"slurmstepd: \[(\d+)\.(\w+)\]")


class Client(threading.Thread):
    """Submits its share of the jobs; keeps what each is meant to exit with."""

    def __init__(self, cluster, number, jobs, seed):
        super().__init__(name=f"client-{number}")
        self.cluster, self.number, self.jobs = cluster, number, jobs
        self.dice = random.Random(seed * 1000 + number)
        self.meant, self.refused, self.once = {}, [], set()

    def run(self):
        for i in range(self.jobs):
            nodes, code = self.dice.choice((2, 2, 3)), self.dice.choice((0, 0, 0, 3, 77))
            path = self.cluster.work / f"job.{self.number}.{i}.sh"
            path.write_text(SCRIPT.format(nodes=nodes, tasks=nodes + 1, sleep=self.dice.randrange(1, 9), code=code))
            once = self.dice.random() < 0.2
            done = self.cluster.run("sbatch", "--parsable", f"-N{nodes}", f"-n{nodes + 1}", "--mem-per-cpu=1", "-t5",
                                    *(["--no-requeue"] if once else []), path.name, check=False)
            if done.returncode == 0:
                self.meant[int(done.stdout)] = code
                self.once.update([int(done.stdout)] if once else [])
            else:
                self.refused.append(done.stderr.strip())


def on_node(pid, spool, marks):
    """Is it a step daemon of the node, or was it started by one?  Other clusters here have nodes of the same name."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            if f.read().rsplit(b")", 1)[1].split()[0] == b"Z":
                return False
        with open(f"/proc/{pid}/environ", "rb") as f:
            if os.readlink(f"/proc/{pid}/cwd").startswith(spool + "/"):
                return True
            entries = f.read().split(b"\0")
            return all(mark in entries for mark in marks)
    except OSError:
        return False


class Killer:
    def __init__(self, cluster, dice):
        self.cluster, self.dice = cluster, dice
        self.kills = collections.Counter()
        self.batch = set()    # jobs whose script lost its step daemon
        self.touched = set()  # jobs of which something was killed
        self.cuts = []        # (time, node) that a node lost everything

    def candidates(self, what):
        from conftest import processes_of
        if what == "slurmstepd":
            return [(pid, cmd) for pid, cmd in processes_of(self.cluster.dir) if STEPD.match(cmd)]
        return [(pid, cmd) for pid, cmd in processes_of(self.cluster.dir)
                if cmd.split(" ")[0].endswith("srun") and "-N" in cmd]

    def job_of(self, pid):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                return int(re.search(rb"(?:^|\0)SLURM_JOB_ID=(\d+)\0", f.read()).group(1))
        except (OSError, AttributeError):
            return None

    def daemon(self, what):
        if what == "slurmctld":
            self.cluster.kill_ctld()
            self.cluster.start_ctld()
            return
        name = self.dice.choice(self.cluster.node_names)
        self.cluster.slurmds[name].kill()
        self.cluster.ended.append(self.cluster.slurmds[name])
        time.sleep(self.dice.uniform(0, DOWN_MAX_S))
        self.cluster.start_slurmd(name)

    def node(self):
        """Everything on a node at once, as a power cut does."""
        name = self.dice.choice(self.cluster.node_names)
        self.cuts.append((time.time(), name))
        self.cluster.slurmds[name].kill()
        self.cluster.ended.append(self.cluster.slurmds[name])
        spool = str(self.cluster.dir / "spool" / name)
        marks = [f"SLURMD_NODENAME={name}".encode(), f"SLURM_CONF={self.cluster.conf}".encode()]
        left = True
        while left:  # what was being started meanwhile is there at the second look
            left = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if on_node(pid, spool, marks)]
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self.cluster.start_slurmd(name, "-b")

    def cut_of(self, job):
        """Did the job end when one of its nodes had lost everything?"""
        shown = self.cluster.job(job)
        names = self.cluster.run("scontrol", "show", "hostnames", shown["NodeList"]).stdout.split()
        end = time.mktime(time.strptime(shown["EndTime"], "%Y-%m-%dT%H:%M:%S"))
        return any(name in names and -1 <= end - at <= CUT_S for at, name in self.cuts)

    def once(self):
        what = self.dice.choice(VICTIMS)
        if what == "node":
            self.node()
            self.kills[what] += 1
            return
        if what in ("slurmctld", "slurmd"):
            self.daemon(what)
            self.kills[what] += 1
            return
        found = self.candidates(what)
        if not found:
            return
        pid, cmd = self.dice.choice(found)
        step = STEPD.match(cmd)
        job = int(step.group(1)) if step else self.job_of(pid)
        if step and step.group(2) == "batch":
            self.batch.add(job)  # before: it counts even when it was just over
        self.touched.add(job)
        try:
            os.kill(pid, signal.SIGKILL)
            self.kills[what + (".batch" if step and step.group(2) == "batch" else "")] += 1
        except ProcessLookupError:
            pass


def rows_of(cluster):
    lines = cluster.run("squeue", "-h", "-t", "all", "-o", "%A|%T").stdout.splitlines()
    return {int(job): state for job, state in (line.split("|") for line in lines)}


def written(cluster, job):
    path = cluster.work / f"rc.{job}"
    return int(path.read_text()) if path.exists() else None


def check_ends(cluster, meant, killer, once):
    """The state and exit code of each job are what happened."""
    states = rows_of(cluster)
    for job, code in meant.items():
        rc, state = written(cluster, job), states.get(job)
        shown = cluster.job(job).get("ExitCode")
        expected = ("COMPLETED" if rc == 0 else "FAILED", f"{rc}:0")
        if (state, shown) == expected and rc is not None:
            said = cluster.out(job)
            if rc != code and not said:
                yield f"job {job} ended with {rc} instead of {code} and nobody said why"
        elif job in once and state == "NODE_FAIL" and killer.cut_of(job):
            pass
        elif job in once and rc is None and state == "FAILED" and cluster.job(job).get("Reason") == "JobLaunchFailure":
            pass  # slurmd was killed before it had started anything
        elif job not in killer.batch or (state, shown) != ("FAILED", "0:9"):
            yield (f"job {job} is {state} {shown}, its script wrote {rc}, its tasks meant {code}, may run once only: "
                   f"{job in once}")


def check_accounting(cluster, meant, wait_until):
    """The same ends there; no step that has not ended."""
    import pytest
    rows = []

    def settled():
        nonlocal rows
        rows = cluster.sacct("-S", "now-1hour", "-o", "JobID,State,ExitCode")
        jobs = [r for r in rows if "." not in r[0]]
        return len(jobs) >= len(meant) and not any(r[1] in ("RUNNING", "PENDING") for r in rows)
    try:
        wait_until(settled, "accounting knows every end", 60)
    except pytest.fail.Exception as e:
        yield str(e)
        yield from (f"accounting: {' '.join(r)}" for r in rows if r[1] in ("RUNNING", "PENDING"))
    known = collections.Counter(r[0] for r in rows if "." not in r[0])
    yield from (f"job {job}: {known[str(job)]} times in accounting" for job in meant if known[str(job)] != 1)
    for job, state, code in (r for r in rows if "." not in r[0]):
        shown = cluster.job(job).get("ExitCode")
        if shown != code:
            yield f"job {job}: scontrol has {shown}, sacct {state} {code}"


def left_of_jobs(cluster):
    from conftest import processes_of
    daemons = {cluster.ctld.pid, *(d.pid for d in cluster.slurmds.values())}
    return [f"{pid}: {cmd}" for pid, cmd in processes_of(cluster.dir) if pid not in daemons]


def run(args, report):
    """(name, problems) of each check."""
    from conftest import Cluster, processes_of, wait_until
    import pytest
    folder = tempfile.mkdtemp(prefix="penstock-chaos-")
    cluster = Cluster(folder, nodes=4, cpus=8, conf="MinJobAge=3600\nKillWait=2\nSlurmdTimeout=120")
    dice = random.Random(args.seed)
    killer = Killer(cluster, dice)
    clients = [Client(cluster, i, args.jobs // CLIENTS + (i < args.jobs % CLIENTS), args.seed) for i in range(CLIENTS)]
    problems = []
    try:
        cluster.start()
        for c in clients:
            c.start()
        while sum(killer.kills.values()) < args.kills and (any(c.is_alive() for c in clients) or
                                                           cluster.run("squeue", "-h").stdout):
            time.sleep(dice.uniform(0.01, 0.15))  # the random moment
            killer.once()
        for c in clients:
            c.join()
        meant = {job: code for c in clients for job, code in c.meant.items()}
        once = {job for c in clients for job in c.once}
        refusals = [text for c in clients for text in c.refused]
        report(f"{len(meant)} jobs, {len(refusals)} refused, " +
               ", ".join(f"{n} x {what}" for what, n in sorted(killer.kills.items())))
        for text in sorted(set(refusals)):
            report(f"refused: {text}")
        wait_until(lambda: not cluster.run("squeue", "-h").stdout, "every job is over", 60)
        odd = sum(written(cluster, job) != code for job, code in meant.items())
        report(f"{odd} jobs ended otherwise than meant, {len(killer.touched)} were touched, "
               f"{len(killer.batch)} lost the step daemon of their script")
        yield "every job ended as its script says", list(check_ends(cluster, meant, killer, once))
        yield "accounting has the same", list(check_accounting(cluster, meant, wait_until))
        cluster.wait_nodes()
        try:
            wait_until(lambda: not left_of_jobs(cluster), "nothing of a job is left", 30)
            yield "no process of a job is left", []
        except pytest.fail.Exception:
            yield "no process of a job is left", left_of_jobs(cluster)
    except pytest.fail.Exception as e:
        problems.append(str(e))
        problems += cluster.run("squeue", "-o", "%i %T %r %N", check=False).stdout.splitlines()[1:]
        problems += cluster.run("sinfo", "-N", "-o", "%N %T %E", check=False).stdout.splitlines()[1:]
        problems += [f"{pid}: {cmd}" for pid, cmd in processes_of(cluster.dir)]
    finally:
        for c in clients:
            if c.is_alive():
                c.join()
        problems += cluster.stop()
        if problems:
            print(cluster.logs("")[-5000:], file=sys.stderr)
        shutil.rmtree(folder, ignore_errors=True)
    yield "nothing is left behind", problems


if __name__ == "__main__":
    sys.exit(main(__doc__, run, jobs=500, kills=500))
