#!/usr/bin/python3
"""How a controller does with many nodes and jobs on one machine: `penstock up --emulate` and released jobs.

usage: bench/scale.py [--queue] [BUILD] [NODES] [JOBS] [NODES JOBS ...]     e.g. build 1000 10000 15000 100000

--queue: no flow; two thirds of the nodes are busy, the others drained, and a tenth of the jobs that wait are in arrays of 100.
BENCH_BUILD names a build whose bench_submit_kept is used instead of BUILD's, where BUILD is older.

One JSON object a line.  Each pair of NODES and JOBS is a cluster of its own, so that two pairs show what a node and a job
cost as they become many.  CPU and memory are slurmctld's."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchlib import CLK, emit, percentile, rss_kib

HERE = Path(__file__).resolve().parent
SAMPLES = 20
DAY = 86400


class Cluster:
    def __init__(self, build, nodes):
        self.build, self.nodes = Path(build).resolve(), nodes
        self.bench = Path(os.environ.get("BENCH_BUILD", self.build)) / "bench"
        self.dir = Path(tempfile.mkdtemp(prefix="penstock-scale-"))
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("SLURM")}
        self.env |= {"SLURM_CONF": str(self.dir / "etc" / "slurm.conf"), "PATH": f"{self.build / 'src' / 'cli'}:{os.environ['PATH']}"}

    def run(self, *argv, check=True):
        return subprocess.run(argv, env=self.env, cwd="/", check=check, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout

    def penstock(self, *argv, check=True):
        return self.run(str(self.build / "src" / "penstock" / "penstock"), *argv, "--dir", str(self.dir), check=check)

    def up(self, lines="", flow=0):
        """Twice: the limits of slurm.conf are for millions of jobs then, these lines are in it, and the last nodes are a partition."""
        self.penstock("up", "--nodes=2", "--emulate=1")
        self.penstock("down")
        conf = self.dir / "etc" / "slurm.conf"
        text = conf.read_text().replace("emu[1-1]", f"emu[1-{self.nodes}]").replace("Port=[40000-40000]", f"Port=[40000-{39999 + self.nodes}]")
        if flow:
            text = text.replace(f"emulated Nodes=emu[1-{self.nodes}]", f"emulated Nodes=emu[1-{self.nodes - flow}]")
            lines += f"PartitionName=flow Nodes=emu[{self.nodes - flow + 1}-{self.nodes}] MaxTime=INFINITE\n"
        conf.write_text(text + "MaxJobCount=5000000\nMaxArraySize=1000001\n" + lines)
        self.penstock("up")

    def pid(self, name="slurmctld"):
        return int((self.dir / "run" / f"{name}.pid").read_text())

    def emulator(self):
        return self.pid("emulate")

    def cpu_s(self):
        fields = Path(f"/proc/{self.pid()}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / CLK

    def submit(self, jobs, sleep_s, arrays=0):
        """Jobs of a whole node each, over 8 kept connections; arrays of 100 after them."""
        kept = [str(self.bench / "bench_submit_kept"), "-P", "emulated", "-r", str(sleep_s), "-T", "64"]
        self.run(*kept, "-n", str(jobs))
        if arrays:
            self.run(*kept, "-n", str(arrays), "-a", "0-99")

    def running(self):
        return int(self.run("sh", "-c", "squeue -h -t R -o %D | wc -l"))

    def close(self):
        self.penstock("down", check=False)
        shutil.rmtree(self.dir, ignore_errors=True)


def timed(cluster, *argv, samples=SAMPLES):
    took = []
    for _ in range(samples):
        t0 = time.monotonic()
        cluster.run(*argv)
        took.append(time.monotonic() - t0)
    return percentile(took, 0.5) * 1e3


def measure_registration(cluster):
    t0 = time.monotonic()
    cluster.up()
    emit(bench="scale", what="all nodes registered", nodes=cluster.nodes, seconds=time.monotonic() - t0, ctld_cpu_s=cluster.cpu_s(),
         ctld_mib=rss_kib(cluster.pid()) / 1024)


def measure_flow(cluster, jobs):
    """Jobs that take a second: submission, start and end of each."""
    cpu, t0 = cluster.cpu_s(), time.monotonic()
    cluster.submit(jobs, 1)
    while cluster.run("squeue", "-h", "-o", "%i"):
        time.sleep(0.2)
    seconds = time.monotonic() - t0
    emit(bench="scale", what="jobs of one second, from submission to end", nodes=cluster.nodes, jobs=jobs, per_s=jobs / seconds,
         ctld_cpu_ms_each=(cluster.cpu_s() - cpu) * 1e3 / jobs)


def measure_queue(cluster, jobs):
    """Every node busy, the rest of the jobs waits."""
    before, cpu = rss_kib(cluster.pid()), cluster.cpu_s()
    t0 = time.monotonic()
    cluster.submit(jobs, DAY)
    seconds = time.monotonic() - t0
    while cluster.running() < min(jobs, cluster.nodes):
        time.sleep(0.5)
    emit(bench="scale", what="jobs in the queue, every node busy", nodes=cluster.nodes, jobs=jobs, submitted_per_s=jobs / seconds,
         ctld_cpu_ms_each=(cluster.cpu_s() - cpu) * 1e3 / jobs, kib_each=(rss_kib(cluster.pid()) - before) / jobs)
    emit(bench="scale", what="commands, p50 in ms", nodes=cluster.nodes, jobs=jobs, sinfo=timed(cluster, "sinfo"),
         squeue_one=timed(cluster, "squeue", "-h", "-j", "1"), squeue_all=timed(cluster, "squeue", "-h", samples=3),
         sbatch=timed(cluster, "sbatch", "-H", "--wrap", "true"), srun=timed(cluster, "srun", "-n1", "true"))


def snapshot_mib(cluster):
    sizes = [p.stat().st_size for p in cluster.dir.rglob("*") if p.suffix == ".snap" and p.is_file()]
    return max(sizes, default=0) / 2**20


def measure_waiting(cluster, jobs):
    """What a job that waits costs: the nodes' jobs run before the first of them."""
    busy = max(1, cluster.nodes * 2 // 3)
    if busy < cluster.nodes:
        cluster.run("scontrol", "update", f"nodename=emu[{busy + 1}-{cluster.nodes}]", "state=drain", "reason=bench")
    cluster.submit(busy, DAY)
    while cluster.running() < busy:
        time.sleep(0.5)
    cluster.run("squeue", "-h", "-o", "%i")
    before, cpu = rss_kib(cluster.pid()), cluster.cpu_s()
    t0 = time.monotonic()
    cluster.submit(jobs - jobs // 10, DAY, arrays=jobs // 1000)
    seconds = time.monotonic() - t0
    cluster.run("squeue", "-h", "-o", "%i")
    emit(bench="scale", what="jobs wait", nodes=cluster.nodes, running=busy, jobs=jobs,
         submitted_per_s=(jobs - jobs // 10 + jobs // 1000) / seconds,
         ctld_cpu_ms_each=(cluster.cpu_s() - cpu) * 1e3 / jobs, kib_each=(rss_kib(cluster.pid()) - before) / jobs,
         ctld_mib=rss_kib(cluster.pid()) / 1024, newest_snapshot_mib=snapshot_mib(cluster))
    time.sleep(10)
    emit(bench="scale", what="commands, p50 in ms", nodes=cluster.nodes, jobs=jobs, kib_each=(rss_kib(cluster.pid()) - before) / jobs,
         sinfo=timed(cluster, "sinfo"), squeue_one=timed(cluster, "squeue", "-h", "-j", "1"),
         squeue_all=timed(cluster, "squeue", "-h", samples=3), sbatch=timed(cluster, "sbatch", "-H", "--wrap", "true"),
         srun=timed(cluster, "srun", "-n1", "true"), kib_each_at_end=(rss_kib(cluster.pid()) - before) / jobs)
    cpu = cluster.cpu_s()
    time.sleep(10)
    emit(bench="scale", what="busy while nothing is asked", nodes=cluster.nodes, jobs=jobs,
         ctld_cpu_ms_a_second=(cluster.cpu_s() - cpu) * 100)


def measure_restart(cluster, jobs):
    os.kill(cluster.pid(), signal.SIGKILL)
    while Path(f"/proc/{cluster.pid()}").exists():
        time.sleep(0.01)
    t0 = time.monotonic()
    cluster.run(str(cluster.build / "src" / "ctld" / "slurmctld"), "-f", cluster.env["SLURM_CONF"])
    served = time.monotonic() - t0
    while int(cluster.run("sh", "-c", "sinfo -h -N -o %t | grep -c '[*]'", check=False) or 0):
        time.sleep(0.5)
    emit(bench="scale", what="after a kill of slurmctld", nodes=cluster.nodes, jobs=jobs, serves_after_s=served,
         all_nodes_after_s=time.monotonic() - t0, ctld_cpu_s=cluster.cpu_s())


def main():
    args = sys.argv[1:]
    queue = "--queue" in args
    args = [a for a in args if a != "--queue"]
    build = args.pop(0) if args and not args[0].isdigit() else str(HERE.parent / "build")
    sizes = [int(x) for x in args] or [1000, 10000]
    for nodes, jobs in zip(sizes[::2], sizes[1::2]):
        cluster = Cluster(build, nodes)
        try:
            measure_registration(cluster)
            if queue:
                measure_waiting(cluster, jobs)
            else:
                measure_flow(cluster, jobs)
                measure_queue(cluster, jobs)
            measure_restart(cluster, jobs)
        finally:
            cluster.close()


if __name__ == "__main__":
    main()
