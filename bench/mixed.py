#!/usr/bin/python3
"""Everything at once on emulated nodes: ends and submissions, watchers, loops of squeue, scrapes, beside a queue; and storms.

usage: bench/mixed.py [--rate 1000] [--away 1000] [--seconds 30] [BUILD] [NODES] [JOBS] [NODES JOBS ...]

JOBS wait all the time: two thirds of the nodes are busy, three in a hundred take jobs of a second, --rate of them
each second. A table of each cluster: p50 and p99 of commands, quiet, beside the load, and while --away nodes at once are drained,
while a switch takes them away (their process stands still; they are back when it goes on), and after SIGKILL of slurmctld.
CPU is that of slurmctld, as a share of one processor. bench/scale.py has the costs of a node and a job by themselves."""

import argparse
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

from benchlib import emit, percentile, rss_kib
from life import COMMANDS, Life
from scale import DAY, HERE, Cluster

TIMEOUT_S = 20  # SlurmdTimeout


class Storms(Cluster):
    """The first `away` nodes are a process of their own."""

    def __init__(self, build, nodes, away):
        super().__init__(build, nodes)
        self.away, self.rest = min(away, nodes // 3), None
        self.switch, self.flow = None, max(2, nodes * 3 // 100)

    def emulate(self, first, last):
        argv = [str(self.build / "src" / "emulate" / "penstock-emulate"), "-D", "-f", self.env["SLURM_CONF"], "--nodes", f"emu[{first}-{last}]"]
        return subprocess.Popen(argv, env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def start(self):
        self.up(f"SlurmdTimeout={TIMEOUT_S}\nMinJobAge=30\n", self.flow)
        os.kill(self.emulator(), signal.SIGTERM)
        self.switch, self.rest = self.emulate(1, self.away), self.emulate(self.away + 1, self.nodes)
        self.until(lambda: self.count(f"emu[1-{self.nodes}]", "idle") == self.nodes)

    def count(self, names, states):
        out = self.run("sinfo", "-h", "-n", names, "-p", "emulated,flow", "-t", states, "-o", "%D", check=False)
        return sum(int(n) for n in out.split())

    def until(self, done):
        t0 = time.monotonic()
        while not done():
            if time.monotonic() - t0 > 600:
                raise TimeoutError("the cluster does not get there")
            time.sleep(0.2)
        return time.monotonic() - t0

    def close(self):
        for process in (self.switch, self.rest):
            if process:
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.wait()
        super().close()

    def fill(self, jobs):
        """Two thirds are busy, those of the flow take short jobs, all others are drained: jobs wait."""
        busy = self.nodes * 2 // 3
        self.run("scontrol", "update", f"nodename=emu[{busy + 1}-{self.nodes - self.flow}]", "state=drain", "reason=bench")
        self.submit(busy, DAY)
        self.until(lambda: self.running() >= busy)
        self.submit(jobs - jobs // 10, DAY, arrays=jobs // 1000)


class Table:
    def __init__(self, cluster, jobs):
        self.cluster, self.jobs, self.columns, self.rows = cluster, jobs, [], {}

    def column(self, name, life, storm, seconds=0, samples=1):
        """Sample commands in turn until the storm is over and `seconds` have gone; storm() gives what to say of it."""
        told = []
        thread = threading.Thread(target=lambda: told.append(storm()))
        life.took.clear()
        before, pid, cpu, t0 = life.submitted, self.cluster.pid(), self.cluster.cpu_s(), time.monotonic()
        thread.start()
        turns = 0
        while thread.is_alive() or turns < samples or time.monotonic() - t0 < seconds:
            for command in COMMANDS:
                life.sample(command)
            turns += 1
        thread.join()
        span = time.monotonic() - t0
        with life.lock:
            took = {k: list(v) for k, v in life.took.items() if v}
        self.columns.append(name)
        cpu = self.cluster.cpu_s() - cpu * (pid == self.cluster.pid())  # a new process began at 0
        for command, times in took.items():
            cell = f"{percentile(times, 0.5) * 1e3:.0f}/{percentile(times, 0.99) * 1e3:.0f}"
            self.rows.setdefault(command, {})[name] = cell
        rest = {"jobs a second": (life.submitted - before) / span, "CPU of slurmctld": cpu / span,
                "MiB of slurmctld": rss_kib(self.cluster.pid()) / 1024}
        for what, value in rest.items():
            self.rows.setdefault(what, {})[name] = f"{value:.2f}" if value < 10 else f"{value:.0f}"
        emit(bench="mixed", what=name, nodes=self.cluster.nodes, jobs=self.jobs, seconds=span, turns=turns, storm=(told or ["failed"])[0],
             p50_ms={k: percentile(v, 0.5) * 1e3 for k, v in took.items()},
             p99_ms={k: percentile(v, 0.99) * 1e3 for k, v in took.items()}, **rest)

    def show(self):
        print(f"| {self.cluster.nodes} nodes, {self.jobs} jobs wait | " + " | ".join(self.columns) + " |")
        print("|---" * (len(self.columns) + 1) + "|")
        for command, cells in self.rows.items():
            print(f"| {command} | " + " | ".join(cells.get(c, "") for c in self.columns) + " |", flush=True)


def drain(cluster):
    """A third of the nodes that run jobs, and back."""
    names = f"nodename=emu[1-{cluster.away}]"
    t0 = time.monotonic()
    cluster.run("scontrol", "update", names, "state=drain", "reason=storm")
    drained = time.monotonic() - t0
    cluster.run("scontrol", "update", names, "state=resume")
    return {"drained_s": drained, "and_resumed_s": time.monotonic() - t0}


def take_switch(cluster):
    names = f"emu[1-{cluster.away}]"
    cluster.switch.send_signal(signal.SIGSTOP)
    down = cluster.until(lambda: cluster.count(names, "down") == cluster.away)
    cluster.switch.send_signal(signal.SIGCONT)
    return {"all_down_after_s": down, "all_back_after_s": cluster.until(lambda: cluster.count(names, "down") == 0)}


def restart(cluster):
    pid = cluster.pid()
    os.kill(pid, signal.SIGKILL)
    cluster.until(lambda: not Path(f"/proc/{pid}").exists())
    t0 = time.monotonic()
    cluster.run(str(cluster.build / "src" / "ctld" / "slurmctld"), "-f", cluster.env["SLURM_CONF"])
    cluster.until(lambda: cluster.run("squeue", "-h", "-j", "1", check=False))
    served = time.monotonic() - t0
    cluster.until(lambda: not cluster.run("sh", "-c", "sinfo -h -N -o %t | grep '[*]'", check=False))
    return {"answers_after_s": served, "all_nodes_after_s": time.monotonic() - t0}


def measure(cluster, jobs, args):
    cluster.start()
    cluster.fill(jobs)
    table = Table(cluster, jobs)
    with Life(cluster, 0) as quiet:
        table.column("quiet", quiet, lambda: None, args.seconds)
    with Life(cluster, args.rate, watchers=8, loops=2, scrapes=True, partition="flow") as life:
        table.column("load", life, lambda: None, args.seconds)
        table.column("drains", life, lambda: drain(cluster), samples=10)
        table.column("a switch away", life, lambda: take_switch(cluster), samples=10)
        table.column("restart", life, lambda: restart(cluster), samples=10)
    table.show()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--away", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("rest", nargs="*")
    args = parser.parse_args()
    build = args.rest.pop(0) if args.rest and not args.rest[0].isdigit() else str(HERE.parent / "build")
    sizes = [int(x) for x in args.rest] or [1000, 10000]
    for nodes, jobs in zip(sizes[::2], sizes[1::2]):
        cluster = Storms(build, nodes, args.away)
        try:
            measure(cluster, jobs, args)
        finally:
            cluster.close()


if __name__ == "__main__":
    main()
