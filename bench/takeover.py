#!/usr/bin/python3
"""How long nobody can submit when the active controller dies: from SIGKILL to the first acknowledged submission.

usage: bench/takeover.py [BUILD] [folder|etcd|stream] [NODES] [JOBS] [KILLS] [LEASE_MS]

Two controllers on one StateSaveLocation, on three local members of etcd, or with a log each and a witness; emulated nodes, two
thirds of them busy, and jobs that wait.  sbatch is started with the kill and tries by itself.  The killed controller is started
again, and gets control back, before the next kill.  One JSON object; what each phase took, by the successor's log, and its CPU
until then, is on stderr."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORDS = sys.argv[1:] + [None] * 6
BUILD = Path(WORDS[0] or ROOT / "build").resolve()
os.environ["PENSTOCK_BUILD"] = str(BUILD)
sys.path.insert(0, str(ROOT / "tests" / "integration"))
from benchlib import percentile  # noqa: E402
from conftest import free_ports, wait_until  # noqa: E402
from controllers import Controllers  # noqa: E402
from etcds import Etcd, EtcdControllers  # noqa: E402
from streams import StreamControllers  # noqa: E402

WHERE = WORDS[1] or "folder"
NODES, JOBS, KILLS, LEASE_MS = (int(WORDS[2 + i] or n) for i, n in enumerate((15000, 100000, 20, 1000)))


def conf():
    port = free_ports(1)[0]
    return f"""MaxJobCount=2000000
SlurmctldDebug=info
NodeName=emu[1-{NODES}] NodeAddr=127.0.0.1 Port={port} CPUs=64 RealMemory=262144 State=UNKNOWN
PartitionName=emulated Nodes=emu[1-{NODES}] MaxTime=INFINITE
"""


def fill(c, jobs, *options):
    subprocess.run([str(BUILD / "bench" / "bench_submit_kept"), "-n", str(jobs), "-P", "emulated", "-T", "64", *options],
                   env=c.env, check=True, stdout=subprocess.DEVNULL)


PHASES = {"waits for the lease": "taking control", "reads": "recovered .* records", "tells all": "all services were told",
          "is in control": "in control, term"}


def cpu_s(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def phases(c, host, killed, answered):
    """What the successor did when, in seconds since the kill."""
    told = {}
    for line in c.ctld_log(host).splitlines():
        at = line[1:24]
        for name, words in PHASES.items():
            if re.search(words, line) and datetime.fromisoformat(at).timestamp() >= killed:
                told[name] = round(datetime.fromisoformat(at).timestamp() - killed, 2)
    return told | {"answers": round(answered - killed, 2)}


def settle(c):
    """The nodes have told the new active controller what they have, the standby has read all of it, and both are at rest: a kill
    before that is one in the middle of two storms, and says how long those take."""
    used_s = lambda: sum(cpu_s(c.ctlds[host].pid) for host in c.hosts)
    for _ in range(60):
        before = used_s()
        time.sleep(1)
        if used_s() - before < 0.1:
            return
    raise RuntimeError("the controllers do not come to rest")


def kill_once(c):
    """Seconds from the kill to an answer for sbatch."""
    settle(c)
    active = c.active_log()
    successor = next(host for host in c.hosts if host != active)
    cpu, killed = cpu_s(c.ctlds[successor].pid), time.time()
    began = time.monotonic()
    c.ctlds[active].kill()
    while c.run("sbatch", "-H", "-J", "first", "--wrap", "true", check=False, timeout=120).rc:
        pass  # it gave up after MessageTimeout
    took = time.monotonic() - began
    cpu = cpu_s(c.ctlds[successor].pid) - cpu
    print(f"{took:.2f} s, {cpu:.2f} s of CPU; until:", phases(c, successor, killed, killed + took), file=sys.stderr, flush=True)
    c.start_one(active, timeout=120)
    wait_until(lambda: c.active() == c.hosts[0], "the first has control", 120)
    if WHERE == "stream":
        c.wait_in_sync(*c.hosts, timeout=120)
    return took


@contextmanager
def emulated(c):
    """The nodes, as one process.  They live until the cluster is stopped: only they end the jobs that run on them."""
    argv = [str(BUILD / "src" / "emulate" / "penstock-emulate"), "-D", "-f", str(c.conf), "--nodes", f"emu[1-{NODES}]"]
    emulate = subprocess.Popen(argv, env=c.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        emulate.kill()
        emulate.wait()


def measure(c):
    idle = lambda: c.run("sinfo", "-h", "-p", "emulated", "-t", "idle", "-o", "%D").out.strip()
    wait_until(lambda: idle() == str(NODES), "all nodes are registered", 300)
    c.run("scontrol", "update", f"nodename=emu[{NODES * 2 // 3 + 1}-{NODES}]", "state=drain", "reason=bench")
    fill(c, NODES * 2 // 3, "-r", "86400")
    fill(c, JOBS, "-r", "86400")
    took = sorted(kill_once(c) for _ in range(KILLS))
    print(json.dumps({"bench": "takeover", "log": WHERE, "nodes": NODES, "jobs": JOBS, "lease_ms": LEASE_MS, "kills": KILLS,
                      "p50_s": round(percentile(took, 0.5), 2), "p99_s": round(percentile(took, 0.99), 2),
                      "all_s": [round(t, 2) for t in took]}), flush=True)


def main():
    options = {"nodes": 1, "controllers": 2, "lease_ms": LEASE_MS, "conf": conf()}
    with tempfile.TemporaryDirectory(prefix="bench-takeover.") as folder:
        etcd = None
        for name in ("etcd", "cluster"):
            (Path(folder) / name).mkdir()
        if WHERE == "etcd":
            etcd = Etcd(Path(folder) / "etcd").start()
        where = Path(folder) / "cluster"
        c = (EtcdControllers(where, etcd, **options) if etcd else
             (StreamControllers if WHERE == "stream" else Controllers)(where, **options))
        with emulated(c):
            try:
                measure(c.start())
            finally:
                c.stop()
            if etcd:
                etcd.stop()


if __name__ == "__main__":
    main()
