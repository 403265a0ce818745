"""Samples of steps in files (acct_gather_profile/hdf5), read back by h5dump; sh5util, which merges them."""

import contextlib
import os
import pwd
import re
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from conftest import program, wait_until

CONF = "AcctGatherProfileType=acct_gather_profile/hdf5\nJobAcctGatherType=jobacct_gather/linux\nJobAcctGatherFrequency=1\n"
TASK = ["ElapsedTime", "EpochTime", "CPUFrequency", "CPUTime", "CPUUtilization", "RSS", "VMSize", "Pages", "ReadMB", "WriteMB"]
ME = pwd.getpwuid(os.getuid()).pw_name
WORK = "import time\nwhile time.process_time() < 1.5: pass\nopen('out', 'wb').write(b'x' * (8 << 20))\n"
as_root = pytest.mark.skipif(os.getuid() != 0, reason="needs root")


def start(make_cluster, gather="", conf="", nodes=1, folder=None, begin=True):
    c = make_cluster(start=False, nodes=nodes)
    c.profiles = folder or c.dir / "profiles"
    (c.dir / "etc/acct_gather.conf").write_text(f"ProfileHDF5Dir={c.profiles}\n" + gather)
    c.write_conf(c.conf_text() + CONF + conf)
    (c.dir / "work.py").write_text(WORK)
    return c.start() if begin else c


def h5dump(*argv):
    return subprocess.run(["h5dump", *map(str, argv)], capture_output=True, text=True, check=True, timeout=60).stdout


def paths(file):
    """The names of the tables of a file."""
    return set(re.findall(r"^ dataset +(/\S+)", h5dump("-n", file), re.M))


def table(file, path):
    """column -> values, columns in their order."""
    text = h5dump("-y", "-w", "0", "-m", "%.17g", "-d", path, file)
    columns = re.findall(r'H5T_\w+ "(\w+)";', text)
    cells = re.findall(r"-?\d[\d.]*(?:e[-+]?\d+)?", text[text.index("DATA {"):])
    return {name: [float(v) for v in cells[i::len(columns)]] for i, name in enumerate(columns)}


def log_of(c, node="node1"):
    return (c.dir / f"log/slurmd-{node}.log").read_text()


def files(c, user=ME):
    folder = c.profiles / user
    return {p.name for p in folder.iterdir()} if folder.is_dir() else set()


def wait_files(c, *names, user=ME):
    """These are there, whole; gives the first."""
    wait_until(lambda: set(names) <= files(c, user), f"files {names}", 60)
    return c.profiles / user / names[0]


def kept(c, node="node1"):
    folder = c.dir / f"spool/{node}/profile.d"
    return {p.name for p in folder.iterdir()} if folder.is_dir() else set()


def test_samples(make_cluster):
    """A file for each step, of what its task used; other jobs leave none, and nothing stays in the spool."""
    c = start(make_cluster)
    silent, none = c.sbatch("-n1", wrap="true"), c.sbatch("-n1", "--profile=none", wrap="true")
    job = c.sbatch("-n2", "--profile=task,energy", "-D", c.dir, wrap=f"srun -n1 python3 {c.dir}/work.py; srun -n2 true")
    for j in (silent, none, job):
        c.wait_end(j)
    file = wait_files(c, f"{job}_0_node1.h5", f"{job}_1_node1.h5", f"{job}_batch_node1.h5")
    assert paths(file) == {"/Steps/0/Nodes/node1/Tasks/0"}
    rows = table(file, "/Steps/0/Nodes/node1/Tasks/0")
    assert list(rows) == TASK
    assert 1.5 <= sum(rows["CPUTime"]) < 30 and max(rows["RSS"]) > 1024 and 8 <= sum(rows["WriteMB"]) < 9
    assert len(rows["CPUTime"]) >= 2 and rows["ElapsedTime"][0] == 0 and rows["ElapsedTime"] == sorted(rows["ElapsedTime"])
    assert rows["EpochTime"][-1] - rows["EpochTime"][0] in (rows["ElapsedTime"][-1] + d for d in (0, 1))
    head = h5dump("-H", file)
    assert re.findall(r'(H5T_STD_U64LE|H5T_IEEE_F64LE) "(\w+)"', head) == [
        ("H5T_IEEE_F64LE" if n in ("CPUTime", "CPUUtilization", "ReadMB", "WriteMB") else "H5T_STD_U64LE", n) for n in TASK]
    assert '"Node Name"' in head and '"Start Time"' in head
    other = c.profiles / ME / f"{job}_1_node1.h5"
    assert paths(other) == {"/Steps/1/Nodes/node1/Tasks/0", "/Steps/1/Nodes/node1/Tasks/1"}
    assert paths(c.profiles / ME / f"{job}_batch_node1.h5") == {"/Steps/batch/Nodes/node1/Tasks/0"}
    assert (c.profiles / ME).stat().st_mode & 0o7777 == 0o700 and file.stat().st_mode & 0o7777 == 0o600
    assert all(name.startswith(f"{job}_") for name in files(c))
    wait_until(lambda: not kept(c), "nothing is kept any more", 60)


