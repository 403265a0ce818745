"""namespace/linux with process and user namespaces: what a job sees, who enters, how it ends."""
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import wait_until
from test_adopt import login_program, pam, submit  # noqa: F401 (fixtures)
from test_cgroup import PLACES, controllers
from test_extern import CONTAIN, daemons, ended
from test_namespace import mounts  # noqa: F401 (it decides whether this can run at all)


def cgroups():
    return next(((kind, mount) for kind, mount in PLACES if controllers(kind, mount) is not None), None)


@pytest.fixture
def place(folder):
    """Where this test's cgroups are."""
    if cgroups() is None:
        pytest.skip("process namespaces need cgroups, and none may be written here")
    kind, mount = cgroups()
    slice = f"penstock-test-{os.getpid()}-{folder.name}.slice"
    yield kind, mount, slice
    if (mount / slice).is_dir():
        (mount / slice).rmdir()  # the slice itself is the site's, and the cluster has gone


@pytest.fixture
def site(place, folder, make_cluster):
    """A cluster whose jobs have namespaces of their own."""
    kind, mount, slice = place

    class Site:
        private, base = folder / "private", folder / "base"

        def start(self, flags="CLONE_NEWPID", more="", nodes=1, conf=""):
            folder.chmod(0o755)
            self.private.mkdir(exist_ok=True)
            self.private.chmod(0o777)
            c = make_cluster(start=False, nodes=nodes, conf=f"{CONTAIN}\nNamespaceType=namespace/linux\n{conf}")
            (c.dir / "etc" / "cgroup.conf").write_text(f"CgroupPlugin={kind}\nCgroupMountpoint={mount}\nCgroupSlice={slice}\n")
            (c.dir / "etc" / "namespace.yaml").write_text(
                f"defaults:\n  base_path: {self.base}/%n\n  auto_base_path: true\n  dirs: {self.private}\n"
                f"  clone_ns_flags: [{flags}]\n{more}")
            return c.start()

        def program(self, name, text):
            path = folder / name
            path.write_text(f"#!/bin/sh\n{text}\n")
            path.chmod(0o755)
            return path

        def clean(self, c, job):
            """Nothing is left of the job on the node."""
            wait_until(lambda: not any(daemons(c, job, s) for s in ("namespace", "extern", "batch", "0")), "no daemon is left")
            wait_until(lambda: [p.name for node in self.base.glob("*") for p in node.iterdir()] == [], "folders are removed")
            assert [line for line in Path("/proc/self/mounts").read_text().splitlines() if str(folder) in line] == []
    return Site()


def in_job(c, job, *command):
    return c.run("srun", "--overlap", f"--jobid={job}", *command, check=False)


def namespace_of(pid, kind="pid"):
    return os.readlink(f"/proc/{pid}/ns/{kind}")


def first_of(c, job):
    wait_until(lambda: daemons(c, job, "namespace"), "the namespace's first process")
    return daemons(c, job, "namespace")[0]


def sleepers(inside):
    """Processes of a process namespace, as the node numbers them."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if namespace_of(pid) == inside:
                found.append(int(pid))
        except OSError:
            continue
    return found


def test_output_to_a_pipe(site):
    """The process that waits for the reader of a pipe is of the job's namespace, where its parent has no number."""
    c = site.start()
    os.mkfifo(c.work / "pipe")
    job = c.sbatch("-o", "pipe", "--mem=10", wrap="echo through")
    assert (c.work / "pipe").read_text() == "through\n"
    c.wait_state(job, "COMPLETED")


