#!/usr/bin/python3
"""Six days of a job a second on an emulated cluster, in as few minutes as they take: does the memory of any daemon grow?

usage: tests/chaos/soak_day.py --build BUILD [--jobs 518400] [--rate 800] [--nodes 200] [--bytes 24] [--simulated 512]
       [--leak BYTES]

Jobs of a second come beside watchers, loops of squeue, scrapes, and, every epoch, what a day of administration is: nodes drained
and resumed, a reservation, a reconfiguration, cancelled and requeued jobs, arrays, a trigger.  Jobs are forgotten ten to twenty
seconds after their end, so what slurmctld holds is about the same all day, but for two caches that fill in the first three days: the
pages of accounting's database (64 MiB) and the newest changes for watchers (32 MiB). In the last 40% the memory of each process
may grow by --bytes for each job that ended (by the slope of all epochs), and a simulation, which holds the rows of all its jobs
for the report, by --simulated for each job more.  --leak plants growth: the check must fail then."""

import subprocess
import sys
import time
from pathlib import Path

from tapmain import main

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "bench"))
EPOCH_S = 10
SLACK_KIB = 1024  # a chunk of malloc() more or less is no growth


def slope(points):
    """Least squares: y for each x."""
    n = len(points)
    mx, my = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    var = sum((x - mx) ** 2 for x, _ in points)
    return sum((x - mx) * (y - my) for x, y in points) / var if var else 0.0


def judge(name, points, limit):
    """points: (jobs ended, KiB).  What is wrong with their last 40%."""
    steady = points[len(points) * 3 // 5:]
    if len(steady) < 4:
        return [f"{name}: {len(steady)} epochs are too few to judge"]
    each, gained = slope(steady) * 1024, slope(steady) * (steady[-1][0] - steady[0][0])
    if each > limit and gained > SLACK_KIB:
        return [f"{name}: {each:.1f} bytes more for each job, {gained:.0f} KiB in {len(steady)} epochs"]
    return []


def administer(cluster, epoch):
    """What people do in a day.  Each thing is undone by the next epoch at the latest."""
    node = f"emu{1 + epoch % cluster.nodes}"
    cluster.run("scontrol", "update", f"nodename={node}", "state=drain", "reason=soak", check=False)
    cluster.run("scontrol", "create", "reservation", f"reservationname=soak{epoch}", "starttime=now+1hour", "duration=10", "users=root",
                "nodes=emu1", check=False)
    cluster.run("sbatch", "-H", "-o", "/dev/null", "-a", "0-99", "-p", "emulated", "-J", "soak", "--wrap", "sleep 1", check=False)
    cluster.run("strigger", "--set", "--node", "--down", "--program=/bin/true", check=False)
    cluster.run("sacct", "-n", "-X", "-S", "now-1minutes", check=False)
    cluster.run("scontrol", "reconfigure", check=False)
    cluster.run("scancel", "-n", "soak", check=False)
    cluster.run("scontrol", "delete", f"reservationname=soak{epoch}", check=False)
    cluster.run("scontrol", "update", f"nodename={node}", "state=resume", check=False)
    ids = [line.split()[0] for line in cluster.run("strigger", "--get", "-n", check=False).splitlines() if line.split()]
    for number in ids:
        cluster.run("strigger", "--clear", f"--id={number}", check=False)


def live(args, report):
    """(process -> points, jobs refused)."""
    from life import Life, anonymous_kib, ended
    from scale import Cluster
    cluster, points = Cluster(args.build, args.nodes), {}
    try:
        cluster.up("MinJobAge=10\n")
        names = {"slurmctld": cluster.pid(), "penstock-emulate": cluster.emulator()}
        with Life(cluster, args.rate, watchers=4, loops=1, scrapes=True) as life:
            epoch, planted = 0, 0
            while ended(cluster) < args.jobs:
                time.sleep(EPOCH_S)
                administer(cluster, epoch)
                jobs = ended(cluster)
                planted = args.leak * jobs / 1024
                for name, pid in names.items():
                    points.setdefault(name, []).append((jobs, anonymous_kib(pid) + planted))
                epoch += 1
                if epoch % 6 == 0:
                    report(f"{jobs} jobs have ended; KiB: " + ", ".join(f"{n} {p[-1][1]:.0f}" for n, p in points.items()))
        return points, life.refused
    finally:
        cluster.close()


def peak_kib(args, jobs):
    """Most memory of a simulation of so many jobs, on as many nodes and as busy as ever."""
    argv = ["/usr/bin/env", "python3", "-c", "import resource,subprocess,sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)",
            f"{args.build}/src/penstock/penstock", "sim", "-g", "gpu", "-j", str(jobs), "-N", "500", "-G", "4", "-J", "-q"]
    return int(subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout.split()[-1])


def simulate(args, report):
    sizes = [args.jobs // 32, args.jobs // 16, args.jobs // 8]
    kib = [peak_kib(args, n) for n in sizes]
    each = [(kib[i + 1] - kib[i]) * 1024 / (sizes[i + 1] - sizes[i]) for i in (0, 1)]
    report(f"penstock sim of {sizes} jobs takes {kib} KiB at most: {each[0]:.0f}, then {each[1]:.0f} bytes a job more")
    return [f"{e:.0f} bytes for each job more" for e in each if e > args.simulated]


def run(args, report):
    points, refused = live(args, report)
    for name, seen in points.items():
        report(f"{name}: {seen[0][1]:.0f} KiB after {seen[0][0]} jobs, {seen[-1][1]:.0f} KiB after {seen[-1][0]}")
        yield f"the memory of {name} is steady over {seen[-1][0]} jobs", judge(name, seen, args.bytes)
    yield "every submission was taken", [f"{refused} bursts were refused"] if refused else []
    yield "a simulation takes no more than the rows of its jobs", simulate(args, report)


if __name__ == "__main__":
    sys.exit(main(__doc__, run, jobs=518400, rate=800, nodes=200, bytes=24, leak=0, simulated=512))