def test_default_and_node_series(make_cluster):
    """ProfileHDF5Default is for jobs without --profile; energy and bytes are the node's."""
    c = start(make_cluster, "ProfileHDF5Default=Energy,Network\nSysfsInterfaces=ib0\n", begin=False, conf=(
        "AcctGatherEnergyType=acct_gather_energy/pm_counters\nAcctGatherInterconnectType=acct_gather_interconnect/sysfs\n"
        "AccountingStorageTRES=ic/sysfs\n"))
    c.write_conf(c.conf.read_text() + f"SlurmdParameters=devices_root={c.dir}/machine\n")
    counters = {"sys/cray/pm_counters/energy": "70 J 1 us", "sys/class/net/ib0/statistics/rx_bytes": "1048576",
                "sys/class/net/ib0/statistics/tx_bytes": "0", "sys/class/net/ib0/statistics/rx_packets": "12"}
    for name, text in counters.items():
        path = c.dir / "machine" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    c.start()
    job = c.sbatch("-n1", "--acctg-freq=task=1,energy=1", "-o", "out",
                   wrap=f"sleep 2; cd {c.dir}/machine/sys/class/net/ib0/statistics; echo 42 >rx_packets; echo 3145728 >rx_bytes; "
                        f"echo '90070 J 2 us' > {c.dir}/machine/sys/cray/pm_counters/energy; sleep 3")
    none = c.sbatch("-n1", wrap="true", env={"SBATCH_PROFILE": "none"})
    c.wait_end(job, 60)
    c.wait_end(none, 60)
    file = wait_files(c, f"{job}_batch_node1.h5")
    top = "/Steps/batch/Nodes/node1"
    assert paths(file) == {f"{top}/Energy", f"{top}/Network"}
    energy, network = table(file, f"{top}/Energy"), table(file, f"{top}/Network")
    assert list(energy) == ["ElapsedTime", "EpochTime", "Power"] and max(energy["Power"]) > 1000
    assert list(network) == ["ElapsedTime", "EpochTime", "PacketsIn", "PacketsOut", "InMB", "OutMB"]
    assert sum(network["InMB"]) == 2 and not any(network["OutMB"]) and sum(network["PacketsIn"]) == 30 and not any(network["PacketsOut"])
    assert not any(name.startswith(f"{none}_") for name in files(c))


def item_extract(c, job):
    """One item of both tasks of step 0 beside each other, as the tables of the job's file have it."""
    said = c.run("sh5util", "-j", f"{job}.0", "-I", "-s", "Task", "-d", "rss").out
    head, *lines = (c.work / f"Task_rss_{job}.csv").read_text().splitlines()
    assert head == "Step,ElaspedTime,MinNode,MinValue,MaxNode,MaxValue,Sum,Avg,NumNodes,Task_0 node1,Task_1 node2"
    both = [table(c.work / f"job_{job}.h5", f"/Steps/0/Nodes/node{i + 1}/Tasks/{i}")["RSS"] for i in (0, 1)]
    sums = []
    for i, line in enumerate(lines):
        here = {f"Task_{k} node{k + 1}": v[i] for k, v in enumerate(both) if i < len(v)}
        cells = line.split(",")
        assert cells[0] == "0" and (here[cells[2]], here[cells[4]]) == (min(here.values()), max(here.values()))
        assert [float(v) for v in (cells[3], cells[5], cells[6])] == [f(here.values()) for f in (min, max, sum)]
        assert abs(float(cells[7]) - sum(here.values()) / len(here)) < 1e-5 and cells[8] == str(len(here))
        assert [float(v) for v in cells[9:] if v] == list(here.values())
        sums.append(sum(here.values()))
    assert len(lines) == max(map(len, both)) and f"Step 0 Maximum accumulated rss Value ({max(sums):.0f}) occurred at Time=" in said
    assert c.refused("sh5util", "-j", job, "-I", "-s", "Task", "-d", "Watts", "-o", "none.csv") == (
        "sh5util: error: series Task_0 has no item Watts: --list tells which there are\n") and not (c.work / "none.csv").exists()


