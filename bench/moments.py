"""How soon scripts see what they wait for: the moments between an action, or the end of a job's script, and the answer
of a command that shows it.

A moment ends when squeue, sinfo or scontrol, asked again and again without a pause, shows the state: what a loop in a
script would see, the command's own time included."""

import os
import time

from benchlib import Span, out

LIMIT_S = 60
JOB = ["-n1", "--mem=1", "-t", "10", "-o", "/dev/null"]


class Scene:
    """Actions on one cluster, and how long they take to be seen."""

    def __init__(self, cluster):
        self.c, self.folder, self.n = cluster, cluster.scratch(), 0

    def run(self, *argv):
        r = out(self.c, list(argv))
        if r.returncode:
            raise RuntimeError(f"{self.c.label}: {' '.join(argv)}: {r.stderr.strip()}")
        return r.stdout

    def until(self, argv, want):
        """Ask until the output pleases; the instant then."""
        end = time.time() + LIMIT_S
        while time.time() < end:
            if want(out(self.c, argv).stdout.strip()):
                return time.time()
        raise RuntimeError(f"{self.c.label}: {' '.join(argv)} does not show it after {LIMIT_S} s")

    def shows(self, job, state):
        return self.until(["squeue", "-h", "-j", job, "-o", "%T"], lambda text: text == state)

    def gone(self, job):
        return self.until(["squeue", "-h", "-j", job, "-o", "%T"], lambda text: not text)

    def submit(self, *options, wrap="sleep 600"):
        return self.run("sbatch", "--parsable", *JOB, *options, "--wrap", wrap).strip()

    def stamp(self):
        """A file and the shell text that writes the time into it."""
        self.n += 1
        path = os.path.join(self.folder, f"stamp.{self.n}")
        return path, f"date +%s.%N > {path}.new && mv {path}.new {path}"

    def read(self, path):
        end = time.time() + LIMIT_S
        while not os.path.exists(path) and time.time() < end:
            time.sleep(0.001)
        with open(path) as f:
            return float(f.read())

    def running(self):
        job = self.submit()
        self.shows(job, "RUNNING")
        return job

    def cancel(self, job):
        self.run("scancel", job)
        self.gone(job)

    # ---- the moments: each gives seconds

    def sbatch_to_running(self):
        t0 = time.time()
        job = self.submit()
        seconds = self.shows(job, "RUNNING") - t0
        self.cancel(job)
        return seconds

    def end_to_gone(self):
        path, text = self.stamp()
        job = self.submit(wrap=f"sleep 0.2; {text}")
        gone = self.gone(job)
        return gone - self.read(path)

    def scancel_returns(self):
        job = self.running()
        t0 = time.time()
        self.run("scancel", job)
        seconds = time.time() - t0
        self.gone(job)
        return seconds

    def scancel_to_gone(self):
        job = self.running()
        t0 = time.time()
        self.run("scancel", job)
        return self.gone(job) - t0

    def end_to_wait_returns(self):
        path, text = self.stamp()
        self.run("sbatch", "--wait", *JOB, "--wrap", f"sleep 0.2; {text}")
        return time.time() - self.read(path)

    def salloc_true(self):
        t0 = time.time()
        self.run("salloc", "-n1", "--mem=1", "true")
        return time.time() - t0

    def end_to_dependent(self):
        ended, end = self.stamp()
        begun, begin = self.stamp()
        first = self.submit(wrap=f"sleep 0.2; {end}")
        self.submit("-d", f"afterok:{first}", wrap=begin)
        return self.read(begun) - self.read(ended)

    def requeue_to_pending(self):
        job = self.running()
        t0 = time.time()
        self.run("scontrol", "requeue", job)
        seconds = self.shows(job, "PENDING") - t0
        self.cancel(job)
        return seconds

    def hold_to_reason(self):
        job = self.submit("-b", "now+1hour")
        t0 = time.time()
        self.run("scontrol", "hold", job)
        seconds = self.until(["squeue", "-h", "-j", job, "-o", "%r"], lambda text: text.startswith("JobHeld")) - t0
        self.cancel(job)
        return seconds

    def release_to_running(self):
        job = self.submit("-H")
        t0 = time.time()
        self.run("scontrol", "release", job)
        seconds = self.shows(job, "RUNNING") - t0
        self.cancel(job)
        return seconds

    def suspend_to_suspended(self):
        job = self.running()
        t0 = time.time()
        self.run("scontrol", "suspend", job)
        seconds = self.shows(job, "SUSPENDED") - t0
        self.cancel(job)
        return seconds

    def update_to_shown(self):
        job = self.submit("-H")
        t0 = time.time()
        self.run("scontrol", "update", f"jobid={job}", "comment=now")
        seconds = self.until(["squeue", "-h", "-j", job, "-o", "%k"], lambda text: text == "now") - t0
        self.cancel(job)
        return seconds

    def drain_to_shown(self):
        t0 = time.time()
        self.run("scontrol", "update", "nodename=n1", "state=drain", "reason=moment")
        seconds = self.node_is("drained") - t0
        self.run("scontrol", "update", "nodename=n1", "state=resume")
        self.node_is("idle")
        return seconds

    def resume_to_running(self):
        self.run("scontrol", "update", "nodename=n1", "state=drain", "reason=moment")
        job = self.submit("-w", "n1")
        t0 = time.time()
        self.run("scontrol", "update", "nodename=n1", "state=resume")
        seconds = self.shows(job, "RUNNING") - t0
        self.cancel(job)
        return seconds

    def stubborn_to_gone(self):
        """A script that has something to do before it ends: COMPLETING from its last instant on."""
        path, text = self.stamp()
        begun, begin = self.stamp()
        job = self.submit(wrap=f"trap '{text}; exit' TERM; {begin}; while :; do sleep 0.05; done")
        self.read(begun)
        self.run("scancel", job)
        return self.gone(job) - self.read(path)

    def many_to_gone(self):
        """Twenty jobs, cancelled by one command."""
        name = f"many{os.getpid()}"
        jobs = [self.submit("-J", name) for _ in range(20)]
        for job in jobs:
            self.shows(job, "RUNNING")
        t0 = time.time()
        self.run("scancel", "-n", name)
        return self.until(["squeue", "-h", "-n", name, "-o", "%i"], lambda text: not text) - t0

    def end_to_next_task(self):
        """An array of one task at a time."""
        ended, end = self.stamp()
        begun, begin = self.stamp()
        job = self.submit("-a", "1-2%1", wrap=f"if [ $SLURM_ARRAY_TASK_ID = 1 ]; then sleep 0.2; {end}; else {begin}; fi")
        seconds = self.read(begun) - self.read(ended)
        self.gone(job)
        return seconds

    def failed_requeue_to_pending(self):
        """A job that has ended and is still known."""
        path, text = self.stamp()
        job = self.submit(wrap=f"{text}; exit 3")
        self.read(path)
        self.gone(job)
        t0 = time.time()
        self.run("scontrol", "requeuehold", job)
        seconds = self.shows(job, "PENDING") - t0
        self.cancel(job)
        return seconds

    def partition_to_shown(self):
        name = self.run("sinfo", "-h", "-o", "%R").split()[0]
        t0 = time.time()
        self.run("scontrol", "update", f"partitionname={name}", "state=down")
        seconds = self.until(["sinfo", "-h", "-p", name, "-o", "%a"], lambda text: text.split()[:1] == ["down"]) - t0
        self.run("scontrol", "update", f"partitionname={name}", "state=up")
        return seconds

    def partition_to_running(self):
        name = self.run("sinfo", "-h", "-o", "%R").split()[0]
        self.run("scontrol", "update", f"partitionname={name}", "state=down")
        job = self.submit()
        t0 = time.time()
        self.run("scontrol", "update", f"partitionname={name}", "state=up")
        seconds = self.shows(job, "RUNNING") - t0
        self.cancel(job)
        return seconds

    def reservation_to_shown(self):
        self.n += 1
        name = f"moment{self.n}"
        t0 = time.time()
        self.run("scontrol", "create", f"reservationname={name}", "starttime=now+1hour", "duration=1", "users=root", "nodes=n1")
        seconds = self.until(["scontrol", "show", "reservation", name], lambda text: name in text) - t0
        self.run("scontrol", "delete", f"reservationname={name}")
        return seconds

    def took(self, *argv):
        t0 = time.time()
        self.run(*argv)
        return time.time() - t0

    def srun_true(self):
        return self.took("srun", "-n1", "--mem=1", "true")

    def sbatch_returns(self):
        t0 = time.time()
        job = self.submit("-H")
        seconds = time.time() - t0
        self.cancel(job)
        return seconds

    def requeue_returns(self):
        job = self.running()
        seconds = self.took("scontrol", "requeue", job)
        self.shows(job, "PENDING")
        self.cancel(job)
        return seconds

    def suspend_returns(self):
        job = self.running()
        seconds = self.took("scontrol", "suspend", job)
        self.cancel(job)
        return seconds

    def show_job_returns(self):
        job = self.submit("-H")
        seconds = self.took("scontrol", "show", "job", job)
        self.cancel(job)
        return seconds

    def squeue_returns(self):
        return self.took("squeue")

    def sinfo_returns(self):
        return self.took("sinfo")

    def node_is(self, state):
        return self.until(["sinfo", "-h", "-n", "n1", "-o", "%T"], lambda text: text == state)


