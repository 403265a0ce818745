"""namespace/tmpfs: folders of a job's own on each of its nodes."""
import os
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import SLOW, wait_until
from test_adopt import login_program, pam, submit  # noqa: F401 (fixtures)
from test_extern import CONTAIN, daemons, ended


@pytest.fixture(scope="module", autouse=True)
def mounts():
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
        pytest.skip("only root with the right to mount can make mount namespaces")


@pytest.fixture
def site(folder, make_cluster):
    """A cluster whose jobs have their own FOLDER/private and /dev/shm."""
    class Site:
        private, base = folder / "private", folder / "base"

        def start(self, nodes=1, more="", type="NamespaceType=namespace/tmpfs", conf="", start=True):
            folder.chmod(0o755)
            self.private.mkdir(exist_ok=True)
            self.private.chmod(0o777)
            c = make_cluster(start=False, nodes=nodes, conf=f"{CONTAIN}\n{type}\n{conf}")
            (c.dir / "etc" / "job_container.conf").write_text(
                f"AutoBasePath=true BasePath={self.base}/%n Dirs={self.private},/dev/shm {more}\n")
            return c.start() if start else c

        def left(self):
            return [p.name for node in self.base.glob("*") for p in node.iterdir()]
    return Site()


def host_mounts(site):
    return [line for line in Path("/proc/self/mounts").read_text().splitlines() if str(site.base.parent) in line]


def clean(site):
    wait_until(lambda: site.left() == [], "the folders are removed")
    assert host_mounts(site) == []


@pytest.mark.parametrize("type", ["NamespaceType=namespace/tmpfs", "JobContainerType=job_container/tmpfs"])
def test_private_folders(site, type):
    c = site.start(2, type=type)
    shm = Path(f"/dev/shm/{site.base.parent.name}")
    body = f"""echo mine > {site.private}/file; echo mine > {shm}
        srun -N2 -n2 -l sh -c 'cat {site.private}/file {shm}; stat -c %u.%a {site.private}; echo more > {site.private}/task'
        cat {site.private}/task; ls {site.private} | wc -l"""
    job = c.sbatch("-N2", "-w", "node[1-2]", wrap=body)
    done = ended(c, job)
    out = c.out(job).splitlines()
    assert done[f"{job}.batch"] == ["COMPLETED", "0:0"], out
    assert [line for line in out if line.startswith("0: ")] == ["0: mine", "0: mine", "0: 0.700"]
    # The other node has folders of its own.
    assert "1: 0.700" in out and not [line for line in out if line.startswith("1: mine")]
    assert sum("No such file" in line for line in out) == 2 and out[-2:] == ["more", "2"]
    assert list(site.private.iterdir()) == [] and not shm.exists()
    clean(site)


def test_of_a_user(site):
    """The folder is the user's, the way to it root's, and two jobs do not see each other."""
    c = site.start()
    jobs = [submit(c, "--mem=10"), submit(c, "--mem=10")]
    uid = int(subprocess.run(["id", "-u", "nobody"], capture_output=True, text=True).stdout)

    def owners():
        return {p.parent.name: (p.stat().st_uid, oct(p.stat().st_mode)[-3:], oct(p.parent.stat().st_mode)[-3:])
                for p in site.base.glob("node1/*/*")}
    wait_until(lambda: owners() == {str(job): (uid, "700", "700") for job in jobs}, "both folders are the user's alone")
    for job in jobs:
        c.run("scancel", job)
    for job in jobs:
        ended(c, job)
    clean(site)


def test_a_users_link_is_no_place(site, folder):
    """Who can make links where his folder is to be mounted could lead it to /etc, which setuid programs believe."""
    c = site.start()
    (folder / "elsewhere").mkdir()
    site.private.rmdir()
    site.private.symlink_to(folder / "elsewhere")
    job = c.sbatch(wrap=f"grep -c {folder}/elsewhere /proc/self/mounts")
    assert ended(c, job)[f"{job}.batch"] == ["COMPLETED", "0:0"] and c.out(job) == "1\n"  # root's: he knows where it leads
    os.lchown(site.private, 65534, 65534)
    c.sbatch(wrap="true")
    wait_until(lambda: "private could not be mounted: Operation not permitted" in c.logs("slurmd-node1"), "slurmd says why")
    wait_until(lambda: "Prolog error" in c.run("sinfo", "-R").out, "the node takes no jobs so")