def test_merge(make_cluster):
    """sh5util: one file of a job on two nodes; steps' files go, or stay; its tables as text."""
    c = start(make_cluster, nodes=2)
    job = c.sbatch("-N2", "--profile=all", wrap="srun -n2 -N2 sleep 1")
    c.wait_end(job)
    names = [f"{job}_0_node1.h5", f"{job}_0_node2.h5", f"{job}_batch_node1.h5"]
    wait_files(c, *names)
    c.run("sh5util", "-j", f"{job}.0", "-S", "-o", "step.h5")
    tasks = {"/Steps/0/Nodes/node1/Tasks/0", "/Steps/0/Nodes/node2/Tasks/1"}
    assert paths(c.work / "step.h5") == tasks and set(names) <= files(c)
    rows = table(c.profiles / ME / names[1], "/Steps/0/Nodes/node2/Tasks/1")
    c.run("sh5util", f"--jobs={job}")
    merged = c.work / f"job_{job}.h5"
    assert paths(merged) == tasks | {"/Steps/batch/Nodes/node1/Tasks/0"} and not files(c)
    assert table(merged, "/Steps/0/Nodes/node2/Tasks/1") == rows
    assert c.refused("sh5util", "-j", job) == f"sh5util: error: {c.profiles}/{ME}: there are no profiles of this job or step\n"
    c.run("sh5util", "-j", job, "-E", "-s", "Task", "-N", "node2", "-l", "Node:TimeSeries")
    head, *lines = (c.work / f"extract_{job}.csv").read_text().splitlines()
    assert head == "Step,Node,Series," + ",".join(TASK)
    assert [line.split(",")[:3] for line in lines] == [["0", "node2", "Task_1"]] * len(rows["RSS"])
    assert [float(line.split(",")[3 + TASK.index("RSS")]) for line in lines] == rows["RSS"]
    assert c.run("sh5util", "-j", job, "--list", "--series=Task").out.split() == TASK
    c.run("sh5util", "-j", f"{job}.batch", "--extract", f"--input={merged}", "--level=Node:TimeSeries", "--output=batch.csv")
    assert (c.work / "batch.csv").read_text().splitlines()[1].startswith("batch,node1,Task_0,")
    c.run("sh5util", "-j", f"{job}.0", "-E", "-s", "Task_1", "-o", "totals.csv")
    head, line = ((c.work / "totals.csv").read_text().splitlines())
    totals = dict(zip(head.split(","), line.split(",")))
    assert [totals[n] for n in ("Step", "Node")] == ["0", "node2"] and float(totals["ElapsedTime"]) == rows["ElapsedTime"][-1]
    assert [float(totals[f"{n}_RSS"]) for n in ("Min", "Max", "Sum")] == [f(rows["RSS"]) for f in (min, max, sum)]
    assert "Min_ElapsedTime" not in totals
    item_extract(c, job)
    again = c.sbatch("-n1", "--profile=task", wrap="true")
    c.wait_end(again)
    wait_files(c, f"{again}_batch_node1.h5")
    assert "is there already" in c.refused("sh5util", "-j", again, "-o", merged)
    assert paths(merged) and f"{again}_batch_node1.h5" in files(c)
    c.run("sh5util", "-S", "-j", again, "-p", c.profiles, f"--user={ME}", "-o", merged)
    assert paths(merged) == {"/Steps/batch/Nodes/node1/Tasks/0"}


