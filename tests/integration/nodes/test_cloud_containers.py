"""examples/cloud with containers of this machine: what a node of its own is, and what is left when it goes."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import wait_until
from test_power import Cloud

NAMESPACES = ("pid", "mnt", "uts", "ipc")


def may_unshare():
    return subprocess.run(["unshare", "--fork", "--pid", "--mount-proc", "--mount", "--uts", "--ipc", "true"],
                          capture_output=True).returncode == 0


class Containers(Cloud):
    def __init__(self, folder, **options):
        super().__init__(folder, containers="yes", **options)

    def end_clouds(self):  # slurmd's own file has a number inside its container
        subprocess.run([self.programs / "suspend", ",".join(self.clouds)], env=self.env, check=True)

    def holder(self, node):
        """The process of this machine that holds a node's container; None without one."""
        path = self.dir / "run" / f"container-{node}"
        return int(path.read_text()) if path.exists() else None

    def write(self, setting):
        with (self.programs / "settings").open("a") as f:
            f.write(setting + "\n")


@pytest.fixture
def containers(folder):
    made = []

    def make(**options):
        made.append(Containers(folder, **options))
        return made[-1]
    yield make
    for c in made:
        c.end_clouds()
        problems = c.stop()
        assert not problems, problems


needs_unshare = pytest.mark.skipif(not may_unshare(), reason="this machine gives no namespaces")
TELL = f"echo $(hostname) $(cd /proc/self/ns && readlink {' '.join(NAMESPACES)})"


def alive(pid):
    return Path(f"/proc/{pid}").exists()


@needs_unshare
def test_a_node_is_a_container(containers):
    c = containers(suspend_time="2").start()
    out = c.work / "who"
    job = c.sbatch("-N2", "-o", out, wrap=f"srun sh -c '{TELL}'; touch /dev/shm/penstock-{os.getpid()}; setsid sleep 613 &")
    wait_until(lambda: c.holder("cl1") and c.holder("cl2"), "two containers are there")
    assert c.wait_end(job)["JobState"] == "COMPLETED"
    rows = sorted(line.split() for line in out.read_text().splitlines())
    assert [row[0] for row in rows] == ["cl1", "cl2"]
    for i, kind in enumerate(NAMESPACES, 1):
        ours = os.readlink(f"/proc/self/ns/{kind}")
        assert len({ours, rows[0][i], rows[1][i]}) == 3, kind
    assert not Path(f"/dev/shm/penstock-{os.getpid()}").exists()
    assert c.holder("cl3") is None
    for name in ("cl1", "cl2"):
        c.wait_short(name, "idle~")
    wait_until(lambda: c.holder("cl1") is c.holder("cl2") is None, "the containers are gone")
    wait_until(lambda: not list((c.dir / "run").glob("slurmd-cl*.pid")), "so are the files of their daemons")
    assert c.run("srun", "-w", "cl2", "hostname").out == "cl2\n"  # made anew


@needs_unshare
def test_programs_run_again(containers):
    """As a controller does that was killed meanwhile."""
    c = containers().start()
    c.run("scontrol", "power", "up", "cl1")
    c.wait_short("cl1", "idle")
    holder = c.holder("cl1")
    subprocess.run([c.programs / "resume", "cl1"], env=c.env, check=True)
    assert c.holder("cl1") == holder and alive(holder)
    assert c.run("srun", "-w", "cl1", "hostname").out == "cl1\n"
    c.run("scontrol", "power", "down", "cl1")
    wait_until(lambda: not alive(holder), "the container is gone")
    c.wait_short("cl1", "idle~")
    subprocess.run([c.programs / "suspend", "cl1"], env=c.env, check=True)
    # a number that is somebody else's by now is left alone
    (c.dir / "run/container-cl1").write_text(f"{os.getpid()}\n")
    subprocess.run([c.programs / "suspend", "cl1"], env=c.env, check=True)
    assert c.holder("cl1") is None


@needs_unshare
def test_a_container_is_lost(containers):
    """Everything in it goes at once, as with a machine; the job runs again on the node made anew."""
    c = containers(clouds=1, conf="SlurmdTimeout=2").start()
    runs, sleep = c.work / "runs", f"617.{os.getpid()}"
    job = c.sbatch("--requeue", wrap=f"hostname >> {runs}; [ -e {c.dir}/once ] || exec sleep {sleep}")
    wait_until(runs.exists, "the job runs")
    holder = c.holder("cl1")
    inside = wait_until(lambda: [p for p in map(int, filter(str.isdigit, os.listdir("/proc")))
                                 if command_of(p) == f"sleep\0{sleep}\0".encode()], "its program runs")
    (c.dir / "once").touch()
    os.kill(holder, signal.SIGKILL)
    wait_until(lambda: not any(alive(p) for p in inside), "what ran there is gone")
    c.wait_short("cl1", "down*", 60)
    c.run("scontrol", "power", "down", "force", "cl1")  # and up again for the job that waits
    assert c.wait_end(job, timeout=60)["JobState"] == "COMPLETED"
    assert runs.read_text() == "cl1\n" * 2
    assert c.holder("cl1") not in (None, holder)


def command_of(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_processes_where_there_are_none(containers):
    """A machine that gives no namespaces: the nodes are processes, and the program says so."""
    c = containers(clouds=1)
    c.write("UNSHARE=/bin/false")
    c.start()
    told = subprocess.run([c.programs / "resume", "cl1"], env=c.env, capture_output=True, text=True)
    assert (told.returncode, told.stderr) == (0, "cloud: no containers here, nodes are processes: unshare failed\n")
    c.run("scontrol", "power", "up", "cl1")
    c.wait_short("cl1", "idle")
    assert c.holder("cl1") is None
    assert c.run("srun", "sh", "-c", "readlink /proc/self/ns/pid").out == os.readlink("/proc/self/ns/pid") + "\n"
    c.run("scontrol", "power", "down", "cl1")
    wait_until(lambda: not (c.dir / "run/slurmd-cl1.pid").exists(), "slurmd has ended")