def test_who_shares_them(site, pam):  # noqa: F811
    """Later steps, what sbcast sends, sessions that are adopted; the prolog sees the node's."""
    prolog = site.base.parent / "prolog"
    prolog.write_text(f"#!/bin/sh\ntouch {site.private}/prolog\n")
    prolog.chmod(0o755)
    c = site.start(conf=f"Prolog={prolog}")
    job = submit(c)
    wait_until(lambda: c.run("srun", "--overlap", f"--jobid={job}", "sh", "-c", f"echo first > {site.private}/a",
                             check=False).returncode == 0, "a step runs")
    (c.work / "sent").write_text("sent\n")
    c.run("sbcast", "-j", str(job), str(c.work / "sent"), f"{site.private}/sent")
    p = pam.session(c, "sh", "-c", f"ls {site.private}; echo over")
    lines = []
    while "over\n" not in lines:
        lines.append(p.stdout.readline())
    assert lines[1:] == ["a\n", "sent\n", "over\n"]
    p = pam.session(c, "sh", "-c", f"ls {site.private}; echo over", options="join_container=false")
    lines = []
    while "over\n" not in lines:
        lines.append(p.stdout.readline())
    assert lines[1:] == ["prolog\n", "over\n"]
    c.run("scancel", job)
    ended(c, job)
    clean(site)


def test_programs_of_the_site(site, folder):
    seen = folder / "seen"
    for name in ("init", "clone", "epilog"):
        path = folder / name
        path.write_text(f"#!/bin/sh\necho {name} $SLURM_JOB_ID $SLURM_JOB_MOUNT_SRC $SLURMD_NODENAME $SLURM_NS >> {seen}\n"
                        f"test {name} = init || nsenter --mount=$SLURM_NS touch {site.private}/{name}\n")
        path.chmod(0o755)
    c = site.start(more=f"InitScript={folder}/init CloneNSScript={folder}/clone CloneNSEpilog={folder}/epilog")
    job = c.sbatch(wrap=f"ls {site.private}")
    ended(c, job)
    assert c.out(job) == "clone\n"
    lines = [line.split() for line in seen.read_text().splitlines()]
    assert [line[0] for line in lines] == ["init", "clone", "epilog"]
    assert all(line[1:4] == [str(job), f"{site.base}/node1/{job}", "node1"] for line in lines)
    assert len(lines[0]) == 4 and lines[1][4] == lines[2][4] and lines[1][4].startswith("/proc/")
    clean(site)


@pytest.mark.parametrize("which", ["CloneNSScript_Wait=1 CloneNSScript", "InitScript"])
def test_programs_that_fail_or_hang(site, folder, which):
    """CloneNSScript is given CloneNSScript_Wait, InitScript ten seconds."""
    gate = folder / "gate"
    (folder / "clone").write_text(f"#!/bin/sh\ntest -e {gate} || sleep 1000\n")
    (folder / "clone").chmod(0o755)
    c = site.start(more=f"{which}={folder}/clone")
    job = c.sbatch(wrap="true")
    wait_until(lambda: "drain" in c.run("sinfo", "-h", "-o", "%T").out, "the node is drained", 40)
    assert "was ended by signal 9" in c.logs("slurmd-node1")
    c.wait_state(job, "PENDING")
    clean(site)
    gate.touch()
    c.run("scontrol", "update", "nodename=node1", "state=resume")
    c.run("scontrol", "release", job, check=False)
    assert ended(c, job)[f"{job}.batch"] == ["COMPLETED", "0:0"]


def test_everything_killed(site):
    """Nothing is left of a job whose step daemons and slurmd were killed."""
    c = site.start()
    job = c.sbatch(wrap=f"mkdir -p {site.private}/a/b; touch {site.private}/a/b/c {c.dir}/runs; sleep 1000")
    wait_until(lambda: (c.dir / "runs").exists(), "the script runs")
    assert site.left() == [str(job)]
    c.slurmds["node1"].kill()
    c.ended.append(c.slurmds["node1"])
    for pid in daemons(c, job) + daemons(c, job, "batch"):
        os.kill(pid, signal.SIGKILL)
    (site.base / "node1" / "99999").mkdir()  # of a job that nobody knows
    (site.base / "node1" / "notes").mkdir()  # none of ours
    c.start_slurmd("node1")
    c.wait_end(job)
    wait_until(lambda: site.left() == ["notes"], "the folders are removed")
    assert host_mounts(site) == []
    (site.base / "node1" / "notes").rmdir()


def test_restart_of_slurmd(site):
    """Later steps find the folders again; also when the extern step's daemon was killed meanwhile."""
    c = site.start()
    job = c.sbatch(wrap=f"echo mine > {site.private}/file; touch {c.dir}/runs; sleep 1000")
    wait_until(lambda: (c.dir / "runs").exists(), "the script runs")

    def step():
        return c.run("srun", "--overlap", f"--jobid={job}", "cat", f"{site.private}/file", check=False).stdout
    assert step() == "mine\n"
    c.slurmds["node1"].kill()
    c.ended.append(c.slurmds["node1"])
    c.start_slurmd("node1")
    wait_until(lambda: step() == "mine\n", "a step runs in the same folders")
    os.kill(daemons(c, job)[0], signal.SIGKILL)
    wait_until(lambda: f"{job}.extern" not in c.run("squeue", "-s", "-h", "-o", "%i").out, "its end is known")
    assert step() == "mine\n"
    c.run("scancel", job)
    c.wait_end(job)
    clean(site)


