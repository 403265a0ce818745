"""Examinations of a cluster from outside: a cluster with files of its own, and a list of what was not as expected.

lab() makes a cluster whose nodes, partitions and files beside slurm.conf a test says in full.  Exam collects
differences, so that one examination tells all of them at once."""

import re
import socket
import time

from conftest import wait_until


def names_of(pattern):
    """Names of a simple range: node[01-16] or n1."""
    match = re.fullmatch(r"([a-z]+)\[(\d+)-(\d+)\]", pattern)
    if not match:
        return [pattern]
    word, low, high = match.groups()
    return [f"{word}{number:0{len(low)}d}" for number in range(int(low), int(high) + 1)]


def lab(make_cluster, nodes, conf="", parts="PartitionName=debug Nodes=ALL Default=YES State=UP", files=None, cpus=4,
        options=None, start=True, unstarted=()):
    """A cluster of the nodes of a range; files: {name: text} beside slurm.conf; options: {node: words of its line}."""
    names = names_of(nodes)
    c = make_cluster(start=False, nodes=len(names), cpus=cpus, conf=conf)
    c.node_names = names
    head = c.conf_text().split("NodeName=")[0]
    host = socket.gethostname().split(".")[0]
    lines = [f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} Sockets=1 "
             f"CoresPerSocket={cpus} ThreadsPerCore=1 RealMemory=2000 {(options or {}).get(name, 'State=UNKNOWN')}"
             for name, port in zip(names, c.node_ports)]
    c.write_conf(head + "\n".join([*lines, parts]) + "\n")
    for name, text in (files or {}).items():
        (c.conf.parent / name).write_text(text)
    if start:
        c.start_ctld()
        for name in names:
            if name not in unstarted:
                c.start_slurmd(name)
        c.wait_nodes(names=[name for name in names if name not in unstarted])
    return c


class Exam:
    """What was asked of a cluster, and what was not answered as expected."""

    def __init__(self, c):
        self.c, self.wrong = c, []

    def same(self, what, got, want):
        if got != want:
            self.wrong.append(f"{what}: {got!r}, not {want!r}")

    def has(self, what, got, part):
        if part not in got:
            self.wrong.append(f"{what}: {got!r} has no {part!r}")

    def ask(self, *argv, **kwargs):
        """Output, errors and the exit status as one text, as a reader of a terminal sees them."""
        done = self.c.run(*argv, check=False, **kwargs)
        return done.out + done.err + (f"[{done.rc}]" if done.rc else "")

    def nodes(self, *options, env=None, timeout=10):
        """The nodes that a job of these options gets now, or why it does not start."""
        done = self.c.run("sbatch", "--parsable", "-o", "/dev/null", "--wrap", "sleep 300", *options, check=False, env=env)
        if done.rc:
            return done.err.strip().split(": ")[-1]
        return self.placed(done.out.strip(), timeout)

    def placed(self, job, timeout=10):
        deadline = time.monotonic() + timeout
        while True:
            state, reason, nodes = self.c.run("squeue", "-h", "-j", job, "-o", "%T|%r|%N").out.strip().split("|")
            if state in ("RUNNING", "CONFIGURING") or reason not in ("None", "Priority") or time.monotonic() > deadline:
                return nodes if state in ("RUNNING", "CONFIGURING") else reason
            time.sleep(0.05)  # between two questions

    def hold(self, *names):
        """Keep nodes busy with whole-node jobs, one a node."""
        for name in names:
            job = self.c.run("sbatch", "--parsable", "-o", "/dev/null", "--exclusive", "-w", name, "--wrap",
                             "sleep 300").out.strip()
            self.c.wait_state(job, "RUNNING")

    def clear(self):
        """No job is left, and no node is completing."""
        jobs = self.c.run("squeue", "-h", "-o", "%A").out.split()
        if jobs:
            self.c.run("scancel", *sorted(set(jobs)), check=False)
        wait_until(lambda: not self.c.run("squeue", "-h").out, "the queue is empty", 30)

    def one(self, *options, **kwargs):
        """nodes(), and an empty cluster afterwards."""
        answer = self.nodes(*options, **kwargs)
        self.clear()
        return answer

    def end(self):
        self.clear()
        assert not self.wrong, "\n" + "\n".join(self.wrong)