def test_processes_of_the_job_only(site):
    """A /proc of its own, in which PID 1 is the step daemon's; all steps share it, other jobs and the node do not."""
    c = site.start(conf="JobAcctGatherType=jobacct_gather/linux")
    other = c.sbatch("--mem=10", wrap="bash -c 'exec -a of-another sleep 1000'")
    job = c.sbatch("--mem=10", wrap=f"""tr '\\0' ' ' < /proc/1/cmdline; echo
        bash -c 'exec -a of-the-batch-step sleep 1000' & echo $! $SLURM_TASK_PID $$ > {c.dir}/pids
        until grep -q of-the-batch-step /proc/$!/cmdline; do sleep 0.05; done
        srun --overlap sh -c 'cat /proc/[0-9]*/cmdline | tr "\\0" "\\n"; readlink /proc/self/ns/pid; wc -l < /proc/self/mounts'
        readlink /proc/self/ns/pid; wait""")
    c.wait_state(job, "RUNNING")
    wait_until(lambda: (c.work / f"slurm-{job}.out").exists() and c.out(job).count("pid:[") == 2, "both steps have spoken")
    lines = c.out(job).splitlines()
    assert lines[0].strip() == f"slurmstepd: [{job}.namespace]"
    assert "of-the-batch-step" in lines and "of-another" not in lines
    assert not [line for line in lines if "slurmd" in line or "slurmctld" in line or ".extern]" in line]
    spaces = {line for line in lines if line.startswith("pid:[")}
    assert len(spaces) == 1 and spaces == {namespace_of(first_of(c, job))} and spaces != {namespace_of("self")}
    sleeper, shown, shell = (c.dir / "pids").read_text().split()
    assert shown == shell and int(shell) < 100 > int(sleeper)  # numbers of the namespace
    # What looks from outside sees the node's numbers.
    listed = c.run("scontrol", "listpids", job).out.splitlines()
    pids = [int(line.split()[0]) for line in listed if line.split()[2] == "batch"]
    assert pids and {namespace_of(p) for p in pids if p in sleepers(spaces.copy().pop())} == spaces, listed
    used = c.run("sstat", "-n", "-P", "-a", "-j", f"{job}.batch", "-o", "jobid,maxrss").out.strip()
    assert re.fullmatch(rf"{job}.batch\|[1-9]\d*K", used)
    for number in (job, other):
        c.run("scancel", number)
        ended(c, number)
    site.clean(c, job)
    site.clean(c, other)
    assert sleepers(spaces.pop()) == []


