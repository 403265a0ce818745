"""What cgroup.conf says of limits, names and signals, and slurmd in the cores and memory that jobs do not get."""
import re
import subprocess
from pathlib import Path

import pytest

from conftest import program, wait_until
from test_cgroup import HOST, cpus_in, needs, places, running
from test_extern import daemons

MIB = 1 << 20


@pytest.fixture(params=places())
def start(request):
    """Starts this machine with what is given, once."""
    left = []

    def start(*names, **more):
        left.append(running(*request.param, **more))
        machine = left[-1].__enter__()
        needs(machine, *names)
        return machine
    yield start
    for manager in left:
        manager.__exit__(None, None, None)


def allowed(pid):
    return cpus_in(re.search(r"^Cpus_allowed_list:\s+(\S+)", Path(f"/proc/{pid}/status").read_text(), re.M)[1])


def cgroup_of(m, pid, controller):
    """Where a process is."""
    want = "0::" if m.kind == "cgroup/v2" else rf"\d+:(?:\S*,)?{controller}(?:,\S*)?:"
    path = re.search(rf"^{want}/(.*)$", Path(f"/proc/{pid}/cgroup").read_text(), re.M)[1]
    return (m.mount if m.kind == "cgroup/v2" else m.mount / controller) / path


def stop_slurmd(m):
    m.slurmds[HOST].stop()
    m.ended.append(m.slurmds[HOST])


@pytest.mark.parametrize("how", ["CoreSpecCount=1", "CpuSpecList=0", "CoreSpecCount=1 off"])
def test_slurmd_keeps_to_its_cores(start, how):
    node, _, off = how.partition(" ")
    shape = subprocess.run([program("slurmd"), "-C"], capture_output=True, text=True).stdout
    if not re.search(r"(CoresPerSocket|SocketsPerBoard)=([2-9]|\d\d)", shape):
        pytest.skip("this machine has one core")
    m = start("cpuset", node=node)
    if off:
        m.write_conf(m.conf.read_text() + "TaskPluginParam=SlurmdOffSpec\n")
        stop_slurmd(m)
        m.start_slurmd(HOST)
        m.wait_nodes("idle", [HOST])
    whole = allowed("self")
    job = m.sbatch("--exclusive", "--mem=50", wrap="grep Cpus_allowed_list: /proc/self/status; sleep 1000")
    wait_until(lambda: (m.work / f"slurm-{job}.out").exists() and m.out(job).strip(), "the script runs", 60)
    own, jobs = allowed(m.slurmds[HOST].pid), cpus_in(m.out(job).split()[1])
    assert own and jobs and own < whole and jobs < whole
    # Jobs get whole cores, so that a single CPU kept from them takes its siblings along.
    assert own == jobs if off else not own & jobs, (own, jobs, whole)
    assert off or len(own) == 1 and "Cpu" in node or own | jobs == whole
    assert cgroup_of(m, m.slurmds[HOST].pid, "cpuset").name == "system"
    assert allowed(daemons(m, job, "batch")[0]) == own
    m.run("scancel", job)
    m.wait_end(job, 60)


def test_slurmd_keeps_to_its_memory(start):
    m = start("memory", node="MemSpecLimit=200")
    folder = cgroup_of(m, m.slurmds[HOST].pid, "memory")
    assert folder.name == "system"
    limit = folder / ("memory.max" if m.kind == "cgroup/v2" else "memory.limit_in_bytes")
    assert int(limit.read_text()) == 200 * MIB
    assert m.run("srun", "--mem=50", "echo", "ran", timeout=120).out == "ran\n"


def test_it_is_confined_no_more_than_asked(start):
    m = start()
    assert cgroup_of(m, m.slurmds[HOST].pid, "freezer").name != "system"


