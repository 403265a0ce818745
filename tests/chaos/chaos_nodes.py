#!/usr/bin/python3
"""Join many nodes with slurmd -Z while jobs run and the controller is killed, and count nodes and jobs.

usage: tests/chaos/chaos_nodes.py --build BUILD [--nodes N] [--kills N] [--seed N] [--tap]

N emulated nodes (a slurmd each, of one CPU) register by themselves, in bursts.  Jobs run on those that are there; slurmctld
gets SIGKILL between bursts and is started again; a tenth of the nodes is killed and comes back with another size; a third is
deleted in the end.  Then the table of nodes and the partition are what was made, each job has completed, and the journal is
sound."""

import random
import sys
import tempfile
import time

from tapmain import main, put_away

PATIENCE_S = 300
BURST = 25
JOBS = 10  # with each burst


def wait_for(condition, what, cluster):
    until = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError(f"never: {what}\n{cluster.logs('slurmctld')[-2000:]}")
        time.sleep(0.2)


def rows(cluster, fields, *options):
    return set(cluster.run("sinfo", "-h", "-N", "-p", "main", "-o", fields, *options).stdout.split("\n")) - {""}


def join(cluster, name, ports, cpus):
    cluster.start_slurmd(name, "-Z", "--conf", f"CPUs={cpus} RealMemory=100 Port={ports[name]}")


def kill_controller(cluster):
    cluster.kill_ctld()
    cluster.start_ctld(timeout=60)


def join_all(cluster, names, ports, kills):
    """How long it took."""
    began = time.monotonic()
    for i in range(0, len(names), BURST):
        for name in names[i:i + BURST]:
            join(cluster, name, ports, 1)
        if i // BURST in kills:
            kill_controller(cluster)
        cluster.run("sbatch", "-o", "/dev/null", "--mem=1", "-a", f"0-{JOBS - 1}", "--wrap", "sleep 0.2")
    wait_for(lambda: rows(cluster, "%N", "-t", "idle,mix,alloc") == {"node1", *names}, "every node is there", cluster)
    return time.monotonic() - began


def resize(cluster, names, ports):
    for name in names:
        cluster.slurmds[name].kill()
    kill_controller(cluster)
    for name in names:
        join(cluster, name, ports, 2)
    wait_for(lambda: rows(cluster, "%N %c") >= {f"{n} 2" for n in names}, "nodes have their new sizes", cluster)


def delete(cluster, names):
    """How long it took.  A node that a job has just left may be busy for a moment."""
    began = time.monotonic()
    wait_for(lambda: cluster.run("scontrol", "delete", f"nodename={','.join(names)}", check=False).returncode == 0 or
             not set(names) & rows(cluster, "%N"), "nodes are deleted", cluster)
    return time.monotonic() - began


def trial(cluster, args, report):
    from conftest import free_ports
    dice = random.Random(args.seed)
    names = [f"z{i:04d}" for i in range(args.nodes)]
    ports = dict(zip(names, free_ports(len(names))))
    bursts = range(0, len(names), BURST)
    kills = dice.sample(range(len(bursts)), min(args.kills, len(bursts)))
    report(f"{len(names)} nodes joined in {join_all(cluster, names, ports, kills):.1f} s, slurmctld was killed {len(kills)} times")
    resize(cluster, dice.sample(names, len(names) // 10), ports)
    wait_for(lambda: not cluster.run("squeue", "-h").stdout, "the queue is empty", cluster)
    states = cluster.run("sacct", "-n", "-X", "-a", "-o", "State").stdout.split()
    wrong = [f"{s}: {states.count(s)} jobs" for s in set(states) - {"COMPLETED"}]
    yield "every job has completed", wrong + ([] if len(states) == JOBS * len(bursts) else [f"{len(states)} jobs"])
    gone = dice.sample(names, len(names) // 3)
    report(f"{len(gone)} nodes deleted in {delete(cluster, gone):.1f} s")
    kill_controller(cluster)
    wait_for(lambda: rows(cluster, "%N", "-t", "idle") == {"node1", *names} - set(gone), "the others are there", cluster)
    verified = cluster.run("penstock", "journal", "verify", f"{cluster.dir}/state", check=False)
    yield "the journal is sound", [] if verified.returncode == 0 else [verified.stdout + verified.stderr]


def run(args, report):
    from conftest import Cluster
    folder = tempfile.mkdtemp(prefix="penstock-chaos-")
    cluster = Cluster(folder, nodes=1, conf=f"MaxNodeCount={args.nodes + 1}\nSlurmdTimeout=600\nMaxJobCount=50000")
    try:
        cluster.start()
        yield from trial(cluster, args, report)
    finally:
        problems = put_away(cluster, folder)
    yield "nothing is left behind", problems


if __name__ == "__main__":
    sys.exit(main(__doc__, run, nodes=200, kills=3))