def test_what_a_step_leaves(site):
    """Daemons that a step started go with it, the job and its other steps stay."""
    c = site.start()
    job = c.sbatch(wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    inside = namespace_of(first_of(c, job))
    wait_until(lambda: len(sleepers(inside)) == 3, "the script runs")
    left = in_job(c, job, "sh", "-c", "setsid setsid sleep 1000 < /dev/null > /dev/null 2>&1 & setsid sleep 0; echo over")
    assert left.stdout == "over\n"
    wait_until(lambda: len(sleepers(inside)) == 3, "the step's process is gone")
    # A process that ignores the signal is killed after KillWait, in the namespace too.
    assert c.refused("scancel", "-s", "STOP", f"{job}.batch") == f"scancel: error: Invalid job id {job}.batch\n"
    c.run("scancel", "-b", "-s", "STOP", job)
    wait_until(lambda: any("State:\tT" in Path(f"/proc/{p}/status").read_text() for p in sleepers(inside)), "signals arrive")
    c.run("scancel", job)
    assert ended(c, job)[f"{job}.batch"][0] == "CANCELLED"
    assert sleepers(inside) == []
    site.clean(c, job)


def test_suspended(site, place):
    """Processes that left the task's session are stopped as well; the first process is not."""
    c = site.start()
    job = c.sbatch(wrap="setsid sleep 1000 & sleep 1000")
    inside = namespace_of(first_of(c, job))

    def stopped(pid):
        folder = re.search(r"^0::/(.*)$", Path(f"/proc/{pid}/cgroup").read_text(), re.M)[1]
        frozen = folder and place[0] == "cgroup/v2" and "frozen 1" in (place[1] / folder / "cgroup.events").read_text()
        return frozen or "State:\tT" in Path(f"/proc/{pid}/status").read_text()

    def states():
        return [stopped(p) for p in sleepers(inside) if p != first_of(c, job)] + [stopped(first_of(c, job))]
    wait_until(lambda: len(sleepers(inside)) == 4, "the script runs")
    c.run("scontrol", "suspend", job)
    wait_until(lambda: states() == [True, True, True, False], "all are stopped")
    c.run("scontrol", "resume", job)
    wait_until(lambda: states() == [False] * 4, "all go on")
    c.run("scancel", job)
    ended(c, job)
    site.clean(c, job)


def test_sessions_join(site, pam):  # noqa: F811
    c = site.start()
    job = submit(c)
    p = pam.session(c, "sh", "-c", "readlink /proc/self/ns/pid; tr '\\0' ' ' < /proc/1/cmdline; echo; sleep 1000")
    assert [p.stdout.readline() for _ in range(3)][1:] == [f"{namespace_of(first_of(c, job))}\n",
                                                          f"slurmstepd: [{job}.namespace] \n"]
    c.run("scancel", job)
    ended(c, job)
    assert p.wait(30) != 0
    site.clean(c, job)


def test_restart_of_slurmd(site):
    """The next slurmd finds the namespace; a job that ended meanwhile leaves nothing."""
    c = site.start(conf="SlurmdTimeout=300")
    jobs = [c.sbatch("--mem=10", wrap=wrap) for wrap in ("sleep 1000", f"while [ ! -e {c.dir}/go ]; do sleep 0.1; done")]
    inside = namespace_of(first_of(c, jobs[0]))
    first_of(c, jobs[1])
    for job in jobs:
        wait_until(lambda job=job: in_job(c, job, "true").returncode == 0, "a step runs")
    c.slurmds["node1"].kill()
    c.ended.append(c.slurmds["node1"])
    (c.dir / "go").touch()
    wait_until(lambda: not daemons(c, jobs[1], "batch"), "the second job's script ends")
    c.start_slurmd("node1")
    wait_until(lambda: in_job(c, jobs[0], "readlink", "/proc/self/ns/pid").stdout == f"{inside}\n", "a step in the same namespace")
    assert ended(c, jobs[1])[f"{jobs[1]}.batch"] == ["COMPLETED", "0:0"]
    c.run("scancel", jobs[0])
    ended(c, jobs[0])
    for job in jobs:
        site.clean(c, job)


@pytest.mark.parametrize("whom", ["namespace", "extern"])
def test_killed(site, whom):
    """The kernel ends what is in the namespace with its first process, and that ends with the extern step's daemon."""
    c = site.start()
    job = c.sbatch(wrap="setsid sleep 1000 & sleep 1000")
    inside = namespace_of(first_of(c, job))
    wait_until(lambda: len(sleepers(inside)) == 4, "the script runs")
    os.kill(daemons(c, job, whom)[0], signal.SIGKILL)
    done = ended(c, job)
    assert done[str(job)] == ["FAILED", "0:9"] and done[f"{job}.batch"][1] == "0:9"
    wait_until(lambda: sleepers(inside) == [], "nobody is left in it")
    site.clean(c, job)


def test_killed_allocation(site):
    """No step starts in a job whose namespace is gone."""
    c = site.start()
    p = subprocess.Popen(["salloc", "-N1", "sleep", "1000"], env=c.env, stderr=subprocess.PIPE, text=True, cwd=c.work)
    try:
        job = int(wait_until(lambda: c.run("squeue", "-h", "-t", "R", "-o", "%i").out.strip(), "the allocation"))
        assert in_job(c, job, "true").returncode == 0
        os.kill(first_of(c, job), signal.SIGKILL)
        wait_until(lambda: not daemons(c, job), "the extern step's daemon ends")
        failed = in_job(c, job, "true")
        assert failed.returncode != 0 and "private folders are gone" in failed.stderr
        c.run("scancel", job)
    finally:
        p.send_signal(signal.SIGHUP)  # the command gets it; SIGTERM leaves it alone
        p.communicate(timeout=30)
    site.clean(c, job)


def test_everything_killed(site):
    """slurmd and all daemons of the job killed at once: nothing is left of it."""
    c = site.start()
    job = c.sbatch(wrap="setsid sleep 1000 & sleep 1000")
    inside = namespace_of(first_of(c, job))
    wait_until(lambda: len(sleepers(inside)) == 4, "the script runs")
    c.slurmds["node1"].kill()
    c.ended.append(c.slurmds["node1"])
    for pid in daemons(c, job) + daemons(c, job, "batch"):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: sleepers(inside) == [], "the namespace ends with the extern step's daemon, without slurmd")
    c.start_slurmd("node1")
    c.wait_end(job)
    site.clean(c, job)


