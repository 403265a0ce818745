#!/usr/bin/python3
"""From one build to another, one daemon after the other, while jobs run and clients submit all the time.

usage: tests/chaos/rolling_upgrade.py --build NEW --old OLD [--clients N] [--lease MS] [--seed N] [--tap]

Two controllers and three nodes begin with the programs of OLD, a build folder as well.  The standby becomes the newer one,
leads after a takeover, the former leader follows, then the nodes.  Then: every job that was acknowledged exists and ran
exactly once, steps that ran all the while ended as they should, no client waited for longer than a command tries, and a
replay of the log gives the state that was.  docs/upgrade.md tells an operator to do the same."""

import os
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from chaos_standby import Client, longest_gap
from chaos_submit import check, quiet_hash
from tapmain import main, put_away

MESSAGE_TIMEOUT_S = 10


class Builds:
    """Which build's programs start."""

    def __init__(self, **folders):
        self.folders = {name: Path(path).resolve() for name, path in folders.items()}

    def use(self, name):
        import conftest
        conftest.BUILD = self.folders[name]


def long_jobs(cluster, stop_file):
    """A batch job with a step on two nodes, and an interactive step: they end when stop_file is there."""
    wait = f"while [ ! -e {stop_file} ]; do sleep 0.2; done; echo"
    batch = int(cluster.run("sbatch", "--parsable", "-N2", "-n2", "-o", str(cluster.work / "long"), "--wrap",
                            f"srun sh -c '{wait} step $SLURM_PROCID'; echo batch").stdout)
    srun = cluster.popen("srun", "-J", "interactive", "sh", "-c", f"{wait} srun",
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return batch, srun


def replace_controller(cluster, builds, host, *options):
    cluster.ctlds[host].stop()
    builds.use("new")
    cluster.start_one(host, *options)
    builds.use("old")


def replace_nodes(cluster, builds, wait_until):
    for name in cluster.node_names:
        cluster.slurmds[name].stop()
        builds.use("new")
        cluster.start_slurmd(name)
        builds.use("old")
        wait_until(lambda: cluster.run("sinfo", "-h", "-n", name, "-o", "%T", check=False).stdout.strip() in
                   ("idle", "mixed", "allocated"), f"{name} is back", 60)


def of_build(cluster, folder):
    """Daemons whose program is another's."""
    daemons = [*cluster.ctlds.values(), *cluster.slurmds.values()]
    programs = {d.name: os.readlink(f"/proc/{d.pid}/exe") for d in daemons}
    return [f"{name} is {exe}" for name, exe in programs.items() if not Path(exe).is_relative_to(folder)]


def upgrade(cluster, builds, clients, report, wait_until):
    """Gives the longest wait of a client, in seconds."""
    began = time.monotonic()
    replace_controller(cluster, builds, "ctl2", "--standby")
    wait_until(lambda: cluster.told_durable() > 10, "the standby reads the log", 30)
    report("the standby is the newer one")
    cluster.run("scontrol", "takeover", "1")
    wait_until(lambda: cluster.active_log() == "ctl2", "the newer one leads", 60)
    report("it leads")
    time.sleep(1)  # load on the newer one, whose log the older one must leave alone
    replace_controller(cluster, builds, "ctl1", "--standby")
    report("the former leader is the newer one")
    replace_nodes(cluster, builds, wait_until)
    report("all nodes are")
    builds.use("new")
    return longest_gap(clients, began, time.monotonic(), wait_until)


def check_long(cluster, batch, srun, wait_until):
    out, err = srun.communicate(timeout=60)
    if (srun.returncode, out) != (0, "srun\n"):
        yield f"srun ended with {srun.returncode}: {out}{err}"
    wait_until(lambda: cluster.state(batch) == "COMPLETED", "the long job has ended", 60)
    if sorted((cluster.work / "long").read_text().split("\n")) != ["", "batch", "step 0", "step 1"]:
        yield f"the long job said {(cluster.work / 'long').read_text()!r}"
    if cluster.job(batch)["Restarts"] != "0":
        yield f"the long job was restarted {cluster.job(batch)['Restarts']} times"


def check_hash(cluster, wait_until):
    """After the end of both controllers, the last one in control last."""
    live = quiet_hash(cluster, wait_until)
    for host in sorted(cluster.hosts, key=lambda h: h == cluster.active_log()):
        cluster.ctlds[host].kill()
    replayed = cluster.run("penstock", "journal", "hash", str(cluster.dir / "state")).stdout
    if live != replayed:
        yield f"live {live.strip()}, replayed {replayed.strip()}"


def run(args, report):
    """(name, problems) of each check."""
    from conftest import wait_until
    from controllers import Controllers
    builds = Builds(old=args.old, new=args.build)
    builds.use("old")
    folder = tempfile.mkdtemp(prefix="penstock-upgrade-")
    cluster = Controllers(folder, nodes=3, cpus=8, lease_ms=args.lease,
                          conf=f"MaxJobCount=100000\nMinJobAge=7200\nMessageTimeout={MESSAGE_TIMEOUT_S}")
    stop = threading.Event()
    clients = [Client(cluster, i, stop) for i in range(args.clients)]
    try:
        cluster.start()
        cluster.only("ctl1")  # the token
        yield "the daemons are those of the older build", of_build(cluster, builds.folders["old"])
        batch, srun = long_jobs(cluster, cluster.work / "stop")
        wait_until(lambda: cluster.state(batch) == "RUNNING", "the long job runs")
        for c in clients:
            c.start()
        wait_until(lambda: all(c.acknowledged for c in clients), "every client has a job")
        waited = upgrade(cluster, builds, clients, report, wait_until)
        stop.set()
        for c in clients:
            c.join()
        yield "the daemons are those of the newer build", of_build(cluster, builds.folders["new"])
        refused = [text for c in clients for _, text in c.refused]
        report(f"{sum(len(c.acknowledged) for c in clients)} jobs acknowledged, {len(refused)} refused; "
               f"the longest time without an acknowledgement: {waited:.2f} s")
        yield "no client was refused or waited for longer than a command tries", [
            *refused, *([f"{waited:.2f} s"] if waited > MESSAGE_TIMEOUT_S else [])]
        (cluster.work / "stop").touch()
        yield "what ran all the while ended as it should", list(check_long(cluster, batch, srun, wait_until))
        wait_until(lambda: not cluster.run("squeue", "-h", "-t", "PD,R,CG", check=False).stdout, "every job has ended", 180)
        yield "every acknowledged job exists once and ran once", [
            problem for problem in check(cluster, clients) if "runs of" not in problem and "(wrap)" not in problem
            and "(interactive)" not in problem]
        yield "a replay gives the state that was", list(check_hash(cluster, wait_until))
        yield "nothing is left", put_away(cluster, folder)
    finally:
        stop.set()
        if os.path.isdir(folder):
            put_away(cluster, folder)


if __name__ == "__main__":
    raise SystemExit(main(__doc__, run, old="", clients=4, lease=1500))
