"""Resources enforced by cgroups: CPUs, memory, devices, kills, suspension, what is left behind.

Runs with each version of cgroups that this machine lets us write and is skipped with a sentence where there is none.
Version 2 may come without controllers (they belong to version 1 then): what needs them is skipped.  `make test-cgroup` runs
these tests in a virtual machine with version 2 alone."""

import fcntl
import os
import re
import shutil
import signal
import socket
import stat
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from conftest import Cluster, is_stopped, processes_of, wait_until

HOST = socket.gethostname().split(".")[0]
CYCLES = int(os.environ.get("PENSTOCK_CGROUP_CYCLES", "20"))
MOUNT = Path("/sys/fs/cgroup")
SLICE = f"penstock-test-{os.getpid()}.slice"
PLACES = [("cgroup/v2", MOUNT), ("cgroup/v2", MOUNT / "unified"), ("cgroup/v1", MOUNT)]
COUNTED = "JobAcctGatherType=jobacct_gather/cgroup\nJobAcctGatherFrequency=1\n"
HOG = "import sys; b = bytearray(b'x') * (300 << 20); print('hogged')"


def controllers(kind, mount):
    """What there is to limit by; None when this kind is not mounted or may not be written."""
    if kind == "cgroup/v2":
        probe = mount if (mount / "cgroup.controllers").exists() else None
        found = set((mount / "cgroup.controllers").read_text().split()) if probe else set()
    else:
        probe = mount / "freezer" if (mount / "freezer" / "tasks").exists() else None
        found = {name for name in ("cpuset", "memory", "devices") if (mount / name / "tasks").exists()}
    if probe is None or os.geteuid() != 0:
        return None
    folder = probe / f"penstock-probe-{os.getpid()}"
    try:
        folder.mkdir()
        folder.rmdir()
    except OSError:
        return None
    return found | ({"devices"} if kind == "cgroup/v2" else set())


class Machine(Cluster):
    """A cluster of this machine as it is, with everything constrained."""

    def __init__(self, folder, kind, mount):
        super().__init__(folder, nodes=1)
        self.kind, self.mount, self.controllers = kind, mount, controllers(kind, mount)
        shape = self.run("slurmd", "-C").out.split("\n")[0].split(None, 1)[1]
        node = f"NodeName={HOST} NodeAddr=127.0.0.1 Port={self.node_ports[0]} {shape} Gres=gpu:2 State=UNKNOWN"
        text = re.sub(r"^NodeName=.*$", node, self.conf_text(), flags=re.M)
        for old, new in (("TaskPlugin=task/none", "TaskPlugin=task/cgroup"), ("proctrack/linuxproc", "proctrack/cgroup"),
                         ("SlurmdParameters=config_overrides\n", f"GresTypes=gpu\n{COUNTED}")):
            text = text.replace(old, new)
        self.write_conf(text)
        self.node_names, self.cpus = [HOST], int(re.search(r"CPUs=(\d+)", shape)[1])
        yes = "".join(f"{key}=yes\n" for key, needs in (("ConstrainCores", "cpuset"), ("ConstrainRAMSpace", "memory"),
                                                      ("ConstrainSwapSpace", "memory"), ("ConstrainDevices", "devices"))
                      if needs in self.controllers)
        (self.dir / "etc" / "cgroup.conf").write_text(f"CgroupPlugin={kind}\nCgroupMountpoint={mount}\nCgroupSlice={SLICE}\n{yes}")
        # /dev/full and /dev/kmsg under other names: harmless, and on every machine.
        self.devices = []
        for i, minor in enumerate((7, 11)):
            path = self.dir / f"gpu{i}"
            os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
            self.devices.append(path)
        (self.dir / "etc" / "gres.conf").write_text(f"Name=gpu File={self.dir}/gpu[0-1]\n")

    def folders(self, job):
        """The cgroups of a job."""
        name = self.job(job).get("SLUID") or self.run("squeue", "-h", "-j", job, "-O", "SLUID").out.strip()
        roots = [self.mount / SLICE] if self.kind == "cgroup/v2" else [p / "slurm" for p in self.mount.iterdir()]
        return [path for root in roots if root.is_dir() for path in root.rglob(f"job_{name}")]

    def left(self):
        if self.kind == "cgroup/v2":
            return [self.mount / SLICE] if (self.mount / SLICE).exists() else []
        return [path for path in self.mount.glob("*/slurm/uid_*/job_*") if path.name in self.seen]


