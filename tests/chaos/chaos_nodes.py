#!/usr/bin/python3
"""Join many nodes with slurmd -Z --conf-server while jobs run and the controller is killed, and count nodes and jobs.

usage: tests/chaos/chaos_nodes.py --build BUILD [--nodes N] [--kills N] [--seed N] [--tap]

N nodes (a slurmd each, of one CPU) get their configuration from slurmctld and register by themselves, in bursts.  Jobs run on
those that are there meanwhile.  A tenth of the nodes is killed and comes back with another size, a tenth with another name, so
that the old one is deleted; a third is deleted, and half of these come back, larger.  slurmctld gets SIGKILL N times, between
bursts and after each of these changes, and is started again.  Then the table of nodes and the partition are what was made, each
job has completed, the journal is sound, and replaying it makes the state that the controller had: the same hash."""

import random
import shutil
import sys
import tempfile
import time

from tapmain import main, put_away

PATIENCE_S = 300
BURST = 25
JOBS = 10  # with each burst
KILLS_OF_CHANGES, SUBMISSIONS_OF_CHANGES = 5, 4


def wait_for(condition, what, cluster):
    until = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError(f"never: {what}\n{cluster.logs('slurmctld')[-2000:]}")
        time.sleep(0.2)


def rows(cluster, fields, *options):
    return set(cluster.run("sinfo", "-h", "-N", "-p", "main", "-o", fields, *options).stdout.split("\n")) - {""}


def join(cluster, name, ports, cpus):
    from test_configless import start_node
    start_node(cluster, name, "-Z", "--conf", f"CPUs={cpus} RealMemory=100 Port={ports[name]}")


def kill_controller(cluster):
    cluster.kill_ctld()
    cluster.start_ctld(timeout=60)


def submit(cluster):
    cluster.run("sbatch", "-o", "/dev/null", "--mem=1", "-a", f"0-{JOBS - 1}", "--requeue", "--wrap", "sleep 0.2")


def join_all(cluster, names, ports, kills):
    """How long it took."""
    began = time.monotonic()
    for i in range(0, len(names), BURST):
        for name in names[i:i + BURST]:
            join(cluster, name, ports, 1)
        if i // BURST in kills:
            kill_controller(cluster)
        submit(cluster)
    wait_for(lambda: rows(cluster, "%N", "-t", "idle,mix,alloc") == {"node1", *names}, "every node is there", cluster)
    return time.monotonic() - began


def resize(cluster, names, ports):
    for name in names:
        cluster.slurmds[name].kill()
    kill_controller(cluster)
    for name in names:
        join(cluster, name, ports, 2)
    wait_for(lambda: rows(cluster, "%N %c") >= {f"{n} 2" for n in names}, "nodes have their new sizes", cluster)


def rename(cluster, names, ports):
    """The new names; each has the port of an old one."""
    fresh = {"r" + name[1:]: name for name in names}
    for new, old in fresh.items():
        cluster.slurmds.pop(old).kill()
        shutil.rmtree(cluster.dir / "run" / old, ignore_errors=True)
        ports[new] = ports[old]
        join(cluster, new, ports, 1)
    kill_controller(cluster)
    cluster.run("scontrol", "update", f"nodename={','.join(names)}", "state=down", "reason=renamed")
    delete(cluster, names)
    wait_for(lambda: rows(cluster, "%N", "-t", "idle,mix,alloc") >= set(fresh), "nodes have their new names", cluster)
    return list(fresh)


def delete(cluster, names):
    """How long it took.  A node that a job has just left may be busy for a moment."""
    began = time.monotonic()
    wait_for(lambda: cluster.run("scontrol", "delete", f"nodename={','.join(names)}", check=False).returncode == 0 or
             not set(names) & rows(cluster, "%N"), "nodes are deleted", cluster)
    return time.monotonic() - began