def test_user_namespace(site):
    """Everybody keeps his number; root there is none on the node."""
    c = site.start(flags="CLONE_NEWPID, CLONE_NEWUSER")
    job = c.sbatch(wrap=f"""readlink /proc/self/ns/user; awk '{{$1=$1; print}}' /proc/self/uid_map; id -u; id -g
        touch {site.private}/mine; stat -c %u {site.private}/mine
        mount -t tmpfs none {site.private} || umount {site.private} || echo kept; hostname stolen || echo named""")
    assert ended(c, job)[f"{job}.batch"] == ["COMPLETED", "0:0"]
    lines = [line for line in c.out(job).splitlines() if not line.startswith(("mount:", "umount:", "hostname:", " "))]
    assert lines[0].startswith("user:[") and lines[0] != namespace_of("self", "user")
    assert lines[1:] == ["0 0 4294967295", "0", "0", "0", "kept", "named"]
    site.clean(c, job)


def test_maps_of_the_site(site, pam):  # noqa: F811
    """user_ns_script writes the maps; tasks have the user's number there, files on the node the user's own."""
    uid = int(subprocess.run(["id", "-u", "nobody"], capture_output=True, text=True).stdout)
    script = site.program("maps", f"""test "$(readlink /proc/$SLURM_NS_PID/ns/user)" != "$(readlink /proc/self/ns/user)" || exit 7
        echo "0 {uid} 1" > /proc/$SLURM_NS_PID/uid_map; echo "5 65534 1" > /proc/$SLURM_NS_PID/gid_map""")
    c = site.start(flags="CLONE_NEWUSER", more=f"  user_ns_script: {script}\n")
    job = submit(c)
    (c.work).chmod(0o777)
    done = subprocess.run(["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "srun", "--overlap", f"--jobid={job}",
                           "-D", "/", "sh", "-c", f"id -u; id -g; touch {site.private}/mine"],
                          env=c.env | {"USER": "nobody"}, text=True, capture_output=True, timeout=60)
    assert done.stdout == "0\n5\n", done.stderr
    owned = next(site.base.glob("node1/*/*/mine")).stat()
    assert (owned.st_uid, owned.st_gid) == (uid, 65534)
    assert pam.session(c, "id", "-u").stdout.readline().startswith("env:")  # a session keeps the node's numbers
    c.run("scancel", job)
    ended(c, job)
    site.clean(c, job)


def test_maps_without_the_user(site):
    """A script that forgets the job's user: the node is drained, the job waits for another one."""
    script = site.program("maps", "true")
    c = site.start(flags="CLONE_NEWUSER", more=f"  user_ns_script: {script}\n")
    job = c.sbatch(wrap="true")
    wait_until(lambda: "drain" in c.run("sinfo", "-h", "-o", "%T").out, "the node is drained")
    assert f"{script} left user 0 or group 0 without a number" in c.logs("slurmd-node1")
    c.wait_state(job, "PENDING")
    site.clean(c, job)


def test_programs_of_the_site(site):
    """They find the job's own view by SLURM_NS, the epilog too, and a slow init_script is ended."""
    clone = site.program("clone", f"nsenter --mount=$SLURM_NS sh -c 'ls -d /proc/1/ns && touch {site.private}/clone' > {site.base}.clone")
    epilog = site.program("epilog", f"nsenter --mount=$SLURM_NS ls {site.private} > {site.base}.epilog")
    c = site.start(more=f"  clone_ns_script: {clone}\n  clone_ns_epilog: {epilog}\n")
    job = c.sbatch(wrap=f"ls {site.private}; touch {site.private}/job")
    ended(c, job)
    assert c.out(job) == "clone\n"
    assert Path(f"{site.base}.clone").read_text() == "/proc/1/ns\n"
    assert Path(f"{site.base}.epilog").read_text() == "clone\njob\n"
    site.clean(c, job)


def test_without_cgroups(site, folder, make_cluster):
    c = site.start()
    (c.dir / "etc" / "cgroup.conf").write_text("CgroupPlugin=disabled\n")
    done = c.run("slurmd", "-D", "-N", "node1", check=False, timeout=30)
    assert done.returncode == 1 and "CLONE_NEWPID and CLONE_NEWUSER need cgroups" in done.stderr