MOMENTS = (
    ("sbatch to RUNNING", Scene.sbatch_to_running),
    ("script's end to gone", Scene.end_to_gone),
    ("scancel returns", Scene.scancel_returns),
    ("scancel to gone", Scene.scancel_to_gone),
    ("script's end to sbatch --wait returns", Scene.end_to_wait_returns),
    ("salloc true", Scene.salloc_true),
    ("script's end to dependent's start", Scene.end_to_dependent),
    ("requeue to PENDING", Scene.requeue_to_pending),
    ("hold to its reason", Scene.hold_to_reason),
    ("release to RUNNING", Scene.release_to_running),
    ("suspend to SUSPENDED", Scene.suspend_to_suspended),
    ("update to shown", Scene.update_to_shown),
    ("drain to drained", Scene.drain_to_shown),
    ("node resumed to RUNNING", Scene.resume_to_running),
    ("trap's end to gone", Scene.stubborn_to_gone),
    ("scancel of 20 to gone", Scene.many_to_gone),
    ("task's end to next task's start", Scene.end_to_next_task),
    ("requeue of an ended job to PENDING", Scene.failed_requeue_to_pending),
    ("partition down to shown", Scene.partition_to_shown),
    ("partition up to RUNNING", Scene.partition_to_running),
    ("reservation to shown", Scene.reservation_to_shown),
    ("srun true", Scene.srun_true),
    ("sbatch returns", Scene.sbatch_returns),
    ("requeue returns", Scene.requeue_returns),
    ("suspend returns", Scene.suspend_returns),
    ("scontrol show job returns", Scene.show_job_returns),
    ("squeue returns", Scene.squeue_returns),
    ("sinfo returns", Scene.sinfo_returns),
)


def w_moments(cluster, n, latency):
    """Each moment n times; `latency` makes a row of the times."""
    scene, rows = Scene(cluster), []
    for what, moment in MOMENTS:
        with Span(cluster) as span:
            times = [moment(scene) for _ in range(n)]
        rows.append(latency("moments", what, cluster, times, 0, span))
    return rows
