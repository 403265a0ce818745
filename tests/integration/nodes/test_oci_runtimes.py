"""Tasks in containers of crun and runc, made by an unprivileged user: skipped with the runtime's own words where this kernel,
or what the tests run in, does not let it."""

import json
import os
import pwd
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT, SLOW, program, wait_until

USER = "nobody"
BASE = {"crun": "{program} --cgroup-manager=disabled --root={root}", "runc": "{program} --rootless=true --root={root}"}
RUN = 'RunTimeRun="{base} run --bundle %b %n.%j.%s.%t"\n'
PARTS = ('RunTimeCreate="{base} create --bundle %b %n.%j.%s.%t"\nRunTimeStart="{base} start %n.%j.%s.%t"\n'
         'RunTimeQuery="{base} state %n.%j.%s.%t"\n')
MORE = 'RunTimeKill="{base} kill %n.%j.%s.%t TERM"\nRunTimeDelete="{base} delete --force %n.%j.%s.%t"\n'


def make_bundle(path):
    """A root file system with the node's programs, and the usual folders."""
    root, binds = path / "rootfs", []
    for name in ("proc", "dev", "tmp", "run", "var/run", "etc", "root", "data"):
        (root / name).mkdir(parents=True)
    for name in ("usr", "bin", "lib", "lib64"):
        if Path("/", name).is_symlink():
            (root / name).symlink_to(os.readlink(Path("/", name)))
        elif Path("/", name).is_dir():
            (root / name).mkdir()
            binds.append({"destination": f"/{name}", "type": "none", "source": f"/{name}", "options": ["rbind"]})
    config = {
        "ociVersion": "1.0.2", "hostname": "inside", "root": {"path": "rootfs"},
        "process": {"user": {"uid": 0, "gid": 0}, "cwd": "/root", "args": ["sh"], "env": ["PATH=/usr/bin:/bin", "HOME=/root"]},
        "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
                   {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755", "size=65536k"]},
                   {"destination": "/dev/pts", "type": "devpts", "source": "devpts",
                    "options": ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"]},
                   *binds],
        "linux": {"namespaces": [{"type": t} for t in ("pid", "ipc", "uts", "user", "mount")]}}
    (path / "config.json").write_text(json.dumps(config))


def as_user(*argv, **kwargs):
    who = {"user": USER, "group": pwd.getpwnam(USER).pw_gid, "extra_groups": []} if os.geteuid() == 0 else {}
    return subprocess.run([*map(str, argv)], text=True, capture_output=True, timeout=60 * SLOW, stdin=subprocess.DEVNULL,
                          **who, **kwargs)


def own(path):
    if os.geteuid() == 0:
        for p in [path, *path.rglob("*")]:
            os.chown(p, pwd.getpwnam(USER).pw_uid, pwd.getpwnam(USER).pw_gid, follow_symlinks=False)
            if not p.is_symlink():
                p.chmod(p.stat().st_mode | 0o055)


class Site:
    def __init__(self, folder, name, program):
        self.top, self.bundle, self.root = folder, folder / "bundle", folder / "runtime"
        self.base = BASE[name].format(program=program, root=self.root)
        self.bundle.mkdir()
        self.root.mkdir()
        make_bundle(self.bundle)
        own(self.bundle)
        own(self.root)

    def start(self, cluster, commands):
        cluster.conf.parent.joinpath("oci.conf").write_text((commands + MORE).format(base=self.base))
        for path in (cluster.dir, cluster.conf.parent, cluster.dir / "log"):
            path.chmod(0o755)
        cluster.conf.chmod(0o644)
        for path in (cluster.work, cluster.dir / "tmp"):
            path.chmod(0o777)
        self.c = cluster.start()
        return self

    def run(self, *argv, check=True):
        done = as_user(program(argv[0]), *argv[1:], env={**self.c.env, "USER": USER, "HOME": "/nonexistent"}, cwd=self.c.work)
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    def srun(self, *argv, **kwargs):
        return self.run("srun", f"--container={self.bundle}", *argv, **kwargs)

    def is_clean(self):
        try:
            return not list(self.root.rglob("*.0*")) and not list(self.c.dir.glob("spool/*/job*/*/oci/*"))
        except FileNotFoundError:  # it went away while we looked
            return False

    def clean(self):
        """No container that the runtime knows of, no file of ours."""
        wait_until(self.is_clean, "nothing is left of the containers")


@pytest.fixture(params=sorted(BASE))
def runtime(request, folder):
    path = shutil.which(request.param, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if not path:
        pytest.skip(f"{request.param} is not installed")
    folder.chmod(0o755)
    site = Site(folder, request.param, path)
    trial = folder / "trial"  # as slurmstepd-oci will make it: a single id, that of the user
    shutil.copytree(site.bundle, trial, symlinks=True)
    config = json.loads((trial / "config.json").read_text())
    uid = pwd.getpwnam(USER).pw_uid if os.geteuid() == 0 else os.getuid()
    gid = pwd.getpwnam(USER).pw_gid if os.geteuid() == 0 else os.getgid()
    config["process"]["args"] = ["true"]
    config["linux"]["uidMappings"] = [{"containerID": 0, "hostID": uid, "size": 1}]
    config["linux"]["gidMappings"] = [{"containerID": 0, "hostID": gid, "size": 1}]
    (trial / "config.json").write_text(json.dumps(config))
    own(trial)
    done = as_user(*site.base.split(), "run", "--bundle", trial, "trial", cwd="/")
    if done.returncode != 0:
        why = (done.stderr or done.stdout).strip().splitlines() or ["no word"]
        pytest.skip(f"{request.param} makes no containers for {USER} here: {why[-1]}")
    return site


@pytest.fixture(params=[RUN, PARTS], ids=["run", "create"])
def site(request, runtime, make_cluster):
    return runtime.start(make_cluster(start=False, nodes=2), request.param)


def test_tasks(site):
    """Several tasks on two nodes, each in a container of its own: host name, processes, user, exit code."""
    done = site.srun("-N2", "-n4", "-l", "sh", "-c",
                     'echo $(cat /proc/sys/kernel/hostname) $$ $(id -u) $(pwd) $HOME $SLURM_PROCID; exit $SLURM_PROCID', check=False)
    assert done.returncode == 3, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"{n}: inside 1 0 /root /root {n}" for n in range(4)], done.stderr
    site.clean()


def test_batch(site):
    script = site.c.work / "job.sh"
    script.write_text("#!/bin/sh\necho $0 $1 $(cat /proc/sys/kernel/hostname)\nls /var/run/slurm\nexit 6\n")
    job = int(site.run("sbatch", "--parsable", f"--container={site.bundle}", script, "arg").stdout)
    assert site.c.wait_end(job)["ExitCode"] == "6:0", site.c.out(job)
    assert site.c.out(job).splitlines() == ["/var/run/slurm/script arg inside", "config.json", "script"]
    site.clean()


def test_signals(site):
    """A signal that the task handles, an end by scancel, and one that has to be forced; streams go through."""
    for trap, end in (("echo term; exit 5", "term"), ("", "ready")):
        job = int(site.run("sbatch", "--parsable", "--wrap", f"srun --container={site.bundle} sh -c \"trap '{trap}' TERM; "
                           "trap 'echo usr1' USR1; echo ready; while :; do sleep 0.1; done\"").stdout)
        out = site.c.work / f"slurm-{job}.out"
        wait_until(lambda: out.exists() and "ready" in out.read_text(), "the container runs")
        site.run("scancel", "-s", "USR1", f"{job}.0")
        wait_until(lambda: "usr1" in out.read_text(), "a signal arrives")
        site.run("scancel", str(job))
        assert site.c.wait_end(job)["JobState"] == "CANCELLED"
        assert end in out.read_text()
        site.clean()


@pytest.mark.skipif(not Path("/usr/bin/script").exists(), reason="script (bsdutils) is not installed")
def test_terminal(site):
    command = f"{program('srun')} --pty --container={site.bundle} sh -c 'test -t 0 && test -t 1 && echo terminal; stty size'"
    done = as_user("script", "-qec", command, "/dev/null", env={**site.c.env, "USER": USER, "TERM": "vt100"}, cwd=site.c.work)
    assert done.returncode == 0 and "terminal" in done.stdout and re.search(r"\d+ \d+", done.stdout), done.stdout
    site.clean()


def test_mpi(site):
    """The socket of PMI-2 goes through the runtime."""
    client = ROOT / "tests" / "integration" / "programs" / "pmi_client.py"
    if not client.exists():
        pytest.skip("the programs of the tests are not here")
    shutil.copy(client, site.bundle / "rootfs" / "data" / "client.py")
    done = site.srun("--mpi=pmi2", "-N2", "-n3", "/usr/bin/python3", "/data/client.py", "2", "3")
    assert sorted(line.split(",")[0] for line in done.stdout.splitlines()) == [f"rank {n} of 3 met 3 times" for n in range(3)]
    site.clean()


def test_batch_cancelled(site):
    """A script that is process 1 of its container has no handler for SIGTERM: it is killed when KillWait is over."""
    job = int(site.run("sbatch", "--parsable", f"--container={site.bundle}", "--wrap", "sleep 1000").stdout)
    site.c.wait_state(job, "RUNNING")
    site.run("scancel", str(job))
    assert site.c.wait_end(job)["JobState"] == "CANCELLED"
    site.clean()


def test_mistakes(site):
    """What the runtime says reaches the user."""
    done = site.srun("no-such-program", check=False)
    assert done.returncode != 0 and "no-such-program" in done.stderr
    config = json.loads((site.bundle / "config.json").read_text())
    config["root"]["path"] = "elsewhere"
    (site.bundle / "config.json").write_text(json.dumps(config))
    done = site.srun("true", check=False)
    assert done.returncode != 0 and "elsewhere" in done.stderr
    site.clean()