@pytest.mark.parametrize("argv,why", [
    ([], "say which job with --jobs"),
    (["-j", "x"], "--jobs: x is no job or step: write 7, 7.0 or 7.batch"),
    (["-j", "7,8"], "one job at a time: 7 and 8 are two"),
    (["-j", "7", "-I", "-s", "Task"], "--item-extract needs an item of the series: say which with --data"),
    (["-j", "7", "-I", "-d", "RSS"], "--item-extract needs a series: say which with --series"),
    (["-j", "7", "-I", "-s", "Task", "-d", "../RSS"], "--data=../RSS is no name of an item"),
    (["-j", "7", "-I", "-s", "Task", "-d", "RSS"], "job_7.h5: No such file or directory"),
    (["-j", "7", "-d", "RSS"], "--data is the item of --item-extract, which is not given"),
    (["-j", "7", "-E", "-l", "Totals"], "--level=Totals is none of Node:TimeSeries, Node:Totals"),
    (["-j", "7", "-E", "-s", "GPU"], "--series=GPU is none of Energy, Filesystem, Network, Task, Task_RANK"),
    (["-j", "7", "-E"], "job_7.h5: No such file or directory"),
    (["-j", "7", "-L", "-i", "/dev/null"], "/dev/null is no HDF5 file that can be read"),
    (["-j", "7", "-L", "-i", "/etc/passwd"], "/etc/passwd is no HDF5 file that can be read"),
    (["-j", "7", "-p", "/nonexistent/x"], "/nonexistent/x: No such file or directory"),
    (["-j", "7", "-u", "no-such-user"], "no-such-user is no user here"),
    (["-j", "7", "more"], "options alone are taken"),
    (["-j", "7"], "AcctGatherProfileType is not acct_gather_profile/hdf5 here")])
def test_refusals(make_cluster, argv, why):
    c = make_cluster(start=False, nodes=1)
    said = c.refused("sh5util", *argv)
    assert said.startswith("sh5util: error: ") and why in said, said
    assert not list(c.work.iterdir())


def test_help(make_cluster):
    c = make_cluster(start=False, nodes=1)
    assert c.run("sh5util", "--help").out.startswith("Usage: sh5util [OPTIONS] -j <job[.step]>\n") and c.run("sh5util", "-h").out
    assert c.run("sh5util", "--usage").out.startswith("Usage: sh5util [-")


def test_array_and_requeue(make_cluster):
    """Tasks of an array have files of their own numbers; a second run leaves the first's file."""
    c = start(make_cluster)
    array = c.sbatch("--array=1-2", "-n1", "--profile=task", wrap="echo $SLURM_JOB_ID")
    c.wait_end(array)
    ids = [int(c.out(f"{array}_{i}")) for i in (1, 2)]
    wait_files(c, *(f"{i}_batch_node1.h5" for i in ids))
    job = c.sbatch("-n1", "--profile=task", "--requeue", wrap="[ -n \"$SLURM_RESTART_COUNT\" ] || sleep 1000")
    c.wait_state(job, "RUNNING")
    c.run("scontrol", "requeue", job)
    wait_until(lambda: c.state(job) == "COMPLETED", "the second run", 60)
    file = wait_files(c, f"{job}_batch_node1.h5", f"{job}_batch_node1.h5.1")
    first, second = (table(p, "/Steps/batch/Nodes/node1/Tasks/0")["EpochTime"] for p in (f"{file}.1", file))
    assert first[-1] <= second[0]
    c.run("sh5util", "-j", job)
    assert table(c.work / f"job_{job}.h5", "/Steps/batch/Nodes/node1/Tasks/0")["EpochTime"] == second
    assert f"{job}_batch_node1.h5.1" in files(c)


def test_restart(make_cluster):
    """slurmd is started anew while a step runs: its samples go on, and those of a step that ended meanwhile are written."""
    c = start(make_cluster)
    ends = c.sbatch("-n1", "--profile=task", wrap=f"until [ -e {c.dir}/end ]; do sleep 0.1; done; echo over > {c.dir}/over")
    stays = c.sbatch("-n1", "--profile=task", wrap=f"until [ -e {c.dir}/stop ]; do sleep 0.1; done")
    wait_until(lambda: len(kept(c)) == 2, "samples are kept", 60)
    c.slurmds["node1"].kill()
    (c.dir / "end").touch()
    wait_until(lambda: (c.dir / "over").exists(), "it ended", 60)
    c.start_slurmd("node1")
    wait_files(c, f"{ends}_batch_node1.h5")
    (c.dir / "stop").touch()
    c.wait_end(stays, 60)
    file = wait_files(c, f"{stays}_batch_node1.h5")
    rows = table(file, "/Steps/batch/Nodes/node1/Tasks/0")
    assert len(rows["RSS"]) >= 2 and rows["ElapsedTime"][0] == 0
    wait_until(lambda: not kept(c), "nothing is kept any more", 60)