def places():
    return [pytest.param(place, id=f"{place[0][-2:]}{'-hybrid' if place[1] != MOUNT else ''}") for place in PLACES]


@contextmanager
def running(kind, mount, node="", cgroup=""):
    """This machine with more in its node's line and in cgroup.conf; one at a time, since its cgroups have one name."""
    if controllers(kind, mount) is None:
        pytest.skip(f"{kind} below {mount} is not there or may not be written")
    path = Path(tempfile.mkdtemp(prefix="penstock-test-"))
    path.chmod(0o755)
    machine = Machine(path, kind, mount)
    machine.write_conf(machine.conf.read_text().replace(" Gres=gpu:2", f" Gres=gpu:2 {node}"))
    with open(machine.dir / "etc" / "cgroup.conf", "a") as f:
        f.write(cgroup)
    machine.seen = set()
    lock = os.open(MOUNT, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        machine.start()
        yield machine
    finally:
        problems = machine.stop()
        if kind == "cgroup/v2" and (mount / SLICE).is_dir():
            try:
                (mount / SLICE).rmdir()  # the slice itself is the site's
            except OSError as e:
                problems.append(f"cgroups are left: {e} {list((mount / SLICE).rglob('*'))[:5]}")
        os.close(lock)
        if problems:
            print(machine.logs(""))
        shutil.rmtree(path, ignore_errors=True)
        assert not problems, problems


@pytest.fixture(scope="module", params=places())
def m(request):
    with running(*request.param) as machine:
        yield machine


def needs(m, *names):
    for name in names:
        if name not in m.controllers:
            pytest.skip(f"the controller {name} is not available to {m.kind} here")


def two_cores(m):
    """Jobs get whole cores."""
    if m.cpus < 2 * int(re.search(r"ThreadsPerCore=(\d+)", m.conf.read_text())[1]):
        pytest.skip("this machine has one core")


def cpus_in(text):
    cpus = set()
    for part in text.strip().split(","):
        low, _, high = part.partition("-")
        cpus |= set(range(int(low), int(high or low) + 1))
    return cpus


def test_a_task_cannot_leave_its_cpus(m):
    needs(m, "cpuset")
    two_cores(m)
    # It asks for all; the kernel gives what the cgroup allows.
    ask = "import os; os.sched_setaffinity(0, range(os.cpu_count())); print(sorted(os.sched_getaffinity(0)))"
    job = m.sbatch("-n1", "--mem=50", wrap=f'python3 -c "{ask}"; srun -n1 --exact grep Cpus_allowed_list: /proc/self/status')
    m.wait_end(job, 60)
    script, step = m.out(job).splitlines()
    given = set(eval(script, {"__builtins__": {}}))
    assert 0 < len(given) < m.cpus
    assert cpus_in(step.split()[1]) <= given


def test_two_jobs_have_cpus_of_their_own(m):
    needs(m, "cpuset")
    two_cores(m)
    show = "grep Cpus_allowed_list: /proc/self/status; touch up.$SLURM_JOB_ID; while [ ! -e go ]; do sleep 0.1; done"
    jobs = [m.sbatch("-n1", "--mem=50", wrap=show) for _ in range(2)]
    wait_until(lambda: all((m.work / f"up.{job}").exists() for job in jobs), "both run", 60)
    (m.work / "go").touch()
    for job in jobs:
        m.wait_end(job, 60)
    (m.work / "go").unlink()
    sets = [cpus_in(m.out(job).split()[1]) for job in jobs]
    assert not sets[0] & sets[1], sets


def test_out_of_memory_is_told(m):
    needs(m, "memory")
    job = m.sbatch("-n1", "--mem=100", wrap=f'python3 -c "{HOG}"')
    record = m.wait_end(job, 60)
    assert (record["JobState"], record["ExitCode"], record["Reason"]) == ("OUT_OF_MEMORY", "0:125", "OutOfMemory")
    out = m.out(job)
    assert "hogged" not in out
    assert re.search(rf"error: Detected [1-9]\d* oom_kill events? in StepId={job}\.batch\. "
                     r"Some of the step tasks have been OOM Killed\.", out), out
    m.wait_sacct(job, "OUT_OF_MEMORY")
    rows = m.sacct("-j", str(job), "-o", "JobID,State,ExitCode")
    assert [str(job), "OUT_OF_MEMORY", "0:125"] in rows and [f"{job}.batch", "OUT_OF_MEMORY", "0:125"] in rows, rows


def test_out_of_memory_of_a_step(m):
    needs(m, "memory")
    done = m.run("srun", "-n1", "--mem=100", "python3", "-c", HOG, check=False, timeout=120)
    assert done.rc == 253, done
    assert f"srun: error: {HOST}: task 0: Out Of Memory" in done.err, done.err
    assert "Some of the step tasks have been OOM Killed." in done.err, done.err
    row = wait_until(lambda: [r for r in m.sacct("-o", "JobID,State,ExitCode") if r[0].endswith(".0") and r[1] == "OUT_OF_MEMORY"],
                     "sacct has the step")
    assert row[0][2] == "0:125"
    assert m.wait_sacct(int(row[0][0].split(".")[0]), "OUT_OF_MEMORY")[1] == "0:125"


def test_enough_memory_is_enough(m):
    needs(m, "memory")
    job = m.sbatch("-n1", "--mem=450", wrap=f'python3 -c "{HOG}"')
    assert m.wait_end(job, 60)["JobState"] == "COMPLETED"
    assert m.out(job) == "hogged\n"


def test_less_memory_while_it_runs(m):
    """scontrol update MinMemoryNode= of a running job: the kernel holds the job to it from then on."""
    needs(m, "memory")
    job = m.sbatch("-n1", "--mem=450", wrap="echo on; sleep 100")
    wait_until(lambda: m.out(job) == "on\n", "the job runs", 60)

    def limits():
        names = "memory.max" if m.kind == "cgroup/v2" else "memory.limit_in_bytes"
        return {int(f.read_text()) >> 20 for d in m.folders(job) for f in d.rglob(names) if f.read_text().strip().isdigit()}

    assert 450 in limits() and 60 not in limits()
    m.run("scontrol", "update", f"jobid={job}", "minmemorynode=60")
    wait_until(lambda: 60 in limits(), "the job's cgroup has the new limit", 60)
    m.run("scancel", job)
    m.wait_end(job, 60)


@pytest.mark.parametrize("kill_step", [False, True])
def test_one_task_out_of_memory(m, kill_step):
    needs(m, "memory")
    work = (f"import os, time\nif os.environ['SLURM_PROCID'] == '0':\n    {HOG}\n"
            "while not os.path.exists('go'): time.sleep(0.1)\nprint('went on')")
    step = m.popen("srun", "-n2", "--overcommit", "-c1", "--mem=120", f"--oom-kill-step={int(kill_step)}", "python3", "-c", work,
                   stdout=-1, stderr=-1)
    if not kill_step:
        job = wait_until(lambda: m.run("squeue", "-h", "-o", "%A").out.strip(), "the job runs")
        wait_until(lambda: any("oom_kill 1" in f.read_text() for d in m.folders(job)
                               for f in [*d.rglob("memory.events"), *d.rglob("memory.oom_control")]), "the kernel killed one", 60)
        (m.work / "go").touch()
    out, err = step.communicate(timeout=120)
    (m.work / "go").unlink(missing_ok=True)
    assert step.returncode == 253, err
    assert out == ("" if kill_step else "went on\n")
    assert "task 0: Out Of Memory" in err or "tasks 0-1: Out Of Memory" in err, err


def usage(m, command, step):
    return dict(zip(("cpu_s", "rss", "vmem"), (
        sum(int(n) * f for n, f in zip(v.split(":"), (3600, 60, 1))) if ":" in v else int(v)
        for v in m.run(command, *(("-a",) if command == "sstat" else ()), "-n", "-P", "--noconvert", "-j", step,
                       "-o", "avecpu,maxrss,maxvmsize").out.strip().split("|"))))


@pytest.mark.parametrize("params", ["", "no_file_cache"])
def test_use_is_counted(m, params):
    """JobAcctGatherType=jobacct_gather/cgroup: what all processes of the task have in memory, once; files too, or not."""
    needs(m, "memory")
    text = m.conf.read_text()
    m.write_conf(text + f"JobAcctGatherParams={params}\n" if params else text)
    try:
        m.run("scontrol", "reconfigure")
        # The child shares its parent's memory, has some of its own, and is its own parent's no longer.
        work = """import os, time
x = bytearray(b'x') * (60 << 20)
with open('cached', 'wb') as f:
    for i in range(50):
        f.write(os.urandom(1 << 20))
if os.fork():
    open('up', 'w').close()
else:
    y = bytearray(b'y') * (40 << 20)
    end = time.process_time() + 1
    while time.process_time() < end:
        pass
    open('up2', 'w').close()
while not os.path.exists('go'):
    time.sleep(0.05)
"""
        (m.work / "work.py").write_text(work)
        job = m.sbatch("-n1", "--mem=400", wrap="exec python3 work.py")
        wait_until(lambda: (m.work / "up").exists() and (m.work / "up2").exists(), "it has everything", 60)
        live = usage(m, "sstat", f"{job}.batch")
        (m.work / "go").touch()
        m.wait_end(job, 60)
        m.wait_sacct(job, "COMPLETED")
        done = usage(m, "sacct", f"{job}.batch")
        least, most = (100, 150) if params else (150, 250)
        for use in (live, done):
            assert least << 20 <= use["rss"] < most << 20 and 1 <= use["cpu_s"] < 60, (live, done)
            assert use["vmem"] >= use["rss"]
    finally:
        for name in ("up", "up2", "go", "cached"):
            (m.work / name).unlink(missing_ok=True)
        m.write_conf(text)
        m.run("scontrol", "reconfigure")


def test_devices(m):
    needs(m, "devices")
    look = "; ".join(f"(: < {path}) 2> /dev/null && echo {path.name}" for path in m.devices)
    visible = "; echo dev=$CUDA_VISIBLE_DEVICES job=$SLURM_JOB_GPUS"
    none, one, both = (m.sbatch("-n1", "--mem=50", *options, wrap=look + visible)
                       for options in ((), ("--gres=gpu:1",), ("--gres=gpu:2",)))
    for job in (none, one, both):
        m.wait_end(job, 60)
    assert m.out(none) == "dev= job=\n"
    held = re.search(r"job=(\d)", m.out(one))[1]
    assert m.out(one) == f"gpu{held}\ndev=0 job={held}\n"
    assert m.out(both) == "gpu0\ngpu1\ndev=0,1 job=0,1\n"


def test_a_step_has_the_devices_it_names(m):
    needs(m, "devices")
    look = "; ".join(f"(: < {path}) 2> /dev/null && echo {path.name}" for path in m.devices)
    job = m.sbatch("-n1", "--mem=100", "--gres=gpu:1", wrap=f"srun -n1 --gres=gpu:1 sh -c '{look}; echo $SLURM_STEP_GPUS'")
    m.wait_end(job, 60)
    lines = m.out(job).split()
    assert lines[:-1] == [f"gpu{i}" for i in lines[-1].split(",")], lines


STUBBORN = """
trap '' TERM INT HUP
setsid sh -c 'trap "" TERM
    (setsid sh -c "trap \\"\\" TERM; touch deep.$SLURM_JOB_ID; while :; do sleep 1; done") & while :; do sleep 1; done' &
while :; do sleep 1; done
"""


def test_a_kill_reaches_all(m):
    job = m.sbatch("-n1", "--mem=50", script=STUBBORN)
    wait_until(lambda: (m.work / f"deep.{job}").exists(), "all of it runs", 60)
    folders = m.folders(job)
    assert folders
    m.run("scancel", "-s", "KILL", "--full", job)
    m.wait_end(job, 60)
    wait_until(lambda: not any(path.exists() for path in folders), "its cgroups are gone", 60)
    assert not [p for p in processes_of(m.work) if "deep" in p[1]]


def test_suspended_processes_stand_still(m):
    job = m.sbatch("-n1", "--mem=50", script="while :; do echo x >> count.$SLURM_JOB_ID; sleep 0.02; done")
    count = m.work / f"count.{job}"
    wait_until(lambda: count.exists() and count.stat().st_size > 4, "it counts", 60)
    m.run("scontrol", "suspend", job)

    def still():
        if m.kind == "cgroup/v2":
            return all("frozen 1" in (d / "step_batch" / "user" / "cgroup.events").read_text() for d in m.folders(job))
        pids = [pid for d in m.folders(job) for f in d.rglob("cgroup.procs") for pid in f.read_text().split()]
        return bool(pids) and all(is_stopped(pid) for pid in pids)
    wait_until(still, "all of it is stopped", 30)
    size = count.stat().st_size
    assert still() and count.stat().st_size == size
    m.run("scontrol", "resume", job)
    wait_until(lambda: count.stat().st_size > size, "it counts again", 60)
    m.run("scontrol", "suspend", job)
    wait_until(still, "stopped again", 30)
    m.run("scancel", job)
    m.wait_end(job, 60)


def test_wait_for_children(m):
    # The child sees when its parent, the task's first process, has been collected.
    child = ("(while kill -0 $$ 2> /dev/null; do sleep 0.05; done; touch alone; while [ ! -e go ]; do sleep 0.1; done; echo late > late) & "
             "exit 3")
    step = m.popen("srun", "-n1", "--mem=50", "--wait-for-children", "sh", "-c", child, stdout=-1, stderr=-1)
    if m.kind == "cgroup/v1":
        out, err = step.communicate(timeout=60)
        assert step.returncode != 0 and f"--wait-for-children needs cgroup/v2, which node {HOST} does not use" in err
        return
    wait_until(lambda: (m.work / "alone").exists(), "the first process of the task has ended", 60)
    assert step.poll() is None
    (m.work / "go").touch()
    out, err = step.communicate(timeout=120)
    assert (m.work / "late").read_text() == "late\n"
    (m.work / "go").unlink()
    assert step.returncode == 3, err


def test_without_waiting_children_are_killed(m):
    done = m.run("srun", "-n1", "--mem=50", "sh", "-c", "(sleep 600; echo late) & exit 0")
    assert done.out == ""


def test_what_a_killed_step_daemon_leaves_is_removed(m):
    job = m.sbatch("-n1", "--mem=50", script=STUBBORN)
    wait_until(lambda: (m.work / f"deep.{job}").exists(), "all of it runs", 60)
    folders = m.folders(job)
    daemon = next(pid for pid, command in processes_of(m.dir) if f"[{job}.batch]" in command)
    os.kill(daemon, signal.SIGKILL)
    m.wait_end(job, 60)
    wait_until(lambda: not any(path.exists() for path in folders), "its cgroups are gone", 60)


def test_what_nobody_knows_is_removed_at_the_start(m):
    job = m.sbatch("-n1", "--mem=50", "--no-requeue", script=STUBBORN)
    wait_until(lambda: (m.work / f"deep.{job}").exists(), "all of it runs", 60)
    folders = m.folders(job)
    m.slurmds[HOST].kill()
    daemon = next(pid for pid, command in processes_of(m.dir) if f"[{job}.batch]" in command)
    os.kill(daemon, signal.SIGKILL)
    shutil.rmtree(m.dir / "spool" / HOST)
    m.start_slurmd(HOST)
    wait_until(lambda: not any(path.exists() for path in folders), "its cgroups are gone", 60)
    m.wait_end(job, 60)
    m.wait_nodes()


def test_nothing_is_left(m):
    """Jobs come and go, half of them killed."""
    before = mounts()
    for start in range(0, CYCLES, 20):
        jobs = [m.sbatch("-n1", "--mem=30", "--output=/dev/null", wrap="sleep 600 & sleep 600" if i % 2 else "exit 0")
                for i in range(min(20, CYCLES - start))]
        for job in jobs[1::2]:
            m.run("scancel", job)
        wait_until(lambda: not m.run("squeue", "-h").out, "the queue is empty", 120)
    roots = [m.mount / SLICE] if m.kind == "cgroup/v2" else [m.mount / "freezer" / "slurm"]
    names = {row[0] for row in m.sacct("-X", "-o", "SLUID")}
    wait_until(lambda: not [p for root in roots for p in root.rglob("job_*") if p.name[4:] in names], "no cgroup is left", 60)
    assert mounts() == before
    assert not [p for p in processes_of(m.work) if "sleep" in p[1]]
    wait_until(lambda: not list((m.dir / "spool" / HOST).glob("job*")), "the spool is empty", 60)


def mounts():
    return sorted(Path("/proc/self/mounts").read_text().splitlines())