def test_scopes_go_with_the_last_step(start):
    """slurmd stops while a job runs: when that has ended, nothing of theirs is left."""
    m = start("memory", node="MemSpecLimit=200")
    job = m.sbatch("--mem=50", wrap=f"until test -e {m.work}/go; do sleep 0.1; done")
    wait_until(lambda: m.folders(job), "it runs", 60)
    root = cgroup_of(m, m.slurmds[HOST].pid, "memory").parent
    stop_slurmd(m)
    assert root.exists()
    (m.work / "go").touch()
    wait_until(lambda: not root.exists(), "the root is gone", 60)
    m.start_slurmd(HOST)
    assert m.wait_end(job, 60)["JobState"] == "COMPLETED"


def test_limits_of_memory(start):
    """AllowedRAMSpace and AllowedSwapSpace of what was given, bounded by MinRAMSpace, MaxRAMPercent and MaxSwapPercent."""
    m = start("memory", cgroup="AllowedRAMSpace=50\nAllowedSwapSpace=10\nMinRAMSpace=30\nMaxRAMPercent=20\n"
              "MaxSwapPercent=1\nMemorySwappiness=7\n")
    real = int(re.search(r"RealMemory=(\d+)", m.conf.read_text())[1])

    def rounded(n):
        return n // 4096 * 4096
    for mem, ram, swap in ((100, 50 * MIB, 10 * MIB), (40, 30 * MIB, 4 * MIB),
                           (real, real * MIB // 5, real * MIB // 100)):
        job = m.sbatch("-n1", f"--mem={mem}", wrap="sleep 1000")
        folder = wait_until(lambda job=job: [d for d in m.folders(job) if m.kind == "cgroup/v2" or "/memory/" in str(d)], "it runs", 60)[0]
        names = ("memory.max", "memory.swap.max") if m.kind == "cgroup/v2" else ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
        wait_until(lambda: (folder / "step_batch" / names[0]).exists(), "its step runs", 60)
        wait_until(lambda: int((folder / names[0]).read_text().replace("max", "0")) == rounded(ram), f"{mem}: {ram}", 20)
        if (folder / names[1]).exists():
            limit = swap if m.kind == "cgroup/v2" else rounded(ram + swap)
            assert abs(int((folder / names[1]).read_text()) - limit) < 8192
        if m.kind == "cgroup/v1":
            assert (folder / "memory.swappiness").read_text() == "7\n"
        m.run("scancel", job)
        m.wait_end(job, 60)


def test_names_and_further_controllers(start):
    m = start(cgroup="CgroupJobIdPaths=yes\nEnableExtraControllers=pids\n")
    pids = m.kind == "cgroup/v2" and "pids" in (m.mount / "cgroup.controllers").read_text().split()
    job = m.sbatch("-n1", "--mem=50", wrap="sleep 1000")
    roots = [m.mount] if m.kind == "cgroup/v2" else [p / "slurm" for p in m.mount.iterdir()]
    found = wait_until(lambda: [d for root in roots for d in root.glob(f"**/job_{job}")], "its cgroup has the job's number", 60)
    if pids:
        wait_until(lambda: (found[0] / "step_batch" / "pids.max").exists(), "the controller is on", 20)
    m.run("scancel", job)
    m.wait_end(job, 60)


@pytest.mark.parametrize("children", ["yes", "no"])
def test_who_gets_a_signal(start, children):
    """A process that has left its task's session is signalled with SignalChildrenProcesses only."""
    m = start(cgroup=f"SignalChildrenProcesses={children}\n")
    script = """setsid bash -c 'trap "touch child; exit" USR1; touch ready; while :; do sleep 0.05; done' &
trap 'touch parent' USR1; while :; do sleep 0.05; done"""
    job = m.sbatch("-n1", "--mem=50", script=script)
    wait_until(lambda: (m.work / "ready").exists(), "both run", 60)
    m.run("scancel", "-s", "USR1", "--full", job)
    wait_until(lambda: (m.work / "parent").exists(), "the script has it", 60)
    if children == "yes":
        wait_until(lambda: (m.work / "child").exists(), "its child has it", 60)
    m.run("scancel", job)
    m.wait_end(job, 60)
    assert (m.work / "child").exists() == (children == "yes")
