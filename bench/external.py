#!/usr/bin/python3
"""Claims of another launcher: external jobs submitted, updated and ended on nodes without slurmd, beside jobs with a script.

usage: bench/external.py [BUILD] [NODES] [JOBS]          e.g. build 15000 50000

One JSON object a line: requests a second over 8 kept connections, of each kind; then held jobs with a script, in the same cluster;
last the ratio of the slowest kind to those.  Each answer says that the change is on disk.  Half of the jobs run, the others wait:
each takes a CPU, and a node has as many as make it so."""

import json
import subprocess
import sys
from pathlib import Path

from benchlib import emit, rss_kib
from scale import Cluster

HERE = Path(__file__).resolve().parent


class External(Cluster):
    def up(self):
        """No node of this cluster has a slurmd."""
        self.penstock("up", "--nodes=1")
        self.penstock("down")
        conf = self.dir / "etc" / "slurm.conf"
        cpus = max(1, self.jobs // 2 // self.nodes)
        conf.write_text(conf.read_text() + f"NodeSet=pods Feature=pods\nPartitionName=pods Nodes=pods MaxTime=INFINITE State=UP\n"
                        f"MaxNodeCount={self.nodes + 10}\nMaxJobCount=5000000\n")
        self.penstock("up")
        self.run("scontrol", "create", f"nodename=ext[1-{self.nodes}]", f"cpus={cpus}", "realmemory=100000", "feature=pods",
                 "state=external")

    def load(self, *options):
        done = subprocess.run([str(self.build / "bench" / "bench_submit_kept"), "-n", str(self.jobs), *options], env=self.env, cwd="/",
                              check=True, stdout=subprocess.PIPE, text=True)
        return [json.loads(line) for line in done.stdout.splitlines()]


def measure(cluster):
    rates, cpu = {}, cluster.cpu_s()
    for row in cluster.load("-x", "-P", "pods"):
        rates[row["what"]] = row["per_s"]
        emit(bench="external", what=row["what"], nodes=cluster.nodes, jobs=row["acked"], per_s=row["per_s"],
             ctld_mib=rss_kib(cluster.pid()) / 1024)
    emit(bench="external", what="all kinds", nodes=cluster.nodes, jobs=cluster.jobs,
         ctld_cpu_us_each=(cluster.cpu_s() - cpu) * 1e6 / (len(rates) * cluster.jobs))
    [held] = cluster.load()
    emit(bench="external", what="held jobs with a script", nodes=cluster.nodes, jobs=held["acked"], per_s=held["per_s"])
    emit(bench="external", what="slowest kind to held jobs", ratio=min(rates.values()) / held["per_s"])


def main():
    args = sys.argv[1:]
    build = args.pop(0) if args and not args[0].isdigit() else str(HERE.parent / "build")
    nodes, jobs = (int(x) for x in args) if args else (15000, 50000)
    cluster = External(build, nodes)
    cluster.jobs = jobs
    try:
        cluster.up()
        measure(cluster)
    finally:
        cluster.close()


if __name__ == "__main__":
    main()