def change(cluster, dice, names, ports, report):
    """The nodes that there are afterwards, with their sizes.  Four kills of the controller; jobs run all the time."""
    sizes = dict.fromkeys(names, 1)
    tenth = max(1, len(names) // 10)
    submit(cluster)
    larger = dice.sample(names, tenth)
    resize(cluster, larger, ports)
    sizes |= dict.fromkeys(larger, 2)
    report(f"{tenth} nodes came back with another size")
    submit(cluster)
    old = dice.sample(sorted(set(names) - set(larger)), tenth)
    sizes |= dict.fromkeys(rename(cluster, old, ports), 1)
    for name in old:
        del sizes[name]
    report(f"{tenth} nodes came back with another name")
    submit(cluster)
    gone = dice.sample(sorted(sizes), len(sizes) // 3)
    report(f"{len(gone)} nodes deleted in {delete(cluster, gone):.1f} s")
    kill_controller(cluster)
    for name in gone:
        cluster.slurmds.pop(name).stop()
        del sizes[name]
    back = gone[:len(gone) // 2]
    submit(cluster)
    for name in back:
        join(cluster, name, ports, 3)
    kill_controller(cluster)
    sizes |= dict.fromkeys(back, 3)
    wait_for(lambda: rows(cluster, "%N", "-t", "idle,mix,alloc") == {"node1", *sizes}, "the others are there", cluster)
    report(f"{len(back)} of them came back, larger")
    return sizes


def check_jobs(rows, count):
    """What is wrong with these lines of (job, state), of so many jobs."""
    wrong = [f"job {job} is {state}" for job, state in rows if state != "COMPLETED"]
    known = {job for job, _ in rows}
    return wrong + ([] if len(known) == len(rows) == count else [f"{len(known)} jobs on {len(rows)} lines, of {count}"])


def check_replay(cluster):
    """The hash of what the controller has, when nothing happens any more, and of what its log makes."""
    for daemon in list(cluster.slurmds.values()):  # they report loads and lose connections: nothing may change
        daemon.stop()
    said = []

    def settled():
        said.append(cluster.run("penstock", "ping", "--hash").stdout)
        return said[-2:] == said[-1:] * 2 and "hash" in said[-1]
    wait_for(settled, "the controller is quiet", cluster)
    status = cluster.ctld.stop()
    replayed = cluster.run("penstock", "journal", "hash", cluster.dir / "state").stdout
    if status != 0:
        yield f"slurmctld ended with {status}"
    if said[-1] != replayed:
        yield f"live {said[-1].strip()}, replayed {replayed.strip()}"


def trial(cluster, args, report):
    from conftest import free_ports
    dice = random.Random(args.seed)
    names = [f"z{i:04d}" for i in range(args.nodes)]
    ports = dict(zip(names, free_ports(len(names))))
    bursts = range(0, len(names), BURST)
    kills = dice.sample(range(len(bursts)), min(max(args.kills - KILLS_OF_CHANGES, 0), len(bursts)))
    took = join_all(cluster, names, ports, kills)
    report(f"{len(names)} nodes joined in {took:.1f} s, slurmctld was killed {len(kills)} times")
    sizes = change(cluster, dice, names, ports, report)
    wait_for(lambda: not cluster.run("squeue", "-h").stdout, "the queue is empty", cluster)
    lines = cluster.run("sacct", "-n", "-X", "-a", "-P", "-o", "JobID,State").stdout.splitlines()
    count = JOBS * (len(bursts) + SUBMISSIONS_OF_CHANGES)
    yield "every job has completed", check_jobs([line.split("|") for line in lines], count)
    kill_controller(cluster)
    wait_for(lambda: rows(cluster, "%N", "-t", "idle") == {"node1", *sizes}, "the nodes are those that were made", cluster)
    shown = dict(row.split() for row in rows(cluster, "%N %c") if not row.startswith("node1 "))
    yield "the nodes have their sizes", [f"{n}: {shown.get(n)} CPUs, not {sizes[n]}" for n in sizes if shown.get(n) != str(sizes[n])]
    verified = cluster.run("penstock", "journal", "verify", f"{cluster.dir}/state", check=False)
    yield "the journal is sound", [] if verified.returncode == 0 else [verified.stdout + verified.stderr]
    yield "the journal replays to the live state", list(check_replay(cluster))


def run(args, report):
    from conftest import Cluster
    folder = tempfile.mkdtemp(prefix="penstock-chaos-")
    conf = f"SlurmctldParameters=enable_configless\nMaxNodeCount={2 * args.nodes + 1}\nSlurmdTimeout=600\nMaxJobCount=50000"
    cluster = Cluster(folder, nodes=1, conf=conf)
    try:
        cluster.start()
        yield from trial(cluster, args, report)
    finally:
        problems = put_away(cluster, folder)
    yield "nothing is left behind", problems


if __name__ == "__main__":
    sys.exit(main(__doc__, run, nodes=200, kills=10))
