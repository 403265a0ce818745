"""A cluster's life: jobs that come and end at a steady rate beside watchers, loops of squeue and scrapes of metrics.

`Life` runs on a cluster of scale.py, whose nodes are emulated.  Everything that it starts ends with stop()."""

import re
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections import defaultdict
from pathlib import Path

BURSTS = 4  # a second

COMMANDS = {
    "sinfo": ["sinfo"],
    "squeue of one job": ["squeue", "-h", "-j", "1"],
    "squeue of who runs": ["squeue", "-h", "-t", "R", "-o", "%i"],
    "scontrol show job": ["scontrol", "show", "job", "1"],
    "sacct of one job": ["sacct", "-n", "-X", "-j", "1"],
    "sbatch": ["sbatch", "-H", "-o", "/dev/null", "--wrap", "true"],
    "srun true": ["srun", "-n1", "--mem=1", "true"],
}


class Life:
    def __init__(self, cluster, rate, watchers=0, loops=0, scrapes=False, partition="emulated"):
        self.cluster, self.rate, self.watchers, self.loops, self.scrapes = cluster, rate, watchers, loops, scrapes
        self.partition = partition
        self.stopped = threading.Event()
        self.submitted, self.refused, self.took = 0, 0, defaultdict(list)
        self.lock = threading.Lock()
        self.threads, self.processes = [], []

    def __enter__(self):
        for _ in range(self.watchers):
            self.processes.append(subprocess.Popen(["squeue", "--watch", "--changes-only"], env=self.cluster.env,
                                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        works = [self.flow] * bool(self.rate) + [self.list_jobs] * self.loops + [self.scrape] * self.scrapes
        self.threads = [threading.Thread(target=work) for work in works]
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        for t in self.threads:
            t.join()
        for p in self.processes:
            p.send_signal(signal.SIGTERM)
            p.wait()

    def timed(self, name, work):
        """What it gives; how long it took is noted if it succeeded."""
        t0 = time.monotonic()
        done = work()
        if done is not None:
            with self.lock:
                self.took[name].append(time.monotonic() - t0)
        return done

    def command(self, name, argv):
        def work():
            done = subprocess.run(argv, env=self.cluster.env, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            return True if done.returncode == 0 else None
        return self.timed(name, work)

    def flow(self):
        """Jobs of a second on one CPU; late bursts are not made up for."""
        argv = [str(self.cluster.bench / "bench_submit_kept"), "-P", self.partition, "-r", "1", "-c", "2", "-n",
                str(max(1, self.rate // BURSTS))]
        due = time.monotonic()
        while not self.stopped.wait(max(0, due - time.monotonic())):
            due = max(due + 1 / BURSTS, time.monotonic() - 1)
            done = subprocess.run(argv, env=self.cluster.env, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            with self.lock:
                if done.returncode == 0:
                    self.submitted += max(1, self.rate // BURSTS)
                else:
                    self.refused += 1

    def list_jobs(self):
        while not self.stopped.is_set():
            self.command("squeue of who runs, in a loop", COMMANDS["squeue of who runs"])

    def scrape(self):
        while not self.stopped.wait(1):
            for page in ("jobs", "nodes", "partitions"):
                self.timed(f"scrape of {page}", lambda page=page: fetch(self.cluster, page))

    def sample(self, name):
        return self.command(name, COMMANDS[name])


def port_of(cluster):
    return re.search(r"^SlurmctldPort=(\d+)", Path(cluster.env["SLURM_CONF"]).read_text(), re.M).group(1)


def fetch(cluster, page):
    """A page of metrics; None: it is not to be had now."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port_of(cluster)}/metrics/{page}", timeout=60) as answer:
            return answer.read().decode()
    except (OSError, urllib.error.URLError):
        return None


def anonymous_kib(pid):
    """Memory of a process that is no file's, in use or kept by malloc()."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(re.search(rf"^{name}:\s+(\d+) kB", text, re.M).group(1)) for name in ("Anonymous", "Swap"))


def ended(cluster):
    """Jobs that ended since the controller's start, by its own count."""
    text = cluster.run("sdiag")
    return sum(int(re.search(rf"^Jobs {word}:\s+(\d+)", text, re.M).group(1)) for word in ("completed", "canceled", "failed"))