def test_folder_missing(make_cluster, folder):
    """A folder that cannot be made, or that others may write to: one sentence at the start, jobs run, nothing is left."""
    c = start(make_cluster, folder=folder / "none/profiles")
    wait_until(lambda: f"ProfileHDF5Dir={folder}/none/profiles: No such file or directory" in log_of(c), "the log says so", 60)
    job = c.sbatch("-n1", "--profile=task", wrap="true")
    c.wait_end(job)
    wait_until(lambda: re.search(rf"the profile of a step is lost: .*job={job} step=batch", log_of(c)), "whose it was", 60)
    wait_until(lambda: not kept(c), "nothing is kept any more", 60)
    (folder / "none/profiles").mkdir(parents=True)
    (folder / "none/profiles").chmod(0o777)
    c.run("scontrol", "reconfigure")
    wait_until(lambda: "nobody else may write to it" in log_of(c), "the log says so", 60)
    (folder / "none/profiles").chmod(0o755)
    last = c.sbatch("-n1", "--profile=task", wrap="true")
    c.wait_end(last)
    wait_files(c, f"{last}_batch_node1.h5")


@as_root
def test_disk_full(make_cluster, folder):
    """No room: the step ends as it does, the log says whose profile is lost, and nothing half is left."""
    disk = folder / "disk"
    disk.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=755", "none", disk], capture_output=True, text=True)
    if done.returncode:
        pytest.skip("no tmpfs can be mounted here")
    try:
        c = start(make_cluster, folder=disk)
        (disk / "filler").write_bytes(b"x" * (60 << 10))
        job = c.sbatch("-n1", "--profile=task", wrap="true")
        c.wait_end(job)
        assert c.state(job) == "COMPLETED"
        wait_until(lambda: re.search(rf"is lost: .*{job}_batch_node1.h5: No space left on device.* job={job} step=batch", log_of(c)),
                   "the log says so", 60)
        assert not files(c) and not kept(c)
        (disk / "filler").unlink()
        job = c.sbatch("-n1", "--profile=task", wrap="true")
        c.wait_end(job)
        assert paths(wait_files(c, f"{job}_batch_node1.h5"))
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def writers(c):
    """Those that write now: pid, state."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            argv = (folder / "cmdline").read_bytes().split(b"\0")
            if argv[0] == b"slurmstepd-profile" and argv[1] == os.fsencode(c.profiles):
                found[int(folder.name)] = (folder / "stat").read_text().rpartition(")")[2].split()[0]
        except (OSError, IndexError):
            pass
    return found


def test_writers_hang(make_cluster):
    """Writers that do not get on, as where a file system is away: stopped here.  Jobs end, slurmd answers, the rest waits its turn."""
    c = start(make_cluster)
    over = threading.Event()

    def stop_them():
        while not over.is_set():
            for pid, state in writers(c).items():
                if state != "T":
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGSTOP)
    thread = threading.Thread(target=stop_them)
    thread.start()
    jobs = []
    try:
        while len(writers(c)) < 4 or len(kept(c)) < 5:
            assert len(jobs) < 30, "the writers are not caught"
            jobs.append(c.sbatch("-n1", "--profile=task", wrap="true"))
            c.wait_end(jobs[-1], 60)
        c.run("scontrol", "reconfigure")
        assert all(c.state(job) == "COMPLETED" for job in jobs) and len(writers(c)) == 4
    finally:
        over.set()
        thread.join()
        for pid in writers(c):
            os.kill(pid, signal.SIGCONT)
    wait_files(c, *(f"{job}_batch_node1.h5" for job in jobs))
    wait_until(lambda: not kept(c), "nothing is kept any more", 60)


@as_root
def test_users(make_cluster, folder):
    """Each user's files are his own; a folder or file of another's, or a link, is nobody's way in."""
    folder.chmod(0o755)
    c = start(make_cluster)
    c.dir.chmod(0o755)

    def submit(user):
        job = c.sbatch("-n1", "--profile=task", f"--uid={user}", f"--gid={pwd.getpwnam(user).pw_gid}", "-D", "/", "-o", "/dev/null", wrap="true")
        c.wait_end(job)
        return job
    nobody, daemon = pwd.getpwnam("nobody"), pwd.getpwnam("daemon")
    file = wait_files(c, f"{submit('nobody')}_batch_node1.h5", user="nobody")
    for p in (file, file.parent):
        assert (p.stat().st_uid, p.stat().st_gid) == (nobody.pw_uid, nobody.pw_gid)
    assert file.parent.stat().st_mode & 0o7777 == 0o700
    (c.profiles / "daemon").mkdir()
    os.chown(c.profiles / "daemon", nobody.pw_uid, nobody.pw_gid)  # another's folder of this name
    job = submit("daemon")
    wait_until(lambda: f"the folder daemon is not that of user {daemon.pw_uid}" in log_of(c), "it is refused", 60)
    assert not files(c, "daemon")
    (c.profiles / "daemon").rmdir()
    (c.dir / "target").mkdir()
    os.chown(c.dir / "target", daemon.pw_uid, daemon.pw_gid)
    (c.profiles / "daemon").symlink_to(c.dir / "target")
    job = submit("daemon")
    wait_until(lambda: re.search(rf"is lost: .*job={job} step=batch", log_of(c)), "it is refused", 60)
    assert not list((c.dir / "target").iterdir())
    victim = c.dir / "victim"
    victim.write_text("mine")
    guess = submit("nobody") + 1
    link = file.parent / f"{guess}_batch_node1.h5"
    link.symlink_to(victim)
    os.chown(link, nobody.pw_uid, nobody.pw_gid, follow_symlinks=False)
    assert submit("nobody") == guess
    wait_files(c, f"{guess}_batch_node1.h5", f"{guess}_batch_node1.h5.1", user="nobody")
    assert victim.read_text() == "mine" and not link.is_symlink()
    c.run("sh5util", "-j", guess, "-u", "nobody", "-o", "merged.h5")
    merged = c.work / "merged.h5"
    assert paths(merged) == {"/Steps/batch/Nodes/node1/Tasks/0"} and merged.stat().st_uid == nobody.pw_uid
    first = file.name.split("_")[0]
    (c.work / f"job_{first}.h5").symlink_to(victim)  # where root's result is to be, which the user gets
    assert f"is no plain file of user {nobody.pw_uid}" in c.refused("sh5util", "-S", "-j", first, "-u", "nobody")
    assert victim.stat().st_uid == 0 and victim.read_text() == "mine"
    c.run("sh5util", "-S", "-j", first, "-u", "nobody", "-o", "merged.h5")  # his already
    argv = [program("sh5util"), "-p", c.profiles, "-j", str(guess - 1), "-u", "nobody", "-o", "/dev/null"]
    done = subprocess.run(["setpriv", "--reuid=daemon", "--regid=daemon", "--clear-groups", *argv], env=c.env, cwd="/", capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 1 and "Permission denied" in done.stderr, done


HDF5 = "AcctGatherProfileType=acct_gather_profile/hdf5\nJobAcctGatherType=jobacct_gather/linux"


@pytest.mark.parametrize("conf,gather,why", [
    (HDF5, "", "acct_gather_profile/hdf5 needs ProfileHDF5Dir in acct_gather.conf"),
    (HDF5, "ProfileHDF5Dir=profiles", "ProfileHDF5Dir"),
    ("", "ProfileHDF5Default=All", "ProfileHDF5Default needs AcctGatherProfileType=acct_gather_profile/hdf5"),
    (HDF5, "ProfileHDF5Dir=/p\nProfileHDF5Default=cpu", "ProfileHDF5Default: cpu is none of None, All, Energy, Filesystem, Network, Task"),
    (HDF5, "ProfileHDF5Dir=/p\nProfileInfluxDBHost=h:1", "ProfileInfluxDBHost needs AcctGatherProfileType=acct_gather_profile/influxdb")])
def test_configuration(make_cluster, conf, gather, why):
    c = make_cluster(start=False, nodes=1)
    c.write_conf(c.conf_text() + conf + "\n")
    (c.dir / "etc/acct_gather.conf").write_text(gather + "\n")
    done = c.run("slurmctld", "--check", check=False)
    assert done.rc == 1 and why in done.out + done.err, done