def test_not_on_this_node(site):
    c = site.start(2, more="\nNodeName=node2 BasePath=none")
    assert c.run("srun", "-w", "node1", "stat", "-c", "%a", str(site.private)).out == "700\n"
    assert c.run("srun", "-w", "node2", "stat", "-c", "%a", str(site.private)).out == "777\n"
    clean(site)


@pytest.mark.parametrize("line,why", [
    ("BasePath=relative", "BasePath=relative is not an absolute path"),
    ("BasePath=/local Dirs=/tmp,/local", "BasePath=/local must not be one of Dirs"),
    ("BasePath=/local Dirs=tmp", "Dirs=tmp is not the absolute path of a folder"),
    ("BasePath=/local Basepth=x", "unknown key Basepth in job_container.conf; did you mean BasePath?"),
    ("Dirs=/tmp", "has no BasePath for node node1"),
    ("BasePath=/local Dirs={spool}", "which jobs get for their own")])
def test_mistakes(site, line, why):
    c = site.start(start=False)
    (c.dir / "etc" / "job_container.conf").write_text(line.format(spool=c.dir / "spool") + "\n")
    done = c.run("slurmd", "-D", "-N", "node1", check=False, timeout=20 * SLOW)
    assert done.returncode == 1 and why in done.stderr


def test_needs_contain(site):
    c = site.start(start=False)
    c.write_conf(c.conf_text().replace(CONTAIN, ""))
    done = c.run("slurmd", "-D", "-N", "node1", check=False, timeout=20 * SLOW)
    assert done.returncode == 1 and "NamespaceType needs PrologFlags=Contain" in done.stderr


def test_yaml(site, folder):
    """namespace/linux: folders with mount options, some of them for some nodes; names that hold the job's number."""
    c = site.start(2, type="NamespaceType=namespace/linux", start=False)
    (folder / "other").mkdir()
    (c.dir / "etc" / "namespace.yaml").write_text(f"""
defaults:
  base_path: {site.base}/%n
  auto_base_path: true
  dir_confs:
    - {{path: {site.private}, options: "nosuid,nodev,noexec"}}
    - {{path: /dev/shm, tmpfs: true, options: "size=1M,ro"}}
    - {{path: {folder}/other, base_path: {folder}/second/%n}}
node_confs:
  - nodes: [node2]
    options: {{base_path: none}}
""")
    c.start()
    body = f"""grep -E ' ({site.private}|/dev/shm|{folder}/other) ' /proc/self/mounts | cut -d' ' -f2,3,4
        touch {folder}/other/mine; ls {folder}/second/node1/*/; cp /bin/true {site.private}; {site.private}/true"""
    job = c.sbatch("-w", "node1", wrap=body)
    done = ended(c, job)
    lines = c.out(job).splitlines()
    mounts = {line.split()[0]: line.split()[2].split(",") for line in lines if line.startswith("/") and len(line.split()) == 3}
    assert {"nosuid", "nodev", "noexec"} <= set(mounts[str(site.private)])
    assert {"ro", "nosuid", "nodev", "size=1024k"} <= set(mounts["/dev/shm"])
    assert "noexec" not in mounts[f"{folder}/other"] and f"{folder}/other".replace("/", "_") in lines
    assert "Permission denied" in lines[-1] and done[f"{job}.batch"] == ["FAILED", "126:0"]
    clean(site)
    wait_until(lambda: not list((folder / "second" / "node1").iterdir()), "all folders are removed")
    assert c.run("srun", "-w", "node2", "stat", "-c", "%a", str(site.private)).out == "777\n"


@pytest.mark.parametrize("text,why", [
    ("defaults: {base_path: /x, clone_ns_flags: [CLONE_NEWNET]}", "line 1: clone_ns_flags knows CLONE_NEWNS, CLONE_NEWPID"),
    ("defaults: {dirs: /tmp}", "there is no base_path for node node1"), (None, "cannot be read")])
def test_yaml_mistakes(site, text, why):
    c = site.start(type="NamespaceType=namespace/linux", start=False)
    if text:
        (c.dir / "etc" / "namespace.yaml").write_text(text + "\n")
    done = c.run("slurmd", "-D", "-N", "node1", check=False, timeout=20 * SLOW)
    assert done.returncode == 1 and why in done.stderr and "namespace.yaml" in done.stderr
