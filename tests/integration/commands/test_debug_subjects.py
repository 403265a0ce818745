"""DebugFlags: subjects of the network, of threads, of plans, and those whose lines the step daemon writes to slurmd's log."""

import re
import urllib.request

from conftest import wait_until
from pki import Authority
from test_cpu_freq import Machine
from test_debug_flags import ctld_log, log_of, set_flags, wait_line


def test_of_the_controller(make_cluster):
    """NetworkRaw, Data and ConMgr tell of connections, Thread of threads, Metrics of pages, BackfillMap of the plan."""
    c = make_cluster(conf="DebugFlags=NetworkRaw,Data,ConMgr,Thread,Metrics,BackfillMap\nMetricsType=metrics/openmetrics\n")
    name = ctld_log(c)
    first = c.sbatch("-N3", "--exclusive", "-t10", wrap="sleep 30")
    c.wait_state(first, "RUNNING")
    waits = c.sbatch("-N3", "--exclusive", "-t5", wrap="true")
    urllib.request.urlopen(f"http://127.0.0.1:{c.port}/metrics/jobs").read()
    for pattern in (r"\] NetworkRaw: descriptor \d+: \d+ bytes read$", r"\] NetworkRaw: descriptor \d+: \d+ bytes written$",
                    r"\] Data: connection \d+: SubmitRequest of \d+ bytes$",
                    r"\] ConMgr: connection \d+ is descriptor \d+ of thread io-[01], one of \d+$", r"\] Thread: sched has begun$",
                    r"\] Metrics: GET /metrics/jobs$",
                    rf"\] BackfillMap: node\[1-3\] from (59\d|600) to (89\d|900) s from now: JobId={waits}$"):
        wait_line(c, name, pattern)
    c.run("scancel", first, waits)
    set_flags(c, "-NetworkRaw", "-Data", "-ConMgr", "-Metrics")
    size = len(log_of(c, name))
    c.run("scontrol", "ping")
    c.run("squeue")
    assert not re.search(r"\] (NetworkRaw|Data|ConMgr|Metrics): ", log_of(c, name)[size:])


def test_of_tls(make_cluster, tmp_path):
    """Each handshake has the version and the cipher; a caller without TLS is told by another line."""
    c = make_cluster(conf="TLSType=tls/openssl\nAuthAltTypes=auth/jwt\nDebugFlags=TLS\n", start=False, nodes=1)
    Authority(tmp_path / "pki").install(c.conf.parent)
    c.start()
    wait_line(c, ctld_log(c), r"\] TLS: connection \d+ addr=\S+: TLSv1\.3, TLS_\w+$")


def test_of_steps(make_cluster):
    """The step daemon's lines are in the node's log, in its form of times; other nodes have none, nor have steps after the flag."""
    c = make_cluster(nodes=2, conf="JobAcctGatherType=jobacct_gather/linux\nJobAcctGatherFrequency=task=1\nLogTimeFormat=iso8601\n")
    c.run("scontrol", "setdebugflags", "+JobAccountGather", "nodes=node2")
    job = c.sbatch("-N2", "-n2", wrap="srun -n2 sleep 2")
    c.wait_end(job)
    wait_line(c, "slurmd-node2.log", r"^\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\] JobAccountGather: "
              rf"StepId={job}\.0 task 1: cpu_us=\d+ mem=[1-9]\d* vmem=[1-9]\d* read=\d+ written=\d+$")
    assert "] JobAccountGather: " not in log_of(c, "slurmd-node1.log")
    c.run("scontrol", "setdebugflags", "-JobAccountGather", "nodes=node2")
    later = c.sbatch("-N2", "-n2", wrap="srun -n2 sleep 2")
    c.wait_end(later)
    assert f"JobAccountGather: StepId={later}." not in log_of(c, "slurmd-node2.log")


def test_of_processors(tmp_path):
    """CPU_Bind and CpuFrequency: which processors a task has, and what they were set to."""
    m = Machine(tmp_path, "DebugFlags=CPU_Bind,CpuFrequency\n")
    try:
        m.seen("--cpu-freq=performance", "--cpu-bind=cores")
        log = next(p.name for p in (m.c.dir / "log").glob("slurmd*"))
        wait_line(m.c, log, r"\] CPU_Bind: StepId=\d+\.0 task 0: cores mask 0x[0-9A-F]+$")
        wait_line(m.c, log, r"\] CpuFrequency: StepId=\d+\.0 CPU 0: governor performance, 1000000 to 3000000 kHz$")
    finally:
        m.c.stop()


def test_of_a_relay(make_cluster):
    """Route: a launch that goes by way of other nodes."""
    c = make_cluster(nodes=9, conf="DebugFlags=Route\nTreeWidth=2\n")
    c.run("srun", "-N9", "-n9", "true")
    logs = lambda: "".join(log_of(c, f"slurmd-node{i}.log") for i in range(1, 10))
    wait_until(lambda: re.search(r"\] Route: JobId=\d+ relays a launch to \d+ nodes, at most 2 at a time$", logs(), re.M), "a relay")
